// SPDX-License-Identifier: Apache-2.0
#include "passes/editor.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace colonnade::rewrite {
namespace {

/// Empty lists of an earlier editor: a pass makes one or more of a list a value, and there are many passes.
thread_local std::vector<std::vector<int>> spare_lists;

}  // namespace

Editor::Editor(Graph& graph) : graph_(graph), readers_(std::exchange(spare_lists, {})) {
  grow();
  for (const ValueId id : graph_.outputs) is_output_[at(id)] = 1;
  for (int index = 0; index < node_count(); ++index) link(index);
  place_.resize(graph_.nodes.size());
  std::iota(place_.begin(), place_.end(), 0);
}

Editor::~Editor() {
  for (std::size_t id = 0; id < producer_.size(); ++id) readers_[id].clear();
  spare_lists = std::move(readers_);
}

void Editor::grow() {
  producer_.resize(graph_.values.size(), -1);
  if (readers_.size() < graph_.values.size()) readers_.resize(graph_.values.size());
  is_output_.resize(graph_.values.size(), 0);
}

void Editor::link(int index) {
  for (const ValueId id : node(index).inputs) {
    if (id != kAbsent) readers_[at(id)].push_back(index);
  }
  for (const ValueId id : node(index).outputs) {
    if (id != kAbsent) producer_[at(id)] = index;
  }
}

void Editor::unlink(ValueId id, int reader) {
  auto& list = readers_[at(id)];
  list.erase(std::find(list.begin(), list.end(), reader));
}

bool Editor::alive(int index) const {
  const auto& outputs = node(index).outputs;
  return std::any_of(outputs.begin(), outputs.end(), [](ValueId id) { return id != kAbsent; });
}

int Editor::producer(ValueId id) const { return id == kAbsent ? -1 : producer_[at(id)]; }

ValueId Editor::add_value(std::string name_hint, ValueType type) {
  if (names_.empty())
    for (const Value& its : graph_.values) names_.insert(its.name);
  const auto taken = [this](const std::string& name) { return names_.has(name); };
  const ValueId id = graph_.add_value(std::move(name_hint), std::move(type), taken);
  names_.insert(value(id).name);
  grow();
  return id;
}

ValueId Editor::add(Operator op, std::vector<ValueId> inputs, const Node& like) {
  Node node{std::move(op), std::move(inputs), {}, like.name, like.origin};
  node.outputs.assign(1, kAbsent);
  ValueType type = infer_types(graph_, node).at(0);
  node.outputs[0] = add_value(node.name, std::move(type));
  const ValueId result = node.outputs[0];
  add_node(std::move(node));
  return result;
}

int Editor::add_node(Node node) {
  changed_ = true;
  graph_.nodes.push_back(std::move(node));
  place_.push_back(node_count() - 1);
  link(node_count() - 1);
  return node_count() - 1;
}

ValueId Editor::add_constant(std::string name_hint, Tensor tensor) {
  return add_constant(std::move(name_hint), std::make_shared<const Constant>(std::move(tensor)));
}

ValueId Editor::add_constant(std::string name_hint, std::shared_ptr<const Constant> constant) {
  const ValueId id = add_value(std::move(name_hint), ValueType{constant->dtype(), constant->shape()});
  graph_.value(id).constant = std::move(constant);
  return id;
}

ValueId Editor::add_ints(std::string name_hint, const Ints& values) {
  return add_constant(std::move(name_hint), tensor_of(values));
}

void Editor::redirect_readers(ValueId from, ValueId to) {
  for (const int reader : readers_[at(from)]) {
    auto& inputs = graph_.nodes[at(reader)].inputs;
    *std::find(inputs.begin(), inputs.end(), from) = to;
    readers_[at(to)].push_back(reader);
  }
  readers_[at(from)].clear();
}

void Editor::detach(ValueId id) {
  const int index = producer(id);
  if (index < 0) return;
  auto& outputs = graph_.nodes[at(index)].outputs;
  *std::find(outputs.begin(), outputs.end(), id) = kAbsent;
  producer_[at(id)] = -1;
  if (!alive(index)) set_inputs(index, {});
}

bool Editor::needs_identity(ValueId old, ValueId with) const {
  return is_output(old) && (is_output(with) || producer(with) < 0);
}

void Editor::replace(ValueId old, ValueId with) {
  if (old == with) return;
  changed_ = true;
  const bool identity = needs_identity(old, with);
  if (const int taken = producer(old), taker = producer(with); taken >= 0 && taker >= 0) {
    place_[at(taker)] = std::min(place_[at(taker)], place_[at(taken)]);
  }
  detach(old);
  if (!is_output(old)) return redirect_readers(old, with);
  if (identity) {
    redirect_readers(old, with);
    const int source = producer(with);
    const std::string name = source < 0 ? graph_.value(old).name : node(source).name;
    add_node(Node{Unary{UnaryKind::identity, 0, 0}, {with}, {old}, name, "Identity"});
    return;
  }
  redirect_readers(with, old);
  if (!graph_.value(old).type.is_static()) graph_.value(old).type = graph_.value(with).type;
  const int source = producer(with);
  auto& outputs = graph_.nodes[at(source)].outputs;
  *std::find(outputs.begin(), outputs.end(), with) = old;
  producer_[at(with)] = -1;
  producer_[at(old)] = source;
}

