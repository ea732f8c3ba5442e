// SPDX-License-Identifier: Apache-2.0
#include "topology/shares.hpp"

#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "base/numbers.hpp"

namespace colonnade {
namespace {

constexpr double kRounding = 1e-9;

/// Units that a core of this speed has done at a time.
std::int64_t done(double speed, double time) { return static_cast<std::int64_t>(speed * time + kRounding); }

}  // namespace

Shares::Shares(const Topology& topology) {
  const auto is_first = [&](const Core& core) { return core.speed == topology.cores.front().speed; };
  if (std::ranges::all_of(topology.cores, is_first)) return;
  double sum = 0;
  for (const Core& core : topology.cores) sums_.push_back(sum += core.speed);
}

bool Shares::is_even(std::int64_t parts) const {
  return sums_.empty() || parts < 2 || parts > std::ssize(sums_) || sum(parts) == real(parts) * sum(1);
}

/// When the last of so many units is done, at the earliest.
double Shares::end(std::int64_t units, std::int64_t parts) const {
  double early = real(units) / sum(parts), late = real(units) / sum(1);
  constexpr int kHalvings = 40;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (early + late) / 2;
    std::int64_t all = 0;
    for (std::int64_t part = 0; part < parts; ++part) all += done(speed(part), middle);
    (all >= units ? late : early) = middle;
  }
  return late;
}

std::int64_t Shares::begin(std::int64_t units, std::int64_t part, std::int64_t parts) const {
  if (is_even(parts)) return units * part / parts;
  const double last = end(units, parts);
  std::int64_t begin = 0;  // the slow cores may have less to do
  for (std::int64_t before = 0; before < part; ++before) begin += done(speed(before), last);
  return std::min(begin, units);
}

double Shares::before(std::int64_t part, std::int64_t parts, std::int64_t units, double work) const {
  if (is_even(parts)) return work / real(parts) * real(part);
  return work * real(begin(units, part, parts)) / real(units);
}

int Shares::fast(int threads) const {
  int fast = 1;
  while (fast < threads && is_even(fast + 1)) ++fast;
  return fast;
}

double Shares::busiest(std::int64_t units, int threads) const {
  if (is_even(threads)) return real(ceil_div(units, threads) * threads) / real(units);
  return end(units, threads) * sum(threads) / real(units);
}

}  // namespace colonnade
