// SPDX-License-Identifier: Apache-2.0
// Nodes without effect, moves that follow each other, and what is computed twice.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/lists.hpp"
#include "frontends/onnx/draft_messages.hpp"

namespace colonnade::onnx_import {
namespace {

constexpr std::int64_t kFirstBroadcasting = 7;  ///< opset from which operators of two values broadcast
constexpr std::int64_t kMaskedDropout = 7;      ///< opset from which a Dropout says nothing of training
constexpr std::size_t kLargestMerged = 16384;

bool is_any(const DraftNodes& nodes, int index, std::initializer_list<std::string_view> ops) {
  return std::any_of(ops.begin(), ops.end(), [&](std::string_view op) { return nodes.is(index, op); });
}

std::optional<Ints> permutation(const onnx::NodeProto& node) {
  const auto* perm = attribute_named(node, "perm");
  return perm == nullptr ? std::nullopt : std::optional(Ints(perm->ints().begin(), perm->ints().end()));
}

/// Drops nothing as it is run.
bool is_idle_dropout(DraftNodes& nodes, int index) {
  const auto& node = nodes.node(index);
  if (!nodes.is(index, "Dropout") || nodes.opset() < kMaskedDropout) return false;
  if (node.output_size() > 1 && !node.output(1).empty()) return false;
  if (node.input_size() < 3 || node.input(2).empty()) return true;
  const auto training = nodes.tensor(node.input(2));
  return training && training->size() == 1 && training->values<std::uint8_t>()[0] == 0;
}

/// A scalar that changes nothing as the right operand, the left one too where the order is of no account.
bool is_neutral(DraftNodes& nodes, int index, int slot) {
  const bool is_sum = is_any(nodes, index, {"Add", "Sub"}), is_product = is_any(nodes, index, {"Mul", "Div"});
  if ((!is_sum && !is_product) || nodes.opset() < kFirstBroadcasting) return false;
  if (slot == 0 && !is_any(nodes, index, {"Add", "Mul"})) return false;
  const auto& node = nodes.node(index);
  const Constant* constant = nodes.constant(node.input(slot));
  if (constant == nullptr || constant->size() != 1 || constant->dtype() == DType::string) return false;
  if (!nodes.same_type(node.input(1 - slot), node.output(0))) return false;
  return constant->tensor()->converted(DType::f64).values<double>()[0] == (is_sum ? 0.0 : 1.0);
}

bool is_without_effect(DraftNodes& nodes, int index) {
  const auto& node = nodes.node(index);
  if (nodes.is(index, "Identity")) return true;
  if (is_any(nodes, index, {"Concat", "Sum", "Max", "Min", "Mean"})) return node.input_size() == 1;
  if (nodes.is(index, "Cast")) {
    const ValueType* from = nodes.type(node.input(0));
    return from != nullptr && from->is_tensor() && data_type_of(from->dtype) == int_of(node, "to", 0);
  }
  if (nodes.is(index, "Transpose")) {
    const auto perm = permutation(node);
    return perm && std::is_sorted(perm->begin(), perm->end());
  }
  if (is_any(nodes, index, {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand"}))
    return nodes.same_type(node.input(0), node.output(0));
  return is_idle_dropout(nodes, index);
}

bool merge_transposes(DraftNodes& nodes, int index) {
  const std::string between = nodes.node(index).input(0);
  const int before = nodes.producer(between);
  if (before < 0 || !nodes.is(before, "Transpose")) return false;
  const auto first = permutation(nodes.node(before)), second = permutation(nodes.node(index));
  if (!first || !second || first->size() != second->size()) return false;
  auto* perm = const_cast<onnx::AttributeProto*>(attribute_named(nodes.node(index), "perm"));
  for (int i = 0; i < perm->ints_size(); ++i)
    perm->set_ints(i, (*first)[static_cast<std::size_t>((*second)[static_cast<std::size_t>(i)])]);
  nodes.set_input(index, 0, nodes.node(before).input(0));
  return true;
}

/// What a Reshape to sizes that take nothing of its input reads needs no shape of its own.
bool skip_reshape(DraftNodes& nodes, int index) {
  if (nodes.node(index).input_size() < 2) return false;
  const int before = nodes.producer(nodes.node(index).input(0));
  if (before < 0 || !is_any(nodes, before, {"Reshape", "Flatten", "Squeeze", "Unsqueeze"})) return false;
  const auto shape = nodes.tensor(nodes.node(index).input(1));
  if (!shape || shape->dtype() != DType::i64) return false;
  const auto sizes = shape->values<std::int64_t>();
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return false;
  nodes.set_input(index, 0, nodes.node(before).input(0));
  return true;
}

/// Nothing that draws numbers, keeps a state or is unknown.
bool gives_the_same(const onnx::NodeProto& node, const std::unordered_set<std::string>& functions) {
  static constexpr std::array<std::string_view, 3> kDomains = {kOnnxDomain, kMlDomain, kMicrosoftDomain};
  static constexpr std::array<std::string_view, 5> kDrawing = {"Random", "Dropout", "Bernoulli", "Multinomial",
                                                               "Sampling"};
  const auto domain = canonical_domain(node.domain());
  const bool draws = std::any_of(kDrawing.begin(), kDrawing.end(),
                                 [&](std::string_view word) { return node.op_type().find(word) != std::string::npos; });
  return std::find(kDomains.begin(), kDomains.end(), domain) != kDomains.end() && !draws && !has_bodies(node) &&
         !functions.contains(node.op_type());
}

std::string key_of(const onnx::NodeProto& node) {
  std::vector<std::string> attributes;
  for (const auto& attribute : node.attribute()) attributes.push_back(attribute.SerializeAsString());
  std::sort(attributes.begin(), attributes.end());
  std::string key = fmt::format("{}\n{}\n{}\n", canonical_domain(node.domain()), node.op_type(), node.output_size());
  for (const auto& input : node.input()) key += input + '\n';
  for (const auto& attribute : attributes) key += fmt::format("{}\n{}", attribute.size(), attribute);
  return key;
}

/// The later node gives way, where all that is read of it is named alike.
bool gives_way(DraftNodes& nodes, int later, int first) {
  const auto outputs = nodes.node(later).output();
  for (int i = 0; i < outputs.size(); ++i) {
    if (nodes.is_protected(outputs.Get(i))) return false;
    if (!outputs.Get(i).empty() && nodes.node(first).output(i).empty()) return false;
  }
  nodes.remove(later);
  for (int i = 0; i < outputs.size(); ++i)
    if (!outputs.Get(i).empty()) nodes.redirect(outputs.Get(i), nodes.node(first).output(i));
  return true;
}

bool merge_constants(DraftNodes& nodes) {
  std::unordered_map<std::string, std::string> first;
  std::vector<std::string> names;
  for (const auto& [name, constant] : nodes.messages().constants)
    if (constant->is_kept() && constant->dtype() != DType::string && constant->byte_size() <= kLargestMerged &&
        nodes.producer(name) < 0 && !nodes.is_protected(name))
      names.push_back(name);
  std::sort(names.begin(), names.end());
  bool changed = false;
  for (const std::string& name : names) {
    const auto tensor = nodes.tensor(name);
    std::string key = fmt::format("{} {}\n", name_of(tensor->dtype()), fmt::join(tensor->shape(), ","));
    key.append(static_cast<const char*>(tensor->data()), tensor->byte_size());
    const auto [at, fresh] = first.try_emplace(std::move(key), name);
    if (fresh) continue;
    nodes.redirect(name, at->second);
    nodes.messages().constants.erase(name);
    changed = true;
  }
  return changed;
}

}  // namespace

bool drop_without_effect(DraftNodes& nodes, int index) {
  const auto& node = nodes.node(index);
  if (node.input_size() == 0 || node.output_size() == 0 || node.input(0).empty()) return false;
  if (is_without_effect(nodes, index)) return nodes.bypass(index, node.input(0));
  for (int slot = 0; slot < 2 && node.input_size() == 2; ++slot)
    if (is_neutral(nodes, index, slot)) return nodes.bypass(index, node.input(1 - slot));
  return false;
}

bool merge_moves(DraftNodes& nodes, int index) {
  if (nodes.is(index, "Transpose")) return merge_transposes(nodes, index);
  return nodes.is(index, "Reshape") && skip_reshape(nodes, index);
}

bool merge_equal(DraftNodes& nodes) {
  bool changed = merge_constants(nodes);
  std::unordered_set<std::string> functions;
  for (const auto& function : nodes.messages().model.functions()) functions.insert(function.name());
  for (const CustomOperator& custom : *nodes.messages().operators) functions.insert(custom.type);
  std::unordered_map<std::string, int> first;
  for (int index = 0; index < nodes.count(); ++index) {
    if (!nodes.alive(index) || !gives_the_same(nodes.node(index), functions)) continue;
    const auto [at, fresh] = first.try_emplace(key_of(nodes.node(index)), index);
    if (!fresh) changed = gives_way(nodes, index, at->second) || changed;
  }
  return changed;
}

}  // namespace colonnade::onnx_import
