// SPDX-License-Identifier: Apache-2.0
// Times every alternative of the convolutions and products of some models, one line of JSON a distinct node; the
// first line is the machine. choices.py starts it and makes a table of what it says.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "api/impl.hpp"
#include "api/measure_rates.hpp"
#include "api/pipeline.hpp"
#include "base/aligned_buffer.hpp"
#include "graph/contraction.hpp"
#include "plan/cost.hpp"
#include "runtime/measure.hpp"

namespace colonnade::bench {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

struct Arguments {
  std::vector<std::string> models;
  int threads = 1;
  std::string isa, blocking;
  Math math = Math::fast;
  double seconds = 0.3;  ///< to time a node
};

/// A node of some models, as a graph of its own.
struct Layer {
  Graph graph;
  std::map<std::string, int> models;  ///< how often each has it
};

std::string text_of(const Shape& shape) {
  std::string text;
  for (const std::int64_t size : shape) text += fmt::format("{}{}", text.empty() ? "" : "x", size);
  return text;
}

/// What nodes share that are timed once.
std::string key_of(const Subject& node) {
  std::string key = name_of(node.node.op) + " " + attributes_of(node.node.op);
  for (std::size_t i = 0; i < node.node.inputs.size(); ++i)
    key += node.has_input(i) ? (node.constant(i) ? " weights " : " ") + text_of(node.input_shape(i)) : " none";
  return key;
}

void fill(Tensor& tensor) {
  std::minstd_rand random(1);
  if (tensor.dtype() == DType::f32) {
    for (float& x : tensor.values<float>()) x = static_cast<float>(random()) / 0x1p31f - 0.5f;
    return;
  }
  auto* const bytes = static_cast<unsigned char*>(tensor.data());
  std::generate_n(bytes, tensor.byte_size(), [&] { return static_cast<unsigned char>(random() >> 8); });
}

/// A product of bytes, whose weights decide which kernel takes them: they are its own.
bool is_of_bytes(const Node& node) {
  return std::holds_alternative<ByteConv>(node.op) || std::holds_alternative<ByteMatMul>(node.op);
}

Graph graph_of(const Subject& subject) {
  Graph graph;
  graph.name = subject.node.name;
  Node node = subject.node;
  for (ValueId& id : node.inputs) {
    if (id == kAbsent) continue;
    const Value& value = subject.graph.value(id);
    if (value.constant && is_of_bytes(node)) {
      id = graph.add_constant(value.name, value.constant);
    } else if (value.constant) {
      Tensor tensor(DType::f32, value.type.static_shape());
      fill(tensor);
      id = graph.add_constant(value.name, std::move(tensor));
    } else {
      id = graph.add_value(value.name, value.type);
      graph.inputs.push_back(id);
    }
  }
  node.outputs.front() = graph.add_value("y", subject.graph.value(node.outputs.front()).type);
  graph.outputs = node.outputs;
  graph.nodes.push_back(std::move(node));
  return graph;
}

bool is_timed(const Subject& node) {
  const bool bytes = is_of_bytes(node.node);
  if (epilogue_of(node.node.op) == nullptr && !bytes) return false;
  return std::all_of(node.node.inputs.begin(), node.node.inputs.end(), [&](ValueId id) {
    if (id == kAbsent) return true;
    const ValueType& type = node.graph.value(id).type;
    return (bytes || type.dtype == DType::f32) && type.is_static();
  });
}

void collect(const std::string& name, const Options& options, std::map<std::string, Layer>& layers) {
  constexpr std::string_view kEmbedded = "embedded:";
  const Model model = name.starts_with(kEmbedded) ? Model::embedded(name.substr(kEmbedded.size()), options)
                                                  : Model::load(name, options);
  const BoundGraph bound = bound_graph(*model.impl()->optimized, model.resolve_shapes(), {}, options.math);
  for (const Node& node : bound.graph.nodes) {
    const Subject subject{bound.graph, node};
    if (!is_timed(subject)) continue;
    Layer& layer = layers[key_of(subject)];
    if (layer.models.empty()) layer.graph = graph_of(subject);
    ++layer.models[model.name()];
  }
}

/// One way to run a layer, and how long it took.
struct Alternative {
  Choice choice;
  std::unique_ptr<WeightStore> weights = std::make_unique<WeightStore>();
  std::unique_ptr<Executor> executor = {};
  std::string kernel = {};
  double products = 1;
  double once = 0;  ///< seconds of the second run
  std::vector<double> warm = {}, cold = {};
};

class Stopwatch {
 public:
  Stopwatch(const Arguments& arguments, const Topology& topology) : arguments_(arguments), topology_(topology) {}

