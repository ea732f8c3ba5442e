// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>

#include "base/numbers.hpp"
#include "topology/blocking.hpp"

namespace colonnade {
namespace {

std::string bytes_text(std::int64_t bytes) {
  const auto in = [&](std::int64_t unit) { return static_cast<double>(bytes) / static_cast<double>(unit); };
  if (bytes >= kGiB) return fmt::format("{:.4g} GiB", in(kGiB));
  if (bytes >= kMiB) return fmt::format("{:.4g} MiB", in(kMiB));
  return fmt::format("{:.4g} KiB", in(kKiB));
}

std::string count_text(int count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

int l3_domain_count(const Topology& topology) {
  int highest = 0;
  for (const Core& core : topology.cores) highest = std::max(highest, core.l3_domain);
  return highest + 1;
}

std::string processors_text(const Topology& topology) {
  std::string list;
  for (const Core& core : topology.cores) list += fmt::format("{}{}", list.empty() ? "" : " ", core.os_processor);
  return list;
}

/// How many cores are how fast.
std::string speeds_text(const Topology& topology) {
  std::string text;
  for (auto core = topology.cores.begin(); core != topology.cores.end();) {
    const auto next = std::find_if(core, topology.cores.end(), [&](const Core& c) { return c.speed != core->speed; });
    text += fmt::format("{}{} at {:.2g}", text.empty() ? "" : ", ", next - core, core->speed);
    core = next;
  }
  return text;
}

}  // namespace

std::string to_text(const Topology& topology) {
  const int siblings = topology.cores.empty() ? 1 : topology.cores.front().smt_siblings;
  std::string text = fmt::format("cpu      {}\n", topology.cpu_model);
  text += fmt::format("isa      {}\n", kernels::name_of(topology.features));
  text += fmt::format("cores    {}, {} each, {}, {}; processors {}\n",
                      count_text(static_cast<int>(topology.cores.size()), "core"), count_text(siblings, "thread"),
                      count_text(static_cast<int>(topology.nodes.size()), "NUMA node"),
                      count_text(l3_domain_count(topology), "L3 domain"), processors_text(topology));
  if (topology.cores.back().speed != topology.cores.front().speed) text += "speeds   " + speeds_text(topology) + "\n";
  for (const CacheLevel& cache : topology.caches) {
    text += fmt::format("L{}       {} for {}\n", cache.level, bytes_text(cache.bytes),
                        count_text(cache.sharing_cores, "core"));
  }
  text += fmt::format("memory   {}\n", bytes_text(topology.memory_bytes));
  text += topology.cpu_quota > 0 ? fmt::format("quota    {:.2f} cores\n", topology.cpu_quota) : "quota    none\n";
  text += fmt::format("threads  {}\n", topology.default_threads());
  const Rates& rates = topology.rates;
  text += fmt::format("rates    {}: fma {:.4g} GFLOP/s, L2 {:.4g}, L3 {:.4g}, DRAM {:.4g} GB/s a thread", rates.source,
                      rates.fma_gflops, rates.l2_gbs, rates.l3_gbs, rates.dram_gbs);
  text += fmt::format(", L3 {:.4g}, DRAM {:.4g} GB/s of {:.0f} together, barrier {:.2g} us, step {:.2g} us\n",
                      rates.l3_total_gbs, rates.dram_total_gbs, rates.total_threads, rates.barrier_us, rates.step_us);
  text += fmt::format("blocking {}\n", blocking_of(topology).name);
  return text;
}

}  // namespace colonnade
