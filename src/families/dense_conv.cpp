// SPDX-License-Identifier: Apache-2.0
#include "families/dense_conv.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/planes/planes.hpp"
#include "kernels/winograd/winograd.hpp"

namespace colonnade {
namespace {

using kernels::Encoding;

constexpr kernels::winograd::Tile kSixes{6, 3};
constexpr auto kMostPlanes = static_cast<std::int64_t>(kernels::planes::kMostChannels);

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

/// Matrix units multiply channels in pairs of panels.
double pieces_padding(std::size_t channels) {
  const auto count = static_cast<std::int64_t>(channels);
  return static_cast<double>(round_up(count, 2 * kGrain)) / static_cast<double>(round_up(count, kGrain));
}

double far_weights(double packed, double read, const Blocking& blocking) {
  return bytes_of(packed) > static_cast<double>(blocking.near_weights_bytes) ? blocking.far_weight_flop * read : 0;
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

WinogradChoice choose_winograd(const Conv& conv, const Shape& in, const Shape& out, bool matrix_units,
                               const Blocking& blocking) {
  if (conv.kernel[0] != conv.kernel[1] || conv.kernel[0] == 1 || conv.strides[0] != conv.strides[1] ||
      conv.dilations != Ints{1, 1})
    return {};
  const auto size = [](std::int64_t x) { return static_cast<std::size_t>(x); };
  const std::size_t height = size(out[1]), width = size(out[2]), inputs = winograd_channels(conv, in[3] / conv.groups),
                    outputs = size(out[3] / conv.groups);
  const auto pixels = static_cast<double>(height * width);
  const std::int64_t taps = conv.kernel[0] * conv.kernel[1];
  const auto direct_weights =
      static_cast<double>(kernels::gemm::packed_floats(Encoding::f32, size(taps * in[3] / conv.groups), outputs));
  double direct =
      2 * pixels * direct_weights / blocking.multiply_share + far_weights(direct_weights, direct_weights, blocking);
  if (matrix_units)
    direct = std::min(direct, pixels * pieces_flop(taps, in[3] / conv.groups, out[3] / conv.groups, blocking.pieces) +
                                  far_weights(direct_weights, kPiecesRead * direct_weights, blocking));
  if (takes_planes(conv, out, false, blocking))
    direct = std::min(direct, 2 * pixels * static_cast<double>(taps * in[3] * out[3]) / blocking.planes_share);
  double best = direct / blocking.winograd_gain;
  WinogradChoice chosen;
  for (const kernels::winograd::Tile tile : kernels::winograd::kTiles) {
    if (tile != winograd_tile(conv, static_cast<std::int64_t>(tile.outputs))) continue;
    for (const Encoding encoding : {Encoding::f32, Encoding::bf16x3}) {
      const bool pieces = encoding == Encoding::bf16x3;
      const kernels::winograd::Work work = kernels::winograd::work(encoding, tile, height, width, inputs, outputs);
      const auto packed = static_cast<double>(kernels::winograd::packed_floats(encoding, tile, inputs, outputs));
      if (tile == kSixes && bytes_of(work.block_floats) > static_cast<double>(blocking.near_sixes_bytes)) continue;
      if (pieces && (!matrix_units || std::min(inputs, outputs) < size(blocking.pieces.least_winograd_channels) ||
                     bytes_of(packed) > static_cast<double>(blocking.near_weights_bytes)))
        continue;
      const double multiply =
          pieces ? pieces_padding(inputs) * pieces_padding(outputs) * work.multiply_flop / blocking.pieces.tile_speed +
                       blocking.pieces.split_flop * work.split_floats
                 : work.multiply_flop / blocking.multiply_share;
      const double parts = winograd_filter(conv).parts() > 1 ? blocking.part_flop * work.input_floats : 0;
      const double cost = multiply + work.transform_flop / blocking.transform_share + parts +
                          far_weights(packed, work.weights_read, blocking);
      if (cost >= best) continue;
      best = cost;
      chosen = {static_cast<std::int64_t>(tile.outputs), encoding};
    }
  }
  return chosen;
}

bool takes_pieces(const LongSums& sums, const Blocking& blocking) {
  if (sums.pixels < kLeastPiecesPixels) return false;
  const double starting = 1 + kPiecesIdlePixels / static_cast<double>(sums.pixels);
  const double direct = 2 * sums.inside * static_cast<double>(sums.taps * sums.inputs * round_up(sums.outputs, kGrain));
  return starting * pieces_flop(sums.taps, sums.inputs, sums.outputs, blocking.pieces) * blocking.pieces.gain <
         direct / blocking.multiply_share;
}

double idle_pixels(Encoding encoding) { return encoding == Encoding::bf16x3 ? kPiecesIdlePixels : 0; }
double apart(Encoding encoding) { return encoding == Encoding::bf16x3 ? kPiecesCutTwice : 1; }

bool takes_partial_sums(const Shape& in, const Shape& out, const Blocking& blocking) {
  return element_count(in) == in.back() && element_count(out) == out.back() &&
         bytes_of(static_cast<double>(in.back() * round_up(out.back(), kGrain))) <=
             static_cast<double>(blocking.near_weights_bytes);
}

double taps_inside(const Conv& conv, const Shape& in, const Shape& out) {
  double inside = 1;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (conv.pads[axis] == 0 && conv.pads[axis + 2] == 0) continue;
    std::int64_t count = 0;
    for (std::int64_t x = 0; x < out[1 + axis]; ++x)
      for (std::int64_t tap = 0; tap < conv.kernel[axis]; ++tap) {
        const std::int64_t at = x * conv.strides[axis] + tap * conv.dilations[axis] - conv.pads[axis];
        count += at >= 0 && at < in[1 + axis];
      }
    inside *= static_cast<double>(count) / static_cast<double>(out[1 + axis] * conv.kernel[axis]);
  }
  return inside;
}

bool takes_planes(const Conv& conv, const Shape& out, bool winograd, const Blocking& blocking) {
  return conv.groups == 1 && conv.strides[1] == 1 && conv.dilations[0] == 1 &&
         conv.kernel[0] * conv.kernel[1] >= blocking.least_plane_taps &&
         out[3] <= (winograd ? blocking.most_planes_beside_winograd : kMostPlanes);
}

}  // namespace colonnade
