// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "frontends/onnx/node.hpp"

namespace colonnade::onnx_import {
namespace {

using Producers = std::unordered_map<std::string_view, std::size_t>;

Producers producers_of(const std::vector<OnnxNode>& nodes, const std::unordered_set<std::string_view>& given) {
  Producers producers;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const auto& output : nodes[i].outputs) {
      if (output.empty()) continue;
      if (given.contains(output)) {
        fail(ErrorCode::invalid_model, "{}: output '{}' is already an input or initializer of the graph",
             nodes[i].label(), printable(output));
      }
      const auto [other, is_new] = producers.emplace(output, i);
      if (!is_new) {
        fail(ErrorCode::invalid_model, "{}: output '{}' is already produced by {}", nodes[i].label(), printable(output),
             nodes[other->second].label());
      }
    }
  }
  return producers;
}

/// Writers that patch a model append Constant nodes under names that others have: of several the last one counts.
std::vector<OnnxNode> without_replaced_constants(std::vector<OnnxNode> nodes) {
  std::unordered_set<std::string> names;
  std::vector<OnnxNode> kept;
  kept.reserve(nodes.size());
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    const bool is_constant = node->op_type == "Constant" && node->domain == kOnnxDomain && node->outputs.size() == 1;
    if (!is_constant || names.insert(node->outputs.front()).second) kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

}  // namespace

std::vector<OnnxNode> sort_nodes(std::vector<OnnxNode> nodes, const std::vector<std::string>& given) {
  nodes = without_replaced_constants(std::move(nodes));
  const std::unordered_set<std::string_view> known(given.begin(), given.end());
  const Producers producers = producers_of(nodes, known);
  std::vector<std::size_t> waits_for(nodes.size(), 0);
  std::vector<std::vector<std::size_t>> readers(nodes.size());
  const auto wait = [&](std::size_t reader, const std::string& name, std::string_view what) {
    if (name.empty() || known.contains(name)) return;
    const auto producer = producers.find(name);
    if (producer == producers.end()) {
      fail(ErrorCode::invalid_model, "{}: {} '{}' is not defined", nodes[reader].label(), what, printable(name));
    }
    readers[producer->second].push_back(reader);
    ++waits_for[reader];
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const auto& input : nodes[i].inputs) wait(i, input, "input");
    for (const auto& capture : nodes[i].captures) wait(i, capture, "captured value");
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (waits_for[i] == 0) ready.push(i);
  }
  std::vector<std::size_t> order;
  order.reserve(nodes.size());
  while (!ready.empty()) {
    const std::size_t index = ready.top();
    ready.pop();
    order.push_back(index);
    for (const std::size_t reader : readers[index]) {
      if (--waits_for[reader] == 0) ready.push(reader);
    }
  }
  if (order.size() < nodes.size()) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (waits_for[i] > 0) fail(ErrorCode::invalid_model, "{}: is part of or behind a cycle", nodes[i].label());
    }
  }
  std::vector<OnnxNode> sorted;
  sorted.reserve(nodes.size());
  for (const std::size_t index : order) sorted.push_back(std::move(nodes[index]));
  return sorted;
}

std::vector<bool> reachable(const std::vector<OnnxNode>& nodes, const std::vector<std::string>& wanted) {
  std::unordered_set<std::string_view> needed(wanted.begin(), wanted.end());
  std::vector<bool> used(nodes.size(), false);
  for (std::size_t i = nodes.size(); i-- > 0;) {
    for (const auto& output : nodes[i].outputs) used[i] = used[i] || (!output.empty() && needed.contains(output));
    if (!used[i]) continue;
    needed.insert(nodes[i].inputs.begin(), nodes[i].inputs.end());
    needed.insert(nodes[i].captures.begin(), nodes[i].captures.end());
  }
  return used;
}

}  // namespace colonnade::onnx_import
