// SPDX-License-Identifier: Apache-2.0
// What the attention operators of com.microsoft share: heads, scores and rotations.
#pragma once

#include "frontends/onnx/ops/microsoft/shared.hpp"

namespace colonnade::onnx_import {

/// [B, S, N H] as [B, N, S, H] and back.
ValueId split_heads(Lowering& low, ValueId x, std::int64_t heads);
ValueId merge_heads(Lowering& low, ValueId x);
/// query [.., S, H] times key [.., T, H] by rows, scaled by the attribute 'scale' or 1 / sqrt(H).
ValueId scaled_scores(Lowering& low, ValueId query, ValueId key);

/// x [.., H] with its first 2 C elements rotated in pairs by angles of which cosine and sine [.., C] are given: pairs
/// of neighbours where interleaved, else of the two halves.
struct Rotation {
  ValueId cosine, sine;
  std::int64_t count;  ///< C
  bool interleaved;
};
ValueId rotate(Lowering& low, ValueId x, const Rotation& rotation);

}  // namespace colonnade::onnx_import
