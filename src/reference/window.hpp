// SPDX-License-Identifier: Apache-2.0
// What windowed operators read: per spatial axis a table from (output position, tap) to input position.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/operators.hpp"

namespace colonnade::reference {

inline constexpr std::int64_t kPadding = -1;  ///< the tap reads padding
inline constexpr std::int64_t kBeyond = -2;   ///< the tap lies beyond the padding

/// Taps of one spatial axis: taps[output * kernel + tap] is an input position, kPadding or kBeyond.
struct AxisTaps {
  std::int64_t kernel = 1;
  std::vector<std::int64_t> taps;
  std::int64_t at(std::int64_t output, std::int64_t tap) const {
    return taps[static_cast<std::size_t>(output * kernel + tap)];
  }
};

struct WindowAxis {
  std::int64_t input = 0, output = 0, kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;
};

/// Convolution and pooling: output o, tap k reads o * stride - pad_begin + k * dilation.
AxisTaps forward_taps(const WindowAxis& axis);
/// Transposed convolution: output o, tap k reads i where i * stride - pad_begin + k * dilation = o.
AxisTaps transposed_taps(const WindowAxis& axis);

/// All taps of one output position, kernel positions row-major: flat spatial input positions, kPadding or kBeyond.
void window_at(std::span<const AxisTaps> axes, std::span<const std::int64_t> input_spatial,
               std::span<const std::int64_t> position, std::span<std::int64_t> taps);

}  // namespace colonnade::reference
