// SPDX-License-Identifier: Apache-2.0
// The machine as a value: what the planner and the runtime need to know of it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/isa.hpp"

namespace colonnade {

/// Kinds of kernel work that have a measured speed each. A unit of the first five is a floating-point operation (of
/// the direct form), of `copy` a byte written, of the others an element of the larger of input and output.
enum class Work : std::uint8_t {
  contraction,  ///< depth: terms of a sum (input channels x taps)
  pieces,       ///< a contraction on matrix units; depth: harmonic mean of the terms of a sum and output channels
  pairs,        ///< a contraction in pairs of bf16; depth: terms of a sum
  image,        ///< a contraction of few input channels; depth likewise
  winograd,     ///< depth: harmonic mean of input and output channels
  depthwise,    ///< depth: taps
  pool,         ///< depth: taps
  copy,         ///< concat, slice, pad, space and depth
  transpose,    ///< between channels-first and channels-last, bytes likewise
  arithmetic,   ///< operators of a few instructions
  function,     ///< exponentials and the like
  normalise,    ///< softmax and norms
  reduce,
  resize,
};
inline constexpr std::size_t kWorkKinds = 14;
std::string_view name_of(Work work);

/// Giga units a second that one thread reaches at a depth, its operands in L2.
struct WorkRate {
  double depth = 1;
  double giga_units = 1;
  bool operator==(const WorkRate&) const = default;
};

/// Of a kind of cores: Core::speed as what the system says lets expect it, and as measured.
struct CoreSpeed {
  double expected = 1;
  double measured = 1;
  bool operator==(const CoreSpeed&) const = default;
};

/// What the planner knows of the machine's speed: of one thread alone unless it says total.
struct Rates {
  double fma_gflops = 100;
  double l2_gbs = 100;
  double l3_gbs = 50;
  double dram_gbs = 16;
  double l3_total_gbs = 0;  ///< of total_threads together; 0: threads do not slow each other down
  double dram_total_gbs = 0;
  double total_threads = 1;  ///< as many as could run where the totals were measured
  double barrier_us = 0.4;   ///< of total_threads
  double near_hop_us = 0;  ///< until a line that one thread wrote is another's below the same L3 cache; 0: as far ones
  double team_us = 30;     ///< to wake the threads for a run
  double step_us = 0.03;   ///< fixed cost of one instruction
  std::array<std::vector<WorkRate>, kWorkKinds> work{};  ///< by kind, rising depth
  std::vector<CoreSpeed> speeds = {};                    ///< of cores that are slower than the fastest
  std::string source = "defaults";                       ///< "defaults", "fixed" or the file they were read from
  bool operator==(const Rates&) const = default;

  /// Seconds that `units` of work take at a depth; between measured depths the time falls with 1 / depth.
  double seconds(Work kind, double units, double depth) const;
  /// Until a line of the cache that one thread wrote is another's.
  double hop_us() const;
  /// A barrier at which so many meet.
  double barrier_us_of(int threads) const;
};

struct CacheLevel {
  int level = 1;
  std::int64_t bytes = 0;
  int sharing_cores = 1;  ///< physical cores that share one instance
  bool operator==(const CacheLevel&) const = default;
};

/// One physical core this process may use: its first allowed processor and where it sits.
struct Core {
  int os_processor = 0;
  int numa_node = 0;  ///< as the system numbers them
  int l3_domain = 0;
  int smt_siblings = 1;
  double speed = 1;  ///< of vector arithmetic, over that of the fastest core
  bool operator==(const Core&) const = default;
};

/// A NUMA node with cores of this process.
struct NumaNode {
  int number = 0;                   ///< the system's
  std::int64_t memory_bytes = 0;    ///< 0: unknown
  std::vector<int> distances = {};  ///< to each node of the topology, 10 to itself; empty: unknown
  bool operator==(const NumaNode&) const = default;
};

struct Topology {
  std::string cpu_model;
  kernels::Features features = {};     ///< what kernels may use
  std::vector<Core> cores;             ///< within the affinity mask, one per physical core, falling speed; never empty
  std::vector<int> core_of;            ///< by processor of the system, as far as known: index into cores, -1 for none
  std::vector<CacheLevel> caches;      ///< data caches L1, L2, L3 as far as known
  std::vector<NumaNode> nodes = {{}};  ///< by rising number; never empty
  double cpu_quota = 0;                ///< cgroup limit in cores; 0: none
  std::int64_t memory_bytes = 0;
  Rates rates;
  std::string blocking = {};  ///< class that was asked for (topology/blocking.hpp); "": what caches and rates say
  bool operator==(const Topology&) const = default;

  /// min(cores, ceil(quota)), at least 1.
  int default_threads() const;
  /// From one node to another, 10 within one, as the system says; 20 where it says nothing.
  int distance(int from, int to) const;
  /// The largest number of cores that a node has.
  int cores_of_node() const;
  /// How much longer memory takes, as a factor, than that of the own node when it lies on all nodes.
  double far_factor() const;
  /// Bytes of the given cache level per core that may use it alone; 0 when unknown.
  std::int64_t cache_bytes(int level) const;
};

/// The machine this process runs on: hwloc, affinity mask, cgroup v1 and v2 quota, the tier that select_features(isa)
/// gives, the rates of its rates file when there is one, else default_rates. Falls back to one core with common cache
/// sizes where sysfs is missing.
Topology detect_topology(const std::string& isa = {});

/// The rates, and the speeds of cores that are among them.
void set_rates(Topology& topology, Rates rates);

/// The same without tier and rates, for these processors.
Topology detect_cores(std::vector<int> allowed);

/// Processors that the affinity masks of the calling thread or of the process's first thread allow, in rising order: a
/// thread that is kept to one processor says nothing about the others of its process. Empty when no mask can be read.
std::vector<int> processors_of_process();

/// Whether this process uses them or not.
bool machine_has_several_nodes();

/// Memory of a NUMA node that nobody uses, or that files are kept in; 0: unknown.
std::int64_t free_memory_of_node(int number);

/// What the tier uses that Options::isa, then COLONNADE_ISA ask for; else all that kernels can use of the host.
kernels::Features select_features(const std::string& requested);

/// CPU quota in cores from a cgroup tree: `root` stands for /sys/fs/cgroup, `self` for the text of /proc/self/cgroup.
/// The smallest of cpu.max (v2) and cpu.cfs_quota_us / cpu.cfs_period_us (v1) up the hierarchy; 0: none.
double cgroup_cpu_quota(const std::string& root, std::string_view self);

/// Fixed machines for tests and golden plans: "zen4-2", "zen5-2" (1 MiB L2, 32 MiB fast L3), "emerald-2" (2 MiB L2,
/// 260 MiB slow shared L3), "tiny-1" (256 KiB L2, no L3), "server-16" (16 cores, 2 NUMA nodes). Throws on other names.
Topology fixed_topology(std::string_view name);

/// Where the measured rates of a machine are kept: COLONNADE_RATES, else a file in colonnade/ under XDG_CACHE_HOME or
/// ~/.cache that is named after machine_key; empty when none of these is set.
std::string rates_path(const Topology& topology);
/// What measured rates hold for: CPU model, tier, processors, caches and the version of the file.
std::string machine_key(const Topology& topology);
/// Rates kept for `key`; nothing when the file is absent, damaged or another machine's.
std::optional<Rates> read_rates(const std::string& path, const std::string& key);
/// Replaces the file as a whole. Throws Error{io} when that cannot be done.
void write_rates(const std::string& path, const std::string& key, const Rates& rates);

std::string to_text(const Topology& topology);

}  // namespace colonnade
