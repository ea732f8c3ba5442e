// SPDX-License-Identifier: Apache-2.0
#include "passes/dense_window.hpp"

#include <algorithm>
#include <cstring>

namespace colonnade::rewrite {
namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

std::optional<DenseAxis> axis_of(const ConvTranspose& op, std::size_t axis) {
  const std::int64_t kernel = op.kernel[axis], stride = op.strides[axis], pad = op.pads[axis];
  const std::int64_t more = op.output_padding.empty() ? 0 : op.output_padding[axis];
  const std::int64_t extra = kernel + more - pad - op.pads[axis + 2];  // outputs = (inputs - 1) * stride + extra
  if (extra % stride != 0) return std::nullopt;
  DenseAxis dense{kernel, stride, pad, -floor_div(kernel - 1 - pad, stride), 1, 0};
  const std::int64_t last = floor_div(stride - 1 + pad, stride);
  dense.taps = last - dense.first + 1;
  dense.pad_end = extra / stride - 1 + last;
  return dense.first <= 0 && dense.pad_end >= 0 ? std::optional(dense) : std::nullopt;
}

}  // namespace

std::optional<DenseWindow> dense_window(const ConvTranspose& op) {
  if (op.groups != 1 || !op.output_shape.empty() || op.kernel.size() != 2) return std::nullopt;
  if (op.auto_pad != AutoPad::explicit_pads || op.epilogue.residual || op.strides[0] != op.strides[1])
    return std::nullopt;
  if (op.strides[0] == 1 || op.dilations != Ints{1, 1} || op.pads.size() != 4) return std::nullopt;
  const auto y = axis_of(op, 0), x = axis_of(op, 1);
  return y && x ? std::optional(DenseWindow{*y, *x}) : std::nullopt;
}

Conv dense_conv(const ConvTranspose& op, const DenseWindow& window) {
  Conv conv;
  conv.kernel = {window.y.taps, window.x.taps};
  conv.strides = conv.dilations = {1, 1};
  conv.pads = {-window.y.first, -window.x.first, window.y.pad_end, window.x.pad_end};
  conv.epilogue = op.epilogue;
  return conv;
}

DepthToSpace dense_shuffle(const DenseWindow& window) {
  DepthToSpace shuffle;
  shuffle.block = window.y.stride;
  shuffle.axis = 3;
  return shuffle;
}

Tensor dense_weight(const Tensor& weight, const DenseWindow& window) {
  const auto& [y, x] = window;
  const std::int64_t channels = weight.shape()[0], outputs = weight.shape()[1];
  Tensor dense(weight.dtype(), {window.block() * outputs, channels, y.taps, x.taps});
  const std::size_t size = size_of(weight.dtype());
  const auto* from = static_cast<const std::byte*>(weight.data());
  auto* to = static_cast<std::byte*>(dense.data());
  for (std::int64_t row = 0; row < window.block() * outputs; ++row) {
    const std::int64_t o = row % outputs, px = row / outputs % x.stride, py = row / outputs / x.stride;
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t ty = 0; ty < y.taps; ++ty)
        for (std::int64_t tx = 0; tx < x.taps; ++tx, to += size) {
          const std::int64_t ky = y.element(py, ty), kx = x.element(px, tx);
          const bool inside = ky >= 0 && ky < y.kernel && kx >= 0 && kx < x.kernel;
          const auto at = static_cast<std::size_t>(((c * outputs + o) * y.kernel + ky) * x.kernel + kx);
          if (inside)
            std::memcpy(to, from + at * size, size);
          else
            std::memset(to, 0, size);
        }
  }
  return dense;
}

Tensor repeated(const Tensor& values, std::int64_t times) {
  Tensor result(values.dtype(), {values.size() * times});
  const std::size_t bytes = static_cast<std::size_t>(values.size()) * size_of(values.dtype());
  for (std::int64_t i = 0; i < times; ++i)
    std::memcpy(static_cast<std::byte*>(result.data()) + static_cast<std::size_t>(i) * bytes, values.data(), bytes);
  return result;
}

}  // namespace colonnade::rewrite
