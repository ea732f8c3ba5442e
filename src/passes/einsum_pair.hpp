// SPDX-License-Identifier: Apache-2.0
// Two operands of an Einsum as one product.
#pragma once

#include "passes/labels.hpp"

namespace colonnade::rewrite {

/// The sum over all labels that are not in `kept` of the products of both. Axes come in the order of `kept` where
/// `ordered`. Nothing, and nothing changed, while sizes are open that decide how.
std::optional<Labelled> multiply_pair(Editor& editor, const Labelled& a, const Labelled& b, const Labels& kept,
                                      bool ordered, const Node& like);

}  // namespace colonnade::rewrite
