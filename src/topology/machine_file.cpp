// SPDX-License-Identifier: Apache-2.0
#include "topology/machine_file.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "topology/probe.hpp"
#include "topology/rate_fields.hpp"

namespace colonnade {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostCores = 4096;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

[[noreturn]] void refuse(const std::string& where, const std::string& expected, const json& found) {
  std::string text = found.is_null() ? "nothing" : found.dump(-1, ' ', true, json::error_handler_t::replace);
  if (constexpr std::size_t kMost = 40; text.size() > kMost) text = text.substr(0, kMost) + "...";
  fail(ErrorCode::invalid_input, "machine: {}: expected {}, found {}", where, expected, text);
}

/// The member, or null.
const json& member(const json& object, const char* name) {
  static const json nothing;
  const auto found = object.find(name);
  return found == object.end() ? nothing : *found;
}

std::int64_t integer(const json& object, const char* name, std::int64_t low, std::int64_t high,
                     std::optional<std::int64_t> otherwise = {}, const std::string& where = "") {
  const json& value = member(object, name);
  if (value.is_null() && otherwise) return *otherwise;
  if (!value.is_number_integer() || value < low || value > high)
    refuse(where + name, fmt::format("a whole number of {} to {}", low, high), value);
  return value.get<std::int64_t>();
}

std::vector<CacheLevel> caches_of(const json& machine) {
  const json& list = member(machine, "caches");
  if (!list.is_array() || list.empty()) refuse("caches", "a list", list);
  std::vector<CacheLevel> caches;
  for (const json& entry : list) {
    if (!entry.is_object()) refuse("caches", "objects", entry);
    caches.push_back({static_cast<int>(integer(entry, "level", 1, 3, {}, "caches: ")),
                      integer(entry, "bytes", 1, kMostBytes, {}, "caches: "),
                      static_cast<int>(integer(entry, "sharing_cores", 1, kMostCores, 1, "caches: "))});
    if (caches.size() > 1 && caches.back().level <= caches[caches.size() - 2].level)
      refuse("caches: level", "rising ones", entry);
  }
  return caches;
}

/// So many cores, evenly on nodes, as many below an L3 cache as share one.
std::vector<Core> counted_cores(const json& machine, const std::vector<CacheLevel>& caches) {
  const std::int64_t count = integer(machine, "cores", 1, kMostCores);
  const std::int64_t nodes = integer(machine, "numa_nodes", 1, count, 1);
  std::int64_t sharing = count;
  for (const CacheLevel& cache : caches)
    if (cache.level == 3) sharing = cache.sharing_cores;
  std::vector<Core> cores;
  for (std::int64_t i = 0; i < count; ++i)
    cores.push_back({.os_processor = static_cast<int>(i),
                     .numa_node = static_cast<int>(i * nodes / count),
                     .l3_domain = static_cast<int>(i / sharing)});
  return cores;
}

std::vector<Core> cores_of(const json& machine, const std::vector<CacheLevel>& caches) {
  const json& list = member(machine, "cores");
  if (list.is_number()) return counted_cores(machine, caches);
  if (!list.is_array() || list.empty() || std::ssize(list) > kMostCores)
    refuse("cores", "a count or a list of them", list);
  std::vector<Core> cores;
  const auto number = [](const json& entry, const char* name, std::optional<std::int64_t> otherwise = {}) {
    return static_cast<int>(integer(entry, name, 0, kMostCores * 8, otherwise, "cores: "));
  };
  for (const json& entry : list) {
    if (!entry.is_object()) refuse("cores", "objects", entry);
    cores.push_back({number(entry, "os_processor"), number(entry, "numa_node", 0), number(entry, "l3_domain", 0),
                     number(entry, "smt_siblings", 1)});
    const json& speed = member(entry, "speed");
    if (speed.is_null()) continue;
    if (!is_rate(speed) || speed > 1) refuse("cores: speed", "a number above 0, at most 1", speed);
    cores.back().speed = speed.get<double>();
  }
  std::ranges::stable_sort(cores, std::ranges::greater(), &Core::speed);
  return cores;
}

std::vector<NumaNode> nodes_of(const json& machine, const std::vector<Core>& cores) {
  std::set<int> numbers;
  for (const Core& core : cores) numbers.insert(core.numa_node);
  std::vector<NumaNode> nodes;
  for (const int number : numbers) nodes.push_back({.number = number});
  const json& list = member(machine, "nodes");
  if (list.is_null()) return nodes;
  if (!list.is_array() || list.size() != nodes.size())
    refuse("nodes", fmt::format("a list of {}, as cores say", nodes.size()), list);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!list[i].is_object()) refuse("nodes", "objects", list[i]);
    nodes[i].memory_bytes = integer(list[i], "memory_bytes", 0, kMostBytes, 0, "nodes: ");
    const json& distances = member(list[i], "distances");
    if (distances.is_null() || (distances.is_array() && distances.empty())) continue;
    if (!distances.is_array() || distances.size() != nodes.size())
      refuse("nodes: distances", "one to each node", distances);
    for (const json& distance : distances) {
      if (!distance.is_number_integer() || distance < 1 || distance > 255)
        refuse("nodes: distances", "whole numbers of 1 to 255", distance);
      nodes[i].distances.push_back(distance.get<int>());
    }
  }
  return nodes;
}

