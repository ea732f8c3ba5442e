// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "colonnade/custom.hpp"

namespace colonnade::python {

/// Of a sequence, or none where the handle is invalid: libraries, and objects with `domain`, `name`,
/// compute(node, *arrays) and, where they like, infer(node, types). Needs the GIL; the operators take it.
/// Throws Error{invalid_argument}.
std::vector<CustomOperator> to_operators(nanobind::handle objects);

/// What `operators_of_library` answers: the operators of a library for ONNX Runtime, one of the above sequence.
void bind_operators(nanobind::module_& module);

}  // namespace colonnade::python
