// SPDX-License-Identifier: Apache-2.0
// Image files whose pixels are decoded row by row, when someone asks for them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace colonnade::images {

using Bytes = std::span<const std::uint8_t>;

/// What decoding one file may take.
struct Limits {
  std::int64_t pixels = std::int64_t{1} << 28;
  /// Of files that must be held whole: interlaced PNG (their pixels), JPEG in several scans (their coefficients).
  std::int64_t held_bytes = std::int64_t{1} << 30;
};

/// An image of 8 bits each of red, green and blue.
class Rows {
 public:
  Rows() = default;
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  virtual ~Rows() = default;

  std::int64_t width() const { return width_; }
  std::int64_t height() const { return height_; }
  /// The next row from the top, at most height() of them; `rgb` has 3 * width() bytes. Throws Error{invalid_input}.
  virtual void read(std::span<std::uint8_t> rgb) = 0;

 protected:
  std::int64_t width_ = 0, height_ = 0;
};

/// A PNG or JPEG file, by content; transparency is dropped. Reads the header only: sizes beyond the limits, or beyond
/// what so few bytes can hold, are refused before they take any memory. The bytes must outlive the rows. Throws
/// Error{invalid_input}.
std::unique_ptr<Rows> open_rows(Bytes bytes, const Limits& limits = {});

}  // namespace colonnade::images
