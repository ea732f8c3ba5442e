// SPDX-License-Identifier: Apache-2.0
#include "passes/passes.hpp"

#include <algorithm>
#include <chrono>

#include "base/interruption.hpp"
#include "passes/pass_list.hpp"

namespace colonnade {
namespace {

constexpr Pass kPasses[] = {
    {"drop_dead", rewrite::drop_dead, "Drops nodes and values that no graph output needs."},
    {"widen_f16", rewrite::widen_f16,
     "Computes float16 and bfloat16 graphs in float32, with casts at inputs and outputs; what only moves between those "
     "stays."},
    {"fold_constants", rewrite::fold_constants, "Evaluates nodes with constant inputs and shapes that are known."},
    {"inline_branches", rewrite::inline_branches, "Replaces an If whose condition is constant by its branch."},
    {"settle_captures", rewrite::settle_captures,
     "Makes constant captures constants of the bodies, drops those that no body reads, and captures states that never "
     "change."},
    {"eliminate_common", rewrite::eliminate_common, "Computes equal nodes once and keeps equal small constants once."},
    {"static_forms", rewrite::static_forms,
     "Drops nodes without effect and rewrites shape changes as Reshape and Slice."},
    {"eliminate_common", rewrite::eliminate_common, "Again, of what static_forms made: no round begins for that."},
    {"hoist_invariants", rewrite::hoist_invariants,
     "Computes once, before a loop, the products that are the same in every iteration."},
    {"read_sequences", rewrite::read_sequences,
     "Reads the tensors of sequences and optionals that are made in the graph, without these."},
    {"expand_einsum", rewrite::expand_einsum,
     "Computes an Einsum by products of pairs, sums and Transposes, arranged such that few bytes move."},
    {"expand_deformed", rewrite::expand_deformed, "Samples what a DeformConv sees, and multiplies the samples."},
    {"stay_in_float", rewrite::stay_in_float,
     "Leaves out casts to small integers and back of such integers, and keeps the sums that convolve them exact."},
    {"fold_pads", rewrite::fold_pads,
     "Makes zeros around an image the padding of the convolutions and pools that read it."},
    {"gather_channels", rewrite::gather_channels,
     "Writes channel shuffles as Gather, and lets contractions compute the channels that are read, in the order asked "
     "for."},
    {"join_concats", rewrite::join_concats,
     "Joins neighbouring slices and the first parts of concatenations that another one joins too."},
    {"recognise", rewrite::recognise, "Finds activations, normalisations and softmax written out in small operators."},
    {"fuse_attention", rewrite::fuse_attention,
     "Finds scores, their softmax and what it mixes of the values, and computes them a block of rows at a time."},
    {"spread_addends", rewrite::spread_addends, "Gives each key a number of a mask that has one for all of them."},
    {"append_caches", rewrite::append_caches,
     "Puts new rows behind inputs of open length, a decoder's caches, such that lengths may share a plan."},
    {"channels_last", rewrite::channels_last, "Chooses layouts so that Transposes move the fewest bytes."},
    {"compute_in_bytes", rewrite::compute_in_bytes,
     "Multiplies, adds, averages, moves and looks up the bytes of quantised networks, not the numbers they stand for."},
    {"fold_batch_norm", rewrite::fold_batch_norm,
     "Folds per-channel scales and shifts into contractions before and behind them and into each other, else makes "
     "them "
     "depthwise convolutions."},
    {"join_branches", rewrite::join_branches,
     "Makes one convolution of several that have one input and whose results are added."},
    {"pool_first", rewrite::pool_first,
     "Takes the largest of a window before a function that never falls: fewer values are left."},
    {"fuse_epilogue", rewrite::fuse_epilogue, "Lets contractions apply activations and add residuals to their sums."},
    {"heads_in_products", rewrite::heads_in_products,
     "Lets attention and products of two values read and write heads where they lie."},
    {"subpixel", rewrite::subpixel,
     "Turns transposed convolutions with few outputs into dense ones whose channels become pixels."},
    {"windows_apart", rewrite::windows_apart,
     "Turns transposed convolutions whose windows do not overlap into products."},
    {"windows_summed", rewrite::windows_summed,
     "Turns transposed convolutions that rows have no kernel for into products whose windows are added up."},
    {"flatten_volumes", rewrite::flatten_volumes,
     "Convolves volumes as images where a window spans planes or the pixels of a plane, not both."},
    {"split_reductions", rewrite::split_reductions,
     "Reduces (and normalises images) over width, then over rows, so that the first works by rows; axes that lie apart "
     "in turn, and long sequences in parts, which threads share."},
    {"pool_planes", rewrite::pool_planes,
     "Pools planes where they lie, where channels would be made last for that alone."},
    {"flatten_norms", rewrite::flatten_norms,
     "Normalises several axes as one, and takes computed scales and shifts out of layer norms."},
    {"orient", rewrite::orient,
     "Lays images of one column down into a row, joins the positions of small images where products treat all alike, "
     "and makes many images of few elements the rows of one."},
    {"flush_denormals", rewrite::flush_denormals,
     "Sets weights too small to be normal numbers to zero: each costs a hundred cycles."},
};

/// The first passes of the table settle sizes; after one of these three more may be known.
constexpr std::size_t kSettling = 8, kFirstFolding = 2, kFolding = 5;
static_assert(kPasses[kSettling - 2].name == "static_forms" && kPasses[kFirstFolding].name == "fold_constants" &&
              kPasses[kFolding - 1].name == "settle_captures");
constexpr int kMaxRounds = 32;

void verify_after(std::string_view pass, const Graph& graph) {
  try {
    verify(graph);
  } catch (const Error& error) {
    fail(ErrorCode::internal, "graph '{}' is broken after {} pass: {}", graph.name, pass, error.what());
  }
}

/// Throws Error{invalid_model} where sizes that constants and branches told contradict each other: that is the model's
/// fault, or that of the shapes it was given, and no pass's.
void check_sizes(const Graph& graph) {
  for (const Node& node : graph.nodes) infer_types(graph, node);
}

}  // namespace

std::span<const Pass> passes() { return kPasses; }

Optimizer::Optimizer(PassOptions options) : options_(std::move(options)), seen_(std::size(kPasses), -1) {
  for (const std::string& name : options_.disabled) {
    const auto known = [&](const Pass& pass) { return pass.name == name; };
    if (std::none_of(std::begin(kPasses), std::end(kPasses), known)) {
      fail(ErrorCode::invalid_argument, "no pass is named '{}'", name);
    }
  }
}

void Optimizer::settle(Graph& graph) {
  const int before = changes_;
  settling_ = true;
  for (int round = 0; round < kMaxRounds; ++round) {
    run_passes(graph, 0, kSettling);
    if (!run_passes(graph, kFirstFolding, kFolding)) break;
  }
  settling_ = false;
  if (changes_ > before) check_sizes(graph);
}

void Optimizer::run(Graph& graph) {
  settle(graph);
  for (int round = 0; round < kMaxRounds; ++round)
    if (!run_passes(graph, 0, std::size(kPasses))) break;
  if (changes_ > 0 && !options_.verify) verify_after("the last", graph);
}

bool Optimizer::run_passes(Graph& graph, std::size_t first, std::size_t end) {
  const int before = changes_;
  for (std::size_t i = first; i < end; ++i) {
    if (seen_[i] == changes_ || is_disabled(kPasses[i].name)) continue;
    seen_[i] = changes_;
    if (run_pass(kPasses[i], graph)) ++changes_;
  }
  return changes_ != before;
}

bool Optimizer::run_pass(const Pass& pass, Graph& graph) const {
  interruption_point();
  const auto begin = std::chrono::steady_clock::now();
  const bool changed = pass.run(graph);
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
  if (changed && options_.verify) {
    if (settling_) check_sizes(graph);
    verify_after(pass.name, graph);
  }
  if (options_.observer) options_.observer({pass.name, elapsed.count(), changed}, graph);
  return changed;
}

bool Optimizer::is_disabled(std::string_view name) const {
  return std::find(options_.disabled.begin(), options_.disabled.end(), name) != options_.disabled.end();
}

}  // namespace colonnade
