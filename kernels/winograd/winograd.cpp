// SPDX-License-Identifier: Apache-2.0
#include "kernels/winograd/winograd.hpp"

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

/// result[i][j] = G filter G^T.
void transform_filter(const float* filter, float result[kInputTile][kInputTile]) {
  double half[kInputTile][kTaps];
  for (std::size_t i = 0; i < kInputTile; ++i) {
    for (std::size_t j = 0; j < kTaps; ++j) {
      half[i][j] = 0;
      for (std::size_t t = 0; t < kTaps; ++t) {
        half[i][j] += kFilterTransform[i][t] * static_cast<double>(filter[t * kTaps + j]);
      }
    }
  }
  for (std::size_t i = 0; i < kInputTile; ++i) {
    for (std::size_t j = 0; j < kInputTile; ++j) {
      double sum = 0;
      for (std::size_t t = 0; t < kTaps; ++t) sum += half[i][t] * kFilterTransform[j][t];
      result[i][j] = static_cast<float>(sum);
    }
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

void pack(const float* weights, std::size_t channels_in, std::size_t channels_out, float* packed) noexcept {
  const std::size_t padded = (channels_out + kPanel - 1) / kPanel * kPanel;
  for (std::size_t co = 0; co < padded; ++co) {
    for (std::size_t ci = 0; ci < channels_in; ++ci) {
      float u[kInputTile][kInputTile] = {};
      if (co < channels_out) transform_filter(weights + (co * channels_in + ci) * kTaps * kTaps, u);
      float* to = packed + (co / kPanel * channels_in + ci) * kPanel + co % kPanel;
      for (std::size_t matrix = 0; matrix < kMatrices; ++matrix) {
        to[matrix * channels_in * padded] = u[matrix / kInputTile][matrix % kInputTile];
      }
    }
  }
}

std::size_t workspace_floats(std::size_t channels_in, std::size_t channels_out) noexcept {
  const std::size_t tiles = block_tiles(channels_in, channels_out);
  return kMatrices * (planes_of(channels_in, tiles).plane + planes_of(channels_out, tiles).plane);
}

}  // namespace colonnade::kernels::winograd
