// SPDX-License-Identifier: Apache-2.0
// Pixels in a row, each with all channels that its taps read, as the tile multiplies them.
#pragma once

#include "kernels/byte_product/vector.hpp"

namespace colonnade::kernels::byte_product {
namespace {

/// Bytes that a copy may write past its end.
inline constexpr std::size_t kOverrun = 64;

#if defined(__AVX512F__)
/// Copies of so many channels. Each may write up to kOverrun bytes more.
class Copy {
 public:
  explicit Copy(std::size_t count)
      : whole_(count / kChannels * kChannels), rest_(static_cast<Mask>((Mask{1} << count % kChannels) - 1)) {}

  [[gnu::always_inline]] void operator()(const std::uint8_t* from, Channel* to) const {
    std::size_t i = 0;
    for (; i < whole_; i += kChannels) _mm512_storeu_si512(to + i, load(from + i));
    if (rest_ != 0) _mm512_storeu_si512(to + i, load_first(from + i));
  }

 private:
  static constexpr std::size_t kChannels = 64 / sizeof(Channel);
#if defined(__AVX512VNNI__)
  using Mask = __mmask64;
  static __m512i load(const std::uint8_t* from) { return _mm512_loadu_si512(from); }
  __m512i load_first(const std::uint8_t* from) const { return _mm512_maskz_loadu_epi8(rest_, from); }
#else
  using Mask = __mmask32;
  static __m512i load(const std::uint8_t* from) {
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  __m512i load_first(const std::uint8_t* from) const {
    return _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(rest_, from));
  }
#endif

  std::size_t whole_;
  Mask rest_;
};
#elif defined(__AVX2__)
/// Copies of so many channels. Each may write up to kOverrun bytes more.
class Copy {
 public:
  explicit Copy(std::size_t count) : count_(count) {}

  /// The last sixteen overlap those before.
  [[gnu::always_inline]] void operator()(const std::uint8_t* from, Channel* to) const {
    if (count_ < kChannels) return store(first_bytes(from), to);
    for (std::size_t i = 0; i + kChannels < count_; i += kChannels) store(load(from + i), to + i);
    store(load(from + count_ - kChannels), to + count_ - kChannels);
  }

 private:
  static constexpr std::size_t kChannels = 16;

  static __m128i load(const std::uint8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }
  static void store(__m128i bytes, Channel* to) {
    if constexpr (kReadsBytes)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
    else
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_cvtepu8_epi16(bytes));
  }
  /// Fewer than sixteen, zeros after them.
  __m128i first_bytes(const std::uint8_t* from) const {
    std::uint64_t low = 0, high = 0;
    if (count_ >= 8) {
      std::memcpy(&low, from, 8);
      std::memcpy(&high, from + count_ - 8, 8);
      high = count_ == 8 ? 0 : high >> (8 * (16 - count_));
    } else if (count_ >= 4) {
      std::uint32_t a, b;
      std::memcpy(&a, from, 4);
      std::memcpy(&b, from + count_ - 4, 4);
      low = a | static_cast<std::uint64_t>(b) << (8 * (count_ - 4));
    } else {
      for (std::size_t i = 0; i < count_; ++i) low |= static_cast<std::uint64_t>(from[i]) << (8 * i);
    }
    return _mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low));
  }

  std::size_t count_;
};
#else
/// Copies of so many channels.
class Copy {
 public:
  explicit Copy(std::size_t count) : count_(count) {}
  void operator()(const std::uint8_t* from, Channel* to) const { std::memcpy(to, from, count_); }

 private:
  std::size_t count_;
};
#endif

inline void fill_channels(Channel* to, std::size_t count, Channel value) {
  for (std::size_t i = 0; i < count; ++i) to[i] = value;
}

/// What all pixels of a group share. Pixels are written `pixel_channels` apart, rows of their taps `row_channels`.
struct Gather {
  const Args& a;
  std::size_t first_channel;
  std::size_t row_channels;
  std::size_t pixel_channels;
};

/// Channels of the taps of pixel (row, x). May write kOverrun bytes more; what is written behind a row's taps up to a
/// whole step meets weights of zero.
inline void gather_pixel(const Gather& g, std::size_t row, std::size_t x, Channel* pixel) {
  const Args& a = g.a;
  const Copy copy(a.channels_in);
  for (std::size_t ky = 0; ky < a.kernel_h; ++ky, pixel += g.row_channels) {
    const std::uint8_t* const from = a.in_rows[row * a.kernel_h + ky];
    Channel* to = pixel;
    for (std::size_t kx = 0; kx < a.kernel_w; ++kx, to += a.channels_in) {
      const std::size_t at = x * a.stride_w + kx * a.dilation_w - a.pad_left;
      if (from != nullptr && at < a.width_in)
        copy(from + static_cast<std::ptrdiff_t>(at) * a.in_pixel_stride + g.first_channel, to);
      else
        fill_channels(to, a.channels_in, a.x_zero);
    }
  }
}

/// The same for `count` pixels from (row, x) on, whose taps lie inside the row and behind each other.
inline void gather_inside(const Gather& g, std::size_t row, std::size_t x, std::size_t count, Channel* to) {
  const Args& a = g.a;
  const std::size_t channels = a.kernel_w * a.channels_in;
  const Copy copy(channels);
  const std::uint8_t* const* const rows = a.in_rows + row * a.kernel_h;
  const std::ptrdiff_t step = static_cast<std::ptrdiff_t>(a.stride_w) * a.in_pixel_stride;
  std::ptrdiff_t offset = static_cast<std::ptrdiff_t>(x * a.stride_w - a.pad_left) * a.in_pixel_stride +
                          static_cast<std::ptrdiff_t>(g.first_channel);
  for (std::size_t i = 0; i < count; ++i, offset += step, to += g.pixel_channels) {
    Channel* part = to;
    for (std::size_t ky = 0; ky < a.kernel_h; ++ky, part += g.row_channels) {
      if (rows[ky] != nullptr)
        copy(rows[ky] + offset, part);
      else
        fill_channels(part, channels, a.x_zero);
    }
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
