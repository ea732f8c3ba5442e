// SPDX-License-Identifier: Apache-2.0
// Softmax of lines of doubles, in lanes that the compiler makes vectors of.
#pragma once

#include "kernels/typed/doubles.hpp"
#include "kernels/typed/typed.hpp"

namespace colonnade::kernels::typed {
namespace {

inline constexpr std::size_t kSoftmaxLanes = 8;

inline double largest(const double* in, std::size_t size) {
  double lanes[kSoftmaxLanes];
  for (double& lane : lanes) lane = in[0];
  std::size_t i = 0;
  for (; i + kSoftmaxLanes <= size; i += kSoftmaxLanes)
    for (std::size_t n = 0; n < kSoftmaxLanes; ++n) lanes[n] = in[i + n] > lanes[n] ? in[i + n] : lanes[n];
  for (; i < size; ++i) lanes[0] = in[i] > lanes[0] ? in[i] : lanes[0];
  for (std::size_t n = 1; n < kSoftmaxLanes; ++n) lanes[0] = lanes[n] > lanes[0] ? lanes[n] : lanes[0];
  return lanes[0];
}

/// The sum of e^(x - peak) along a line, whose terms are kept in `out` with kKeeps.
template <bool kKeeps>
inline double exponentials(const double* in, std::size_t size, double peak, double* out) {
  double lanes[kSoftmaxLanes] = {};
  std::size_t i = 0;
  for (; i + kSoftmaxLanes <= size; i += kSoftmaxLanes) {
    double terms[kSoftmaxLanes];
    for (std::size_t n = 0; n < kSoftmaxLanes; ++n) terms[n] = Exp::of(in[i + n] - peak);
    for (std::size_t n = 0; n < kSoftmaxLanes; ++n) lanes[n] += terms[n];
    for (std::size_t n = 0; kKeeps && n < kSoftmaxLanes; ++n) out[i + n] = terms[n];
  }
  for (; i < size; ++i) {
    const double term = Exp::of(in[i] - peak);
    lanes[0] += term;
    if (kKeeps) out[i] = term;
  }
  for (std::size_t n = 1; n < kSoftmaxLanes; ++n) lanes[0] += lanes[n];
  return lanes[0];
}

inline void softmax_lines(const SoftmaxArgs& a) noexcept {
  const double* in = a.in;
  double* out = a.out;
  for (std::size_t line = 0; line < a.lines; ++line, in += a.size, out += a.size) {
    const double peak = largest(in, a.size);
    if (a.log) {
      const double sum = Log::of(exponentials<false>(in, a.size, peak, nullptr));
      for (std::size_t i = 0; i < a.size; ++i) out[i] = in[i] - peak - sum;
    } else {
      const double sum = exponentials<true>(in, a.size, peak, out);
      for (std::size_t i = 0; i < a.size; ++i) out[i] /= sum;
    }
  }
}

}  // namespace
}  // namespace colonnade::kernels::typed
