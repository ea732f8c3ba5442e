// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "graph/dimensions.hpp"
#include "graph/samples.hpp"

namespace colonnade {
namespace {

using SymbolSizes = std::map<std::string, std::int64_t>;

void check_dims(const Value& value, const Shape& shape) {
  for (const std::int64_t dim : shape) {
    if (dim < 0) fail(ErrorCode::invalid_input, "input '{}': the given shape holds {}", value.name, dim);
  }
  if (!value.type.shape) return;
  const Shape& declared = *value.type.shape;
  if (declared.size() != shape.size()) {
    fail(ErrorCode::invalid_input, "input '{}': expected rank {} ({}), found {}", value.name, declared.size(),
         to_text(value.type), to_text({value.type.dtype, shape}));
  }
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (declared[axis] >= 0 && declared[axis] != shape[axis]) {
      fail(ErrorCode::invalid_input, "input '{}': expected {} at axis {} ({}), found {}", value.name, declared[axis],
           axis, to_text(value.type), shape[axis]);
    }
  }
}

void bind_symbols(const Value& value, const Shape& shape, SymbolSizes& sizes) {
  for (std::size_t axis = 0; axis < shape.size() && axis < value.dim_names.size(); ++axis) {
    const std::string& symbol = value.dim_names[axis];
    if (symbol.empty()) continue;
    const auto [place, fresh] = sizes.try_emplace(symbol, shape[axis]);
    if (!fresh && place->second != shape[axis]) {
      fail(ErrorCode::invalid_input, "input '{}': dimension '{}' is {} at axis {}, another input has {}", value.name,
           symbol, shape[axis], axis, place->second);
    }
  }
}

/// Shapes that were inferred for the open graph; inference makes them anew.
void forget_shapes(Graph& graph) {
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.outputs) {
      if (id != kAbsent) graph.value(id).type.shape.reset();
    }
  }
}

/// The one size of open first dimensions, among them those that were set before.
class SampleCount {
 public:
  explicit SampleCount(const Graph& graph) {
    if (graph.samples > 1) sizes_.insert(graph.samples);
  }
  void add(std::int64_t size) { sizes_.insert(size); }
  std::int64_t get() const { return sizes_.size() == 1 ? std::max<std::int64_t>(1, *sizes_.begin()) : 1; }

 private:
  std::set<std::int64_t> sizes_;
};

void check_symbols(const Graph& graph, const SymbolSizes& sizes) {
  std::set<std::string> known;
  for (const ValueId id : graph.inputs)
    for (const std::string& symbol : graph.value(id).dim_names)
      if (!symbol.empty()) known.insert(symbol);
  for (const auto& [symbol, size] : sizes) {
    if (size == kAnySize) continue;
    if (size < 0) fail(ErrorCode::invalid_argument, "dimension '{}' must be at least 0, found {}", symbol, size);
    if (known.contains(symbol)) continue;
    if (known.empty())
      fail(ErrorCode::invalid_argument, "the model has no open dimension '{}', and no other one with a name", symbol);
    fail(ErrorCode::invalid_argument, "the model has no open dimension '{}'; there are: {}", symbol,
         fmt::join(known, ", "));
  }
}

}  // namespace

void set_dimensions(Graph& graph, const std::map<std::string, std::int64_t>& sizes) {
  check_symbols(graph, sizes);
  if (std::all_of(sizes.begin(), sizes.end(), [](const auto& size) { return size.second == kAnySize; })) return;
  SampleCount samples(graph);
  for (const ValueId id : graph.inputs) {
    Value& value = graph.value(id);
    for (std::size_t axis = 0; axis < value.dim_names.size(); ++axis) {
      const auto found = sizes.find(value.dim_names[axis]);
      if (found == sizes.end() || found->second == kAnySize) continue;
      (*value.type.shape)[axis] = found->second;
      if (axis == 0) samples.add(found->second);
      value.dim_names[axis].clear();
    }
  }
  graph.samples = samples.get();
  forget_shapes(graph);
  infer_types(graph);
}

Graph without_any_sizes(Graph graph, const std::map<std::string, std::int64_t>& sizes) {
  for (const ValueId id : graph.inputs)
    for (std::string& symbol : graph.value(id).dim_names)
      if (const auto found = sizes.find(symbol); found != sizes.end() && found->second == kAnySize) symbol.clear();
  return graph;
}

std::int64_t of_sample(const Graph& graph, std::int64_t count) {
  return graph.samples > 1 && count % graph.samples == 0 ? count / graph.samples : count;
}

std::int64_t count_samples(const Graph& graph, std::span<const Shape> input_shapes) {
  SampleCount samples(graph);
  for (std::size_t index = 0; index < input_shapes.size(); ++index) {
    const ValueType& type = graph.value(graph.inputs[index]).type;
    const bool is_open = type.is_tensor() && (!type.shape || (!type.shape->empty() && type.shape->front() < 0));
    if (is_open && !input_shapes[index].empty()) samples.add(input_shapes[index].front());
  }
  return samples.get();
}

Graph bind_shapes(const Graph& graph, std::span<const Shape> input_shapes) {
  if (input_shapes.size() != graph.inputs.size()) {
    fail(ErrorCode::invalid_argument, "expected {} input shapes, found {}", graph.inputs.size(), input_shapes.size());
  }
  Graph bound = graph;
  SymbolSizes sizes;
  for (std::size_t index = 0; index < input_shapes.size(); ++index) {
    Value& value = bound.value(bound.inputs[index]);
    if (!value.type.is_tensor()) continue;
    check_dims(value, input_shapes[index]);
    bind_symbols(value, input_shapes[index], sizes);
    bound.has_other_sizes = bound.has_other_sizes || !value.type.is_static();
    value.type.shape = input_shapes[index];
    value.dim_names.clear();
  }
  bound.samples = count_samples(graph, input_shapes);
  forget_shapes(bound);
  infer_types(bound);
  return bound;
}

}  // namespace colonnade
