// SPDX-License-Identifier: Apache-2.0
// Sums and products of two rows of bytes of every tier.
#pragma once

#include "kernels/bytes/round.hpp"

namespace colonnade::kernels::bytes {
namespace {

/// An operand of one pixel, less its zero: its channels, or one value for all of them.
class Channels {
 public:
  Channels(const std::uint8_t* first, float zero) : bytes_(first), zero_(zero) {}
  float one(std::size_t c) const { return static_cast<float>(bytes_[c]) - zero_; }
  Vec at(std::size_t c) const { return widened_less(bytes_ + c, zero_); }

 private:
  const std::uint8_t* bytes_;
  float zero_;
};
class Same {
 public:
  Same(const std::uint8_t* first, float zero) : number_(static_cast<float>(*first) - zero) {}
  float one(std::size_t) const { return number_; }
  Vec at(std::size_t) const { return broadcast(number_); }

 private:
  float number_;
};

struct Add {
  float a_factor, b_factor;
  float operator()(float a, float b) const { return fused(a, a_factor, b * b_factor); }
  Vec operator()(Vec a, Vec b) const { return fused(a, broadcast(a_factor), b * broadcast(b_factor)); }
};
/// The product of differences of bytes is exact.
struct Mul {
  float factor, unused;
  float operator()(float a, float b) const { return a * b * factor; }
  Vec operator()(Vec a, Vec b) const { return a * b * broadcast(factor); }
};

/// Whether clamping sums is what saturation does, and none lies beyond what integers hold. Not asked of products: where
/// nothing stands between, the compiler makes one rounding of theirs and the next one.
template <class T>
inline bool saturates(const BinaryArgs& args) {
  constexpr float kMost = 255, kFar = 2097152;
  const auto zero = static_cast<float>(args.zero);
  return args.low + zero == kLow<T> && args.high + zero == kHigh<T> &&
         kMost * (__builtin_fabsf(args.a.factor) + __builtin_fabsf(args.b.factor)) < kFar;
}

/// How numbers become outputs.
template <class T, bool kClamps>
class Rescaled {
 public:
  explicit Rescaled(const BinaryArgs& args) : zero_(args.zero), low_(args.low), high_(args.high) {}
  T one(float v) const { return static_cast<T>(rounded(clamped(v, low_, high_)) + zero_); }
  void store_group(T* out, const Vec (&v)[4]) const {
    const IntBatch offset(zero_ - __builtin_bit_cast(std::int32_t, kShift));
    IntBatch integers[4];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
      const Vec x = kClamps ? clamped(v[i], broadcast(low_), broadcast(high_)) : v[i];
      integers[i] = bits_of(x + broadcast(kShift)) + offset;
    }
    store_bytes(out, integers);
  }

