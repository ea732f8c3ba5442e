// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/table.hpp"

#include <unordered_map>

namespace colonnade::onnx_import {
namespace {

using Index = std::unordered_map<std::string_view, std::vector<const Row*>>;

constexpr std::span<const Row> (*kFamilies[])() = {
    // clang-format off
    attention_rows,
    beside_attention_rows,
    cast_rows,
    composed_rows,
    constant_rows,
    control_rows,
    conv_rows,
    elementwise_rows,
    first_opsets_rows,
    functions_rows,
    gather_rows,
    legacy_rows,
    linear_attention_rows,
    loss_rows,
    matmul_rows,
    norm_rows,
    opaque_rows,
    pool_rows,
    quantize_rows,
    random_rows,
    recurrent_rows,
    reduce_rows,
    resize_rows,
    sequence_rows,
    shape_rows,
    slice_rows,
    training_rows,
    ml_encoders_rows,
    ml_linear_rows,
    ml_svm_rows,
    ml_tree_rows,
    microsoft_attention_rows,
    microsoft_experts_rows,
    microsoft_fused_rows,
    microsoft_heads_rows,
    microsoft_integer_product_rows,
    microsoft_norm_rows,
    microsoft_opaque_rows,
    microsoft_product_rows,
    microsoft_quantized_rows,
    microsoft_recurrence_rows,
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
