// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of bytes on one thread, all rows in one call: the layers of ResNet-50, then sizes that
// other networks have. Names: height x width x channels in x channels out, kernel, stride, groups, output; far: weights
// from memory.
#include <string>
#include <vector>

#include "bench/buffers.hpp"
#include "bench/peak.hpp"
#include "kernels/byte_product/byte_product.hpp"

namespace colonnade::bench {
namespace {

using kernels::byte_product::Args;
using kernels::byte_product::Kernel;
using kernels::byte_product::Output;

struct Shape {
  std::size_t height, width, channels_in, channels_out;
  std::size_t kernel = 1, stride = 1, groups = 1;
  Output to = Output::u8;
};

constexpr Shape kShapes[] = {
    // ResNet-50.
    {224, 224, 3, 64, 7, 2},
    {56, 56, 64, 64},
    {56, 56, 64, 64, 3},
    {56, 56, 64, 256},
    {56, 56, 256, 64},
    {56, 56, 256, 128},
    {56, 56, 128, 128, 3, 2},
    {28, 28, 128, 512},
    {56, 56, 256, 512, 1, 2},
    {28, 28, 512, 128},
    {28, 28, 128, 128, 3},
    {28, 28, 512, 256},
    {28, 28, 256, 256, 3, 2},
    {14, 14, 256, 1024},
    {28, 28, 512, 1024, 1, 2},
    {14, 14, 1024, 256},
    {14, 14, 256, 256, 3},
    {14, 14, 1024, 512},
    {14, 14, 512, 512, 3, 2},
    {7, 7, 512, 2048},
    {14, 14, 1024, 2048, 1, 2},
    {7, 7, 2048, 512},
    {7, 7, 512, 512, 3},
    {1, 1, 2048, 1000, 1, 1, 1, Output::f32},
    // Of MobileNets, detectors, super-resolution, texts.
    {224, 224, 3, 32, 3, 2},
    {112, 112, 32, 16},
    {112, 112, 16, 96},
    {56, 56, 24, 144},
    {56, 56, 144, 24},
    {14, 14, 96, 576},
    {7, 7, 160, 960},
    {40, 40, 48, 48, 3},
    {160, 160, 16, 16, 3},
    {128, 128, 64, 64, 3},
    {1, 128, 384, 1536, 1, 1, 1, Output::f32},
    {1, 128, 1536, 384, 1, 1, 1, Output::f32},
    {1, 128, 768, 768, 1, 1, 1, Output::i32},
    {1, 1, 4096, 4096, 1, 1, 1, Output::f32},
    {56, 56, 128, 128, 3, 1, 32},
    {28, 28, 256, 256, 3, 1, 32},
};

constexpr Shape kFarShapes[] = {
    {14, 14, 1024, 256}, {7, 7, 512, 2048}, {7, 7, 512, 512, 3}, {1, 1, 4096, 4096, 1, 1, 1, Output::f32}};

std::string name_of(const Kernel& kernel, const Shape& s) {
  constexpr const char* kOutputs[] = {"u8", "i8", "i32", "f32"};
  return std::string(kernel.name) + "/" + std::to_string(s.height) + "x" + std::to_string(s.width) + "x" +
         std::to_string(s.channels_in) + "x" + std::to_string(s.channels_out) + "/k" + std::to_string(s.kernel) + "/s" +
         std::to_string(s.stride) + "/g" + std::to_string(s.groups) + "/" + kOutputs[static_cast<std::size_t>(s.to)];
}

/// The operands of a shape, but for its weights.
class Operands {
 public:
  Operands(const Kernel& kernel, const Shape& s)
      : height_out_((s.height + 2 * (s.kernel / 2) - s.kernel) / s.stride + 1),
        width_out_((s.width + 2 * (s.kernel / 2) - s.kernel) / s.stride + 1),
        depth_{s.kernel, s.kernel * s.channels_in / s.groups},
        in_(floats(s.height * s.width * s.channels_in)),
        out_(height_out_ * width_out_ * s.channels_out),
        factor_(s.channels_out),
        shift_(s.channels_out),
        room_(floats(kernel.workspace_bytes(sizes(s)))) {
    const std::size_t value = s.to == Output::u8 ? 1 : sizeof(float), pad = s.kernel / 2;
    for (std::size_t y = 0; y < height_out_; ++y) {
      out_rows_.push_back(reinterpret_cast<std::byte*>(out_.data()) + y * width_out_ * s.channels_out * value);
      for (std::size_t ky = 0; ky < s.kernel; ++ky) {
        const std::size_t row = y * s.stride + ky - pad;
        const auto* const first = reinterpret_cast<const std::uint8_t*>(in_.data());
        in_rows_.push_back(row < s.height ? first + row * s.width * s.channels_in : nullptr);
      }
    }
  }

