// SPDX-License-Identifier: Apache-2.0
// Convolutions with few output channels on one thread, a block of one row from planes that lie in the nearest cache.
// Names: kernel height x width x channels in x channels out.
#include <string>

#include "bench/buffers.hpp"
#include "bench/peak.hpp"
#include "kernels/planes/planes.hpp"

namespace colonnade::bench {
namespace {

using kernels::planes::Args;
using kernels::planes::Kernel;

struct Shape {
  std::size_t kernel;
  std::size_t channels_in;
  std::size_t channels_out;
};

constexpr Shape kShapes[] = {{3, 16, 3}, {3, 32, 4}, {3, 64, 3}, {9, 32, 3},
                             {3, 64, 1}, {5, 32, 8}, {5, 3, 12}, {5, 32, 12}};
constexpr std::size_t kPixels = 96;  // a block of the operator

std::string name_of(const char* kernel, const Shape& s) {
  return std::string(kernel) + "/planes/" + std::to_string(s.kernel) + "x" + std::to_string(s.kernel) + "x" +
         std::to_string(s.channels_in) + "x" + std::to_string(s.channels_out);
}

void run_shape(benchmark::State& state, const Kernel& kernel, const Shape& s) {
  const std::size_t stride = kPixels + kernels::planes::kPixels;
  const Floats planes(s.kernel * s.channels_in * stride), out(s.channels_out * kPixels), bias(s.channels_out);
  const Floats weights(s.kernel * s.kernel * s.channels_in * s.channels_out);
  std::vector<const float*> rows;
  for (std::size_t ky = 0; ky < s.kernel; ++ky) rows.push_back(planes.data() + ky * s.channels_in * stride);
  Args args;
  args.rows = rows.data();
  args.plane_stride = static_cast<std::ptrdiff_t>(stride);
  args.weights = weights.data();
  args.kernel_h = args.kernel_w = s.kernel;
  args.channels_in = s.channels_in;
  args.channels_out = s.channels_out;
  args.pixels = kPixels;
  args.out = out.data();
  args.out_plane_stride = kPixels;
  args.bias = bias.data();
  const double flops = 2.0 * static_cast<double>(s.kernel * s.kernel * s.channels_in * s.channels_out * kPixels);
  report_flops(state, kernel.isa, flops, [&] { kernel.run(args); });
}

const bool kRegistered = [] {
  const auto name = [](const auto& kernel, const Shape& shape) { return name_of(kernel.name, shape); };
  register_shapes(kernels::planes::table(), kShapes, name, run_shape);
  return true;
}();

}  // namespace
}  // namespace colonnade::bench
