// SPDX-License-Identifier: Apache-2.0
// Chooses the axis order in which each value is stored.
#pragma once

#include "passes/layouts.hpp"

namespace colonnade::rewrite {

/// The layouts under which Transposes (and resizes of the innermost axis) move the fewest bytes, found by descent from
/// the present ones. Each component is tried in every order that an adjacent Transpose would turn it to, alone and
/// together with the components behind Reshapes. Where costs tie, Transposes go to graph inputs and outputs, then in
/// front of operators with a fixed layout. Deterministic; the cost never rises.
Layouts choose_layouts(const Editor& editor);

}  // namespace colonnade::rewrite
