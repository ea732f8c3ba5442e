// SPDX-License-Identifier: Apache-2.0
// Dilated rows as rows without dilation: outputs `dilation` columns apart read inputs that are as far apart, and no
// others, so that each such part of a row is a row of its own, with the same sums in the same order.
#pragma once

#include <cstddef>
#include <type_traits>

namespace colonnade::kernels {
namespace {

/// run(part) for each part of each row of a convolution with stride 1 and at most kMostTaps rows of taps. Args has
/// rows, in_rows, out_rows, width_in, width_out, kernel_h, dilation_w, pad_left and strides of pixels, as
/// depthwise::Args; what else stands a row or pixel, as a residual, is not taken apart.
template <std::size_t kMostTaps, class Args, class Run>
inline void run_apart(const Args& a, Run run) {
  using In = std::remove_cvref_t<decltype(a.in_rows[0])>;
  using Out = std::remove_cvref_t<decltype(a.out_rows[0])>;
  const auto apart = static_cast<std::ptrdiff_t>(a.dilation_w), pad = static_cast<std::ptrdiff_t>(a.pad_left);
  Args part = a;
  part.rows = part.dilation_w = 1;
  part.in_pixel_stride *= apart;
  part.out_pixel_stride *= apart;
  for (std::size_t row = 0; row < a.rows; ++row)
    for (std::size_t begin = 0; begin < a.dilation_w && begin < a.width_out; ++begin) {
      const std::ptrdiff_t read = static_cast<std::ptrdiff_t>(begin) - pad;  // by the first tap of the first output
      const std::ptrdiff_t first = read >= 0 ? read : (read % apart + apart) % apart;
      const bool is_inside = first < static_cast<std::ptrdiff_t>(a.width_in);
      In in[kMostTaps];
      for (std::size_t y = 0; y < a.kernel_h; ++y) {
        const In whole = a.in_rows[row * a.kernel_h + y];
        in[y] = whole != nullptr && is_inside ? whole + first * a.in_pixel_stride : nullptr;
      }
      const Out out = a.out_rows[row] + static_cast<std::ptrdiff_t>(begin) * a.out_pixel_stride;
      part.in_rows = in;
      part.out_rows = &out;
      part.pad_left = static_cast<std::size_t>((first - read) / apart);
      part.width_in = is_inside ? (a.width_in - static_cast<std::size_t>(first) + a.dilation_w - 1) / a.dilation_w : 0;
      part.width_out = (a.width_out - begin + a.dilation_w - 1) / a.dilation_w;
      run(part);
    }
}

}  // namespace
}  // namespace colonnade::kernels
