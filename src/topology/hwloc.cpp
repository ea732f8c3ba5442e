// SPDX-License-Identifier: Apache-2.0
#include <hwloc.h>

#include <algorithm>
#include <map>
#include <memory>

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

Hwloc load(const char* synthetic) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Hwloc topology(raw);
  if (synthetic != nullptr && hwloc_topology_set_synthetic(raw, synthetic) != 0) return nullptr;
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

std::string cpu_model(hwloc_topology_t topology) {
  const hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
  const char* model = package == nullptr ? nullptr : hwloc_obj_get_info_by_name(package, "CPUModel");
  return model == nullptr ? "" : model;
}

}  // namespace

HardwareProbe probe_hardware(std::span<const int> allowed, const char* synthetic) {
  HardwareProbe probe;
  const Hwloc topology = load(synthetic);
  if (topology == nullptr) return probe;
  const Bitmap usable = usable_processors(topology.get(), allowed);
  if (usable == nullptr) return probe;

  DenseNumbers domains;
  const hwloc_obj_type_t type = core_type(topology.get());
  for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(topology.get(), type, core)) != nullptr;) {
    const Bitmap mine(hwloc_bitmap_dup(core->cpuset));
    hwloc_bitmap_and(mine.get(), mine.get(), usable.get());
    const int processor = hwloc_bitmap_first(mine.get());
    if (processor < 0) continue;
    for (int id = hwloc_bitmap_first(core->cpuset); id >= 0; id = hwloc_bitmap_next(core->cpuset, id)) {
      probe.core_of.resize(std::max(probe.core_of.size(), static_cast<std::size_t>(id) + 1), -1);
      probe.core_of[static_cast<std::size_t>(id)] = static_cast<int>(probe.cores.size());
    }
    const int node = hwloc_bitmap_first(core->nodeset);
    probe.cores.push_back({.os_processor = processor,
                           .numa_node = std::max(node, 0),
                           .l3_domain = domains.of(l3_key(topology.get(), core)),
                           .smt_siblings = std::max(hwloc_bitmap_weight(core->cpuset), 1)});
    note_caches_of(topology.get(), core, probe.caches);
  }
  std::sort(probe.caches.begin(), probe.caches.end(), [](auto& a, auto& b) { return a.level < b.level; });
  probe.nodes = nodes_of(topology.get(), probe.cores);
  probe.cpu_model = cpu_model(topology.get());
  return probe;
}

}  // namespace colonnade
