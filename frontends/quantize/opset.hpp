// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "network.hpp"

namespace colonnade::quantize {

/// The first opset whose integers have scales by channel.
inline constexpr std::int64_t kOpset = 13;
/// Rewrites a model of an older opset for `kOpset`; leaves newer ones as they are. Throws Error{unsupported} for opsets
/// before 7.
void raise_opset(Network& network);

}  // namespace colonnade::quantize
