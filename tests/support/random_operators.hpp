// SPDX-License-Identifier: Apache-2.0
// Random graphs of any operators over tensors of any rank and type. Operators whose shape rule refuses what was drawn
// are left out.
#pragma once

#include <algorithm>

#include "support/network.hpp"

namespace colonnade::test {

/// Exact: small integers and operators that keep them exact, so that equal means equal and steps (comparisons, indices)
/// may appear. Smooth: any floats and smooth functions, equal within a tolerance.
enum class Arithmetic { exact, smooth };

class RandomOperators {
 public:
  RandomOperators(std::uint32_t seed, Arithmetic arithmetic)
      : net_("random operators " + std::to_string(seed), seed), exact_(arithmetic == Arithmetic::exact) {}

  Graph grow() {
    const Shape shape = some_shape();
    pool_.push_back(net_.input(shape));
    if (one_in(2)) pool_.push_back(net_.input(one_in(2) ? shape : some_shape()));
    if (exact_ && one_in(3))
      pool_.push_back(net_.input(shape, one_of({DType::i64, DType::i32, DType::u8, DType::f64})));
    if (exact_ && one_in(4)) pool_.push_back(net_.input(shape, DType::boolean));
    for (std::int64_t layers = 1 + pick(14); layers > 0; --layers) add();
    net_.output(pool_.back());
    if (const ValueId extra = any(); one_in(2) && extra != pool_.back()) net_.output(extra);
    remove_dead(net_.graph());
    return net_.finish();
  }

 private:
  static constexpr std::int64_t kMostElements = 20000;

  std::int64_t pick(std::int64_t count) {
    return static_cast<std::int64_t>(net_.random()() % static_cast<std::uint32_t>(count));
  }
  bool one_in(std::int64_t count) { return pick(count) == 0; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[pick(static_cast<std::int64_t>(values.size()))];
  }

  Shape some_shape() {
    switch (pick(8)) {
      case 0: return {};
      case 1: return {some_dim()};
      case 2: return {some_dim(), some_dim()};
      case 3: return {1 + pick(3), some_dim(), some_dim()};
      case 4: return {1 + pick(2), 1 + pick(3), 1 + pick(4), some_dim(), 1 + pick(8)};
      default: return {1 + pick(3), 1 + pick(16), 1 + pick(16), one_of<std::int64_t>({1, 3, 4, 8, 16, 20})};
    }
  }
  std::int64_t some_dim() { return one_in(12) ? 0 : 1 + pick(24); }

  ValueId any() { return pool_[static_cast<std::size_t>(pick(static_cast<std::int64_t>(pool_.size())))]; }
  const ValueType& type(ValueId id) { return net_.graph().value(id).type; }
  std::int64_t rank(ValueId id) { return static_cast<std::int64_t>(net_.shape(id).size()); }
  std::int64_t dim(ValueId id, std::int64_t axis) { return net_.shape(id)[static_cast<std::size_t>(axis)]; }
  ValueId ints(const Ints& values) { return net_.graph().add_ints("c", values); }

  /// A constant like network weights; small integers where sums must be exact.
  ValueId weights(const Shape& shape) {
    if (!exact_) return net_.weights(shape, 0.3f);
    Tensor tensor(DType::f32, shape);
    for (float& x : tensor.values<float>()) x = static_cast<float>(pick(3) - 1);
    return net_.graph().add_constant("w", std::move(tensor));
  }
  /// A value of x's element type, of its shape or one that broadcasts.
  ValueId partner(ValueId x) {
    for (int tries = 0; tries < 6; ++tries)
      if (const ValueId y = any(); type(y).dtype == type(x).dtype) return y;
    return x;
  }

  /// Draws an operator and keeps its output, bounded again where it grows.
  void add() {
    const ValueId x = any();
    try {
      const ValueId y = draw(x);
      if (element_count(net_.shape(y)) <= kMostElements) pool_.push_back(y);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::internal) throw;
    }
  }
  ValueId bounded(ValueId x) { return type(x).dtype == DType::f32 ? net_.node(Unary{UnaryKind::clip, -8, 8}, {x}) : x; }

