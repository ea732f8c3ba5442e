// SPDX-License-Identifier: Apache-2.0
// What values of a network of texts depend on, and how large they are, found without knowing batch and length.
#pragma once

#include <limits>
#include <optional>

#include "graph/graph.hpp"

namespace colonnade::rewrite {

/// Batch and tokens while sizes are followed: primes, so that what a size is made of shows in its factors.
inline constexpr std::int64_t kBatch = 10007, kTokens = 100003;
constexpr bool has_batch(std::int64_t size) { return size != 0 && size % kBatch == 0; }
constexpr bool has_tokens(std::int64_t size) { return size != 0 && size % kTokens == 0; }
/// Without batch and tokens.
constexpr std::int64_t plain(std::int64_t size) {
  if (has_batch(size)) size /= kBatch;
  return has_tokens(size) ? size / kTokens : size;
}

enum class Dependence : std::uint8_t {
  unknown,  ///< cannot be followed
  fixed,    ///< on nothing: the same for all texts and tokens
  sizes,    ///< on the sizes of batch and tokens
  text,     ///< on which text it is: its number, or that times the tokens of a text
  spot,     ///< on text and position: where a token lies in the batch
  live,     ///< on whether a token is live
  place,    ///< on the position of a token
  apart,    ///< on how far one position is behind another one, and perhaps on whether the latter is live
  tokens,   ///< on a token of a text and, by attention, the live ones beside it
  texts,    ///< on a text
};

/// In the packed graph a value has the axes that it has in the network; those of batch and tokens are of size 1 where
/// it is the same along them.
struct Fact {
  Dependence on = Dependence::unknown;
  ValueId packed = kAbsent;  ///< in the packed graph; kAbsent for sizes, text, spot and live
  std::size_t axis = 0;      ///< the axis of the tokens; of apart, the one that is behind
  std::size_t query = 0;     ///< apart: the axis of the other position
  bool plain = false;        ///< text, place: the number itself
  bool scaled = false;       ///< text: times the tokens of a text
  bool split = false;        ///< spot: as text and place, along the last axis
  bool is_input = false;     ///< tokens, live: made of inputs element by element
  bool zero_dead = false;    ///< tokens: zero where they are padding
  double live = 1;           ///< live: elements of live tokens
  /// live, apart, fixed: elements where the token is padding, if they are all the same; and what they are at most.
  std::optional<double> dead = std::nullopt;
  double most = std::numeric_limits<double>::infinity();
};

/// Axes in front that count tokens or texts, in the network as it is.
constexpr std::size_t lead_of(Dependence on) { return on == Dependence::tokens ? 2 : 1; }

/// The sizes that a node of constants and sizes makes; nothing where that holds for some batches and lengths only.
std::optional<Tensor> size_after(const Graph& sized, const Node& node);

/// Whether some of them depend on batch or tokens.
bool is_open(const Tensor& sizes);

/// The one number that a tensor holds.
std::optional<double> number_of(const Value& value);

/// An elementwise node of one number an input, by the reference.
double evaluated(const Graph& graph, const Node& node, const std::vector<double>& numbers);

/// What an elementwise node gives where tokens are padding: the number, if it is one, and what it is at most.
void follow_dead(const Graph& graph, const Node& node, const std::vector<Fact>& inputs, Fact& out);

bool is_elementwise(const Operator& op);

/// Where an axis lies after axes of size 1 were put in or taken out; nothing where more changed.
std::optional<std::size_t> axis_among(const Shape& from, const Shape& to, std::size_t axis);
/// The axis of tokens after rows, in their order, were arranged anew; nothing where tokens change places.
std::optional<std::size_t> axis_of_rows(const Shape& from, const Shape& to, std::size_t axis);

}  // namespace colonnade::rewrite
