// SPDX-License-Identifier: Apache-2.0
#include "passes/layout_search.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "passes/layout_ops.hpp"
#include "passes/match.hpp"
#include "passes/permutation.hpp"

namespace colonnade::rewrite {
namespace {

/// Where a size is unknown, a middling one, so that costs stay comparable.
constexpr double kAssumedSize = 64;
constexpr int kMaxSweeps = 16;
/// Factors that decide between layouts of equal cost: a Transpose at a graph input is best, then one in front of a
/// fixed operator or a graph output, then one in front of a flexible operator.
constexpr double kAtInput = 0.998, kBeforeFixed = 0.999;

double bytes_moved(const Value& value) {
  double bytes = static_cast<double>(std::max<std::size_t>(1, size_of(value.type.dtype)));
  for (const std::int64_t size : *value.type.shape) bytes *= size < 0 ? kAssumedSize : static_cast<double>(size);
  return bytes;
}

Shape lifted_shape(const Shape& shape, std::size_t rank) {
  Shape result(rank - shape.size(), 1);
  result.insert(result.end(), shape.begin(), shape.end());
  return result;
}

struct Component {
  std::vector<ValueId> values;
  std::vector<int> nodes;      ///< flexible ones
  std::vector<ValueId> roots;  ///< values whose Transposes may change with this component
  std::set<int> neighbours;    ///< components behind Reshapes
};

class Search {
 public:
  explicit Search(const Editor& editor) : editor_(editor) {
    find_views();
    join_values();
    collect_components();
    present_.assign(root_.size(), -1);
    answers_.resize(at(editor_.node_count()));
  }

  Layouts run() {
    for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
      bool improved = false;
      for (int c = 0; c < static_cast<int>(components_.size()); ++c) improved |= improve(c);
      if (!improved) break;
    }
    return layouts_;
  }

 private:
  using Move = std::map<int, Ints>;  // component -> new permutation

  struct Answer {
    Ints from, to;
    bool linked;
  };

  /// Every value is a view of a root, the value at the end of its chain of Transposes.
  void find_views() {
    const std::size_t count = editor_.graph().values.size();
    root_.resize(count);
    std::iota(root_.begin(), root_.end(), 0);
    view_.resize(count);
    aliases_.resize(count);
    for (ValueId id = 0; id < static_cast<ValueId>(count); ++id) {
      if (has_rank(editor_, id)) view_[at(id)] = identity_perm(rank_of(editor_, id));
    }
    for (const Node& node : editor_.graph().nodes) {
      const auto* op = std::get_if<Transpose>(&node.op);
      if (op == nullptr || !has_rank(editor_, node.inputs[0])) continue;
      root_[at(node.outputs[0])] = root_[at(node.inputs[0])];
      view_[at(node.outputs[0])] = compose(view_[at(node.inputs[0])], perm_of(*op, rank_of(editor_, node.inputs[0])));
    }
    for (ValueId id = 0; id < static_cast<ValueId>(count); ++id) aliases_[at(root_[at(id)])].push_back(id);
  }

  int find(int id) {
    while (parent_[at(id)] != id) id = parent_[at(id)] = parent_[at(parent_[at(id)])];
    return id;
  }

  void join_values() {
    const std::size_t count = editor_.graph().values.size();
    parent_.resize(count);
    std::iota(parent_.begin(), parent_.end(), 0);
    in_component_.resize(count, 0);
    for (const Node& node : editor_.graph().nodes) {
      uses_.push_back(flexible_use(editor_, node));
      if (std::holds_alternative<Reshape>(node.op)) {
        mark_reshape(node.inputs[0]);
        mark_reshape(node.outputs[0]);
      }
      if (!uses_.back()) continue;
      if (uses_.back()->members.empty()) {
        uses_.back().reset();
        continue;
      }
      const ValueId first = node.inputs[uses_.back()->members[0]];
      for (const std::size_t member : uses_.back()->members) join(first, node.inputs[member]);
      for (const ValueId output : node.outputs) {
        if (output != kAbsent) join(first, output);
      }
    }
  }

