// SPDX-License-Identifier: Apache-2.0
// What a DFT's attributes and axis say: shared by its definition and its kernels.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/opaque.hpp"

namespace colonnade::reference {

struct DftForm {
  std::int64_t axis = 1;  ///< in [0, rank - 1)
  bool inverse = false, onesided = false;

  /// Real signals of one-sided spectra.
  bool expands() const { return inverse && onesided; }
};
/// `axis`: the third input, if there is one. Throws Error{invalid_model} for an axis that is none of signals.
DftForm dft_form(const Opaque& op, std::optional<std::int64_t> axis, std::int64_t rank);

}  // namespace colonnade::reference
