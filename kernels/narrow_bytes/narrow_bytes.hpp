// SPDX-License-Identifier: Apache-2.0
// Rows times a matrix of narrow weights of four or eight bits, by products of bytes: a row's numbers are rounded to 255
// steps, a scale for each block of k, as accuracy_level 4 of com.microsoft's MatMulNBits lets its inputs be.
//
// Of a block of a row: scale = max |x| / 127, q[k] = x[k] * (127 / max |x|) rounded to nearest, from halfway to even.
// Blocks below 2^-100 count as zeros, and a block that is not finite gives NaN. Then for an output the blocks are added
// in order: t = sum of q[k] * number(k), t = t - zero * (sum of q), sum = fma(scale * weights' scale, t, sum), which
// starts from the bias. Sums of integers are exact, so every tier has the same bits, and a row has those it has alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/narrow/narrow.hpp"

namespace colonnade::kernels::narrow_bytes {

using narrow::Format;
using narrow::kOutputs;
using narrow::Type;

/// Rows that are multiplied together at most.
inline constexpr std::size_t kMostRows = 32;
/// Terms whose products are summed before they are widened; records of rows are padded to them, with zeros.
inline constexpr std::size_t kChunk = 32;
/// Terms of a block at most: their sum fits 32 bits.
inline constexpr std::size_t kMostTerms = std::size_t{1} << 16;

/// A row's block: q in steps of eight k, those at even k first where numbers have four bits, then its scale and the sum
/// of its q as floats.
constexpr std::size_t record_bytes(const Format& format) {
  return (format.block_k() + kChunk - 1) / kChunk * kChunk + 2 * sizeof(float);
}
constexpr std::size_t prepared_bytes(const Format& format, std::size_t rows) {
  return format.blocks() * rows * record_bytes(format);
}

/// Rows of k floats as multiply reads them.
struct PrepareArgs {
  Format format;
  std::size_t rows = 1;
  const float* x = nullptr;
  std::ptrdiff_t x_stride = 0;    ///< floats from one row to the next
  std::byte* prepared = nullptr;  ///< [blocks][rows], of record_bytes() each
};
/// kOutputs sums of a panel, which is aligned to 64 bytes, for each of at most kMostRows rows.
struct MultiplyArgs {
  Format format;
  std::size_t rows = 1;
  const std::byte* panel = nullptr;
  const std::byte* prepared = nullptr;
  float* sums = nullptr;  ///< [rows][kOutputs], from which they start
};

struct Kernel {
  const char* name;
  Isa isa;
  Type type;     ///< of the numbers
  double speed;  ///< products a second over those of floats, about
  void (*prepare)(const PrepareArgs&) noexcept;
  void (*multiply)(const MultiplyArgs&) noexcept;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features, Type type) noexcept;

}  // namespace colonnade::kernels::narrow_bytes
