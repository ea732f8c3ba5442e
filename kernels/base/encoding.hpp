// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace colonnade::kernels {

/// How products of float32 are done: by floats, or by the six largest products of three bf16 pieces each on matrix
/// units (kernels/gemm/pieces.hpp).
enum class Encoding : unsigned char { f32, bf16x3 };

}  // namespace colonnade::kernels
