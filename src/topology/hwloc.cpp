// SPDX-License-Identifier: Apache-2.0
#include <hwloc.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string_view>

#include "topology/probe.hpp"

namespace colonnade {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Hwloc = std::unique_ptr<hwloc_topology, Destroy>;
using Bitmap = std::unique_ptr<hwloc_bitmap_s, Destroy>;

/// Numbers in order of first appearance.
class DenseNumbers {
 public:
  int of(unsigned key) { return numbers_.try_emplace(key, static_cast<int>(numbers_.size())).first->second; }

 private:
  std::map<unsigned, int> numbers_;
};

/// This machine, or one that a text describes: hwloc's XML or its synthetic descriptions.
Hwloc load(const char* described) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Hwloc topology(raw);
  if (described != nullptr) {
    const std::string_view text = described;
    const int failed = text.starts_with('<')
                           ? hwloc_topology_set_xmlbuffer(raw, described, static_cast<int>(text.size()) + 1)
                           : hwloc_topology_set_synthetic(raw, described);
    if (failed != 0) return nullptr;
  }
  if (hwloc_topology_load(raw) != 0) return nullptr;
  return topology;
}

Bitmap usable_processors(hwloc_topology_t topology, std::span<const int> allowed) {
  Bitmap mask(hwloc_bitmap_dup(hwloc_topology_get_topology_cpuset(topology)));
  if (allowed.empty() || mask == nullptr) return mask;
  const Bitmap affinity(hwloc_bitmap_alloc());
  for (const int processor : allowed) hwloc_bitmap_set(affinity.get(), static_cast<unsigned>(processor));
  hwloc_bitmap_and(mask.get(), mask.get(), affinity.get());
  return mask;
}

/// Cores, or processors on machines where hwloc sees no cores.
hwloc_obj_type_t core_type(hwloc_topology_t topology) {
  return hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
}

/// Cores that share an L3; where there is none, cores of one package.
unsigned l3_key(hwloc_topology_t topology, hwloc_obj_t core) {
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_L3CACHE, HWLOC_OBJ_PACKAGE}) {
    const hwloc_obj_t shared = hwloc_get_ancestor_obj_by_type(topology, type, core);
    if (shared != nullptr) return shared->logical_index;
  }
  return 0;
}

void note_cache(std::vector<CacheLevel>& caches, const CacheLevel& cache) {
  const auto known =
      std::find_if(caches.begin(), caches.end(), [&](const CacheLevel& c) { return c.level == cache.level; });
  if (known == caches.end()) {
    caches.push_back(cache);
  } else if (cache.bytes / cache.sharing_cores < known->bytes / known->sharing_cores) {
    *known = cache;
  }
}

void note_caches_of(hwloc_topology_t topology, hwloc_obj_t core, std::vector<CacheLevel>& caches) {
  for (hwloc_obj_t object = core; object != nullptr; object = object->parent) {
    if (!hwloc_obj_type_is_dcache(object->type) || object->attr->cache.size == 0) continue;
    const int level = static_cast<int>(object->attr->cache.depth);
    if (level > 3) continue;
    const int cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology, object->cpuset, core_type(topology));
    note_cache(caches, {level, static_cast<std::int64_t>(object->attr->cache.size), std::max(cores, 1)});
  }
}

/// From each of these nodes to each, as far as the system says.
void note_distances(hwloc_topology_t topology, std::vector<NumaNode>& nodes) {
  unsigned count = 1;
  hwloc_distances_s* distances = nullptr;
  const auto wanted = HWLOC_DISTANCES_KIND_MEANS_LATENCY | HWLOC_DISTANCES_KIND_FROM_OS;
  if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &count, &distances, wanted, 0) != 0 || count == 0)
    return;
  const auto place = [&](const NumaNode& node) {
    unsigned i = 0;
    while (i < distances->nbobjs && distances->objs[i]->os_index != static_cast<unsigned>(node.number)) ++i;
    return i;
  };
  for (NumaNode& from : nodes)
    for (const NumaNode& to : nodes) {
      const unsigned row = place(from), column = place(to);
      if (row < distances->nbobjs && column < distances->nbobjs)
        from.distances.push_back(static_cast<int>(distances->values[row * distances->nbobjs + column]));
    }
  hwloc_distances_release(topology, distances);
}

std::vector<NumaNode> nodes_of(hwloc_topology_t topology, const std::vector<Core>& cores) {
  std::map<int, NumaNode> by_number;
  for (const Core& core : cores) by_number[core.numa_node].number = core.numa_node;
  std::vector<NumaNode> nodes;
  for (auto& [number, node] : by_number) {
    if (const hwloc_obj_t object = hwloc_get_numanode_obj_by_os_index(topology, static_cast<unsigned>(number)))
      node.memory_bytes = static_cast<std::int64_t>(object->attr->numanode.local_memory);
    nodes.push_back(std::move(node));
  }
  if (nodes.size() > 1) note_distances(topology, nodes);
  return nodes;
}

/// Cores of one kind, where a machine has several.
struct CoreKind {
  Bitmap processors;
  double speed = 1;
};

