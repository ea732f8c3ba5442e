// SPDX-License-Identifier: Apache-2.0
// Rows of input with their padding: the taps of every pixel lie side by side in them, so that tiles read them there.
// Where few outputs are made of a pixel, to gather its taps would take longer than this.
#pragma once

#include "kernels/byte_product/gather.hpp"

namespace colonnade::kernels::byte_product {
namespace {

inline constexpr std::size_t kMostTapRows = 16, kMostRowsBytes = 256 * 1024;
/// Tiles end with each row, which costs what is left of the last; gathering costs the less the more outputs there are.
inline constexpr std::size_t kFewestInRow = 24, kMostOutputs = 128;

/// Bytes from one row to the next: whole lines, not all in the same sets of a cache.
inline std::size_t padded_row_bytes(const Args& a) {
  constexpr std::size_t kLine = 64, kSets = 4096;
  const std::size_t pixels = (a.width_out - 1) * a.stride_w + a.kernel_w;
  const std::size_t bytes = (pixels * a.channels_in * sizeof(Channel) + kOverrun + kLine - 1) / kLine * kLine;
  return bytes % kSets == 0 ? bytes + kLine : bytes;
}

/// Of rows that are kept at a time; none where pixels are gathered.
inline std::size_t padded_rows_bytes(const Args& a) {
  const bool has_taps = a.kernel_h * a.kernel_w > 1 && a.kernel_h <= kMostTapRows;
  if (!has_taps || (a.kernel_w > 1 && a.dilation_w != 1)) return 0;
  if (a.width_out < kFewestInRow || a.channels_out > kMostOutputs) return 0;
  return a.kernel_h * padded_row_bytes(a);
}

inline bool pads_rows(const Args& a) {
  const std::size_t bytes = padded_rows_bytes(a);
  return bytes > 0 && bytes <= kMostRowsBytes;
}

/// The rows that the taps of one output row lie in, kept while the next ones read them.
class PaddedRows {
 public:
  PaddedRows(const Args& a, std::size_t first_channel)
      : a_(a), first_channel_(first_channel), row_bytes_(padded_row_bytes(a)) {
    for (const std::uint8_t*& of : held_) of = kNothing;
  }

  /// Makes those of an output row.
  const char* const* of(std::size_t row) {
    const std::uint8_t* const* const wanted = a_.in_rows + row * a_.kernel_h;
    for (std::size_t ky = 0; ky < a_.kernel_h; ++ky) rows_[ky] = memory(slot_of(wanted, wanted[ky]));
    return rows_;
  }

 private:
  static constexpr std::uint8_t kNoRow = 0;
  static constexpr const std::uint8_t* kNothing = &kNoRow;

  const char* memory(std::size_t slot) const { return reinterpret_cast<const char*>(a_.workspace) + slot * row_bytes_; }

  /// Where the row lies, copied in place of one that is not wanted if it is not there.
  std::size_t slot_of(const std::uint8_t* const* wanted, const std::uint8_t* row) {
    std::size_t slot = 0;
    while (slot < a_.kernel_h && held_[slot] != row) ++slot;
    if (slot < a_.kernel_h) return slot;
    slot = 0;
    while (is_wanted(wanted, held_[slot])) ++slot;
    held_[slot] = row;
    copy(row, reinterpret_cast<Channel*>(a_.workspace + slot * row_bytes_));
    return slot;
  }
  bool is_wanted(const std::uint8_t* const* wanted, const std::uint8_t* row) const {
    for (std::size_t ky = 0; ky < a_.kernel_h; ++ky)
      if (wanted[ky] == row) return true;
    return false;
  }

  void copy(const std::uint8_t* row, Channel* to) const {
    const std::size_t channels = a_.channels_in, width = (a_.width_out - 1) * a_.stride_w + a_.kernel_w;
    const std::size_t left = row == nullptr || a_.pad_left > width ? width : a_.pad_left;
    const std::size_t inside = a_.width_in < width - left ? a_.width_in : width - left;
    fill_channels(to, left * channels, a_.x_zero);
    if (inside > 0) {
      const std::uint8_t* const from = row + first_channel_;
      if (a_.in_pixel_stride == static_cast<std::ptrdiff_t>(channels)) {
        Copy(inside * channels)(from, to + left * channels);
      } else {
        const Copy pixel(channels);
        for (std::size_t x = 0; x < inside; ++x)
          pixel(from + static_cast<std::ptrdiff_t>(x) * a_.in_pixel_stride, to + (left + x) * channels);
      }
    }
    fill_channels(to + (left + inside) * channels, (width - left - inside) * channels, a_.x_zero);
  }

  const Args& a_;
  std::size_t first_channel_;
  std::size_t row_bytes_;
  const std::uint8_t* held_[kMostTapRows];  ///< what lies in each slot
  const char* rows_[kMostTapRows] = {};
};

}  // namespace
}  // namespace colonnade::kernels::byte_product
