// SPDX-License-Identifier: Apache-2.0
// Winograd convolutions on one thread, all tile rows in one call; GFLOP/s count the operations of the direct sum.
// Names: height x width x channels in x channels out, kernel and stride where they are not the tile's; far: weights
// from memory.
#include <span>
#include <string>

#include "bench/buffers.hpp"
#include "bench/peak.hpp"
#include "kernels/winograd/winograd.hpp"

namespace colonnade::bench {
namespace {

using kernels::winograd::Args;
using kernels::winograd::Filter;
using kernels::winograd::Kernel;

struct Shape {
  std::size_t height;
  std::size_t width;
  std::size_t channels_in;
  std::size_t channels_out;
  Filter filter{0};  ///< 0: the kernel's own
};

constexpr Shape kShapes[] = {{224, 224, 16, 16}, {112, 112, 32, 32}, {56, 56, 64, 64},   {224, 224, 64, 64},
                             {56, 56, 128, 128}, {28, 28, 128, 128}, {28, 28, 256, 256}, {14, 14, 256, 256},
                             {28, 28, 512, 512}, {14, 14, 512, 512}, {7, 7, 512, 512},   {56, 56, 48, 48},
                             {4, 224, 64, 64},   {8, 960, 16, 16},   {160, 160, 16, 16}, {80, 80, 32, 32},
                             {40, 40, 64, 64},   {20, 20, 128, 128}, {720, 64, 32, 16},  {64, 64, 256, 128},
                             {35, 35, 48, 64},   {28, 28, 12, 12},   {14, 14, 8, 16}};

/// Filters that come down to those of tiles: first layers, and what else is large or has a stride.
constexpr Shape kFilterShapes[] = {{224, 224, 3, 64, {7, 2}},  {32, 32, 3, 128, {7, 2}},   {360, 1280, 3, 32, {9, 1}},
                                   {112, 112, 3, 64, {7, 1}},  {224, 224, 3, 64, {11, 4}}, {112, 112, 3, 32, {5, 2}},
                                   {112, 112, 16, 32, {5, 2}}, {56, 56, 64, 128, {5, 2}},  {64, 64, 3, 32, {6, 2}},
                                   {56, 56, 48, 48, {7, 1}},   {56, 56, 64, 64, {4, 1}}};

/// With weights from memory, as late layers have them.
constexpr Shape kFarShapes[] = {{56, 56, 256, 256}, {28, 28, 128, 128}, {28, 28, 512, 512},
                                {14, 14, 256, 256}, {14, 14, 512, 512}, {7, 7, 512, 512}};

std::string name_of(const Kernel& kernel, const Shape& s) {
  return std::string(kernel.name) + "/" + std::to_string(s.height) + "x" + std::to_string(s.width) + "x" +
         std::to_string(s.channels_in) + "x" + std::to_string(s.channels_out) +
         (s.filter.kernel == 0 ? "" : "/k" + std::to_string(s.filter.kernel) + "/s" + std::to_string(s.filter.stride));
}

void run_shape(benchmark::State& state, const Kernel& kernel, const Shape& s, From from) {
  const Filter filter = s.filter.kernel == 0 ? Filter{kernel.tile.taps} : s.filter;
  const std::size_t pad = filter.kernel / 2, channels = filter.channels(s.channels_in);
  const std::size_t height_out = (s.height + 2 * pad - filter.kernel) / filter.stride + 1;
  const std::size_t width_out = (s.width + 2 * pad - filter.kernel) / filter.stride + 1;
  const Image in(s.height, s.width, s.channels_in);
  const Image out(height_out, width_out, s.channels_out);
  Weights weights(kernels::winograd::packed_floats(kernel.encoding, kernel.tile, channels, s.channels_out), from);
  const Floats bias(s.channels_out);
  const Floats workspace(kernels::winograd::workspace_floats(kernel.encoding, kernel.tile, channels, s.channels_out,
                                                             from == From::memory));
  Args args;
  args.far_weights = from == From::memory;
  const std::size_t outputs = kernel.tile.outputs, taps = kernel.tile.taps, parts = filter.parts();
  args.tile_rows = (height_out + outputs - 1) / outputs;
  std::vector<const float*> in_rows;
  std::vector<float*> out_rows;
  for (std::size_t i = 0; i < args.tile_rows * outputs + taps - 1; ++i) {
    for (std::size_t part = 0; part < parts; ++part)
      in_rows.push_back(in.row(static_cast<std::ptrdiff_t>(i * filter.stride + part * filter.step()) -
                               static_cast<std::ptrdiff_t>(pad)));
    out_rows.push_back(out.row(static_cast<std::ptrdiff_t>(i)));
  }
  args.in_rows = in_rows.data();
  args.out_rows = out_rows.data();
  args.width_in = s.width;
  args.width_out = width_out;
  args.pad_left = pad;
  args.filter = filter;
  args.channels_in = s.channels_in;
  args.channels_out = s.channels_out;
  args.in_pixel_stride = static_cast<std::ptrdiff_t>(s.channels_in);
  args.out_pixel_stride = static_cast<std::ptrdiff_t>(s.channels_out);
  args.bias = bias.data();
  args.epilogue.activation.kind = kernels::Unary::relu;
  args.workspace = workspace.data();
  const double flops = 2.0 * static_cast<double>(filter.kernel * filter.kernel * height_out * width_out *
                                                 s.channels_in * s.channels_out);
  report_flops(state, kernel.isa, flops, [&] {
    args.weights = weights.next();
    kernel.run(args);
  });
}

const bool kRegistered = register_near_and_far(
    kernels::winograd::table(), kShapes, kFarShapes,
    [](const Kernel& kernel, const Shape& shape) { return name_of(kernel, shape); }, run_shape);

const bool kFiltersRegistered = [] {
  for (const Kernel& kernel : kernels::winograd::table())
    for (const Shape& shape : kFilterShapes)
      if (shape.filter.taps() == kernel.tile.taps)
        register_shapes(
            std::span(&kernel, 1), std::span(&shape, 1), [](const Kernel& k, const Shape& s) { return name_of(k, s); },
            [](benchmark::State& state, const Kernel& k, const Shape& s) { run_shape(state, k, s, From::caches); });
  return true;
}();

}  // namespace
}  // namespace colonnade::bench
