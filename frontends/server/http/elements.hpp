// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "frontends/server/http/json_reader.hpp"

namespace colonnade::serve::http {

/// The elements of input `name` from JSON: flat, or nested as the shape is. Numbers must be of the type: no fractions
/// for integers, nothing out of range, no 0 and 1 for booleans. `most` bounds how many there can be. Throws Problem and
/// Failure.
Tensor elements_of(const Json& data, const std::string& name, DType dtype, const Shape& shape, std::size_t most);

}  // namespace colonnade::serve::http
