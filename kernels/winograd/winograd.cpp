// SPDX-License-Identifier: Apache-2.0
#include "kernels/winograd/winograd.hpp"

#include "kernels/gemm/gemm.hpp"
#include "kernels/winograd/tiers.hpp"

namespace colonnade::kernels::winograd {
namespace {

constinit const Kernel kTable[] = {
#if defined(__x86_64__)
    {"winograd_f32_6x6_bf16x6_amx", Isa::amx, 6, true, convolve_6x6_amx},
    {"winograd_f32_4x4_bf16x6_amx", Isa::amx, 4, true, convolve_4x4_amx},
    {"winograd_f32_2x2_bf16x6_amx", Isa::amx, 2, true, convolve_2x2_amx},
    {"winograd_f32_6x6_avx512", Isa::avx512, 6, false, convolve_6x6_avx512},
    {"winograd_f32_4x4_avx512", Isa::avx512, 4, false, convolve_4x4_avx512},
    {"winograd_f32_2x2_avx512", Isa::avx512, 2, false, convolve_2x2_avx512},
    {"winograd_f32_6x6_avx2", Isa::avx2, 6, false, convolve_6x6_avx2},
    {"winograd_f32_4x4_avx2", Isa::avx2, 4, false, convolve_4x4_avx2},
    {"winograd_f32_2x2_avx2", Isa::avx2, 2, false, convolve_2x2_avx2},
#endif
    {"winograd_f32_6x6_baseline", Isa::baseline, 6, false, convolve_6x6_baseline},
    {"winograd_f32_4x4_baseline", Isa::baseline, 4, false, convolve_4x4_baseline},
    {"winograd_f32_2x2_baseline", Isa::baseline, 2, false, convolve_2x2_baseline},
};

constexpr std::size_t kTaps = 3;
constexpr std::size_t kMostInputs = 8;
constexpr double kRoot2 = 1.4142135623730950488;
using FilterTransform = double[kTaps];

// Row i evaluates a filter at point i, scaled: 0, 1, -1, 2, -2, 1/2, -1/2, infinity.
constexpr FilterTransform kSixBySix[] = {
    {1, 0, 0},
    {-2.0 / 9, -2.0 / 9, -2.0 / 9},
    {-2.0 / 9, 2.0 / 9, -2.0 / 9},
    {1.0 / 90, 1.0 / 45, 2.0 / 45},
    {1.0 / 90, -1.0 / 45, 2.0 / 45},
    {32.0 / 45, 16.0 / 45, 8.0 / 45},
    {32.0 / 45, -16.0 / 45, 8.0 / 45},
    {0, 0, 1},
};
// The points 0, 1 / sqrt 2, -1 / sqrt 2, sqrt 2, -sqrt 2, infinity.
constexpr FilterTransform kFourByFour[] = {
    {1, 0, 0},
    {-2.0 / 3, -kRoot2 / 3, -1.0 / 3},
    {-2.0 / 3, kRoot2 / 3, -1.0 / 3},
    {1.0 / 6, kRoot2 / 6, 1.0 / 3},
    {1.0 / 6, -kRoot2 / 6, 1.0 / 3},
    {0, 0, 1},
};
// The points 0, 1, -1, infinity.
constexpr FilterTransform kTwoByTwo[] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};

using Lanes = double[kLine];

/// result[i][j] = G filter G^T, of a panel of filters side by side.
void transform_filters(std::size_t tile, const Lanes (&filter)[kTaps][kTaps],
                       Lanes (&result)[kMostInputs][kMostInputs]) {
  const FilterTransform* transform = tile == 6 ? kSixBySix : tile == 4 ? kFourByFour : kTwoByTwo;
  const std::size_t side = tile + 2;
  Lanes half[kMostInputs][kTaps] = {};
  for (std::size_t i = 0; i < side; ++i)
    for (std::size_t j = 0; j < kTaps; ++j)
      for (std::size_t t = 0; t < kTaps; ++t)
        for (std::size_t lane = 0; lane < kLine; ++lane) half[i][j][lane] += transform[i][t] * filter[t][j][lane];
  for (std::size_t i = 0; i < side; ++i)
    for (std::size_t j = 0; j < side; ++j) {
      for (std::size_t lane = 0; lane < kLine; ++lane) result[i][j][lane] = 0;
      for (std::size_t t = 0; t < kTaps; ++t)
        for (std::size_t lane = 0; lane < kLine; ++lane) result[i][j][lane] += half[i][t][lane] * transform[j][t];
    }
}

}  // namespace

