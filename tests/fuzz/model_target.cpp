// SPDX-License-Identifier: Apache-2.0
// Mutated models: loaded, planned for small shapes, and run where that is cheap.
#include <cmath>
#include <memory>
#include <set>

#include "api/impl.hpp"
#include "base/checked.hpp"
#include "frontends/onnx/proto.hpp"
#include "frontends/onnx/table.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/mutate.hpp"
#include "passes/passes.hpp"
#include "reference/reference.hpp"

namespace colonnade::fuzz {
namespace {

constexpr std::size_t kMemoryLimit = std::size_t{256} << 20;
constexpr std::int64_t kMostRunBytes = std::int64_t{32} << 20;
constexpr double kMostRunFlop = 1e8;
constexpr std::int64_t kMostTrips = 64;
constexpr std::size_t kMostMessage = 4000;
constexpr std::int64_t kImageSize = 9;  ///< of open dimensions of images

/// Names of values in all graphs of the model, and of operators, attributes and domains in general.
void collect_names(const onnx::GraphProto& graph, Words& words) {
  for (const auto& node : graph.node()) {
    words.insert(words.end(), node.input().begin(), node.input().end());
    words.insert(words.end(), node.output().begin(), node.output().end());
    for (const auto& attribute : node.attribute()) {
      words.push_back(attribute.name());
      if (attribute.has_g()) collect_names(attribute.g(), words);
    }
  }
}

class Models {
 public:
  explicit Models(Corpus corpus) : corpus_(std::move(corpus)) {
    if (corpus_.models.empty()) throw std::runtime_error("the corpus holds no models");
    std::set<std::string> general{"", "ai.onnx", "ai.onnx.ml", "com.microsoft"};
    for (const auto& row : onnx_import::all_rows()) general.emplace(row.name);
    for (const std::string& bytes : corpus_.models) parsed_.push_back(parse(bytes));
    general_.assign(general.begin(), general.end());
  }

  std::string make(Random& random) const {
    const std::size_t at = random.below(corpus_.models.size()), other = random.below(corpus_.models.size());
    if (random.one_in(6) || !parsed_[at] || !parsed_[other])
      return damage(corpus_.models[at], corpus_.models[other], random);
    onnx::ModelProto model = *parsed_[at];
    Words words;
    collect_names(model.graph(), words);
    words.insert(words.end(), general_.begin(), general_.end());
    for (std::size_t count = random.below(4) + random.below(3); count > 0; --count)
      mutate(model, *parsed_[other], words, random);
    return model.SerializeAsString();
  }

 private:
  static std::unique_ptr<onnx::ModelProto> parse(const std::string& bytes) {
    auto model = std::make_unique<onnx::ModelProto>();
    return model->ParseFromString(bytes) ? std::move(model) : nullptr;
  }

  Corpus corpus_;
  std::vector<std::unique_ptr<onnx::ModelProto>> parsed_;
  Words general_;
};

/// Shapes for inputs that the model leaves open: small ones, another for every model.
ShapeMap small_shapes(const Model& model, std::size_t choice) {
  ShapeMap shapes;
  for (const TensorInfo& info : model.inputs()) {
    if (!info.containers.empty()) continue;
    Shape shape = info.shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] >= 0) continue;
      shape[axis] = shape.size() == 4 && axis >= 2 ? kImageSize : static_cast<std::int64_t>(choice % 4);
    }
    shapes.emplace(info.name, std::move(shape));
  }
  return shapes;
}

std::int64_t element_bytes(DType dtype) {
  return static_cast<std::int64_t>(dtype == DType::string ? sizeof(std::string) : size_of(dtype));
}

bool has_few_trips(const Graph& graph, const Node& node) {
  if (!std::holds_alternative<Loop>(node.op)) return true;
  const auto trips = constant_ints(graph, node, 0);
  return trips && trips->size() == 1 && trips->front() <= kMostTrips;
}

/// What the graph takes to evaluate as far as shapes are known; infinite where a loop may go on for long.
double cost_of(const Graph& graph) {
  double cost = 0;
  for (const Node& node : graph.nodes) {
    if (!has_few_trips(graph, node)) return INFINITY;
    bool is_static = true;
    for (const auto& ids : {node.inputs, node.outputs})
      for (const ValueId id : ids) is_static = is_static && (id == kAbsent || graph.value(id).type.is_static());
    if (is_static) cost += flop_of(graph, node);
    for (const ValueId id : node.outputs) {
      if (id == kAbsent || !graph.value(id).type.is_static()) continue;
      const ValueType& type = graph.value(id).type;
      const double bytes =
          static_cast<double>(element_count(*type.shape)) * static_cast<double>(element_bytes(type.dtype));
      if (bytes > static_cast<double>(kMostRunBytes)) return INFINITY;
      cost += bytes;
    }
    for (const Body& body : bodies_of(node.op)) cost += static_cast<double>(kMostTrips) * cost_of(*body);
  }
  return cost;
}

