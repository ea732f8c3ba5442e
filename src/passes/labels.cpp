// SPDX-License-Identifier: Apache-2.0
#include "passes/labels.hpp"

#include <algorithm>

#include "graph/shape_rules.hpp"
#include "passes/permutation.hpp"

namespace colonnade::rewrite {
namespace {

constexpr double kAssumedLabelSize = 64;

}  // namespace

Groups singles(const Labels& labels) {
  Groups groups;
  for (const int label : labels) groups.push_back({label});
  return groups;
}

Labels joined(const Groups& groups) {
  Labels labels;
  for (const Labels& group : groups) labels.insert(labels.end(), group.begin(), group.end());
  return labels;
}

Labels restricted(const Labels& order, const Labels& to) {
  Labels result;
  for (const int label : order) {
    if (has(to, label)) result.push_back(label);
  }
  return result;
}

std::int64_t size_of_group(const Labels& group, const LabelSizes& sizes) {
  std::int64_t size = 1;
  for (const int label : group) {
    if (sizes.at(label) < 0) return kUnknownDim;
    size *= sizes.at(label);
  }
  return size;
}

double elements_of(const Labels& labels, const LabelSizes& sizes) {
  double count = 1;
  for (const int label : labels)
    count *= sizes.at(label) < 0 ? kAssumedLabelSize : static_cast<double>(sizes.at(label));
  return count;
}

Ints perm_to(const Labels& from, const Labels& to) {
  Ints perm;
  for (const int label : to) perm.push_back(std::find(from.begin(), from.end(), label) - from.begin());
  return perm;
}

LabelSizes sizes_of(const Editor& editor, const Labelled& operand) {
  LabelSizes sizes;
  const Shape& shape = *editor.value(operand.value).type.shape;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) sizes[operand.labels[axis]] = shape[axis];
  return sizes;
}

std::optional<Ints> regrouped_shape(const Groups& from, const Groups& to, const LabelSizes& sizes) {
  Ints target;
  bool open = false;
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::int64_t size = size_of_group(to[i], sizes);
    if (size < 0 && i < from.size() && from[i] == to[i]) {
      size = 0;
    } else if (size < 0) {
      if (open) return std::nullopt;
      open = true;
    }
    target.push_back(size);
  }
  return target;
}

ValueId regroup(Editor& editor, ValueId value, const Groups& from, const Groups& to, const LabelSizes& sizes,
                const Node& like) {
  if (from == to) return value;
  const ValueId shape = editor.add_ints(like.name + "_shape", *regrouped_shape(from, to, sizes));
  return editor.add(Reshape{}, {value, shape}, like);
}

ValueId with_order(Editor& editor, const Labelled& operand, const Labels& order, const Node& like) {
  const Ints perm = perm_to(operand.labels, order);
  return is_identity(perm) ? operand.value : editor.add(Transpose{perm}, {operand.value}, like);
}

}  // namespace colonnade::rewrite
