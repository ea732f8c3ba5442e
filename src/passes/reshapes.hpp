// SPDX-License-Identifier: Apache-2.0
// Local rules on Reshapes; each is true when it changed something.
#pragma once

#include "passes/editor.hpp"

namespace colonnade::rewrite {

/// Squeeze, Unsqueeze, Flatten and open Reshapes become a Reshape to a constant shape, past other Reshapes.
bool to_reshape(Editor& editor, int index);
/// An elementwise operator on reshaped values works on the values, and its result is reshaped: what computed them can
/// then take it in.
bool sink_reshape(Editor& editor, int index);

}  // namespace colonnade::rewrite
