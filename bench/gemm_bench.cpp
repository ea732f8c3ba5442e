// SPDX-License-Identifier: Apache-2.0
// Matrix products and direct convolutions on one thread, all rows in one call, at the sizes that the usual networks
// have. Names: height x width x channels in x channels out, kernel, stride, groups, activation; far: weights from
// memory.
#include <string>

#include "bench/buffers.hpp"
#include "bench/peak.hpp"
#include "kernels/gemm/gemm.hpp"

namespace colonnade::bench {
namespace {

using kernels::gemm::ConvArgs;
using kernels::gemm::Kernel;

struct Shape {
  std::size_t height;
  std::size_t width;
  std::size_t channels_in;
  std::size_t channels_out;
  std::size_t kernel = 1;
  std::size_t stride = 1;
  std::size_t groups = 1;
  kernels::Unary activation = kernels::Unary::relu;
  bool partial_sums = false;
};

constexpr kernels::Unary kSilu = kernels::Unary::silu, kHardSwish = kernels::Unary::hard_swish,
                         kGelu = kernels::Unary::gelu_erf;

/// A product of samples of one pixel.
constexpr Shape in_parts(std::size_t samples, std::size_t channels_in, std::size_t channels_out) {
  return {1, samples, channels_in, channels_out, 1, 1, 1, kernels::Unary::relu, true};
}

constexpr Shape kShapes[] = {
    {1, 448, 64, 64},
    {1, 3136, 64, 64},
    {1, 3136, 64, 256},
    {1, 784, 128, 128},
    {1, 784, 512, 128},
    {1, 196, 256, 256},
    {1, 196, 1024, 256},
    {1, 49, 512, 2048},
    {1, 384, 768, 768},
    {1, 361, 512, 512},
    {1, 100, 1024, 1024},
    {1, 392, 16, 96},
    {1, 3136, 16, 96},
    {1, 3136, 24, 144},
    {1, 3136, 144, 24},
    {1, 196, 96, 576},
    {1, 49, 160, 960},
    {1, 12544, 32, 16},
    {1, 1120, 32, 16},
    {1, 560, 96, 16},
    {1, 1, 512, 1000},
    {1, 1, 2048, 1000},
    {1, 2, 2048, 1000},
    {56, 56, 64, 64, 3},
    {28, 28, 128, 128, 3},
    {14, 14, 256, 256, 3},
    {7, 7, 512, 512, 3},
    {112, 112, 32, 32, 3},
    {112, 112, 16, 16, 3},
    {56, 56, 64, 128, 3, 2},
    {224, 224, 3, 64, 7, 2},
    {224, 224, 3, 32, 3, 2},
    {28, 28, 1, 32, 5},
    // Narrow products, and products of small images with many weights.
    {1, 3136, 96, 24},
    {1, 784, 144, 32},
    {1, 784, 72, 40},
    {1, 3025, 64, 16},
    {1, 784, 58, 58},
    {1, 49, 960, 320},
    {1, 49, 1024, 128},
    {1, 49, 2048, 512},
    {1, 1, 960, 240},
    {1, 1, 25088, 4096},
    // Large and deep products.
    {1, 128, 384, 1536},
    {1, 128, 1536, 384},
    {1, 196, 768, 3072},
    {1, 196, 3072, 768},
    {1, 256, 4096, 1024},
    {1, 128, 16384, 256},
    {1, 64, 25088, 64},
    // Grouped, strided, few columns, first layers.
    {28, 28, 128, 128, 3, 1, 8},
    {14, 14, 320, 320, 3, 1, 20},
    {7, 7, 784, 784, 3, 1, 49},
    {56, 56, 128, 128, 3, 2, 8},
    {28, 28, 256, 256, 3, 2},
    {14, 14, 512, 512, 3, 2},
    {8, 8, 384, 384, 3},
    {7, 7, 128, 32, 3},
    {35, 35, 48, 64, 5},
    {299, 299, 3, 32, 3, 2},
    {64, 64, 3, 16, 3},
    {64, 64, 3, 32, 3},
    {32, 32, 3, 12, 5},
    {32, 32, 3, 128, 7, 2},
    {360, 1280, 3, 32, 9},
    {224, 224, 3, 64, 11, 4},
    {112, 112, 3, 32, 5, 2},
    {112, 112, 16, 32, 5, 2},
    {56, 56, 64, 128, 5, 2},
    {56, 56, 48, 48, 7},
    {56, 56, 64, 64, 4},
    {1, 64, 128, 128},
    {227, 227, 3, 96, 11, 4},
    // Activations that cost.
    {1, 12544, 16, 96, 1, 1, 1, kSilu},
    {1, 784, 40, 240, 1, 1, 1, kSilu},
    {1, 49, 192, 1152, 1, 1, 1, kSilu},
    {1, 196, 112, 672, 1, 1, 1, kHardSwish},
    {1, 3136, 96, 384, 1, 1, 1, kGelu},
    {1, 49, 768, 3072, 1, 1, 1, kGelu},
    // One pixel a sample, and the same sums of as many pixels.
    in_parts(1, 96, 24),
    in_parts(1, 128, 512),
    in_parts(1, 256, 1024),
    in_parts(1, 512, 256),
    in_parts(1, 1280, 128),
    in_parts(4, 128, 512),
    {1, 4, 128, 512},
    in_parts(4, 256, 1024),
    {1, 4, 256, 1024},
    in_parts(8, 96, 24),
    {1, 8, 96, 24},
    in_parts(8, 512, 256),
    {1, 8, 512, 256},
    in_parts(8, 1280, 128),
    {1, 8, 1280, 128},
    in_parts(64, 512, 256),
    {1, 64, 512, 256},
};

/// With weights from memory, as late layers have them.
constexpr Shape kFarShapes[] = {{1, 196, 1024, 256},   {1, 196, 256, 1024},   {1, 49, 512, 2048},   {1, 49, 2048, 512},
                                {14, 14, 256, 256, 3}, {14, 14, 512, 512, 3}, {7, 7, 512, 512, 3},  {1, 196, 768, 3072},
                                {1, 196, 3072, 768},   {1, 256, 4096, 1024},  {1, 128, 16384, 256}, {1, 64, 25088, 64}};

const char* name_of(kernels::Unary activation) {
  switch (activation) {
    case kSilu: return "silu";
    case kHardSwish: return "hard_swish";
    case kGelu: return "gelu";
    default: return "relu";
  }
}

std::string name_of(const Kernel& kernel, const Shape& s) {
  return std::string(kernel.name) + "/" + std::to_string(s.height) + "x" + std::to_string(s.width) + "x" +
         std::to_string(s.channels_in) + "x" + std::to_string(s.channels_out) + "/k" + std::to_string(s.kernel) + "/s" +
         std::to_string(s.stride) + "/g" + std::to_string(s.groups) + "/" + name_of(s.activation) +
         (s.partial_sums ? "/parts" : "");
}

void run_shape(benchmark::State& state, const Kernel& kernel, const Shape& s, From from) {
  const std::size_t pad = s.kernel / 2;
  const std::size_t height_out = (s.height + 2 * pad - s.kernel) / s.stride + 1;
  const std::size_t width_out = (s.width + 2 * pad - s.kernel) / s.stride + 1;
  const std::size_t k = s.kernel * s.kernel * s.channels_in / s.groups;
  const Image in(s.height, s.width, s.channels_in);
  const Image out(height_out, width_out, s.channels_out);
  const std::size_t kernel_h = s.height == 1 ? 1 : s.kernel;
  const kernels::gemm::Terms terms{kernel_h, s.kernel, s.stride, 1, s.channels_in / s.groups};
  const std::size_t rows = kernels::gemm::panel_rows(kernel.encoding, terms);
  Weights weights(s.groups * kernels::gemm::packed_floats(kernel.encoding, rows, s.channels_out / s.groups), from);
  const Floats bias(s.channels_out);
  std::vector<const float*> in_rows;
  for (std::size_t y = 0; y < height_out; ++y) {
    for (std::size_t ky = 0; ky < kernel_h; ++ky) {
      in_rows.push_back(in.row(static_cast<std::ptrdiff_t>(y * s.stride + ky) - static_cast<std::ptrdiff_t>(pad)));
    }
  }
  ConvArgs args;
  args.rows = height_out;
  args.in_rows = in_rows.data();
  args.out_rows = out.rows.data();
  args.width_in = s.width;
  args.width_out = width_out;
  args.kernel_h = kernel_h;
  args.kernel_w = s.kernel;
  args.stride_w = s.stride;
  args.pad_left = pad;
  args.groups = s.groups;
  args.channels_in = s.channels_in / s.groups;
  args.channels_out = s.channels_out / s.groups;
  args.in_pixel_stride = static_cast<std::ptrdiff_t>(s.channels_in);
  args.out_pixel_stride = static_cast<std::ptrdiff_t>(s.channels_out);
  args.panel_stride = kernels::gemm::panel_floats(kernel.encoding, rows);
  args.bias = bias.data();
  args.epilogue.activation.kind = s.activation;
  args.partial_sums = s.partial_sums;
  const Floats workspace(kernels::gemm::workspace_floats(kernel.encoding, terms, args.channels_out));
  args.workspace = workspace.data();
  const double flops = 2.0 * static_cast<double>(height_out * width_out * k * s.channels_out);
  report_flops(
      state, kernel.isa, flops,
      [&] {
        args.weights = weights.next();
        kernel.run(args);
      },
      kernel.encoding == kernels::Encoding::bf16 && kernel.isa == kernels::Isa::bf16 ? peak_pair_gflops : peak_gflops);
}

const bool kRegistered = register_near_and_far(
    kernels::gemm::table(), kShapes, kFarShapes,
    [](const Kernel& kernel, const Shape& shape) { return name_of(kernel, shape); }, run_shape);

}  // namespace
}  // namespace colonnade::bench
