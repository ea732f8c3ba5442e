// SPDX-License-Identifier: Apache-2.0
// A pair becomes a product of two values that broadcast where no label is summed, a product and a sum where every label
// is in both, else a MatMul. Of the ways to arrange a MatMul the one is taken that moves the fewest bytes.
#include "passes/einsum_pair.hpp"

#include <algorithm>

#include "graph/shape_rules.hpp"
#include "passes/match.hpp"
#include "passes/permutation.hpp"

namespace colonnade::rewrite {
namespace {

/// What a byte costs that is not moved by a Transpose: packed, packed by columns, of a matrix for a single row.
constexpr double kPacked = 0.2, kPackedByColumns = 0.3, kPackedForOneRow = 0.5;

/// Only the two axes before the last change places.
bool swaps_heads(Ints perm) {
  if (perm.size() < 3) return false;
  std::swap(perm[perm.size() - 3], perm[perm.size() - 2]);
  return is_identity(perm);
}

/// Products read and write such orders where they lie.
bool is_free(const Ints& perm) { return is_identity(perm) || swaps_heads(perm); }

bool is_free_by_columns(Ints perm) {
  if (perm.size() < 2) return false;
  std::swap(perm[perm.size() - 2], perm[perm.size() - 1]);
  return is_free(perm);
}

/// Labels that follow each other wherever they are, by the first of them.
using Units = std::map<int, Labels>;

/// One operand, its labels those of units.
struct Side {
  Labels labels;
  bool constant = false;
};

/// MatMul of left and right gives `product`; groups of units, those of more than one or none are made by Reshapes.
struct Arrangement {
  bool swapped = false;
  Units units;
  Groups left, right, product;
  double cost = 0;
};

class Pair {
 public:
  Pair(Editor& editor, const Labelled& a, const Labelled& b, Labels kept, bool ordered, const Node& like)
      : editor_(editor), like_(like), a_(a), b_(b), kept_(std::move(kept)), ordered_(ordered) {
    sizes_ = sizes_of(editor, a);
    for (const auto& [label, size] : sizes_of(editor, b)) {
      const auto [at, fresh] = sizes_.emplace(label, size);
      if (!fresh && at->second != size)
        at->second = std::max(at->second, size) > 1 ? std::max(at->second, size) : kUnknownDim;
    }
    kept_ = restricted(kept_, labels_of_both());
  }

  std::optional<Labelled> run() {
    const Labels both = restricted(a_.labels, b_.labels), all = labels_of_both();
    Labels summed;
    for (const int label : all) {
      if (!has(kept_, label)) summed.push_back(label);
    }
    if (summed.empty()) return multiplied();
    if (both.size() == all.size()) return multiplied_and_summed(summed);
    return product(summed);
  }

 private:
  Labels labels_of_both() const {
    Labels all = a_.labels;
    for (const int label : b_.labels) {
      if (!has(all, label)) all.push_back(label);
    }
    return all;
  }

  /// The operand as it broadcasts against values of this order.
  std::optional<ValueId> aligned(const Labelled& operand, const Labels& order) {
    const Labels own = restricted(order, operand.labels);
    Groups groups;
    for (const int label : order) {
      if (has(own, label))
        groups.push_back({label});
      else if (!groups.empty())
        groups.emplace_back();
    }
    const LabelSizes sizes = sizes_of(editor_, operand);
    if (!regrouped_shape(singles(own), groups, sizes)) return std::nullopt;
    return regroup(editor_, with_order(editor_, operand, own, like_), singles(own), groups, sizes, like_);
  }

  std::optional<Labelled> multiplied() {
    const Labels order = ordered_ ? kept_ : labels_of_both();
    const auto left = aligned(a_, order), right = aligned(b_, order);
    if (!left || !right) return std::nullopt;
    return Labelled{editor_.add(Binary{BinaryKind::mul}, {*left, *right}, like_), order};
  }