std::span<const Kernel> table() noexcept { return kTable; }

const Kernel& select(Isa isa, std::size_t tile) noexcept {
  const Kernel* kernel = kTable;
  while (kernel->isa > isa || kernel->tile != tile) ++kernel;
  return *kernel;
}

std::size_t packed_floats(bool pieces, std::size_t tile, std::size_t channels_in, std::size_t channels_out) noexcept {
  return matrices_of(tile) * gemm::packed_floats(pieces, channels_in, channels_out);
}

void pack(std::size_t tile, const float* weights, std::size_t channels_in, std::size_t first, std::size_t count,
          float* packed) noexcept {
  const std::size_t matrices = matrices_of(tile), side = tile + 2;
  for (std::size_t panel = first; panel < first + count; panel += kLine) {
    const std::size_t left = first + count - panel;
    const std::size_t lanes = left < kLine ? left : kLine;
    for (std::size_t ci = 0; ci < channels_in; ++ci) {
      Lanes filter[kTaps][kTaps] = {}, u[kMostInputs][kMostInputs];
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const float* from = weights + ((panel - first + lane) * channels_in + ci) * kTaps * kTaps;
        for (std::size_t tap = 0; tap < kTaps * kTaps; ++tap)
          filter[tap / kTaps][tap % kTaps][lane] = static_cast<double>(from[tap]);
      }
      transform_filters(tile, filter, u);
      float* to = packed + panel * matrices * channels_in + ci * kLine;
      for (std::size_t m = 0; m < matrices; ++m, to += channels_in * kLine)
        for (std::size_t lane = 0; lane < kLine; ++lane) to[lane] = static_cast<float>(u[m / side][m % side][lane]);
    }
  }
}

void pack_pieces(std::size_t tile, const float* weights, std::size_t channels_in, std::size_t first, std::size_t count,
                 float* whole, float* packed) noexcept {
  const std::size_t floats = gemm::panel_floats(true, channels_in);
  for (std::size_t panel = first; panel < first + count; panel += kLine) {
    const std::size_t left = first + count - panel;
    pack(tile, weights + (panel - first) * channels_in * kTaps * kTaps, channels_in, 0, left < kLine ? left : kLine,
         whole);
    for (std::size_t m = 0; m < matrices_of(tile); ++m)
      gemm::cut_pieces(whole + m * channels_in * kLine, channels_in,
                       packed + (panel / kLine * matrices_of(tile) + m) * floats);
  }
}

Work work(bool pieces, std::size_t tile, std::size_t rows, std::size_t width, std::size_t channels_in,
          std::size_t channels_out) noexcept {
  // Operations on a tile of one channel, as transform.hpp writes them; outputs with bias and activation.
  const double input_operations = tile == 6 ? 16 * 26 : tile == 4 ? 12 * 14 : 8 * 4;
  const double output_operations = tile == 6 ? 14 * 20 + 2 * 36 : tile == 4 ? 10 * 12 + 2 * 16 : 6 * 4 + 2 * 4;
  const std::size_t tiles = ((rows + tile - 1) / tile) * ((width + tile - 1) / tile);
  const std::size_t most = block_tiles(pieces, tile, channels_in, channels_out);
  const auto inputs = static_cast<double>(round_to_lines(channels_in));
  const auto outputs = static_cast<double>(round_to_lines(channels_out));
  const auto count = static_cast<double>(tiles);
  const auto weights = static_cast<double>(packed_floats(false, tile, channels_in, channels_out));
  const auto blocks = static_cast<double>((channels_out + kBlockFloats - 1) / kBlockFloats);
  return {2 * count * weights, 2 * count * (input_operations * inputs + output_operations * outputs),
          count * static_cast<double>(matrices_of(tile)) * inputs * blocks,
          weights * static_cast<double>((tiles + most - 1) / most),
          weights + static_cast<double>(matrices_of(tile) * most) * inputs};
}

std::size_t workspace_floats(bool pieces, std::size_t tile, std::size_t channels_in,
                             std::size_t channels_out) noexcept {
  return layout_of(pieces, tile, channels_in, channels_out).floats();
}

}  // namespace colonnade::kernels::winograd
