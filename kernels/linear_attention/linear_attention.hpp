// SPDX-License-Identifier: Apache-2.0
// Attention by a state [keys][values] that each token fades, corrects and reads, some columns of values at a time: a
// column's state depends on no other one, and stays in the nearest cache for all tokens. Float32.
//
// For a token, in this order: answer = sum over i of (key[i] * fade[i]) * state[i] where there is a rate; written =
// rate * (value - answer), or value; state[i] = fma(key[i], written, state[i] * fade[i]); out = scale * sum over i of
// query[i] * state[i]. Sums are two chains of FMAs, of even and of odd i, added at the end. The recurrence is that of
// gated delta networks (Yang, Kautz, Hatamizadeh, 2024).
#pragma once

#include <cstddef>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::linear_attention {

/// One head of keys. Strides count floats, `*_stride` from one token to the next; nothing may overlap.
struct Args {
  std::size_t tokens = 0;
  std::size_t keys = 0;     ///< elements of a key
  std::size_t columns = 0;  ///< of values, at most the kernel's
  std::size_t queries = 1;  ///< heads of queries that share the keys, `keys` floats apart
  const float* query = nullptr;
  std::ptrdiff_t query_stride = 0;
  const float* key = nullptr;
  std::ptrdiff_t key_stride = 0;
  const float* value = nullptr;
  std::ptrdiff_t value_stride = 0;
  const float* fade = nullptr;  ///< null: nothing fades
  std::ptrdiff_t fade_stride = 0;
  std::ptrdiff_t fade_step = 0;  ///< 1: one for each element of a key; 0: one
  const float* rate = nullptr;   ///< one number; null: nothing is corrected
  std::ptrdiff_t rate_stride = 0;
  float scale = 1;
  const float* before = nullptr;  ///< [keys], state_stride apart; null: zeros
  float* state = nullptr;         ///< likewise, written at the end
  std::ptrdiff_t state_stride = 0;
  float* out = nullptr;
  std::ptrdiff_t out_stride = 0;
  std::ptrdiff_t out_query_stride = 0;  ///< from one head of queries to the next
  float* work = nullptr;                ///< work_floats(), aligned to 64 bytes
};

struct Kernel {
  const char* name;
  Isa isa;
  std::size_t columns;  ///< together at most
  void (*run)(const Args&) noexcept;

  /// Of a block's state and of the keys as they have faded.
  constexpr std::size_t work_floats(std::size_t keys) const { return keys * (columns + 1); }
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::linear_attention
