// SPDX-License-Identifier: Apache-2.0
// Models: how they are loaded, what they say of themselves. What is made for shapes: prepare.cpp.
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "api/embedded.hpp"
#include "api/impl.hpp"
#include "api/packed_texts.hpp"
#include "base/log.hpp"
#include "frontends/onnx/onnx.hpp"
#include "graph/dimensions.hpp"
#include "graph/parameters.hpp"
#include "passes/passes.hpp"
#include "reference/reference.hpp"

namespace colonnade {
namespace {

constexpr std::int64_t kDefaultImageSize = 224;
constexpr int kMostThreads = 4096;

TensorInfo info_of(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  TensorInfo info{value.name,      value.type.dtype,      value.type.shape.value_or(Shape{}),
                  value.dim_names, value.type.containers, value.type.shape.has_value()};
  info.dim_names.resize(info.shape.size());
  return info;
}

/// Keeps a copy of bytes that have to last.
onnx_import::OpenBytes lasting(std::span<const std::byte> bytes) {
  auto copy = std::make_shared<const AlignedBuffer>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy->data());
  return {std::make_shared<const onnx_import::MemoryBytes>(std::span(copy->data(), copy->bytes()), copy), true};
}

/// Texts without their padding, where the network is one of texts; of others it is seen whether their inputs grow.
Packing packed_texts_of(const Model::Impl& impl) {
  Packing packing = pack_tokens(*impl.optimized);
  const bool gives_tokens = std::ranges::count(packing.of_tokens, true) > 0;
  if (packing.graph && gives_tokens && impl.options.padding == Padding::compute) {
    packing.graph = nullptr;
    packing.reason = "an output has rows of it, which are asked for";
  }
  if (packing.graph && impl.compiled) {
    packing.graph = nullptr;
    packing.reason = "a compiled file is asked for";
  }
  if (packing.graph) packing.graph = std::make_shared<const Graph>(optimized_graph(*packing.graph, impl.options.math));
  if (packing.is_text)
    log_line(LogLevel::debug, "model '{}': padding of texts is {}", impl.name,
             packing.graph ? "left out" : "computed: " + packing.reason);
  if (!packing.graph) impl.growing.watch(impl.optimized);
  return packing;
}

std::int64_t constant_bytes(const Graph& graph) {
  std::set<const Constant*> counted;
  std::int64_t bytes = 0;
  for (const ValueId id : values_of(graph)) {
    const Constant* constant = graph.value(id).constant.get();
    if (constant != nullptr && counted.insert(constant).second)
      bytes += static_cast<std::int64_t>(constant->byte_size());
  }
  return bytes;
}

std::shared_ptr<const Graph> optimized_of(const Graph& imported, const Options& options) {
  return std::make_shared<const Graph>(optimized_graph(without_any_sizes(imported, options.dimensions), options.math));
}

Model make_model(std::string name, std::shared_ptr<onnx_import::Source> source, const Options& options) {
  if (options.threads < 0 || options.threads > kMostThreads)
    fail(ErrorCode::invalid_argument, "threads must be 0 to {}, found {}", kMostThreads, options.threads);
  auto impl = std::make_shared<Model::Impl>();
  impl->name = std::move(name);
  impl->options = options;
  impl->topology = detect_topology(options.isa);
  impl->topology.blocking = options.blocking;
  impl->topology.blocking = blocking_of(impl->topology).name;
  impl->threads = options.threads > 0 ? options.threads : impl->topology.default_threads();
  impl->import_from = std::move(source);
  if (!options.compiled.empty() && impl->import_from->has_operators())
    fail(ErrorCode::invalid_argument, "a compiled file cannot hold operators of the program");
  if (!options.compiled.empty())
    impl->compiled = std::make_unique<Compiled>(options, impl->topology, impl->threads, impl->import_from);
  if (const Compiled* compiled = impl->compiled.get(); compiled != nullptr && compiled->is_loaded()) {
    impl->inputs = compiled->inputs();
    impl->outputs = compiled->outputs();
    impl->metadata = compiled->metadata();
    impl->optimized = compiled->optimized();
  } else {
    const Graph& imported = impl->imported();
    for (const ValueId id : imported.inputs) impl->inputs.push_back(info_of(imported, id));
    for (const ValueId id : imported.outputs) impl->outputs.push_back(info_of(imported, id));
    impl->metadata = impl->import_from->metadata();
    impl->optimized = optimized_of(imported, options);
  }
  impl->packing = packed_texts_of(*impl);
  impl->numa = numa_policy(options.numa, constant_bytes(*impl->optimized), workers_of_nodes());
  if (impl->numa.kind != NumaPolicy::Kind::off)
    impl->weights.set_place([policy = &impl->numa](int node) { return policy->weights_at(node); });
  if (impl->compiled) {
    impl->weights.set_source([known = impl.get()](const Constant& constant, const std::string& format, int node) {
      return known->compiled->weights(constant, format, node, known->numa.weights_at(node));
    });
  }
  log_line(LogLevel::info, "model '{}': loaded, {} operators, {} threads, {}, numa {}", impl->name,
           impl->optimized->nodes.size(), impl->threads, kernels::name_of(impl->topology.features), impl->numa.text());
  return Model(std::move(impl));
}

/// The size of an open dimension that nobody gave: one image of a usual size.
std::int64_t default_size(const TensorInfo& info, std::size_t axis) {
  return info.shape.size() == 4 && axis >= 2 ? kDefaultImageSize : 1;
}

}  // namespace

