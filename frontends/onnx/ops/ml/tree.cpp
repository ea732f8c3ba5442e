// SPDX-License-Identifier: Apache-2.0
// Tree ensembles of ai.onnx.ml: the attribute form of opsets 1 to 4 and the tensor form since opset 5.
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "frontends/onnx/ops/ml/shared.hpp"
#include "frontends/onnx/tensor.hpp"
#include "reference/elements.hpp"

namespace colonnade::onnx_import {
namespace {

using Mode = TreeEnsemble::Mode;
using TreeNode = TreeEnsemble::TreeNode;

TreeEnsemble::Post post_named(const Lowering& low, std::string_view name) {
  if (name == "NONE") return TreeEnsemble::Post::none;
  if (name == "SOFTMAX") return TreeEnsemble::Post::softmax;
  if (name == "LOGISTIC") return TreeEnsemble::Post::logistic;
  if (name == "SOFTMAX_ZERO") return TreeEnsemble::Post::softmax_zero;
  if (name == "PROBIT") return TreeEnsemble::Post::probit;
  low.invalid("attribute 'post_transform': '{}' does not exist", printable(name));
}

TreeEnsemble::Aggregate aggregate_named(const Lowering& low, std::string_view name) {
  if (name == "SUM") return TreeEnsemble::Aggregate::sum;
  if (name == "AVERAGE") return TreeEnsemble::Aggregate::average;
  if (name == "MIN") return TreeEnsemble::Aggregate::min;
  if (name == "MAX") return TreeEnsemble::Aggregate::max;
  low.invalid("attribute 'aggregate_function': '{}' does not exist", printable(name));
}

Mode mode_named(const Lowering& low, std::string_view name) {
  if (name == "BRANCH_LEQ") return Mode::leq;
  if (name == "BRANCH_LT") return Mode::lt;
  if (name == "BRANCH_GTE") return Mode::gte;
  if (name == "BRANCH_GT") return Mode::gt;
  if (name == "BRANCH_EQ") return Mode::eq;
  if (name == "BRANCH_NEQ") return Mode::neq;
  if (name == "LEAF") return Mode::leaf;
  low.invalid("attribute 'nodes_modes': '{}' does not exist", printable(name));
}

/// A tensor of real numbers; nothing where it is not given.
std::optional<Tensor> real_tensor(Lowering& low, const std::string& name) {
  const auto* proto = find_tensor(low.node(), name);
  if (!proto) return std::nullopt;
  Tensor tensor = tensor_from(*proto, low.node().label() + ": attribute '" + name + "'", low.external());
  if (!is_float(tensor.dtype()))
    low.invalid("attribute '{}': expected floats, found {}", name, name_of(tensor.dtype()));
  return tensor;
}

/// An attribute given as floats or, since opset 3, as a tensor.
std::vector<double> floats_or_tensor(Lowering& low, const std::string& name) {
  if (const auto values = find_floats(low.node(), name)) return {values->begin(), values->end()};
  const auto tensor = real_tensor(low, name + "_as_tensor");
  return tensor ? reference::load_all<double>(*tensor) : std::vector<double>();
}

template <class Values>
void check_count(const Lowering& low, std::string_view name, const Values& values, std::size_t count) {
  if (values.size() != count) low.invalid("attribute '{}': expected {} values, found {}", name, count, values.size());
}

std::int32_t checked_feature(const Lowering& low, std::int64_t feature) {
  const ValueId x = low.input(0);
  const std::int64_t features = low.shape(x) && low.rank(x) > 0 ? low.dim(x, low.rank(x) - 1) : -1;
  const std::int64_t limit = features >= 0 ? features : std::numeric_limits<std::int32_t>::max();
  if (feature < 0 || feature >= limit) low.invalid("feature {} is out of range [0,{})", feature, limit);
  return static_cast<std::int32_t>(feature);
}

/// Every walk ends in a leaf.
void check_acyclic(const Lowering& low, const TreeEnsemble& trees) {
  enum class State : std::uint8_t { unseen, open, done };
  std::vector<State> states(trees.nodes.size(), State::unseen);
  std::vector<std::int32_t> stack(trees.nodes.size());
  std::iota(stack.begin(), stack.end(), 0);
  while (!stack.empty()) {
    const std::int32_t index = stack.back();
    State& state = states[static_cast<std::size_t>(index)];
    const TreeNode& node = trees.nodes[static_cast<std::size_t>(index)];
    if (state != State::unseen || node.feature < 0) {
      state = State::done;
      stack.pop_back();
      continue;
    }
    state = State::open;
    for (const std::int32_t child : {node.if_true, node.if_false}) {
      const State seen = states[static_cast<std::size_t>(child)];
      if (seen == State::open) low.invalid("its trees hold a cycle");
      if (seen == State::unseen) stack.push_back(child);
    }
  }
}

/// Where (tree, node) is in the node list.
class NodeIndex {
 public:
  NodeIndex(const Lowering& low, const Ints& trees, const Ints& nodes) : low_(low) {
    for (std::size_t i = 0; i < trees.size(); ++i) {
      if (!positions_.emplace(std::pair(trees[i], nodes[i]), static_cast<std::int32_t>(i)).second) {
        low.invalid("tree {} has two nodes {}", trees[i], nodes[i]);
      }
    }
  }
  std::int32_t at(std::int64_t tree, std::int64_t node) const {
    const auto found = positions_.find(std::pair(tree, node));
    if (found == positions_.end()) low_.invalid("tree {} has no node {}", tree, node);
    return found->second;
  }

