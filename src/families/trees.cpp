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
    tracks_missing_ = std::any_of(trees.nodes.begin(), trees.nodes.end(), tracks);
    for (std::size_t i = 0; i < trees.nodes.size(); ++i) nodes_.push_back(flat(trees.nodes[i], i));
  }

  void run(const StepContext& step) const override {
    const std::span room(reinterpret_cast<double*>(step.scratch),
                         static_cast<std::size_t>(reference::tree_room(trees_)));
    const std::span leaves(reinterpret_cast<std::int32_t*>(room.data() + room.size()), trees_.roots.size());
    float* sample = step.scratch + 2 * room.size() + leaves.size();
    for (std::int64_t n = step.row_begin; n < step.row_end; ++n) {
      const float* x = whole(step, in_) + n * features_;
      find_leaves(tracks_missing_ ? with_missing(x, sample) : x, leaves.data());
      const auto [scores, best] = reference::tree_answer(trees_, positive_, leaves, room);
      const auto count = static_cast<std::int64_t>(scores.size());
      if (scores_)
        std::transform(scores.begin(), scores.end(), whole(step, scores_) + n * count,
                       [](double score) { return static_cast<float>(score); });
      if (!labels_) continue;
      const bool named = trees_.labels.size() > 1 && best < trees_.labels.size();
      whole(step, labels_)[n] = named ? trees_.labels[best] : static_cast<std::int64_t>(best);
    }
  }

  std::string_view kernel() const override { return "trees"; }

 private:
  static constexpr std::size_t kTogether = 8;

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

  /// The sample, then the sample with what is missing below every threshold.
  const float* with_missing(const float* x, float* both) const {
    for (std::int64_t i = 0; i < features_; ++i) {
      both[i] = x[i];
      both[features_ + i] = std::isnan(x[i]) ? -std::numeric_limits<float>::infinity() : x[i];
    }
    return both;
  }

  void find_leaves(const float* x, std::int32_t* leaves) const {
    for (std::size_t first = 0; first < trees_.roots.size(); first += kTogether) {
      const std::size_t count = std::min(kTogether, trees_.roots.size() - first);
      std::array<std::int32_t, kTogether> at{};
      std::int32_t depth = 0;
      for (std::size_t i = 0; i < count; ++i) {
        at[i] = trees_.roots[first + i];
        depth = std::max(depth, depths_[first + i]);
      }
      for (std::size_t i = count; i < kTogether; ++i) at[i] = at[0];
      for (; depth > 0; --depth)
        for (std::int32_t& node : at) {
          const FlatNode& here = nodes_[static_cast<std::size_t>(node)];
          node = here.next[x[here.feature] <= here.threshold ? 1 : 0];
        }
      std::copy_n(at.begin(), count, leaves + first);
    }
  }

  ValueOf<float> in_;
  ValueOf<std::int64_t> labels_;
  ValueOf<float> scores_;
  TreeEnsemble trees_;
  std::vector<std::int32_t> depths_;
  std::int64_t features_;
  bool tracks_missing_ = false, positive_ = false;
  std::vector<FlatNode> nodes_;
};

/// Depth of each tree; nothing when an ensemble has nodes that are no thresholds, or is malformed.
std::optional<std::vector<std::int32_t>> tree_depths(const TreeEnsemble& trees) {
  using Mode = TreeEnsemble::Mode;
  const auto count = static_cast<std::int32_t>(trees.nodes.size());
  const auto inside = [count](std::int32_t index) { return index >= 0 && index < count; };
  const auto& weights = trees.leaf_weights;
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

/// Scores in double, a leaf a tree, the sample twice.
std::int64_t workspace_bytes(const Chosen& node) {
  const auto& trees = std::get<TreeEnsemble>(node.node.op);
  const std::int64_t scores = std::max<std::int64_t>(2, trees.target_count);
  return (2 * scores + static_cast<std::int64_t>(trees.roots.size()) + 2 * node.input_shape(0).back()) *
         static_cast<std::int64_t>(sizeof(float));
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  return std::make_unique<TreesOp>(context, std::get<TreeEnsemble>(context.node.op));
}

}  // namespace

constinit const Family families::trees = whole_family({.name = "trees",
                                                       .types = {DType::f32, DType::i64},
                                                       .match = match,
                                                       .units = samples,
                                                       .effort = byte_effort<Work::copy>,
                                                       .weights_bytes = no_bytes,
                                                       .workspace_bytes = workspace_bytes,
                                                       .lower = lower});

}  // namespace colonnade
