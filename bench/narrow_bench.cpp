// SPDX-License-Identifier: Apache-2.0
// Every row of the tables of the narrow and narrow_bytes kernels: one row and many, times panels that L2 holds, in
// blocks of 32. Operations are those of the product, two a term.
#include <string>
#include <vector>

#include "bench/buffers.hpp"
#include "bench/rows.hpp"
#include "kernels/narrow/narrow.hpp"
#include "kernels/narrow_bytes/narrow_bytes.hpp"

namespace colonnade::bench {
namespace {

using kernels::narrow::Format;
using kernels::narrow::kOutputs;

constexpr std::size_t kDepth = 896, kPanels = 4;

/// Panels of zeros, whose products take as long as others.
struct Panels {
  Format format;
  Floats bytes;

  explicit Panels(kernels::narrow::Type type)
      : format{.type = type, .k = kDepth, .block = is_scaled(type) ? 32 : kDepth},
        bytes(kPanels * format.panel_bytes() / sizeof(float)) {
    std::fill_n(bytes.data(), kPanels * format.panel_bytes() / sizeof(float), 0.0f);
  }
  const std::byte* panel(std::size_t i) const {
    return reinterpret_cast<const std::byte*>(bytes.data()) + i * format.panel_bytes();
  }
};

/// Calls `multiply` with each panel and the sums of its rows.
template <class Multiply>
void run_panels(benchmark::State& state, const Panels& panels, std::size_t rows, Multiply multiply) {
  const Floats sums(rows * kOutputs);
  for (auto _ : state)
    for (std::size_t i = 0; i < kPanels; ++i) multiply(panels.panel(i), sums.data());
  const auto terms = static_cast<double>(rows * kDepth * kOutputs * kPanels);
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * terms, benchmark::Counter::kIsIterationInvariantRate);
}

void run_vector(benchmark::State& state, const kernels::narrow::Kernel& kernel) {
  const Panels panels(kernel.type);
  const Floats x(kDepth), prepared(panels.format.prepared_floats());
  kernel.prepare({panels.format, x.data(), prepared.data()});
  run_panels(state, panels, 1, [&](const std::byte* panel, float* sums) {
    kernel.multiply({panels.format, panel, 1, prepared.data(), sums});
  });
}

void run_rows(benchmark::State& state, const kernels::narrow::Kernel& kernel) {
  const Panels panels(kernel.type);
  const Floats x(kernels::narrow::kMostRows * kDepth);
  run_panels(state, panels, kernels::narrow::kMostRows, [&](const std::byte* panel, float* sums) {
    kernel.multiply_rows({panels.format, panel, kernels::narrow::kMostRows, x.data(), kDepth, sums});
  });
}

void run_bytes(benchmark::State& state, const kernels::narrow_bytes::Kernel& kernel, std::size_t rows) {
  const Panels panels(kernel.type);
  const Floats x(rows * kDepth);
  std::vector<std::byte> prepared(kernels::narrow_bytes::prepared_bytes(panels.format, rows));
  kernel.prepare({panels.format, rows, x.data(), kDepth, prepared.data()});
  run_panels(state, panels, rows, [&](const std::byte* panel, float* sums) {
    kernel.multiply({panels.format, rows, panel, prepared.data(), sums});
  });
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const auto& kernel : kernels::narrow::table()) {
    add("narrow/1", kernel, [=](benchmark::State& state) { run_vector(state, kernel); });
    add("narrow/8", kernel, [=](benchmark::State& state) { run_rows(state, kernel); });
  }
  for (const auto& kernel : kernels::narrow_bytes::table())
    for (const std::size_t rows : {1u, 8u, 32u})
      add("narrow_bytes/" + std::to_string(rows), kernel,
          [=](benchmark::State& state) { run_bytes(state, kernel, rows); });
  return true;
}();

}  // namespace
}  // namespace colonnade::bench