  void mark_reshape(ValueId id) {
    if (has_rank(editor_, id) && rank_of(editor_, id) >= 2 && !editor_.is_constant(id)) in_component_[at(id)] = 1;
  }

  void join(ValueId a, ValueId b) {
    in_component_[at(a)] = in_component_[at(b)] = 1;
    parent_[at(find(b))] = find(a);
  }

  void collect_components() {
    const std::size_t count = editor_.graph().values.size();
    layouts_.component.assign(count, -1);
    std::map<int, int> number;
    for (ValueId id = 0; id < static_cast<ValueId>(count); ++id) {
      if (!in_component_[at(id)]) continue;
      const auto [entry, fresh] = number.emplace(find(id), static_cast<int>(components_.size()));
      if (fresh) {
        components_.emplace_back();
        layouts_.perm.push_back(identity_perm(rank_of(editor_, id)));
      }
      layouts_.component[at(id)] = entry->second;
      components_[at(entry->second)].values.push_back(id);
      components_[at(entry->second)].roots.push_back(root_[at(id)]);
    }
    for (int index = 0; index < editor_.node_count(); ++index) note_node(index);
    for (Component& component : components_) {
      std::sort(component.roots.begin(), component.roots.end());
      component.roots.erase(std::unique(component.roots.begin(), component.roots.end()), component.roots.end());
    }
  }

  void note_node(int index) {
    const Node& node = editor_.node(index);
    if (uses_[at(index)]) {
      const ValueId member = node.inputs[uses_[at(index)]->members[0]];
      components_[at(layouts_.component[at(member)])].nodes.push_back(index);
    }
    if (!std::holds_alternative<Reshape>(node.op)) return;
    const int from = layouts_.component[at(node.inputs[0])], to = layouts_.component[at(node.outputs[0])];
    if (from >= 0) components_[at(from)].roots.push_back(root_[at(node.outputs[0])]);
    if (to >= 0) components_[at(to)].roots.push_back(root_[at(node.inputs[0])]);
    if (from < 0 || to < 0 || from == to) return;
    components_[at(from)].neighbours.insert(to);
    components_[at(to)].neighbours.insert(from);
    links_.emplace(std::pair(from, to), index);
  }

  Ints stored(ValueId id) const {
    const Ints* perm = layouts_.of(id);
    return perm == nullptr ? identity_perm(rank_of(editor_, id)) : *perm;
  }

  /// is_linked under the present layouts: asked so often that answers are kept.
  bool linked(int index) const {
    const Node& node = editor_.node(index);
    if (!std::holds_alternative<Reshape>(node.op)) return false;
    static const Ints none;
    const Ints* given_from = layouts_.of(node.inputs[0]);
    const Ints* given_to = layouts_.of(node.outputs[0]);
    const Ints &from = given_from == nullptr ? none : *given_from, &to = given_to == nullptr ? none : *given_to;
    for (const Answer& answer : answers_[at(index)])
      if (answer.from == from && answer.to == to) return answer.linked;
    answers_[at(index)].push_back({from, to, is_linked(editor_, node, layouts_)});
    return answers_[at(index)].back().linked;
  }

  /// The order in which the root comes into being.
  Ints produced_order(ValueId root) const {
    const int index = editor_.producer(root);
    if (index < 0) return identity_perm(rank_of(editor_, root));
    const bool follows = uses_[at(index)].has_value() || linked(index);
    return follows ? stored(root) : identity_perm(rank_of(editor_, root));
  }

  bool is_member(int index, ValueId id) const {
    if (!uses_[at(index)]) return false;
    const auto& members = uses_[at(index)]->members;
    return std::any_of(members.begin(), members.end(),
                       [&](std::size_t member) { return editor_.node(index).inputs[member] == id; });
  }

  /// The order of its root in which a value is stored.
  Ints stored_of_root(ValueId id) const {
    const Ints* perm = layouts_.of(id);
    return perm == nullptr ? view_[at(id)] : compose(view_[at(id)], *perm);
  }

