// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace colonnade::bench {

/// Floats on a cache line, filled with small numbers of both signs.
class Floats {
 public:
  explicit Floats(std::size_t count) : data_(allocate(count)) {
    for (std::size_t i = 0; i < count; ++i) data_[i] = static_cast<float>((i * 7919) % 2048) * 0x1p-11f - 0.5f;
  }
  float* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  static float* allocate(std::size_t count) {
    constexpr std::size_t kLine = 64;
    void* p = std::aligned_alloc(kLine, (count * sizeof(float) + 2 * kLine - 1) / kLine * kLine);
    if (p == nullptr) throw std::bad_alloc();
    return static_cast<float*>(p);
  }
  std::unique_ptr<float[], Free> data_;
};

/// A channels-last image and the table of its rows.
struct Image {
  Image(std::size_t height, std::size_t width_, std::size_t channels_)
      : width(width_), channels(channels_), pixels(height * width_ * channels_) {
    for (std::size_t y = 0; y < height; ++y) rows.push_back(pixels.data() + y * width * channels);
  }
  /// The row, or null outside the image.
  float* row(std::ptrdiff_t y) const {
    return y >= 0 && y < static_cast<std::ptrdiff_t>(rows.size()) ? rows[static_cast<std::size_t>(y)] : nullptr;
  }

  std::size_t width;
  std::size_t channels;
  Floats pixels;
  std::vector<float*> rows;
};

}  // namespace colonnade::bench
