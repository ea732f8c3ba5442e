// SPDX-License-Identifier: Apache-2.0
#include "passes/passes.hpp"

#include <algorithm>
#include <array>
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
     "Makes constant captures constants of the bodies, and drops those that no body reads."},
    {"eliminate_common", rewrite::eliminate_common, "Computes equal nodes once and keeps equal small constants once."},
    {"expand_einsum", rewrite::expand_einsum,
     "Computes an Einsum by products of pairs, sums and Transposes, arranged such that few bytes move."},
    {"expand_deformed", rewrite::expand_deformed, "Samples what a DeformConv sees, and multiplies the samples."},
    {"static_forms", rewrite::static_forms,
     "Drops nodes without effect and rewrites shape changes as Reshape and Slice."},
    {"stay_in_float", rewrite::stay_in_float,
     "Leaves out casts to small integers and back of such integers, and keeps the sums that convolve them exact."},
    {"gather_channels", rewrite::gather_channels,
     "Writes channel shuffles as Gather, and lets contractions compute the channels that are read, in the order asked "
     "for."},
    {"join_concats", rewrite::join_concats,
     "Joins neighbouring slices and the first parts of concatenations that another one joins too."},
    {"recognise", rewrite::recognise, "Finds activations, normalisations and softmax written out in small operators."},
    {"fuse_attention", rewrite::fuse_attention,
     "Finds scores, their softmax and what it mixes of the values, and computes them a block of rows at a time."},
    {"append_caches", rewrite::append_caches,
     "Puts new rows behind inputs of open length, a decoder's caches, such that lengths may share a plan."},
    {"channels_last", rewrite::channels_last, "Chooses layouts so that Transposes move the fewest bytes."},
    {"compute_in_bytes", rewrite::compute_in_bytes,
     "Multiplies, adds, averages, moves and looks up the bytes of quantised networks, not the numbers they stand for."},
    {"fold_batch_norm", rewrite::fold_batch_norm,
     "Folds per-channel scales and shifts into contractions before and behind them and into each other, else makes "
     "them "
     "depthwise convolutions."},
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
    {"split_reductions", rewrite::split_reductions,
     "Reduces (and normalises images) over width, then over rows, so that the first works by rows; axes that lie apart "
     "in turn, and long sequences in parts, which threads share."},
    {"flatten_norms", rewrite::flatten_norms,
     "Normalises several axes as one, and takes computed scales and shifts out of layer norms."},
    {"orient", rewrite::orient,
     "Lays images of one column down into a row, joins the positions of small images where products treat all alike, "
     "and makes many images of few elements the rows of one."},
    {"flush_denormals", rewrite::flush_denormals,
     "Sets weights too small to be normal numbers to zero: each costs a hundred cycles."},
};

constexpr int kMaxRounds = 32;

bool is_disabled(const PassOptions& options, std::string_view name) {
  return std::find(options.disabled.begin(), options.disabled.end(), name) != options.disabled.end();
}

void verify_after(std::string_view pass, const Graph& graph) {
  try {
    verify(graph);
  } catch (const Error& error) {
    fail(ErrorCode::internal, "graph '{}' is broken after {} pass: {}", graph.name, pass, error.what());
  }
}

bool run_pass(const Pass& pass, Graph& graph, const PassOptions& options) {
  interruption_point();
  const auto begin = std::chrono::steady_clock::now();
  const bool changed = pass.run(graph);
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
  if (changed && options.verify) verify_after(pass.name, graph);
  if (options.observer) options.observer({pass.name, elapsed.count(), changed}, graph);
  return changed;
}

}  // namespace

std::span<const Pass> passes() { return kPasses; }

void optimize(Graph& graph, const PassOptions& options) {
  for (const std::string& name : options.disabled) {
    const auto known = [&](const Pass& pass) { return pass.name == name; };
    if (std::none_of(std::begin(kPasses), std::end(kPasses), known)) {
      fail(ErrorCode::invalid_argument, "no pass is named '{}'", name);
    }
  }
  int changes = 0;
  std::array<int, std::size(kPasses)> seen;  // by pass: the changes after which it looked at the graph
  seen.fill(-1);
  for (int round = 0; round < kMaxRounds; ++round) {
    const int before = changes;
    for (std::size_t i = 0; i < std::size(kPasses); ++i) {
      if (seen[i] == changes || is_disabled(options, kPasses[i].name)) continue;
      seen[i] = changes;
      if (run_pass(kPasses[i], graph, options)) ++changes;
    }
    if (changes == before) break;
  }
  if (changes > 0 && !options.verify) verify_after("the last", graph);
}

}  // namespace colonnade
