// SPDX-License-Identifier: Apache-2.0
// Axes by name, as an Einsum has them.
#pragma once

#include <algorithm>
#include <map>
#include <optional>

#include "passes/editor.hpp"

namespace colonnade::rewrite {

using Labels = std::vector<int>;
/// Axes that are made of several labels, or of none: of one element.
using Groups = std::vector<Labels>;
/// By label, kUnknownDim where they are open.
using LabelSizes = std::map<int, std::int64_t>;

/// A value whose axes have labels, no two alike.
struct Labelled {
  ValueId value = kAbsent;
  Labels labels;
};

inline bool has(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}
Groups singles(const Labels& labels);
Labels joined(const Groups& groups);
/// Those of `order` that are in `to`.
Labels restricted(const Labels& order, const Labels& to);
Ints perm_to(const Labels& from, const Labels& to);

LabelSizes sizes_of(const Editor& editor, const Labelled& operand);
std::int64_t size_of_group(const Labels& group, const LabelSizes& sizes);
/// A middling number where a size is open.
double elements_of(const Labels& labels, const LabelSizes& sizes);

/// The Reshape that makes axes of groups of labels of other groups of the same labels in the same order; nothing when
/// it cannot be said as long as sizes are open.
std::optional<Ints> regrouped_shape(const Groups& from, const Groups& to, const LabelSizes& sizes);
ValueId regroup(Editor& editor, ValueId value, const Groups& from, const Groups& to, const LabelSizes& sizes,
                const Node& like);
/// The operand with its axes in this order.
ValueId with_order(Editor& editor, const Labelled& operand, const Labels& order, const Node& like);

}  // namespace colonnade::rewrite
