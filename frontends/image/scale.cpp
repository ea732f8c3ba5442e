// SPDX-License-Identifier: Apache-2.0
#include "frontends/image/scale.hpp"

#include <algorithm>
#include <cmath>

namespace colonnade::images {
namespace {

constexpr std::int64_t kMuchMoreWork = 4;

bool loses_height_first(Size from, Size to) {
  const std::int64_t pixels = from.width * from.height + to.width * to.height;
  return to.width > from.width && from.height * to.width > kMuchMoreWork * pixels;
}

}  // namespace

Taps taps_at(std::int64_t position, std::int64_t from, std::int64_t to) {
  const double ratio = static_cast<double>(from) / static_cast<double>(to);
  const double support = std::max(ratio, 1.0);
  const double centre = (static_cast<double>(position) + 0.5) * ratio;
  const std::int64_t first = std::max(std::int64_t{0}, static_cast<std::int64_t>(std::floor(centre - support)));
  const std::int64_t last = std::min(from - 1, static_cast<std::int64_t>(std::ceil(centre + support)));
  Taps taps{first, {}};
  taps.weights.reserve(static_cast<std::size_t>(last - first + 1));
  double sum = 0;
  for (std::int64_t k = first; k <= last; ++k) {
    const double weight = std::max(0.0, 1 - std::abs((static_cast<double>(k) + 0.5 - centre) / support));
    taps.weights.push_back(static_cast<float>(weight));
    sum += weight;
  }
  for (float& weight : taps.weights) weight = static_cast<float>(weight / sum);
  return taps;
}

HeightScaler::HeightScaler(std::int64_t from, std::int64_t to, TakeRow give)
    : from_(from), to_(to), next_(taps_at(0, from, to)), give_(std::move(give)) {}

void HeightScaler::take(std::span<const float> row) {
  while (begun_ < to_ && next_.first <= taken_) {
    sums_.push_back({std::move(next_), std::vector<float>(row.size(), 0.0f)});
    if (++begun_ < to_) next_ = taps_at(begun_, from_, to_);
  }
  for (Sum& sum : sums_) {
    const float weight = sum.taps.weights[static_cast<std::size_t>(taken_ - sum.taps.first)];
    for (std::size_t i = 0; i < row.size(); ++i) sum.row[i] += weight * row[i];
  }
  ++taken_;
  while (!sums_.empty() &&
         sums_.front().taps.first + static_cast<std::int64_t>(sums_.front().taps.weights.size()) == taken_) {
    give_(sums_.front().row);
    sums_.pop_front();
  }
}

Scaler::Scaler(Size from, Size to, TakeRow give)
    : height_first_(loses_height_first(from, to)),
      source_(static_cast<std::size_t>(3 * from.width)),
      wide_(static_cast<std::size_t>(3 * to.width)),
      rows_(from.height, to.height,
            height_first_ ? [this, give = std::move(give)](std::span<const float> row) { give(widened(row)); }
                          : std::move(give)) {
  columns_.reserve(static_cast<std::size_t>(to.width));
  for (std::int64_t x = 0; x < to.width; ++x) columns_.push_back(taps_at(x, from.width, to.width));
}

void Scaler::take(std::span<const std::uint8_t> rgb) {
  std::copy(rgb.begin(), rgb.end(), source_.begin());
  rows_.take(height_first_ ? std::span<const float>(source_) : widened(source_));
}

std::span<const float> Scaler::widened(std::span<const float> row) {
  for (std::size_t x = 0; x < columns_.size(); ++x) {
    float sums[3] = {0, 0, 0};
    const float* from = row.data() + 3 * columns_[x].first;
    for (const float weight : columns_[x].weights) {
      for (std::size_t c = 0; c < 3; ++c) sums[c] += weight * from[c];
      from += 3;
    }
    std::copy(sums, sums + 3, &wide_[3 * x]);
  }
  return wide_;
}

}  // namespace colonnade::images
