// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "colonnade/colonnade.hpp"

namespace colonnade::python {

namespace nb = nanobind;

/// A str, bytes or os.PathLike. Throws Error{invalid_argument} that names `what`.
std::string path_of(nb::handle path, const char* what);
/// Keyword arguments named as the members of Options. Throws Error{invalid_argument}.
Options to_options(const nb::kwargs& keywords);
nb::dict to_dict(const Options& options);

}  // namespace colonnade::python