/// Elements that may be counts, indices or probabilities.
Tensor small_values(const TensorInfo& info, const Shape& shape, Random& random) {
  Tensor tensor(info.dtype, shape);
  if (info.dtype == DType::string) {
    for (std::string& text : tensor.strings()) text = random.one_in(3) ? "" : "a";
    return tensor;
  }
  auto* bytes = static_cast<unsigned char*>(tensor.data());
  const std::size_t size = size_of(info.dtype);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const auto number = static_cast<int>(random.below(4));
    if (info.dtype == DType::f32) {
      tensor.values<float>()[static_cast<std::size_t>(i)] = static_cast<float>(number) * 0.5f;
    } else {
      bytes[static_cast<std::size_t>(i) * size] =
          static_cast<unsigned char>(info.dtype == DType::boolean ? number % 2 : number);
    }
  }
  return tensor;
}

/// A datum of the input's type: containers of few elements around tensors of the shape, map keys counting up.
Datum small_datum(const TensorInfo& info, const Shape& shape, std::size_t depth, Random& random) {
  if (depth == info.containers.size()) return small_values(info, shape, random);
  switch (info.containers[depth]) {
    case Container::sequence: {
      std::vector<Datum> elements;
      for (std::size_t count = random.below(4); count > 0; --count)
        elements.push_back(small_datum(info, shape, depth + 1, random));
      return Datum::sequence(std::move(elements), info.dtype);
    }
    case Container::optional:
      if (random.one_in(3)) return Datum::absent(info.dtype);
      return Datum::optional(small_datum(info, shape, depth + 1, random));
    default: {
      const bool strings = info.containers[depth] == Container::map_of_string;
      Tensor keys(strings ? DType::string : DType::i64, {1});
      return Datum::map(std::move(keys), small_values(info, {1}, random));
    }
  }
}

/// Runs the model by the reference and by a session, unless that may take long.
void run(const Model& model, const ShapeMap& shapes, std::size_t choice) {
  const std::vector<Shape> resolved = model.resolve_shapes(shapes);
  for (std::size_t i = 0; i < resolved.size(); ++i)
    if (element_count(resolved[i]) > kMostRunBytes / element_bytes(model.inputs()[i].dtype)) return;
  // only the passes know shapes that are computed
  Graph optimized = bind_shapes(*model.impl()->optimized, resolved);
  optimize(optimized);
  if (std::max(cost_of(bind_shapes(model.impl()->imported(), resolved)), cost_of(optimized)) > kMostRunFlop) return;
  Random random(choice, 0);
  std::vector<Datum> inputs;
  for (std::size_t i = 0; i < resolved.size(); ++i)
    inputs.push_back(small_datum(model.inputs()[i], resolved[i], 0, random));
  try {
    std::vector<const Datum*> data;
    for (const Datum& input : inputs) data.push_back(&input);
    static_cast<void>(reference::evaluate(bind_shapes(model.impl()->imported(), resolved), data, kMemoryLimit));
  } catch (const Error& error) {
    check_refusal(error);
  }
  Session session(model);
  static_cast<void>(session.run_data(inputs));
}

void check(std::string_view bytes) {
  Options options;
  options.threads = 1;
  options.memory_limit_bytes = kMemoryLimit;
  try {
    const Model model = Model::from_bytes(std::as_bytes(std::span(bytes)), options);
    const std::size_t choice = std::hash<std::string_view>()(bytes);
    const ShapeMap shapes = small_shapes(model, choice);
    run(model, shapes, choice);
    Session(model).prepare(shapes);
  } catch (const Error& error) {
    check_refusal(error);
  }
}

}  // namespace

void check_refusal(const std::exception& refusal) {
  const std::string message = refusal.what();
  const auto* error = dynamic_cast<const Error*>(&refusal);
  if (!error) throw Failure("not an Error of the library: " + message);
  if (error->code() == ErrorCode::internal) throw Failure("internal error: " + message);
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (message.empty() || std::any_of(message.begin(), message.end(), is_control))
    throw Failure("not one line: " + message);
  if (message.size() > kMostMessage) throw Failure("too long a message: " + message);
}

Target model_target(Corpus corpus) {
  // A fixed machine instead of a look at this one for every model.
  ::setenv("HWLOC_SYNTHETIC", "numa:1 l3:1(size=33554432) l2:2(size=1048576) core:1 pu:1", 0);
  const auto models = std::make_shared<Models>(std::move(corpus));
  return {"model", [models](Random& random) { return models->make(random); }, check};
}

}  // namespace colonnade::fuzz
