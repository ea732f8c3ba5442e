// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace colonnade::kernels {

/// How products of float32 are done: by floats, by the six largest products of three bf16 pieces each on matrix units
/// (kernels/gemm/pieces.hpp), or by numbers rounded to bf16 (kernels/gemm/pairs.hpp).
enum class Encoding : unsigned char { f32, bf16x3, bf16 };

}  // namespace colonnade::kernels
