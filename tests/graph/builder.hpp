// SPDX-License-Identifier: Apache-2.0
// Small graphs from text: types as to_text prints them, constants by their elements.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <variant>

#include "graph/graph.hpp"

namespace colonnade::test {

inline DType dtype_from(const std::string& text) {
  static const std::map<std::string, DType> kTypes = {
      {"?", DType::undefined}, {"f32", DType::f32}, {"f64", DType::f64},      {"f16", DType::f16},
      {"i8", DType::i8},       {"u8", DType::u8},   {"i16", DType::i16},      {"u16", DType::u16},
      {"i32", DType::i32},     {"i64", DType::i64}, {"bool", DType::boolean}, {"string", DType::string}};
  return kTypes.at(text);
}

/// "f32[1,?,3]" or "f32[*]".
inline ValueType type_from(const std::string& text) {
  const std::size_t open = text.find('[');
  ValueType type{dtype_from(text.substr(0, open)), std::nullopt};
  std::string dims = text.substr(open + 1, text.size() - open - 2);
  if (dims == "*") return type;
  type.shape.emplace();
  while (!dims.empty()) {
    const std::size_t comma = dims.find(',');
    const std::string dim = dims.substr(0, comma);
    type.shape->push_back(dim == "?" ? -1 : std::stoll(dim));
    dims = comma == std::string::npos ? "" : dims.substr(comma + 1);
  }
  return type;
}

inline Tensor tensor_of(const std::vector<float>& values) {
  Tensor tensor(DType::f32, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.values<float>().begin());
  return tensor;
}

struct Absent {};
/// An input: a type, int64 or float elements of a constant vector, or nothing.
using Input = std::variant<std::string, Ints, std::vector<float>, Absent>;

inline Input typed(const char* text) { return std::string(text); }
inline Input ints(Ints values) { return values; }
inline Input floats(std::vector<float> values) { return values; }

inline ValueId add_input(Graph& graph, const Input& input) {
  if (const auto* text = std::get_if<std::string>(&input)) {
    const ValueId id = graph.add_value("x" + std::to_string(graph.values.size()), type_from(*text));
    graph.inputs.push_back(id);
    return id;
  }
  if (const auto* elements = std::get_if<Ints>(&input)) return graph.add_ints("c", *elements);
  if (const auto* elements = std::get_if<std::vector<float>>(&input))
    return graph.add_constant("c", tensor_of(*elements));
  return kAbsent;
}

/// A graph of one node named "n"; types are not inferred yet.
inline Graph single(const Operator& op, const std::vector<Input>& inputs, std::size_t outputs = 1) {
  Graph graph;
  graph.name = "test";
  Node node{op, {}, {}, "n", "Test"};
  for (const Input& input : inputs) node.inputs.push_back(add_input(graph, input));
  for (std::size_t output = 0; output < outputs; ++output) {
    node.outputs.push_back(graph.add_value("y" + std::to_string(output)));
    graph.outputs.push_back(node.outputs.back());
  }
  graph.nodes.push_back(std::move(node));
  return graph;
}

/// Types of the outputs as text, separated by blanks.
inline std::string inferred(const Graph& graph) {
  std::string text;
  for (const ValueType& type : infer_types(graph, graph.nodes.front()))
    text += (text.empty() ? "" : " ") + to_text(type);
  return text;
}

/// The message of the error that `action` throws, with its code; "" when it throws none.
template <class Action>
std::string error_of(const Action& action, ErrorCode code) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
    return error.what();
  }
  return "";
}

/// One line of a table of shape rules: the outputs' types, or a part of the error.
struct RuleCase {
  Operator op;
  std::vector<Input> inputs;
  std::string expected;
  std::size_t outputs = 1;
};

inline void check_rules(const std::vector<RuleCase>& cases) {
  for (std::size_t index = 0; index < cases.size(); ++index) {
    const RuleCase& rule = cases[index];
    SCOPED_TRACE("case " + std::to_string(index) + ": " + name_of(rule.op) + " -> " + rule.expected);
    const Graph graph = single(rule.op, rule.inputs, rule.outputs);
    if (rule.expected.rfind("error: ", 0) != 0) {
      EXPECT_EQ(inferred(graph), rule.expected);
      continue;
    }
    const std::string message = error_of([&] { static_cast<void>(inferred(graph)); }, ErrorCode::invalid_model);
    EXPECT_NE(message.find(rule.expected.substr(7)), std::string::npos) << "message: " << message;
    EXPECT_EQ(message.rfind("node 'n' (" + name_of(rule.op) + "): ", 0), 0u) << "message: " << message;
  }
}

}  // namespace colonnade::test
