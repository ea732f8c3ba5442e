// SPDX-License-Identifier: Apache-2.0
#include "kernels/winograd/winograd.hpp"

#include <algorithm>

#include "kernels/winograd/tiers.hpp"

namespace colonnade::kernels::winograd {
namespace {

constinit const Kernel kTable[] = {
#if defined(__x86_64__)
    {"winograd_f32_4x4_avx512", Isa::avx512, convolve_avx512},
    {"winograd_f32_4x4_avx2", Isa::avx2, convolve_avx2},
#endif
    {"winograd_f32_4x4_baseline", Isa::baseline, convolve_baseline},
};

constexpr std::size_t kPanel = 16;
constexpr std::size_t kTaps = 3;
constexpr double kRoot2 = 1.4142135623730950488;

// Row i evaluates a filter at point i: 0, 1 / sqrt 2, -1 / sqrt 2, sqrt 2, -sqrt 2, infinity, scaled.
constexpr double kFilterTransform[kInputTile][kTaps] = {
    {1, 0, 0},
    {-2.0 / 3, -kRoot2 / 3, -1.0 / 3},
    {-2.0 / 3, kRoot2 / 3, -1.0 / 3},
    {1.0 / 6, kRoot2 / 6, 1.0 / 3},
    {1.0 / 6, -kRoot2 / 6, 1.0 / 3},
    {0, 0, 1},
};

using Lanes = double[kPanel];

/// result[i][j] = G filter G^T, of a panel of filters side by side.
void transform_filters(const Lanes (&filter)[kTaps][kTaps], Lanes (&result)[kInputTile][kInputTile]) {
  Lanes half[kInputTile][kTaps] = {};
  for (std::size_t i = 0; i < kInputTile; ++i)
    for (std::size_t j = 0; j < kTaps; ++j)
      for (std::size_t t = 0; t < kTaps; ++t)
        for (std::size_t lane = 0; lane < kPanel; ++lane)
          half[i][j][lane] += kFilterTransform[i][t] * filter[t][j][lane];
  for (std::size_t i = 0; i < kInputTile; ++i)
    for (std::size_t j = 0; j < kInputTile; ++j) {
      for (std::size_t lane = 0; lane < kPanel; ++lane) result[i][j][lane] = 0;
      for (std::size_t t = 0; t < kTaps; ++t)
        for (std::size_t lane = 0; lane < kPanel; ++lane)
          result[i][j][lane] += half[i][t][lane] * kFilterTransform[j][t];
    }
}

}  // namespace

std::span<const Kernel> table() noexcept { return kTable; }

const Kernel& select(Isa isa) noexcept {
  const Kernel* kernel = kTable;
  while (kernel->isa > isa) ++kernel;
  return *kernel;
}

std::size_t packed_floats(std::size_t channels_in, std::size_t channels_out) noexcept {
  return kMatrices * channels_in * ((channels_out + kPanel - 1) / kPanel * kPanel);
}

void pack(const float* weights, std::size_t channels_in, std::size_t channels_out, std::size_t first, std::size_t count,
          float* packed) noexcept {
  const std::size_t padded = (channels_out + kPanel - 1) / kPanel * kPanel;
  for (std::size_t panel = first; panel < first + count; panel += kPanel) {
    const std::size_t lanes = std::min(kPanel, first + count - panel);
    for (std::size_t ci = 0; ci < channels_in; ++ci) {
      Lanes filter[kTaps][kTaps] = {}, u[kInputTile][kInputTile];
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const float* from = weights + ((panel - first + lane) * channels_in + ci) * kTaps * kTaps;
        for (std::size_t tap = 0; tap < kTaps * kTaps; ++tap)
          filter[tap / kTaps][tap % kTaps][lane] = static_cast<double>(from[tap]);
      }
      transform_filters(filter, u);
      float* to = packed + panel * channels_in + ci * kPanel;
      for (std::size_t matrix = 0; matrix < kMatrices; ++matrix, to += channels_in * padded)
        std::transform(u[matrix / kInputTile][matrix % kInputTile],
                       u[matrix / kInputTile][matrix % kInputTile] + kPanel, to,
                       [](double x) { return static_cast<float>(x); });
    }
  }
}

std::size_t workspace_floats(std::size_t channels_in, std::size_t channels_out) noexcept {
  const std::size_t tiles = block_tiles(channels_in, channels_out);
  return kMatrices * (planes_of(channels_in, tiles).plane + planes_of(channels_out, tiles).plane);
}

}  // namespace colonnade::kernels::winograd
