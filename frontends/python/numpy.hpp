// SPDX-License-Identifier: Apache-2.0
// numpy, and how its types of elements are named and held. Everything here needs the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "colonnade/colonnade.hpp"

namespace colonnade::python {

namespace nb = nanobind;

/// Throws Error{invalid_input}.
[[noreturn]] void refuse(const std::string& role, const std::string& why);
/// What was raised, without where.
std::string message_of(const nb::python_error& error);

/// Functions of numpy, looked up once and kept until the process ends.
struct Numpy {
  nb::handle empty, asarray, ndarray, generic, dtype, can_cast;
  static const Numpy& get();
};

/// numpy's dtype of elements and, where a buffer cannot have it, the one that its memory is seen as.
struct ArrayType {
  nb::handle dtype, bits;
};

/// Throws Error{unsupported} for an undefined type.
const ArrayType& array_type(DType dtype);
/// Of numpy's name; undefined for what no tensor holds.
DType numpy_type_named(const std::string& name);
/// Neither numpy nor a buffer has elements of this type.
bool lacks(DType dtype);

}  // namespace colonnade::python
