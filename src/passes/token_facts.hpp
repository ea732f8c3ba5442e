// SPDX-License-Identifier: Apache-2.0
// What values of a network of texts depend on, found without knowing batch and length.
#pragma once

#include <optional>

#include "graph/graph.hpp"

namespace colonnade::rewrite {

/// On nothing but constants; the sizes of batch and tokens; whether a token is live; the position of a token; a token
/// of a text (and, by attention, the live ones beside it); a text.
enum class Dependence : std::uint8_t { unknown, fixed, sizes, live, place, tokens, texts };

inline constexpr std::int64_t kBatchSize = -1, kTokenSize = -2;

struct Fact {
  Dependence on = Dependence::unknown;
  ValueId packed = kAbsent;   ///< in the packed graph; kAbsent for sizes and live
  std::size_t axis = 0;       ///< live, place: the axis of the tokens; the batch is the first
  bool zero_dead = false;     ///< tokens: zero where they are padding
  double live = 1, dead = 0;  ///< live: elements of live tokens and of padding
  Ints sizes = {};            ///< sizes: numbers, kBatchSize, kTokenSize
};

/// Axes in front that count tokens or texts, in the network as it is.
constexpr std::size_t lead_of(Dependence on) { return on == Dependence::tokens ? 2 : 1; }

/// Whether a node works on each row by itself, a row being what the first `lead` axes count.
bool keeps_rows(const Graph& graph, const Node& node, std::size_t lead);
/// Whether a node whose output has `rank` axes and depends `on` tokens or texts may read the operand row by row.
bool is_along(const Graph& graph, ValueId id, const Fact& fact, std::size_t rank, Dependence on);
/// Whether the addends of an Attention bar the keys that are padding, and do nothing else.
bool bars_padding(const Graph& graph, const Node& node, const std::vector<Fact>& inputs, std::size_t rank);

/// What a node makes of sizes; nothing where it is no rearrangement of them.
std::optional<Ints> sizes_after(const Graph& graph, const Node& node, const std::vector<Fact>& inputs);

/// What an elementwise node, or one that changes a shape, makes of what only depends on whether a token is live.
std::optional<Fact> live_after(const Graph& graph, const Node& node, const std::vector<Fact>& inputs);

/// The sizes that a Reshape or Expand asks for, constant or computed.
std::optional<Ints> target_sizes(const Graph& graph, const Node& node, const std::vector<Fact>& inputs);

}  // namespace colonnade::rewrite
