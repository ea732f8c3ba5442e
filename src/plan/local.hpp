// SPDX-License-Identifier: Apache-2.0
// Nodes of the graph as one segment: its inner edges, what lies in whose ring, and which nodes run chunk by chunk.
#pragma once

#include <optional>

#include "plan/context.hpp"

namespace colonnade {

/// The nodes with their inner edges and chunk groups; `chunks` false leaves nodes whole.
LocalSegment local_segment(const PlanContext& context, const ByLocal<NodeIndex>& nodes, bool chunks);

/// Finds expand ... project chains in the segment, two pointwise contractions with channel-wise nodes between that
/// nobody else reads, and makes a chunk group of each whose middle tensor is wide enough.
void find_chunks(const PlanContext& context, LocalSegment& segment);

/// A group of the segment as one of the graph's nodes.
ChunkGroup graph_chunks(const LocalSegment& segment, const LocalChunks& group);

/// One chunk of output channels for each of at most so many threads of a contraction; nothing where its channels cannot
/// be divided.
std::optional<ChunkGroup> channel_shares(const PlanContext& context, NodeIndex node, int threads);

}  // namespace colonnade
