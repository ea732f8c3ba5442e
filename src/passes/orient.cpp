// SPDX-License-Identifier: Apache-2.0
// Kernels are fast on rows of many pixels and on images of many rows. Which axis of a tensor is which is the exporter's
// choice, so that it is changed where operators between two Reshapes allow it.
#include "passes/orient.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "graph/windows.hpp"
#include "passes/layout_ops.hpp"
#include "passes/match.hpp"
#include "passes/pass_list.hpp"
#include "passes/permutation.hpp"

namespace colonnade::rewrite {
namespace {

const Ints kToLast{0, 2, 3, 1}, kToFirst{0, 3, 1, 2};

bool is_transpose(const Editor& editor, int index, const Ints& perm) {
  const auto* op = index < 0 ? nullptr : std::get_if<Transpose>(&editor.node(index).op);
  return op != nullptr && op->perm == perm;
}

const Shape& shape_of(const Editor& editor, ValueId id) { return *editor.value(id).type.shape; }

/// Changes the shapes of a group's values.
class Relay {
 public:
  Relay(Editor& editor, const AxisGroup& group, const AxisRule& rule) : editor_(editor), group_(group), rule_(rule) {}

  void run() {
    for (const int index : group_.nodes) {
      Node node = editor_.node(index);
      const std::vector<std::size_t> members = *rule_.members(editor_, node);
      std::vector<ValueId> inputs = node.inputs;
      rule_.adapt(editor_, node);
      for (const std::size_t member : members) node.inputs[member] = relaid(inputs[member], node);
      made_[node.outputs[0]] = editor_.add(node.op, node.inputs, node);
    }
    for (const int index : group_.nodes) hand_out(index);
  }

 private:
  ValueId relaid(ValueId id, const Node& like) {
    const auto found = made_.find(id);
    if (found != made_.end()) return found->second;
    const int producer = editor_.producer(id);
    ValueId result = kAbsent;
    if (rule_.planes != nullptr && is_transpose(editor_, producer, kToLast)) {
      const ValueId planes = editor_.node(producer).inputs[0];
      const Shape shape = rule_.planes(shape_of(editor_, planes));
      result = editor_.add(Transpose{kToLast}, {*add_reshape(editor_, planes, shape, like)}, like);
    } else {
      result = *add_reshape(editor_, id, rule_.shape(shape_of(editor_, id)), like);
    }
    return made_[id] = result;
  }

  /// Readers outside the group get the value as it was.
  void hand_out(int index) {
    const Node node = editor_.node(index);
    const ValueId old = node.outputs[0], made = made_.at(old);
    const auto outside = [&](int reader) { return editor_.alive(reader) && !group_.contains(reader); };
    const std::vector<int> readers = editor_.readers(old);
    if (rule_.planes != nullptr) {
      for (const int reader : readers) {
        if (!editor_.alive(reader) || !is_transpose(editor_, reader, kToFirst)) continue;
        const ValueId planes = editor_.node(reader).outputs[0];
        const ValueId result = editor_.add(Transpose{kToFirst}, {made}, node);
        editor_.replace(planes, *add_reshape(editor_, result, Shape(shape_of(editor_, planes)), node));
      }
    }
    if (editor_.is_output(old) || std::any_of(readers.begin(), readers.end(), outside))
      editor_.replace(old, *add_reshape(editor_, made, Shape(shape_of(editor_, old)), node));
  }

  Editor& editor_;
  const AxisGroup& group_;
  const AxisRule& rule_;
  std::map<ValueId, ValueId> made_;
};

std::vector<AxisGroup> find_groups(const Editor& editor, const AxisRule& rule) {
  std::vector<ValueId> parent(editor.graph().values.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto find = [&](ValueId id) {
    while (parent[at(id)] != id) id = parent[at(id)] = parent[at(parent[at(id)])];
    return id;
  };
  std::vector<int> nodes;
  for (int index = 0; index < editor.node_count(); ++index) {
    const Node& node = editor.node(index);
    const auto members = rule.members(editor, node);
    if (!members || members->empty()) continue;
    nodes.push_back(index);
    for (const std::size_t member : *members) parent[at(find(node.inputs[member]))] = find(node.outputs[0]);
  }
  std::map<ValueId, AxisGroup> groups;
  for (const int index : nodes) groups[find(editor.node(index).outputs[0])].nodes.push_back(index);
  std::vector<AxisGroup> result;
  for (auto& [root, group] : groups) result.push_back(std::move(group));
  return result;
}

bool apply(Graph& graph, const AxisRule& rule) {
  Editor editor(graph);
  for (const AxisGroup& group : find_groups(editor, rule))
    if (rule.pays(editor, group)) Relay(editor, group, rule).run();
  return editor.finish();
}

}  // namespace

bool AxisGroup::contains(int node) const { return std::binary_search(nodes.begin(), nodes.end(), node); }

bool orient(Graph& graph) {
  const bool laid = apply(graph, kLaidDown), joined = apply(graph, kJoined);
  return apply(graph, kStood) || joined || laid;
}

}  // namespace colonnade::rewrite
