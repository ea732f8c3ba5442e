// SPDX-License-Identifier: Apache-2.0
// Tensors as both protocols carry them raw: little-endian elements in row-major order, BOOL as bytes 0 and 1, each
// element of BYTES behind its length in four bytes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "frontends/server/inference.hpp"

namespace colonnade::serve {

/// Number of elements. Throws Failure naming `tensor` for negative dimensions and products beyond what memory can hold.
std::size_t checked_count(std::span<const std::int64_t> shape, std::string_view tensor);
/// "[1,-1,3]"
std::string shape_text(std::span<const std::int64_t> shape);

/// Reads the elements where they lie if their type's alignment allows, else copies them. Throws Failure when `bytes`
/// are not what `dtype` and `shape` ask for.
InputTensor raw_input(std::string name, DType dtype, Shape shape, std::span<const std::byte> bytes,
                      std::shared_ptr<const void> owner);
/// An input that keeps its elements itself.
InputTensor owned_input(std::string name, Tensor tensor);

/// The elements of a tensor of dense elements: its memory, or for BYTES what is written to `scratch`.
std::span<const std::byte> raw_bytes(const TensorView& tensor, std::string& scratch);

}  // namespace colonnade::serve
