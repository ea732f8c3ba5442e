// SPDX-License-Identifier: Apache-2.0
// Few rows times a matrix of narrow weights, which stay packed: numbers of four, eight or sixteen bits become floats in
// registers. For many rows a range of a panel is widened to what kernels/gemm multiplies.
//
// The sum of a single row runs over blocks of k in order. In a block the terms x[k] * number at even k are one chain of
// FMAs from zero, those at odd k another; then block = even + odd, block = block - zero * (sum of the block's x) where
// there are zeros, and sum = fma(scale, block, sum), which starts from the bias. The same on every tier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::narrow {

/// u4: numbers from 0 to 15. u8: from 0 to 255, of which kernels/narrow_bytes alone makes products. f16, bf16: floats,
/// which have neither scales nor zeros.
enum class Type : unsigned char { u4, u8, i8, f16, bf16 };

/// Outputs of a panel, and the k that its numbers are padded to a multiple of, with zeros.
inline constexpr std::size_t kOutputs = 64, kStep = 8;

constexpr std::size_t padded(std::size_t k) { return (k + kStep - 1) / kStep * kStep; }
constexpr bool is_scaled(Type type) { return type == Type::u4 || type == Type::u8 || type == Type::i8; }
constexpr std::size_t bits_of(Type type) { return type == Type::u4 ? 4 : is_scaled(type) ? 8 : 16; }

/// How a matrix [k, n] is packed: panels of kOutputs outputs, each a record a block of k, one after another.
///
/// A record: the numbers, then kOutputs scales, then, if each block has its own, kOutputs zeros, all float32. Numbers
/// of i8, f16 and bf16 lie as [k][kOutputs], those of u8 as [k / 4][kOutputs][4]. Those of u4 are words of eight, [k /
/// 8][kOutputs], k rising from the lowest four bits. A number (k, n) stands for (number - zero) * scale.
struct Format {
  Type type = Type::u4;
  std::size_t k = 0;
  std::size_t block = 1;   ///< a multiple of kStep, or k or more
  bool has_zeros = false;  ///< else `zero` is that of all
  float zero = 0;

  constexpr std::size_t blocks() const { return (k + block - 1) / block; }
  constexpr std::size_t block_k() const { return padded(block < k ? block : k); }
  constexpr std::size_t numbers_bytes() const { return block_k() * kOutputs * bits_of(type) / 8; }
  constexpr std::size_t record_bytes() const {
    const std::size_t parameters = (is_scaled(type) ? 1u : 0u) + (has_zeros ? 1u : 0u);
    return numbers_bytes() + parameters * kOutputs * sizeof(float);
  }
  constexpr std::size_t panel_bytes() const { return blocks() * record_bytes(); }
  /// Floats of a prepared vector: terms, then a sum a block.
  constexpr std::size_t prepared_floats() const { return blocks() * (block_k() + 1); }
};

/// `x`, k floats, as multiply reads it.
struct PrepareArgs {
  Format format;
  const float* x = nullptr;
  float* prepared = nullptr;
};
/// kOutputs sums of a panel for each of some vectors, which start from `sums`. The bits of a vector are those that it
/// has alone. Panels are aligned to 64 bytes.
struct MultiplyArgs {
  Format format;
  const std::byte* panel = nullptr;
  std::size_t vectors = 1;
  const float* prepared = nullptr;  ///< [vectors][prepared_floats()]
  float* sums = nullptr;            ///< [vectors][kOutputs]
};
/// The same sums for few rows, from one to kMostRows, with the bits of kernels/gemm: a weight is (number - zero) *
/// scale, rounded once, and a sum one chain of FMAs in the order of k.
struct RowsArgs {
  Format format;
  const std::byte* panel = nullptr;
  std::size_t rows = 1;
  const float* x = nullptr;
  std::ptrdiff_t x_stride = 0;  ///< floats from one row to the next
  float* sums = nullptr;        ///< [rows][kOutputs], from which they start
};
inline constexpr std::size_t kMostRows = 8;

/// Rows [first, first + count) of a panel as floats, in kOutputs / 16 panels of kernels/gemm, `count` rows of 16
/// outputs each. Where there are several blocks, `first` is a multiple of kStep.
struct WidenArgs {
  Format format;
  const std::byte* panel = nullptr;
  std::size_t first = 0, count = 0;
  float* to = nullptr;
};

struct Kernel {
  const char* name;
  Isa isa;
  Type type;
  void (*prepare)(const PrepareArgs&) noexcept;
  void (*multiply)(const MultiplyArgs&) noexcept;
  void (*multiply_rows)(const RowsArgs&) noexcept;
  void (*widen)(const WidenArgs&) noexcept;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features, Type type) noexcept;

}  // namespace colonnade::kernels::narrow
