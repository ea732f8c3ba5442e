// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/impl.hpp"
#include "api/measure_rates.hpp"
#include "base/checked.hpp"
#include "frontends/onnx/onnx.hpp"
#include "reference/reference.hpp"
#include "runtime/measure.hpp"
#include "topology/rate_fields.hpp"

namespace colonnade {
namespace {

using nlohmann::json;

std::string_view name_of(SegmentPlan::Kind kind) {
  constexpr std::string_view kNames[] = {"columns", "layer", "island", "view"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view sharing_of(const SegmentPlan& segment) {
  constexpr std::string_view kNames[] = {"single", "images", "bands", "channels"};
  if (segment.sharing == Sharing::rounds && segment.images == 1) return "strips";
  return kNames[static_cast<std::size_t>(segment.sharing)];
}

std::string_view name_of(MemoryLevel level) {
  constexpr std::string_view kNames[] = {"L2", "L3", "DRAM"};
  return kNames[static_cast<std::size_t>(level)];
}

/// Bytes that a run of the segment moves, by the memory level where they lie.
json levels_json(const SegmentPlan& segment) {
  json levels = json::object();
  for (const MemoryLevel level : {MemoryLevel::l2, MemoryLevel::l3, MemoryLevel::dram}) {
    std::int64_t bytes = segment.ring_level == level ? segment.ring_traffic_bytes : 0;
    if (segment.whole_level == level) bytes += segment.read_bytes + segment.written_bytes;
    levels[std::string(name_of(level))] = bytes;
  }
  return levels;
}

std::string_view name_of(Math math) {
  switch (math) {
    case Math::fast: return "fast";
    case Math::exact: return "exact";
    case Math::bf16: return "bf16";
  }
  return "";
}

std::string_view name_of(Schedule schedule) {
  constexpr std::string_view kNames[] = {"auto", "columns", "layers"};
  return kNames[static_cast<std::size_t>(schedule)];
}

json operator_json(const Prepared& prepared, const SegmentPlan& segment, NodeIndex index) {
  const Node& node = node_of(prepared.graph, index);
  const Value& value = prepared.graph.value(node.outputs[0]);
  const Choice& choice = prepared.plan.choices[index];
  json entry = {{"node", node.name}, {"op", name_of(node.op)}, {"output", value.name}, {"kernel", choice.family->name}};
  if (const Told told = choice.family->tell({{prepared.graph, node}, choice}); told.tile > 0) {
    entry["tile"] = told.tile;
    entry["products"] = told.products;
  }
  if (choice.encoding == kernels::Encoding::bf16x3) entry["matrix_units"] = true;
  if (choice.encoding == kernels::Encoding::bf16) entry["encoding"] = "bf16";
  if (!value.type.is_static()) return entry;
  const Shape& shape = value.type.static_shape();
  entry["shape"] = shape;
  entry["bytes"] = bytes_of(value);
  entry["flop"] = flop_of(prepared.graph, node);
  entry["rows"] = row_shape(shape).rows;
  const auto ring = std::find_if(segment.rings.begin(), segment.rings.end(),
                                 [&](const Ring& candidate) { return candidate.value == node.outputs[0]; });
  entry["ring_rows"] = ring != segment.rings.end() ? ring->rows : 0;
  entry["head_rows"] = ring != segment.rings.end() ? ring->head_rows : 0;
  return entry;
}

json segment_json(const Prepared& prepared, std::size_t index) {
  const SegmentPlan& segment = prepared.plan.segments[index];
  json operators = json::array();
  for (const NodeIndex node : segment.nodes) operators.push_back(operator_json(prepared, segment, node));
  json chunks = json::array();
  for (const ChunkGroup& group : segment.chunk_groups)
    chunks.push_back(
        {{"channels", group.channels}, {"chunk_channels", group.chunk_channels}, {"count", group.count()}});
  return {{"index", index},
          {"kind", name_of(segment.kind)},
          {"sharing", sharing_of(segment)},
          {"operators", operators},
          {"rows_per_step", segment.rows_per_step},
          {"columns", std::max<std::size_t>(1, segment.steps.size())},
          {"chunks", chunks},
          {"ends_because", segment.ends_because},
          {"flop", segment.flop},
          {"ring_bytes", segment.ring_bytes},
          {"halo_rows", segment.halo_rows},
          {"weights_bytes", segment.weights_bytes},
          {"read_bytes", segment.read_bytes},
          {"written_bytes", segment.written_bytes},
          {"level_bytes", levels_json(segment)},
          {"strips", std::max<std::size_t>(1, segment.strips.size())},
          {"turns", segment.turns},
          {"shared_bytes", segment.shared_bytes},
          {"scratch_bytes", segment.scratch_bytes},
          {"predicted_ms", segment.predicted_us / 1e3},
          {"arithmetic_ms", segment.arithmetic_us / 1e3}};
}

json values_json(const Graph& graph, const std::vector<ValueId>& ids, const std::vector<Shape>& shapes) {
  json list = json::array();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Value& value = graph.value(ids[i]);
    list.push_back({{"name", value.name}, {"dtype", colonnade::name_of(value.type.dtype)}, {"shape", shapes[i]}});
  }
  return list;
}

/// Of texts with a mask: whether padding is left out, or why not; nothing for other networks.
json padding_json(const Packing& packing) {
  const bool gives_tokens = std::count(packing.of_tokens.begin(), packing.of_tokens.end(), true) > 0;
  if (packing.graph) return gives_tokens ? "left out, zeros in outputs of tokens" : "left out";
  return packing.is_text ? json("computed: " + packing.reason) : json();
}

/// Of networks whose inputs look like caches: how many lengths a plan is for, or why a plan is for one.
json caches_json(const Model::Impl& model, const Prepared& prepared) {
  if (prepared.source != model.optimized) return {};
  const std::string told = GrowingPlans::tell(*model.optimized, prepared.shapes);
  return told.empty() ? json() : json(told);
}

/// What the planner believes of the machine's speed, and where it has that from.
json rates_json(const Rates& rates) {
  json work = json::object();
  for (std::size_t kind = 0; kind < kWorkKinds; ++kind)
    for (const WorkRate& rate : rates.work[kind])
      work[std::string(name_of(static_cast<Work>(kind)))].push_back({rate.depth, rate.giga_units});
  json all = {{"source", rates.source}, {"work", work}};
  for (const RateField& field : kRateFields) all[field.name] = rates.*field.member;
  if (rates.near_hop_us > 0) all["near_hop_us"] = rates.near_hop_us;
  return all;
}

/// The policy, why it is this one where nobody asked, and on how many nodes a team is at most.
json numa_json(const Model::Impl& model, const Prepared& prepared) {
  const NumaPolicy& numa = model.numa;
  const bool is_wide = numa.cores > 0 && prepared.plan.threads > numa.cores;
  return {{"policy", numa.text()}, {"reason", numa.reason}, {"team", is_wide ? "of several nodes" : "within a node"}};
}

/// "won" with what was found, "waiting" before there is a runner-up, "open" while runs decide; nothing where the plan
/// stays as predicted.
json duel_json(const Prepared& prepared, const std::optional<Verdict>& verdict) {
  const bool has_lost = prepared.duel && prepared.duel->state() == Duel::State::lost;
  if (verdict && !has_lost)
    return {{"state", "won"}, {"against", verdict->loser}, {"gain", verdict->gain}, {"runs", verdict->runs}};
  if (!prepared.duel || prepared.duel->is_over()) return nullptr;
  return {{"state", prepared.duel->state() == Duel::State::open ? "open" : "waiting"}};
}

}  // namespace

std::string describe_plan(const Model::Impl& model, const Prepared& prepared) {
  const auto verdict = model.verdict_of(prepared);
  json segments = json::array(), islands = json::array();
  const std::vector<Shape>& output_shapes =
      prepared.rest ? prepared.rest->output_shapes : prepared.program->output_shapes;
  std::size_t program_index = 0;
  for (std::size_t i = 0; i < prepared.plan.segments.size(); ++i) {
    if (prepared.plan.segments[i].kind == SegmentPlan::Kind::view) continue;
    segments.push_back(segment_json(prepared, i));
    segments.back()["index"] = program_index++;
  }
  for (const Island& island : islands_of(prepared))
    islands.push_back({{"node", island.node}, {"op", island.op}, {"engine", island.engine}, {"reason", island.reason}});
  return json{{"model", model.name},
              {"threads", prepared.program->threads},
              {"schedule", name_of(model.options.schedule)},
              {"math", name_of(model.options.math)},
              {"isa", kernels::name_of(model.topology.features)},
              {"blocking", model.topology.blocking},
              {"numa", numa_json(model, prepared)},
              {"rates", rates_json(model.topology.rates)},
              {"inputs", values_json(*prepared.source, prepared.source->inputs, prepared.shapes)},
              {"outputs", values_json(*prepared.source, prepared.source->outputs, output_shapes)},
              {"padding", padding_json(model.packing)},
              {"caches", caches_json(model, prepared)},
              {"flop", prepared.program->flop},
              {"weights_bytes", prepared.program->weights_bytes},
              {"arena_bytes", prepared.program->arena_bytes},
              {"outline", outline(prepared.plan)},
              {"duel", duel_json(prepared, verdict)},
              {"segments", segments},
              {"islands", islands},
              {"apart", prepared.rest ? prepared.rest->apart.size() : 0},
              {"later", prepared.rest && prepared.rest->tail ? prepared.rest->tail->nodes.size() : 0}}
      .dump();
}

std::string describe_machine(bool measure) {
  Topology topology = detect_topology();
  json rates_error;
  if (measure) {
    set_rates(topology, measure_rates(topology));
    try {
      const std::string path = rates_path(topology);
      write_rates(path, machine_key(topology), topology.rates);
      topology.rates.source = path;
    } catch (const Error& error) {
      rates_error = error.what();
    }
  }
  json cores = json::array(), caches = json::array(), nodes = json::array(), left_out = json::array();
  for (const kernels::Isa isa : kernels::kAllIsas)
    if (!kernels::is_built(isa) && kernels::host_features().contains(isa)) left_out.push_back(kernels::name_of(isa));
  for (const NumaNode& node : topology.nodes)
    nodes.push_back({{"number", node.number}, {"memory_bytes", node.memory_bytes}, {"distances", node.distances}});
  for (const Core& core : topology.cores)
    cores.push_back({{"os_processor", core.os_processor},
                     {"numa_node", core.numa_node},
                     {"l3_domain", core.l3_domain},
                     {"smt_siblings", core.smt_siblings},
                     {"speed", core.speed}});
  for (const CacheLevel& cache : topology.caches)
    caches.push_back({{"level", cache.level}, {"bytes", cache.bytes}, {"sharing_cores", cache.sharing_cores}});
  json machine = {{"cpu_model", topology.cpu_model},         {"isa", kernels::name_of(topology.features)},
                  {"blocking", blocking_of(topology).name},  {"cores", cores},
                  {"physical_cores", topology.cores.size()}, {"default_threads", topology.default_threads()},
                  {"numa_nodes", topology.nodes.size()},     {"nodes", nodes},
                  {"cpu_quota", topology.cpu_quota},         {"caches", caches},
                  {"memory_bytes", topology.memory_bytes}};
  if (!left_out.empty()) machine["isa_left_out"] = left_out;
  machine["rates"] = rates_json(topology.rates);
  if (!rates_error.is_null()) machine["rates"]["error"] = rates_error;
  return machine.dump();
}

double measure_fma_peak(int threads, const std::string& isa) {
  return measure_fma_gflops(select_features(isa), std::max(1, threads));
}

std::string_view version() noexcept { return COLONNADE_VERSION; }

Datum Datum::from_onnx(std::span<const std::byte> bytes, std::span<const Container> containers, std::string* name) {
  if (name != nullptr) *name = onnx_import::datum_name(bytes, containers);
  return onnx_import::parse_datum(bytes, containers);
}
std::string Datum::to_onnx(std::string_view name) const { return onnx_import::serialize_datum(*this, name); }

Tensor Tensor::converted(DType dtype) const {
  const Node node{Cast{dtype}, {0}, {1}, "conversion", "Cast"};
  const Tensor* const input = this;
  return std::move(reference::evaluate(node, {&input, 1}).front());
}

Tensor Tensor::from_onnx(std::span<const std::byte> bytes) { return onnx_import::parse_tensor(bytes); }
std::string Tensor::to_onnx(std::string_view name) const { return onnx_import::serialize_tensor(*this, name); }

}  // namespace colonnade
