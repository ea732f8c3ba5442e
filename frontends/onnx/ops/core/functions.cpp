// SPDX-License-Identifier: Apache-2.0
// The ONNX operators that are one function each: their rows are those of graph/functions.hpp.
#include <array>
#include <utility>

#include "frontends/onnx/lowering.hpp"

namespace colonnade::onnx_import {
namespace {

float given(const Lowering& low, const Parameter& parameter) {
  return parameter.name.empty() ? 0 : low.float_or(parameter.name, parameter.fallback);
}

template <UnaryKind kind>
Values lower_function(Lowering& low) {
  const auto& [a, b] = function_of(kind).parameters;
  return {unary(low, kind, low.input(0), given(low, a), given(low, b))};
}

template <std::size_t... index>
constexpr auto rows_of(std::index_sequence<index...>) {
  constexpr Row all[] = {{kOnnxDomain, functions::kTable[index].onnx_name, functions::kTable[index].onnx_since,
                          kNoLimit, 1, 1, 1, lower_function<static_cast<UnaryKind>(index)>}...};
  std::array<Row, ((functions::kTable[index].onnx_since > 0) + ...)> rows{};
  std::copy_if(std::begin(all), std::end(all), rows.begin(), [](const Row& row) { return row.since > 0; });
  return rows;
}

constexpr auto kFunctionsRows = rows_of(std::make_index_sequence<kFunctionCount>());

}  // namespace

std::span<const Row> functions_rows() { return kFunctionsRows; }

}  // namespace colonnade::onnx_import