 private:
  const Lowering& low_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int32_t> positions_;
};

/// The node attributes of opsets 1 to 4.
struct NodeLists {
  Ints trees, nodes, features, if_true, if_false, missing;
  std::vector<double> values;
  std::vector<std::string> modes;
};

NodeLists read_lists(Lowering& low) {
  NodeLists lists{low.required_ints("nodes_treeids"),
                  low.required_ints("nodes_nodeids"),
                  low.required_ints("nodes_featureids"),
                  low.required_ints("nodes_truenodeids"),
                  low.required_ints("nodes_falsenodeids"),
                  find_ints(low.node(), "nodes_missing_value_tracks_true").value_or(Ints()),
                  floats_or_tensor(low, "nodes_values"),
                  find_strings(low.node(), "nodes_modes").value_or(std::vector<std::string>())};
  const std::size_t count = lists.trees.size();
  if (count == 0 || count > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    low.invalid("has {} tree nodes", count);
  check_count(low, "nodes_nodeids", lists.nodes, count);
  check_count(low, "nodes_featureids", lists.features, count);
  check_count(low, "nodes_truenodeids", lists.if_true, count);
  check_count(low, "nodes_falsenodeids", lists.if_false, count);
  check_count(low, "nodes_values", lists.values, count);
  check_count(low, "nodes_modes", lists.modes, count);
  if (!lists.missing.empty()) check_count(low, "nodes_missing_value_tracks_true", lists.missing, count);
  return lists;
}

/// Nodes without a parent are roots, one a tree.
void find_roots(const Lowering& low, const NodeLists& lists, TreeEnsemble& trees) {
  std::vector<bool> is_child(trees.nodes.size(), false);
  for (const TreeNode& node : trees.nodes) {
    if (node.feature < 0) continue;
    is_child[static_cast<std::size_t>(node.if_true)] = true;
    is_child[static_cast<std::size_t>(node.if_false)] = true;
  }
  std::set<std::int64_t> rooted;
  for (std::size_t i = 0; i < is_child.size(); ++i) {
    if (is_child[i]) continue;
    if (!rooted.insert(lists.trees[i]).second) low.invalid("tree {} has two roots", lists.trees[i]);
    trees.roots.push_back(static_cast<std::int32_t>(i));
  }
  if (rooted.size() != std::set<std::int64_t>(lists.trees.begin(), lists.trees.end()).size()) {
    low.invalid("one of its trees has no root");
  }
}

void add_nodes(const Lowering& low, const NodeLists& lists, const NodeIndex& index, TreeEnsemble& trees) {
  for (std::size_t i = 0; i < lists.trees.size(); ++i) {
    TreeNode node{.value = lists.values[i], .mode = mode_named(low, lists.modes[i])};
    node.missing_tracks_true = !lists.missing.empty() && lists.missing[i] != 0;
    if (node.mode != Mode::leaf) {
      node.feature = checked_feature(low, lists.features[i]);
      node.if_true = index.at(lists.trees[i], lists.if_true[i]);
      node.if_false = index.at(lists.trees[i], lists.if_false[i]);
    }
    trees.nodes.push_back(node);
  }
}

/// The weights of opsets 1 to 4, given in any order; `prefix` is "class" or "target".
void add_weights(Lowering& low, const std::string& prefix, const NodeIndex& index, TreeEnsemble& trees) {
  const Ints tree_ids = low.required_ints(prefix + "_treeids"), node_ids = low.required_ints(prefix + "_nodeids");
  const Ints targets = low.required_ints(prefix + "_ids");
  const auto weights = floats_or_tensor(low, prefix + "_weights");
  check_count(low, prefix + "_nodeids", node_ids, tree_ids.size());
  check_count(low, prefix + "_ids", targets, tree_ids.size());
  check_count(low, prefix + "_weights", weights, tree_ids.size());
  std::vector<std::vector<TreeEnsemble::Weight>> of_node(trees.nodes.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (targets[i] < 0 || targets[i] >= trees.target_count) {
      low.invalid("attribute '{}_ids': {} is out of range [0,{})", prefix, targets[i], trees.target_count);
    }
    const auto node = static_cast<std::size_t>(index.at(tree_ids[i], node_ids[i]));
    of_node[node].push_back({static_cast<std::int32_t>(targets[i]), weights[i]});
  }
  for (std::size_t i = 0; i < of_node.size(); ++i) {
    if (trees.nodes[i].mode != Mode::leaf) continue;
    trees.nodes[i].first_weight = static_cast<std::int32_t>(trees.leaf_weights.size());
    trees.leaf_weights.insert(trees.leaf_weights.end(), of_node[i].begin(), of_node[i].end());
    trees.nodes[i].last_weight = static_cast<std::int32_t>(trees.leaf_weights.size());
  }
}

void add_trees(Lowering& low, const std::string& prefix, TreeEnsemble& trees) {
  const NodeLists lists = read_lists(low);
  const NodeIndex index(low, lists.trees, lists.nodes);
  add_nodes(low, lists, index, trees);
  find_roots(low, lists, trees);
  check_acyclic(low, trees);
  add_weights(low, prefix, index, trees);
  trees.base_values = floats_or_tensor(low, "base_values");
  trees.post = post_named(low, low.string_or("post_transform", "NONE"));
}

/// Doubles are compared as doubles, everything else as float32.
ValueId features(Lowering& low) {
  const ValueId x = low.dtype(low.input(0)) == DType::f64 ? low.input(0) : cast(low, low.input(0), DType::f32);
  return low.shape(x) && low.rank(x) == 1 ? unsqueeze(low, x, {0}) : x;
}

/// The ensemble answers integers; labels that are strings are looked up by them.
Values lower_tree_classifier(Lowering& low) {
  TreeEnsemble trees;
  trees.classifier = true;
  Tensor labels = class_labels(low, "classlabels_int64s", "classlabels_strings");
  trees.target_count = labels.size();
  if (labels.dtype() == DType::i64) trees.labels = reference::load_all<std::int64_t>(labels);
  add_trees(low, "class", trees);
  std::set<std::int32_t> weighed;
  for (const auto& weight : trees.leaf_weights) weighed.insert(weight.target);
  trees.binary_case = trees.target_count == 2 && weighed == std::set<std::int32_t>{0};
  const std::size_t bases = trees.base_values.size();
  if (bases != 0 && !(bases == 1 && trees.binary_case)) {
    check_count(low, "base_values", trees.base_values, static_cast<std::size_t>(trees.target_count));
  }
  Values outputs = low.emit_all(std::move(trees), {features(low)}, 2);
  if (labels.dtype() == DType::string) outputs[0] = label_of(low, std::move(labels), outputs[0]);
  return outputs;
}

Values lower_tree_regressor(Lowering& low) {
  TreeEnsemble trees;
  trees.target_count = low.int_or("n_targets", 1);
  if (trees.target_count < 1 || trees.target_count > (1 << 24))
    low.invalid("attribute 'n_targets': {} is out of range", trees.target_count);
  trees.aggregate = aggregate_named(low, low.string_or("aggregate_function", "SUM"));
  add_trees(low, "target", trees);
  if (!trees.base_values.empty())
    check_count(low, "base_values", trees.base_values, static_cast<std::size_t>(trees.target_count));
  return {low.emit(std::move(trees), {features(low)})};
}

std::vector<double> required_numbers(Lowering& low, const std::string& name) {
  const auto tensor = real_tensor(low, name);
  if (!tensor) low.invalid("attribute '{}' is required", name);
  return reference::load_all<double>(*tensor);
}

std::vector<std::uint8_t> mode_tensor(Lowering& low) {
  const auto* proto = find_tensor(low.node(), "nodes_modes");
  if (!proto) low.invalid("attribute 'nodes_modes' is required");
  const Tensor tensor = tensor_from(*proto, low.node().label() + ": attribute 'nodes_modes'", low.external());
  if (tensor.dtype() != DType::u8)
    low.invalid("attribute 'nodes_modes': expected uint8, found {}", name_of(tensor.dtype()));
  return {tensor.values<std::uint8_t>().begin(), tensor.values<std::uint8_t>().end()};
}

/// Opset 5's form: interior nodes and leaves in lists of their own.
struct TreeTensors {
  Ints features, if_true, if_false, true_is_leaf, false_is_leaf, missing;
  std::vector<double> splits, members;
  std::vector<std::uint8_t> modes;
  std::size_t leaves = 0;

  /// Index of a child in the ensemble's nodes: interior nodes first, leaves behind them.
  std::int32_t child(const Lowering& low, std::int64_t id, bool is_leaf) const {
    const std::size_t limit = is_leaf ? leaves : features.size();
    if (id < 0 || static_cast<std::size_t>(id) >= limit) low.invalid("child {} is out of range [0,{})", id, limit);
    return static_cast<std::int32_t>(static_cast<std::size_t>(id) + (is_leaf ? features.size() : 0));
  }
};

TreeTensors read_tensors(Lowering& low) {
  TreeTensors read{
      low.required_ints("nodes_featureids"),
      low.required_ints("nodes_truenodeids"),
      low.required_ints("nodes_falsenodeids"),
      low.required_ints("nodes_trueleafs"),
      low.required_ints("nodes_falseleafs"),
      find_ints(low.node(), "nodes_missing_value_tracks_true").value_or(Ints()),
      required_numbers(low, "nodes_splits"),
      low.has_attribute("membership_values") ? required_numbers(low, "membership_values") : std::vector<double>(),
      mode_tensor(low)};
  const std::size_t count = read.features.size();
  if (count == 0 || count > (1u << 30)) low.invalid("has {} tree nodes", count);
  check_count(low, "nodes_truenodeids", read.if_true, count);
  check_count(low, "nodes_falsenodeids", read.if_false, count);
  check_count(low, "nodes_trueleafs", read.true_is_leaf, count);
  check_count(low, "nodes_falseleafs", read.false_is_leaf, count);
  check_count(low, "nodes_splits", read.splits, count);
  check_count(low, "nodes_modes", read.modes, count);
  if (!read.missing.empty()) check_count(low, "nodes_missing_value_tracks_true", read.missing, count);
  return read;
}

/// Set membership as a chain of equalities: node `first` and more behind the leaves. The sets end in NaN.
void add_members(const Lowering& low, const TreeTensors& read, std::size_t first, std::size_t& next_member,
                 TreeEnsemble& trees) {
  std::size_t current = first;
  bool is_first = true;
  for (;; ++next_member) {
    if (next_member >= read.members.size()) low.invalid("attribute 'membership_values' ends early");
    const double member = read.members[next_member];
    if (member != member) break;
    if (!is_first) {
      const auto added = static_cast<std::int32_t>(trees.nodes.size());
      trees.nodes.push_back(trees.nodes[current]);
      trees.nodes[current].if_false = added;
      current = static_cast<std::size_t>(added);
    }
    trees.nodes[current].value = member;
    is_first = false;
  }
  ++next_member;
  if (is_first) low.invalid("attribute 'membership_values' has an empty set");
}

void add_leaves(Lowering& low, TreeTensors& read, TreeEnsemble& trees) {
  const Ints targets = low.required_ints("leaf_targetids");
  const auto weights = required_numbers(low, "leaf_weights");
  check_count(low, "leaf_weights", weights, targets.size());
  read.leaves = targets.size();
  trees.nodes.resize(read.features.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] < 0 || targets[i] >= trees.target_count) {
      low.invalid("attribute 'leaf_targetids': {} is out of range [0,{})", targets[i], trees.target_count);
    }
    const auto weight = static_cast<std::int32_t>(i);
    trees.leaf_weights.push_back({static_cast<std::int32_t>(targets[i]), weights[i]});
    trees.nodes.push_back({.mode = Mode::leaf, .first_weight = weight, .last_weight = weight + 1});
  }
}

void add_interior(const Lowering& low, const TreeTensors& read, TreeEnsemble& trees) {
  static constexpr Mode kModes[] = {Mode::leq, Mode::lt, Mode::gte, Mode::gt, Mode::eq, Mode::neq, Mode::eq};
  constexpr std::uint8_t kMember = 6;
  std::size_t next_member = 0;
  for (std::size_t i = 0; i < read.features.size(); ++i) {
    if (read.modes[i] > kMember) low.invalid("attribute 'nodes_modes': {} does not exist", read.modes[i]);
    TreeNode node{
        .feature = checked_feature(low, read.features[i]), .value = read.splits[i], .mode = kModes[read.modes[i]]};
    node.missing_tracks_true = !read.missing.empty() && read.missing[i] != 0;
    node.if_true = read.child(low, read.if_true[i], read.true_is_leaf[i] != 0);
    node.if_false = read.child(low, read.if_false[i], read.false_is_leaf[i] != 0);
    trees.nodes[i] = node;
    if (read.modes[i] == kMember) add_members(low, read, i, next_member, trees);
  }
}

Values lower_ensemble(Lowering& low) {
  static constexpr std::string_view kPosts[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  static constexpr std::string_view kAggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const std::int64_t post = low.int_or("post_transform", 0), aggregate = low.int_or("aggregate_function", 1);
  if (post < 0 || post > 4) low.invalid("attribute 'post_transform': {} does not exist", post);
  if (aggregate < 0 || aggregate > 3) low.invalid("attribute 'aggregate_function': {} does not exist", aggregate);
  TreeEnsemble trees;
  trees.target_count = low.int_or("n_targets", 1);
  if (trees.target_count < 1 || trees.target_count > (1 << 24))
    low.invalid("attribute 'n_targets': {} is out of range", trees.target_count);
  trees.post = post_named(low, kPosts[post]);
  trees.aggregate = aggregate_named(low, kAggregates[aggregate]);
  TreeTensors read = read_tensors(low);
  add_leaves(low, read, trees);
  add_interior(low, read, trees);
  for (const std::int64_t root : low.required_ints("tree_roots")) trees.roots.push_back(read.child(low, root, false));
  check_acyclic(low, trees);
  const DType dtype = low.dtype(low.input(0));
  if (dtype == DType::f64) trees.scores = DType::f64;
  return {cast(low, low.emit(std::move(trees), {features(low)}), dtype)};
}

constexpr Row kTreeRows[] = {
    {kMlDomain, "TreeEnsembleClassifier", 1, kNoLimit, 1, 1, 2, lower_tree_classifier},
    {kMlDomain, "TreeEnsembleRegressor", 1, kNoLimit, 1, 1, 1, lower_tree_regressor},
    {kMlDomain, "TreeEnsemble", 5, kNoLimit, 1, 1, 1, lower_ensemble},
};

}  // namespace

std::span<const Row> ml_tree_rows() { return kTreeRows; }

}  // namespace colonnade::onnx_import
