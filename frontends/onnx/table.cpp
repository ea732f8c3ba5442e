// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/table.hpp"

#include <unordered_map>

namespace colonnade::onnx_import {
namespace {

using Index = std::unordered_map<std::string_view, std::vector<const Row*>>;

constexpr std::span<const Row> (*kFamilies[])() = {
    // clang-format off
    attention_rows,
    cast_rows,
    composed_rows,
    constant_rows,
    contrib_rows,
    contrib_attention_rows,
    contrib_heads_rows,
    contrib_integer_product_rows,
    contrib_norm_rows,
    contrib_opaque_rows,
    contrib_product_rows,
    contrib_quantized_rows,
    control_rows,
    conv_rows,
    detection_rows,
    elementwise_rows,
    first_opsets_rows,
    functions_rows,
    gather_rows,
    image_rows,
    legacy_rows,
    linear_rows,
    linear_attention_rows,
    loss_rows,
    matmul_rows,
    matrix_rows,
    ml_encoders_rows,
    ml_svm_rows,
    norm_rows,
    pool_rows,
    quantize_rows,
    random_rows,
    recurrent_rows,
    reduce_rows,
    resize_rows,
    sequence_rows,
    shape_rows,
    signal_rows,
    slice_rows,
    sliding_rows,
    text_rows,
    tfidf_rows,
    training_rows,
    tree_rows,
    // clang-format on
};

Index make_index() {
  Index index;
  for (const auto family : kFamilies) {
    for (const Row& row : family()) index[row.name].push_back(&row);
  }
  return index;
}

}  // namespace

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const auto family : kFamilies) rows.insert(rows.end(), family().begin(), family().end());
  return rows;
}

const Row* find_row(const OnnxNode& node) {
  static const Index index = make_index();
  const auto rows = index.find(node.op_type);
  if (rows == index.end()) return nullptr;
  const Row* first = nullptr;
  for (const Row* row : rows->second) {
    if (row->domain != node.domain) continue;
    if (row->since <= node.opset && node.opset <= row->until) return row;
    if (!first || row->since < first->since) first = row;
  }
  return first && first->since > node.opset ? first : nullptr;
}

}  // namespace colonnade::onnx_import
