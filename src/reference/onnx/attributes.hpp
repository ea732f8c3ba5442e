// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/opaque.hpp"

namespace colonnade::reference {

/// An attribute that is the number of a DType. Throws Error{invalid_model} for other numbers and where it is absent.
DType dtype_of(const Opaque& op, std::string_view name);
DType dtype_or(const Opaque& op, std::string_view name, DType fallback);

}  // namespace colonnade::reference