  /// Every alternative with its times, the chosen one first. Those that take several times as long are run but twice.
  std::vector<Alternative> time(const Graph& graph) {
    std::vector<Alternative> found = alternatives_of(graph);
    set_tensors(graph);
    for (Alternative& alternative : found) prepare(graph, alternative);
    constexpr double kSlow = 2.5;
    const double chosen = found.front().once;
    std::vector<Alternative*> timed;
    double round = 0;
    for (Alternative& alternative : found) {
      if (alternative.once > kSlow * chosen) continue;
      timed.push_back(&alternative);
      round += std::max(kLeastSeconds, alternative.once) + 3 * alternative.once;
    }
    const int rounds = std::clamp(static_cast<int>(arguments_.seconds / round), 3, 25);
    for (int i = 0; i < rounds; ++i)
      for (Alternative* alternative : timed) run_round(*alternative);
    return found;
  }

 private:
  static constexpr double kLeastSeconds = 100e-6;  ///< of runs that are timed together

  std::vector<Alternative> alternatives_of(const Graph& graph) const {
    const Blocking& blocking = blocking_of(topology_);
    std::vector<Alternative> found;
    for (Choice& choice : alternatives(graph, graph.nodes.front(), arguments_.math, topology_.features, blocking))
      found.push_back({std::move(choice)});
    const auto least = std::ranges::min_element(found, {}, [](const Alternative& a) { return a.choice.flop; });
    std::rotate(found.begin(), least, least + 1);
    return found;
  }

  void set_tensors(const Graph& graph) {
    inputs_.clear(), outputs_.clear(), sources_.clear(), results_.clear();
    const auto tensor = [&](ValueId id) {
      const ValueType& type = graph.value(id).type;
      return Tensor(type.dtype, type.static_shape());
    };
    for (const ValueId id : graph.inputs) inputs_.push_back(tensor(id));
    for (const ValueId id : graph.outputs) outputs_.push_back(tensor(id));
    for (Tensor& input : inputs_) fill(input), sources_.push_back(input.data());
    for (Tensor& output : outputs_) results_.push_back(output.data());
  }

  void prepare(const Graph& graph, Alternative& alternative) {
    PlanOptions options;
    options.schedule = Schedule::layers;
    options.threads = arguments_.threads;
    const Plan plan = make_plan(graph, topology_, options, {{alternative.choice}});
    const auto program = compile(graph, plan, topology_.features, *alternative.weights);
    alternative.kernel = program->ops.front()->kernel();
    alternative.products = alternative.choice.family->tell({{graph, graph.nodes.front()}, alternative.choice}).products;
    alternative.executor = std::make_unique<Executor>(program);
    seconds_of(alternative, 1);
    alternative.once = seconds_of(alternative, 1);
  }

  double seconds_of(Alternative& alternative, int runs) {
    const auto begin = Clock::now();
    for (int i = 0; i < runs; ++i) alternative.executor->run(sources_, results_);
    return std::chrono::duration<double>(Clock::now() - begin).count() / runs;
  }

  void run_round(Alternative& alternative) {
    seconds_of(alternative, 1);
    const int runs = static_cast<int>(std::clamp(kLeastSeconds / alternative.once, 1.0, 1000.0));
    alternative.warm.push_back(seconds_of(alternative, runs));
    evict(*alternative.weights);
    alternative.cold.push_back(seconds_of(alternative, 1));
  }

  /// Takes packed weights out of all caches, and nothing else where the processor can do that.
  void evict(const WeightStore& weights) {
#if defined(__x86_64__)
    constexpr std::size_t kLine = 64;
    for (const PackedWeights& packed : weights.held())
      for (std::size_t at = 0; at < packed.bytes; at += kLine)
        _mm_clflush(reinterpret_cast<const char*>(packed.floats.get()) + at);
    _mm_mfence();
#else
    (void)weights;
    if (sweep_.bytes() == 0) sweep_ = AlignedBuffer(static_cast<std::size_t>(2 * largest_cache()));
    for (std::size_t i = 0; i < sweep_.bytes(); i += 64) sweep_.data()[i] ^= std::byte{1};
#endif
  }

#if !defined(__x86_64__)
  std::int64_t largest_cache() const {
    std::int64_t bytes = std::int64_t{32} << 20;
    for (const CacheLevel& cache : topology_.caches) bytes = std::max(bytes, cache.bytes);
    return bytes;
  }
  AlignedBuffer sweep_;
#endif

