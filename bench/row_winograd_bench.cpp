// SPDX-License-Identifier: Apache-2.0
// Winograd convolutions along rows on one thread, all rows in one call; GFLOP/s count the operations of the direct sum.
// Names: height x width x channels in x channels out, kernel and dilation; far: weights from memory.
#include <string>

#include "bench/buffers.hpp"
#include "bench/peak.hpp"
#include "kernels/row_winograd/row_winograd.hpp"

namespace colonnade::bench {
namespace {

using kernels::row_winograd::Args;
using kernels::row_winograd::Filter;
using kernels::row_winograd::Kernel;

struct Shape {
  std::size_t height;
  std::size_t width;
  std::size_t channels_in;
  std::size_t channels_out;
  Filter filter;
};

/// Voices, sounds and factorised filters of images.
constexpr Shape kShapes[] = {
    {1, 12800, 64, 64, {1, 3, 2}},  {1, 12800, 64, 64, {1, 5, 6}},  {1, 12800, 64, 64, {1, 7, 12}},
    {1, 51200, 32, 32, {1, 3, 1}},  {1, 51200, 32, 32, {1, 5, 2}},  {1, 51200, 32, 32, {1, 7, 3}},
    {1, 1600, 128, 128, {1, 3, 1}}, {1, 1600, 128, 128, {1, 7, 3}}, {1, 1600, 128, 128, {1, 11, 1}},
    {1, 200, 192, 384, {1, 5, 1}},  {1, 200, 192, 256, {1, 7, 1}},  {1, 500, 512, 512, {1, 3, 1}},
    {1, 3000, 80, 384, {1, 3, 1}},  {17, 17, 160, 160, {1, 7, 1}},  {17, 17, 192, 192, {1, 7, 1}},
    {56, 56, 64, 64, {3, 3, 2}},    {1, 1000, 16, 16, {1, 3, 1}},   {33, 33, 256, 256, {3, 3, 12}}};

constexpr Shape kFarShapes[] = {
    {1, 200, 192, 384, {1, 5, 1}}, {1, 500, 512, 512, {1, 3, 1}}, {17, 17, 192, 192, {1, 7, 1}}};

std::string name_of(const Kernel& kernel, const Shape& s) {
  return std::string(kernel.name) + "/" + std::to_string(s.height) + "x" + std::to_string(s.width) + "x" +
         std::to_string(s.channels_in) + "x" + std::to_string(s.channels_out) + "/k" + std::to_string(s.filter.height) +
         "x" + std::to_string(s.filter.width) + "/d" + std::to_string(s.filter.dilation);
}

void run_shape(benchmark::State& state, const Kernel& kernel, const Shape& s, From from) {
  const Filter& filter = s.filter;
  const Image in(s.height, s.width, s.channels_in), out(s.height, s.width, s.channels_out);
  Weights weights(kernels::row_winograd::packed_floats(kernel.tile, filter, s.channels_in, s.channels_out), from);
  const Floats bias(s.channels_out);
  const Floats workspace(kernels::row_winograd::workspace_floats(kernel.tile, filter, s.channels_in, s.channels_out));
  std::vector<const float*> in_rows;
  std::vector<float*> out_rows;
  for (std::size_t y = 0; y < s.height; ++y) {
    for (std::size_t i = 0; i < filter.height; ++i)
      in_rows.push_back(in.row(static_cast<std::ptrdiff_t>(y + i * filter.dilation) -
                               static_cast<std::ptrdiff_t>(filter.height / 2 * filter.dilation)));
    out_rows.push_back(out.row(static_cast<std::ptrdiff_t>(y)));
  }
  Args args;
  args.rows = s.height;
  args.in_rows = in_rows.data();
  args.out_rows = out_rows.data();
  args.width_in = args.width_out = s.width;
  args.pad_left = filter.width / 2 * filter.dilation;
  args.filter = filter;
  args.channels_in = s.channels_in;
  args.channels_out = s.channels_out;
  args.in_pixel_stride = static_cast<std::ptrdiff_t>(s.channels_in);
  args.out_pixel_stride = static_cast<std::ptrdiff_t>(s.channels_out);
  args.bias = bias.data();
  args.epilogue.activation.kind = kernels::Unary::relu;
  args.far_weights = from == From::memory;
  args.workspace = workspace.data();
  const double flops =
      2.0 * static_cast<double>(filter.height * filter.width * s.height * s.width * s.channels_in * s.channels_out);
  report_flops(state, kernel.isa, flops, [&] {
    args.weights = weights.next();
    kernel.run(args);
  });
}

const bool kRegistered = register_near_and_far(
    kernels::row_winograd::table(), kShapes, kFarShapes,
    [](const Kernel& kernel, const Shape& shape) { return name_of(kernel, shape); }, run_shape);

}  // namespace
}  // namespace colonnade::bench
