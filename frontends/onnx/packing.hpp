// SPDX-License-Identifier: Apache-2.0
// Elements of fewer bits than a byte lie one behind the other in files, the first in the low bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/narrow.hpp"

namespace colonnade::onnx_import {

inline bool is_packed(DType dtype) { return bits_of(dtype) % 8 != 0; }

/// Bytes that `count` elements take in a file; no more than they take in memory.
std::int64_t packed_bytes(DType dtype, std::int64_t count);

/// Elements from number `first` of `packed` on, as many as `elements` holds. `dtype` is packed.
void unpack(DType dtype, std::span<const std::byte> packed, std::int64_t first, std::span<std::byte> elements);

/// All of them; `packed` has room for them and is zero.
void pack(DType dtype, std::span<const std::byte> elements, std::span<std::byte> packed);

}  // namespace colonnade::onnx_import
