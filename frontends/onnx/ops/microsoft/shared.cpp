// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/ops/microsoft/shared.hpp"

#include <limits>

namespace colonnade::onnx_import {

ValueId extent(Lowering& low, ValueId x, std::int64_t axis) {
  const std::int64_t known = low.dim(x, axis);
  return known >= 0 ? ints(low, {known}) : low.emit(ShapeOf{.start = axis, .end = axis + 1}, {x});
}

ValueId join(Lowering& low, const Values& parts) {
  Ints known;
  for (const ValueId part : parts) {
    const auto constant = low.constant_of(part);
    if (!constant) return low.emit(Concat{0}, parts);
    const auto tensor = constant->tensor();
    known.insert(known.end(), tensor->values<std::int64_t>().begin(), tensor->values<std::int64_t>().end());
  }
  return ints(low, known);
}

ValueId reshape_to(Lowering& low, ValueId x, const Values& parts) { return low.emit(Reshape{}, {x, join(low, parts)}); }

ValueId numbers_from(Lowering& low, ValueId first, ValueId count) {
  const ValueId end = binary(low, BinaryKind::add, first, count);
  return low.emit(Range{}, {first, end, int_scalar(low, 1)});
}

ValueId slice_of(Lowering& low, ValueId x, std::int64_t axis, ValueId begin, ValueId end) {
  return low.emit(Slice{}, {x, begin, end, ints(low, {axis})});
}

double lowest_finite(DType dtype) {
  if (dtype == DType::f16) return -65504;
  if (dtype == DType::f64) return std::numeric_limits<double>::lowest();
  return dtype == DType::bf16 ? -0x1.fep127 : std::numeric_limits<float>::lowest();
}

ValueId activate(Lowering& low, ValueId x, const Activation& activation) {
  const std::string name = activation.name == "ScaledElu" ? "Selu" : activation.name;
  if (name.empty() || name == "Identity") return x;
  const auto kind = find_function(name);
  if (!kind) low.unsupported("activation '{}' is not supported", printable(activation.name));
  const auto& given = activation.parameters;
  const auto& [a, b] = function_of(*kind).parameters;
  const std::size_t second = kind == UnaryKind::selu && given.size() > 2 ? 2 : 1;
  return unary(low, *kind, x, given.empty() ? a.fallback : given[0],
               second < given.size() ? given[second] : b.fallback);
}

}  // namespace colonnade::onnx_import
