// SPDX-License-Identifier: Apache-2.0
// The elementwise loops of every tier. Rows whose pixels lie side by side run as one long pixel.
#pragma once

#include "kernels/base/vector_math.hpp"
#include "kernels/elementwise/functions.hpp"
#include "kernels/elementwise/powers.hpp"

namespace colonnade::kernels::elementwise {
namespace {

inline constexpr std::size_t kLanes = Vec::kLanes;

template <class F>
inline void unary_pixels(const UnaryArgs& a, const F& f) {
  const float* in = a.in;
  float* out = a.out;
  const float* slope = a.op.slope;
  const std::size_t channels = a.channels;
  for (std::size_t p = 0; p < a.pixels; ++p, in += a.in_pixel_stride, out += a.out_pixel_stride) {
    map_vectors(f, in, out, channels, slope);
    const std::size_t c = channels / kLanes * kLanes;
    if (c == channels) continue;
    const std::size_t n = channels - c;
    store_first(out + c, call_first(f, load_first(in + c, n), F::kSlope ? slope + c : nullptr, n), n);
  }
}

/// Pixels side by side as one long pixel.
inline void join_pixels(UnaryArgs& a) {
  const auto width = static_cast<std::ptrdiff_t>(a.channels);
  if (a.in_pixel_stride != width || a.out_pixel_stride != width) return;
  a.channels *= a.pixels;
  a.pixels = a.pixels > 0 ? 1 : 0;
}

inline void run_unary(const UnaryArgs& args) noexcept {
  UnaryArgs a = args;
  if (a.op.kind != Unary::prelu) join_pixels(a);
  with_unary(a.op, [&a](const auto& f) { unary_pixels(a, f); });
}

inline void run_function(const FunctionArgs& args) noexcept {
  const UnaryOp parameters{Unary::identity, args.a, args.b, nullptr};
  UnaryArgs a{parameters, args.pixels, args.channels, args.in, args.out, args.in_pixel_stride, args.out_pixel_stride};
  join_pixels(a);
  with_function(args.function, parameters, [&a](const auto& f) { unary_pixels(a, f); });
}

struct Add {
  static Vec of(Vec a, Vec b) { return a + b; }
};
struct Sub {
  static Vec of(Vec a, Vec b) { return a - b; }
};
struct Mul {
  static Vec of(Vec a, Vec b) { return a * b; }
};
struct Div {
  static Vec of(Vec a, Vec b) { return a / b; }
};
struct Min {
  static Vec of(Vec a, Vec b) { return select(is_nan(a), a, min(a, b)); }
};
struct Max {
  static Vec of(Vec a, Vec b) { return select(is_nan(a), a, max(a, b)); }
};
struct PreluOf {
  static Vec of(Vec a, Vec b) { return select(less(a, zero()), a * b, a); }
};
struct SquaredDifference {
  static Vec of(Vec a, Vec b) { return (a - b) * (a - b); }
};

/// What the first operand is.
struct First {
  static Vec of(Vec a, Vec) { return a; }
};
// Powers with one exponent for all elements.
struct PowTwo {
  static Vec of(Vec a, Vec) { return a * a; }
};
struct PowThree {
  static Vec of(Vec a, Vec) { return a * a * a; }
};
struct PowHalf {
  static Vec of(Vec a, Vec) {
    return select(less(a, broadcast(-__FLT_MAX__)), broadcast(__builtin_inff()), sqrt(a + zero()));
  }
};
struct PowMinusOne {
  static Vec of(Vec a, Vec) { return broadcast(1.0f) / a; }
};

/// An operand of one pixel: its channels, or one value for all of them.
struct Channels {
  const float* p;
  explicit Channels(const float* values) : p(values) {}
  Vec at(std::size_t c) const { return load(p + c); }
  Vec first(std::size_t c, std::size_t n) const { return load_first(p + c, n); }
};
struct Same {
  Vec value;
  explicit Same(const float* one) : value(broadcast(*one)) {}
  Vec at(std::size_t) const { return value; }
  Vec first(std::size_t, std::size_t) const { return value; }
};

template <class Op, class A, class B, class F>
inline void binary_pixels(const BinaryArgs& args, const F& f) {
  const float* a = args.a;
  const float* b = args.b;
  float* out = args.out;
  const std::size_t channels = args.channels;
  for (std::size_t p = 0; p < args.pixels; ++p) {
    const A left(a);
    const B right(b);
    std::size_t c = 0;
    for (; c + kLanes <= channels; c += kLanes) store(out + c, call(f, Op::of(left.at(c), right.at(c)), nullptr));
    if (c < channels) {
      const std::size_t n = channels - c;
      store_first(out + c, call(f, Op::of(left.first(c, n), right.first(c, n)), nullptr), n);
    }
    a += args.a_pixel_stride;
    b += args.b_pixel_stride;
    out += args.out_pixel_stride;
  }
}

template <class Op>
inline void binary_strides(const BinaryArgs& args) {
  with_fused_unary(args.activation, [&args](const auto& f) {
    const bool a_same = args.a_channel_stride == 0;
    const bool b_same = args.b_channel_stride == 0;
    if (a_same && b_same)
      binary_pixels<Op, Same, Same>(args, f);
    else if (a_same)
      binary_pixels<Op, Same, Channels>(args, f);
    else if (b_same)
      binary_pixels<Op, Channels, Same>(args, f);
    else
      binary_pixels<Op, Channels, Channels>(args, f);
  });
}

inline void binary_pow(const BinaryArgs& args) {
  if (args.b_channel_stride == 0 && args.b_pixel_stride == 0) {
    const float exponent = *args.b;
    if (exponent == 2.0f) return binary_strides<PowTwo>(args);
    if (exponent == 3.0f) return binary_strides<PowThree>(args);
    if (exponent == 0.5f) return binary_strides<PowHalf>(args);
    if (exponent == -1.0f) return binary_strides<PowMinusOne>(args);
  }
  const bool one_base = args.a_channel_stride == 0, one_exponent = args.b_channel_stride == 0;
  const auto row = one_base ? (one_exponent ? power_row<0, 0> : power_row<0, 1>)
                            : (one_exponent ? power_row<1, 0> : power_row<1, 1>);
  for (std::size_t p = 0; p < args.pixels; ++p) {
    const auto pixel = static_cast<std::ptrdiff_t>(p);
    row(args.a + pixel * args.a_pixel_stride, args.b + pixel * args.b_pixel_stride,
        args.out + pixel * args.out_pixel_stride, args.channels);
  }
  if (args.activation.kind == Unary::identity) return;
  BinaryArgs rest = args;
  rest.a = args.out, rest.a_pixel_stride = args.out_pixel_stride, rest.a_channel_stride = 1;
  rest.b = args.out, rest.b_pixel_stride = args.out_pixel_stride, rest.b_channel_stride = 1;
  binary_strides<First>(rest);
}

/// Makes one long pixel of pixels side by side, and one channel a plain sequence.
inline BinaryArgs merged(BinaryArgs a) {
  if (a.channels == 1) {
    a.a_channel_stride = a.a_pixel_stride == 0 ? 0 : 1;
    a.b_channel_stride = a.b_pixel_stride == 0 ? 0 : 1;
  }
  const auto width = static_cast<std::ptrdiff_t>(a.channels);
  const auto flat = [width](std::ptrdiff_t pixel, std::ptrdiff_t channel) {
    return channel == 0 ? pixel == 0 : pixel == width;
  };
  if (flat(a.a_pixel_stride, a.a_channel_stride) && flat(a.b_pixel_stride, a.b_channel_stride) &&
      a.out_pixel_stride == width) {
    a.channels *= a.pixels;
    a.pixels = a.pixels > 0 ? 1 : 0;
  }
  return a;
}

inline void run_binary(const BinaryArgs& args) noexcept {
  if (args.pixels == 0 || args.channels == 0) return;
  const BinaryArgs a = merged(args);
  switch (a.op) {
    case Binary::add: return binary_strides<Add>(a);
    case Binary::sub: return binary_strides<Sub>(a);
    case Binary::mul: return binary_strides<Mul>(a);
    case Binary::div: return binary_strides<Div>(a);
    case Binary::min: return binary_strides<Min>(a);
    case Binary::max: return binary_strides<Max>(a);
    case Binary::pow: return binary_pow(a);
    case Binary::prelu: return binary_strides<PreluOf>(a);
    case Binary::squared_difference: return binary_strides<SquaredDifference>(a);
  }
}

/// `kApart`: elements of a pair lie `pairs` apart.
template <bool kApart>
inline void rotate_pixel(std::size_t pairs, const float* x, const float* cosines, const float* sines, float* out) {
  const std::size_t step = kApart ? 1 : 2, between = kApart ? pairs : 1;
#pragma GCC ivdep
  for (std::size_t i = 0; i < pairs; ++i) {
    const float a = x[i * step], b = x[i * step + between];
    out[i * step] = a * cosines[i] - b * sines[i];
    out[i * step + between] = a * sines[i] + b * cosines[i];
  }
}

inline void run_rotate(const RotateArgs& args) noexcept {
  const float* x = args.x;
  float* out = args.out;
  for (std::size_t p = 0; p < args.pixels; ++p, x += args.x_pixel_stride, out += args.out_pixel_stride)
    args.interleaved ? rotate_pixel<false>(args.pairs, x, args.cosines, args.sines, out)
                     : rotate_pixel<true>(args.pairs, x, args.cosines, args.sines, out);
}

}  // namespace
}  // namespace colonnade::kernels::elementwise
