// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "reference/elements.hpp"
#include "reference/families.hpp"
#include "reference/indexing.hpp"
#include "reference/rescale.hpp"
#include "reference/window.hpp"

namespace colonnade::reference {
namespace {

struct PoolGeometry {
  std::int64_t images = 1, channels = 1, taps = 1;
  Ints input_spatial, output_spatial;
  std::vector<AxisTaps> axes;
};

PoolGeometry geometry_of(const Pool& pool, const Shape& x, const Shape& y) {
  PoolGeometry g;
  g.images = x.front();
  g.channels = x.back();
  g.input_spatial.assign(x.begin() + 1, x.end() - 1);
  g.output_spatial.assign(y.begin() + 1, y.end() - 1);
  const std::size_t rank = g.input_spatial.size();
  const Ints pads = resolve_pads(pool, g.input_spatial);
  for (std::size_t i = 0; i < rank; ++i) {
    g.axes.push_back(forward_taps({g.input_spatial[i], g.output_spatial[i], pool.kernel[i],
                                   pool.strides.empty() ? 1 : pool.strides[i],
                                   pool.dilations.empty() ? 1 : pool.dilations[i], pads[i], pads[i + rank]}));
    g.taps *= pool.kernel[i];
  }
  return g;
}

/// One output position: a value a channel, and for max the flat spatial input position it came from.
template <class C>
class Window {
 public:
  Window(const Pool& pool, const Tensor& x, const PoolGeometry& g)
      : pool_(pool),
        x_(x),
        g_(g),
        row_(static_cast<std::size_t>(g.channels)),
        values(row_.size()),
        positions(row_.size()) {}

  void run(std::int64_t image, std::span<const std::int64_t> taps) {
    const std::int64_t pixels = product(g_.input_spatial, 0, g_.input_spatial.size());
    std::fill(values.begin(), values.end(), pool_.kind == PoolKind::max ? lowest_of<C>(x_.dtype()) : C{0});
    std::fill(positions.begin(), positions.end(), std::int64_t{-1});
    for (const std::int64_t tap : taps) {
      if (tap < 0) continue;
      load(x_, (image * pixels + tap) * g_.channels, g_.channels, row_.data());
      for (std::size_t c = 0; c < row_.size(); ++c) take(c, row_[c], tap);
    }
    finish(taps);
  }

 private:
  void take(std::size_t c, C x, std::int64_t tap) {
    switch (pool_.kind) {
      case PoolKind::max:
        if (positions[c] < 0 || x > values[c] || x != x) {
          values[c] = x;
          positions[c] = tap;
        }
        return;
      case PoolKind::average: values[c] += x; return;
      case PoolKind::lp:
        values[c] += static_cast<C>(std::pow(std::abs(static_cast<double>(x)), static_cast<double>(pool_.p)));
        return;
    }
  }

  void finish(std::span<const std::int64_t> taps) {
    if (pool_.kind == PoolKind::max) return;
    const auto counts = [&](std::int64_t tap) { return tap >= 0 || (pool_.count_include_pad && tap == kPadding); };
    const auto count = static_cast<double>(std::count_if(taps.begin(), taps.end(), counts));
    for (C& value : values) {
      const double sum = static_cast<double>(value);
      value = static_cast<C>(pool_.kind == PoolKind::average ? (count == 0 ? 0 : sum / count)
                                                             : std::pow(sum, 1 / static_cast<double>(pool_.p)));
    }
  }

  const Pool& pool_;
  const Tensor& x_;
  const PoolGeometry& g_;
  std::vector<C> row_;

 public:
  std::vector<C> values;
  std::vector<std::int64_t> positions;
};

/// Indices number the input's elements as if its channels came before its spatial axes.
void store_indices(const PoolGeometry& g, std::int64_t image, std::span<const std::int64_t> positions, Tensor& indices,
                   std::int64_t offset) {
  const std::int64_t pixels = product(g.input_spatial, 0, g.input_spatial.size());
  for (std::int64_t c = 0; c < g.channels; ++c) {
    const std::int64_t index = (image * g.channels + c) * pixels + positions[static_cast<std::size_t>(c)];
    store(&index, 1, indices, offset + c);
  }
}

/// Calls visit(image, pixel, taps) for every window.
template <class Visit>
void for_each_window(const PoolGeometry& g, Visit&& visit) {
  std::vector<std::int64_t> taps(static_cast<std::size_t>(g.taps));
  const std::int64_t pixels = product(g.output_spatial, 0, g.output_spatial.size());
  Ints position(g.output_spatial.size(), 0);
  for (std::int64_t image = 0; image < g.images; ++image)
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel, next_index(position, g.output_spatial)) {
      window_at(g.axes, g.input_spatial, position, taps);
      visit(image, image * pixels + pixel, taps);
    }
}

template <class C>
void evaluate_pool(const Pool& pool, const Call& call, Tensor& y, Tensor* indices) {
  const Tensor& x = call.input(0);
  const PoolGeometry g = geometry_of(pool, x.shape(), y.shape());
  Window<C> window(pool, x, g);
  for_each_window(g, [&](std::int64_t image, std::int64_t pixel, const std::vector<std::int64_t>& taps) {
    window.run(image, taps);
    store(window.values.data(), g.channels, y, pixel * g.channels);
    if (indices != nullptr) store_indices(g, image, window.positions, *indices, pixel * g.channels);
  });
}

}  // namespace

Tensors apply(const ByteAverage& op, const Call& call) {
  const Tensor& x = call.input(0);
  Tensor y(call.dtype(), call.shape());
  if (y.size() == 0) return {std::move(y)};
  const PoolGeometry g = geometry_of(op.window, x.shape(), y.shape());
  const std::int64_t pixels = product(g.input_spatial, 0, g.input_spatial.size());
  const auto bytes = x.values<std::uint8_t>();
  std::vector<float> values(static_cast<std::size_t>(g.channels));
  for_each_window(g, [&](std::int64_t image, std::int64_t pixel, const std::vector<std::int64_t>& taps) {
    std::int32_t count = 0;
    std::vector<std::int32_t> sums(values.size(), 0);
    for (const std::int64_t tap : taps) {
      count += tap >= 0 || (op.window.count_include_pad && tap == kPadding);
      const std::size_t first = static_cast<std::size_t>((image * pixels + tap) * g.channels);
      for (std::size_t c = 0; tap >= 0 && c < sums.size(); ++c) sums[c] += bytes[first + c] - op.x_zero;
    }
    const float factor = op.factor / static_cast<float>(std::max(count, 1));
    for (std::size_t c = 0; c < sums.size(); ++c) values[c] = static_cast<float>(sums[c]) * factor;
    store_rescaled(op.out, values, y, pixel * g.channels);
  });
  return {std::move(y)};
}

Tensors apply(const Pool& pool, const Call& call) {
  Tensors outputs;
  outputs.emplace_back(call.dtype(), call.shape());
  if (call.wants(1)) outputs.emplace_back(DType::i64, call.shape());
  if (outputs[0].size() == 0) return outputs;  // there may be very many windows of no channels
  Tensor* indices = call.wants(1) ? &outputs[1] : nullptr;
  visit_compute(call.dtype(), call, [&]<class C>(Tag<C>) { evaluate_pool<C>(pool, call, outputs[0], indices); });
  return outputs;
}

}  // namespace colonnade::reference
