// SPDX-License-Identifier: Apache-2.0
#include "api/split.hpp"

#include <algorithm>
#include <type_traits>

namespace colonnade {
namespace {

enum class When { planned, apart, later };

constexpr const char* kAlong = "few elements, as many as depends on data";

bool is_numeric(const ValueType& type) { return type.is_tensor() && type.dtype != DType::string; }
bool is_plannable(const ValueType& type) { return is_numeric(type) && type.is_static(); }

/// About as fast on a few elements as any kernel. What may be evaluated in the middle of a run.
bool is_light(const Operator& op) {
  return std::visit(
      []<class Op>(const Op&) {
        return (std::is_same_v<Op, Unary> || std::is_same_v<Op, Binary> || std::is_same_v<Op, Select> ||
                std::is_same_v<Op, Cast> || std::is_same_v<Op, Reduce> || std::is_same_v<Op, ArgReduce> ||
                std::is_same_v<Op, Softmax> || std::is_same_v<Op, Reshape> || std::is_same_v<Op, Flatten> ||
                std::is_same_v<Op, Squeeze> || std::is_same_v<Op, Unsqueeze> || std::is_same_v<Op, Transpose> ||
                std::is_same_v<Op, Concat> || std::is_same_v<Op, Slice> || std::is_same_v<Op, Split> ||
                std::is_same_v<Op, Pad> || std::is_same_v<Op, Expand> || std::is_same_v<Op, Tile> ||
                std::is_same_v<Op, Gather> || std::is_same_v<Op, GatherElements> || std::is_same_v<Op, GatherNd> ||
                std::is_same_v<Op, ScatterNd> || std::is_same_v<Op, ScatterElements> || std::is_same_v<Op, ShapeOf> ||
                std::is_same_v<Op, SizeOf> || std::is_same_v<Op, Fill> || std::is_same_v<Op, Range> ||
                std::is_same_v<Op, CumSum> || std::is_same_v<Op, NonZero>);
      },
      op);
}

class Splitter {
 public:
  explicit Splitter(const Graph& graph)
      : graph_(graph),
        when_(graph.nodes.size(), When::later),
        ready_(graph.values.size(), When::later),
        makers_(graph.values.size(), 0),
        slots_(graph.values.size(), kNoSlot) {
    sort_nodes();
    close_open_sizes();
  }

  bool is_planned_whole() const {
    const bool all_planned = std::all_of(when_.begin(), when_.end(), [](When when) { return when == When::planned; });
    return all_planned && are_plannable(graph_.inputs) && are_plannable(graph_.outputs);
  }

  std::unique_ptr<const Rest> run(Graph& planned) {
    auto rest = std::make_unique<Rest>();
    for (const ValueId id : graph_.inputs) rest->inputs.push_back(slot(id));
    planned = part(When::planned);
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      if (reads(planned, graph_.inputs[i])) {
        planned.inputs.push_back(graph_.inputs[i]);
        rest->program_inputs.push_back(static_cast<Slot>(i));
      }
    }
    planned.outputs = crossing();
    for (const ValueId id : planned.outputs) rest->program_outputs.push_back(slot(id));
    add_apart(*rest);
    add_tail(*rest);
    for (const ValueId id : graph_.outputs) {
      rest->outputs.push_back(held(id, *rest));
      rest->output_shapes.push_back(graph_.value(id).type.shape.value_or(Shape{-1}));
    }
    rest->slots = next_;
    for (const Slot input : rest->inputs) rest->is_held.push_back(is_read(*rest, input));
    remove_dead(planned);
    return rest;
  }

 private:
  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }
  bool is_constant(ValueId id) const { return graph_.value(id).constant != nullptr; }

  bool are_plannable(const std::vector<ValueId>& ids) const {
    return std::all_of(ids.begin(), ids.end(), [&](ValueId id) { return is_plannable(graph_.value(id).type); });
  }

