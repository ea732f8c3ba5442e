// SPDX-License-Identifier: Apache-2.0
// What a benchmark measured, and its two forms of print.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "commands.hpp"
#include "text.hpp"

namespace colonnade::cli {

struct BenchResult {
  std::string model;
  Json machine;      ///< describe_machine
  Json description;  ///< Model::describe
  Json profile;      ///< Session::profile
  int threads = 1;   ///< of all streams together
  int streams = 1;
  std::int64_t batch = 1;
  double load_ms = 0;
  double plan_ms = 0;
  double first_run_ms = 0;
  std::vector<double> latencies_ms;  ///< sorted, of all streams
  double elapsed_ms = 0;             ///< of the timed phase
  std::size_t weights_bytes = 0;
  std::size_t arena_bytes = 0;  ///< of all streams together
  std::size_t idle_rss_bytes = 0;
  std::size_t peak_rss_bytes = 0;
  double peak_gflops = 0;  ///< measured FMA peak of `threads` threads

  double flop() const;
  double mean_ms() const;
  double runs_per_s() const;
  double gflops() const;
  double percent_of_peak() const;
  /// Latency that `fraction` of the runs do not exceed, interpolated.
  double percentile(double fraction) const;
};

Json to_json(const BenchResult& result);
std::string to_text(const BenchResult& result, bool quiet);

}  // namespace colonnade::cli
