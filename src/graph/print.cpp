// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "graph/graph.hpp"
#include "graph/text.hpp"

namespace colonnade {
namespace {

constexpr std::int64_t kPrintedElements = 8;

std::string_view short_name(DType dtype) {
  switch (dtype) {
    case DType::undefined: return "?";
    case DType::f32: return "f32";
    case DType::f64: return "f64";
    case DType::f16: return "f16";
    case DType::bf16: return "bf16";
    case DType::i8: return "i8";
    case DType::i16: return "i16";
    case DType::i32: return "i32";
    case DType::i64: return "i64";
    case DType::u8: return "u8";
    case DType::u16: return "u16";
    case DType::u32: return "u32";
    case DType::u64: return "u64";
    case DType::boolean: return "bool";
    case DType::string: return "string";
    case DType::f8e4m3fn: return "f8e4m3fn";
    case DType::f8e4m3fnuz: return "f8e4m3fnuz";
    case DType::f8e5m2: return "f8e5m2";
    case DType::f8e5m2fnuz: return "f8e5m2fnuz";
    case DType::f8e8m0: return "f8e8m0";
    case DType::f6e2m3: return "f6e2m3";
    case DType::f6e3m2: return "f6e3m2";
    case DType::f4e2m1: return "f4e2m1";
    case DType::i4: return "i4";
    case DType::u4: return "u4";
    case DType::i2: return "i2";
    case DType::u2: return "u2";
    case DType::c64: return "c64";
    case DType::c128: return "c128";
  }
  return "?";
}

bool plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_./:-").find(c) != std::string_view::npos;
}

std::string reference_to(const Graph& graph, ValueId id) {
  if (id == kAbsent) return "_";
  const Value& value = graph.value(id);
  return fmt::format("%{}", value.name.empty() ? std::to_string(id) : quoted(value.name));
}

std::string typed(const Graph& graph, ValueId id) {
  return id == kAbsent ? "_" : reference_to(graph, id) + " " + to_text(graph.value(id).type);
}

std::string joined(const Graph& graph, const std::vector<ValueId>& ids, std::string (*print)(const Graph&, ValueId)) {
  std::string text;
  for (const ValueId id : ids) text += (text.empty() ? "" : ", ") + print(graph, id);
  return text;
}

std::string symbols_of(const Value& value) {
  const bool any =
      std::any_of(value.dim_names.begin(), value.dim_names.end(), [](const auto& s) { return !s.empty(); });
  if (!any) return "";
  std::vector<std::string> symbols;
  for (const std::string& symbol : value.dim_names) symbols.push_back(symbol.empty() ? "_" : quoted(symbol));
  return fmt::format(" dims={}", fmt::join(symbols, ","));
}

std::string elements_of(const Constant& constant) {
  if (constant.size() > kPrintedElements) return "";
  const auto held = constant.tensor();
  const Tensor& tensor = *held;
  if (tensor.dtype() == DType::i64) return fmt::format(" = [{}]", fmt::join(tensor.values<std::int64_t>(), ","));
  if (tensor.dtype() == DType::f32) return fmt::format(" = [{}]", fmt::join(tensor.values<float>(), ","));
  return "";
}

std::string line_of(const Graph& graph, const Node& node) {
  const std::string attributes = attributes_of(node.op);
  return fmt::format("{} = {}({}){}{} # {}\n", joined(graph, node.outputs, typed), name_of(node.op),
                     joined(graph, node.inputs, reference_to), attributes.empty() ? "" : " ", attributes,
                     quoted(node.name));
}

std::string indented(const std::string& text) {
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin) + 1;
    result += "  " + text.substr(begin, end - begin);
    begin = end;
  }
  return result;
}

}  // namespace

std::string quoted(const std::string& text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string result = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7f) {
      result += fmt::format("\\x{:02x}", code);
    } else {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
  }
  return result + '"';
}

std::string to_text(const ValueType& type) {
  if (!type.is_tensor()) {
    constexpr std::string_view kNames[] = {"seq", "optional", "map(int64)", "map(string)"};
    ValueType inner = type;
    inner.containers.erase(inner.containers.begin());
    return fmt::format("{}({})", kNames[static_cast<std::size_t>(type.containers.front())], to_text(inner));
  }
  if (!type.shape) return fmt::format("{}[*]", short_name(type.dtype));
  std::string dims;
  for (const std::int64_t dim : *type.shape) {
    if (!dims.empty()) dims += ',';
    dims += dim < 0 ? "?" : std::to_string(dim);
  }
  return fmt::format("{}[{}]", short_name(type.dtype), dims);
}

std::string to_text(const Graph& graph) {
  std::string text = fmt::format("graph {}\n", quoted(graph.name));
  for (const ValueId id : graph.inputs) {
    text += fmt::format("input {}{}\n", typed(graph, id), symbols_of(graph.value(id)));
  }
  for (std::size_t id = 0; id < graph.values.size(); ++id) {
    const Value& value = graph.values[id];
    if (!value.constant) continue;
    text += fmt::format("constant {}{}\n", typed(graph, static_cast<ValueId>(id)), elements_of(*value.constant));
  }
  for (const Node& node : graph.nodes) {
    text += line_of(graph, node);
    for (const Body& body : bodies_of(node.op)) text += indented(to_text(*body));
  }
  for (const ValueId id : graph.outputs) text += fmt::format("output {}\n", reference_to(graph, id));
  return text;
}

}  // namespace colonnade