  /// What can happen to a node now. Values are ready as `planned` or `apart`; `later` means not yet.
  When when(const Node& node, std::string* reason) const {
    bool planned = bodies_of(node.op).empty(), dynamic = !planned, known = true;
    if (dynamic) *reason = "control flow";
    for (const ValueId id : node.inputs) {
      if (id == kAbsent || is_constant(id)) continue;
      const ValueType& type = graph_.value(id).type;
      if (ready_[at(id)] == When::later) return When::later;
      if (!is_numeric(type)) {
        dynamic = true;
        *reason = type.is_tensor() ? "strings" : "data that are no tensors";
      }
      planned = planned && ready_[at(id)] == When::planned && is_plannable(type);
      known = known && type.is_static();
    }
    for (const ValueId id : node.outputs) {
      if (id == kAbsent) continue;
      const ValueType& type = graph_.value(id).type;
      if (!is_numeric(type)) {
        dynamic = true;
        *reason = type.is_tensor() ? "strings" : "data that are no tensors";
      }
      if (known && !type.is_static() && !dynamic) {
        dynamic = true;
        *reason = "the shape of '" + graph_.value(id).name + "' depends on data";
      }
      planned = planned && is_plannable(type);
    }
    return planned ? When::planned : dynamic ? When::apart : When::later;
  }

