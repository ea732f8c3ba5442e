// SPDX-License-Identifier: Apache-2.0
// Walks over the models beside the checkout: they import, bind, optimise and verify; prints what is left of them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "frontends/onnx/onnx.hpp"
#include "passes/graphs.hpp"
#include "passes/passes.hpp"
#include "support/shared.hpp"

namespace colonnade::test {
namespace {

namespace fs = std::filesystem;

constexpr double kMaxFlop = 30e6;

struct Summary {
  int transposes = 0;
  int inner_transposes = 0;  ///< neither reads a graph input nor makes a graph output
  std::map<std::string, int> operators;
};

Summary summary_of(const Graph& graph) {
  Summary summary;
  const auto among = [](const std::vector<ValueId>& ids, ValueId id) {
    return std::count(ids.begin(), ids.end(), id) > 0;
  };
  for (const Node& node : graph.nodes) {
    ++summary.operators[name_of(node.op)];
    if (!std::holds_alternative<Transpose>(node.op)) continue;
    ++summary.transposes;
    if (!among(graph.inputs, node.inputs[0]) && !among(graph.outputs, node.outputs[0])) ++summary.inner_transposes;
  }
  return summary;
}

std::vector<Shape> shapes_for(const Graph& graph, const nlohmann::json& suggested) {
  std::vector<Shape> shapes;
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    if (suggested.contains(value.name) && suggested[value.name].is_array()) {
      shapes.push_back(suggested[value.name].get<Shape>());
      continue;
    }
    Shape shape = value.type.shape.value_or(Shape{});
    for (std::int64_t& size : shape) size = size < 0 ? 1 : size;
    shapes.push_back(shape);
  }
  return shapes;
}

/// The reference implementation evaluates it in a fraction of a second.
bool is_small(const Graph& graph) {
  double flop = 0;
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.outputs) {
      if (id != kAbsent && !graph.value(id).type.is_static()) return false;
    }
    flop += flop_of(graph, node);
  }
  return flop < kMaxFlop;
}

void walk(const std::string& family) {
  const fs::path models = shared_folder() / "models";
  std::ifstream file(models / "manifest.json");
  if (!file) GTEST_SKIP() << "no models beside the checkout";
  const nlohmann::json manifest = nlohmann::json::parse(file);
  for (const auto& entry : manifest) {
    const std::string name = entry["file"];
    if (name.rfind(family + "/", 0) != 0) continue;
    SCOPED_TRACE(name);
    Graph graph;
    try {
      const Graph imported = onnx_import::import_file((models / name).string());
      graph =
          bind_shapes(imported, shapes_for(imported, entry.value("suggested_input_shapes", nlohmann::json::object())));
    } catch (const Error& error) {
      std::cout << name << ": not imported: " << error.what() << "\n";
      continue;
    }
    const Summary before = summary_of(graph);
    const std::size_t nodes = graph.nodes.size();
    double milliseconds = 0;
    PassOptions options;
    options.observer = [&](const PassTrace& trace, const Graph&) { milliseconds += trace.milliseconds; };
    const auto signature = [](const Graph& g) {
      std::string text;
      for (const ValueId id : g.inputs)
        text += g.value(id).name + " " + std::string(name_of(g.value(id).type.dtype)) + "\n";
      for (const ValueId id : g.outputs)
        text += g.value(id).name + " " + std::string(name_of(g.value(id).type.dtype)) + "\n";
      return text;
    };
    const std::string interface = signature(graph);
    const Graph bound = graph;
    ASSERT_NO_THROW(optimize(graph, options)) << name;
    ASSERT_NO_THROW(verify(graph));
    expect_settled(graph);
    EXPECT_EQ(interface, signature(graph));
    const Summary after = summary_of(graph);
    EXPECT_LE(after.transposes, before.transposes);
    if (is_small(graph)) expect_same_results(bound, graph, 1, 1e-3);
    std::cout << name << ": nodes " << nodes << " -> " << graph.nodes.size() << ", transposes " << before.transposes
              << " -> " << after.transposes << " (" << after.inner_transposes << " inside), inputs + outputs "
              << graph.inputs.size() + graph.outputs.size() << ", " << static_cast<int>(milliseconds) << " ms"
              << (is_small(graph) ? ", compared\n" : "\n");
    if (std::getenv("COLONNADE_PRINT_MODELS") != nullptr) std::cout << to_text(graph);
  }
}

TEST(Models, VisionOptimizes) { walk("vision"); }
TEST(Models, AudioOptimizes) { walk("audio"); }
TEST(Models, TextOptimizes) { walk("text"); }

}  // namespace
}  // namespace colonnade::test
