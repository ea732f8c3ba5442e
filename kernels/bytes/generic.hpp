// SPDX-License-Identifier: Apache-2.0
// Quantising and dequantising of every tier.
#pragma once

#include "kernels/bytes/round.hpp"

namespace colonnade::kernels::bytes {
namespace {

template <class T>
inline T quantized(float x, float scale, float zero) {
  const float quotient = x / scale, number = quotient == quotient ? quotient : -zero;
  return static_cast<T>(rounded(clamped(number, kLow<T> - zero, kHigh<T> - zero)) + static_cast<std::int32_t>(zero));
}

/// Replaces NaN where the lower bound, which bounding makes of it, is not what it becomes.
template <class T>
inline Vec number_or(Vec x, Vec otherwise) {
  return std::is_unsigned_v<T> ? x : select(is_nan(x), otherwise, x);
}

/// A parameter of all elements, or of each.
struct One {
  Vec value;
  Vec at(std::size_t) const { return value; }
};
struct Each {
  const float* values;
  Vec at(std::size_t i) const { return load(values + i); }
};
template <class T>
struct EachByte {
  const T* values;
  Vec at(std::size_t i) const { return widened(values + i); }
};

template <class T, class Scale, class Zero>
inline void divide(const float* in, T* out, Scale scale, Zero zero) {
  IntBatch integers[4];
#pragma GCC unroll 4
  for (std::size_t i = 0; i < kGroup; i += kLanes) {
    const Vec origin = zero.at(i);
    const Vec quotient = number_or<T>(load(in + i) / scale.at(i), -origin);
    const Vec bounded = clamped(quotient, broadcast(kLow<T>) - origin, broadcast(kHigh<T>) - origin);
    integers[i / kLanes] = xsimd::to_int(Batch((bounded + broadcast(kShift) - broadcast(kShift) + origin).v));
  }
  store_bytes(out, integers);
}

/// Quantises by factors just below and just above 1 / scale: where both round alike, so does the quotient.
template <class T>
class Multiplier {
 public:
  Multiplier(float scale, float zero)
      : below_(broadcast(1.0f / scale * (1.0f - 0x1p-22f))),
        above_(broadcast(1.0f / scale * (1.0f + 0x1p-22f))),
        low_(broadcast((kLow<T> - zero - 1.0f) * scale)),
        high_(broadcast((kHigh<T> - zero + 1.0f) * scale)),
        origin_(broadcast(-zero * scale)),
        offset_(static_cast<std::int32_t>(zero) - __builtin_bit_cast(std::int32_t, kShift)) {}
  static bool takes(float scale) { return scale > 0x1p-100f && scale < 0x1p100f; }

  /// False when some element must be divided.
  bool operator()(const float* in, T* out) const {
    IntBatch integers[4], differ(0);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
      const Vec x = clamped(number_or<T>(load(in + i * kLanes), origin_), low_, high_);
      const IntBatch least = bits_of(fma(x, below_, broadcast(kShift)));
      differ = differ | (least ^ bits_of(fma(x, above_, broadcast(kShift))));
      integers[i] = least + offset_;
    }
    store_bytes(out, integers);
    return none(differ);
  }

