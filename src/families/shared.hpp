// SPDX-License-Identifier: Apache-2.0
// Units of whole tensors where there are more things than threads need to count.
#pragma once

#include <algorithm>

#include "base/interval.hpp"
#include "families/row_op.hpp"

namespace colonnade {

/// `total` things that threads share, in `most` units or fewer.
struct Shared {
  std::int64_t total = 1;
  std::int64_t most = 64;

  std::int64_t units() const { return std::clamp<std::int64_t>(total, 1, most); }
  /// The things of a step's units.
  Interval of(const StepContext& step) const {
    return {total * step.row_begin / units(), total * step.row_end / units()};
  }
};

}  // namespace colonnade
