// SPDX-License-Identifier: Apache-2.0
#include "reference/window.hpp"

#include "reference/indexing.hpp"

namespace colonnade::reference {
namespace {

AxisTaps empty_taps(const WindowAxis& axis) {
  return {axis.kernel, std::vector<std::int64_t>(static_cast<std::size_t>(axis.output * axis.kernel), kPadding)};
}

}  // namespace

AxisTaps forward_taps(const WindowAxis& axis) {
  AxisTaps result = empty_taps(axis);
  std::size_t at = 0;
  for (std::int64_t o = 0; o < axis.output; ++o) {
    for (std::int64_t k = 0; k < axis.kernel; ++k, ++at) {
      const std::int64_t i = o * axis.stride - axis.pad_begin + k * axis.dilation;
      if (i >= axis.input + axis.pad_end) {
        result.taps[at] = kBeyond;
      } else if (i >= 0 && i < axis.input) {
        result.taps[at] = i;
      }
    }
  }
  return result;
}

AxisTaps transposed_taps(const WindowAxis& axis) {
  AxisTaps result = empty_taps(axis);
  std::size_t at = 0;
  for (std::int64_t o = 0; o < axis.output; ++o) {
    for (std::int64_t k = 0; k < axis.kernel; ++k, ++at) {
      const std::int64_t scaled = o + axis.pad_begin - k * axis.dilation;
      if (scaled < 0 || scaled % axis.stride != 0) continue;
      if (scaled / axis.stride < axis.input) result.taps[at] = scaled / axis.stride;
    }
  }
  return result;
}

void window_at(std::span<const AxisTaps> axes, std::span<const std::int64_t> input_spatial,
               std::span<const std::int64_t> position, std::span<std::int64_t> taps) {
  Ints kernel(axes.size()), tap(axes.size(), 0);
  for (std::size_t axis = 0; axis < axes.size(); ++axis) kernel[axis] = axes[axis].kernel;
  for (std::int64_t& flat : taps) {
    flat = 0;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      const std::int64_t i = axes[axis].at(position[axis], tap[axis]);
      if (flat == kBeyond || i == kBeyond) {
        flat = kBeyond;
      } else if (flat == kPadding || i == kPadding) {
        flat = kPadding;
      } else {
        flat = flat * input_spatial[axis] + i;
      }
    }
    next_index(tap, kernel);
  }
}

}  // namespace colonnade::reference