  ValueId draw(ValueId x) {
    switch (pick(25)) {
      case 0:
      case 1: return unary(x);
      case 2:
      case 3: return binary(x);
      case 4: return transpose(x);
      case 5: return reshape(x);
      case 6: return slice(x);
      case 7: return net_.node(Concat{pick(std::max<std::int64_t>(1, rank(x)))}, {x, partner(x)});
      case 8: return gather(x);
      case 9: return reduce(x);
      case 10: return pad(x);
      case 11: return matmul(x);
      case 12:
      case 13: return bounded(conv(x));
      case 14: return pool(x);
      case 15: return one_in(2) ? tile(x) : expand(x);
      case 16: return exact_ ? cast(x) : normalise(x);
      case 17: return exact_ ? select(x) : normalise(x);
      case 18: return exact_ ? index(x) : unary(x);
      case 19: return blocks(x);
      case 20: return resize(x);
      case 21: return one_in(2) ? net_.node(Flatten{pick(rank(x) + 1)}, {x}) : unsqueeze(x);
      case 22: return bounded(net_.node(CumSum{one_in(2), one_in(2)}, {x, axis_of(x)}));
      case 23: return net_.node(Trilu{one_in(2)}, {x, ints_scalar(pick(5) - 2)});
      default: return transposed_conv(x);
    }
  }

  ValueId unary(ValueId x) {
    if (type(x).dtype == DType::boolean) return net_.node(Unary{UnaryKind::logical_not}, {x});
    if (exact_) {
      const auto kind =
          one_of({UnaryKind::relu, UnaryKind::abs, UnaryKind::neg, UnaryKind::sign, UnaryKind::floor, UnaryKind::ceil,
                  UnaryKind::round, UnaryKind::identity, UnaryKind::square, UnaryKind::clip});
      return bounded(net_.node(Unary{kind, -2, 3}, {x}));
    }
    const auto kind = one_of(
        {UnaryKind::relu,     UnaryKind::sigmoid,    UnaryKind::tanh, UnaryKind::gelu_erf, UnaryKind::gelu_tanh,
         UnaryKind::softplus, UnaryKind::softsign,   UnaryKind::mish, UnaryKind::erf,      UnaryKind::hard_swish,
         UnaryKind::silu,     UnaryKind::elu,        UnaryKind::selu, UnaryKind::celu,     UnaryKind::hard_sigmoid,
         UnaryKind::sin,      UnaryKind::leaky_relu, UnaryKind::cos,  UnaryKind::atan,     UnaryKind::square});
    return bounded(net_.node(Unary{kind, 0.5f, 1}, {x}));
  }

  ValueId binary(ValueId x) {
    const ValueId y = partner(x);
    if (type(x).dtype == DType::boolean)
      return net_.node(Binary{one_of({BinaryKind::logical_and, BinaryKind::logical_or, BinaryKind::logical_xor})},
                       {x, y});
    if (exact_ && one_in(3))
      return net_.node(Binary{one_of({BinaryKind::equal, BinaryKind::less, BinaryKind::greater_or_equal})}, {x, y});
    return bounded(net_.node(Binary{one_of({BinaryKind::add, BinaryKind::sub, BinaryKind::mul, BinaryKind::min,
                                            BinaryKind::max, BinaryKind::prelu, BinaryKind::squared_difference})},
                             {x, y}));
  }

  ValueId transpose(ValueId x) {
    Ints perm;
    for (std::int64_t axis = 0; axis < rank(x); ++axis) perm.push_back(axis);
    std::shuffle(perm.begin(), perm.end(), net_.random());
    return net_.node(Transpose{perm}, {x});
  }

