// SPDX-License-Identifier: Apache-2.0
// Discrete Fourier transforms of as many signals at a time as a vector has lanes: each lane computes one, so that its
// bits depend on no other. Radices follow each other without reordering (Stockham; Van Loan, Computational Frameworks
// for the Fast Fourier Transform, 1.7), odd ones by sums and differences of pairs.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::fourier {

inline constexpr unsigned kMostRadix = 13, kMostPasses = 24;
inline constexpr std::size_t kWorkFloats = 4;

/// A transform of one length: the product of `passes` radices of 2, 3, 4, 5, 7, 11 or 13.
struct Plan {
  std::size_t length = 1;
  std::size_t passes = 0;
  unsigned radices[kMostPasses] = {};
  const float* roots = nullptr;  ///< [length][2]: exp(-2 pi i k / length)
};

/// Signals of `length` numbers, of which the first `taken` are read and the others are zero.
struct Args {
  const Plan* plan = nullptr;        ///< of the length, or of half of it where `halved` is set
  const float* const* in = nullptr;  ///< [count]
  float* const* out = nullptr;       ///< [count]
  std::size_t count = 1;             ///< at most Kernel::lanes
  std::size_t length = 1;
  std::size_t taken = 1;
  std::ptrdiff_t in_step = 1;     ///< floats from one number to the next
  std::size_t in_parts = 1;       ///< 2: complex, else real
  const float* window = nullptr;  ///< [taken] factors, or null
  bool mirrored = false;          ///< what is not taken mirrors the rest: the spectrum of a real signal
  bool inverse = false;
  bool halved = false;            ///< an even number of real ones, taken in pairs as complex ones; not inverse
  const float* twists = nullptr;  ///< [length / 2][2], where halved: exp(-2 pi i k / length)
  float scale = 1;                ///< of results
  std::size_t out_count = 1;      ///< results that are written, the first ones
  std::ptrdiff_t out_step = 2;
  std::size_t out_parts = 2;  ///< 1: real parts alone
  float* work = nullptr;      ///< [kWorkFloats * length * lanes]
};

struct Kernel {
  const char* name;
  Isa isa;
  std::size_t lanes;
  void (*transform)(const Args&) noexcept;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

/// Factors a length; false where it has a larger prime. `roots` are left to the caller.
bool plan_length(std::size_t length, Plan& plan) noexcept;

}  // namespace colonnade::kernels::fourier
