// SPDX-License-Identifier: Apache-2.0
#include "weights.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace colonnade::quantize {
namespace {

constexpr float kLargest = 127;

/// A tensor as [outer, channels, inner] about one of its axes; all of it is one channel for axis -1.
struct Slices {
  std::size_t outer = 1, channels = 1, inner = 1;
  std::size_t channel(std::size_t element) const { return element / inner % channels; }
};

Slices slices_of(const Shape& shape, int axis) {
  Slices slices;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto size = static_cast<std::size_t>(shape[d]);
    if (axis < 0 || static_cast<int>(d) > axis)
      slices.inner *= size;
    else
      (static_cast<int>(d) == axis ? slices.channels : slices.outer) *= size;
  }
  return slices;
}

}  // namespace

ByteWeights bytes_of_weights(const Tensor& weights, const Product& product, std::span<const float> least) {
  const bool shared = product.output_axis == 1 && product.input_axis == 0 && product.groups > 1;
  ByteWeights bytes{Tensor(DType::i8, weights.shape()), {}, shared ? -1 : product.output_axis};
  const Slices slices = slices_of(weights.shape(), bytes.axis);
  const auto values = weights.values<float>();
  bytes.scales.assign(slices.channels, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    float& largest = bytes.scales[slices.channel(i)];
    largest = std::max(largest, std::abs(values[i]));
  }
  for (std::size_t c = 0; c < bytes.scales.size(); ++c) {
    float wanted = least.empty() || shared ? 0 : least[c];
    if (shared && !least.empty()) wanted = *std::max_element(least.begin(), least.end());
    bytes.scales[c] = std::max(bytes.scales[c] / kLargest, wanted);
    if (!(bytes.scales[c] > 1e-30F)) bytes.scales[c] = 1;
  }
  const auto integers = bytes.values.values<std::int8_t>();
  for (std::size_t i = 0; i < values.size(); ++i)
    integers[i] = static_cast<std::int8_t>(
        std::clamp(std::nearbyint(values[i] / bytes.scales[slices.channel(i)]), -kLargest, kLargest));
  return bytes;
}

Tensor floats_of(const ByteWeights& weights) {
  Tensor floats(DType::f32, weights.values.shape());
  const Slices slices = slices_of(floats.shape(), weights.axis);
  const auto integers = weights.values.values<std::int8_t>();
  for (std::size_t i = 0; i < integers.size(); ++i)
    floats.values<float>()[i] = static_cast<float>(integers[i]) * weights.scales[slices.channel(i)];
  return floats;
}

std::vector<double> missing_means(const Tensor& before, const Tensor& after, const Product& product,
                                  std::span<const double> input_means) {
  if (product.input_axis == 0 && product.x_axis == 1) return {};
  const Slices outputs = slices_of(before.shape(), product.output_axis);
  const Slices inputs = slices_of(before.shape(), product.input_axis);
  const auto groups = static_cast<std::size_t>(product.groups);
  if (inputs.channels * groups != input_means.size()) return {};
  std::vector<double> missing(outputs.channels);
  const std::size_t outputs_a_group = outputs.channels / groups;
  for (std::size_t i = 0; i < static_cast<std::size_t>(before.size()); ++i) {
    const std::size_t output = outputs.channel(i);
    const std::size_t input = output / outputs_a_group * inputs.channels + inputs.channel(i);
    const double change =
        static_cast<double>(before.values<float>()[i]) - static_cast<double>(after.values<float>()[i]);
    missing[output] += change * input_means[input];
  }
  return missing;
}

NibbleWeights nibbles_of(const Tensor& weights) {
  const std::int64_t rows = weights.shape()[0], columns = weights.shape()[1];
  const std::int64_t blocks = (rows + NibbleWeights::kBlock - 1) / NibbleWeights::kBlock;
  NibbleWeights nibbles{Tensor(DType::u8, {columns, blocks, NibbleWeights::kBlock / 2}),
                        Tensor(DType::f32, {columns * blocks})};
  const auto values = weights.values<float>();
  for (std::int64_t at = 0; at < columns * blocks; ++at) {
    const std::int64_t column = at / blocks, first = at % blocks * NibbleWeights::kBlock;
    const std::int64_t end = std::min(rows, first + NibbleWeights::kBlock);
    float extreme = 0;
    const auto value = [&](std::int64_t row) { return values[static_cast<std::size_t>(row * columns + column)]; };
    for (std::int64_t row = first; row < end; ++row)
      if (std::abs(value(row)) > std::abs(extreme)) extreme = value(row);
    const float scale = extreme / -8;
    nibbles.scales.values<float>()[static_cast<std::size_t>(at)] = scale;
    for (std::int64_t k = 0; k < NibbleWeights::kBlock; ++k) {
      const bool inside = first + k < end && scale != 0;
      const float q = inside ? std::clamp(std::nearbyint(value(first + k) / scale) + 8, 0.0F, 15.0F) : 8;
      auto& byte =
          nibbles.packed.values<std::uint8_t>()[static_cast<std::size_t>((at * NibbleWeights::kBlock + k) / 2)];
      byte = static_cast<std::uint8_t>(byte | static_cast<std::uint8_t>(q) << (k % 2 * 4));
    }
  }
  return nibbles;
}

Tensor floats_of(const NibbleWeights& weights, std::int64_t rows) {
  const std::int64_t columns = weights.packed.shape()[0], blocks = weights.packed.shape()[1];
  Tensor floats(DType::f32, {rows, columns});
  for (std::int64_t column = 0; column < columns; ++column) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t at = column * blocks * NibbleWeights::kBlock + row;
      const int byte = weights.packed.values<std::uint8_t>()[static_cast<std::size_t>(at / 2)];
      const float scale = weights.scales.values<float>()[static_cast<std::size_t>(at / NibbleWeights::kBlock)];
      floats.values<float>()[static_cast<std::size_t>(row * columns + column)] =
          static_cast<float>((row % 2 == 0 ? byte & 15 : byte >> 4) - 8) * scale;
    }
  }
  return floats;
}

double sqnr(double signal, double noise) {
  if (noise == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(std::max(signal, 1e-300) / noise);
}

double sqnr(std::span<const float> exact, std::span<const float> other) {
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double e = static_cast<double>(exact[i]), d = e - static_cast<double>(other[i]);
    signal += e * e, noise += d * d;
  }
  return sqnr(signal, noise);
}

}  // namespace colonnade::quantize
