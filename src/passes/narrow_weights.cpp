// SPDX-License-Identifier: Apache-2.0
// Constants that stay numbers of few bits: what a Dequantize makes of a matrix of integers, and floats of 16 bits.
#include "graph/narrow_weights.hpp"

#include <algorithm>

#include "base/narrow.hpp"
#include "passes/bytes.hpp"
#include "reference/elements.hpp"

namespace colonnade::rewrite {
namespace {

/// A float parameter or zero points as float32 of a shape of two axes.
std::shared_ptr<const Constant> as_floats(const std::shared_ptr<const Constant>& given, Shape shape) {
  const auto make = [given](std::int64_t first, std::span<std::byte> target) {
    if (given->dtype() == DType::f32) return given->read(first, target);
    numbers_as_floats(*given, first, {reinterpret_cast<float*>(target.data()), target.size() / sizeof(float)});
  };
  return std::make_shared<const Constant>(DType::f32, std::move(shape), make);
}

bool is_narrow_integer(DType type) {
  return bits_of(type) > 0 && bits_of(type) <= 8 && !is_minifloat(type) && type != DType::boolean;
}

/// The number that all zero points are, if they are one.
std::optional<float> only_zero(const Constant* zeros) {
  if (zeros == nullptr) return 0.0f;
  const auto numbers = reference::load_all<double>(*zeros->tensor());
  if (numbers.empty() || std::ranges::any_of(numbers, [&](double x) { return x != numbers[0]; })) return std::nullopt;
  return static_cast<float>(numbers[0]);
}

}  // namespace

std::shared_ptr<const Constant> dequantised_weights(const Editor& editor, const Node& node) {
  const auto& op = std::get<Dequantize>(node.op);
  const auto constant = [&](std::size_t i) {
    return node.input(i) == kAbsent ? nullptr : editor.value(node.inputs[i]).constant;
  };
  const auto numbers = constant(0), scales = constant(1), zeros = constant(2);
  const Shape& shape = numbers->shape();
  if (shape.size() != 2 || numbers->size() == 0 || !is_narrow_integer(numbers->dtype())) return nullptr;
  const bool each_row = (op.axis < 0 ? op.axis + 2 : op.axis) == 0;
  const bool is_one = scales->size() == 1, in_blocks = op.block != 0 && !is_one;
  NarrowWeights weights{.type = numbers->dtype(), .block_rows = shape[0], .block_columns = shape[1]};
  if (!is_one) (each_row ? weights.block_rows : weights.block_columns) = in_blocks ? op.block : 1;
  if (in_blocks) (each_row ? weights.block_columns : weights.block_rows) = 1;
  const Shape blocks{(shape[0] - 1) / weights.block_rows + 1, (shape[1] - 1) / weights.block_columns + 1};
  const auto zero = only_zero(zeros.get());
  if (scales->size() != blocks[0] * blocks[1] || (!zero && zeros->size() != scales->size())) return nullptr;
  weights.has_zeros = !zero;
  weights.zero = zero.value_or(0);
  weights.byte_rows = op.byte_rows;
  NarrowWeights::Parts parts{numbers, as_floats(scales, blocks), zero ? nullptr : as_floats(zeros, blocks)};
  weights.parts = [parts = std::move(parts)] { return parts; };
  return widened(std::move(weights), shape);
}

std::shared_ptr<const Constant> widened_halves(const std::shared_ptr<const Constant>& constant) {
  if (constant->shape().size() == 2 && constant->size() > 0) {
    NarrowWeights weights{
        .type = constant->dtype(), .block_rows = constant->shape()[0], .block_columns = constant->shape()[1]};
    weights.parts = [constant] { return NarrowWeights::Parts{constant, nullptr, nullptr}; };
    return widened(std::move(weights), constant->shape());
  }
  const auto make = [constant](std::int64_t first, std::span<std::byte> target) {
    numbers_as_floats(*constant, first, {reinterpret_cast<float*>(target.data()), target.size() / sizeof(float)});
  };
  return std::make_shared<const Constant>(DType::f32, constant->shape(), make);
}

}  // namespace colonnade::rewrite