  /// Neighbouring dimensions joined or one of them cut in two, perhaps one left to be found.
  ValueId reshape(ValueId x) {
    Ints shape = net_.shape(x);
    if (!shape.empty()) {
      const auto at = static_cast<std::size_t>(pick(rank(x)));
      if (at + 1 < shape.size() && one_in(2)) {
        shape[at] *= shape[at + 1];
        shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      } else if (shape[at] % 2 == 0) {
        shape[at] /= 2;
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(at), 2);
      }
      if (one_in(3)) shape[static_cast<std::size_t>(pick(static_cast<std::int64_t>(shape.size())))] = -1;
    }
    return net_.node(Reshape{}, {x, ints(shape)});
  }

  ValueId slice(ValueId x) {
    const std::int64_t axis = pick(std::max<std::int64_t>(1, rank(x)));
    const std::int64_t step = one_of<std::int64_t>({1, 1, 1, 2, -1, -3, 1LL << 62});
    return net_.node(Slice{}, {x, ints({pick(30) - 15}), ints({pick(40) - 15}), ints({axis}), ints({step})});
  }

  ValueId gather(ValueId x) {
    const std::int64_t axis = pick(std::max<std::int64_t>(1, rank(x)));
    const std::int64_t size = rank(x) == 0 ? 1 : std::max<std::int64_t>(1, dim(x, axis));
    Ints indices;
    for (std::int64_t count = 1 + pick(6); count > 0; --count) indices.push_back(pick(2 * size) - size);
    return net_.node(Gather{axis}, {x, ints(indices)});
  }

  ValueId reduce(ValueId x) {
    Ints axes;
    for (std::int64_t axis = 0; axis < rank(x); ++axis)
      if (one_in(2)) axes.push_back(one_in(2) ? axis : axis - rank(x));
    Reduce op;
    op.kind = exact_ ? one_of({ReduceKind::sum, ReduceKind::max, ReduceKind::min, ReduceKind::l1})
                     : one_of({ReduceKind::mean, ReduceKind::l2, ReduceKind::sum, ReduceKind::log_sum_exp});
    op.keepdims = one_in(2);
    return bounded(net_.node(op, axes.empty() ? std::vector<ValueId>{x} : std::vector<ValueId>{x, ints(axes)}));
  }

  ValueId pad(ValueId x) {
    Ints pads;
    for (std::int64_t i = 0; i < 2 * rank(x); ++i) pads.push_back(one_in(2) ? 0 : pick(5) - 1);
    return net_.node(Pad{one_of({PadMode::constant, PadMode::edge, PadMode::reflect, PadMode::wrap})}, {x, ints(pads)});
  }

  ValueId matmul(ValueId x) {
    if (one_in(2) || rank(x) == 0) return bounded(net_.node(MatMul{one_in(4), one_in(4), {}}, {x, partner(x)}));
    return bounded(net_.node(MatMul{}, {x, weights({net_.shape(x).back(), 1 + pick(20)})}));
  }

  Conv window(ValueId x, std::int64_t groups) {
    Conv op;
    for (std::int64_t axis = 1; axis + 1 < rank(x); ++axis) {
      op.kernel.push_back(1 + pick(4));
      op.strides.push_back(1 + pick(3));
      op.dilations.push_back(1 + pick(2));
    }
    for (std::size_t i = 0; i < 2 * op.kernel.size(); ++i) op.pads.push_back(pick(op.kernel[i % op.kernel.size()]));
    op.groups = groups;
    return op;
  }
  /// A constant, or computed elsewhere.
  ValueId filter(const Shape& shape) { return one_in(5) ? net_.input(shape) : weights(shape); }
  /// Channels lie second, as importers write it, or last.
  ValueId conv(ValueId x) {
    if (rank(x) != 4 || one_in(2)) return conv_of_last(x);
    const ValueId y = conv_of_last(net_.node(Transpose{{0, 2, 3, 1}}, {x}));
    return net_.node(Transpose{{0, 3, 1, 2}}, {y});
  }
  ValueId conv_of_last(ValueId x) {
    const std::int64_t channels = rank(x) == 0 ? 1 : net_.shape(x).back();
    const std::int64_t groups = one_in(3) ? channels : channels % 2 == 0 && one_in(3) ? 2 : 1;
    const Conv op = window(x, groups);
    const std::int64_t out = groups * (1 + pick(groups == channels ? 2 : 12));
    Shape shape{out, groups == 0 ? 0 : channels / groups};
    shape.insert(shape.end(), op.kernel.begin(), op.kernel.end());
    const ValueId filters = filter(shape);
    const ValueId y = net_.node(op, {x, filters, one_in(2) ? weights({out}) : kAbsent});
    return net_.graph().value(filters).constant ? y : bounded(y);
  }
  ValueId transposed_conv(ValueId x) {
    const std::int64_t channels = rank(x) == 0 ? 1 : net_.shape(x).back(), out = 1 + pick(8);
    const Conv like = window(x, 1);
    ConvTranspose op;
    op.kernel = like.kernel, op.strides = like.strides, op.dilations = like.dilations, op.pads = like.pads;
    for (const std::int64_t stride : op.strides) op.output_padding.push_back(one_in(2) ? 0 : pick(stride));
    op.groups = channels % 2 == 0 && one_in(3) ? 2 : 1;
    Shape shape{channels, out};
    shape.insert(shape.end(), op.kernel.begin(), op.kernel.end());
    return bounded(net_.node(op, {x, filter(shape), one_in(2) ? weights({out * op.groups}) : kAbsent}));
  }
  ValueId pool(ValueId x) {
    const Conv like = window(x, 1);
    const auto kind = exact_ || one_in(2) ? PoolKind::max : PoolKind::average;
    return net_.node(Pool{kind, like.kernel, like.strides, like.dilations, like.pads, AutoPad::explicit_pads, one_in(3),
                          one_in(2), 2},
                     {x});
  }

  ValueId tile(ValueId x) {
    Ints repeats;
    for (std::int64_t axis = 0; axis < rank(x); ++axis) repeats.push_back(one_in(8) ? 0 : 1 + pick(3));
    return net_.node(Tile{}, {x, ints(repeats)});
  }
  ValueId expand(ValueId x) {
    Ints shape = net_.shape(x);
    for (std::int64_t& size : shape) size = size == 1 && one_in(2) ? 1 + pick(5) : size;
    if (one_in(3)) shape.insert(shape.begin(), 1 + pick(3));
    return net_.node(Expand{}, {x, ints(shape)});
  }
  ValueId cast(ValueId x) {
    return net_.node(
        Cast{one_of({DType::f32, DType::f32, DType::i64, DType::i32, DType::boolean, DType::f64, DType::f16})}, {x});
  }
  ValueId select(ValueId x) {
    const ValueId y = partner(x);
    return net_.node(Select{}, {net_.node(Binary{BinaryKind::less}, {x, y}), x, y});
  }
  ValueId normalise(ValueId x) {
    const std::int64_t axis = pick(std::max<std::int64_t>(1, rank(x)));
    if (one_in(2)) return net_.node(Softmax{axis, false}, {x});
    const std::int64_t channels = rank(x) == 0 ? 1 : net_.shape(x).back();
    return bounded(net_.node(LayerNorm{1e-2f, -1, one_in(2)},
                             {x, weights({channels}), one_in(2) ? weights({channels}) : kAbsent}));
  }
  ValueId axis_of(ValueId x) { return ints_scalar(pick(std::max<std::int64_t>(1, rank(x)))); }
  ValueId ints_scalar(std::int64_t value) {
    Tensor tensor(DType::i64, {});
    tensor.values<std::int64_t>().front() = value;
    return net_.graph().add_constant("c", std::move(tensor));
  }
  ValueId index(ValueId x) {
    const std::int64_t axis = pick(std::max<std::int64_t>(1, rank(x)));
    if (one_in(2)) return net_.node(ArgReduce{one_in(2), axis, one_in(2), one_in(2)}, {x});
    return net_.node(TopK{axis, one_in(2), true}, {x, ints({1 + pick(3)})});
  }
  ValueId blocks(ValueId x) {
    const std::int64_t axis = one_in(2) ? 1 : 3;
    return one_in(2) ? net_.node(DepthToSpace{2, one_in(2), axis}, {x}) : net_.node(SpaceToDepth{2, axis}, {x});
  }
  ValueId resize(ValueId x) {
    if (rank(x) != 4) return net_.relu(x);
    return net_.resize2(x, exact_ ? ResizeMode::nearest : ResizeMode::linear);
  }
  ValueId unsqueeze(ValueId x) { return net_.node(Unsqueeze{}, {x, ints({pick(rank(x) + 1)})}); }

  Network net_;
  const bool exact_;
  std::vector<ValueId> pool_;
};

}  // namespace colonnade::test