 private:
  Vec below_, above_, low_, high_, origin_;
  IntBatch offset_;
};

/// Two bytes have too many values for factors to save the division often.
template <class T>
requires(sizeof(T) > 1) inline void quantize_line(const float* in, T* out, std::size_t count, float scale, float zero) {
  for (std::size_t i = 0; i < count; ++i) out[i] = quantized<T>(in[i], scale, zero);
}
template <class T>
requires(sizeof(T) > 1) inline void quantize_line(const float* in, T* out, std::size_t count, const float* scale,
                                                  const T* zero) {
  for (std::size_t i = 0; i < count; ++i) out[i] = quantized<T>(in[i], scale[i], zero[i]);
}

template <class T>
inline void quantize_line(const float* in, T* out, std::size_t count, float scale, float zero) {
  const One scales{broadcast(scale)}, zeros{broadcast(zero)};
  const Multiplier<T> multiply(scale, zero);
  const bool multiplies = Multiplier<T>::takes(scale);
  const bool done = by_groups(count, [&](std::size_t i) {
    if (!multiplies || !multiply(in + i, out + i)) divide(in + i, out + i, scales, zeros);
  });
  if (done) return;
  for (std::size_t i = 0; i < count; ++i) out[i] = quantized<T>(in[i], scale, zero);
}
template <class T>
inline void quantize_line(const float* in, T* out, std::size_t count, const float* scale, const T* zero) {
  const bool done =
      by_groups(count, [&](std::size_t i) { divide(in + i, out + i, Each{scale + i}, EachByte<T>{zero + i}); });
  if (done) return;
  for (std::size_t i = 0; i < count; ++i) out[i] = quantized<T>(in[i], scale[i], zero[i]);
}

template <class T>
inline void dequantize_line(const T* in, float* out, std::size_t count, float scale, float zero) {
  for (std::size_t i = 0; i < count; ++i) out[i] = (static_cast<float>(in[i]) - zero) * scale;
}
template <class T>
inline void dequantize_line(const T* in, float* out, std::size_t count, const float* scale, const T* zero) {
  for (std::size_t i = 0; i < count; ++i) out[i] = (static_cast<float>(in[i]) - static_cast<float>(zero[i])) * scale[i];
}

/// line(in, out, count, scale, zero) for pixels with their parameters: one value each, or one for each channel.
template <class In, class Out, class Zero, class Line>
inline void walk(Pixels rows, const Parameters& given, const In* in, Out* out, Line line) {
  const auto* zero = static_cast<const Zero*>(given.zero);
  if (given.channel_step == 0) {
    if (given.pixel_step == 0) join(rows);
    for (std::size_t p = 0; p < rows.pixels; ++p, in += rows.in_pixel_stride, out += rows.out_pixel_stride) {
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(p) * given.pixel_step;
      line(in, out, rows.channels, given.scale[at], static_cast<float>(zero[at]));
    }
    return;
  }
  const bool dense = is_dense(rows.in_pixel_stride, rows.channels) && is_dense(rows.out_pixel_stride, rows.channels);
  const std::size_t together = dense ? pixels_together(rows.pixels, rows.channels) : 1;
  float scale_room[kRepeated];
  Zero zero_room[kRepeated];
  const float* scales = repeated(given.scale, scale_room, rows.channels, together);
  const Zero* zeros = repeated(zero, zero_room, rows.channels, together);
  for (std::size_t p = 0; p < rows.pixels; p += together) {
    const std::size_t pixels = together < rows.pixels - p ? together : rows.pixels - p;
    line(in, out, pixels * rows.channels, scales, zeros);
    in += static_cast<std::ptrdiff_t>(pixels) * rows.in_pixel_stride;
    out += static_cast<std::ptrdiff_t>(pixels) * rows.out_pixel_stride;
  }
}

template <class T>
void quantize(const QuantizeArgs& args) noexcept {
  walk<float, T, T>(args.rows, args.parameters, args.in, static_cast<T*>(args.out),
                    [](auto... a) { quantize_line(a...); });
}
template <class T>
void dequantize(const DequantizeArgs& args) noexcept {
  walk<T, float, T>(args.rows, args.parameters, static_cast<const T*>(args.in), args.out,
                    [](auto... a) { dequantize_line(a...); });
}

inline QuantizeFn quantize_to(Type to) noexcept {
  switch (to) {
    case Type::u8: return quantize<std::uint8_t>;
    case Type::i8: return quantize<std::int8_t>;
    case Type::u16: return quantize<std::uint16_t>;
    case Type::i16: return quantize<std::int16_t>;
    case Type::i32:
    case Type::f32: break;
  }
  return nullptr;
}
inline DequantizeFn dequantize_from(Type from) noexcept {
  switch (from) {
    case Type::u8: return dequantize<std::uint8_t>;
    case Type::i8: return dequantize<std::int8_t>;
    case Type::i32: return dequantize<std::int32_t>;
    case Type::u16:
    case Type::i16:
    case Type::f32: break;
  }
  return nullptr;
}

}  // namespace
}  // namespace colonnade::kernels::bytes
