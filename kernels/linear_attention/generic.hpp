// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/simd.hpp"
#include "kernels/linear_attention/linear_attention.hpp"

namespace colonnade::kernels::linear_attention {
namespace {

/// Vectors of columns: with two chains each they keep the units for FMAs busy.
inline constexpr std::size_t kVectors = 4, kLanes = Vec::kLanes, kColumns = kVectors * kLanes;

/// A row of a block.
struct Row {
  Vec v[kVectors];
};
[[gnu::always_inline]] inline Row zeros() {
  Row row;
#pragma GCC unroll 4
  for (std::size_t v = 0; v < kVectors; ++v) row.v[v] = zero();
  return row;
}
[[gnu::always_inline]] inline Row sum(const Row& a, const Row& b) {
  Row row;
#pragma GCC unroll 4
  for (std::size_t v = 0; v < kVectors; ++v) row.v[v] = a.v[v] + b.v[v];
  return row;
}
/// The first `columns` of a row, zeros behind them.
inline Row load_row(const float* p, std::size_t columns) {
  Row row = zeros();
  for (std::size_t v = 0; v < kVectors && v * kLanes < columns; ++v) {
    const std::size_t left = columns - v * kLanes;
    row.v[v] = left < kLanes ? load_first(p + v * kLanes, left) : load(p + v * kLanes);
  }
  return row;
}
inline void store_row(float* p, const Row& row, std::size_t columns) {
  for (std::size_t v = 0; v < kVectors && v * kLanes < columns; ++v) {
    const std::size_t left = columns - v * kLanes;
    if (left < kLanes)
      store_first(p + v * kLanes, row.v[v], left);
    else
      store(p + v * kLanes, row.v[v]);
  }
}

/// total += x * a row of the state.
[[gnu::always_inline]] inline void add_row(const float* row, float x, Row& total) {
  const Vec factor = broadcast(x);
#pragma GCC unroll 4
  for (std::size_t v = 0; v < kVectors; ++v) total.v[v] = fma(factor, load(row + v * kLanes), total.v[v]);
}

/// Where a block of a state lies: a row a key.
template <class T>
struct Place {
  T* at;
  std::ptrdiff_t stride;
  T* row(std::size_t i) const { return at + static_cast<std::ptrdiff_t>(i) * stride; }
};

/// What the state answers to `x`: the sum over its rows.
inline Row answer_to(const Place<const float>& state, const float* x, std::size_t keys) {
  Row even = zeros(), odd = zeros();
  std::size_t i = 0;
  for (; i + 2 <= keys; i += 2) {
    add_row(state.row(i), x[i], even);
    add_row(state.row(i + 1), x[i + 1], odd);
  }
  if (i < keys) add_row(state.row(i), x[i], even);
  return sum(even, odd);
}

/// What changes the state at a token.
struct Change {
  const float* key;
  const float* fade;
  std::ptrdiff_t fade_step;
  Row written;
};

/// One row fades and is written to; total += query * the row.
[[gnu::always_inline]] inline void change_row(const float* row, float* to, const Change& change, std::size_t i,
                                              float query, Row& total) {
  const Vec key = broadcast(change.key[i]), asked = broadcast(query);
  const Vec fade = broadcast(change.fade[static_cast<std::ptrdiff_t>(i) * change.fade_step]);
#pragma GCC unroll 4
  for (std::size_t v = 0; v < kVectors; ++v) {
    const Vec changed = fma(key, change.written.v[v], load(row + v * kLanes) * fade);
    store(to + v * kLanes, changed);
    total.v[v] = fma(asked, changed, total.v[v]);
  }
}

/// Changes the whole state, which may stay where it is; returns what it then answers to the query.
inline Row change_state(const Place<const float>& state, const Place<float>& to, const Change& change,
                        const float* query, std::size_t keys) {
  Row even = zeros(), odd = zeros();
  std::size_t i = 0;
  for (; i + 2 <= keys; i += 2) {
    change_row(state.row(i), to.row(i), change, i, query[i], even);
    change_row(state.row(i + 1), to.row(i + 1), change, i + 1, query[i + 1], odd);
  }
  if (i < keys) change_row(state.row(i), to.row(i), change, i, query[i], even);
  return sum(even, odd);
}

inline void store_scaled(float* out, Row row, float scale, std::size_t columns) {
#pragma GCC unroll 4
  for (std::size_t v = 0; v < kVectors; ++v) row.v[v] = row.v[v] * broadcast(scale);
  store_row(out, row, columns);
}

/// rate * (value - what the state, faded, answers to the key).
inline Row correct(const Args& args, const Change& change, float rate, const Place<const float>& state) {
  float* const faded = args.work + args.keys * kColumns;
  for (std::size_t i = 0; i < args.keys; ++i)
    faded[i] = change.key[i] * change.fade[static_cast<std::ptrdiff_t>(i) * change.fade_step];
  const Row answer = answer_to(state, faded, args.keys);
  Row written = change.written;
#pragma GCC unroll 4
  for (std::size_t v = 0; v < kVectors; ++v) written.v[v] = broadcast(rate) * (written.v[v] - answer.v[v]);
  return written;
}

inline void run(const Args& args) noexcept {
  static constexpr float kStays = 1;
  const Place<float> work{args.work, static_cast<std::ptrdiff_t>(kColumns)}, last{args.state, args.state_stride};
  Place<const float> state{work.at, work.stride};
  // The first token reads a whole block, and the last one writes it, where it lies.
  const bool is_whole = args.columns == kColumns;
  if (is_whole && args.before != nullptr) {
    state = {args.before, args.state_stride};
  } else {
    for (std::size_t i = 0; i < args.keys; ++i) {
      const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(i) * args.state_stride;
      store_row(work.row(i), args.before != nullptr ? load_row(args.before + row, args.columns) : zeros(), kColumns);
    }
  }
  for (std::size_t t = 0; t < args.tokens; ++t) {
    const auto at = static_cast<std::ptrdiff_t>(t);
    Change change{args.key + at * args.key_stride, &kStays, 0,
                  load_row(args.value + at * args.value_stride, args.columns)};
    if (args.fade != nullptr) change.fade = args.fade + at * args.fade_stride, change.fade_step = args.fade_step;
    if (args.rate != nullptr) change.written = correct(args, change, args.rate[at * args.rate_stride], state);
    const float* const query = args.query + at * args.query_stride;
    float* const out = args.out + at * args.out_stride;
    const Place<float>& to = is_whole && t + 1 == args.tokens ? last : work;
    store_scaled(out, change_state(state, to, change, query, args.keys), args.scale, args.columns);
    state = {to.at, to.stride};
    for (std::size_t q = 1; q < args.queries; ++q)
      store_scaled(out + static_cast<std::ptrdiff_t>(q) * args.out_query_stride,
                   answer_to(state, query + q * args.keys, args.keys), args.scale, args.columns);
  }
  if (state.at == last.at) return;
  for (std::size_t i = 0; i < args.keys; ++i) store_row(last.row(i), load_row(state.row(i), kColumns), args.columns);
}

}  // namespace
}  // namespace colonnade::kernels::linear_attention
