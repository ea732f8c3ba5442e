// SPDX-License-Identifier: Apache-2.0
// Convolutions of bytes by Winograd's tiles on one thread, all rows in one call. GOP/s are those of the definition, so
// more than the peak may be reached. Names: height x width x channels in x channels out.
#include <string>
#include <vector>

#include "bench/buffers.hpp"
#include "bench/peak.hpp"
#include "kernels/byte_winograd/byte_winograd.hpp"

namespace colonnade::bench {
namespace {

using kernels::byte_product::Output;
using kernels::byte_winograd::Args;
using kernels::byte_winograd::Kernel;

struct Shape {
  std::size_t height, width, channels_in, channels_out;
};

constexpr Shape kShapes[] = {{56, 56, 64, 64},   {28, 28, 128, 128}, {14, 14, 256, 256}, {7, 7, 512, 512},
                             {128, 128, 64, 64}, {256, 256, 32, 32}, {160, 160, 16, 16}, {40, 40, 48, 48},
                             {64, 64, 128, 128}, {32, 32, 256, 256}, {80, 80, 64, 64},   {20, 20, 128, 128}};
constexpr Shape kFarShapes[] = {{14, 14, 256, 256}, {7, 7, 512, 512}};

std::string name_of(const Kernel& kernel, const Shape& s) {
  return std::string(kernel.name) + "/" + std::to_string(s.height) + "x" + std::to_string(s.width) + "x" +
         std::to_string(s.channels_in) + "x" + std::to_string(s.channels_out);
}

void run_shape(benchmark::State& state, const Kernel& kernel, const Shape& s, From from) {
  const auto floats = [](std::size_t bytes) { return bytes / sizeof(float) + 16; };
  Floats in(floats(s.height * s.width * s.channels_in)), out(floats(s.height * s.width * s.channels_out));
  Floats room(floats(kernels::byte_winograd::workspace_bytes(s.channels_in, s.channels_out)));
  Floats factor(s.channels_out), shift(s.channels_out);
  const std::size_t tile_rows = (s.height + 3) / 4;
  std::vector<const std::uint8_t*> in_rows(4 * tile_rows + 2);
  std::vector<void*> out_rows(4 * tile_rows);
  for (std::size_t y = 0; y < s.height; ++y) {
    in_rows[y + 1] = reinterpret_cast<const std::uint8_t*>(in.data()) + y * s.width * s.channels_in;
    out_rows[y] = reinterpret_cast<std::uint8_t*>(out.data()) + y * s.width * s.channels_out;
  }
  Weights weights(floats(kernels::byte_winograd::packed_bytes(s.channels_in, s.channels_out)), from);
  Args args;
  args.tile_rows = tile_rows;
  args.in_rows = in_rows.data();
  args.out_rows = out_rows.data();
  args.width_in = args.width_out = s.width;
  args.pad_left = 1;
  args.channels_in = s.channels_in;
  args.channels_out = s.channels_out;
  args.in_pixel_stride = static_cast<std::ptrdiff_t>(s.channels_in);
  args.out_pixel_stride = static_cast<std::ptrdiff_t>(s.channels_out);
  args.far_weights = from == From::memory;
  args.x_zero = 128;
  args.out = {.to = Output::u8, .zero = 128, .low = -128, .high = 127, .factor = factor.data(), .shift = shift.data()};
  args.workspace = reinterpret_cast<std::byte*>(room.data());
  const auto body = [&] {
    args.weights = reinterpret_cast<const std::byte*>(weights.next());
    kernel.run(args);
  };
  const double operations = 2.0 * 9 * static_cast<double>(s.height * s.width * s.channels_in * s.channels_out);
  report_flops(state, kernel.isa, operations, body, peak_byte_gops);
}

const bool kRegistered = register_near_and_far(
    kernels::byte_winograd::table(), kShapes, kFarShapes,
    [](const Kernel& kernel, const Shape& shape) { return name_of(kernel, shape); }, run_shape);

}  // namespace
}  // namespace colonnade::bench
