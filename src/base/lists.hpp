// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "colonnade/colonnade.hpp"

namespace colonnade {

/// A vector of int64.
Tensor ints_tensor(const std::vector<std::int64_t>& values);
Tensor floats_tensor(std::span<const float> values, Shape shape);

}  // namespace colonnade
