// SPDX-License-Identifier: Apache-2.0
// What the operators of com.microsoft share: one version, fused activations, shapes put together from dimensions.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "frontends/onnx/lowering.hpp"

namespace colonnade::onnx_import {

/// The domain has one opset.
constexpr Row microsoft_row(std::string_view name, int min_inputs, int max_inputs, int max_outputs, Lower lower) {
  return {kMicrosoftDomain, name, 1, kNoLimit, min_inputs, max_inputs, max_outputs, lower};
}

/// An activation by its ONNX name, with those of its parameters (alpha, beta, gamma; min, max) that are given.
struct Activation {
  std::string name;
  std::vector<float> parameters;
};
/// x as it is for an empty name. Throws Error{unsupported} for a name that is not known.
ValueId activate(Lowering& low, ValueId x, const Activation& activation);

inline ValueId add(Lowering& low, ValueId a, ValueId b) { return binary(low, BinaryKind::add, a, b); }
/// x + the input, where there is one.
inline ValueId add_input(Lowering& low, ValueId x, std::size_t index) {
  return low.optional_input(index) == kAbsent ? x : add(low, x, low.input(index));
}

/// The dimension as a vector of one int64; a constant where it is known.
ValueId extent(Lowering& low, ValueId x, std::int64_t axis);
/// Vectors of int64 one behind the other; a constant where all are.
ValueId join(Lowering& low, const Values& parts);
/// x reshaped to dimensions of which some are computed: a 0 keeps the input's, one -1 is what is left.
ValueId reshape_to(Lowering& low, ValueId x, const Values& parts);
/// first, first + 1, ... `count` int64 numbers; both are vectors of one element.
ValueId numbers_from(Lowering& low, ValueId first, ValueId count);
/// The elements [begin, end) of x along an axis; bounds are vectors of one int64.
ValueId slice_of(Lowering& low, ValueId x, std::int64_t axis, ValueId begin, ValueId end);

/// Element type's most negative finite number.
double lowest_finite(DType dtype);

}  // namespace colonnade::onnx_import
