// SPDX-License-Identifier: Apache-2.0
// Every row of the tables of the typed, convert, recurrent and grid_sample kernels. GB/s count each input and output
// byte once; what GridSample reads is a tap's pixel each.
#include "bench/buffers.hpp"
#include "bench/rows.hpp"
#include "kernels/convert/convert.hpp"
#include "kernels/grid_sample/grid_sample.hpp"
#include "kernels/recurrent/recurrent.hpp"
#include "kernels/typed/typed.hpp"
#include "kernels/typed_product/typed_product.hpp"
#include "kernels/vector_product/vector_product.hpp"

namespace colonnade::bench {
namespace {

using kernels::typed::Type;

constexpr std::size_t kElements = 4096;

std::size_t size_of(Type type) {
  switch (type) {
    case Type::f32:
    case Type::i32:
    case Type::u32: return 4;
    case Type::f64:
    case Type::i64:
    case Type::u64: return 8;
    case Type::i16:
    case Type::u16: return 2;
    case Type::i8:
    case Type::u8:
    case Type::boolean: return 1;
  }
  return 0;
}

/// Rows of kElements, operands of up to 8 bytes; `bytes` is what an element reads and writes.
void run_row(benchmark::State& state, kernels::typed::RowFn row, std::ptrdiff_t second_step, std::size_t bytes) {
  const Floats a(2 * kElements), b(2 * kElements), c(2 * kElements), out(2 * kElements);
  const kernels::typed::RowArgs args{{a.data(), b.data(), c.data()}, {1, second_step, 1}, out.data(), kElements};
  for (auto _ : state) row(args);
  count_bytes(state, static_cast<double>(bytes * kElements));
}

void run_extremes(benchmark::State& state, kernels::typed::ArgFn extremes, std::size_t inner) {
  const Floats in(kElements), out(2 * kElements);
  const kernels::typed::ArgArgs args{
      in.data(), reinterpret_cast<std::int64_t*>(out.data()), kElements / 64 / inner, 64, inner, inner, true, false};
  for (auto _ : state) extremes(args);
  count_bytes(state, 4.0 * kElements);
}

void run_product(benchmark::State& state, const kernels::typed_product::Kernel& kernel,
                 kernels::typed_product::Type type) {
  constexpr std::size_t kSide = 192;
  constexpr std::size_t kFloats = 2 * kSide * kSide;
  Floats a(kFloats), b(kFloats), packed(kFloats), out(kFloats), room(kFloats);
  kernel.pack(type, type)({kSide, kSide, b.data(), kSide, 1, packed.data()});
  const kernels::typed_product::ProductArgs args{kSide,         kSide,   kSide,      a.data(), kSide,      1,
                                                 packed.data(), nullptr, out.data(), kSide,    room.data()};
  for (auto _ : state) kernel.product(type, type)(args);
  state.counters["Gop/s"] =
      benchmark::Counter(2e-9 * kSide * kSide * kSide, benchmark::Counter::kIsIterationInvariantRate);
}

void run_pack(benchmark::State& state, const kernels::typed_product::Kernel& kernel,
              kernels::typed_product::Type type) {
  constexpr std::size_t kSide = 768;
  const Floats from(2 * kSide * kSide);
  Floats to(2 * kSide * kSide);
  for (auto _ : state) kernel.pack(type, type)({kSide, kSide, from.data(), kSide, 1, to.data()});
  state.counters["Gelements/s"] =
      benchmark::Counter(1e-9 * kSide * kSide, benchmark::Counter::kIsIterationInvariantRate);
}

void run_few(benchmark::State& state, const kernels::typed_product::Kernel& kernel, kernels::typed_product::Type type) {
  constexpr std::size_t kSide = 768;
  const Floats a(kSide), b(kSide * kSide);
  Floats out(kSide), room(2 * kSide);
  kernels::typed_product::ProductArgs args{1, kSide, kSide, a.data(), kSide, 1, b.data(), nullptr, out.data(), kSide};
  args.room = room.data(), args.b_stride = kSide;
  for (auto _ : state) kernel.few(type, type)(args);
  count_bytes(state, kSide * kSide);
}

void add_typed_product(const kernels::typed_product::Kernel& kernel) {
  using kernels::typed_product::Type;
  for (const auto& [name, of] :
       {std::pair("f64", Type::f64), {"i8", Type::i8}, {"i16", Type::i16}, {"i32", Type::i32}, {"i64", Type::i64}}) {
    if (kernel.terms(of, of) == 0) continue;
    add(std::string("typed_product/192x192x192/") + name, kernel,
        [=, type = of](benchmark::State& state) { run_product(state, kernel, type); });
    add(std::string("typed_product/pack/768x768/") + name, kernel,
        [=, type = of](benchmark::State& state) { run_pack(state, kernel, type); });
    if (kernel.few(of, of) == nullptr) continue;
    add(std::string("typed_product/few/1x768x768/") + name, kernel,
        [=, type = of](benchmark::State& state) { run_few(state, kernel, type); });
  }
}

void add_typed(const kernels::typed::Kernel& kernel) {
  using kernels::typed::Binary;
  const std::pair<const char*, Type> types[] = {
      {"f32", Type::f32}, {"u8", Type::u8}, {"i32", Type::i32}, {"i64", Type::i64}};
  for (const auto& [name, type] : types) {
    const std::size_t bytes = size_of(type);
    const auto add_row = [&](const char* what, kernels::typed::RowFn row, std::ptrdiff_t step, std::size_t moved) {
      add(std::string("typed/") + what + "/" + name, kernel,
          [=](benchmark::State& state) { run_row(state, row, step, moved); });
    };
    add_row("add", kernel.binary(Binary::add, type), 1, 3 * bytes);
    add_row("add_broadcast", kernel.binary(Binary::add, type), 0, 2 * bytes);
    add_row("less", kernel.binary(Binary::less, type), 1, 2 * bytes + 1);
    add_row("to_f32", kernel.cast(type, Type::f32), 1, bytes + 4);
    add_row("from_f32", kernel.cast(Type::f32, type), 1, bytes + 4);
    add_row("select", kernel.select(bytes), 1, 3 * bytes + 1);
    add_row("copy", kernel.copy(bytes), 1, 2 * bytes);
  }
  for (const std::size_t inner : {1u, 16u})
    add("typed/extremes/64x" + std::to_string(inner), kernel,
        [=](benchmark::State& state) { run_extremes(state, kernel.arg(Type::f32), inner); });
}

void add_vector_product(const kernels::vector_product::Kernel& kernel) {
  constexpr std::size_t kSide = 256;
  for (const auto& [name, run] : {std::pair("rows", kernel.by_rows), {"columns", kernel.by_columns}})
    add(std::string("vector_product/256x256/by_") + name, kernel, [=, multiply = run](benchmark::State& state) {
      const Floats vector(kSide), matrix(kSide * kSide), out(kSide);
      for (auto _ : state)
        multiply({1, kSide, kSide, vector.data(), kSide, matrix.data(), kSide, nullptr, out.data(), kSide});
      count_bytes(state, 4.0 * kSide * kSide);
    });
}

/// To and from floats, and by way of them.
void add_convert(const kernels::convert::Kernel& kernel) {
  using Kind = kernels::convert::Type;
  struct Named {
    const char* name;
    Kind type;
    std::size_t bytes;
  };
  constexpr Named kF32{"f32", Kind::f32, 4}, kBf16{"bf16", Kind::bf16, 2}, kF16{"f16", Kind::f16, 2},
      kU8{"u8", Kind::u8, 1}, kI8{"i8", Kind::i8, 1};
  const std::pair<Named, Named> pairs[] = {{kF32, kBf16}, {kBf16, kF32}, {kF32, kF16}, {kF16, kF32},  {kF32, kU8},
                                           {kU8, kF32},   {kF32, kI8},   {kI8, kF32},  {kBf16, kF16}, {kBf16, kU8}};
  for (const auto& [from, to] : pairs)
    add(std::string("convert/") + from.name + "_to_" + to.name, kernel,
        [convert = kernel.convert(from.type, to.type), bytes = from.bytes + to.bytes](benchmark::State& state) {
          const Floats in(kElements), out(kElements);
          for (auto _ : state) convert({1, kElements, in.data(), out.data(), 0, 0});
          count_bytes(state, static_cast<double>(bytes * kElements));
        });
}

void add_recurrent(const kernels::recurrent::Kernel& kernel) {
  for (const std::size_t hidden : {64u, 512u}) {
    const std::string size = "/" + std::to_string(hidden);
    add("recurrent/lstm" + size, kernel, [=](benchmark::State& state) {
      const Floats sums(4 * hidden), cell(hidden), out(hidden);
      for (auto _ : state) kernel.lstm({hidden, sums.data(), cell.data(), out.data()});
      count_bytes(state, 4.0 * 7 * static_cast<double>(hidden));
    });
    add("recurrent/lstm, any form" + size, kernel, [=](benchmark::State& state) {
      const kernels::recurrent::Cell form{.limit = 3};
      const Floats sums(4 * hidden), cell(hidden), out(hidden), peepholes(3 * hidden);
      for (auto _ : state) kernel.lstm({hidden, sums.data(), cell.data(), out.data(), peepholes.data(), &form});
      count_bytes(state, 4.0 * 10 * static_cast<double>(hidden));
    });
    add("recurrent/gru" + size, kernel, [=](benchmark::State& state) {
      const Floats sums(3 * hidden), gated(hidden), out(hidden);
      for (auto _ : state) kernel.gru({hidden, sums.data(), gated.data(), out.data()});
      count_bytes(state, 4.0 * 6 * static_cast<double>(hidden));
    });
    add("recurrent/rnn" + size, kernel, [=](benchmark::State& state) {
      const kernels::recurrent::Cell form{.f = {kernels::recurrent::Function::tanh}};
      const Floats sums(hidden), out(hidden);
      for (auto _ : state) kernel.rnn({hidden, sums.data(), out.data(), &form});
      count_bytes(state, 4.0 * 2 * static_cast<double>(hidden));
    });
    add("recurrent/reset" + size, kernel, [=](benchmark::State& state) {
      const Floats sums(hidden), held(hidden), out(hidden);
      for (auto _ : state) kernel.reset({hidden, sums.data(), held.data(), out.data()});
      count_bytes(state, 4.0 * 3 * static_cast<double>(hidden));
    });
  }
}

void run_grid_sample(benchmark::State& state, const kernels::grid_sample::Kernel& kernel,
                     kernels::grid_sample::Mode mode, std::size_t channels) {
  constexpr std::size_t kSide = 64, kPositions = 256;
  constexpr double kTaps[] = {1, 4, 16};
  const Floats image(kSide * kSide * channels), grid(2 * kPositions), out(kPositions * channels);
  kernels::grid_sample::Args args;
  args.mode = mode;
  args.positions = kPositions;
  args.height = args.width = kSide;
  args.channels = channels;
  args.image = image.data();
  args.pixel_stride = static_cast<std::ptrdiff_t>(channels);
  args.grid = grid.data();
  args.out = out.data();
  for (auto _ : state) kernel.run(args);
  count_bytes(state, 4.0 * kPositions * static_cast<double>(channels) * (kTaps[static_cast<int>(mode)] + 1));
}

void add_grid_sample(const kernels::grid_sample::Kernel& kernel) {
  using kernels::grid_sample::Mode;
  for (const auto& [name, mode] :
       {std::pair("nearest", Mode::nearest), {"linear", Mode::linear}, {"cubic", Mode::cubic}})
    for (const std::size_t channels : {3u, 64u})
      add(std::string("grid_sample/") + name + "/64x64x" + std::to_string(channels), kernel,
          [=, how = mode](benchmark::State& state) { run_grid_sample(state, kernel, how, channels); });
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const auto& kernel : kernels::typed::table()) add_typed(kernel);
  for (const auto& kernel : kernels::typed_product::table()) add_typed_product(kernel);
  for (const auto& kernel : kernels::vector_product::table()) add_vector_product(kernel);
  for (const auto& kernel : kernels::convert::table()) add_convert(kernel);
  for (const auto& kernel : kernels::recurrent::table()) add_recurrent(kernel);
  for (const auto& kernel : kernels::grid_sample::table()) add_grid_sample(kernel);
  return true;
}();

}  // namespace
}  // namespace colonnade::bench
