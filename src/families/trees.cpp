// SPDX-License-Identifier: Apache-2.0
// Tree ensembles: several trees walk down at once, without branches; leaves point at themselves.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "reference/reference.hpp"

namespace colonnade {
namespace {

struct TreesForm {
  std::vector<std::int32_t> depths;  ///< of each tree
};

/// Goes to next[x[feature] <= threshold].
struct FlatNode {
  float threshold = 0;
  std::int32_t feature = 0;
  std::array<std::int32_t, 2> next{};
};

/// Pairs of a sample and a tree that walk down at once, and samples of which each tree is asked while it is in cache.
constexpr std::size_t kTogether = 16, kSamples = 64;

/// Units are samples.
class TreesOp final : public RowOp {
 public:
  TreesOp(const LowerContext& context, const TreeEnsemble& trees)
      : in_(context.in<float>(0)),
        labels_(trees.classifier ? context.out<std::int64_t>() : ValueOf<std::int64_t>{}),
        scores_(context.out<float>(trees.classifier ? 1 : 0)),
        trees_(trees),
        depths_(context.form<TreesForm>().depths),
        features_(context.input_shape(0).back()) {
    const auto tracks = [](const TreeEnsemble::TreeNode& node) { return node.missing_tracks_true; };
    positive_ = reference::weighs_positively(trees);
    sums_ = trees.aggregate == TreeEnsemble::Aggregate::sum || trees.aggregate == TreeEnsemble::Aggregate::average;
    tracks_missing_ = std::any_of(trees.nodes.begin(), trees.nodes.end(), tracks);
    for (std::size_t i = 0; i < trees.nodes.size(); ++i) nodes_.push_back(flat(trees.nodes[i], i));
  }

  void run(const StepContext& step) const override {
    const auto room = static_cast<std::size_t>(reference::tree_room(trees_));
    const std::span scores(reinterpret_cast<double*>(step.scratch), kSamples * room);
    float* gaps = step.scratch + 2 * scores.size();
    for (std::int64_t n = step.row_begin; n < step.row_end; n += kSamples) {
      const float* x = whole(step, in_) + n * features_;
      const auto count = static_cast<std::size_t>(std::min<std::int64_t>(kSamples, step.row_end - n));
      for (std::size_t i = 0; i < count; ++i) reference::begin_scores(trees_, scores.subspan(i * room, room));
      add_leaves(tracks_missing_ ? with_missing(x, count, gaps) : x, count, scores.data());
      for (std::size_t i = 0; i < count; ++i)
        answer(step, n + static_cast<std::int64_t>(i), scores.subspan(i * room, room));
    }
  }

  std::string_view kernel() const override { return "trees"; }

 private:
  /// The largest float that a sample may have which passes: at most x, or less than x. Subnormal ones are zero.
  static float threshold_of(double x, bool strict) {
    const auto nearest = static_cast<float>(x);
    const bool fits = strict ? static_cast<double>(nearest) < x : static_cast<double>(nearest) <= x;
    if (fits) return nearest;
    const float next = std::nextafter(nearest, -std::numeric_limits<float>::infinity());
    return next < 0 && next > -std::numeric_limits<float>::min() ? -std::numeric_limits<float>::min() : next;
  }

  FlatNode flat(const TreeEnsemble::TreeNode& node, std::size_t index) const {
    const auto self = static_cast<std::int32_t>(index);
    if (node.mode == TreeEnsemble::Mode::leaf) return {0, 0, {self, self}};
    const bool strict = node.mode == TreeEnsemble::Mode::lt || node.mode == TreeEnsemble::Mode::gte;
    FlatNode result{threshold_of(node.value, strict), node.feature, {node.if_false, node.if_true}};
    bool missing_passes = node.missing_tracks_true;
    if (node.mode == TreeEnsemble::Mode::gte || node.mode == TreeEnsemble::Mode::gt) {
      std::swap(result.next[0], result.next[1]);
      missing_passes = !missing_passes;
    }
    if (tracks_missing_ && missing_passes) result.feature += static_cast<std::int32_t>(features_);
    return result;
  }

