// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/base/unary.hpp"

namespace colonnade::testing {

/// op(x) in double precision; `channel` selects the slope of prelu.
double activate(const kernels::UnaryOp& op, double x, std::size_t channel);

/// What a kernel's op(x) may differ by: 8 units in the last place, and the cancellation of hard_* and affine.
double activation_tolerance(const kernels::UnaryOp& op, double x);

/// Every Unary with parameters that use it; prelu reads `slopes`.
std::vector<kernels::UnaryOp> every_activation(const float* slopes);

}  // namespace colonnade::testing
