// SPDX-License-Identifier: Apache-2.0
// Einsum as Transposes, sums and products of pairs, which have kernels.
#include "graph/einsum.hpp"

#include <algorithm>
#include <set>

#include "passes/einsum_pair.hpp"
#include "passes/match.hpp"
#include "passes/pass_list.hpp"
#include "passes/permutation.hpp"

namespace colonnade::rewrite {
namespace {

bool has_products(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::i32 || dtype == DType::i64;
}

class Expansion {
 public:
  Expansion(Editor& editor, const Node& node) : editor_(editor), node_(node) {}

  /// The result; kAbsent where sizes are open that decide how, or where there is no such form.
  ValueId run() {
    if (!read()) return kAbsent;
    for (Labelled& operand : operands_) see_through_transposes(operand);
    by_rows_ = operands_.size() == 2 && is_constant(0) != is_constant(1);
    for (Labelled& operand : operands_) {
      if (!take_diagonals(operand)) return kAbsent;
    }
    for (std::size_t i = 0; i < operands_.size(); ++i) drop_single(i);
    for (std::size_t i = 0; i < operands_.size(); ++i) sum_own(i);
    while (operands_.size() > 1) {
      if (!multiply_two()) return kAbsent;
    }
    return finished();
  }

 private:
  bool is_constant(std::size_t i) const { return is_known(editor_, operands_[i].value); }

  bool read() {
    EinsumEquation equation;
    if (!read_equation(std::get<Einsum>(node_.op).equation, equation).empty()) return false;
    std::size_t widest = 0;
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      const ValueId id = node_.inputs[i];
      if (!has_rank(editor_, id) || !has_products(editor_.value(id).type.dtype)) return false;
      const Shape& shape = *editor_.value(id).type.shape;
      if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return false;
      operands_.push_back({id, axes_of(equation.terms[i], shape.size())});
      if (equation.terms[i].ellipsis) widest = std::max(widest, shape.size() - equation.terms[i].letters.size());
    }
    const std::size_t hidden = equation.result.ellipsis ? widest : 0;
    result_ = axes_of(equation.result, equation.result.letters.size() + hidden);
    return std::set<int>(result_.begin(), result_.end()).size() == result_.size();
  }

  void see_through_transposes(Labelled& operand) {
    while (const auto* op = editor_.produced_by<Transpose>(operand.value)) {
      const Ints perm = perm_of(*op, operand.labels.size());
      Labels labels(perm.size());
      for (std::size_t axis = 0; axis < perm.size(); ++axis) labels[at(perm[axis])] = operand.labels[axis];
      operand = {editor_.node(editor_.producer(operand.value)).inputs[0], labels};
      if (!has_rank(editor_, operand.value)) return;
    }
  }

