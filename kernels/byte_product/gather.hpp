// SPDX-License-Identifier: Apache-2.0
// Pixels in a row, each with all channels that its taps read, as the tile multiplies them.
#pragma once

#include "kernels/byte_product/vector.hpp"

namespace colonnade::kernels::byte_product {
namespace {

/// Bytes that a copy may write past its end.
inline constexpr std::size_t kOverrun = 64;

#if defined(__AVX512F__) && (defined(__AVX512VNNI__))
/// Writes up to kOverrun bytes more.
[[gnu::always_inline]] inline void copy_channels(const std::uint8_t* from, std::size_t count, Channel* to) {
  std::size_t i = 0;
  for (; i + 64 <= count; i += 64) _mm512_storeu_si512(to + i, _mm512_loadu_si512(from + i));
  if (i == count) return;
  const std::size_t left = count - i;
  const __mmask64 first = (__mmask64{1} << left) - 1;
  if (left <= 16) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm_maskz_loadu_epi8(static_cast<__mmask16>(first), from + i));
  } else if (left <= 32) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i),
                        _mm256_maskz_loadu_epi8(static_cast<__mmask32>(first), from + i));
  } else {
    _mm512_storeu_si512(to + i, _mm512_maskz_loadu_epi8(first, from + i));
  }
}
#elif defined(__AVX512F__)
[[gnu::always_inline]] inline void copy_channels(const std::uint8_t* from, std::size_t count, Channel* to) {
  const auto widened = [](__m256i bytes) { return _mm512_cvtepu8_epi16(bytes); };
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32)
    _mm512_storeu_si512(to + i, widened(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i))));
  if (i < count) {
    const auto first = static_cast<__mmask32>((1u << (count - i)) - 1);
    _mm512_storeu_si512(to + i, widened(_mm256_maskz_loadu_epi8(first, from + i)));
  }
}
#elif defined(__AVX2__)
/// The first bytes of at most sixteen, zeros after them.
[[gnu::always_inline]] inline __m128i first_bytes(const std::uint8_t* from, std::size_t count) {
  if (count == 16) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  std::uint64_t low = 0, high = 0;
  if (count >= 8) {
    std::memcpy(&low, from, 8);
    std::memcpy(&high, from + count - 8, 8);
    high = count == 8 ? 0 : high >> (8 * (16 - count));
  } else if (count >= 4) {
    std::uint32_t a, b;
    std::memcpy(&a, from, 4);
    std::memcpy(&b, from + count - 4, 4);
    low = a | static_cast<std::uint64_t>(b) << (8 * (count - 4));
  } else {
    for (std::size_t i = 0; i < count; ++i) low |= static_cast<std::uint64_t>(from[i]) << (8 * i);
  }
  return _mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low));
}
[[gnu::always_inline]] inline void copy_channels(const std::uint8_t* from, std::size_t count, Channel* to) {
  for (std::size_t i = 0; i < count; i += 16) {
    const __m128i bytes = first_bytes(from + i, count - i < 16 ? count - i : 16);
    if constexpr (kReadsBytes)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), bytes);
    else
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm256_cvtepu8_epi16(bytes));
  }
}
#else
inline void copy_channels(const std::uint8_t* from, std::size_t count, Channel* to) { std::memcpy(to, from, count); }
#endif

inline void fill_channels(Channel* to, std::size_t count, Channel value) {
  for (std::size_t i = 0; i < count; ++i) to[i] = value;
}

/// What all pixels of a group share. Pixels are written `pixel_channels` apart.
struct Gather {
  const Args& a;
  std::size_t first_channel;
  std::size_t k;
  std::size_t pixel_channels;
};

/// Zeros up to a whole step.
[[gnu::always_inline]] inline void end_pixel(const Gather& g, Channel* pixel) {
  for (std::size_t i = g.k; i % kStep != 0; ++i) pixel[i] = 0;
}

/// Channels of the taps of pixel (row, x). May write kOverrun bytes more.
inline void gather_pixel(const Gather& g, std::size_t row, std::size_t x, Channel* to) {
  const Args& a = g.a;
  Channel* const pixel = to;
  for (std::size_t ky = 0; ky < a.kernel_h; ++ky) {
    const std::uint8_t* const from = a.in_rows[row * a.kernel_h + ky];
    for (std::size_t kx = 0; kx < a.kernel_w; ++kx, to += a.channels_in) {
      const std::size_t at = x * a.stride_w + kx * a.dilation_w - a.pad_left;
      if (from != nullptr && at < a.width_in)
        copy_channels(from + static_cast<std::ptrdiff_t>(at) * a.in_pixel_stride + g.first_channel, a.channels_in, to);
      else
        fill_channels(to, a.channels_in, a.x_zero);
    }
  }
  end_pixel(g, pixel);
}

/// The same for `count` pixels from (row, x) on, whose taps lie inside the row and behind each other.
inline void gather_inside(const Gather& g, std::size_t row, std::size_t x, std::size_t count, Channel* to) {
  const Args& a = g.a;
  const std::size_t channels = a.kernel_w * a.channels_in;
  const std::uint8_t* const* const rows = a.in_rows + row * a.kernel_h;
  const std::ptrdiff_t step = static_cast<std::ptrdiff_t>(a.stride_w) * a.in_pixel_stride;
  std::ptrdiff_t offset = static_cast<std::ptrdiff_t>(x * a.stride_w - a.pad_left) * a.in_pixel_stride +
                          static_cast<std::ptrdiff_t>(g.first_channel);
  for (std::size_t i = 0; i < count; ++i, offset += step, to += g.pixel_channels) {
    Channel* part = to;
    for (std::size_t ky = 0; ky < a.kernel_h; ++ky, part += channels) {
      if (rows[ky] != nullptr)
        copy_channels(rows[ky] + offset, channels, part);
      else
        fill_channels(part, channels, a.x_zero);
    }
    end_pixel(g, to);
  }
}

/// Output pixels of a row whose taps lie inside it and behind each other: [begin, end).
struct Inside {
  std::size_t begin = 0;
  std::size_t end = 0;
};

inline Inside inside_of(const Args& a) {
  const bool together =
      a.kernel_w == 1 || (a.dilation_w == 1 && a.in_pixel_stride == static_cast<std::ptrdiff_t>(a.channels_in));
  const std::size_t reach = (a.kernel_w - 1) * a.dilation_w, begin = (a.pad_left + a.stride_w - 1) / a.stride_w;
  if (!together || a.width_in + a.pad_left <= reach) return {};
  const std::size_t end = (a.width_in + a.pad_left - reach - 1) / a.stride_w + 1;
  return {begin, end < a.width_out ? end : a.width_out};
}

/// Pixels [first, first + count) of all output rows.
inline void gather(const Gather& g, std::size_t first, std::size_t count, Channel* to) {
  const Inside inside = inside_of(g.a);
  std::size_t row = first / g.a.width_out, x = first % g.a.width_out;
  while (count > 0) {
    std::size_t taken = 1;
    if (x >= inside.begin && x < inside.end) {
      taken = inside.end - x < count ? inside.end - x : count;
      gather_inside(g, row, x, taken, to);
    } else {
      gather_pixel(g, row, x, to);
    }
    to += taken * g.pixel_channels;
    count -= taken;
    x += taken;
    if (x == g.a.width_out) x = 0, ++row;
  }
}

}  // namespace
}  // namespace colonnade::kernels::byte_product