  std::optional<Labelled> multiplied_and_summed(const Labels& summed) {
    const bool as_b = is_known(editor_, a_.value);
    const Labelled &first = as_b ? b_ : a_, &second = as_b ? a_ : b_;
    const ValueId other = with_order(editor_, second, first.labels, like_);
    const ValueId products = editor_.add(Binary{BinaryKind::mul}, {first.value, other}, like_);
    const ValueId axes = editor_.add_ints(like_.name + "_axes", perm_to(first.labels, summed));
    Labels left;
    for (const int label : first.labels) {
      if (has(kept_, label)) left.push_back(label);
    }
    const ValueId sums = editor_.add(Reduce{ReduceKind::sum, false, false}, {products, axes}, like_);
    return Labelled{with_order(editor_, {sums, left}, ordered_ ? kept_ : left, like_), ordered_ ? kept_ : left};
  }

  bool follows(const Labels& labels, int first, int second) const {
    const auto at = std::find(labels.begin(), labels.end(), first);
    if (at == labels.end()) return !has(labels, second);
    return at + 1 != labels.end() && at[1] == second;
  }

  /// Labels of both that are kept stay apart unless `with_batch`: products take any number of axes of a batch.
  Units units_of(bool with_batch) const {
    Units units;
    std::map<int, int> first_of;
    const LabelSizes of_a = sizes_of(editor_, a_), of_b = sizes_of(editor_, b_);
    const auto is_open = [&](int label) {
      return (of_a.contains(label) && of_a.at(label) < 0) || (of_b.contains(label) && of_b.at(label) < 0);
    };
    for (const int label : labels_of_both()) {
      units[label] = {label};
      first_of[label] = label;
    }
    for (const int first : labels_of_both()) {
      for (const int second : labels_of_both()) {
        const bool batch = has(a_.labels, first) && has(b_.labels, first) && has(kept_, first);
        if (first == second || is_open(first) || is_open(second) || (batch && !with_batch)) continue;
        if (!follows(a_.labels, first, second) || !follows(b_.labels, first, second)) continue;
        if (ordered_ ? !follows(kept_, first, second) : has(kept_, first) != has(kept_, second)) continue;
        Labels& unit = units.at(first_of.at(first));
        const Labels tail = units.at(second);
        unit.insert(unit.end(), tail.begin(), tail.end());
        units.erase(second);
        for (const int label : tail) first_of[label] = first_of.at(first);
      }
    }
    return units;
  }

  Labels in_units(const Labels& labels, const Units& units) const {
    Labels result;
    for (const int label : labels) {
      if (units.contains(label)) result.push_back(label);
    }
    return result;
  }
  LabelSizes unit_sizes(const Units& units, const LabelSizes& sizes) const {
    LabelSizes result;
    for (const auto& [unit, labels] : units) {
      if (sizes.contains(unit)) result[unit] = size_of_group(labels, sizes);
    }
    return result;
  }

  double cost_of_side(const Side& side, const Groups& groups, const LabelSizes& sizes, bool is_left) const {
    const double elements = elements_of(side.labels, sizes);
    const Labels order = joined(groups);
    const bool plain = groups == singles(order);
    const Ints perm = perm_to(side.labels, order);
    const double packed = is_left ? 0 : side.constant && groups.size() == 2 ? 0 : kPacked * elements;
    if (side.constant || is_identity(perm) || (plain && is_free(perm))) return packed;
    if (plain && is_free_by_columns(perm)) return is_left ? kPackedByColumns * elements : packed;
    return packed + elements;
  }

  /// Groups of one operand: its axes of the batch from the first that it has on, its own axes, the summed ones.
  static Groups side_groups(const Labels& batch, const Side& side, const Groups& inner) {
    Groups groups;
    for (const int unit : batch) {
      if (has(side.labels, unit))
        groups.push_back({unit});
      else if (!groups.empty())
        groups.emplace_back();
    }
    groups.insert(groups.end(), inner.begin(), inner.end());
    return groups;
  }

  struct Roles {
    Labels batch, rows, depth, columns;
  };

