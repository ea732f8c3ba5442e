// SPDX-License-Identifier: Apache-2.0
// A panel of narrow weights, packed, and what its products are by definition.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/half.hpp"
#include "kernels/narrow/narrow.hpp"
#include "kernels_rows/support.hpp"

namespace colonnade::kernels::test {

/// A panel of random numbers, with those at the ends of their range among them.
struct Panel {
  narrow::Format format;
  std::vector<float> numbers, scales, zeros;  ///< [k][narrow::kOutputs], [block][narrow::kOutputs]
  std::vector<std::byte> bytes;

  Panel(narrow::Type type, std::size_t k, std::size_t block, bool has_zeros, float zero, unsigned seed)
      : format{type, k, block, has_zeros, zero},
        numbers(k * narrow::kOutputs),
        scales(random_floats(format.blocks() * narrow::kOutputs, seed)),
        zeros(random_floats(format.blocks() * narrow::kOutputs, seed + 1)) {
    const std::vector<float> random = random_floats(k * narrow::kOutputs, seed + 2);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = number_of(random[i]);
    for (float& x : zeros) x = number_of(x);
    if (!has_zeros) std::fill(zeros.begin(), zeros.end(), zero);
    pack();
  }

  float number_of(float random) const {
    const float unit = std::clamp(random, -1.0f, 1.0f);
    switch (format.type) {
      case narrow::Type::u4: return std::nearbyint((unit + 1) * 7.5f);
      case narrow::Type::u8: return std::nearbyint((unit + 1) * 127.5f);
      case narrow::Type::i8: return std::clamp(std::nearbyint(unit * 128), -128.0f, 127.0f);
      case narrow::Type::f16: return f16_to_float(float_to_f16(random));
      case narrow::Type::bf16: return bf16_to_float(float_to_bf16(random));
    }
    return 0;
  }

  void pack() {
    bytes.assign(format.panel_bytes(), std::byte{0});
    for (std::size_t k = 0; k < format.k; ++k)
      for (std::size_t n = 0; n < narrow::kOutputs; ++n)
        put(k % format.block, n, numbers[k * narrow::kOutputs + n], record(k));
    if (!narrow::is_scaled(format.type)) return;
    for (std::size_t b = 0; b < format.blocks(); ++b) {
      std::byte* const at = bytes.data() + b * format.record_bytes() + format.numbers_bytes();
      std::memcpy(at, &scales[b * narrow::kOutputs], narrow::kOutputs * sizeof(float));
      if (format.has_zeros)
        std::memcpy(at + narrow::kOutputs * sizeof(float), &zeros[b * narrow::kOutputs],
                    narrow::kOutputs * sizeof(float));
    }
  }
  std::byte* record(std::size_t k) { return bytes.data() + k / format.block * format.record_bytes(); }
  void put(std::size_t k, std::size_t n, float number, std::byte* to) const {
    if (format.type == narrow::Type::u4) {
      to[(k / 8 * narrow::kOutputs + n) * 4 + k % 8 / 2] |=
          static_cast<std::byte>(static_cast<unsigned>(number) << 4 * (k % 2));
    } else if (format.type == narrow::Type::u8) {
      to[(k / 4 * narrow::kOutputs + n) * 4 + k % 4] = static_cast<std::byte>(static_cast<unsigned>(number));
    } else if (format.type == narrow::Type::i8) {
      to[k * narrow::kOutputs + n] = static_cast<std::byte>(static_cast<std::int8_t>(number));
    } else {
      const std::uint16_t half = format.type == narrow::Type::f16 ? float_to_f16(number) : float_to_bf16(number);
      std::memcpy(to + 2 * (k * narrow::kOutputs + n), &half, 2);
    }
  }

  /// The definition, one operation after another.
  float sum(const std::vector<float>& x, std::size_t n, float bias) const {
    float total = bias;
    for (std::size_t b = 0; b < format.blocks(); ++b) {
      const std::size_t first = b * format.block, end = std::min(format.k, first + format.block);
      float even = 0, odd = 0, of_x[8] = {};
      for (std::size_t k = first; k < end; ++k) {
        float& chain = (k - first) % 2 == 0 ? even : odd;
        chain = std::fma(x[k], numbers[k * narrow::kOutputs + n], chain);
        of_x[(k - first) % 8] += x[k];
      }
      float block = even + odd;
      if (!narrow::is_scaled(format.type)) {
        total += block;
        continue;
      }
      const float x_sum = ((of_x[0] + of_x[1]) + (of_x[2] + of_x[3])) + ((of_x[4] + of_x[5]) + (of_x[6] + of_x[7]));
      const float zero = zeros[b * narrow::kOutputs + n];
      if (format.has_zeros || format.zero != 0) block = std::fma(-zero, x_sum, block);
      total = std::fma(scales[b * narrow::kOutputs + n], block, total);
    }
    return total;
  }
  float weight(std::size_t k, std::size_t n) const {
    const std::size_t at = k / format.block * narrow::kOutputs + n;
    const float number = numbers[k * narrow::kOutputs + n];
    return narrow::is_scaled(format.type) ? (number - zeros[at]) * scales[at] : number;
  }
};

}  // namespace colonnade::kernels::test
