// SPDX-License-Identifier: Apache-2.0
// Every row of the table of the linear_attention kernels: a block of columns of a head of 128 by one token and by many,
// eight operations a token on each element of the state.
#include <string>
#include <vector>

#include "bench/buffers.hpp"
#include "bench/rows.hpp"
#include "kernels/linear_attention/linear_attention.hpp"

namespace colonnade::bench {
namespace {

void run_block(benchmark::State& state, const kernels::linear_attention::Kernel& kernel, std::size_t tokens) {
  constexpr std::size_t kKeys = 128;
  const Floats query(tokens * kKeys), key(tokens * kKeys), value(tokens * kernel.columns),
      before(kKeys * kernel.columns), after(kKeys * kernel.columns), out(tokens * kernel.columns),
      work(kernel.work_floats(kKeys));
  const std::vector<float> fade(tokens, 0.5f), rate(tokens, 0.01f);
  kernels::linear_attention::Args args;
  args.tokens = tokens;
  args.keys = kKeys;
  args.columns = kernel.columns;
  args.query = query.data();
  args.key = key.data();
  args.query_stride = args.key_stride = kKeys;
  args.value = value.data();
  args.value_stride = args.state_stride = args.out_stride = static_cast<std::ptrdiff_t>(kernel.columns);
  args.fade = fade.data();
  args.rate = rate.data();
  args.fade_stride = args.rate_stride = 1;
  args.before = before.data();
  args.state = after.data();
  args.out = out.data();
  args.work = work.data();
  for (auto _ : state) kernel.run(args);
  const auto operations = static_cast<double>(8 * tokens * kKeys * kernel.columns);
  state.counters["GFLOP/s"] = benchmark::Counter(1e-9 * operations, benchmark::Counter::kIsIterationInvariantRate);
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const auto& kernel : kernels::linear_attention::table())
    for (const std::size_t tokens : {1u, 64u})
      add("linear_attention/" + std::to_string(tokens), kernel,
          [=](benchmark::State& state) { run_block(state, kernel, tokens); });
  return true;
}();

}  // namespace
}  // namespace colonnade::bench
