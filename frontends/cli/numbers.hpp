// SPDX-License-Identifier: Apache-2.0
// Elements of tensors as numbers: conversion, random values.
#pragma once

#include <cstdint>
#include <vector>

#include "colonnade/colonnade.hpp"

namespace colonnade::cli {

bool is_float(DType dtype) noexcept;
bool is_integer(DType dtype) noexcept;

/// All elements as double (integers beyond 2^53 are rounded, complex numbers are magnitudes); empty for strings.
std::vector<double> to_doubles(const Tensor& tensor);
/// A tensor of the given type from numbers: rounded to nearest and clamped to the type's range for integers, the real
/// parts of complex ones.
Tensor from_doubles(DType dtype, const Shape& shape, const std::vector<double>& values);
/// Converts numeric types into each other; throws Error{invalid_input} for strings.
Tensor converted(const Tensor& tensor, DType dtype);

/// Random but reproducible on every platform: [0,1) for floats of four dimensions
/// (images), N(0,1) for others, 0..127 for 8-bit integers, 0..7 for 4-bit ones, 0 or 1 for wider ones and
/// booleans (safe as token ids, masks and indices), digits for strings.
Tensor random_tensor(DType dtype, const Shape& shape, std::uint64_t seed);

}  // namespace colonnade::cli
