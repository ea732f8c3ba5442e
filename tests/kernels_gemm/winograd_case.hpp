// SPDX-License-Identifier: Apache-2.0
// A convolution as Winograd's kernels take it.
#pragma once

#include <vector>

#include "kernels/winograd/winograd.hpp"
#include "kernels_gemm/conv_case.hpp"

namespace colonnade::testing {
namespace {

using kernels::winograd::Args;
using kernels::winograd::Filter;
using kernels::winograd::Kernel;
using kernels::winograd::Tile;

struct WinogradCase {
  WinogradCase(const Kernel& kernel, const ConvSizes& sizes, std::uint64_t seed, bool is_far = false)
      : tile(kernel.tile),
        filter{sizes.kernel_h, sizes.stride},
        far(is_far || seed % 2 == 1),
        conv(sizes, seed),
        packed(kernels::winograd::packed_floats(kernel.encoding, tile, filter.channels(sizes.channels_in),
                                                sizes.channels_out)),
        workspace(kernels::winograd::workspace_floats(kernel.encoding, tile, filter.channels(sizes.channels_in),
                                                      sizes.channels_out, far)) {
    pack(kernel, 0, sizes.channels_out);
  }

  /// Packs output channels [first, first + count).
  void pack(const Kernel& kernel, std::size_t first, std::size_t count) {
    const std::size_t channels_in = conv.sizes.channels_in;
    const float* weights = conv.weights.data() + first * channels_in * filter.kernel * filter.kernel;
    if (kernel.encoding == kernels::Encoding::f32)
      return kernels::winograd::pack(tile, filter, weights, channels_in, first, count, packed.data());
    GuardedFloats panel(
        kernels::winograd::packed_floats(kernels::Encoding::f32, tile, filter.channels(channels_in), 1));
    kernels::winograd::pack_pieces(tile, filter, weights, channels_in, first, count, panel.data(), packed.data());
  }

  Args args(Rows& out) {
    const ConvSizes& s = conv.sizes;
    const std::size_t tile_rows = kernels::winograd::tiles_across(tile.outputs, s.dilation, s.height_out());
    in_table.clear();
    out_table.clear();
    const auto add_input = [&](std::size_t y) {
      in_table.push_back(y >= s.pad && y - s.pad < s.height_in ? conv.in[y - s.pad].data() : nullptr);
    };
    for (std::size_t i = 0; s.dilation == 1 && i < tile_rows * tile.outputs + tile.taps - 1; ++i)
      for (std::size_t part = 0; part < filter.parts(); ++part) add_input(i * filter.stride + part * filter.step());
    for (std::size_t row = 0; row < tile_rows; ++row) {
      const std::size_t first = row / s.dilation * s.dilation * tile.outputs + row % s.dilation;
      for (std::size_t i = 0; s.dilation > 1 && i < tile.inputs(); ++i) add_input(first + i * s.dilation);
      for (std::size_t i = 0; i < tile.outputs; ++i) {
        const std::size_t y = first + i * s.dilation;
        out_table.push_back(y < s.height_out() ? out[y].data() : nullptr);
      }
    }
    Args a;
    a.tile_rows = tile_rows;
    a.in_rows = in_table.data();
    a.out_rows = out_table.data();
    a.width_in = s.width_in;
    a.width_out = s.width_out();
    a.pad_left = s.pad;
    a.filter = filter;
    a.dilation = s.dilation;
    a.channels_in = s.channels_in;
    a.channels_out = s.channels_out;
    a.in_pixel_stride = static_cast<std::ptrdiff_t>(s.channels_in + s.in_gap);
    a.out_pixel_stride = static_cast<std::ptrdiff_t>(s.channels_out + s.out_gap);
    a.residual_pixel_stride = a.out_pixel_stride;
    a.weights = packed.data();
    a.bias = conv.bias.data();
    a.far_weights = far;
    a.workspace = workspace.data();
    return a;
  }

  Tile tile;
  Filter filter;
  bool far;  ///< weights, as kernels are told
  ConvCase conv;
  GuardedFloats packed;
  GuardedFloats workspace;
  std::vector<const float*> in_table;
  std::vector<float*> out_table;
};

ConvSizes sizes_of(Filter filter, std::size_t height, std::size_t width, std::size_t channels_in,
                   std::size_t channels_out) {
  return {.height_in = height,
          .width_in = width,
          .channels_in = channels_in,
          .channels_out = channels_out,
          .kernel_h = filter.kernel,
          .kernel_w = filter.kernel,
          .stride = filter.stride,
          .pad = filter.kernel / 2};
}

/// The filter that is the kernel's own; outputs about as large as inputs.
ConvSizes sizes_of(const Kernel& kernel, std::size_t height, std::size_t width, std::size_t channels_in,
                   std::size_t channels_out) {
  return sizes_of(Filter{kernel.tile.taps}, height, width, channels_in, channels_out);
}

}  // namespace
}  // namespace colonnade::testing
