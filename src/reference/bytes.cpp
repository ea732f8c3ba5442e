// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "reference/elements.hpp"
#include "reference/families.hpp"
#include "reference/indexing.hpp"
#include "reference/rescale.hpp"

namespace colonnade::reference {
namespace {

/// Scale and zero point of every element, in order.
class Parameters {
 public:
  /// Blocks are those of a matrix.
  Parameters(const Call& call, std::int64_t axis, const Shape& x, std::int64_t block = 0)
      : scales_(load_all<double>(call.input(1))),
        zeros_(call.optional(2) == nullptr ? std::vector<double>{0} : load_all<double>(*call.optional(2))) {
    if (scales_.size() == 1 && zeros_.size() == 1) return;
    const auto at = static_cast<std::size_t>(call.axis(axis, call.input(0)));
    inner_ = static_cast<std::size_t>(product(x, at + 1, x.size()));
    size_ = static_cast<std::size_t>(x[at]);
    if (block == 0) return;
    columns_ = static_cast<std::size_t>(x[1]);
    (at == 0 ? block_rows_ : block_columns_) = static_cast<std::size_t>(block);
  }
  float scale(std::size_t i) const { return static_cast<float>(of(scales_, i)); }
  float zero(std::size_t i) const { return static_cast<float>(of(zeros_, i)); }

 private:
  double of(const std::vector<double>& values, std::size_t i) const {
    if (values.size() == 1) return values.front();
    if (columns_ == 0) return values[i / inner_ % size_];
    const std::size_t of_row = (columns_ + block_columns_ - 1) / block_columns_;
    return values[i / columns_ / block_rows_ * of_row + i % columns_ / block_columns_];
  }

  std::vector<double> scales_, zeros_;
  std::size_t inner_ = 1, size_ = 1;
  std::size_t columns_ = 0, block_rows_ = 1, block_columns_ = 1;  ///< of a matrix in blocks
};

/// x - zero point as int32; without a zero point x.
Tensor centred(const Tensor& x, const Tensor* zero) {
  std::vector<std::int64_t> values = load_all<std::int64_t>(x);
  if (zero != nullptr) {
    const std::int64_t offset = load_all<std::int64_t>(*zero).front();
    for (std::int64_t& value : values) value -= offset;
  }
  return tensor_of(DType::i32, x.shape(), values);
}

/// The operator on integers: outputs on the last axis, offsets added.
Tensor integer_sums(const Call& call, Operator op) {
  const Datum x = centred(call.input(0), call.optional(2)), weight = centred(call.input(1), nullptr);
  const std::array<const Datum*, 3> inputs = {&x, &weight, call.optional_datum(3)};
  const Node node{op, {}, call.node.outputs, call.node.name, call.node.origin};
  const Call plain{node, inputs, {{DType::i32, call.types[0].shape}}, call.run_body};
  Tensors sums =
      std::holds_alternative<Conv>(op) ? apply(std::get<Conv>(op), plain) : apply(std::get<MatMul>(op), plain);
  return std::move(sums[0]);
}

Tensors rescaled_sums(const Call& call, const Rescale& out, Operator op) {
  Tensor sums = integer_sums(call, std::move(op));
  if (out.to == DType::i32) return {std::move(sums)};
  const std::vector<double> factor = load_all<double>(call.input(4));
  const Tensor* shift = call.optional(5);
  const std::vector<double> shifts = shift == nullptr ? std::vector<double>{0} : load_all<double>(*shift);
  const Tensor* slope = call.optional(6);
  const std::vector<double> slopes = slope == nullptr ? std::vector<double>{} : load_all<double>(*slope);
  const auto of = [](const std::vector<double>& values, std::size_t o) {
    return static_cast<float>(values.size() == 1 ? values.front() : values[o]);
  };
  Tensor y(out.to, call.shape());
  const auto integers = sums.values<std::int32_t>();
  const auto outputs = static_cast<std::size_t>(std::max<std::int64_t>(1, y.shape().empty() ? 1 : y.shape().back()));
  std::vector<float> values(integers.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::fma(static_cast<float>(integers[i]), of(factor, i % outputs), of(shifts, i % outputs));
    if (!slopes.empty() && values[i] < 0) values[i] *= of(slopes, i % outputs);
  }
  store_rescaled(out, values, y, 0);
  return {std::move(y)};
}

}  // namespace

void store_rescaled(const Rescale& out, std::span<const float> values, Tensor& y, std::int64_t offset) {
  const auto first = static_cast<std::size_t>(offset);
  if (out.to == DType::f32) {
    std::copy(values.begin(), values.end(), y.values<float>().subspan(first).begin());
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float rounded = std::min(std::max(std::nearbyint(values[i]), out.low), out.high);
    const std::int64_t value = static_cast<std::int64_t>(rounded) + out.zero;
    store(&value, 1, y, offset + static_cast<std::int64_t>(i));
  }
}

Tensors apply(const Quantize& op, const Call& call) {
  const Tensor& x = call.input(0);
  const Parameters parameters(call, op.axis, x.shape());
  Tensor y(op.to, x.shape());
  const auto numbers = x.values<float>();
  const auto low = static_cast<float>(lowest_of<double>(op.to)), high = static_cast<float>(highest_of<double>(op.to));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const float moved = std::nearbyint(numbers[i] / parameters.scale(i)) + parameters.zero(i);
    const std::int64_t value = std::isnan(moved) ? 0 : static_cast<std::int64_t>(std::clamp(moved, low, high));
    store(&value, 1, y, static_cast<std::int64_t>(i));
  }
  return {std::move(y)};
}

