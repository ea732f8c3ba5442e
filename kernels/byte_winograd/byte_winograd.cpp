// SPDX-License-Identifier: Apache-2.0
#include "kernels/byte_winograd/byte_winograd.hpp"

#include <cstring>

#include "kernels/base/table.hpp"
#include "kernels/byte_winograd/layout.hpp"

namespace colonnade::kernels::byte_winograd {
namespace {

int size_of(int weight) { return weight < 0 ? -weight : weight; }

/// to = G from at points 0, 1, -1, 2, -2 and infinity, times 24, -6, 6, 24, 24 and 6.
void evaluate(const int* from, std::size_t from_step, int* to, std::size_t to_step) {
  const int first = from[0], second = from[from_step], third = from[2 * from_step];
  const int values[kInputTile] = {6 * first,
                                  -(first + second + third),
                                  -(first - second + third),
                                  first + 2 * second + 4 * third,
                                  first - 2 * second + 4 * third,
                                  6 * third};
  for (std::size_t i = 0; i < kInputTile; ++i) to[i * to_step] = values[i];
}

/// The transformed filter whose taps lie `apart`.
void evaluate_filter(const std::int16_t* taps, std::size_t apart, int (&to)[kMatrices]) {
  int filter[kTaps * kTaps], half[kInputTile * kTaps];
  for (std::size_t t = 0; t < kTaps * kTaps; ++t) filter[t] = taps[t * apart];
  for (std::size_t j = 0; j < kTaps; ++j) evaluate(filter + j, kTaps, half + j, kTaps);
  for (std::size_t i = 0; i < kInputTile; ++i) evaluate(half + i * kTaps, 1, to + i * kInputTile, 1);
}

}  // namespace

std::span<const Kernel> table() noexcept { return table_of<Kernel, tier::vnni, tier::avxvnni>(); }

const Kernel& select(Features features) noexcept { return first_for(table(), features); }

void pack(const std::int16_t* source, std::size_t channels_in, std::size_t n, std::byte* packed) noexcept {
  const std::size_t pairs = (channels_in + 1) / 2, filter = kTaps * kTaps * channels_in;
  std::memset(packed, 0, packed_bytes(channels_in, n));
  for (std::size_t output = 0; output < n; ++output) {
    std::byte* const panel = packed + output / kPanel * panel_bytes(channels_in);
    const std::int16_t* const weights = source + output * filter;
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < filter; ++i) sum += weights[i];
    std::memcpy(panel + output % kPanel * sizeof sum, &sum, sizeof sum);
    auto* const matrices = reinterpret_cast<std::int16_t*>(panel + kPanel * sizeof sum);
    for (std::size_t channel = 0; channel < channels_in; ++channel) {
      int values[kMatrices];
      evaluate_filter(weights + channel, channels_in, values);
      for (std::size_t m = 0; m < kMatrices; ++m)
        matrices[((m * pairs + channel / 2) * kPanel + output % kPanel) * 2 + channel % 2] =
            static_cast<std::int16_t>(values[m]);
    }
  }
}

std::size_t parts_of(const std::int16_t* source, std::size_t channels_in, std::size_t n) noexcept {
  const auto suffice = [&](std::size_t parts) {
    const std::size_t channels = part_channels(channels_in, parts);
    for (std::size_t output = 0; output < n; ++output)
      for (std::size_t begin = 0; begin < channels_in; begin += channels) {
        std::int64_t size = 0;
        for (std::size_t tap = 0; tap < kTaps * kTaps; ++tap)
          for (std::size_t i = begin; i < begin + channels && i < channels_in; ++i)
            size += size_of(source[(output * kTaps * kTaps + tap) * channels_in + i]);
        if (size >= kPartWeights) return false;
      }
    return true;
  };
  std::size_t parts = 1;
  while (parts < most_parts(channels_in) && !suffice(parts)) ++parts;
  return parts;
}

Work work(std::size_t rows, std::size_t width, std::size_t channels_in, std::size_t channels_out) noexcept {
  // Instructions of transform.hpp on a tile of a channel, in vectors of 32 bits: twice six lines of 16 bits with loads
  // and stores, six and four lines of sums likewise, and what makes bytes of them.
  constexpr double kEvaluate = (12 * 17 + 72) / 2.0, kInterpolate = 10 * 13 + 84 + 16 * 10;
  const std::size_t tiles = ((rows + kTile - 1) / kTile) * ((width + kTile - 1) / kTile);
  constexpr std::size_t kVector = 16;  // transforms are of whole vectors
  const auto count = static_cast<double>(tiles), in = static_cast<double>(channels_in);
  const auto out = static_cast<double>(round_up(channels_out, kPanel));
  const std::size_t most = block_tiles(channels_in, channels_out);
  const auto lanes = static_cast<double>(round_up(channels_in, kVector));
  const double weights = kMatrices * in * out;
  return {count * weights, count * kEvaluate * lanes, count * kInterpolate * out,
          weights * static_cast<double>((tiles + most - 1) / most)};
}

std::size_t workspace_bytes(std::size_t channels_in, std::size_t channels_out) noexcept {
  // Of fewer channels more tiles may pass together.
  std::size_t most = 0;
  for (std::size_t block = kPanel; block <= block_channels(channels_out); block += kPanel) {
    const std::size_t bytes = layout_of(channels_in, block).bytes;
    if (bytes > most) most = bytes;
  }
  return most;
}

}  // namespace colonnade::kernels::byte_winograd
