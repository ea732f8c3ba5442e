// SPDX-License-Identifier: Apache-2.0
// Every pass: true when it changed the graph. What each does stands in the table in passes.cpp.
#pragma once

#include "graph/graph.hpp"

namespace colonnade::rewrite {

bool widen_f16(Graph& graph);
bool windows_apart(Graph& graph);
bool windows_summed(Graph& graph);
bool fold_constants(Graph& graph);
bool fold_pads(Graph& graph);
bool inline_branches(Graph& graph);
bool settle_captures(Graph& graph);
bool hoist_invariants(Graph& graph);
bool eliminate_common(Graph& graph);
bool expand_einsum(Graph& graph);
bool expand_deformed(Graph& graph);
bool read_sequences(Graph& graph);
bool static_forms(Graph& graph);
bool stay_in_float(Graph& graph);
bool gather_channels(Graph& graph);
bool join_branches(Graph& graph);
bool join_concats(Graph& graph);
bool recognise(Graph& graph);
bool fuse_attention(Graph& graph);
bool spread_addends(Graph& graph);
bool append_caches(Graph& graph);
bool channels_last(Graph& graph);
bool compute_in_bytes(Graph& graph);
bool fold_batch_norm(Graph& graph);
bool pool_first(Graph& graph);
bool pool_planes(Graph& graph);
bool flatten_norms(Graph& graph);
bool flatten_volumes(Graph& graph);
bool fuse_epilogue(Graph& graph);
bool heads_in_products(Graph& graph);
bool subpixel(Graph& graph);
bool split_reductions(Graph& graph);
bool orient(Graph& graph);
bool flush_denormals(Graph& graph);
bool drop_dead(Graph& graph);

}  // namespace colonnade::rewrite
