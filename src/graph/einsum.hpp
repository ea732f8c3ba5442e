// SPDX-License-Identifier: Apache-2.0
// The equation of an Einsum.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colonnade {

/// One term of an equation: its letters, and how many of them stand before an ellipsis.
struct EinsumTerm {
  std::string letters;
  std::optional<std::size_t> ellipsis;
};

struct EinsumEquation {
  std::vector<EinsumTerm> terms;
  /// Without an arrow: the ellipsis, then the letters that occur once, in alphabetical order.
  EinsumTerm result;
};

/// Reads the equation; what is wrong with it otherwise, empty when nothing is.
std::string read_equation(std::string_view text, EinsumEquation& equation);

/// The axes of a value of `rank`: letters, and for those of the ellipsis -1, -2, ... counted from its last one.
std::vector<int> axes_of(const EinsumTerm& term, std::size_t rank);

}  // namespace colonnade
