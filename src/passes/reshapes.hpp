// SPDX-License-Identifier: Apache-2.0
// Local rules on Reshapes and on what products take; each is true when it changed something.
#pragma once

#include "passes/editor.hpp"

namespace colonnade::rewrite {

/// Squeeze, Unsqueeze, Flatten and open Reshapes become a Reshape to a constant shape, past other Reshapes.
bool to_reshape(Editor& editor, int index);
/// An elementwise operator on reshaped values works on the values, and its result is reshaped: what computed them can
/// then take it in.
bool sink_reshape(Editor& editor, int index);
/// A bias that is computed is added to the sums: products start from constants.
bool computed_bias_to_add(Editor& editor, int index);
/// A product with a vector is one with a matrix of a single row or column.
bool vectors_to_matrices(Editor& editor, int index);

}  // namespace colonnade::rewrite
