// SPDX-License-Identifier: Apache-2.0
// What opsets 1 to 6 wrote in another way: broadcasting by attributes, types as text, shapes and counts as attributes.
#include <cmath>

#include "frontends/onnx/lowering.hpp"

namespace colonnade::onnx_import {
namespace {

void check_same_shape(const Lowering& low, ValueId a, ValueId b) {
  const auto &left = low.shape(a), &right = low.shape(b);
  if (!left || !right) return;
  bool same = left->size() == right->size();
  for (std::size_t i = 0; same && i < left->size(); ++i) {
    same = (*left)[i] < 0 || (*right)[i] < 0 || (*left)[i] == (*right)[i];
  }
  if (!same) {
    low.invalid("expected inputs of one shape without 'broadcast', found {} and {}", to_text(low.graph().value(a).type),
                to_text(low.graph().value(b).type));
  }
}

/// The second input with the axes it lacks: those of the first from 'axis' on are its own, by default the last ones.
ValueId aligned(Lowering& low) {
  const ValueId a = low.input(0), b = low.input(1);
  if (!low.flag("broadcast")) {
    check_same_shape(low, a, b);
    return b;
  }
  const auto given = find_int(low.node(), "axis");
  if (!given) return b;
  const std::int64_t rank = low.rank(a), width = low.rank(b);
  const std::int64_t axis = rank == 0 ? 0 : checked_axis(low, *given, rank);
  if (axis + width > rank) low.invalid("axis {} and rank {} exceed rank {}", axis, width, rank);
  return axis + width == rank ? b : unsqueeze(low, b, axes_between(width, rank - axis));
}

template <BinaryKind kind>
Values lower_first_binary(Lowering& low) {
  return {binary(low, kind, low.input(0), aligned(low))};
}

Values lower_first_pow(Lowering& low) {
  const ValueId exponent = aligned(low);
  return {binary(low, BinaryKind::pow, low.input(0), cast(low, exponent, low.dtype(low.input(0))))};
}

template <BinaryKind kind>
Values lower_first_variadic(Lowering& low) {
  ValueId y = low.input(0);
  for (std::size_t i = 1; i < low.input_count(); ++i) {
    check_same_shape(low, y, low.input(i));
    y = binary(low, kind, y, low.input(i));
  }
  return {y};
}

Values lower_first_mean(Lowering& low) {
  const ValueId sum = lower_first_variadic<BinaryKind::add>(low).front();
  return {binary_scalar(low, BinaryKind::div, sum, static_cast<double>(low.input_count()))};
}

/// One slope for all, or one a channel; a slope of more axes broadcasts as it does today.
Values lower_first_prelu(Lowering& low) {
  const ValueId x = low.input(0);
  ValueId slope = low.input(1);
  if (low.rank(slope) == 1 && low.dim(slope, 0) != 1 && low.rank(x) > 2) {
    slope = unsqueeze(low, slope, axes_between(1, low.rank(x) - 1));
  }
  return {binary(low, BinaryKind::prelu, x, slope)};
}

Values lower_selu(Lowering& low) {
  return {unary(low, UnaryKind::selu, low.input(0), low.float_or("alpha", 1.6732f), low.float_or("gamma", 1.0507f))};
}

/// 'to' is the name of a type; some writers used its number already.
Values lower_first_cast(Lowering& low) {
  if (!low.has_attribute("to")) low.invalid("attribute 'to' is required");
  const std::string where = low.node().label() + ": attribute 'to'";
  if (holds_int(low.node(), "to")) {
    return {low.emit(Cast{dtype_of(low.required_int("to"), where)}, {low.input(0)})};
  }
  std::string name = low.required_string("to");
  for (char& letter : name) letter = letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
  const auto type = data_type_named(name);
  if (!type) low.invalid("attribute 'to': '{}' is no type", printable(name));
  return {low.emit(Cast{dtype_of(*type, where)}, {low.input(0)})};
}

Values lower_first_reshape(Lowering& low) { return {reshape(low, low.input(0), low.required_ints("shape"))}; }

/// `tiles` copies along `axis`, both given as scalars.
Values lower_first_tile(Lowering& low) {
  const ValueId x = low.input(0);
  const auto scalar_input = [&](std::size_t index) {
    return reshape(low, cast(low, low.input(index), DType::i64), {});
  };
  const ValueId axis = scalar_input(2), tiles = scalar_input(1), axes = ints(low, axes_between(0, low.rank(x)));
  const ValueId repeats = select(low, binary(low, BinaryKind::equal, axes, axis), tiles, int_scalar(low, 1));
  return {low.emit(Tile{}, {x, repeats})};
}

/// Sizes may come as a second input, of the type of the first.
Values lower_split(Lowering& low) {
  const auto sizes = find_ints(low.node(), "split");
  const std::int64_t given = low.int_or("axis", 0);
  const std::int64_t axis = low.shape(low.input(0)) ? checked_axis(low, given, low.rank(low.input(0))) : given;
  Values inputs = {low.input(0)};
  if (low.optional_input(1) != kAbsent) {
    inputs.push_back(cast(low, low.input(1), DType::i64));
  } else if (sizes) {
    if (sizes->size() != low.output_count()) {
      low.invalid("attribute 'split': expected {} values as outputs, found {}", low.output_count(), sizes->size());
    }
    inputs.push_back(ints(low, *sizes));
  }
  return low.emit_all(::colonnade::Split{axis}, std::move(inputs), low.output_count());
}

constexpr Row first_binary_row(std::string_view name, Lower lower) { return {kOnnxDomain, name, 1, 6, 2, 2, 1, lower}; }
constexpr Row first_variadic_row(std::string_view name, Lower lower) {
  return {kOnnxDomain, name, 1, 7, 1, kNoLimit, 1, lower};
}

constexpr Row kFirstOpsetsRows[] = {
    first_binary_row("Add", lower_first_binary<BinaryKind::add>),
    first_binary_row("And", lower_first_binary<BinaryKind::logical_and>),
    first_binary_row("Div", lower_first_binary<BinaryKind::div>),
    first_binary_row("Equal", lower_first_binary<BinaryKind::equal>),
    first_binary_row("Greater", lower_first_binary<BinaryKind::greater>),
    first_binary_row("Less", lower_first_binary<BinaryKind::less>),
    first_binary_row("Mul", lower_first_binary<BinaryKind::mul>),
    first_binary_row("Or", lower_first_binary<BinaryKind::logical_or>),
    first_binary_row("PRelu", lower_first_prelu),
    first_binary_row("Pow", lower_first_pow),
    first_binary_row("Sub", lower_first_binary<BinaryKind::sub>),
    first_binary_row("Xor", lower_first_binary<BinaryKind::logical_xor>),
    first_variadic_row("Max", lower_first_variadic<BinaryKind::max>),
    first_variadic_row("Mean", lower_first_mean),
    first_variadic_row("Min", lower_first_variadic<BinaryKind::min>),
    first_variadic_row("Sum", lower_first_variadic<BinaryKind::add>),
    {kOnnxDomain, "Cast", 1, 5, 1, 1, 1, lower_first_cast},
    {kOnnxDomain, "Reshape", 1, 4, 1, 1, 1, lower_first_reshape},
    {kOnnxDomain, "Selu", 1, 5, 1, 1, 1, lower_selu},
    {kOnnxDomain, "Split", 1, 1, 1, 2, kNoLimit, lower_split},
    {kOnnxDomain, "Tile", 1, 5, 3, 3, 1, lower_first_tile},
};

}  // namespace

std::span<const Row> first_opsets_rows() { return kFirstOpsetsRows; }

}  // namespace colonnade::onnx_import
