// SPDX-License-Identifier: Apache-2.0
#include "kernels_gemm/conv_case.hpp"

#include <cmath>

namespace colonnade::testing {

std::string describe(const ConvSizes& s) {
  const auto part = [](const char* name, std::size_t value) { return std::string(name) + std::to_string(value); };
  return part("h", s.height_in) + part(" w", s.width_in) + part(" ci", s.channels_in) + part(" co", s.channels_out) +
         part(" kh", s.kernel_h) + part(" kw", s.kernel_w) + part(" s", s.stride) + part(" d", s.dilation) +
         part(" p", s.pad) + part(" in_gap", s.in_gap) + part(" out_gap", s.out_gap);
}

Rows make_rows(std::size_t rows, std::size_t width, std::size_t channels, std::size_t stride, std::uint64_t seed) {
  Random random(seed);
  Rows result;
  result.reserve(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    result.emplace_back((width - 1) * stride + channels, test::Edge::back, row % 3 * 4);
    random.fill(result.back().values());
  }
  return result;
}

ConvCase::ConvCase(const ConvSizes& s, std::uint64_t seed)
    : sizes(s),
      in(make_rows(s.height_in, s.width_in, s.channels_in, s.channels_in + s.in_gap, seed)),
      weights(s.channels_out * s.k()),
      packed(kernels::gemm::packed_floats(kernels::Encoding::f32, s.k(), s.channels_out)),
      pieces(kernels::gemm::packed_floats(kernels::Encoding::bf16x3, s.k(), s.channels_out)),
      pairs(kernels::gemm::packed_floats(
          kernels::Encoding::bf16, kernels::gemm::panel_rows(kernels::Encoding::bf16, s.terms()), s.channels_out)),
      bias(s.channels_out),
      workspace(kernels::gemm::workspace_floats(kernels::Encoding::bf16x3, s.terms(), s.channels_out)),
      pair_workspace(kernels::gemm::workspace_floats(kernels::Encoding::bf16, s.terms(), s.channels_out)) {
  Random random(seed + 1);
  random.fill(weights.values());
  random.fill(bias.values());
  std::vector<float> by_tap(weights.size());
  for (std::size_t co = 0; co < s.channels_out; ++co) {
    for (std::size_t ci = 0; ci < s.channels_in; ++ci) {
      for (std::size_t tap = 0; tap < s.kernel_h * s.kernel_w; ++tap) {
        by_tap[(tap * s.channels_in + ci) * s.channels_out + co] = weight(co, ci, tap / s.kernel_w, tap % s.kernel_w);
      }
    }
  }
  kernels::gemm::pack(by_tap.data(), static_cast<std::ptrdiff_t>(s.channels_out), 1, s.k(), s.channels_out,
                      packed.data());
  const std::size_t rows = kernels::gemm::panel_rows(kernels::Encoding::bf16, s.terms());
  for (std::size_t panel = 0; panel * kernels::gemm::kPanel < s.channels_out; ++panel) {
    const float* const whole = packed.data() + panel * kernels::gemm::panel_floats(kernels::Encoding::f32, s.k());
    kernels::gemm::cut_pieces(whole, s.k(),
                              pieces.data() + panel * kernels::gemm::panel_floats(kernels::Encoding::bf16x3, s.k()));
    kernels::gemm::pair_up(whole, s.k(), kernels::gemm::paired_terms(s.terms()),
                           pairs.data() + panel * kernels::gemm::panel_floats(kernels::Encoding::bf16, rows));
  }
}

GuardedFloats& ConvCase::encoded(kernels::Encoding encoding) {
  switch (encoding) {
    case kernels::Encoding::f32: return packed;
    case kernels::Encoding::bf16x3: return pieces;
    case kernels::Encoding::bf16: return pairs;
  }
  return packed;
}

float ConvCase::weight(std::size_t co, std::size_t ci, std::size_t ky, std::size_t kx) const {
  return weights[((co * sizes.channels_in + ci) * sizes.kernel_h + ky) * sizes.kernel_w + kx];
}

Rows ConvCase::make_out(std::uint64_t seed) const {
  return make_rows(sizes.height_out(), sizes.width_out(), sizes.channels_out, sizes.channels_out + sizes.out_gap, seed);
}

kernels::gemm::ConvArgs ConvCase::args(const kernels::gemm::Kernel& kernel, Rows& out) {
  const std::size_t height_out = sizes.height_out();
  in_table.clear();
  out_table.clear();
  for (std::size_t y = 0; y < height_out; ++y) {
    out_table.push_back(out[y].data());
    for (std::size_t ky = 0; ky < sizes.kernel_h; ++ky) {
      const std::size_t padded = y * sizes.stride + ky * sizes.dilation;
      const bool inside = padded >= sizes.pad && padded - sizes.pad < sizes.height_in;
      in_table.push_back(inside ? in[padded - sizes.pad].data() : nullptr);
    }
  }
  kernels::gemm::ConvArgs a;
  a.rows = height_out;
  a.in_rows = in_table.data();
  a.out_rows = out_table.data();
  a.width_in = sizes.width_in;
  a.width_out = sizes.width_out();
  a.kernel_h = sizes.kernel_h;
  a.kernel_w = sizes.kernel_w;
  a.stride_w = sizes.stride;
  a.dilation_w = sizes.dilation;
  a.pad_left = sizes.pad;
  a.channels_in = sizes.channels_in;
  a.channels_out = sizes.channels_out;
  a.in_pixel_stride = static_cast<std::ptrdiff_t>(sizes.channels_in + sizes.in_gap);
  a.out_pixel_stride = static_cast<std::ptrdiff_t>(sizes.channels_out + sizes.out_gap);
  a.residual_pixel_stride = a.out_pixel_stride;
  a.weights = encoded(kernel.encoding).data();
  a.panel_stride =
      kernels::gemm::panel_floats(kernel.encoding, kernels::gemm::panel_rows(kernel.encoding, sizes.terms()));
  a.bias = bias.data();
  a.workspace = kernel.encoding == kernels::Encoding::bf16 ? pair_workspace.data() : workspace.data();
  return a;
}

ConvCase::Exact ConvCase::exact(std::size_t y, std::size_t x, std::size_t channel) const {
  Exact result{bias[channel], std::fabs(bias[channel])};
  for (std::size_t ky = 0; ky < sizes.kernel_h; ++ky) {
    const std::size_t row = y * sizes.stride + ky * sizes.dilation;
    if (row < sizes.pad || row - sizes.pad >= sizes.height_in) continue;
    for (std::size_t kx = 0; kx < sizes.kernel_w; ++kx) {
      const std::size_t column = x * sizes.stride + kx * sizes.dilation;
      if (column < sizes.pad || column - sizes.pad >= sizes.width_in) continue;
      const float* pixel = in[row - sizes.pad].data() + (column - sizes.pad) * (sizes.channels_in + sizes.in_gap);
      for (std::size_t ci = 0; ci < sizes.channels_in; ++ci) {
        const double product = static_cast<double>(pixel[ci]) * static_cast<double>(weight(channel, ci, ky, kx));
        result.sum += product;
        result.magnitude += std::fabs(product);
      }
    }
  }
  return result;
}

}  // namespace colonnade::testing