  /// Orders of the root that its readers want, with the factor of their cost.
  std::vector<std::pair<Ints, double>> demands(ValueId root) const {
    std::vector<std::pair<Ints, double>> result;
    const double at_input = editor_.producer(root) < 0 ? kAtInput : 1.0;
    const auto want = [&](Ints order, double factor) {
      for (auto& [known, its_factor] : result)
        if (known == order) return void(its_factor = std::min(its_factor, factor * at_input));
      result.emplace_back(std::move(order), factor * at_input);
    };
    for (const ValueId id : aliases_[at(root)]) {
      if (editor_.is_output(id)) want(view_[at(id)], kBeforeFixed);
      for (const int reader : editor_.readers(id)) {
        const Node& node = editor_.node(reader);
        const bool shape_only = std::holds_alternative<ShapeOf>(node.op) || std::holds_alternative<SizeOf>(node.op);
        if (shape_only || std::holds_alternative<Transpose>(node.op)) continue;
        if (is_member(reader, id)) {
          want(stored_of_root(id), 1.0);
        } else if (linked(reader)) {
          want(stored_of_root(id), kBeforeFixed);
        } else {
          want(view_[at(id)], kBeforeFixed);
        }
      }
    }
    return result;
  }

  double root_cost(ValueId root) const {
    if (!has_rank(editor_, root) || editor_.is_constant(root)) return 0;
    const Ints from = produced_order(root);
    const bool is_plain = is_identity(from);
    const Shape shape = permuted(*editor_.value(root).type.shape, from);
    double cost = 0;
    for (const auto& [order, factor] : demands(root)) {
      if (keeps_order(shape, is_plain ? order : compose(inverse(from), order))) continue;
      cost += factor * bytes_moved(editor_.value(root));
    }
    return cost;
  }

  /// Transposes of operands that broadcast.
  double lift_cost(int component) const {
    const Ints& perm = layouts_.perm[at(component)];
    double cost = 0;
    for (const int index : components_[at(component)].nodes) {
      for (const std::size_t input : uses_[at(index)]->lifted) {
        const Value& value = editor_.value(editor_.node(index).inputs[input]);
        if (value.constant || keeps_order(lifted_shape(*value.type.shape, perm.size()), perm)) continue;
        cost += bytes_moved(value);
      }
    }
    return cost;
  }

  /// Resizing the innermost axis moves single elements: as bad as another Transpose.
  double resize_cost(int component) const {
    double cost = 0;
    for (const int index : components_[at(component)].nodes) {
      const Node& node = editor_.node(index);
      if (!std::holds_alternative<Resize>(node.op)) continue;
      const auto innermost = static_cast<std::size_t>(layouts_.perm[at(component)].back());
      const Value& output = editor_.value(node.outputs[0]);
      if ((*editor_.value(node.inputs[0]).type.shape)[innermost] != (*output.type.shape)[innermost])
        cost += 2 * bytes_moved(output);
    }
    return cost;
  }

  std::vector<ValueId> roots_around(const Move& move) const {
    std::vector<ValueId> roots;
    for (const auto& [component, perm] : move)
      roots.insert(roots.end(), components_[at(component)].roots.begin(), components_[at(component)].roots.end());
    std::sort(roots.begin(), roots.end());
    roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
    return roots;
  }

  double cost_of_components(const Move& move) const {
    double cost = 0;
    for (const auto& [component, perm] : move) cost += lift_cost(component) + resize_cost(component);
    return cost;
  }

  double present_cost(const Move& move, const std::vector<ValueId>& roots) {
    double cost = cost_of_components(move);
    for (const ValueId root : roots) {
      double& known = present_[at(root)];
      if (known < 0) known = root_cost(root);
      cost += known;
    }
    return cost;
  }

  /// With these layouts the roots and components cost less.
  bool costs_less(const Move& move, const std::vector<ValueId>& roots, double limit) const {
    double cost = cost_of_components(move);
    for (auto root = roots.begin(); root != roots.end() && cost < limit; ++root) cost += root_cost(*root);
    return cost < limit;
  }

