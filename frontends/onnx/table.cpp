// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/table.hpp"

#include <unordered_map>

namespace colonnade::onnx_import {
namespace {

using Index = std::unordered_map<std::string_view, std::vector<const Row*>>;

std::span<const Row> family(std::size_t index) {
  static constexpr std::span<const Row> (*kFamilies[])() = {
      constant_rows, conv_rows,      elementwise_rows, gather_rows, legacy_rows, linear_rows, matmul_rows, norm_rows,
      pool_rows,     recurrent_rows, reduce_rows,      resize_rows, shape_rows,  slice_rows,  tree_rows};
  return index < std::size(kFamilies) ? kFamilies[index]() : std::span<const Row>();
}

Index make_index() {
  Index index;
  for (std::size_t i = 0; !family(i).empty(); ++i) {
    for (const Row& row : family(i)) index[row.name].push_back(&row);
  }
  return index;
}

}  // namespace

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (std::size_t i = 0; !family(i).empty(); ++i) rows.insert(rows.end(), family(i).begin(), family(i).end());
  return rows;
}

const Row* find_row(const OnnxNode& node) {
  static const Index index = make_index();
  const auto rows = index.find(node.op_type);
  if (rows == index.end()) return nullptr;
  for (const Row* row : rows->second) {
    if (row->domain == node.domain && row->since <= node.opset && node.opset <= row->until) return row;
  }
  return nullptr;
}

}  // namespace colonnade::onnx_import
