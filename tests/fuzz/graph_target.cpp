// SPDX-License-Identifier: Apache-2.0
// Random graphs: columns, layers, one thread and two give the same bits, and the reference's values; with shapes known
// from the start and bound later.
#include <cmath>

#include "fuzz/fuzz.hpp"
#include "passes/passes.hpp"
#include "passes/quantised.hpp"
#include "reference/elements.hpp"
#include "reference/reference.hpp"
#include "support/execute.hpp"
#include "support/random_network.hpp"
#include "support/random_operators.hpp"

namespace colonnade::fuzz {
namespace {

using test::Arithmetic;

constexpr double kTolerance = 1e-3;

struct Run {
  Schedule schedule;
  int threads;
};
constexpr Run kRuns[] = {
    {Schedule::layers, 1}, {Schedule::columns, 1}, {Schedule::columns, 2}, {Schedule::automatic, 2}};

/// Inputs of small integers, so that exact graphs stay exact.
std::vector<Tensor> inputs_of(const Graph& graph, std::span<const Shape> shapes, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    inputs.emplace_back(graph.value(graph.inputs[i]).type.dtype, shapes[i]);
    Tensor& tensor = inputs.back();
    const auto fill = [&](auto values, int least, unsigned count) {
      for (auto& x : values) x = static_cast<std::decay_t<decltype(x)>>(least + static_cast<int>(random() % count));
    };
    switch (tensor.dtype()) {
      case DType::f32: fill(tensor.values<float>(), -3, 7); break;
      case DType::f64: fill(tensor.values<double>(), -3, 7); break;
      case DType::i64: fill(tensor.values<std::int64_t>(), -3, 7); break;
      case DType::i32: fill(tensor.values<std::int32_t>(), -3, 7); break;
      default: fill(tensor.values<std::uint8_t>(), 0, 2); break;
    }
  }
  return inputs;
}

/// The graph with some dimensions of its inputs left open, and only what follows from the others known.
Graph opened(Graph graph, Random& random) {
  for (Value& value : graph.values)
    if (!value.constant &&
        std::find(graph.inputs.begin(), graph.inputs.end(), &value - graph.values.data()) == graph.inputs.end())
      value.type.shape.reset();
  for (const ValueId id : graph.inputs) {
    Value& value = graph.value(id);
    for (std::int64_t& size : *value.type.shape)
      if (random.one_in(2)) size = -1;
    value.dim_names.assign(value.type.shape->size(), "");
  }
  infer_types(graph);
  return graph;
}

bool close(double a, double b, double largest, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= tolerance * std::max(1.0, largest);
}

std::string difference(const Tensor& found, const Tensor& expected, double tolerance) {
  if (found.dtype() != expected.dtype() || found.shape() != expected.shape())
    return to_text(ValueType{found.dtype(), found.shape()}) + " instead of " +
           to_text(ValueType{expected.dtype(), expected.shape()});
  const auto x = reference::load_all<double>(found), y = reference::load_all<double>(expected);
  double largest = 0;
  for (const double value : y) largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!close(x[i], y[i], largest, tolerance)) return fmt::format("element {} is {}, expected {}", i, x[i], y[i]);
  return {};
}

/// The results of every schedule, or nothing when the engine refuses the graph.
void check_runs(const Graph& graph, const std::vector<Tensor>& inputs, const std::vector<Tensor>& expected,
                double tolerance) {
  std::vector<Tensor> first;
  for (const Run& each : kRuns) {
    const PlanOptions options{each.schedule, tolerance == 0 ? Math::exact : Math::fast, each.threads, 0};
    const std::vector<Tensor> found = test::run(graph, options, kernels::usable_features(), inputs);
    const std::string label = fmt::format("schedule {}, {} threads: ", static_cast<int>(each.schedule), each.threads);
    if (first.empty()) {
      first = found;
      for (std::size_t i = 0; i < found.size(); ++i)
        if (const std::string text = difference(found[i], expected[i], tolerance); !text.empty())
          throw Failure(label + "output " + std::to_string(i) + " against the reference: " + text + "\n" +
                        to_text(graph));
    } else if (!test::same_bits(found, first)) {
      throw Failure(label + "other bits than layers on one thread\n" + to_text(graph));
    }
  }
}

/// The graph as it is, then with open dimensions that are bound to other sizes (zero among them).
void check_graph(const Graph& graph, double tolerance, Random& random) {
  std::vector<Shape> shapes;
  for (const ValueId id : graph.inputs) shapes.push_back(graph.value(id).type.static_shape());
  const auto seed = static_cast<std::uint32_t>(random.bits());
  const auto inputs = inputs_of(graph, shapes, seed);
  check_runs(graph, inputs, reference::evaluate(graph, test::views_of(inputs)), tolerance);

  Graph open = opened(graph, random);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Shape& declared = *open.value(open.inputs[i]).type.shape;
    for (std::size_t axis = 0; axis < declared.size(); ++axis)
      if (declared[axis] < 0 && random.one_in(4)) shapes[i][axis] = static_cast<std::int64_t>(random.below(4));
  }
  const auto others = inputs_of(open, shapes, seed);
  Graph optimized = open;
  optimize(optimized);
  Graph bound;
  try {
    bound = bind_shapes(open, shapes);
  } catch (const Error& error) {  // sizes that do not fit together
    check_refusal(error);
    return;
  }
  const auto expected = reference::evaluate(bound, test::views_of(others));
  bound = bind_shapes(optimized, shapes);
  optimize(bound);
  check_runs(bound, others, expected, tolerance);
}

/// In bytes, which are the reference's.
Graph quantised_graph(std::uint32_t seed, Random& random, double& tolerance) {
  const auto below = [&](unsigned count) { return static_cast<std::int64_t>(random.below(count)); };
  const Shape shape{below(3), 1 + below(40), 1 + below(16), 1 + below(16)};
  const DType type = random.one_in(2) ? DType::u8 : DType::i8;
  tolerance = 0;
  return test::in_bytes(test::random_quantised(seed, type, shape, 1 + static_cast<int>(below(6))));
}

Graph random_graph(Random& random, double& tolerance) {
  const auto seed = static_cast<std::uint32_t>(random.bits());
  tolerance = kTolerance;
  switch (random.below(4)) {
    case 0: return test::random_network(seed);
    case 1: return test::RandomOperators(seed, Arithmetic::smooth).grow();
    case 2: return quantised_graph(seed, random, tolerance);
    default: tolerance = 0; return test::RandomOperators(seed, Arithmetic::exact).grow();
  }
}

/// The bytes are numbers that the graph is drawn by.
void check(std::string_view bytes) {
  std::uint64_t seed = 0;
  std::memcpy(&seed, bytes.data(), std::min(bytes.size(), sizeof(seed)));
  Random random(seed, 0);
  double tolerance = 0;
  try {
    const Graph graph = random_graph(random, tolerance);
    check_graph(graph, tolerance, random);
  } catch (const Error& error) {
    check_refusal(error);
  }
}

}  // namespace

Target graph_target() {
  return {"graph",
          [](Random& random) {
            const std::uint64_t seed = random.bits();
            return std::string(reinterpret_cast<const char*>(&seed), sizeof(seed));
          },
          check};
}

}  // namespace colonnade::fuzz