 private:
  std::int32_t zero_;
  float low_, high_;
};
template <bool kClamps>
class Rescaled<float, kClamps> {
 public:
  explicit Rescaled(const BinaryArgs&) {}
  float one(float v) const { return v; }
  void store_group(float* out, const Vec (&v)[4]) const {
    for (std::size_t i = 0; i < 4; ++i) store(out + i * kLanes, v[i]);
  }
};

template <class T, bool kClamps, class Op, class A, class B>
inline void binary_pixels(const BinaryArgs& args) {
  const Op op{args.a.factor, args.b.factor};
  const Rescaled<T, kClamps> rescaled(args);
  const auto a_zero = static_cast<float>(args.a.zero), b_zero = static_cast<float>(args.b.zero);
  const std::uint8_t *a = args.a.bytes, *b = args.b.bytes;
  auto* out = static_cast<T*>(args.out);
  for (std::size_t p = 0; p < args.pixels; ++p) {
    const A left(a, a_zero);
    const B right(b, b_zero);
    const bool done = by_groups(args.channels, [&](std::size_t c) {
      Vec v[4];
#pragma GCC unroll 4
      for (std::size_t i = 0; i < 4; ++i) v[i] = op(left.at(c + i * kLanes), right.at(c + i * kLanes));
      rescaled.store_group(out + c, v);
    });
    for (std::size_t c = done ? args.channels : 0; c < args.channels; ++c)
      out[c] = rescaled.one(op(left.one(c), right.one(c)));
    a += args.a.pixel_stride;
    b += args.b.pixel_stride;
    out += args.out_pixel_stride;
  }
}

template <class T, bool kClamps, class Op>
inline void binary_strides(const BinaryArgs& args) {
  const bool a_same = args.a.channel_stride == 0, b_same = args.b.channel_stride == 0;
  if (a_same && b_same) return binary_pixels<T, kClamps, Op, Same, Same>(args);
  if (a_same) return binary_pixels<T, kClamps, Op, Same, Channels>(args);
  if (b_same) return binary_pixels<T, kClamps, Op, Channels, Same>(args);
  binary_pixels<T, kClamps, Op, Channels, Channels>(args);
}
template <class T>
inline void run(const BinaryArgs& args) {
  if (args.op == Binary::mul) return binary_strides<T, true, Mul>(args);
  if constexpr (sizeof(T) == 1)
    if (saturates<T>(args)) return binary_strides<T, false, Add>(args);
  binary_strides<T, true, Add>(args);
}

/// How an operand's pixels follow each other.
enum class Follow { same, repeated, dense, apart };
inline Follow follow_of(const Operand& operand, std::size_t channels) {
  if (operand.pixel_stride == 0) return operand.channel_stride == 0 ? Follow::same : Follow::repeated;
  return operand.channel_stride == 1 && is_dense(operand.pixel_stride, channels) ? Follow::dense : Follow::apart;
}

/// `times` pixels of an operand as one.
inline void join(Operand& operand, std::uint8_t* room, std::size_t channels, std::size_t times) {
  const Follow follow = follow_of(operand, channels);
  if (follow == Follow::dense) operand.pixel_stride *= static_cast<std::ptrdiff_t>(times);
  if (follow == Follow::repeated) operand.bytes = repeated(operand.bytes, room, channels, times);
}

/// Pixels that are joined to one.
inline std::size_t pixels_together(const BinaryArgs& a) {
  const Follow left = follow_of(a.a, a.channels), right = follow_of(a.b, a.channels);
  if (left == Follow::apart || right == Follow::apart || !is_dense(a.out_pixel_stride, a.channels)) return 1;
  const bool repeats = left == Follow::repeated || right == Follow::repeated;
  return repeats ? pixels_together(a.pixels, a.channels) : a.pixels;
}

template <class T>
void binary(const BinaryArgs& args) noexcept {
  if (args.pixels == 0 || args.channels == 0) return;
  BinaryArgs a = args;
  if (a.channels == 1)
    for (Operand* operand : {&a.a, &a.b}) operand->channel_stride = operand->pixel_stride == 0 ? 0 : 1;
  const std::size_t together = pixels_together(a), rest = a.pixels % together;
  std::uint8_t a_room[kRepeated], b_room[kRepeated];
  join(a.a, a_room, a.channels, together);
  join(a.b, b_room, a.channels, together);
  a.out_pixel_stride *= static_cast<std::ptrdiff_t>(together);
  a.pixels /= together;
  a.channels *= together;
  run<T>(a);
  if (rest == 0) return;
  const auto done = static_cast<std::ptrdiff_t>(a.pixels);
  for (Operand* operand : {&a.a, &a.b}) operand->bytes += done * operand->pixel_stride;
  a.out = static_cast<T*>(a.out) + done * a.out_pixel_stride;
  a.channels = a.channels / together * rest;
  a.pixels = 1;
  run<T>(a);
}

inline BinaryFn binary_to(Type to) noexcept {
  switch (to) {
    case Type::u8: return binary<std::uint8_t>;
    case Type::i8: return binary<std::int8_t>;
    case Type::f32: return binary<float>;
    case Type::u16:
    case Type::i16:
    case Type::i32: break;
  }
  return nullptr;
}

}  // namespace
}  // namespace colonnade::kernels::bytes