  /// Each sample, then the sample with what is missing below every threshold.
  const float* with_missing(const float* x, std::size_t samples, float* both) const {
    float* to = both;
    for (std::size_t n = 0; n < samples; ++n, x += features_) {
      to = std::copy_n(x, features_, to);
      to = std::transform(x, x + features_, to, [](float value) {
        return std::isnan(value) ? -std::numeric_limits<float>::infinity() : value;
      });
    }
    return both;
  }

  using Places = std::array<std::int32_t, kTogether>;
  using Samples = std::array<const float*, kTogether>;

  /// Of each tree for each sample.
  void add_leaves(const float* x, std::size_t samples, double* scores) const {
    const std::int64_t stride = tracks_missing_ ? 2 * features_ : features_;
    const std::int64_t room = reference::tree_room(trees_);
    const auto count = static_cast<std::int64_t>(samples), together = static_cast<std::int64_t>(kTogether);
    if (count < together) {
      for (std::int64_t n = 0; n < count; ++n) ask_trees(x + n * stride, scores + n * room);
      return;
    }
    for (std::size_t tree = 0; tree < trees_.roots.size(); ++tree)
      for (std::int64_t n = 0; n < count; n += together)
        ask_tree(tree, x + n * stride, stride, std::min(together, count - n), scores + n * room);
  }

  /// One tree for up to kTogether samples.
  void ask_tree(std::size_t tree, const float* x, std::int64_t stride, std::int64_t count, double* scores) const {
    Places at;
    Samples from;
    at.fill(trees_.roots[tree]);
    for (std::int64_t i = 0; i < std::ssize(from); ++i)
      from[static_cast<std::size_t>(i)] = x + std::min(i, count - 1) * stride;
    walk(depths_[tree], from, at);
    for (std::int64_t i = 0; i < count; ++i)
      add_leaf(at[static_cast<std::size_t>(i)], scores + i * reference::tree_room(trees_));
  }

  /// All trees for one sample.
  void ask_trees(const float* x, double* scores) const {
    Places at;
    Samples from;
    from.fill(x);
    for (std::size_t first = 0; first < trees_.roots.size(); first += kTogether) {
      const std::size_t count = std::min(kTogether, trees_.roots.size() - first);
      std::int32_t depth = 0;
      for (std::size_t i = 0; i < kTogether; ++i) {
        const std::size_t tree = first + (i < count ? i : 0);
        at[i] = trees_.roots[tree];
        depth = std::max(depth, depths_[tree]);
      }
      walk(depth, from, at);
      for (std::size_t i = 0; i < count; ++i) add_leaf(at[i], scores);
    }
  }

  void add_leaf(std::int32_t leaf, double* scores) const {
    if (!sums_)
      return reference::add_leaf(trees_, leaf, {scores, static_cast<std::size_t>(reference::tree_room(trees_))});
    const TreeEnsemble::TreeNode& node = trees_.nodes[static_cast<std::size_t>(leaf)];
    for (std::int32_t i = node.first_weight; i < node.last_weight; ++i) {
      const TreeEnsemble::Weight& weight = trees_.leaf_weights[static_cast<std::size_t>(i)];
      scores[weight.target] += weight.value;
    }
  }

  void walk(std::int32_t depth, const Samples& from, Places& at) const {
    for (; depth > 0; --depth)
      for (std::size_t i = 0; i < kTogether; ++i) {
        const FlatNode& here = nodes_[static_cast<std::size_t>(at[i])];
        at[i] = here.next[from[i][here.feature] <= here.threshold ? 1 : 0];
      }
  }

  void answer(const StepContext& step, std::int64_t sample, std::span<double> room) const {
    const auto [scores, best] = reference::tree_answer(trees_, positive_, room);
    const auto count = static_cast<std::int64_t>(scores.size());
    if (scores_)
      std::transform(scores.begin(), scores.end(), whole(step, scores_) + sample * count,
                     [](double score) { return static_cast<float>(score); });
    if (!labels_) return;
    const bool named = trees_.labels.size() > 1 && best < trees_.labels.size();
    whole(step, labels_)[sample] = named ? trees_.labels[best] : static_cast<std::int64_t>(best);
  }