  /// Rows of a product with a plain constant matrix, and those of open sizes, keep their axes.
  bool keeps_rows(const Roles& roles, const Side& right, const LabelSizes& sizes) const {
    return roles.batch.empty() && roles.rows.size() > 1 && (right.constant || size_of_group(roles.rows, sizes) < 0);
  }

  Arrangement arranged(const Roles& roles, const Side& left, const Side& right, const Units& units) const {
    const LabelSizes sizes = unit_sizes(units, sizes_);
    const Groups rows = keeps_rows(roles, right, sizes) ? singles(roles.rows) : Groups{roles.rows};
    Arrangement result{false, units, rows, {roles.depth, roles.columns}, side_groups(roles.batch, {roles.batch}, rows),
                       0};
    result.left.push_back(roles.depth);
    result.left = side_groups(roles.batch, left, result.left);
    result.right = side_groups(roles.batch, right, result.right);
    result.product.push_back(roles.columns);
    const Labels flat = joined(result.product);
    double repeats = 1;
    for (const int unit : roles.batch) repeats *= has(right.labels, unit) ? 1 : elements_of({unit}, sizes);
    result.cost =
        cost_of_side(left, result.left, sizes, true) + repeats * cost_of_side(right, result.right, sizes, false);
    if (roles.rows.empty()) result.cost += kPackedForOneRow * elements_of(right.labels, sizes);
    if (ordered_) {
      const Ints perm = perm_to(flat, in_units(kept_, units));
      const bool free = is_identity(perm) || (is_free(perm) && result.product == singles(flat));
      if (!free) result.cost += elements_of(flat, sizes);
    }
    return result;
  }

  /// Every size that a Reshape must name is known.
  bool can_say(const Arrangement& way) const {
    const Labelled &left = way.swapped ? b_ : a_, &right = way.swapped ? a_ : b_;
    const auto says = [&](const Labelled& operand, const Groups& groups) {
      const LabelSizes sizes = sizes_of(editor_, operand);
      const Groups units = label_groups(in_units(operand.labels, way.units), way.units);
      return regrouped_shape(singles(operand.labels), units, sizes) &&
             regrouped_shape(singles(joined(groups)), groups, unit_sizes(way.units, sizes));
    };
    const Labels flat = joined(way.product), order = ordered_ ? in_units(kept_, way.units) : flat;
    const Groups units = label_groups(order, way.units);
    return says(left, way.left) && says(right, way.right) &&
           regrouped_shape(way.product, singles(flat), unit_sizes(way.units, sizes_)) &&
           regrouped_shape(units, singles(joined(units)), sizes_);
  }

  void consider(const Roles& roles, const Side& left, const Side& right, const Units& units, bool swapped,
                std::optional<Arrangement>& best) const {
    Arrangement way = arranged(roles, left, right, units);
    way.swapped = swapped;
    if ((!best || way.cost < best->cost) && can_say(way)) best = std::move(way);
  }

  /// Axes of one operand only may be a batch over which the other one is the same: all of them but the last.
  void consider_sides(const Side& left, const Side& right, const Units& units, bool swapped,
                      std::optional<Arrangement>& best) const {
    const Labels kept = in_units(kept_, units);
    Labels shared, depth;
    for (const int unit : left.labels) {
      if (has(right.labels, unit)) (has(kept, unit) ? shared : depth).push_back(unit);
    }
    for (int choice = 0; choice < 4; ++choice) {
      Roles roles{shared, {}, depth, {}};
      const auto sort_in = [&](const Side& side, const Side& other, bool outer, Labels& inner) {
        for (const int unit : side.labels) {
          if (!has(other.labels, unit)) inner.push_back(unit);
        }
        if (!outer || inner.empty()) return;
        roles.batch.insert(roles.batch.end(), inner.begin(), inner.end() - 1);
        inner.erase(inner.begin(), inner.end() - 1);
      };
      sort_in(left, right, (choice & 1) != 0, roles.rows);
      sort_in(right, left, (choice & 2) != 0, roles.columns);
      const Labels batch = roles.batch;
      for (const Labels* order : {&kept, &left.labels, &right.labels}) {
        roles.batch = restricted(*order, batch);
        for (const int unit : batch) {
          if (!has(roles.batch, unit)) roles.batch.push_back(unit);
        }
        consider(roles, left, right, units, swapped, best);
      }
    }
  }

