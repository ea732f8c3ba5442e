// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "colonnade/colonnade.hpp"

namespace colonnade::serve {

/// The `classes` largest values of each sample as strings "value:index" or "value:index:label", largest first; of equal
/// values the first. The shape is [samples, classes], or [classes] without a batch axis. Throws Error{unsupported} for
/// types that are no numbers.
Tensor classify(const TensorView& values, bool has_batch_axis, std::int64_t classes,
                std::span<const std::string> labels);

}  // namespace colonnade::serve
