// SPDX-License-Identifier: Apache-2.0
// Rotate: pairs of elements of each head turn by the angles of its position (rotary embeddings).
#include "reference/onnx/rotate.hpp"

#include "graph/shape_rules.hpp"
#include "reference/call.hpp"
#include "reference/elements.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::reference {
namespace {

Types infer_rotate(const Opaque& op, const RuleContext& ctx) {
  const Rotation read = rotation_of(op);
  ctx.inputs(3, 4);
  ctx.rank(0, 4);
  for (const std::size_t table : {1, 2}) {
    ctx.same_dtype(table, 0);
    ctx.rank(table, ctx.has(3) ? 2 : 3);
    const auto& shape = ctx.shape(table);
    if (shape && shape->back() >= 0 && shape->back() < read.pairs)
      ctx.fail("{} has {} angles a position, expected {} at least", ctx.text(table), shape->back(), read.pairs);
  }
  if (ctx.has(3)) {
    ctx.rank(3, 2);
    ctx.integer(3);
  }
  if (ctx.shape(0) && ctx.shape(0)->back() >= 0 && ctx.shape(0)->back() < 2 * read.pairs)
    ctx.fail("cannot rotate {} pairs of {} elements", read.pairs, ctx.shape(0)->back());
  return {ctx.type(0)};
}

/// Where the angles of a position begin in the tables.
std::int64_t angle_row(const Call& call, std::int64_t batch, std::int64_t position) {
  const Shape& table = call.input(1).shape();
  const Tensor* given = call.optional(3);
  const Shape& rows = given != nullptr ? given->shape() : table;
  if (position >= rows[1]) call.invalid("there are {} positions, {} are asked for", rows[1], position + 1);
  const std::int64_t at = (rows[0] == 1 ? 0 : batch) * rows[1] + position;
  if (given == nullptr) return at;
  double index = 0;
  load(*given, at, 1, &index);
  if (index < 0) index += static_cast<double>(table[0]);
  if (!(index >= 0 && index < static_cast<double>(table[0])))
    call.invalid("position {} is out of range [0,{})", index, table[0]);
  return static_cast<std::int64_t>(index);
}

Data evaluate_rotate(const Opaque& op, const Call& call) {
  const Rotation read = rotation_of(op);
  const Tensor& x = call.input(0);
  const Shape& shape = x.shape();
  const std::int64_t size = shape[3], angles = call.input(1).shape().back();
  const std::int64_t batches = call.optional(3) ? call.input(3).shape()[0] : call.input(1).shape()[0];
  if (batches != 1 && batches != shape[0]) call.invalid("angles of {} sentences for {}", batches, shape[0]);
  std::vector<double> y = load_all<double>(x);
  const std::vector<double> cosines = load_all<double>(call.input(1)), sines = load_all<double>(call.input(2));
  if (cosines.size() != sines.size()) call.invalid("{} cosines, {} sines", cosines.size(), sines.size());
  const std::int64_t between = read.interleaved ? 1 : read.pairs;
  for (std::int64_t row = 0; row < shape[0] * shape[1] * shape[2]; ++row) {
    const std::int64_t position = read.heads_axis == 1 ? row % shape[2] : row / shape[2] % shape[1];
    const std::int64_t from = angle_row(call, row / (shape[1] * shape[2]), position) * angles;
    for (std::int64_t i = 0; i < read.pairs; ++i) {
      const auto first = static_cast<std::size_t>(row * size + (read.interleaved ? 2 * i : i));
      const auto second = first + static_cast<std::size_t>(between), at = static_cast<std::size_t>(from + i);
      const double a = y[first], b = y[second];
      y[first] = a * cosines[at] - b * sines[at];
      y[second] = a * sines[at] + b * cosines[at];
    }
  }
  return {tensor_of(x.dtype(), shape, y)};
}

}  // namespace

Rotation rotation_of(const Opaque& op) {
  const Rotation read{op.int_of("pairs"), op.int_of("heads_axis"), op.int_of("interleaved") != 0};
  if (read.pairs < 0 || read.pairs > kMaxDim || (read.heads_axis != 1 && read.heads_axis != 2))
    fail(ErrorCode::invalid_model, "a rotation of {} pairs, heads in axis {}", read.pairs, read.heads_axis);
  return read;
}

constexpr Definition kRotate{"Rotate", infer_rotate, evaluate_rotate};

}  // namespace colonnade::reference
