// SPDX-License-Identifier: Apache-2.0
// Every row of the table of the byte kernels. GB/s count each input and output byte once.
#include "bench/buffers.hpp"
#include "bench/rows.hpp"
#include "kernels/bytes/bytes.hpp"

namespace colonnade::bench {
namespace {

using namespace kernels::bytes;

constexpr std::size_t kElements = 6144, kChannels = 768;

/// Room for a row, which holds bytes or numbers, and parameters.
struct Buffers {
  Floats in{kElements}, other{kElements}, out{kElements}, scale{kChannels}, zero{kChannels};
  Pixels rows{kElements / kChannels, kChannels, kChannels, kChannels};
  Parameters parameters(std::ptrdiff_t channel_step) const { return {scale.data(), zero.data(), 0, channel_step}; }
};

void run_quantize(benchmark::State& state, QuantizeFn quantize, std::ptrdiff_t channel_step) {
  const Buffers b;
  for (std::size_t c = 0; c < kChannels; ++c) b.scale.data()[c] = 0.01f;
  for (auto _ : state) quantize({b.rows, b.parameters(channel_step), b.in.data(), b.out.data()});
  count_bytes(state, 5.0 * kElements);
}

void run_dequantize(benchmark::State& state, DequantizeFn dequantize, std::ptrdiff_t channel_step, double bytes) {
  const Buffers b;
  for (auto _ : state) dequantize({b.rows, b.parameters(channel_step), b.in.data(), b.out.data()});
  count_bytes(state, bytes * kElements);
}

void run_lookup(benchmark::State& state, LookupFn lookup, double bytes) {
  const Buffers b;
  const auto* in = reinterpret_cast<const std::uint8_t*>(b.in.data());
  for (auto _ : state) lookup({b.rows, in, b.other.data(), b.out.data()});
  count_bytes(state, bytes * kElements);
}

void run_binary(benchmark::State& state, BinaryFn binary, Binary op, std::ptrdiff_t b_pixel_stride) {
  const Buffers b;
  BinaryArgs args;
  args.op = op;
  args.pixels = b.rows.pixels;
  args.channels = kChannels;
  args.a = {reinterpret_cast<const std::uint8_t*>(b.in.data()), kChannels, 1, 7, 0.01f};
  args.b = {reinterpret_cast<const std::uint8_t*>(b.other.data()), b_pixel_stride, 1, 100, 0.5f};
  args.out = b.out.data();
  args.out_pixel_stride = kChannels;
  for (auto _ : state) binary(args);
  count_bytes(state, (b_pixel_stride != 0 ? 3.0 : 2.0) * kElements);
}

void add_rows(const Kernel& kernel) {
  for (const auto& [name, type, bytes] :
       {std::tuple("u8", Type::u8, 5.0), {"i8", Type::i8, 5.0}, {"i32", Type::i32, 8.0}})
    for (const auto& [by, step] : {std::pair("", 0), {"/by_channel", 1}}) {
      if (const QuantizeFn quantize = type == Type::i32 ? nullptr : kernel.quantize(type))
        add(std::string("bytes/quantize/") + name + by, kernel,
            [=, at = step](benchmark::State& state) { run_quantize(state, quantize, at); });
      add(std::string("bytes/dequantize/") + name + by, kernel,
          [dequantize = kernel.dequantize(type), at = step, size = bytes](benchmark::State& state) {
            run_dequantize(state, dequantize, at, size);
          });
    }
  add("bytes/lookup/u8", kernel, [=](benchmark::State& state) { run_lookup(state, kernel.lookup_bytes, 2); });
  add("bytes/lookup/f32", kernel, [=](benchmark::State& state) { run_lookup(state, kernel.lookup_floats, 5); });
  for (const auto& [name, op] : {std::pair("add", Binary::add), {"mul", Binary::mul}})
    for (const auto& [of, stride] : {std::pair("", kChannels), {"/broadcast", 0}})
      add(std::string("bytes/") + name + of, kernel,
          [binary = kernel.binary(Type::u8), kind = op,
           s = static_cast<std::ptrdiff_t>(stride)](benchmark::State& state) { run_binary(state, binary, kind, s); });
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const auto& kernel : table()) add_rows(kernel);
  return true;
}();

}  // namespace
}  // namespace colonnade::bench
