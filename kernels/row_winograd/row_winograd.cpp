// SPDX-License-Identifier: Apache-2.0
#include "kernels/row_winograd/row_winograd.hpp"

#include "kernels/base/table.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/row_winograd/blocks.hpp"
#include "kernels/winograd/evaluate.hpp"

namespace colonnade::kernels::row_winograd {
namespace {

using winograd::kLine, winograd::kMostInputs, winograd::kMostTaps;

using Evaluate = decltype(&winograd::evaluate<2>);

Evaluate evaluate_of(std::size_t taps) {
  constexpr Evaluate kEvaluate[] = {winograd::evaluate<2>, winograd::evaluate<3>, winograd::evaluate<4>,
                                    winograd::evaluate<5>};
  return kEvaluate[taps - 2];
}

}  // namespace

std::span<const Kernel> table() noexcept { return table_of<Kernel>(); }

const Kernel& select(Features features, Tile tile) noexcept {
  const Kernel* kernel = table().data();
  while (!features.contains(kernel->isa) || !(kernel->tile == tile)) ++kernel;
  return *kernel;
}

std::size_t packed_floats(Tile tile, const Filter& filter, std::size_t channels_in, std::size_t channels_out) noexcept {
  return tile.inputs() * gemm::packed_floats(Encoding::f32, filter.terms(tile, channels_in), channels_out);
}

void pack(Tile tile, const Filter& filter, const float* weights, std::size_t channels_in, std::size_t first,
          std::size_t count, float* packed) noexcept {
  const std::size_t points = tile.inputs(), parts = filter.parts(tile), terms = filter.terms(tile, channels_in);
  const std::size_t elements = filter.height * filter.width;
  const winograd::Factors factors(points, tile.taps);
  const Evaluate evaluate = evaluate_of(tile.taps);
  for (std::size_t panel = first; panel < first + count; panel += kLine) {
    const std::size_t left = first + count - panel, lanes = left < kLine ? left : kLine;
    for (std::size_t term = 0; term < terms; ++term) {
      winograd::Lanes taps[kMostTaps] = {}, values[kMostInputs];
      const std::size_t channel = term % channels_in, y = term / channels_in / parts;
      const std::size_t begin = term / channels_in % parts * tile.taps;
      const float* from = weights + ((panel - first) * channels_in + channel) * elements + y * filter.width + begin;
      for (std::size_t tap = 0; tap < tile.taps && begin + tap < filter.width; ++tap)
        for (std::size_t lane = 0; lane < lanes; ++lane)
          taps[tap][lane] = static_cast<double>(from[lane * channels_in * elements + tap]);
      evaluate(factors, points, taps, 1, values, 1);
      float* to = packed + panel * points * terms + term * kLine;
      for (std::size_t i = 0; i < points; ++i, to += terms * kLine)
        for (std::size_t lane = 0; lane < kLine; ++lane) to[lane] = static_cast<float>(values[i][lane]);
    }
  }
}

Work work(Tile tile, const Filter& filter, std::size_t rows, std::size_t width, std::size_t channels_in,
          std::size_t channels_out) noexcept {
  // Operations on a tile of one channel: arithmetic, and what passes while points and pixels are read and written.
  const std::size_t points = tile.inputs(), terms = filter.terms(tile, channels_in);
  const auto of_points = static_cast<double>(points), of_pixels = static_cast<double>(tile.outputs);
  const double input_operations = (points == 8 ? 26 : 14) + 5 * of_points;
  const double output_operations = (points == 8 ? 8 : 4) + 4 * of_points + 6 * of_pixels;
  const std::size_t tiles = rows * winograd::tiles_across(tile.outputs, filter.dilation, width);
  const std::size_t most = block_tiles(tile, terms);
  const auto count = static_cast<double>(tiles),
             weights = static_cast<double>(packed_floats(tile, filter, channels_in, channels_out));
  return {2 * count * weights,
          2 * count *
              (input_operations * static_cast<double>(winograd::round_to_lines(terms)) +
               output_operations * static_cast<double>(winograd::round_to_lines(channels_out))),
          weights * static_cast<double>((tiles + most - 1) / most)};
}

std::size_t workspace_floats(Tile tile, const Filter& filter, std::size_t channels_in,
                             std::size_t channels_out) noexcept {
  return layout_of(tile, filter, channels_in, channels_out).floats;
}

}  // namespace colonnade::kernels::row_winograd