  const Arguments& arguments_;
  const Topology& topology_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<const void*> sources_;
  std::vector<void*> results_;
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

const char* name_of(kernels::Encoding encoding) {
  switch (encoding) {
    case kernels::Encoding::f32: return "f32";
    case kernels::Encoding::bf16x3: return "bf16x3";
    case kernels::Encoding::bf16: return "bf16";
  }
  return "";
}

json to_json(const Alternative& alternative) {
  std::size_t bytes = 0;
  for (const PackedWeights& packed : alternative.weights->held()) bytes += packed.bytes;
  json result = {{"family", alternative.choice.family->name},
                 {"kernel", alternative.kernel},
                 {"encoding", name_of(alternative.choice.encoding)},
                 {"products", alternative.products},
                 {"weights_bytes", bytes},
                 {"weighed_flop", nullptr},
                 {"once_us", 1e6 * alternative.once}};
  if (std::isfinite(alternative.choice.flop)) result["weighed_flop"] = alternative.choice.flop;
  if (alternative.warm.empty()) return result;
  result["warm_us"] = 1e6 * median(alternative.warm);
  result["cold_us"] = 1e6 * median(alternative.cold);
  result["rounds"] = alternative.warm.size();
  return result;
}

std::int64_t tensor_bytes(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const auto* ids : {&graph.inputs, &graph.outputs})
    for (const ValueId id : *ids) bytes += bytes_of(graph.value(id));
  return bytes;
}

void print(const std::string& key, const Layer& layer, const std::vector<Alternative>& timed) {
  const Node& node = layer.graph.nodes.front();
  const Conv* conv = std::get_if<Conv>(&node.op);
  json alternatives = json::array();
  for (const Alternative& alternative : timed) alternatives.push_back(to_json(alternative));
  const bool product = std::holds_alternative<MatMul>(node.op) ||
                       (conv && conv->kernel == Ints{1, 1} && conv->groups == 1 && conv->strides == Ints{1, 1});
  fmt::print("{}\n", json{{"node", key},
                          {"models", layer.models},
                          {"flop", flop_of(layer.graph, node)},
                          {"tensor_bytes", tensor_bytes(layer.graph)},
                          {"product", product},
                          {"bytes", is_of_bytes(node)},
                          {"alternatives", alternatives}}
                         .dump());
  std::fflush(stdout);
}

Topology machine_for(const Arguments& arguments) {
  Topology topology = detect_topology(arguments.isa);
  topology.blocking = arguments.blocking;
  if (topology.rates.source == "defaults") topology.rates = measure_rates(topology);
  topology.rates.fma_gflops = measure_fma_gflops(topology.features, 1);
  return topology;
}

int run(const Arguments& arguments) {
  const Topology topology = machine_for(arguments);
  Options options;
  options.isa = arguments.isa;
  options.math = arguments.math;
  options.blocking = blocking_of(topology).name;
  std::map<std::string, Layer> layers;
  for (const std::string& model : arguments.models) collect(model, options, layers);
  json caches = json::object();
  for (const int level : {1, 2, 3}) caches[fmt::format("l{}", level)] = topology.cache_bytes(level);
  const Rates& rates = topology.rates;
  fmt::print("{}\n", json{{"cpu", topology.cpu_model},
                          {"isa", kernels::name_of(topology.features)},
                          {"blocking", options.blocking},
                          {"threads", arguments.threads},
                          {"cache_bytes", caches},
                          {"fma_gflops", rates.fma_gflops},
                          {"l2_gbs", rates.l2_gbs},
                          {"l3_gbs", rates.l3_gbs},
                          {"dram_gbs", rates.dram_gbs},
                          {"nodes", layers.size()}}
                         .dump());
  Stopwatch stopwatch(arguments, topology);
  for (auto& [key, layer] : layers) {
    print(key, layer, stopwatch.time(layer.graph));
    layer.graph = {};
  }
  return 0;
}

Arguments parse(int count, char** words) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == count) fail(ErrorCode::invalid_argument, "{} needs a value", word);
      return words[++i];
    };
    if (word == "--threads")
      arguments.threads = std::stoi(value());
    else if (word == "--isa")
      arguments.isa = value();
    else if (word == "--blocking")
      arguments.blocking = value();
    else if (word == "--math")
      arguments.math = value() == "bf16" ? Math::bf16 : Math::fast;
    else if (word == "--seconds")
      arguments.seconds = std::stod(value());
    else
      arguments.models.push_back(word);
  }
  return arguments;
}

}  // namespace
}  // namespace colonnade::bench

int main(int count, char** words) {
  try {
    return colonnade::bench::run(colonnade::bench::parse(count, words));
  } catch (const std::exception& error) {
    fmt::print(stderr, "choices: {}\n", error.what());
    return 2;
  }
}
