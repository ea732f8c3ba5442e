// SPDX-License-Identifier: Apache-2.0
// Every row of the table of depthwise convolutions of bytes, on layers of MobileNetV2 and EfficientNet-B0, eight output
// rows a call. GOP/s count multiply and add as two, taps in the padding included.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "bench/rows.hpp"
#include "kernels/byte_depthwise/byte_depthwise.hpp"

namespace colonnade::kernels {
namespace {

struct Layer {
  std::size_t size, channels, kernel, stride;
  std::string name() const {
    return std::to_string(size) + "x" + std::to_string(size) + "x" + std::to_string(channels) + "/k" +
           std::to_string(kernel) + "s" + std::to_string(stride);
  }
};

struct Buffer : AlignedBuffer {
  explicit Buffer(std::size_t bytes) : AlignedBuffer(bytes) {
    for (std::size_t i = 0; i < bytes; ++i) data()[i] = static_cast<std::byte>(i * 37 % 251);
  }
};

void run(benchmark::State& state, const byte_depthwise::Kernel& kernel, const Layer& layer) {
  const std::size_t pad = layer.kernel / 2, width = (layer.size + 2 * pad - layer.kernel) / layer.stride + 1;
  const std::size_t rows = std::min<std::size_t>(8, width);
  const byte_depthwise::Shape shape{layer.channels, layer.kernel, layer.kernel};
  const Buffer in(layer.size * layer.size * layer.channels), out(rows * width * layer.channels);
  const Buffer filters(layer.channels * layer.kernel * layer.kernel);
  Buffer weights(kernel.packed_bytes(shape)), numbers(kernel.prepared_bytes(shape));
  const std::vector<float> factor(layer.channels, 1e-3f);
  kernel.pack(shape, reinterpret_cast<const std::int8_t*>(filters.data()), weights.data());
  kernel.prepare(shape, {3, nullptr, factor.data(), true, nullptr}, weights.data(), numbers.data());
  std::vector<const std::uint8_t*> in_rows, room(byte_depthwise::rows_of(layer.kernel));
  std::vector<std::byte*> out_rows;
  for (std::size_t row = 0; row < rows; ++row) {
    out_rows.push_back(const_cast<std::byte*>(out.data()) + row * width * layer.channels);
    for (std::size_t ky = 0; ky < layer.kernel; ++ky) {
      const std::size_t y = row * layer.stride + ky;
      const bool outside = y < pad || y - pad >= layer.size;
      const auto* pixels = reinterpret_cast<const std::uint8_t*>(in.data());
      in_rows.push_back(outside ? nullptr : pixels + (y - pad) * layer.size * layer.channels);
    }
  }
  byte_depthwise::Args a;
  a.rows = rows;
  a.in_rows = in_rows.data();
  a.out_rows = out_rows.data();
  a.width_in = layer.size;
  a.width_out = width;
  a.kernel_h = a.kernel_w = layer.kernel;
  a.stride_w = layer.stride;
  a.pad_left = pad;
  a.channels = layer.channels;
  a.in_pixel_stride = a.out_pixel_stride = static_cast<std::ptrdiff_t>(layer.channels);
  a.weights = weights.data();
  a.numbers = numbers.data();
  a.x_zero = 3;
  a.row_room = room.data();
  for (auto _ : state) kernel.run(a);
  const auto operations = static_cast<double>(2 * rows * width * layer.channels * layer.kernel * layer.kernel);
  state.counters["GOP/s"] = benchmark::Counter(operations * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

[[maybe_unused]] const bool registered = [] {
  for (const auto& kernel : byte_depthwise::table())
    for (const Layer& layer : {Layer{112, 32, 3, 1}, Layer{112, 96, 3, 2}, Layer{56, 144, 3, 1}, Layer{28, 192, 3, 1},
                               Layer{14, 384, 3, 1}, Layer{14, 576, 3, 2}, Layer{7, 960, 3, 1}, Layer{28, 240, 5, 1},
                               Layer{14, 672, 5, 1}, Layer{14, 672, 5, 2}, Layer{7, 1152, 5, 1}, Layer{56, 96, 7, 1}})
      bench::add("byte_depthwise/" + layer.name(), kernel,
                 [&kernel, layer](benchmark::State& state) { run(state, kernel, layer); });
  return true;
}();

}  // namespace
}  // namespace colonnade::kernels