  static std::size_t floats(std::size_t bytes) { return bytes / sizeof(float) + 16; }
  double operations(const Shape& s) const {
    return 2.0 * static_cast<double>(height_out_ * width_out_ * depth_.rows * depth_.row * s.channels_out);
  }
  std::size_t weights_bytes(const Kernel& kernel, const Shape& s) const {
    return s.groups * kernels::byte_product::packed_bytes(kernel.packing, depth_, s.channels_out / s.groups);
  }

  /// Weights of seven bits, as the kernel has them.
  void pack(const Kernel& kernel, const Shape& s, std::int8_t* to) const {
    const std::size_t k = depth_.rows * depth_.row, outputs = s.channels_out / s.groups;
    std::vector<std::int8_t> source(k * outputs);
    for (std::size_t i = 0; i < source.size(); ++i)
      source[i] = static_cast<std::int8_t>(static_cast<int>(i * 37 % 129) - 64);
    for (std::size_t group = 0; group < s.groups; ++group)
      kernels::byte_product::pack(source.data(), 1, static_cast<std::ptrdiff_t>(k), depth_, outputs, kernel.packing,
                                  to + group * kernels::byte_product::packed_bytes(kernel.packing, depth_, outputs));
  }

  Args args(const Shape& s) const {
    const std::size_t value = s.to == Output::u8 ? 1 : sizeof(float);
    Args args = sizes(s);
    args.in_rows = in_rows_.data();
    args.out_rows = out_rows_.data();
    args.in_pixel_stride = static_cast<std::ptrdiff_t>(s.channels_in);
    args.out_pixel_stride = static_cast<std::ptrdiff_t>(s.channels_out * value);
    args.x_zero = 128;
    args.out = {.to = s.to, .zero = 128, .low = -128, .high = 127, .factor = factor_.data(), .shift = shift_.data()};
    args.workspace = reinterpret_cast<std::byte*>(room_.data());
    return args;
  }

 private:
  Args sizes(const Shape& s) const {
    Args args;
    args.rows = height_out_;
    args.width_in = s.width;
    args.width_out = width_out_;
    args.kernel_h = args.kernel_w = s.kernel;
    args.stride_w = s.stride;
    args.pad_left = s.kernel / 2;
    args.groups = s.groups;
    args.channels_in = s.channels_in / s.groups;
    args.channels_out = s.channels_out / s.groups;
    return args;
  }

  std::size_t height_out_, width_out_;
  kernels::byte_product::Depth depth_;
  Floats in_, out_, factor_, shift_, room_;
  std::vector<const std::uint8_t*> in_rows_;
  std::vector<void*> out_rows_;
};

void run_shape(benchmark::State& state, const Kernel& kernel, const Shape& s, From from) {
  const Operands operands(kernel, s);
  Weights weights(Operands::floats(operands.weights_bytes(kernel, s)), from);
  if (kernel.packing.splits)  // others take any bytes
    weights.fill([&](float* to) { operands.pack(kernel, s, reinterpret_cast<std::int8_t*>(to)); });
  Args args = operands.args(s);
  const auto body = [&] {
    args.weights = reinterpret_cast<const std::int8_t*>(weights.next());
    kernel.run(args);
  };
  report_flops(state, kernel.isa, operands.operations(s), body, peak_byte_gops);
}

template <class Table>
bool register_table(const Table& table) {
  return register_near_and_far(
      table, kShapes, kFarShapes, [](const Kernel& kernel, const Shape& shape) { return name_of(kernel, shape); },
      run_shape);
}

const bool kRegistered =
    register_table(kernels::byte_product::table()) && register_table(kernels::byte_product::split_table());

}  // namespace
}  // namespace colonnade::bench
