// SPDX-License-Identifier: Apache-2.0
// The protocol's names of element types: "FP32", "INT64", "BYTES".
#pragma once

#include <optional>
#include <string_view>

#include "colonnade/colonnade.hpp"

namespace colonnade::serve {

/// "" for types that the protocol has no name for.
std::string_view datatype_of(DType dtype) noexcept;
std::optional<DType> dtype_of(std::string_view datatype) noexcept;

}  // namespace colonnade::serve
