// SPDX-License-Identifier: Apache-2.0
// A network of texts [batch, tokens] with a mask, as one of the live tokens of all texts, one after the other: padding
// is not computed. What every value depends on is followed from the inputs to the outputs; where that cannot be done
// the network stays as it is.
#pragma once

#include <optional>

#include "graph/graph.hpp"

namespace colonnade {

/// What an input of the packed graph holds, for N tokens of S texts.
enum class PackedRole : std::uint8_t {
  tokens,  ///< [1, N]: an input's elements at the live tokens
  places,  ///< i64 [N]: at which position of its text each token is
  owners,  ///< i64 [N, 1]: which text it is of
  bounds,  ///< i64 [S + 1]: where texts begin and end among the tokens
  firsts,  ///< i64 [S]: the first token of each text
  counts,  ///< f32 [S, 1]: tokens of each text
  texts,   ///< f32 [S, 1]: zeros
  apart,   ///< i64 [2 n + 1]: -n .. n, how far a key is behind a row; n at least the span of the longest text
};
struct PackedInput {
  PackedRole role = PackedRole::tokens;
  std::size_t source = 0;  ///< of tokens: the input, or behind all inputs an output of `before`
};

struct Packing {
  std::shared_ptr<const Graph> graph;  ///< null: not packed
  /// Of the same inputs [batch, tokens], what has to be counted before padding is left out: integers of the same shape.
  /// Null: nothing.
  std::shared_ptr<const Graph> before;
  std::size_t mask = 0;       ///< the input of ones and zeros that says which tokens are live
  bool needs_firsts = false;  ///< the first token of each text must be live
  std::vector<PackedInput> inputs;
  std::vector<bool> of_tokens;  ///< by output: [1, N, ..] of tokens, else [S, ..] of texts
  bool is_text = false;         ///< an input is a mask by its name
  std::string reason;           ///< why not
};

/// Of an optimised graph whose inputs have open dimensions.
Packing pack_tokens(const Graph& graph);

}  // namespace colonnade