void Editor::set_op(int index, Operator op) {
  changed_ = true;
  graph_.nodes[at(index)].op = std::move(op);
}

void Editor::set_inputs(int index, std::vector<ValueId> inputs) {
  changed_ = true;
  for (const ValueId id : node(index).inputs) {
    if (id != kAbsent) unlink(id, index);
  }
  for (const ValueId id : inputs) {
    if (id != kAbsent) readers_[at(id)].push_back(index);
  }
  graph_.nodes[at(index)].inputs = std::move(inputs);
}

void Editor::set_constant(ValueId id, Tensor tensor) {
  set_constant(id, std::make_shared<const Constant>(std::move(tensor)));
}

void Editor::set_constant(ValueId id, std::shared_ptr<const Constant> constant) {
  if (is_output(id)) return replace(id, add_constant(graph_.value(id).name, std::move(constant)));
  changed_ = true;
  detach(id);
  Value& value = graph_.value(id);
  value.type = ValueType{constant->dtype(), constant->shape()};
  value.constant = std::move(constant);
}

void Editor::set_type(ValueId id, ValueType type) {
  changed_ = true;
  graph_.value(id).type = std::move(type);
}

void Editor::set_output(int index, std::size_t slot, ValueId id) {
  changed_ = true;
  auto& outputs = graph_.nodes[at(index)].outputs;
  if (outputs[slot] != kAbsent) producer_[at(outputs[slot])] = -1;
  outputs[slot] = id;
  if (id != kAbsent) producer_[at(id)] = index;
}

std::vector<char> Editor::needed_nodes() const {
  std::vector<char> needed(graph_.nodes.size(), 0);
  std::vector<ValueId> open(graph_.outputs);
  while (!open.empty()) {
    const int index = producer(open.back());
    open.pop_back();
    if (index < 0 || needed[at(index)]) continue;
    needed[at(index)] = 1;
    const auto& inputs = node(index).inputs;
    open.insert(open.end(), inputs.begin(), inputs.end());
  }
  return needed;
}

std::vector<int> Editor::places() const {
  std::vector<int> order(graph_.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  if (!std::is_sorted(place_.begin(), place_.end()))
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return place_[at(a)] < place_[at(b)]; });
  return order;
}

/// Every node that is needed comes behind what makes its inputs.
bool Editor::is_in_order(const std::vector<int>& order, const std::vector<char>& needed) const {
  std::vector<char> passed(order.size(), 0);
  for (const int index : order) {
    if (!needed[at(index)]) continue;
    for (const ValueId id : node(index).inputs) {
      const int source = producer(id);
      if (source >= 0 && !passed[at(source)]) return false;
    }
    passed[at(index)] = 1;
  }
  return true;
}

void Editor::keep(const std::vector<int>& order, const std::vector<char>& needed) {
  const bool all_stay = std::all_of(needed.begin(), needed.end(), [](char is_needed) { return is_needed != 0; });
  if (all_stay && std::is_sorted(order.begin(), order.end())) return;
  std::vector<Node> kept;
  kept.reserve(order.size());
  for (const int index : order)
    if (needed[at(index)]) kept.push_back(std::move(graph_.nodes[at(index)]));
  graph_.nodes = std::move(kept);
}

bool Editor::finish() {
  if (!changed_) return false;
  const std::vector<char> needed = needed_nodes();
  const std::vector<int> order = places();
  if (is_in_order(order, needed)) {
    keep(order, needed);
    return true;
  }
  enum class Mark : char { fresh, open, done };
  std::vector<Mark> marks(graph_.nodes.size(), Mark::fresh);
  std::vector<Node> sorted;
  std::vector<int> stack;
  for (const int first : order) {
    if (needed[at(first)] && marks[at(first)] == Mark::fresh) stack.push_back(first);
    while (!stack.empty()) {
      const int index = stack.back();
      if (marks[at(index)] != Mark::fresh) {
        stack.pop_back();
        if (marks[at(index)] == Mark::open) sorted.push_back(std::move(graph_.nodes[at(index)]));
        marks[at(index)] = Mark::done;
        continue;
      }
      marks[at(index)] = Mark::open;
      for (auto id = node(index).inputs.rbegin(); id != node(index).inputs.rend(); ++id) {
        const int source = producer(*id);
        if (source < 0 || marks[at(source)] == Mark::done) continue;
        if (marks[at(source)] == Mark::open) {
          fail(ErrorCode::internal, "pass made a cycle through node '{}'", node(index).name);
        }
        stack.push_back(source);
      }
    }
  }
  graph_.nodes = std::move(sorted);
  return true;
}

}  // namespace colonnade::rewrite