  std::optional<Labelled> product(const Labels& summed) {
    for (const int label : summed) {
      if (sizes_of(editor_, a_).at(label) < 0 || sizes_of(editor_, b_).at(label) < 0) return std::nullopt;
    }
    std::optional<Arrangement> best;
    for (const bool with_batch : {false, true}) {
      const Units units = units_of(with_batch);
      const Side a{in_units(a_.labels, units), is_known(editor_, a_.value)};
      const Side b{in_units(b_.labels, units), is_known(editor_, b_.value)};
      consider_sides(a, b, units, false, best);
      consider_sides(b, a, units, true, best);
    }
    return best ? std::optional(emit(*best)) : std::nullopt;
  }

  Groups label_groups(const Labels& order, const Units& units) const {
    Groups groups;
    for (const int unit : order) groups.push_back(units.at(unit));
    return groups;
  }

  /// The operand as the product takes it; what the product does itself is set.
  ValueId emit_side(const Labelled& operand, const Groups& groups, const Units& units, bool& transposed,
                    bool& heads_inside) {
    const LabelSizes sizes = sizes_of(editor_, operand), of_units = unit_sizes(units, sizes);
    const Labels own = in_units(operand.labels, units);
    Labels order = joined(groups);
    const bool plain = groups == singles(order);
    ValueId value = regroup(editor_, operand.value, singles(operand.labels), label_groups(own, units), sizes, like_);
    if (plain && is_free_by_columns(perm_to(own, order))) {
      transposed = true;
      std::swap(order[order.size() - 2], order[order.size() - 1]);
    }
    heads_inside = plain && reads_heads() && swaps_heads(perm_to(own, order));
    if (heads_inside) return value;
    value = with_order(editor_, {value, own}, order, like_);
    return plain ? value : regroup(editor_, value, singles(order), groups, of_units, like_);
  }

  /// Products of two computed matrices of floats read and write heads inside.
  bool reads_heads() const {
    const auto computed = [&](ValueId id) {
      return !is_known(editor_, id) && editor_.value(id).type.dtype == DType::f32;
    };
    return computed(a_.value) && computed(b_.value);
  }

  Labelled emit(const Arrangement& way) {
    MatMul op;
    const ValueId left = emit_side(way.swapped ? b_ : a_, way.left, way.units, op.transpose_a, op.heads_inside_a);
    const ValueId right = emit_side(way.swapped ? a_ : b_, way.right, way.units, op.transpose_b, op.heads_inside_b);
    const Labels flat = joined(way.product), order = ordered_ ? in_units(kept_, way.units) : flat;
    op.heads_inside_out = reads_heads() && way.product == singles(flat) && swaps_heads(perm_to(flat, order));
    ValueId value = editor_.add(op, {left, right}, like_);
    value = regroup(editor_, value, way.product, singles(flat), unit_sizes(way.units, sizes_), like_);
    if (!op.heads_inside_out) value = with_order(editor_, {value, flat}, order, like_);
    const Groups groups = label_groups(order, way.units);
    return {regroup(editor_, value, groups, singles(joined(groups)), sizes_, like_), joined(groups)};
  }

  Editor& editor_;
  const Node& like_;
  Labelled a_, b_;
  Labels kept_;
  bool ordered_;
  LabelSizes sizes_;
};

}  // namespace

std::optional<Labelled> multiply_pair(Editor& editor, const Labelled& a, const Labelled& b, const Labels& kept,
                                      bool ordered, const Node& like) {
  return Pair(editor, a, b, kept, ordered, like).run();
}

}  // namespace colonnade::rewrite
