// SPDX-License-Identifier: Apache-2.0
// Small questions that rewrite rules ask about a graph.
#pragma once

#include <optional>

#include "passes/editor.hpp"

namespace colonnade::rewrite {

struct Operands {
  ValueId a = kAbsent;
  ValueId b = kAbsent;
};
struct ScaledOperand {
  ValueId value = kAbsent;
  double scalar = 0;
};

/// The one element of a float constant.
std::optional<double> scalar_of(const Editor& editor, ValueId id);
bool all_are(const Ints& values, std::int64_t expected);
/// |a - b| within 1e-5 of the larger magnitude.
bool nearly(double a, double b);
/// Operands when the value is computed by this Binary.
std::optional<Operands> match_binary(const Editor& editor, ValueId id, BinaryKind kind);
/// One operand is a scalar constant (add, mul: either; others: the second) and does not widen the other.
std::optional<ScaledOperand> match_scalar(const Editor& editor, ValueId id, BinaryKind kind);
/// The operand when the value is computed by this Unary.
std::optional<ValueId> match_unary(const Editor& editor, ValueId id, UnaryKind kind);
/// value = operand * scalar, written as Mul or Div.
std::optional<ScaledOperand> match_scale(const Editor& editor, ValueId id);

/// A Cast from or to float16 or bfloat16: it stays where widen_f16 put it, at an end of what runs in float32.
bool is_width_cast(const Editor& editor, const Node& node);

/// Both have the same, fully known type.
bool same_static_type(const Editor& editor, ValueId a, ValueId b);
bool same_type(const Editor& editor, ValueId a, ValueId b);
std::size_t rank_of(const Editor& editor, ValueId id);  ///< of a value whose rank is known
bool has_rank(const Editor& editor, ValueId id);
/// A constant, or what will be one: computed of constants alone.
bool is_known(const Editor& editor, ValueId id);

/// Normalised, sorted axes of a Reduce when they are known.
std::optional<Ints> reduce_axes(const Editor& editor, const Node& node);

/// A Reshape of `value` to `shape`; nothing when more than one dimension is unknown.
std::optional<ValueId> add_reshape(Editor& editor, ValueId value, const Shape& shape, const Node& like);

}  // namespace colonnade::rewrite
