// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "base/aligned_buffer.hpp"

namespace colonnade::bench {

/// Floats in memory as the engine has it (large ones on large pages), filled with numbers of both signs below 1/2. All
/// their bits are in use, and both halves are bf16 numbers of that size, as weights in pieces are: the fewer bits
/// change, the less power matrix units take, and the faster they run.
class Floats {
 public:
  explicit Floats(std::size_t count) : memory_(count * sizeof(float)) {
    std::minstd_rand random(1);
    const auto half = [&] { return std::bit_cast<std::uint32_t>(static_cast<float>(random()) / 0x1p31f - 0.5f); };
    for (std::size_t i = 0; i < count; ++i) data()[i] = std::bit_cast<float>((half() & 0xffff0000u) | (half() >> 16));
  }
  float* data() const { return memory_.floats(); }

 private:
  AlignedBuffer memory_;
};

/// Where a benchmark's weights come from: the caches that hold them since the call before, or memory, as those of a
/// network do that has more of them.
enum class From { caches, memory };

/// Weights of a call: from memory as many copies in turns as no cache holds.
class Weights {
 public:
  Weights(std::size_t count, From from) {
    constexpr std::size_t kFarFloats = (std::size_t{256} << 20) / sizeof(float);
    const std::size_t copies = from == From::caches ? 1 : kFarFloats / count + 1;
    for (std::size_t i = 0; i < copies; ++i) copies_.emplace_back(count);
  }
  /// Calls fill(floats) for each copy.
  template <class Fill>
  void fill(Fill fill) {
    for (Floats& copy : copies_) fill(copy.data());
  }
  const float* next() { return copies_[++turn_ % copies_.size()].data(); }

 private:
  std::vector<Floats> copies_;
  std::size_t turn_ = 0;
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
