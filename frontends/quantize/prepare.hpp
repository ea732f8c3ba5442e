// SPDX-License-Identifier: Apache-2.0
// What is done to a float32 network before its layers are looked at; it computes the same.
#pragma once

#include "network.hpp"

namespace colonnade::quantize {

/// What constants make becomes a constant, by runs of the engine.
void fold_constants(Network& network);

/// Batch normalisations, and factors and sums by channel, behind products go into their weights and biases.
void fold_affine(Network& network);

}  // namespace colonnade::quantize
