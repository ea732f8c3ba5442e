// SPDX-License-Identifier: Apache-2.0
// The numbers of Rates by their names in files.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

#include "topology/topology.hpp"

namespace colonnade {

/// A number above 0.
inline bool is_rate(const nlohmann::json& value) {
  return value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() > 0;
}

struct RateField {
  const char* name;
  double Rates::*member;
};
inline constexpr RateField kRateFields[] = {
    {"fma_gflops", &Rates::fma_gflops},
    {"l2_gbs", &Rates::l2_gbs},
    {"l3_gbs", &Rates::l3_gbs},
    {"dram_gbs", &Rates::dram_gbs},
    {"l3_total_gbs", &Rates::l3_total_gbs},
    {"dram_total_gbs", &Rates::dram_total_gbs},
    {"total_threads", &Rates::total_threads},
    {"barrier_us", &Rates::barrier_us},
    {"team_us", &Rates::team_us},
    {"step_us", &Rates::step_us},
};

}  // namespace colonnade
