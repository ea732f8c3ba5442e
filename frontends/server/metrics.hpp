// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>

#include "frontends/server/registry.hpp"
#include "frontends/server/tracer.hpp"

namespace colonnade::serve {

/// Processor time of the whole machine, of which two readings give a utilisation.
struct CpuTime {
  std::uint64_t busy = 0, total = 0;
};
CpuTime cpu_time();

/// Prometheus text: nv_inference_* of each model, histograms of latencies, nv_cpu_* since the reading `before`,
/// colonnade_* about memory.
std::string metrics_of(std::span<const Registry::Known> models, const CpuTime& before, const CpuTime& now,
                       const Memory& memory, const ResponseCache& cache, const Tracer& tracer);

}  // namespace colonnade::serve