const Graph& Model::Impl::imported() const {
  std::call_once(import_once_, [&] { imported_ = import_graph(*import_from, options); });
  return imported_;
}

int Model::Impl::node_here() const {
  if (numa.kind == NumaPolicy::Kind::off) return 0;
  return numa.weights_node(numa.home(Workers::process().node_of_caller()));
}

int Model::Impl::threads_of_run(int asked) const {
  if (asked < 0) fail(ErrorCode::invalid_argument, "threads of a run must not be negative, found {}", asked);
  const int wanted = asked == 0 ? threads : std::min(asked, threads);
  if (wanted == 1) return 1;
  const int had = topology.default_threads(), has = Workers::process().limit();
  return has < had ? std::min(wanted, has) : wanted;
}

const TensorInfo& input_named(std::span<const TensorInfo> inputs, const std::string& name) {
  const auto found =
      std::find_if(inputs.begin(), inputs.end(), [&](const TensorInfo& info) { return info.name == name; });
  if (found == inputs.end()) {
    std::vector<std::string> names;
    for (const TensorInfo& info : inputs) names.push_back(info.name);
    fail(ErrorCode::invalid_argument, "the model has no input '{}'; its inputs are: {}", name, fmt::join(names, ", "));
  }
  return *found;
}

const std::shared_ptr<const Model::Impl>& known(const Model& model) {
  if (!model.impl()) fail(ErrorCode::invalid_argument, "the model is empty: it was made of nothing or moved from");
  return model.impl();
}

std::vector<Island> islands_of(const Prepared& prepared) {
  std::vector<Island> islands = prepared.program->islands;
  if (!prepared.rest) return islands;
  Island along;
  int count = 0;
  for (const ApartNode& apart : prepared.rest->apart) {
    const Island island{apart.node.name, name_of(apart.node.op), "reference", apart.reason};
    if (!apart.is_along)
      islands.push_back(island);
    else if (++count == 1)
      along = island;
  }
  if (count > 1) along.op += fmt::format(" and {} more", count - 1);
  if (count > 0) islands.push_back(along);
  return islands;
}

Model Model::load(const std::string& path, const Options& options) {
  return make_model(std::filesystem::path(path).filename().string(), onnx_import::Source::file(path), options);
}

Model Model::from_bytes(std::span<const std::byte> bytes, const Options& options) {
  const onnx_import::OpenBytes once{std::make_shared<const onnx_import::MemoryBytes>(bytes), false};
  return make_model("model",
                    std::make_shared<onnx_import::Source>("model", options.compiled.empty() ? once : lasting(bytes)),
                    options);
}

CustomKernel::~CustomKernel() = default;

Model load_with(std::vector<CustomOperator> operators, const std::string& path, const Options& options) {
  auto source = onnx_import::Source::file(path);
  source->set_operators(std::move(operators));
  return make_model(std::filesystem::path(path).filename().string(), std::move(source), options);
}

Model load_with(std::vector<CustomOperator> operators, std::span<const std::byte> bytes, const Options& options) {
  auto source = std::make_shared<onnx_import::Source>("model", lasting(bytes));
  source->set_operators(std::move(operators));
  return make_model("model", std::move(source), options);
}

Model Model::from_reader(Reader reader, std::uint64_t size, const Options& options) {
  return make_model("model", onnx_import::Source::reader(std::move(reader), size), options);
}

Model Model::embedded(std::string_view name, const Options& options) {
  for (const EmbeddedModel& model : embedded_models())
    if (name == model.name) {
      const auto bytes = std::make_shared<const onnx_import::MemoryBytes>(model.content);
      return make_model(std::string(name),
                        std::make_shared<onnx_import::Source>("model", onnx_import::OpenBytes{bytes, true}), options);
    }
  fail(ErrorCode::invalid_argument, "no embedded model '{}'; there are: {}", name, fmt::join(embedded_names(), ", "));
}

std::vector<std::string> Model::embedded_names() {
  std::vector<std::string> names;
  for (const EmbeddedModel& model : embedded_models()) names.emplace_back(model.name);
  return names;
}

const std::string& Model::name() const { return known(*this)->name; }
const ModelMetadata& Model::metadata() const { return known(*this)->metadata; }
std::span<const TensorInfo> Model::inputs() const { return known(*this)->inputs; }
std::span<const TensorInfo> Model::outputs() const { return known(*this)->outputs; }
const Options& Model::options() const { return known(*this)->options; }