  /// Two axes of one label: their elements of equal indices lie n + 1 apart.
  bool take_diagonals(Labelled& operand) {
    for (std::size_t i = 0; i < operand.labels.size(); ++i) {
      const int label = operand.labels[i];
      const auto again =
          std::find(operand.labels.begin() + static_cast<std::ptrdiff_t>(i) + 1, operand.labels.end(), label);
      if (again == operand.labels.end()) continue;
      const Shape shape = *editor_.value(operand.value).type.shape;
      const std::int64_t size = shape[i];
      const auto j = static_cast<std::size_t>(again - operand.labels.begin());
      if (size < 0 || shape[j] != size) return false;
      Ints perm, target;
      Labels rest;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (axis == i || axis == j) continue;
        perm.push_back(static_cast<std::int64_t>(axis));
        target.push_back(std::max<std::int64_t>(shape[axis], 0));
        rest.push_back(operand.labels[axis]);
      }
      perm.insert(perm.end(), {static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)});
      target.push_back(size * size);
      rest.push_back(label);
      const ValueId last = editor_.add(Transpose{perm}, {operand.value}, node_);
      const ValueId flat = editor_.add(Reshape{}, {last, ints(target)}, node_);
      const ValueId diagonal =
          editor_.add(Slice{}, {flat, ints({0}), ints({size * size}), ints({-1}), ints({size + 1})}, node_);
      operand = {diagonal, rest};
      --i;
    }
    return true;
  }

  /// Leaves out axes of one element, of which every value of another operand's axis sees the same. Rows of a product
  /// with a constant matrix keep theirs.
  void drop_single(std::size_t which) {
    Labelled& operand = operands_[which];
    const Shape& shape = *editor_.value(operand.value).type.shape;
    Ints axes;
    Labels rest;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const int label = operand.labels[axis];
      const bool is_row =
          by_rows_ && !is_constant(which) && has(result_, label) && !has(operands_[1 - which].labels, label);
      if (shape[axis] == 1 && !is_row)
        axes.push_back(static_cast<std::int64_t>(axis));
      else
        rest.push_back(label);
    }
    if (axes.empty()) return;
    operand = {editor_.add(Squeeze{}, {operand.value, ints(axes)}, node_), rest};
  }

  bool is_read_elsewhere(int label, std::size_t but, std::size_t and_but) const {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (i != but && i != and_but && has(operands_[i].labels, label)) return true;
    }
    return has(result_, label);
  }

  void sum_own(std::size_t which) {
    Labelled& operand = operands_[which];
    Ints axes;
    Labels rest;
    for (std::size_t axis = 0; axis < operand.labels.size(); ++axis) {
      if (is_read_elsewhere(operand.labels[axis], which, which))
        rest.push_back(operand.labels[axis]);
      else
        axes.push_back(static_cast<std::int64_t>(axis));
    }
    if (axes.empty()) return;
    operand = {editor_.add(Reduce{ReduceKind::sum, false, false}, {operand.value, ints(axes)}, node_), rest};
  }

  Labels kept_of(std::size_t i, std::size_t j) const {
    Labels kept;
    for (const std::size_t of : {i, j}) {
      for (const int label : operands_[of].labels) {
        if (!has(kept, label) && is_read_elsewhere(label, i, j)) kept.push_back(label);
      }
    }
    return kept;
  }

  double size_of_product(std::size_t i, std::size_t j) const {
    LabelSizes sizes = sizes_of(editor_, operands_[i]);
    for (const auto& [label, size] : sizes_of(editor_, operands_[j])) sizes[label] = std::max(sizes[label], size);
    double size = 1;
    for (const int label : kept_of(i, j)) size *= std::abs(static_cast<double>(sizes.at(label)));
    return size;
  }

  /// The two whose product is smallest.
  bool multiply_two() {
    std::size_t first = 0, second = 1;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      for (std::size_t j = i + 1; j < operands_.size(); ++j) {
        if (size_of_product(i, j) < size_of_product(first, second)) first = i, second = j;
      }
    }
    const bool last = operands_.size() == 2;
    const auto product = multiply_pair(editor_, operands_[first], operands_[second],
                                       last ? result_ : kept_of(first, second), last, node_);
    if (!product) return false;
    operands_[first] = *product;
    operands_.erase(operands_.begin() + static_cast<std::ptrdiff_t>(second));
    return true;
  }

  ValueId finished() {
    const Labelled& all = operands_[0];
    Labels order;
    Ints added;
    for (std::size_t axis = 0; axis < result_.size(); ++axis) {
      if (has(all.labels, result_[axis]))
        order.push_back(result_[axis]);
      else
        added.push_back(static_cast<std::int64_t>(axis));
    }
    const ValueId ordered = with_order(editor_, all, order, node_);
    return added.empty() ? ordered : editor_.add(Unsqueeze{}, {ordered, ints(added)}, node_);
  }

  ValueId ints(const Ints& values) { return editor_.add_ints(node_.name + "_ints", values); }

  Editor& editor_;
  Node node_;
  std::vector<Labelled> operands_;
  Labels result_;
  bool by_rows_ = false;
};

/// Whether all sizes are known that decide how: tried on a graph of that node alone.
bool is_ready(const Graph& graph, const Node& node) {
  Graph alone;
  Node copy = node;
  for (ValueId& id : copy.inputs) {
    const Value& value = graph.value(id);
    const ValueId own = alone.add_value(value.name, value.type);
    alone.value(own).constant = value.constant;
    if (!value.constant) alone.inputs.push_back(own);
    id = own;
  }
  copy.outputs = {alone.add_value("result", graph.value(node.outputs[0]).type)};
  alone.nodes.push_back(copy);
  Editor editor(alone);
  return Expansion(editor, copy).run() != kAbsent;
}

}  // namespace

bool expand_einsum(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index) {
    if (!editor.alive(index) || !editor.is_one_of<Einsum>(index) || !is_ready(graph, editor.node(index))) continue;
    const Node node = editor.node(index);
    const ValueId result = Expansion(editor, node).run();
    const bool same = has(node.inputs, result);
    editor.replace(node.outputs[0], same ? editor.add(Unary{UnaryKind::identity}, {result}, node) : result);
  }
  return editor.finish();
}

}  // namespace colonnade::rewrite
