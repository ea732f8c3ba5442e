// SPDX-License-Identifier: Apache-2.0
// The shapes of network that columns are made for.
#pragma once

#include "support/network.hpp"

namespace colonnade::test {

inline Graph six_layers(std::int64_t height, std::int64_t width, std::int64_t channels) {
  Network net("six layers");
  ValueId x = net.input({1, height, width, channels});
  for (int i = 0; i < 6; ++i) x = net.conv(x, channels, {.activation = UnaryKind::relu});
  return net.finish(x);
}

inline ValueId inverted_residual(Network& net, ValueId x, std::int64_t middle) {
  const ValueId wide = net.conv(x, middle, {.kernel = 1, .activation = UnaryKind::relu});
  const ValueId mixed = net.depthwise(wide, {.activation = UnaryKind::relu});
  return net.conv(mixed, net.shape(x).back(), {.kernel = 1, .residual = x});
}

inline Graph inverted_residual(std::int64_t height, std::int64_t width) {
  Network net("inverted residual");
  const ValueId x = net.input({1, height, width, 32});
  return net.finish(inverted_residual(net, x, 192));
}

inline Graph residual_stage(std::int64_t images = 1) {
  Network net("residual stage");
  ValueId x = net.input({images, 56, 56, 64});
  for (int block = 0; block < 3; ++block) {
    const ValueId y = net.conv(x, 64, {.activation = UnaryKind::relu});
    x = net.conv(y, 64, {.activation = UnaryKind::relu, .residual = x});
  }
  return net.finish(x);
}

inline Graph dense_block() {
  Network net("dense block");
  ValueId x = net.input({1, 56, 56, 64});
  for (int layer = 0; layer < 4; ++layer) {
    const ValueId squeezed = net.conv(net.relu(x), 128, {.kernel = 1, .activation = UnaryKind::relu});
    x = net.concat(x, net.conv(squeezed, 32));
  }
  return net.finish(net.conv(net.relu(x), 96, {.kernel = 1}));
}

inline Graph encoder_decoder() {
  Network net("encoder-decoder");
  const ValueId x = net.input({1, 256, 320, 3});
  const ValueId top = net.conv(x, 16, {.activation = UnaryKind::relu});
  const ValueId middle = net.conv(net.pool(top, PoolKind::max, 2, 2), 32, {.activation = UnaryKind::relu});
  const ValueId bottom = net.conv(net.pool(middle, PoolKind::max, 2, 2), 64, {.activation = UnaryKind::relu});
  const ValueId up =
      net.conv(net.concat(net.resize2(bottom, ResizeMode::linear), middle), 32, {.activation = UnaryKind::relu});
  const ValueId full =
      net.conv(net.concat(net.resize2(up, ResizeMode::nearest), top), 16, {.activation = UnaryKind::relu});
  return net.finish(net.conv(full, 2, {.kernel = 1}));
}

/// Ends in convolutions with few outputs, by themselves and added to what they improve.
inline Graph denoiser(std::int64_t height, std::int64_t width) {
  Network net("denoiser");
  const ValueId x = net.input({1, height, width, 4});
  const ValueId y = net.conv(net.conv(x, 16, {.kernel = 3, .activation = UnaryKind::relu}), 16, {.kernel = 3});
  net.output(net.conv(y, 4, {.kernel = 3, .residual = x}));
  return net.finish(net.conv(y, 7, {.kernel = 5, .activation = UnaryKind::relu}));
}

/// Layers of many channels, which matrix units take.
inline Graph wide_layers(std::int64_t height, std::int64_t width) {
  Network net("wide layers");
  const ValueId x = net.input({1, height, width, 64});
  const ValueId y = net.conv(net.conv(x, 64, {.activation = UnaryKind::relu}), 64, {.residual = x});
  const ValueId half = net.conv(y, 96, {.stride = 2, .activation = UnaryKind::relu});
  const ValueId block = inverted_residual(net, half, 500);
  const ValueId wide = net.conv(block, 520, {.kernel = 1, .activation = UnaryKind::silu});
  net.output(net.conv(net.concat(wide, wide), 130, {.kernel = 1}));
  const ValueId narrow = net.conv(wide, 50, {.kernel = 1});
  return net.finish(net.conv(narrow, 72, {.kernel = 5, .activation = UnaryKind::relu}));
}

/// Filters that come down to tiles of fewer taps: a large one, strides, in groups, even.
inline Graph large_filters(std::int64_t height, std::int64_t width) {
  Network net("large filters");
  const ValueId x = net.conv(net.input({1, height, width, 3}), 20, {.kernel = 9, .activation = UnaryKind::relu});
  const ValueId half = net.conv(x, 32, {.kernel = 5, .stride = 2, .activation = UnaryKind::relu});
  const ValueId same = net.conv(half, 32, {.kernel = 7, .groups = 2, .residual = half});
  net.output(net.conv(same, 40, {.kernel = 4, .stride = 2}));
  net.output(net.conv(net.input({1, 3 * height, 3 * width, 1}), 48, {.kernel = 8, .stride = 3}));
  return net.finish(net.conv(net.input({1, height, width, 4}), 64, {.kernel = 7, .stride = 2}));
}

/// Square filters with dilations, that of one larger than the image, of groups and with what else a sum may end in.
inline Graph dilated_squares(std::int64_t height, std::int64_t width) {
  Network net("dilated squares");
  const ValueId x = net.conv(net.input({1, height, width, 48}), 48, {.dilation = 2, .activation = UnaryKind::relu});
  const ValueId y = net.conv(x, 48, {.dilation = 3, .activation = UnaryKind::silu, .residual = x});
  const ValueId z = net.conv(y, 96, {.kernel = 5, .dilation = 2});
  return net.finish(net.conv(z, 96, {.dilation = 4, .groups = 2}));
}

/// Filters of one row or one column, of dilated rows, of groups; a long row among them.
inline Graph filters_along_rows(std::int64_t height, std::int64_t width) {
  Network net("filters along rows");
  const ValueId x = net.conv(net.input({1, height, width, 40}), 48, {.kernel = 7, .height = 1});
  const ValueId y = net.conv(x, 48, {.dilation = 2, .activation = UnaryKind::relu, .residual = x});
  const ValueId z = net.conv(y, 96, {.kernel = 5, .dilation = 2, .groups = 2, .height = 1});
  net.output(net.conv(z, 64, {.kernel = 2, .height = 1}));
  const ValueId down = net.conv(z, 64, {.kernel = 1, .activation = UnaryKind::relu, .height = 7});
  net.output(net.conv(down, 64, {.kernel = 1, .dilation = 2, .residual = down, .height = 3}));
  const ValueId signal = net.conv(net.input({1, 1, 4 * width, 40}), 48, {.kernel = 11, .dilation = 5, .height = 1});
  return net.finish(net.conv(signal, 80, {.activation = UnaryKind::relu, .height = 1}));
}

inline Graph strided_pyramid() {
  Network net("strided pyramid");
  ValueId x = net.input({1, 224, 224, 3});
  for (const std::int64_t channels : {16, 32, 64, 128}) {
    x = net.conv(x, channels, {.stride = 2, .activation = UnaryKind::relu});
    net.output(net.conv(x, 8, {.kernel = 1}));
  }
  return net.finish();
}

inline Graph pooling_net() {
  Network net("pooling");
  const ValueId x = net.input({1, 112, 112, 24});
  const ValueId y = net.pool(net.relu(x), PoolKind::max, 3, 2);
  const ValueId z = net.pool(net.conv(y, 24, {.kernel = 1}), PoolKind::average, 3, 1);
  return net.finish(net.conv(net.global_mean(z), 10, {.kernel = 1}));
}

}  // namespace colonnade::test
