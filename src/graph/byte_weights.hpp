// SPDX-License-Identifier: Apache-2.0
// Weights of ByteConv and ByteMatMul (graph/bytes.hpp), made of constant bytes with zero points.
#pragma once

#include <optional>
#include <span>

#include "colonnade/colonnade.hpp"

namespace colonnade {

/// How many bytes the sums of products may take for a weight.
enum class ByteWidth : char { one, two };

/// The bytes (u8, i8) less their zero points, one or one an index of `axis` (none: 0). i8 where that holds them; else
/// i16 where two bytes may be taken; else nothing. Those of an index of `axis` span no more than a byte does.
std::optional<Tensor> centred_weights(const Tensor& bytes, std::span<const std::int64_t> zeros, std::size_t axis,
                                      ByteWidth most);

}  // namespace colonnade
