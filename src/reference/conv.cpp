// SPDX-License-Identifier: Apache-2.0
// Convolution and transposed convolution: the same sums over taps, only the tap tables and the weights' order differ.
#include <algorithm>
#include <array>

#include "reference/elements.hpp"
#include "reference/families.hpp"
#include "reference/indexing.hpp"
#include "reference/window.hpp"

namespace colonnade::reference {
namespace {

constexpr std::int64_t kPixelTile = 4;

struct ConvGeometry {
  std::int64_t images = 1, groups = 1;
  std::int64_t group_inputs = 1, group_outputs = 1;  ///< channels a group
  std::int64_t taps = 1;
  Ints input_spatial, output_spatial;
  std::vector<AxisTaps> axes;

  std::int64_t inputs() const { return groups * group_inputs; }
  std::int64_t outputs() const { return groups * group_outputs; }
};

/// Weights as [tap][group][input channel][output channel].
template <class C>
std::vector<C> packed_weights(const Tensor& weight, const ConvGeometry& g, bool transposed) {
  const std::vector<C> source = load_all<C>(weight);
  std::vector<C> packed(source.size());
  const std::int64_t fan_out = transposed ? g.taps : g.group_inputs * g.taps;
  const std::int64_t fan_in = transposed ? g.group_outputs * g.taps : g.taps;
  const std::int64_t group_stride = g.group_inputs * g.group_outputs * g.taps;
  std::size_t at = 0;
  for (std::int64_t k = 0; k < g.taps; ++k) {
    for (std::int64_t group = 0; group < g.groups; ++group) {
      for (std::int64_t c = 0; c < g.group_inputs; ++c) {
        for (std::int64_t o = 0; o < g.group_outputs; ++o) {
          packed[at++] = source[static_cast<std::size_t>(group * group_stride + o * fan_out + c * fan_in + k)];
        }
      }
    }
  }
  return packed;
}

/// Sums of up to kPixelTile output positions of one image.
template <class C>
class Tile {
 public:
  Tile(const ConvGeometry& g, const Tensor& x, const Tensor& weight, bool transposed)
      : g_(g),
        x_(x),
        weights_(packed_weights<C>(weight, g, transposed)),
        taps_(static_cast<std::size_t>(kPixelTile * g.taps)),
        rows_(static_cast<std::size_t>(kPixelTile * g.inputs())),
        sums_(static_cast<std::size_t>(kPixelTile * g.outputs())) {}

  void set_position(std::int64_t p, const Ints& position) {
    const auto taps = static_cast<std::size_t>(g_.taps);
    window_at(g_.axes, g_.input_spatial, position, std::span(taps_).subspan(static_cast<std::size_t>(p) * taps, taps));
  }

  C* run(std::int64_t image, std::int64_t count, const std::vector<C>& bias) {
    for (std::int64_t p = 0; p < count; ++p) std::copy(bias.begin(), bias.end(), sums_.begin() + p * g_.outputs());
    for (std::int64_t k = 0; k < g_.taps; ++k) add_tap(image, count, k);
    return sums_.data();
  }

 private:
  void add_tap(std::int64_t image, std::int64_t count, std::int64_t k) {
    const std::int64_t pixels = product(g_.input_spatial, 0, g_.input_spatial.size());
    std::array<const C*, kPixelTile> rows{};
    for (std::int64_t p = 0; p < count; ++p) {
      const std::int64_t pixel = taps_[static_cast<std::size_t>(p * g_.taps + k)];
      if (pixel < 0) continue;
      C* row = rows_.data() + p * g_.inputs();
      load(x_, (image * pixels + pixel) * g_.inputs(), g_.inputs(), row);
      rows[static_cast<std::size_t>(p)] = row;
    }
    const C* weights = weights_.data() + k * g_.groups * g_.group_inputs * g_.group_outputs;
    for (std::int64_t group = 0; group < g_.groups; ++group) {
      multiply_add<C>(std::span(rows).first(static_cast<std::size_t>(count)), g_.group_inputs, weights,
                      g_.group_outputs, sums_.data() + group * g_.group_outputs, g_.outputs());
      weights += g_.group_inputs * g_.group_outputs;
      for (const C*& row : rows) row = row == nullptr ? nullptr : row + g_.group_inputs;
    }
  }

