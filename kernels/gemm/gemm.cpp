// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/gemm.hpp"

#include <cstdint>
#include <cstring>

#include "kernels/base/table.hpp"
#include "kernels/gemm/blocks.hpp"
#include "kernels/gemm/pair_blocks.hpp"

namespace colonnade::kernels::gemm {
namespace {

std::uint32_t bits_of(float x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

float float_of(std::uint32_t bits) {
  float x = 0;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

/// The bf16 nearest to x, as a float's bits; the next one towards zero where that is infinite.
std::uint32_t nearest_piece(float x) {
  constexpr std::uint32_t kUpper = 0xffff0000u, kHalf = 0x8000u, kExponent = 0x7f800000u;
  const std::uint32_t bits = bits_of(x), nearest = (bits + kHalf) & kUpper;
  return (nearest & kExponent) == kExponent ? bits & kUpper : nearest;
}

/// A panel of `columns` columns, element by element; what is left of it is zero.
void pack_columns(const float* source, std::ptrdiff_t k_stride, std::ptrdiff_t n_stride, std::size_t k,
                  std::size_t columns, float* packed) noexcept {
  for (std::size_t row = 0; row < k; ++row, packed += kPanel, source += k_stride) {
    for (std::size_t column = 0; column < columns; ++column)
      packed[column] = source[static_cast<std::ptrdiff_t>(column) * n_stride];
    for (std::size_t column = columns; column < kPanel; ++column) packed[column] = 0.0f;
  }
}

using Four = float __attribute__((vector_size(16)));

Four load_four(const float* from) noexcept {
  Four four;
  std::memcpy(&four, from, sizeof(four));
  return four;
}

/// A whole panel of columns that lie one after another: squares of four by four are turned.
void turn_panel(const float* source, std::ptrdiff_t n_stride, std::size_t k, float* packed) noexcept {
  constexpr std::size_t kSide = 4;
  const std::size_t whole = k / kSide * kSide;
  for (std::size_t row = 0; row < whole; row += kSide)
    for (std::size_t column = 0; column < kPanel; column += kSide) {
      const float* from = source + row + static_cast<std::ptrdiff_t>(column) * n_stride;
      const Four a = load_four(from), b = load_four(from + n_stride), c = load_four(from + 2 * n_stride),
                 d = load_four(from + 3 * n_stride);
      const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
      const Four ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
      const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
      const Four cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
      const Four turned[kSide] = {
          __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5), __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
          __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5), __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
      for (std::size_t i = 0; i < kSide; ++i)
        std::memcpy(packed + (row + i) * kPanel + column, &turned[i], sizeof(Four));
    }
  pack_columns(source + whole, 1, n_stride, k - whole, kPanel, packed + whole * kPanel);
}

/// The bf16 nearest to x, of two as near the even one, as a float's bits; subnormal numbers are zero.
std::uint32_t nearest_even(float x) {
  constexpr std::uint32_t kUpper = 0xffff0000u, kSign = 0x80000000u, kExponent = 0x7f800000u, kQuiet = 0x00400000u;
  const std::uint32_t bits = bits_of(x);
  if ((bits & kExponent) == 0) return bits & kSign;
  if ((bits & ~kSign) > kExponent) return (bits | kQuiet) & kUpper;
  return (bits + 0x7fffu + (bits >> 16 & 1)) & kUpper;
}

}  // namespace

std::span<const Kernel> table() noexcept { return table_of<Kernel, tier::amx, tier::bf16>(); }

const Kernel& select(Features features, Encoding encoding) noexcept {
  const Kernel* kernel = table().data();
  while (!features.contains(kernel->isa) || kernel->encoding != encoding) ++kernel;
  return *kernel;
}

std::size_t workspace_floats(Encoding encoding, const Terms& terms, std::size_t n) noexcept {
  if (encoding == Encoding::f32) return 0;
  if (encoding == Encoding::bf16) return pair_workspace_floats(terms);
  const std::size_t k = terms.kernel_h * terms.kernel_w * terms.channels;
  constexpr std::size_t kTile = kPanel * kPanel;
  const Room room = room_of(k, n);
  return 2 * room.pixel_steps * kPieces * kTile + room.sums * kTile + room.gathered_steps * kPiecesStep;
}

void pack(const float* source, std::ptrdiff_t k_stride, std::ptrdiff_t n_stride, std::size_t k, std::size_t n,
          float* packed) noexcept {
  for (std::size_t first = 0; first < n; first += kPanel, packed += k * kPanel) {
    const float* from = source + static_cast<std::ptrdiff_t>(first) * n_stride;
    if (n - first < kPanel)
      pack_columns(from, k_stride, n_stride, k, n - first, packed);
    else if (n_stride == 1)
      for (std::size_t row = 0; row < k; ++row)
        std::memcpy(packed + row * kPanel, from + static_cast<std::ptrdiff_t>(row) * k_stride, kPanel * sizeof(float));
    else if (k_stride == 1)
      turn_panel(from, n_stride, k, packed);
    else
      pack_columns(from, k_stride, n_stride, k, kPanel, packed);
  }
}

void cut_pieces(const float* panel, std::size_t k, float* pieces) noexcept {
  constexpr std::size_t kSide = kPiecesStep / 2;
  const auto at = [&](std::size_t row, std::size_t column) { return row < k ? panel[row * kPanel + column] : 0.0f; };
  for (std::size_t first = 0; first < k; first += kPiecesStep, pieces += kPieces * kSide * kPanel) {
    for (std::size_t row = 0; row < kSide; ++row) {
      for (std::size_t column = 0; column < kPanel; ++column) {
        float low = at(first + row, column), high = at(first + row + kSide, column);
        for (std::size_t piece = 0; piece < kPieces; ++piece) {
          const std::uint32_t low_bits = nearest_piece(low), high_bits = nearest_piece(high);
          pieces[(piece * kSide + row) * kPanel + column] = float_of(high_bits | low_bits >> 16);
          low -= float_of(low_bits);
          high -= float_of(high_bits);
        }
      }
    }
  }
}

void pair_up(const float* panel, std::size_t k, std::size_t run, float* pairs) noexcept {
  for (std::size_t first = 0; first < k; first += run)
    for (std::size_t row = first; row < first + run; row += 2)
      for (std::size_t column = 0; column < kPanel; ++column) {
        const float low = panel[row * kPanel + column];
        const float high = row + 1 < first + run ? panel[(row + 1) * kPanel + column] : 0.0f;
        *pairs++ = float_of(nearest_even(high) | nearest_even(low) >> 16);
      }
}

}  // namespace colonnade::kernels::gemm
