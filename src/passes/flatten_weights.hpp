// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/editor.hpp"

namespace colonnade::rewrite {

/// MatMul(Reshape(Transpose(x)), W), the Reshape flattening all but the first axis: drops the Transpose and permutes
/// the rows of the constant W instead. `index` is the Reshape; true when it changed something.
bool flatten_into_weights(Editor& editor, int index);

}  // namespace colonnade::rewrite
