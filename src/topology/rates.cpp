// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/meeting.hpp"
#include "topology/probe.hpp"
#include "topology/rate_fields.hpp"

namespace colonnade {
namespace {

using nlohmann::json;

constexpr int kFileVersion = 5;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

/// False when a member is missing or no rate.
bool parse(const json& file, Rates& rates) {
  for (const RateField& field : kRateFields) {
    if (!file.contains(field.name) || !is_rate(file[field.name])) return false;
    rates.*field.member = file[field.name].get<double>();
  }
  if (const json near = file.value("near_hop_us", json()); is_rate(near)) rates.near_hop_us = near.get<double>();
  for (const json& kind : file.value("speeds", json::array())) {
    if (!kind.is_array() || kind.size() != 2 || !is_rate(kind[0]) || !is_rate(kind[1])) return false;
    rates.speeds.push_back({kind[0].get<double>(), kind[1].get<double>()});
  }
  if (!file.contains("work") || !file["work"].is_object()) return false;
  for (std::size_t kind = 0; kind < kWorkKinds; ++kind) {
    const auto points = file["work"].find(name_of(static_cast<Work>(kind)));
    if (points == file["work"].end() || !points->is_array() || points->empty()) return false;
    for (const json& point : *points) {
      if (!point.is_array() || point.size() != 2 || !is_rate(point[0]) || !is_rate(point[1])) return false;
      const WorkRate rate{point[0].get<double>(), point[1].get<double>()};
      if (!rates.work[kind].empty() && rates.work[kind].back().depth >= rate.depth) return false;
      rates.work[kind].push_back(rate);
    }
  }
  return true;
}

}  // namespace

std::string_view name_of(Work work) {
  constexpr std::string_view kNames[kWorkKinds] = {"contraction", "pieces",    "pairs",  "image",     "winograd",
                                                   "depthwise",   "pool",      "copy",   "transpose", "arithmetic",
                                                   "function",    "normalise", "reduce", "resize"};
  return kNames[static_cast<std::size_t>(work)];
}

double Rates::seconds(Work kind, double units, double depth) const {
  const std::vector<WorkRate>& points = work[static_cast<std::size_t>(kind)];
  if (points.empty()) return 0;
  const auto above = std::find_if(points.begin(), points.end(), [&](const WorkRate& p) { return p.depth >= depth; });
  const auto time = [](const WorkRate& point) { return 1e-9 / point.giga_units; };
  if (above == points.end()) return units * time(points.back());
  if (above == points.begin()) return units * time(*above) * std::max(1.0, above->depth / depth);
  const WorkRate& below = *(above - 1);
  const double share = (1 / below.depth - 1 / depth) / (1 / below.depth - 1 / above->depth);
  return units * (time(below) + share * (time(*above) - time(below)));
}

double Rates::hop_us() const {
  const Meeting all(static_cast<int>(std::max(1.0, total_threads)));
  if (near_hop_us == 0) return barrier_us / (all.near_hops() + all.far_hops());
  if (all.far_hops() == 0) return near_hop_us;
  return std::max(near_hop_us, (barrier_us - near_hop_us * all.near_hops()) / all.far_hops());
}

double Rates::barrier_us_of(int threads) const {
  const Meeting meeting(threads);
  const double far = hop_us(), near = near_hop_us > 0 ? near_hop_us : far;
  return near * meeting.near_hops() + far * meeting.far_hops();
}

std::array<std::vector<WorkRate>, kWorkKinds> default_work(double fma_gflops, double l2_gbs) {
  const double elements = l2_gbs / 12;  // two reads and a write
  std::array<std::vector<WorkRate>, kWorkKinds> work;
  const auto set = [&](Work kind, std::vector<WorkRate> rates) {
    work[static_cast<std::size_t>(kind)] = std::move(rates);
  };
  set(Work::contraction, {{16, 0.55 * fma_gflops}, {64, 0.8 * fma_gflops}, {576, 0.9 * fma_gflops}});
  set(Work::pieces, {{64, 0.8 * fma_gflops}, {128, 1.05 * fma_gflops}, {256, 1.25 * fma_gflops}});
  set(Work::pairs, {{16, 0.7 * fma_gflops}, {64, 1.3 * fma_gflops}, {576, 1.7 * fma_gflops}});
  set(Work::image, {{27, 0.6 * fma_gflops}, {147, 0.7 * fma_gflops}});
  set(Work::winograd,
      {{16, 1.4 * fma_gflops}, {32, 1.9 * fma_gflops}, {64, 2.4 * fma_gflops}, {256, 2.9 * fma_gflops}});
  set(Work::depthwise, {{9, 0.4 * fma_gflops}, {25, 0.5 * fma_gflops}, {49, 0.55 * fma_gflops}});
  set(Work::pool, {{9, 0.2 * fma_gflops}});
  set(Work::copy, {{1, 0.3 * l2_gbs}});
  set(Work::transpose, {{1, 0.15 * l2_gbs}});
  set(Work::arithmetic, {{1, 0.8 * elements}});
  set(Work::function, {{1, fma_gflops / 60}});
  set(Work::normalise, {{1, fma_gflops / 80}});
  set(Work::reduce, {{1, 2 * elements}});
  set(Work::resize, {{1, 0.4 * elements}});
  return work;
}

std::string machine_key(const Topology& topology) {
  std::string key = fmt::format("colonnade-rates/{}; {}; {}; {} processors", kFileVersion, topology.cpu_model,
                                kernels::name_of(topology.features), sysconf(_SC_NPROCESSORS_ONLN));
  for (const CacheLevel& cache : topology.caches)
    if (cache.level < 3) key += fmt::format("; L{} {}", cache.level, cache.bytes);
  return key;
}

std::string rates_path(const Topology& topology) {
  if (std::string path = environment("COLONNADE_RATES"); !path.empty()) return path;
  std::string folder = environment("XDG_CACHE_HOME");
  if (folder.empty()) {
    const std::string home = environment("HOME");
    if (home.empty()) return {};
    folder = home + "/.cache";
  }
  const std::string key = machine_key(topology);
  return fmt::format("{}/colonnade/machine-{:016x}.json", folder, hash_of(std::as_bytes(std::span(key))));
}

std::optional<Rates> read_rates(const std::string& path, const std::string& key) {
  if (path.empty()) return std::nullopt;
  std::ifstream stream(path);
  if (!stream) return std::nullopt;
  const json file = json::parse(stream, nullptr, false);
  if (!file.is_object() || file.value("key", json()) != key) return std::nullopt;
  Rates rates;
  if (!parse(file, rates)) return std::nullopt;
  rates.source = path;
  return rates;
}

void write_rates(const std::string& path, const std::string& key, const Rates& rates) {
  json file = {{"key", key}};
  for (const RateField& field : kRateFields) file[field.name] = rates.*field.member;
  for (std::size_t kind = 0; kind < kWorkKinds; ++kind) {
    json& points = file["work"][std::string(name_of(static_cast<Work>(kind)))] = json::array();
    for (const WorkRate& rate : rates.work[kind]) points.push_back({rate.depth, rate.giga_units});
  }
  if (rates.near_hop_us > 0) file["near_hop_us"] = rates.near_hop_us;
  for (const CoreSpeed& kind : rates.speeds) file["speeds"].push_back({kind.expected, kind.measured});
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, error);
  const std::string draft = fmt::format("{}.{}", path, getpid());
  std::ofstream stream(draft);
  stream << file.dump(1) << '\n';
  stream.close();
  if (stream) std::filesystem::rename(draft, path, error);
  if (!stream || error) {
    std::error_code ignored;
    std::filesystem::remove(draft, ignored);
    fail(ErrorCode::io, "cannot write the rates file '{}'", path);
  }
}

}  // namespace colonnade
