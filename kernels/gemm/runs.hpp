// SPDX-License-Identifier: Apache-2.0
// The pixels of an output row by the taps that they read, and in tiles.
#pragma once

#include <cstddef>

#include "kernels/gemm/gemm.hpp"

namespace colonnade::kernels::gemm {
namespace {

/// Pixels [x, x + pixels) of an output row that read the taps [begin, end), except that the first pixel starts at tap
/// first_begin and the last one ends at tap last_end.
struct Run {
  std::size_t x;
  std::size_t pixels;
  std::size_t begin;
  std::size_t end;
  std::size_t first_begin;
  std::size_t last_end;
};

inline constexpr std::size_t kMostRuns = 32;

struct Runs {
  Run of[kMostRuns];
  std::size_t count;
};

inline std::size_t ceil_div(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

/// First tap that pixel x reads inside the input.
inline std::size_t first_tap(const ConvArgs& a, std::size_t x) {
  const std::size_t start = x * a.stride_w;
  const std::size_t tap = start >= a.pad_left ? 0 : ceil_div(a.pad_left - start, a.dilation_w);
  return tap < a.kernel_w ? tap : a.kernel_w;
}

/// One past the last tap that pixel x reads inside the input.
inline std::size_t last_tap(const ConvArgs& a, std::size_t x) {
  const std::size_t start = x * a.stride_w;
  const std::size_t limit = a.width_in + a.pad_left;
  const std::size_t tap = start >= limit ? 0 : ceil_div(limit - start, a.dilation_w);
  return tap < a.kernel_w ? tap : a.kernel_w;
}

/// First pixel after x that reads other taps than x does.
inline std::size_t run_end(const ConvArgs& a, std::size_t x, std::size_t begin, std::size_t end) {
  std::size_t until = a.width_out;
  if (begin > 0) {
    const std::size_t reach = (begin - 1) * a.dilation_w;
    const std::size_t change = a.pad_left > reach ? ceil_div(a.pad_left - reach, a.stride_w) : x + 1;
    if (change > x && change < until) until = change;
  }
  if (end > 0) {
    const std::size_t limit = a.width_in + a.pad_left;
    const std::size_t reach = (end - 1) * a.dilation_w;
    const std::size_t change = limit > reach ? ceil_div(limit - reach, a.stride_w) : x + 1;
    if (change > x && change < until) until = change;
  }
  return until;
}

/// Lets single pixels at the left and right border join the run beside them.
inline void merge_borders(Runs& runs) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < runs.count; ++i) {
    Run run = runs.of[i];
    if (count > 0) {
      Run& left = runs.of[count - 1];
      const bool joins_right = left.pixels == 1 && left.end == run.end && left.begin > run.begin;
      const bool joins_left = run.pixels == 1 && run.begin == left.begin && run.end < left.end &&
                              left.last_end == left.end && left.first_begin <= run.end;
      if (joins_right && left.first_begin == left.begin && left.last_end == left.end) {
        run.first_begin = left.begin;
        run.x = left.x;
        run.pixels += 1;
        left = run;
        continue;
      }
      if (joins_left) {
        left.pixels += 1;
        left.last_end = run.end;
        continue;
      }
    }
    runs.of[count++] = run;
  }
  runs.count = count;
}

/// Fills `runs` from pixel x on and returns the first pixel that found no room.
inline std::size_t find_runs(const ConvArgs& a, std::size_t x, Runs& runs) {
  runs.count = 0;
  while (x < a.width_out && runs.count < kMostRuns) {
    const std::size_t begin = first_tap(a, x);
    const std::size_t end = last_tap(a, x);
    const std::size_t until = run_end(a, x, begin, end);
    runs.of[runs.count++] = {x, until - x, begin, end, begin, end};
    x = until;
  }
  merge_borders(runs);
  return x;
}

/// Pixels of a run as tiles of nearly the same size.
struct Cut {
  std::size_t tiles, even, larger;
};

inline Cut cut_of(std::size_t pixels, std::size_t most_rows) {
  const std::size_t tiles = ceil_div(pixels, most_rows), even = pixels / tiles;
  return {tiles, even, pixels - even * tiles};
}

}  // namespace
}  // namespace colonnade::kernels::gemm
