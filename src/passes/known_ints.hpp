// SPDX-License-Identifier: Apache-2.0
// Integers that the graph computes from shapes.
#pragma once

#include <optional>

#include "passes/editor.hpp"

namespace colonnade::rewrite {

/// Elements of a scalar or 1-D integer value as far as they follow from constants and known dimensions, through
/// ShapeOf, Gather, Slice, Concat, Reshape, Squeeze, Unsqueeze, Cast and +-*/. Nothing when even their count is
/// unknown.
std::optional<std::vector<std::optional<std::int64_t>>> known_ints(const Editor& editor, ValueId id);

}  // namespace colonnade::rewrite
