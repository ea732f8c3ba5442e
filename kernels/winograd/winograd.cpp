// SPDX-License-Identifier: Apache-2.0
#include "kernels/winograd/winograd.hpp"

#include "kernels/base/table.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/winograd/blocks.hpp"
#include "kernels/winograd/evaluate.hpp"

namespace colonnade::kernels::winograd {
namespace {

/// result[i][j] = G filter G^T, of a panel of filters side by side.
template <std::size_t kTaps>
void transform_filters(const Factors& factors, std::size_t side, const Lanes (&filter)[kMostTaps][kMostTaps],
                       Lanes (&result)[kMostInputs][kMostInputs]) {
  Lanes half[kMostInputs][kMostTaps];
  for (std::size_t j = 0; j < kTaps; ++j)
    evaluate<kTaps>(factors, side, &filter[0][j], kMostTaps, &half[0][j], kMostTaps);
  for (std::size_t i = 0; i < side; ++i) evaluate<kTaps>(factors, side, half[i], 1, result[i], 1);
}

using Transform = decltype(&transform_filters<2>);

Transform transform_of(std::size_t taps) {
  constexpr Transform kTransforms[] = {transform_filters<2>, transform_filters<3>, transform_filters<4>,
                                       transform_filters<5>};
  return kTransforms[taps - 2];
}

}  // namespace

std::span<const Kernel> table() noexcept { return table_of<Kernel, tier::amx>(); }

const Kernel& select(Features features, Encoding encoding, Tile tile) noexcept {
  const Kernel* kernel = table().data();
  while (!features.contains(kernel->isa) || kernel->encoding != encoding || !(kernel->tile == tile)) ++kernel;
  return *kernel;
}

std::size_t packed_floats(Encoding encoding, Tile tile, std::size_t channels_in, std::size_t channels_out) noexcept {
  return tile.matrices() * gemm::packed_floats(encoding, channels_in, channels_out);
}

void pack(Tile tile, Filter form, const float* weights, std::size_t channels_in, std::size_t first, std::size_t count,
          float* packed) noexcept {
  const std::size_t matrices = tile.matrices(), side = tile.inputs(), taps = tile.taps, parts = form.parts();
  const std::size_t channels = form.channels(channels_in), elements = form.kernel * form.kernel;
  const Transform transform_filters = transform_of(taps);
  const Factors factors(side, taps);
  const auto element = [&](std::size_t tap, std::size_t part) { return form.stride * tap + form.step() * part; };
  for (std::size_t panel = first; panel < first + count; panel += kLine) {
    const std::size_t left = first + count - panel;
    const std::size_t lanes = left < kLine ? left : kLine;
    for (std::size_t channel = 0; channel < channels; ++channel) {
      Lanes filter[kMostTaps][kMostTaps] = {}, u[kMostInputs][kMostInputs];
      const std::size_t part = channel / channels_in;
      for (std::size_t tap = 0; tap < taps * taps; ++tap) {
        const std::size_t y = element(tap / taps, part / parts), x = element(tap % taps, part % parts);
        if (y >= form.kernel || x >= form.kernel) continue;
        for (std::size_t lane = 0; lane < lanes; ++lane)
          filter[tap / taps][tap % taps][lane] = static_cast<double>(
              weights[((panel - first + lane) * channels_in + channel % channels_in) * elements + y * form.kernel + x]);
      }
      transform_filters(factors, side, filter, u);
      float* to = packed + panel * matrices * channels + channel * kLine;
      for (std::size_t m = 0; m < matrices; ++m, to += channels * kLine)
        for (std::size_t lane = 0; lane < kLine; ++lane) to[lane] = static_cast<float>(u[m / side][m % side][lane]);
    }
  }
}

void pack_pieces(Tile tile, Filter filter, const float* weights, std::size_t channels_in, std::size_t first,
                 std::size_t count, float* whole, float* packed) noexcept {
  const std::size_t channels = filter.channels(channels_in), floats = gemm::panel_floats(Encoding::bf16x3, channels);
  for (std::size_t panel = first; panel < first + count; panel += kLine) {
    const std::size_t left = first + count - panel;
    pack(tile, filter, weights + (panel - first) * channels_in * filter.kernel * filter.kernel, channels_in, 0,
         left < kLine ? left : kLine, whole);
    for (std::size_t m = 0; m < tile.matrices(); ++m)
      gemm::cut_pieces(whole + m * channels * kLine, channels, packed + (panel / kLine * tile.matrices() + m) * floats);
  }
}

Work work(Encoding encoding, Tile tile, std::size_t rows, std::size_t width, std::size_t channels_in,
          std::size_t channels_out, bool far_weights) noexcept {
  // Operations on a tile of one channel, as transform.hpp writes them; outputs with bias and activation.
  const std::size_t side = tile.outputs, points = tile.inputs();
  const double input_operations = points == 8 ? 16 * 26 : points == 6 ? 12 * 14 : 8 * 4;
  const double row_operations = points == 8   ? 8 + 2.0 * static_cast<double>(side)
                                : points == 6 ? 4 + 2.0 * static_cast<double>(side)
                                              : 2.0 * static_cast<double>(side);
  const double output_operations =
      static_cast<double>(points + side) * row_operations + 2 * static_cast<double>(side * side);
  const std::size_t tiles = ((rows + side - 1) / side) * ((width + side - 1) / side);
  const std::size_t most = block_tiles(encoding, tile, channels_in, channels_out, far_weights);
  const auto inputs = static_cast<double>(round_to_lines(channels_in));
  const auto outputs = static_cast<double>(round_to_lines(channels_out));
  const auto count = static_cast<double>(tiles);
  const auto weights = static_cast<double>(packed_floats(Encoding::f32, tile, channels_in, channels_out));
  const auto blocks = static_cast<double>((channels_out + kBlockFloats - 1) / kBlockFloats);
  return {2 * count * weights,
          2 * count * (input_operations * inputs + output_operations * outputs),
          count * static_cast<double>(tile.matrices()) * inputs,
          count * static_cast<double>(tile.matrices()) * inputs * blocks,
          weights * static_cast<double>((tiles + most - 1) / most),
          weights + static_cast<double>(tile.matrices() * most) * inputs};
}

std::size_t workspace_floats(Encoding encoding, Tile tile, std::size_t channels_in, std::size_t channels_out,
                             bool far_weights) noexcept {
  // Of fewer channels more tiles may pass together.
  std::size_t most = layout_of(encoding, tile, channels_in, channels_out, far_weights).floats();
  for (std::size_t fewer = 1; fewer < channels_out && fewer < kBlockFloats; ++fewer) {
    const std::size_t floats = layout_of(encoding, tile, channels_in, fewer, far_weights).floats();
    if (floats > most) most = floats;
  }
  return most;
}

}  // namespace colonnade::kernels::winograd