  bool allowed(int component, const Ints& perm) const {
    const auto& nodes = components_[at(component)].nodes;
    return std::all_of(nodes.begin(), nodes.end(),
                       [&](int index) { return allows(editor_, editor_.node(index), perm); });
  }

  /// Orders that would make an adjacent Transpose vanish.
  std::set<Ints> candidates(int component) const {
    const Ints& present = layouts_.perm[at(component)];
    std::set<Ints> result{identity_perm(present.size())};
    const auto& values = components_[at(component)].values;
    const auto is_alone = [&](ValueId id) { return aliases_[at(root_[at(id)])].size() == 1; };
    if (is_identity(present) && std::all_of(values.begin(), values.end(), is_alone)) return {};
    for (const ValueId id : values) {
      const Ints back = inverse(view_[at(id)]);
      result.insert(compose(back, produced_order(root_[at(id)])));
      for (const auto& [order, factor] : demands(root_[at(id)])) result.insert(compose(back, order));
    }
    result.erase(present);
    return result;
  }

  /// The permutation that `to` needs for the Reshape between the two to be linked.
  std::optional<Ints> carried(int from, int to, const Ints& perm) const {
    const auto forward = links_.find({from, to});
    const auto link = forward != links_.end() ? forward : links_.find({to, from});
    const Node& node = editor_.node(link->second);
    const Shape& in = *editor_.value(node.inputs[0]).type.shape;
    const Shape& out = *editor_.value(node.outputs[0]).type.shape;
    return forward != links_.end() ? through_reshape(in, out, perm) : through_reshape(out, in, perm);
  }

  /// The move of one component, carried on through Reshapes.
  Move closure(int component, const Ints& perm) const {
    Move move{{component, perm}};
    std::vector<int> open{component};
    while (!open.empty()) {
      const int from = open.back();
      open.pop_back();
      for (const int to : components_[at(from)].neighbours) {
        if (move.contains(to)) continue;
        const auto next = carried(from, to, move.at(from));
        if (!next || *next == layouts_.perm[at(to)] || !allowed(to, *next)) continue;
        move.emplace(to, *next);
        open.push_back(to);
      }
    }
    return move;
  }

  void swap_in(Move& move) {
    for (auto& [component, perm] : move) std::swap(perm, layouts_.perm[at(component)]);
  }

  bool accept_if_better(Move move) {
    if (!rejected_.insert(move).second) return false;
    const std::vector<ValueId> roots = roots_around(move);
    const double before = present_cost(move, roots);
    swap_in(move);
    if (!costs_less(move, roots, before * (1 - 1e-9))) {
      swap_in(move);
      return false;
    }
    for (const ValueId root : roots) present_[at(root)] = -1;
    rejected_.clear();
    return true;
  }

  bool improve(int component) {
    for (const Ints& perm : candidates(component)) {
      if (!allowed(component, perm)) continue;
      if (accept_if_better({{component, perm}})) return true;
      if (!components_[at(component)].neighbours.empty() && accept_if_better(closure(component, perm))) return true;
    }
    return false;
  }

  const Editor& editor_;
  std::vector<ValueId> root_;
  std::vector<Ints> view_;
  std::vector<std::vector<ValueId>> aliases_;
  std::vector<int> parent_;
  std::vector<char> in_component_;
  std::vector<std::optional<FlexibleUse>> uses_;
  std::vector<Component> components_;
  std::map<std::pair<int, int>, int> links_;  // components -> a Reshape between them
  Layouts layouts_;
  mutable std::vector<std::vector<Answer>> answers_;  ///< by node
  std::vector<double> present_;                       ///< by root: its cost under these layouts; negative: not known
  std::set<Move> rejected_;                           ///< under these layouts
};

}  // namespace

Layouts choose_layouts(const Editor& editor) { return Search(editor).run(); }

}  // namespace colonnade::rewrite