std::vector<Shape> Model::resolve_shapes(const ShapeMap& overrides) const {
  std::map<std::string, std::int64_t> symbols;
  const auto is_any_size = [&dimensions = known(*this)->options.dimensions](const std::string& symbol) {
    const auto found = dimensions.find(symbol);
    return found != dimensions.end() && found->second == kAnySize;
  };
  for (const auto& [name, shape] : overrides) {
    const TensorInfo& info = input_named(known(*this)->inputs, name);
    if (info.has_rank && shape.size() != info.shape.size())
      fail(ErrorCode::invalid_argument, "input '{}': expected {} dimensions [{}], found {} [{}]", name,
           info.shape.size(), fmt::join(info.shape, ","), shape.size(), fmt::join(shape, ","));
    for (std::size_t i = 0; info.has_rank && i < shape.size(); ++i) {
      if (shape[i] < 0 || (info.shape[i] >= 0 && info.shape[i] != shape[i]))
        fail(ErrorCode::invalid_argument, "input '{}': dimension {} must be {}, found {}", name, i,
             info.shape[i] < 0 ? "at least 0" : std::to_string(info.shape[i]), shape[i]);
      if (info.shape[i] >= 0 || info.dim_names[i].empty() || is_any_size(info.dim_names[i])) continue;
      const auto [symbol, fresh] = symbols.try_emplace(info.dim_names[i], shape[i]);
      if (!fresh && symbol->second != shape[i])
        fail(ErrorCode::invalid_argument, "input '{}': dimension '{}' is {} at axis {}, another input has {}", name,
             symbol->first, shape[i], i, symbol->second);
    }
  }
  std::vector<Shape> shapes;
  for (const TensorInfo& info : known(*this)->inputs) {
    const auto given = overrides.find(info.name);
    Shape shape = given != overrides.end() ? given->second : info.shape;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] >= 0) continue;
      const auto symbol = symbols.find(info.dim_names[i]);
      shape[i] = symbol != symbols.end() ? symbol->second : default_size(info, i);
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

namespace {

/// For shapes of the inputs, as runs with no padding have it.
std::shared_ptr<const Prepared> prepared_as_run(const Model::Impl& impl, std::vector<Shape> shapes) {
  if (!shapes_of_texts(impl.packing, shapes)) return impl.prepare(std::move(shapes));
  const Shape& mask = shapes[impl.packing.mask];
  return impl.prepare(PlanKey{impl.packing.graph,
                              packed_shapes(impl.packing, {mask[0] * mask[1], mask[0], mask[1]}),
                              {},
                              impl.node_here(),
                              impl.threads});
}

}  // namespace

std::string Model::print(Stage stage, const ShapeMap& overrides) const {
  const Impl& impl = *known(*this);
  if (stage == Stage::graph) return to_text(impl.imported());
  const auto prepared = prepared_as_run(impl, resolve_shapes(overrides));
  switch (stage) {
    case Stage::graph: break;
    case Stage::optimized_graph: return to_text(prepared->graph);
    case Stage::plan: return to_text(prepared->plan, prepared->graph);
    case Stage::program: return to_text(*prepared->program);
  }
  return {};
}

std::string Model::describe(const ShapeMap& overrides) const {
  const Impl& impl = *known(*this);
  return describe_plan(impl, *prepared_as_run(impl, resolve_shapes(overrides)));
}

namespace {

bool sums_bytes(const Node& node) {
  return std::holds_alternative<ByteConv>(node.op) || std::holds_alternative<ByteMatMul>(node.op) ||
         std::holds_alternative<ByteBinary>(node.op) || std::holds_alternative<ByteAverage>(node.op);
}

/// The network as it was imported. Arithmetic of bytes is what a quantised network means: floats that stand for it
/// round otherwise now and then, and the layers that follow make much of one step.
const Graph& oracle_of(const Model::Impl& impl) {
  const auto& nodes = impl.optimized->nodes;
  return std::any_of(nodes.begin(), nodes.end(), sums_bytes) ? *impl.optimized : impl.imported();
}

}  // namespace

std::vector<Datum> Model::evaluate_reference(std::span<const Datum> inputs) const {
  const Impl& impl = *known(*this);
  if (inputs.size() != impl.inputs.size())
    fail(ErrorCode::invalid_argument, "expected {} inputs, found {}", impl.inputs.size(), inputs.size());
  std::vector<Shape> shapes;
  std::vector<const Datum*> data;
  for (const Datum& input : inputs) {
    shapes.push_back(input.is_tensor() ? input.tensor().shape() : Shape{});
    data.push_back(&input);
  }
  const Graph oracle = without_any_sizes(oracle_of(impl), impl.options.dimensions);
  return reference::evaluate(bind_shapes(oracle, shapes), data);
}

std::vector<Tensor> Model::evaluate_reference(std::span<const TensorView> inputs) const {
  return reference::evaluate(oracle_of(*known(*this)), inputs);
}

}  // namespace colonnade
