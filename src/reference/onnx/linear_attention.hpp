// SPDX-License-Identifier: Apache-2.0
// What a LinearAttention reads of its attributes and shapes: shared by its definition and its kernels.
#pragma once

#include <cstdint>

#include "graph/opaque.hpp"

namespace colonnade::reference {

inline constexpr std::size_t kStateQuery = 0, kStateKey = 1, kStateValue = 2, kStateBefore = 3, kStateFade = 4,
                             kStateRate = 5;

/// Head i of the results has head i / (results / heads) of the keys, and of the queries likewise.
struct StateAttention {
  std::int64_t query_heads = 1, heads = 1;
  float scale = 0;  ///< 0: 1 / sqrt(elements of a key)

  std::int64_t results() const { return query_heads > heads ? query_heads : heads; }
  float scale_of(std::int64_t keys) const;
};
/// Throws Error{invalid_model} for attributes that are no good.
StateAttention state_attention_of(const Opaque& op);

}  // namespace colonnade::reference
