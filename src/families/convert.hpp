// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "colonnade/colonnade.hpp"
#include "kernels/convert/convert.hpp"

namespace colonnade {

/// The type of the conversion kernels; nothing where they do not know it.
std::optional<kernels::convert::Type> convert_type(DType type);

}  // namespace colonnade