void read_work(const json& kinds, Rates& rates) {
  if (!kinds.is_object()) refuse("rates: work", "an object", kinds);
  for (std::size_t kind = 0; kind < kWorkKinds; ++kind) {
    const std::string name(name_of(static_cast<Work>(kind)));
    const json& points = member(kinds, name.c_str());
    if (points.is_null()) continue;
    if (!points.is_array() || points.empty()) refuse("rates: work: " + name, "pairs of depth and speed", points);
    rates.work[kind].clear();
    for (const json& point : points) {
      if (!point.is_array() || point.size() != 2 || !is_rate(point[0]) || !is_rate(point[1]) ||
          (!rates.work[kind].empty() && rates.work[kind].back().depth >= point[0].get<double>()))
        refuse("rates: work: " + name, "pairs of rising depth and speed", point);
      rates.work[kind].push_back({point[0].get<double>(), point[1].get<double>()});
    }
  }
}

Rates rates_of(const json& machine, const Topology& topology) {
  const json& object = member(machine, "rates");
  if (!object.is_object()) refuse("rates", "an object", object);
  Rates rates = default_rates(topology);
  for (const RateField& field : kRateFields) {
    const json& value = member(object, field.name);
    const bool is_of_one = std::string_view(field.name) == "fma_gflops" || std::string_view(field.name) == "l2_gbs" ||
                           std::string_view(field.name) == "l3_gbs" || std::string_view(field.name) == "dram_gbs";
    if (value.is_null() && !is_of_one) continue;
    if (!is_rate(value)) refuse(std::string("rates: ") + field.name, "a number above zero", value);
    rates.*field.member = value.get<double>();
  }
  if (const json& near = member(object, "near_hop_us"); !near.is_null()) {
    if (!is_rate(near)) refuse("rates: near_hop_us", "a number above zero", near);
    rates.near_hop_us = near.get<double>();
  }
  rates.work = default_work(rates.fma_gflops, rates.l2_gbs);
  if (const json& work = member(object, "work"); !work.is_null()) read_work(work, rates);
  rates.source = "machine file";
  return rates;
}

}  // namespace

Topology parse_machine(std::string_view text) {
  const json machine = json::parse(text, nullptr, false);
  if (!machine.is_object()) fail(ErrorCode::invalid_input, "machine: expected a JSON object");
  Topology topology;
  const json &model = member(machine, "cpu_model"), &isa = member(machine, "isa");
  if (!model.is_string()) refuse("cpu_model", "a name", model);
  topology.cpu_model = model.get<std::string>();
  kernels::Isa tier{};
  if (!isa.is_string() || !kernels::parse_isa(isa.get<std::string>().c_str(), tier))
    refuse("isa", "a tier, as `colonnade machine` names it", isa);
  if (!kernels::is_built(tier))
    fail(ErrorCode::unsupported, "machine: isa: this build has no kernels of tier {}", kernels::name_of(tier));
  topology.features = tier;
  topology.caches = caches_of(machine);
  topology.cores = cores_of(machine, topology.caches);
  topology.nodes = nodes_of(machine, topology.cores);
  topology.memory_bytes = integer(machine, "memory_bytes", 0, kMostBytes, 0);
  topology.rates = rates_of(machine, topology);
  return topology;
}

}  // namespace colonnade