  void sort_nodes() {
    for (const ValueId id : graph_.inputs) ready_[at(id)] = When::planned;
    reasons_.resize(graph_.nodes.size());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      when_[i] = when(graph_.nodes[i], &reasons_[i]);
      for (const ValueId id : graph_.nodes[i].outputs) {
        if (id == kAbsent) continue;
        ready_[at(id)] = when_[i];
        makers_[at(id)] = i;
      }
    }
  }

  bool has_open_size(ValueId id) const {
    return id != kAbsent && !is_constant(id) && ready_[at(id)] == When::apart && !graph_.value(id).type.is_static();
  }
  bool reads_open_size(const Node& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [this](ValueId id) { return has_open_size(id); });
  }

  /// What it reads of known size is small; not counting what it takes elements of.
  bool reads_little(const Node& node) const {
    constexpr std::int64_t kSmall = 32768;
    const bool takes = std::holds_alternative<Gather>(node.op) || std::holds_alternative<GatherNd>(node.op) ||
                       std::holds_alternative<GatherElements>(node.op) || std::holds_alternative<Slice>(node.op);
    for (std::size_t i = takes ? 1 : 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kAbsent) continue;
      const ValueType& type = graph_.value(node.inputs[i]).type;
      if (type.is_static() && element_count(*type.shape) > kSmall) return false;
    }
    return true;
  }

  /// Its outputs' sizes are bounded by no small input's: a loop's, a Range's, those of what looks at much.
  bool finds_many(const Node& node) const {
    const bool is_open =
        std::any_of(node.outputs.begin(), node.outputs.end(), [this](ValueId id) { return has_open_size(id); });
    const bool selects = std::holds_alternative<NonZero>(node.op) || std::holds_alternative<Opaque>(node.op);
    return is_open && (!selects || !reads_little(node));
  }

  /// The node, and what it needs that is not there yet, evaluated apart; false where that is much work.
  bool take_along(std::size_t first) {
    std::vector<std::size_t> open{first};
    while (!open.empty()) {
      const std::size_t index = open.back();
      const Node& node = graph_.nodes[index];
      open.pop_back();
      if (!is_light(node.op) || !reads_little(node)) return false;
      when_[index] = When::apart;
      reasons_[index] = kAlong;
      for (const ValueId id : node.outputs)
        if (id != kAbsent) ready_[at(id)] = When::apart;
      for (const ValueId id : node.inputs)
        if (id != kAbsent && !is_constant(id) && ready_[at(id)] == When::later) open.push_back(makers_[at(id)]);
    }
    return true;
  }

  /// What works on a few elements, as many as data say, is evaluated apart as well where that leads back to known
  /// sizes or out of the graph: a plan for each size would take longer.
  void close_open_sizes() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (when_[i] == When::apart && finds_many(graph_.nodes[i])) return;
    const std::vector<When> when = when_, ready = ready_;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (when_[i] != When::later || !reads_open_size(graph_.nodes[i]) || take_along(i)) continue;
      when_ = when;
      ready_ = ready;
      return;
    }
  }

  /// What the nodes of one time mention; other values are blank until remove_dead drops them.
  Graph part(When when) const {
    Graph graph;
    graph.name = graph_.name;
    graph.samples = graph_.samples;
    graph.has_other_sizes = graph_.has_other_sizes;
    graph.values.resize(graph_.values.size());
    const auto mention = [&](ValueId id) {
      if (id != kAbsent && graph.value(id).name.empty()) graph.value(id) = graph_.value(id);
    };
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (when_[i] != when) continue;
      std::for_each(graph_.nodes[i].inputs.begin(), graph_.nodes[i].inputs.end(), mention);
      std::for_each(graph_.nodes[i].outputs.begin(), graph_.nodes[i].outputs.end(), mention);
      graph.nodes.push_back(graph_.nodes[i]);
    }
    return graph;
  }

  static bool reads(const Graph& graph, ValueId id) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [id](const Node& node) {
      return std::find(node.inputs.begin(), node.inputs.end(), id) != node.inputs.end();
    });
  }

  /// Values that the planned part makes and others need, in the order of their nodes.
  std::vector<ValueId> crossing() const {
    std::vector<bool> needed(graph_.values.size(), false);
    for (const ValueId id : graph_.outputs) needed[at(id)] = true;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (when_[i] == When::planned) continue;
      for (const ValueId id : graph_.nodes[i].inputs) {
        if (id != kAbsent) needed[at(id)] = true;
      }
    }
    std::vector<ValueId> values;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (when_[i] != When::planned) continue;
      for (const ValueId id : graph_.nodes[i].outputs) {
        if (id != kAbsent && needed[at(id)]) values.push_back(id);
      }
    }
    return values;
  }

  /// By something that takes data, not memory.
  static bool is_read(const Rest& rest, Slot slot) {
    const auto has = [slot](const std::vector<Slot>& slots) {
      return std::find(slots.begin(), slots.end(), slot) != slots.end();
    };
    return has(rest.outputs) || has(rest.tail_inputs) ||
           std::any_of(rest.apart.begin(), rest.apart.end(), [&](const ApartNode& apart) { return has(apart.inputs); });
  }

  Slot slot(ValueId id) {
    Slot& slot = slots_[at(id)];
    if (slot == kNoSlot) slot = next_++;
    return slot;
  }

  /// The slot of a value that is there; constants are put into one.
  Slot held(ValueId id, Rest& rest) {
    if (id == kAbsent) return kNoSlot;
    const bool fresh = slots_[at(id)] == kNoSlot;
    const Slot result = slot(id);
    if (fresh && is_constant(id)) rest.constants.emplace_back(result, graph_.value(id).constant->tensor());
    return result;
  }

  void add_apart(Rest& rest) {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (when_[i] != When::apart) continue;
      ApartNode apart{graph_.nodes[i], {}, {}, reasons_[i], reasons_[i] == kAlong};
      for (const ValueId id : apart.node.inputs) apart.inputs.push_back(held(id, rest));
      for (const ValueId id : apart.node.outputs) apart.outputs.push_back(id == kAbsent ? kNoSlot : slot(id));
      rest.apart.push_back(std::move(apart));
    }
  }

  void add_tail(Rest& rest) {
    Graph tail = part(When::later);
    if (tail.nodes.empty()) return;
    std::vector<bool> taken(graph_.values.size(), false);
    for (const Node& node : tail.nodes) {
      for (const ValueId id : node.inputs) {
        if (id == kAbsent || is_constant(id) || ready_[at(id)] == When::later || taken[at(id)]) continue;
        taken[at(id)] = true;
        tail.inputs.push_back(id);
        rest.tail_inputs.push_back(slot(id));
      }
    }
    for (const ValueId id : graph_.outputs) {
      if (ready_[at(id)] != When::later || is_constant(id)) continue;
      if (std::find(tail.outputs.begin(), tail.outputs.end(), id) != tail.outputs.end()) continue;
      tail.outputs.push_back(id);
      rest.tail_outputs.push_back(slot(id));
    }
    tail.is_settled = are_plannable(tail.inputs);
    remove_dead(tail);
    rest.tail = std::make_shared<const Graph>(std::move(tail));
  }

  const Graph& graph_;
  std::vector<When> when_;            ///< by node
  std::vector<When> ready_;           ///< by value; graph inputs are planned
  std::vector<std::size_t> makers_;   ///< by value: the node that makes it
  std::vector<std::string> reasons_;  ///< by node
  std::vector<Slot> slots_;           ///< by value
  Slot next_ = 0;
};

}  // namespace

std::unique_ptr<const Rest> split(const Graph& graph, Graph& planned) {
  Splitter splitter(graph);
  return splitter.is_planned_whole() ? nullptr : splitter.run(planned);
}

}  // namespace colonnade
