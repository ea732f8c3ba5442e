// SPDX-License-Identifier: Apache-2.0
// Contractions over channels-last rows of fp32: matrix products and direct KxK convolutions are one kernel, the second
// fed by row pointers. Sums run in the order (ky, kx, channel) with one FMA each, starting from the bias, whatever
// tile a pixel falls in: equal inputs give equal bits for every split of rows, columns or output channels. Partial
// sums have an order of their own.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/base/encoding.hpp"
#include "kernels/base/isa.hpp"
#include "kernels/base/unary.hpp"

namespace colonnade::kernels::gemm {

/// Output channels of one packed panel, on every tier.
inline constexpr std::size_t kPanel = 16;

/// Weights as floats: packs to [n / 16][k][16], zero-filled past n. Element (k, n) of the source is at source[k *
/// k_stride + n * n_stride].
void pack(const float* source, std::ptrdiff_t k_stride, std::ptrdiff_t n_stride, std::size_t k, std::size_t n,
          float* packed) noexcept;

/// A float32 as a sum of so many bf16 numbers; products that matrix units add to a sum at once.
inline constexpr std::size_t kPieces = 3, kPiecesStep = 32;

/// Weights in the encoding bf16x3: each float is cut into pieces (pieces.hpp), for kPiecesStep rows of a panel after
/// each other a tile of 16 rows a piece, of which row i holds the pieces of rows i and i + 16. Floats of a panel of `k`
/// rows in either encoding: also where row k starts, which is a multiple of kPiecesStep in pieces.
constexpr std::size_t panel_floats(Encoding encoding, std::size_t k) {
  switch (encoding) {
    case Encoding::f32: return k * kPanel;
    case Encoding::bf16x3: return (k + kPiecesStep - 1) / kPiecesStep * kPieces * kPiecesStep / 2 * kPanel;
    case Encoding::bf16: return (k + 1) / 2 * kPanel;
  }
  return 0;
}

/// The terms of a sum, by the window that reads them: `channels` of each tap.
struct Terms {
  std::size_t kernel_h = 1;
  std::size_t kernel_w = 1;
  std::size_t stride_w = 1;
  std::size_t dilation_w = 1;
  std::size_t channels = 1;
};
/// In the encoding bf16 two terms that follow each other are the halves of a word, the first one below: of a row of
/// taps, where its pixels lie behind each other and start at whole words, else of a tap. So many terms follow each
/// other; a zero ends an odd number of them.
constexpr std::size_t paired_terms(const Terms& terms) {
  const bool by_rows = terms.dilation_w == 1 && terms.stride_w * terms.channels % 2 == 0;
  return by_rows ? terms.kernel_w * terms.channels : terms.channels;
}
/// Rows of a panel of weights for these terms.
constexpr std::size_t panel_rows(Encoding encoding, const Terms& terms) {
  const std::size_t k = terms.kernel_h * terms.kernel_w * terms.channels;
  if (encoding != Encoding::bf16) return k;
  const std::size_t run = paired_terms(terms);
  return run == 0 ? 0 : k / run * ((run + 1) / 2 * 2);
}
/// Rounds a packed panel of `k` rows to bf16, from halfway to the even one, into pairs of `run` = paired_terms() rows.
void pair_up(const float* panel, std::size_t k, std::size_t run, float* pairs) noexcept;
/// Of packed weights for `k` = kernel_h * kernel_w * channels_in rows and `n` output channels (one group).
constexpr std::size_t packed_floats(Encoding encoding, std::size_t k, std::size_t n) {
  return (n + kPanel - 1) / kPanel * panel_floats(encoding, k);
}
/// Cuts a packed panel of `k` rows into panel_floats(Encoding::bf16x3, k) floats. Pieces are rounded to the nearest, so
/// that what a product leaves out has either sign.
void cut_pieces(const float* panel, std::size_t k, float* pieces) noexcept;

/// Floats of workspace that a call needs for sums of these terms and `n` output channels of a group.
std::size_t workspace_floats(Encoding encoding, const Terms& terms, std::size_t n) noexcept;

/// A number of output rows of a convolution. All strides count floats. A matrix product is kernel_h = kernel_w = 1 with
/// one row of width m.
///
/// in_rows[row * kernel_h + ky] is the input row that tap ky of output row `row` reads, null where it lies in the
/// padding (the tap is skipped). Within a row, tap (kx) of output pixel x reads pixel
/// x * stride_w - pad_left + kx * dilation_w; pixels outside [0, width_in) are skipped, or
/// count as zeros where rows are narrow.
/// out_rows[row] and residual_rows[row] (null: no residual) are the rows written and added.
/// `accumulate`: sums start from the values in out_rows instead of the bias (the second and later channel chunks).
/// Output may equal residual element for element; otherwise nothing may overlap. No alignment is required; nothing is
/// read or written outside the rows given.
/// Group g of `groups` reads channels_in channels of each pixel from g * channels_in on and makes channels_out ones
/// from g * channels_out on; weights of the groups follow each other, packed_floats(encoding, k, channels_out)
/// apart.
struct ConvArgs {
  std::size_t rows = 1;
  const float* const* in_rows = nullptr;
  float* const* out_rows = nullptr;
  const float* const* residual_rows = nullptr;
  std::size_t width_in = 0;
  std::size_t width_out = 0;
  std::size_t kernel_h = 1;
  std::size_t kernel_w = 1;
  std::size_t stride_w = 1;
  std::size_t dilation_w = 1;
  std::size_t pad_left = 0;
  std::size_t channels_in = 0;   ///< of one group
  std::size_t channels_out = 0;  ///< of one group
  std::ptrdiff_t in_pixel_stride = 0;
  std::ptrdiff_t out_pixel_stride = 0;
  std::ptrdiff_t residual_pixel_stride = 0;
  /// Packed by pack(), k = (ky * kernel_w + kx) * channels_in + channel, in the kernel's encoding.
  const float* weights = nullptr;
  std::size_t panel_stride = 0;  ///< floats from one panel of weights to the next
  const float* bias = nullptr;   ///< groups * channels_out values, or null for zero
  bool accumulate = false;
  /// For products (kernel_h = kernel_w = 1, one row) of samples of a single pixel whose weights lie in a near cache:
  /// kPartialSums sums an output, however many pixels there are. A sum alone waits for each FMA, and a few panels at a
  /// time are read faster than many. Not on matrix units.
  bool partial_sums = false;
  Epilogue epilogue;
  std::size_t groups = 1;
  float* workspace = nullptr;  ///< workspace_floats(...) floats, 64-byte aligned
};

/// Partial sums of a product: the i-th adds every kPartialSums-th term from term i on, then all are added in pairs.
inline constexpr std::size_t kPartialSums = 4;

inline Terms terms_of(const ConvArgs& a) { return {a.kernel_h, a.kernel_w, a.stride_w, a.dilation_w, a.channels_in}; }

using ConvFn = void (*)(const ConvArgs&) noexcept;

struct Kernel {
  const char* name;
  Isa isa;
  Encoding encoding;  ///< of its weights
  ConvFn run;
};

/// Every kernel of this build, best first; a host runs those whose tier its features hold.
std::span<const Kernel> table() noexcept;
/// The best kernel of an encoding that a tier runs.
const Kernel& select(Features features, Encoding encoding) noexcept;

}  // namespace colonnade::kernels::gemm
