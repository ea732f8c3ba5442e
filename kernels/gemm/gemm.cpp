// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/gemm.hpp"

#include <cstdint>
#include <cstring>

#include "kernels/base/table.hpp"
#include "kernels/gemm/blocks.hpp"

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

}  // namespace

std::span<const Kernel> table() noexcept { return table_of<Kernel, tier::amx>(); }

const Kernel& select(Features features, Encoding encoding) noexcept {
  const Kernel* kernel = table().data();
  while (!features.contains(kernel->isa) || kernel->encoding != encoding) ++kernel;
  return *kernel;
}

std::size_t workspace_floats(Encoding encoding, std::size_t k, std::size_t n) noexcept {
  if (encoding == Encoding::f32) return 0;
  constexpr std::size_t kTile = kPanel * kPanel;
  const Room room = room_of(k, n);
  return 2 * room.pixel_steps * kPieces * kTile + room.sums * kTile + room.gathered_steps * kPiecesStep;
}

void pack(const float* source, std::ptrdiff_t k_stride, std::ptrdiff_t n_stride, std::size_t k, std::size_t n,
          float* packed) noexcept {
  for (std::size_t first = 0; first < n; first += kPanel) {
    for (std::size_t row = 0; row < k; ++row) {
      const float* from = source + static_cast<std::ptrdiff_t>(row) * k_stride;
      for (std::size_t column = first; column < first + kPanel; ++column) {
        *packed++ = column < n ? from[static_cast<std::ptrdiff_t>(column) * n_stride] : 0.0f;
      }
    }
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

}  // namespace colonnade::kernels::gemm
