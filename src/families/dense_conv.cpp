// SPDX-License-Identifier: Apache-2.0
#include "families/dense_conv.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/winograd/winograd.hpp"

namespace colonnade {
namespace {

using kernels::Encoding;

// Matrix units: fewest pixels, those that could be done while a call starts, and times the arithmetic when threads
// divide the output channels.
constexpr double kPiecesRead = 1.5;  // bytes of three pieces over those of a float
constexpr auto kGrain = static_cast<std::int64_t>(kernels::gemm::kPanel);
constexpr auto kPiecesStep = static_cast<std::int64_t>(kernels::gemm::kPiecesStep);
constexpr std::int64_t kLeastPiecesPixels = 16;
constexpr double kPiecesIdlePixels = 16;
constexpr double kPiecesCutTwice = 1.25;

double bytes_of(double floats) { return floats * sizeof(float); }

/// What a pixel takes on matrix units, in operations of vector units.
double pieces_flop(std::int64_t taps, std::int64_t inputs, std::int64_t outputs, const Blocking::Pieces& pieces) {
  const auto n = static_cast<double>(round_up(outputs, kGrain));
  const auto k = static_cast<double>(round_up(taps * inputs, kPiecesStep));
  const bool gathers = taps > 1 && inputs % kPiecesStep != 0;
  return 2 * k * n / pieces.speed + pieces.split_flop * k + pieces.sum_flop * n +
         (gathers ? pieces.gather_flop * static_cast<double>(taps) : 0);
}

}  // namespace

std::string dense_refusal(const Candidate& node) {
  if (node.input_shape(0).size() != 4) return "only two spatial axes have a kernel";
  return node.constant(1) && node.constant_or_absent(2) ? "" : "weights are not constant";
}

bool may_reorder(const Candidate& node, const Conv& conv) { return node.math != Math::exact && !conv.exact; }
bool may_use_matrix_units(const Candidate& node, const Conv& conv) {
  return may_reorder(node, conv) && node.features.contains(kernels::Isa::amx);
}

Encodings encodings_for(const Candidate& node, bool exact) {
  if (node.math == Math::exact || exact) return {};
  const bool rounds = node.math == Math::bf16, units = node.features.contains(kernels::Isa::bf16);
  const bool matrix_units = node.features.contains(kernels::Isa::amx);
  return {matrix_units, rounds && units, rounds && matrix_units, rounds && !units};
}

kernels::winograd::Filter winograd_filter(const Conv& conv) {
  return {static_cast<std::size_t>(conv.kernel[0]), static_cast<std::size_t>(conv.strides[0])};
}

kernels::winograd::Tile winograd_tile(const Conv& conv, std::int64_t outputs) {
  return {static_cast<std::size_t>(outputs), winograd_filter(conv).taps()};
}

double winograd_products(const Conv& conv, std::int64_t outputs) {
  const double side = static_cast<double>(winograd_tile(conv, outputs).inputs() * winograd_filter(conv).parts()) /
                      static_cast<double>(outputs * conv.kernel[0]);
  return side * side;
}

std::size_t winograd_channels(const Conv& conv, std::int64_t channels) {
  return winograd_filter(conv).channels(static_cast<std::size_t>(channels));
}

double far_weights_flop(double packed, double read, const Blocking& blocking) {
  return bytes_of(packed) > static_cast<double>(blocking.near_weights_bytes) ? blocking.far_weight_flop * read : 0;
}

/// What a group's sums take in pairs of bf16.
static double pairs_flop(const LongSums& sums, const Blocking& blocking, const Blocking::Pairs& pairs) {
  const auto pixels = static_cast<double>(sums.pixels);
  const auto inputs = static_cast<double>(sums.inputs), rows = static_cast<double>(sums.paired_terms);
  const auto n = static_cast<double>(round_up(sums.outputs, kGrain));
  const double pixel = 2 * rows * n / (blocking.multiply_share * pairs.speed) +
                       pairs.round_flop * inputs * sums.inputs_read + pairs.sum_flop * n;
  return pairs.gain * (pixels * pixel + far_weights_flop(rows * n / 2, rows * n / 2, blocking));
}

/// What a pixel's sums take where weights in pairs become floats again.
static double pair_weights_flop(const LongSums& sums, const Blocking& blocking) {
  constexpr double kUnpacking = 2;
  const double weights = static_cast<double>(sums.paired_terms) * static_cast<double>(round_up(sums.outputs, kGrain));
  return 2 * kUnpacking * weights / blocking.multiply_share + far_weights_flop(weights / 2, weights / 2, blocking);
}

std::vector<Offer> direct_offers(const LongSums& sums, const Encodings& encodings, const Blocking& blocking) {
  const auto pixels = static_cast<double>(sums.pixels), groups = static_cast<double>(sums.groups);
  const auto weights = static_cast<double>(sums.taps * sums.inputs * round_up(sums.outputs, kGrain));
  const double direct = 2 * pixels * weights / blocking.multiply_share + far_weights_flop(weights, weights, blocking);
  std::vector<Offer> offers{{.flop = groups * direct}};
  const Blocking::Pairs& pairs = encodings.pair_units ? blocking.pair_units : blocking.pairs;
  if (encodings.pairs)
    offers.push_back({.encoding = Encoding::bf16, .flop = groups * pairs_flop(sums, blocking, pairs)});
  if (encodings.pair_weights && sums.pixels == 1)
    offers.push_back({.encoding = Encoding::bf16, .flop = groups * pair_weights_flop(sums, blocking)});
  if (!encodings.pieces) return offers;
  const double pixel = pieces_flop(sums.taps, sums.inputs, sums.outputs, blocking.pieces);
  const double cut = pixels * pixel + far_weights_flop(weights, kPiecesRead * weights, blocking);
  const double starting = 1 + kPiecesIdlePixels / pixels;
  const double ratio = 2 * sums.inside * weights / blocking.multiply_share / (starting * pixel * blocking.pieces.gain);
  const bool pieces = sums.pixels >= kLeastPiecesPixels && ratio > 1;
  const double sooner = groups * std::min(direct, cut), later = sooner * std::max(ratio, 1 / ratio);
  offers.front().flop = pieces ? later : sooner;
  offers.push_back({.encoding = Encoding::bf16x3, .flop = pieces ? sooner : later});
  return offers;
}

double idle_pixels(Encoding encoding) { return encoding == Encoding::bf16x3 ? kPiecesIdlePixels : 0; }
std::int64_t chunk_channels(Encoding encoding, const Blocking& blocking) {
  switch (encoding) {
    case Encoding::f32: return blocking.chunk_channels;
    case Encoding::bf16x3: return blocking.pieces.chunk_channels;
    case Encoding::bf16: return blocking.pairs.chunk_channels;
  }
  return blocking.chunk_channels;
}

double apart(Encoding encoding) { return encoding == Encoding::bf16x3 ? kPiecesCutTwice : 1; }

std::int64_t pixels_of_sample(const Candidate& node) {
  const Shape& out = node.output_shape();
  return of_sample(node.graph, element_count(out) / out.back());
}

bool takes_partial_sums(const Candidate& node) {
  const Shape &in = node.input_shape(0), &out = node.output_shape();
  return of_sample(node.graph, element_count(in) / in.back()) == 1 && pixels_of_sample(node) == 1 &&
         bytes_of(static_cast<double>(in.back() * round_up(out.back(), kGrain))) <=
             static_cast<double>(node.blocking.near_weights_bytes);
}

double taps_inside(const Conv& conv, const Shape& in, const Shape& out) {
  double inside = 1;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (conv.pads[axis] == 0 && conv.pads[axis + 2] == 0) continue;
    const std::int64_t stride = conv.strides[axis], outputs = out[1 + axis];
    std::int64_t count = 0;
    for (std::int64_t tap = 0; tap < conv.kernel[axis]; ++tap) {
      // Output x reads x * stride - before.
      const std::int64_t before = conv.pads[axis] - tap * conv.dilations[axis], last = in[1 + axis] - 1 + before;
      const std::int64_t begin = before > 0 ? ceil_div(before, stride) : 0;
      const std::int64_t end = last < 0 ? 0 : std::min(outputs, last / stride + 1);
      count += std::max<std::int64_t>(0, end - begin);
    }
    inside *= static_cast<double>(count) / static_cast<double>(outputs * conv.kernel[axis]);
  }
  return inside;
}

}  // namespace colonnade