  ValueOf<float> in_;
  ValueOf<std::int64_t> labels_;
  ValueOf<float> scores_;
  TreeEnsemble trees_;
  std::vector<std::int32_t> depths_;
  std::int64_t features_;
  bool tracks_missing_ = false, positive_ = false, sums_ = false;
  std::vector<FlatNode> nodes_;
};

/// Depth of each tree; nothing when an ensemble has nodes that are no thresholds, or is malformed.
std::optional<std::vector<std::int32_t>> tree_depths(const TreeEnsemble& trees) {
  using Mode = TreeEnsemble::Mode;
  const auto count = static_cast<std::int32_t>(trees.nodes.size());
  const auto inside = [count](std::int32_t index) { return index >= 0 && index < count; };
  const auto& weights = trees.leaf_weights;
  const auto names_target = [&](const auto& weight) {
    return weight.target >= 0 && weight.target < trees.target_count;
  };
  if (!std::all_of(weights.begin(), weights.end(), names_target)) return std::nullopt;
  for (const TreeEnsemble::TreeNode& node : trees.nodes) {
    if (node.mode == Mode::leaf) {
      const bool valid = node.first_weight >= 0 && node.first_weight <= node.last_weight &&
                         static_cast<std::size_t>(node.last_weight) <= weights.size();
      if (!valid) return std::nullopt;
    } else if (node.mode == Mode::eq || node.mode == Mode::neq || node.feature < 0 ||
               !(std::abs(node.value) <= std::numeric_limits<float>::max()) || !inside(node.if_true) ||
               !inside(node.if_false)) {
      return std::nullopt;
    }
  }
  std::vector<std::int32_t> depths, level, next;
  for (const std::int32_t root : trees.roots) {
    if (!inside(root)) return std::nullopt;
    std::int32_t depth = 0;
    std::size_t visited = 0;
    for (level = {root}; !level.empty(); level.swap(next)) {
      next.clear();
      for (const std::int32_t index : level) {
        const TreeEnsemble::TreeNode& node = trees.nodes[static_cast<std::size_t>(index)];
        if (node.mode != Mode::leaf) next.insert(next.end(), {node.if_true, node.if_false});
      }
      visited += level.size();
      if (visited > trees.nodes.size()) return std::nullopt;  // nodes are shared, or a cycle
      if (!next.empty()) ++depth;
    }
    depths.push_back(depth);
  }
  return depths;
}

Match match(const Candidate& node) {
  const auto* trees = std::get_if<TreeEnsemble>(&node.node.op);
  if (trees == nullptr) return refuse();
  const Shape& in = node.input_shape(0);
  const auto uses = [&](const TreeEnsemble::TreeNode& each) { return each.feature < in.back(); };
  const bool single = node.input(0).type.dtype == DType::f32 && trees->scores == DType::f32;
  const bool fits = single && in.size() == 2 && std::all_of(trees->nodes.begin(), trees->nodes.end(), uses);
  auto depths = fits ? tree_depths(*trees) : std::nullopt;
  return depths ? take(Form::of(TreesForm{*std::move(depths)})) : refuse("no kernel for these trees");
}

std::int64_t samples(const Chosen& node) { return node.input_shape(0).front(); }

/// Levels and leaves as exponentials; measured.
Effort effort(const Chosen& node, const Rates& rates) {
  constexpr double kLevel = 2, kLeaf = 16;
  double of_sample = 0;
  for (const std::int32_t depth : node.form<TreesForm>().depths) of_sample += kLevel * depth + kLeaf;
  return {rates.seconds(Work::function, static_cast<double>(samples(node)) * of_sample, 1)};
}

/// Scores in double, and each sample twice.
std::int64_t workspace_bytes(const Chosen& node) {
  const std::int64_t room = reference::tree_room(std::get<TreeEnsemble>(node.node.op));
  return static_cast<std::int64_t>(kSamples * sizeof(float)) * 2 * (room + node.input_shape(0).back());
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  return std::make_unique<TreesOp>(context, std::get<TreeEnsemble>(context.node.op));
}

}  // namespace

constinit const Family families::trees = whole_family({.name = "trees",
                                                       .types = {DType::f32, DType::i64},
                                                       .match = match,
                                                       .units = samples,
                                                       .effort = effort,
                                                       .weights_bytes = no_bytes,
                                                       .workspace_bytes = workspace_bytes,
                                                       .lower = lower});

}  // namespace colonnade
