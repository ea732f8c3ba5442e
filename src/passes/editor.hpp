// SPDX-License-Identifier: Apache-2.0
// Changes a graph while a pass walks it.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "passes/hash_set.hpp"

namespace colonnade::rewrite {

constexpr std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// A graph under change. Knows the producer and the readers of every value at any moment; new nodes go to the end of
/// the list and `finish` puts all in order again. Node indices stay valid until `finish`; references to values and
/// nodes only until the next change. A node whose outputs all went to other producers reads nothing any more.
class Editor {
 public:
  explicit Editor(Graph& graph);
  ~Editor();
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;

  const Graph& graph() const { return graph_; }
  const Value& value(ValueId id) const { return graph_.value(id); }
  int node_count() const { return static_cast<int>(graph_.nodes.size()); }
  const Node& node(int index) const { return graph_.nodes[static_cast<std::size_t>(index)]; }
  /// Asked before a node is copied: most are of no interest to a pass.
  template <class... Ops>
  bool is_one_of(int index) const {
    return (std::holds_alternative<Ops>(node(index).op) || ...);
  }
  /// False once all outputs of the node went to other producers.
  bool alive(int index) const;

  /// The node that computes the value; -1 for graph inputs, constants and kAbsent.
  int producer(ValueId id) const;
  const std::vector<int>& readers(ValueId id) const { return readers_[static_cast<std::size_t>(id)]; }
  bool is_output(ValueId id) const { return is_output_[static_cast<std::size_t>(id)] != 0; }
  bool is_constant(ValueId id) const { return id != kAbsent && value(id).constant != nullptr; }
  /// Read by exactly one node input and not a graph output.
  bool read_once(ValueId id) const { return readers(id).size() == 1 && !is_output(id); }
  /// The producing node when it holds an Op, else null.
  template <class Op>
  const Op* produced_by(ValueId id) const {
    const int index = producer(id);
    return index < 0 ? nullptr : std::get_if<Op>(&node(index).op);
  }

  /// Adds a node with one output whose type is inferred; name and origin come from `like`.
  ValueId add(Operator op, std::vector<ValueId> inputs, const Node& like);
  /// Adds a node whose output slots are values that nothing produces (any more).
  int add_node(Node node);
  ValueId add_constant(std::string name_hint, Tensor tensor);
  ValueId add_constant(std::string name_hint, std::shared_ptr<const Constant> constant);
  ValueId add_ints(std::string name_hint, const Ints& values);
  ValueId add_value(std::string name_hint, ValueType type);

  /// Everyone who reads `old`, and the graph output that it may be, gets `with` instead. Names and order of graph
  /// outputs stay; an identity node carries `with` to a graph output that cannot be produced in place.
  void replace(ValueId old, ValueId with);
  /// True when `replace(old, with)` would have to leave an identity node.
  bool needs_identity(ValueId old, ValueId with) const;

  void set_op(int index, Operator op);
  void set_inputs(int index, std::vector<ValueId> inputs);
  /// Turns the value into a constant; its producer no longer computes it.
  void set_constant(ValueId id, Tensor tensor);
  void set_constant(ValueId id, std::shared_ptr<const Constant> constant);
  void set_type(ValueId id, ValueType type);
  /// Makes another value the `slot`-th output of the node. The old one is left without producer.
  void set_output(int index, std::size_t slot, ValueId id);

  /// Drops nodes that no graph output needs and sorts the rest; true when the graph changed since construction.
  bool finish();

 private:
  void grow();
  void unlink(ValueId id, int reader);
  void link(int index);
  void redirect_readers(ValueId from, ValueId to);
  void detach(ValueId id);
  std::vector<int> places() const;
  bool is_in_order(const std::vector<int>& order, const std::vector<char>& needed) const;
  void keep(const std::vector<int>& order, const std::vector<char>& needed);
  std::vector<char> needed_nodes() const;

  Graph& graph_;
  std::vector<int> producer_;
  std::vector<std::vector<int>> readers_;
  std::vector<char> is_output_;
  HashSet names_;           // that are taken, from the first value on that is added
  std::vector<int> place_;  // per node: the index of the original node whose place it takes in the order
  bool changed_ = false;
};

}  // namespace colonnade::rewrite
