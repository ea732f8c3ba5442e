// SPDX-License-Identifier: Apache-2.0
// The axis order in which each value is stored.
#pragma once

#include "passes/editor.hpp"

namespace colonnade::rewrite {

/// Values that operators force into one axis order form a component. A value v of a component with permutation p is
/// stored as Transpose_p(v).
struct Layouts {
  std::vector<int> component;  ///< per value; -1: always as it is
  std::vector<Ints> perm;      ///< per component

  /// Null when the value is stored as it is.
  const Ints* of(ValueId id) const;
};

/// The Reshape does nothing but rename axes under these layouts of its input and output.
bool is_linked(const Editor& editor, const Node& reshape, const Layouts& layouts);

}  // namespace colonnade::rewrite