/// A number that hwloc knows of a kind of cores; 0: it does not.
double number_of(std::string_view name, unsigned count, const hwloc_info_s* infos) {
  for (unsigned i = 0; i < count; ++i)
    if (infos[i].name == name) return std::strtod(infos[i].value, nullptr);
  return 0;
}

bool is_small_core(unsigned count, const hwloc_info_s* infos) {
  return std::any_of(infos, infos + count, [](const hwloc_info_s& info) {
    return std::string_view(info.name) == "CoreType" && std::string_view(info.value) == "IntelAtom";
  });
}

/// Speeds to expect, by what the system says: the clock, of which Intel's small cores make half, as their vector units
/// have half the width; where it knows no clocks, Linux's capacities. None where all cores are about the same.
std::vector<CoreKind> kinds_of(hwloc_topology_t topology) {
  constexpr double kSame = 0.9;  // some cores of a kind may clock a little higher than others
  std::vector<CoreKind> kinds;
  const int count = hwloc_cpukinds_get_nr(topology, 0);
  double fastest = 0, slowest = 0;
  for (int i = 0; i < count; ++i) {
    CoreKind kind{Bitmap(hwloc_bitmap_alloc())};
    unsigned info_count = 0;
    hwloc_info_s* infos = nullptr;
    int efficiency = 0;
    if (hwloc_cpukinds_get_info(topology, static_cast<unsigned>(i), kind.processors.get(), &efficiency, &info_count,
                                &infos, 0) != 0)
      return {};
    const double clock = number_of("FrequencyMaxMHz", info_count, infos);
    kind.speed = clock > 0 ? clock * (is_small_core(info_count, infos) ? 0.5 : 1)
                           : number_of("LinuxCapacity", info_count, infos);
    if (!(kind.speed > 0)) return {};
    fastest = i == 0 ? kind.speed : std::max(fastest, kind.speed);
    slowest = i == 0 ? kind.speed : std::min(slowest, kind.speed);
    kinds.push_back(std::move(kind));
  }
  if (slowest >= kSame * fastest) return {};
  for (CoreKind& kind : kinds) kind.speed = kind.speed >= kSame * fastest ? 1 : kind.speed / fastest;
  return kinds;
}

struct FoundCore {
  hwloc_obj_t object;
  Core core;
};

/// The fastest first, and as hwloc has them.
std::vector<FoundCore> usable_cores(hwloc_topology_t topology, hwloc_const_bitmap_t usable) {
  std::vector<FoundCore> found;
  DenseNumbers domains;
  const std::vector<CoreKind> kinds = kinds_of(topology);
  const hwloc_obj_type_t type = core_type(topology);
  for (hwloc_obj_t object = nullptr; (object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr;) {
    const Bitmap mine(hwloc_bitmap_dup(object->cpuset));
    hwloc_bitmap_and(mine.get(), mine.get(), usable);
    const int processor = hwloc_bitmap_first(mine.get());
    if (processor < 0) continue;
    Core core{.os_processor = processor,
              .numa_node = std::max(hwloc_bitmap_first(object->nodeset), 0),
              .l3_domain = domains.of(l3_key(topology, object)),
              .smt_siblings = std::max(hwloc_bitmap_weight(object->cpuset), 1)};
    for (const CoreKind& kind : kinds)
      if (hwloc_bitmap_isset(kind.processors.get(), static_cast<unsigned>(processor)) != 0) core.speed = kind.speed;
    found.push_back({object, core});
  }
  std::ranges::stable_sort(found, std::ranges::greater(), [](const FoundCore& one) { return one.core.speed; });
  return found;
}

std::string cpu_model(hwloc_topology_t topology) {
  const hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
  const char* model = package == nullptr ? nullptr : hwloc_obj_get_info_by_name(package, "CPUModel");
  return model == nullptr ? "" : model;
}

}  // namespace

HardwareProbe probe_hardware(std::span<const int> allowed, const char* described) {
  HardwareProbe probe;
  const Hwloc topology = load(described);
  if (topology == nullptr) return probe;
  const Bitmap usable = usable_processors(topology.get(), allowed);
  if (usable == nullptr) return probe;

  for (const FoundCore& found : usable_cores(topology.get(), usable.get())) {
    const hwloc_obj_t object = found.object;
    for (int id = hwloc_bitmap_first(object->cpuset); id >= 0; id = hwloc_bitmap_next(object->cpuset, id)) {
      probe.core_of.resize(std::max(probe.core_of.size(), static_cast<std::size_t>(id) + 1), -1);
      probe.core_of[static_cast<std::size_t>(id)] = static_cast<int>(probe.cores.size());
    }
    probe.cores.push_back(found.core);
    note_caches_of(topology.get(), object, probe.caches);
  }
  std::sort(probe.caches.begin(), probe.caches.end(), [](auto& a, auto& b) { return a.level < b.level; });
  probe.nodes = nodes_of(topology.get(), probe.cores);
  probe.cpu_model = cpu_model(topology.get());
  return probe;
}

}  // namespace colonnade
