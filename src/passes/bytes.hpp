// SPDX-License-Identifier: Apache-2.0
// Arithmetic on bytes in place of arithmetic on the numbers that they stand for. Each rule is true when it changed the
// graph; what the rules do together stands in the table in passes.cpp.
#pragma once

#include <optional>
#include <vector>

#include "passes/editor.hpp"

namespace colonnade::rewrite {

/// Bytes and what they stand for, with one scale and one zero point that are known.
struct Quantised {
  ValueId bytes = kAbsent;
  float scale = 1;
  std::int32_t zero = 0;
};

/// Scale and zero point of a Quantize or Dequantize.
struct KnownScale {
  float scale = 1;
  std::int32_t zero = 0;
  bool operator==(const KnownScale&) const = default;
};
std::optional<KnownScale> scale_of(const Editor& editor, const Node& node);
/// What the value stands for when it is the Dequantize of unsigned bytes.
std::optional<Quantised> dequantised(const Editor& editor, ValueId id);

/// A Quantize that ends a chain of steps, none of them read elsewhere: what it rounds, and how.
struct Ending {
  KnownScale scale;
  Rescale out;
  ValueId bytes = kAbsent;  ///< its output
};
/// The Quantize to unsigned bytes that alone reads the value, maybe through a ReLU or clip.
std::optional<Ending> ending_of(const Editor& editor, ValueId id);

/// What a Dequantize makes of a constant matrix of integers, as weights that may stay narrow; null of anything else.
std::shared_ptr<const Constant> dequantised_weights(const Editor& editor, const Node& node);
/// A constant of f16 or bf16 as float32; a matrix may stay narrow.
std::shared_ptr<const Constant> widened_halves(const std::shared_ptr<const Constant>& constant);

/// Its outputs hold elements of its first input, and nothing else.
bool takes_elements(const Node& node);

ValueId add_floats(Editor& editor, const char* name, const std::vector<float>& values);

// Signed bytes become unsigned ones, whose zero point is 128 higher. `index`: a Quantize or Dequantize.
bool make_unsigned(Editor& editor, int index);
// A transposed convolution of bytes with constant bytes is a dense one, whose channels DepthToSpace moves.
bool make_dense(Editor& editor, int index);
// Steps that only move elements move bytes: they trade places with a Dequantize or Lookup before them.
bool move_bytes(Editor& editor, int index);
// A Quantize that computes a function of bytes that it comes from alone is a Lookup; an identity is left out. Lookups
// of Lookups are one.
bool look_up(Editor& editor, int index);
// A convolution or product of bytes with constant bytes, and the Quantize that follows.
bool sum_bytes(Editor& editor, int index);
// Numbers made of sums of bytes, a bend at zero and the Quantize, where steps that move elements stood between.
bool end_sums(Editor& editor, int index);
// A factor and a shift that follow integer sums of bytes.
bool rescale_sums(Editor& editor, int index);
// Sums, products and averages of bytes that are quantised. `index`: the Quantize.
bool combine_bytes(Editor& editor, int index);
// Weights that nothing above took are what they stand for. `index`: a Dequantize.
bool settle_weights(Editor& editor, int index);

}  // namespace colonnade::rewrite
