// SPDX-License-Identifier: Apache-2.0
// Patterns that end in one node; each rule is true when it replaced the node.
#pragma once

#include "passes/editor.hpp"

namespace colonnade::rewrite {

/// exp(x) / sum(exp(x)) along one axis, or a Softmax, with or without the maximum subtracted from x.
bool find_softmax(Editor& editor, int index);

/// (x - mean) / sqrt(variance + epsilon) over trailing axes, or x / sqrt(mean(x^2) + epsilon), with the Mul by a scale
/// and the Add of a bias that may follow. `index` is the division.
bool find_layer_norm(Editor& editor, int index);

/// x / scale rounded, bounded, moved by a zero point and made an integer of 16 bits, as QuantizeLinear is imported. In
/// `index`, a Cast.
bool find_short_quantize(Editor& editor, int index);

}  // namespace colonnade::rewrite
