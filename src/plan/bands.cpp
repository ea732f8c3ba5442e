// SPDX-License-Identifier: Apache-2.0
#include "plan/bands.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace colonnade {
namespace {

/// First row of `node` that needs no row of its producers above their `starts`, at least `wish`, on the granularity.
std::int64_t first_row_below(const LocalNode& node, const RowsOf& starts, std::int64_t wish) {
  std::int64_t row = wish;
  for (const LocalInput& input : node.inputs) {
    const auto& begins = input.map->begin;
    const auto found = std::lower_bound(begins.begin(), begins.end(), starts[input.producer]);
    row = std::max<std::int64_t>(row, found - begins.begin());
  }
  return std::min(round_up(row, node.granularity), node.rows);
}

/// Where a band starts in every node, when it should start at `fraction` of the work.
RowsOf band_starts(const LocalSegment& segment, double fraction) {
  RowsOf starts = RowsOf::of(segment.nodes.size());
  for (const LocalIndex i : segment.nodes.indices()) {
    const LocalNode& node = segment.nodes[i];
    constexpr double kRounding = 1e-6;  // a third of three rows is one
    const double wish = node.inputs.empty() ? fraction * real(node.rows) + kRounding : 0;
    starts[i] = first_row_below(node, starts, static_cast<std::int64_t>(wish));
  }
  return starts;
}

/// Fraction of the work above the given starts.
double work_above(const LocalSegment& segment, const RowsOf& starts) {
  double above = 0, all = 0;
  for (const LocalIndex i : starts.indices()) {
    const LocalNode& node = segment.nodes[i];
    above += node.weight * real(starts[i]) / real(node.rows);
    all += node.weight;
  }
  return all > 0 ? above / all : 0;
}

/// band_starts corrected for the skew, which shifts work to the band above.
RowsOf balanced_starts(const LocalSegment& segment, double fraction) {
  double low = 0, high = fraction;
  for (int round = 0; round < 12; ++round) {
    const double middle = (low + high) / 2;
    (work_above(segment, band_starts(segment, middle)) < fraction ? low : high) = middle;
  }
  const RowsOf below = band_starts(segment, low), above = band_starts(segment, high);
  const double error_below = fraction - work_above(segment, below), error_above = work_above(segment, above) - fraction;
  return error_below < error_above ? below : above;
}

/// The row below the last one that the band computes of a node that it computes too, for rows below `end` of a reader.
std::int64_t end_too(const LocalNode& node, const LocalInput& input, std::int64_t end) {
  return std::min(round_up(std::int64_t{input.map->end[end - 1]}, node.granularity), node.rows);
}

/// Where the band above one that starts at `starts` ends in every node: there, or below in the first `twice` nodes.
RowsOf ends_above(const LocalSegment& segment, const RowsOf& starts, std::size_t twice) {
  RowsOf ends = starts;
  for (const LocalIndex reader : segment.nodes.indices().reversed()) {
    if (ends[reader] == 0) continue;
    for (const LocalInput& input : segment.nodes[reader].inputs) {
      const LocalNode& node = segment.nodes[input.producer];
      if (static_cast<std::size_t>(input.producer) < twice && !node.whole)
        ends[input.producer] = std::max(ends[input.producer], end_too(node, input, ends[reader]));
    }
  }
  return ends;
}

/// Rows at the top of a band that the band above, which ends at `ends`, reads.
RowsOf heads_of(const LocalSegment& segment, const RowsOf& starts, const RowsOf& ends) {
  RowsOf heads = RowsOf::of(segment.nodes.size());
  for (const LocalIndex reader : segment.nodes.indices()) {
    if (ends[reader] == 0) continue;
    for (const LocalInput& input : segment.nodes[reader].inputs)
      if (const std::int64_t needed = input.map->end[ends[reader] - 1]; needed > ends[input.producer])
        heads[input.producer] = std::max(heads[input.producer], needed - starts[input.producer]);
  }
  return heads;
}

/// Share of the segment's work in rows [starts, ends).
double work_between(const LocalSegment& segment, const RowsOf& starts, const RowsOf& ends) {
  return work_above(segment, ends) - work_above(segment, starts);
}

/// How many nodes, from the first one on, hold most of what heads take.
std::size_t count_twice(const LocalSegment& segment, const RowsOf& heads) {
  constexpr double kMost = 2. / 3;
  double all = 0, sum = 0;
  const auto bytes = [&](LocalIndex i) {
    return segment.nodes[i].whole ? 0 : real(heads[i] * segment.nodes[i].row_bytes);
  };
  for (const LocalIndex i : heads.indices()) all += bytes(i);
  for (const LocalIndex i : heads.indices())
    if (sum += bytes(i); sum >= kMost * all) return static_cast<std::size_t>(i) + 1;
  return 0;
}

/// Every band has rows of its own in every node, below its head.
bool are_bands(const LocalSegment& segment, const Bands& bands) {
  for (const std::int64_t band : bands.heads.indices())
    for (const LocalIndex i : segment.nodes.indices()) {
      const bool last = band + 1 == std::ssize(bands.starts.items);
      const std::int64_t next = last ? segment.nodes[i].rows : bands.starts[band + 1][i];
      if (bands.starts[band][i] + std::max<std::int64_t>(1, bands.heads[band][i]) > next) return false;
    }
  return true;
}

/// Bands of so much of the work, each of its share, but the last one, which has the rest too.
Bands cut_at(const LocalSegment& segment, std::int64_t count, double work) {
  Bands bands;
  bands.starts.push_back(RowsOf::of(segment.nodes.size()));
  const std::int64_t units = ceil_div(segment.nodes.back().rows, segment.nodes.back().granularity);
  for (std::int64_t band = 1; band < count; ++band)
    bands.starts.push_back(balanced_starts(segment, segment.shares.before(band, count, units, work)));
  return bands;
}

/// Ends and heads for starts that are known.
void close_bands(const LocalSegment& segment, std::size_t twice, Bands& bands) {
  bands.ends = bands.heads = {};
  bands.repeated = 0;
  bands.heads.push_back(RowsOf::of(segment.nodes.size()));
  for (std::int64_t band = 1; band < std::ssize(bands.starts.items); ++band) {
    const RowsOf& starts = bands.starts[band];
    bands.ends.push_back(ends_above(segment, starts, twice));
    bands.heads.push_back(heads_of(segment, starts, bands.ends.back()));
    bands.repeated += work_between(segment, starts, bands.ends.back());
  }
  RowsOf all;
  for (const LocalNode& node : segment.nodes) all.push_back(node.rows);
  bands.ends.push_back(std::move(all));
}

}  // namespace

std::optional<Bands> cut_bands(const LocalSegment& segment, std::int64_t count, bool twice) {
  Bands bands = cut_at(segment, count, 1);
  close_bands(segment, 0, bands);
  if (twice && count > 1) {
    const std::size_t nodes = count_twice(segment, bands.heads[1]);
    close_bands(segment, nodes, bands);
    // Bands but the last compute more than lies above the next one's start.
    bands.starts = cut_at(segment, count, 1 - bands.repeated / real(count - 1)).starts;
    close_bands(segment, nodes, bands);
  }
  if (!are_bands(segment, bands)) return std::nullopt;
  return bands;
}

}  // namespace colonnade
