// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/vector_math.hpp"
#include "kernels/recurrent/recurrent.hpp"

namespace colonnade::kernels::recurrent {
namespace {

/// Calls f(offset, lanes) for every vector of `hidden` units, the last one shorter.
template <class F>
inline void for_vectors(std::size_t hidden, const F& f) {
  for (std::size_t i = 0; i < hidden; i += Vec::kLanes) f(i, hidden - i < Vec::kLanes ? hidden - i : Vec::kLanes);
}

inline void run_lstm(const LstmArgs& args) noexcept {
  const float* i = args.sums;
  const float* o = i + args.hidden;
  const float* f = o + args.hidden;
  const float* c = f + args.hidden;
  for_vectors(args.hidden, [&](std::size_t at, std::size_t n) {
    const Vec kept = sigmoid(load_first(f + at, n)) * load_first(args.cell + at, n);
    const Vec cell = fma(sigmoid(load_first(i + at, n)), tanh(load_first(c + at, n)), kept);
    store_first(args.cell + at, cell, n);
    store_first(args.state + at, sigmoid(load_first(o + at, n)) * tanh(cell), n);
  });
}

inline void run_gru(const GruArgs& args) noexcept {
  const float* z = args.sums;
  const float* r = z + args.hidden;
  const float* h = r + args.hidden;
  for_vectors(args.hidden, [&](std::size_t at, std::size_t n) {
    Vec proposed = load_first(h + at, n);
    if (args.gated) proposed = fma(sigmoid(load_first(r + at, n)), load_first(args.gated + at, n), proposed);
    proposed = tanh(proposed);
    const Vec held = load_first(args.state + at, n);
    store_first(args.state + at, fma(sigmoid(load_first(z + at, n)), held - proposed, proposed), n);
  });
}

inline void run_reset(const ResetArgs& args) noexcept {
  for_vectors(args.hidden, [&](std::size_t at, std::size_t n) {
    store_first(args.out + at, sigmoid(load_first(args.sums + at, n)) * load_first(args.state + at, n), n);
  });
}

}  // namespace
}  // namespace colonnade::kernels::recurrent