Tensors apply(const Dequantize& op, const Call& call) {
  const Tensor& x = call.input(0);
  const Parameters parameters(call, op.axis, x.shape(), op.block);
  Tensor y(DType::f32, x.shape());
  const std::vector<std::int64_t> integers = load_all<std::int64_t>(x);
  const auto numbers = y.values<float>();
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = (static_cast<float>(integers[i]) - parameters.zero(i)) * parameters.scale(i);
  return {std::move(y)};
}

Tensors apply(const ByteScale&, const Call& call) {
  NumberRange range;
  for (const float number : call.input(0).values<float>()) range = range.joined({number, number});
  Tensor scale(DType::f32, {}), zero(DType::u8, {});
  scale.values<float>()[0] = range.scale();
  zero.values<std::uint8_t>()[0] = range.zero_point();
  return {std::move(scale), std::move(zero)};
}

Tensors apply(const Lookup&, const Call& call) {
  const Tensor &x = call.input(0), &table = call.input(1);
  Tensor y(table.dtype(), x.shape());
  const auto* bytes = static_cast<const std::uint8_t*>(x.data());
  visit_storage(table.dtype(), [&]<class T>(Tag<T>) {
    const T* from = elements<T>(table);
    T* to = elements<T>(y);
    for (std::int64_t i = 0; i < x.size(); ++i) to[i] = from[bytes[i]];
  });
  return {std::move(y)};
}

Tensors apply(const ByteConv& op, const Call& call) { return rescaled_sums(call, op.out, op.window); }

Tensors apply(const ByteMatMul& op, const Call& call) { return rescaled_sums(call, op.out, MatMul{}); }

Tensors apply(const IntegerMatMul&, const Call& call) {
  const Datum a = centred(call.input(0), call.optional(2)), b = centred(call.input(1), call.optional(3));
  const std::array<const Datum*, 2> inputs = {&a, &b};
  const Node node{MatMul{}, {}, call.node.outputs, call.node.name, call.node.origin};
  return apply(MatMul{}, Call{node, inputs, call.types, call.run_body});
}

Tensors apply(const ByteBinary& op, const Call& call) {
  const auto widened = [&](std::size_t input) {
    Tensor wide(DType::i32, call.input(input).shape());
    return centred(call.input(input), nullptr);
  };
  const Tensor a = widened(0), b = widened(1);
  Tensor y(op.out.to, call.shape());
  const auto left = a.values<std::int32_t>(), right = b.values<std::int32_t>();
  const Ints a_strides = broadcast_strides(a.shape(), y.shape()), b_strides = broadcast_strides(b.shape(), y.shape());
  Ints position(y.shape().size(), 0);
  for (std::int64_t i = 0; i < y.size(); ++i, next_index(position, y.shape())) {
    std::int64_t at_a = 0, at_b = 0;
    for (std::size_t axis = 0; axis < position.size(); ++axis) {
      at_a += position[axis] * a_strides[axis];
      at_b += position[axis] * b_strides[axis];
    }
    const std::int32_t p = left[static_cast<std::size_t>(at_a)] - op.a_zero;
    const std::int32_t q = right[static_cast<std::size_t>(at_b)] - op.b_zero;
    const float value = op.kind == BinaryKind::mul
                            ? static_cast<float>(p * q) * op.a_factor
                            : std::fma(static_cast<float>(p), op.a_factor, static_cast<float>(q) * op.b_factor);
    store_rescaled(op.out, {&value, 1}, y, i);
  }
  return {std::move(y)};
}

}  // namespace colonnade::reference
