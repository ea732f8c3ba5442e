// SPDX-License-Identifier: Apache-2.0
// Every row of the tables of the row kernels: depthwise, pool, elementwise, norm, move. GFLOP/s count multiply and add
// as two, taps in the padding included; GB/s count each input and output byte once. Buffers are aligned to 64 bytes and
// touched before the first run.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "bench/peak.hpp"
#include "bench/rows.hpp"
#include "kernels/depthwise/depthwise.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/move/move.hpp"
#include "kernels/norm/norm.hpp"
#include "kernels/pool/pool.hpp"

namespace colonnade::kernels {
namespace {

struct Free {
  void operator()(float* p) const { std::free(p); }
};

/// Floats aligned to a cache line, in [-2, 2).
struct Floats {
  std::unique_ptr<float, Free> values;
  explicit Floats(std::size_t size)
      : values(static_cast<float*>(std::aligned_alloc(64, (size * sizeof(float) + 64) / 64 * 64))) {
    for (std::size_t i = 0; i < size; ++i) values.get()[i] = static_cast<float>(i * 37 % 97) / 24.25f - 2.0f;
  }
  float* data() { return values.get(); }
};

std::ptrdiff_t step(std::size_t stride) { return static_cast<std::ptrdiff_t>(stride); }

using bench::add;
using bench::count_bytes;

/// Row pointers of a window that slides over an image, null in the padding.
struct Windows {
  std::vector<const float*> in;
  std::vector<float*> out;
  Windows(float* image, float* result, std::size_t height, std::size_t width_in, std::size_t width_out,
          std::size_t channels, std::size_t kernel, std::size_t stride, std::size_t pad) {
    const std::size_t rows = (height + 2 * pad - kernel) / stride + 1;
    for (std::size_t row = 0; row < rows; ++row) {
      out.push_back(result + row * width_out * channels);
      for (std::size_t ky = 0; ky < kernel; ++ky) {
        const std::size_t y = row * stride + ky;
        in.push_back(y < pad || y - pad >= height ? nullptr : image + (y - pad) * width_in * channels);
      }
    }
  }
};

struct Image {
  std::size_t height, width, channels, kernel, stride;
  Unary activation = Unary::relu;
  std::size_t pad() const { return kernel / 2; }
  std::size_t out(std::size_t size) const { return (size + 2 * pad() - kernel) / stride + 1; }
  std::string name() const {
    return std::to_string(height) + "x" + std::to_string(width) + "x" + std::to_string(channels) + "/k" +
           std::to_string(kernel) + "s" + std::to_string(stride) + (activation == Unary::silu ? "/silu" : "");
  }
};

void run_depthwise(benchmark::State& state, const depthwise::Kernel& kernel, const Image& i) {
  const std::size_t outputs = i.out(i.height) * i.out(i.width) * i.channels;
  Floats in(i.height * i.width * i.channels), out(outputs), weights(i.kernel * i.kernel * i.channels), bias(i.channels);
  Windows windows(in.data(), out.data(), i.height, i.width, i.out(i.width), i.channels, i.kernel, i.stride, i.pad());
  depthwise::Args a;
  a.rows = windows.out.size();
  a.in_rows = windows.in.data();
  a.out_rows = windows.out.data();
  a.width_in = i.width;
  a.width_out = i.out(i.width);
  a.kernel_h = a.kernel_w = i.kernel;
  a.stride_w = i.stride;
  a.pad_left = i.pad();
  a.channels = i.channels;
  a.in_pixel_stride = a.out_pixel_stride = a.weight_stride = step(i.channels);
  a.weights = weights.data();
  a.bias = bias.data();
  a.epilogue.activation.kind = i.activation;
  a.epilogue.activation.b = 6;
  bench::report_flops(state, kernel.isa, 2.0 * static_cast<double>(outputs * i.kernel * i.kernel),
                      [&] { kernel.run(a); });
  count_bytes(state, 4.0 * static_cast<double>(i.height * i.width * i.channels + outputs));
}

void run_pool(benchmark::State& state, const pool::Kernel& kernel, const Image& i, pool::Kind kind) {
  const std::size_t outputs = i.out(i.height) * i.out(i.width) * i.channels;
  Floats in(i.height * i.width * i.channels), out(outputs);
  Windows windows(in.data(), out.data(), i.height, i.width, i.out(i.width), i.channels, i.kernel, i.stride, i.pad());
  const std::vector<float> counts(i.height + i.width, 2.0f);
  pool::Args a;
  a.kind = kind;
  a.rows = windows.out.size();
  a.in_rows = windows.in.data();
  a.out_rows = windows.out.data();
  a.width_in = i.width;
  a.width_out = i.out(i.width);
  a.kernel_h = a.kernel_w = i.kernel;
  a.stride_w = i.stride;
  a.pad_left = i.pad();
  a.channels = i.channels;
  a.in_pixel_stride = a.out_pixel_stride = step(i.channels);
  a.row_counts = a.column_counts = counts.data();
  for (auto _ : state) kernel.run(a);
  count_bytes(state, 4.0 * static_cast<double>(i.height * i.width * i.channels + outputs));
}

void run_unary(benchmark::State& state, const elementwise::Kernel& kernel, Unary kind) {
  const std::size_t size = 4096;
  Floats in(size), out(size);
  for (auto _ : state) kernel.unary({{kind, 0.1f, 0.9f}, 1, size, in.data(), out.data(), step(size), step(size)});
  count_bytes(state, 8.0 * static_cast<double>(size));
}

void run_binary(benchmark::State& state, const elementwise::Kernel& kernel, std::ptrdiff_t b_pixel_stride) {
  const std::size_t pixels = 64;
  const std::size_t channels = 64;
  Floats a(pixels * channels), b(pixels * channels), out(pixels * channels);
  elementwise::BinaryArgs args;
  args.activation.kind = Unary::relu;
  args.pixels = pixels;
  args.channels = channels;
  args.a = a.data();
  args.b = b.data();
  args.out = out.data();
  args.a_pixel_stride = args.out_pixel_stride = step(channels);
  args.b_pixel_stride = b_pixel_stride;
  for (auto _ : state) kernel.binary(args);
  count_bytes(state, 4.0 * static_cast<double>(pixels * channels) * (b_pixel_stride ? 3 : 2));
}

enum class Norm { softmax, layer, reduce, instance, lrn };

void run_norm(benchmark::State& state, const norm::Kernel& kernel, Norm what, std::size_t pixels,
              std::size_t channels) {
  Floats in(pixels * channels), out(pixels * channels), scale(channels), bias(channels), scratch(2 * channels);
  const std::ptrdiff_t s = step(channels);
  for (auto _ : state) {
    switch (what) {
      case Norm::softmax: kernel.softmax({pixels, channels, in.data(), out.data(), s, s, false}); break;
      case Norm::layer:
        kernel.layer_norm({pixels, channels, in.data(), out.data(), s, s, scale.data(), bias.data(), 1e-5f, false});
        break;
      case Norm::reduce: kernel.reduce({norm::Reduction::mean, pixels, channels, in.data(), out.data(), s}); break;
      case Norm::instance:
        kernel.instance_norm(
            {pixels, channels, in.data(), out.data(), s, s, scale.data(), bias.data(), 1e-5f, scratch.data()});
        break;
      case Norm::lrn: kernel.lrn({pixels, channels, in.data(), out.data(), s, s, 5, 1e-4f, 0.75f, 1.0f}); break;
    }
  }
  count_bytes(state, (what == Norm::reduce ? 4.0 : 8.0) * static_cast<double>(pixels * channels));
}

enum class Move { copy, to_pixels, to_planes, bytes_to_pixels, nearest, linear };

void run_move(benchmark::State& state, const move::Kernel& kernel, Move what, std::size_t pixels,
              std::size_t channels) {
  const std::size_t padded = channels + 16;
  Floats in(2 * pixels * padded), out(pixels * padded);
  const std::size_t taps = what == Move::linear ? 2 : 1;
  const std::vector<std::int32_t> columns(pixels * taps, static_cast<std::int32_t>(pixels / 2));
  const std::vector<float> weights(pixels * taps, taps == 2 ? 0.5f : 1.0f);
  const float* rows[] = {in.data(), in.data() + pixels * channels};
  const std::ptrdiff_t s = step(channels);
  for (auto _ : state) {
    switch (what) {
      case Move::copy: kernel.copy({pixels, 4 * channels, in.data(), out.data(), 4 * s, 4 * step(padded)}); break;
      case Move::to_pixels: kernel.planes_to_pixels({pixels, channels, in.data(), step(pixels), out.data(), s}); break;
      case Move::to_planes: kernel.pixels_to_planes({pixels, channels, in.data(), s, out.data(), step(pixels)}); break;
      case Move::bytes_to_pixels:
        kernel.transpose({1, channels, pixels, in.data(), step(pixels), out.data(), s});
        break;
      case Move::nearest:
      case Move::linear:
        kernel.resize(
            {pixels, channels, taps, taps, rows, weights.data(), columns.data(), weights.data(), out.data(), s, s});
        break;
    }
  }
  count_bytes(state, (what == Move::bytes_to_pixels ? 2.0 : 8.0) * static_cast<double>(pixels * channels));
}

void add_depthwise() {
  const Image images[] = {{1, 32, 64, 3, 1},
                          {14, 14, 64, 3, 1},
                          {14, 14, 576, 3, 1},
                          {28, 28, 192, 3, 1},
                          {56, 56, 144, 3, 1},
                          {112, 112, 32, 3, 1},
                          {7, 7, 960, 3, 1},
                          {28, 28, 192, 3, 2},
                          {28, 28, 96, 5, 1},
                          {28, 28, 96, 5, 2},
                          {14, 14, 480, 5, 1},
                          {28, 28, 96, 7, 1},
                          {56, 56, 144, 3, 2},
                          {14, 14, 384, 3, 1},
                          {14, 14, 672, 5, 2},
                          {7, 7, 960, 5, 1},
                          {56, 56, 96, 7, 1},
                          {14, 14, 384, 7, 1},
                          {7, 7, 768, 7, 1},
                          {28, 28, 58, 3, 1},
                          {14, 14, 116, 3, 1},
                          {28, 28, 120, 5, 1},
                          {14, 14, 480, 5, 1, Unary::silu},
                          {56, 56, 144, 3, 2, Unary::silu}};
  for (const auto& kernel : depthwise::table()) {
    for (const Image& image : images) {
      add("depthwise/" + image.name(), kernel, [=](benchmark::State& s) { run_depthwise(s, kernel, image); });
    }
  }
}

void add_pool() {
  for (const auto& kernel : pool::table()) {
    for (const Image& image : {Image{28, 28, 64, 2, 2}, Image{28, 28, 64, 3, 2}, Image{112, 112, 64, 3, 2},
                               Image{28, 28, 64, 3, 1}, Image{35, 35, 192, 3, 1}, Image{20, 20, 128, 5, 1}}) {
      add("pool/max/" + image.name(), kernel,
          [=](benchmark::State& s) { run_pool(s, kernel, image, pool::Kind::max); });
      add("pool/average/" + image.name(), kernel,
          [=](benchmark::State& s) { run_pool(s, kernel, image, pool::Kind::average); });
    }
  }
}

void add_elementwise() {
  const std::pair<const char*, Unary> functions[] = {{"relu", Unary::relu},
                                                     {"hard_swish", Unary::hard_swish},
                                                     {"exp", Unary::exp},
                                                     {"log", Unary::log},
                                                     {"tanh", Unary::tanh},
                                                     {"erf", Unary::erf},
                                                     {"sigmoid", Unary::sigmoid},
                                                     {"silu", Unary::silu},
                                                     {"mish", Unary::mish},
                                                     {"gelu_erf", Unary::gelu_erf},
                                                     {"gelu_tanh", Unary::gelu_tanh},
                                                     {"elu", Unary::elu}};
  for (const auto& kernel : elementwise::table()) {
    for (const auto& [name, kind] : functions) {
      const Unary unary = kind;
      add(std::string("unary/") + name, kernel, [=](benchmark::State& s) { run_unary(s, kernel, unary); });
    }
    add("binary/add_relu", kernel, [=](benchmark::State& s) { run_binary(s, kernel, 64); });
    add("binary/add_relu_broadcast", kernel, [=](benchmark::State& s) { run_binary(s, kernel, 0); });
  }
}

void add_norm() {
  const std::pair<const char*, Norm> functions[] = {{"softmax", Norm::softmax},
                                                    {"layer_norm", Norm::layer},
                                                    {"reduce", Norm::reduce},
                                                    {"instance_norm", Norm::instance},
                                                    {"lrn", Norm::lrn}};
  for (const auto& kernel : norm::table()) {
    for (const auto& [name, what] : functions) {
      const Norm norm = what;
      add(std::string("norm/") + name + "/16x768", kernel,
          [=](benchmark::State& s) { run_norm(s, kernel, norm, 16, 768); });
    }
    add("norm/softmax/64x10", kernel, [=](benchmark::State& s) { run_norm(s, kernel, Norm::softmax, 64, 10); });
    add("norm/reduce/784x96", kernel, [=](benchmark::State& s) { run_norm(s, kernel, Norm::reduce, 784, 96); });
  }
}

void add_move() {
  const std::pair<const char*, Move> functions[] = {{"copy", Move::copy},
                                                    {"planes_to_pixels", Move::to_pixels},
                                                    {"pixels_to_planes", Move::to_planes},
                                                    {"bytes_to_pixels", Move::bytes_to_pixels},
                                                    {"resize_nearest", Move::nearest},
                                                    {"resize_linear", Move::linear}};
  for (const auto& kernel : move::table()) {
    for (const auto& [name, what] : functions) {
      const Move move = what;
      for (const std::size_t channels : {3u, 4u, 30u, 64u}) {
        add(std::string("move/") + name + "/224x" + std::to_string(channels), kernel,
            [=](benchmark::State& s) { run_move(s, kernel, move, 224, channels); });
      }
    }
  }
}

[[maybe_unused]] const bool kRegistered =
    (add_depthwise(), add_pool(), add_elementwise(), add_norm(), add_move(), true);

}  // namespace
}  // namespace colonnade::kernels