  const ConvGeometry& g_;
  const Tensor& x_;
  std::vector<C> weights_;
  std::vector<std::int64_t> taps_;
  std::vector<C> rows_, sums_;
};

template <class C>
void convolve(const ConvGeometry& g, const Call& call, const FusedEpilogue& fused, bool transposed, Tensor& y) {
  const Epilogue epilogue(fused, call);
  const Tensor* bias_tensor = call.optional(2);
  const std::vector<C> bias =
      bias_tensor == nullptr ? std::vector<C>(static_cast<std::size_t>(g.outputs()), C{0}) : load_all<C>(*bias_tensor);
  Tile<C> tile(g, call.input(0), call.input(1), transposed);
  const std::int64_t pixels = product(g.output_spatial, 0, g.output_spatial.size());
  for (std::int64_t image = 0; image < g.images; ++image) {
    Ints position(g.output_spatial.size(), 0);
    for (std::int64_t pixel = 0; pixel < pixels; pixel += kPixelTile) {
      const std::int64_t count = std::min(kPixelTile, pixels - pixel);
      for (std::int64_t p = 0; p < count; ++p) {
        tile.set_position(p, position);
        next_index(position, g.output_spatial);
      }
      C* sums = tile.run(image, count, bias);
      const std::int64_t offset = (image * pixels + pixel) * g.outputs();
      epilogue.run(sums, offset, count * g.outputs(), g.outputs());
      store(sums, count * g.outputs(), y, offset);
    }
  }
}

template <class Op>
ConvGeometry geometry_of(const Op& op, const Call& call, const Shape& x, const Shape& y) {
  ConvGeometry g;
  g.images = x.front();
  g.groups = op.groups;
  g.group_inputs = x.back() / op.groups;
  g.group_outputs = y.back() / op.groups;
  g.input_spatial.assign(x.begin() + 1, x.end() - 1);
  g.output_spatial.assign(y.begin() + 1, y.end() - 1);
  const Shape& weight = call.input(1).shape();
  g.taps = product(weight, 2, weight.size());
  return g;
}

template <class Op>
std::vector<AxisTaps> taps_of(const Op& op, const Call& call, const ConvGeometry& g,
                              AxisTaps (*taps)(const WindowAxis&)) {
  const std::size_t rank = g.input_spatial.size();
  const Shape& weight = call.input(1).shape();
  const Ints pads = resolve_pads(op, g.input_spatial);
  std::vector<AxisTaps> axes;
  for (std::size_t i = 0; i < rank; ++i) {
    axes.push_back(taps({g.input_spatial[i], g.output_spatial[i], weight[i + 2], op.strides.empty() ? 1 : op.strides[i],
                         op.dilations.empty() ? 1 : op.dilations[i], pads[i], pads[i + rank]}));
  }
  return axes;
}

template <class Op>
Tensors convolution(const Op& op, const Call& call, AxisTaps (*taps)(const WindowAxis&), bool transposed) {
  Tensor y(call.dtype(), call.shape());
  if (y.size() == 0) return {std::move(y)};  // there may be very many windows of no images
  ConvGeometry g = geometry_of(op, call, call.input(0).shape(), y.shape());
  g.axes = taps_of(op, call, g, taps);
  if (is_real(y.dtype())) {
    convolve<double>(g, call, op.epilogue, transposed, y);
  } else {
    convolve<std::uint64_t>(g, call, op.epilogue, transposed, y);
  }
  return {std::move(y)};
}

}  // namespace

Tensors apply(const Conv& conv, const Call& call) { return convolution(conv, call, forward_taps, false); }

Tensors apply(const ConvTranspose& conv, const Call& call) { return convolution(conv, call, transposed_taps, true); }

}  // namespace colonnade::reference
