// SPDX-License-Identifier: Apache-2.0
// Networks whose tensors within are bf16 and u8. Their numbers are whole, so that sums of floats are exact and every
// result is the reference's to the bit.
#pragma once

#include "support/network.hpp"

namespace colonnade::test {

/// Sums of products of whole numbers, -`bound` to `bound`.
inline ValueId whole_conv(Network& net, ValueId x, std::int64_t channels, std::int64_t kernel, int bound) {
  std::uniform_int_distribution<int> element(-bound, bound);
  const auto constant = [&](Shape shape) {
    Tensor tensor(DType::f32, std::move(shape));
    for (float& value : tensor.values<float>()) value = static_cast<float>(element(net.random()));
    return net.graph().add_constant("w", std::move(tensor));
  };
  Conv op;
  op.kernel = {kernel, kernel};
  op.strides = op.dilations = {1, 1};
  op.pads = Ints(4, kernel / 2);
  op.exact = true;
  const std::int64_t in = net.shape(x).back();
  return net.node(op, {x, constant({channels, in, kernel, kernel}), constant({channels})});
}

inline ValueId cast(Network& net, ValueId x, DType to) { return net.node(Cast{to}, {x}); }

inline ValueId crop(Network& net, ValueId x, const Ints& begins, const Ints& ends) {
  Graph& graph = net.graph();
  return net.node(Slice{}, {x, graph.add_ints("c", begins), graph.add_ints("c", ends), graph.add_ints("c", {1, 2})});
}

/// f32 to bf16, where channels are sliced, joined in another order and padded with 1.5; to f32 and on to u8, saturated,
/// where edges are reflected and cropped; to f32 again.
inline Graph bf16_and_bytes(std::int64_t height, std::int64_t width) {
  Network net("bf16 and bytes");
  const ValueId x = net.input({1, height, width, 8});
  const ValueId half = cast(net, whole_conv(net, x, 16, 3, 3), DType::bf16);
  const ValueId turned = net.concat(net.channels(half, 5, 16), net.channels(half, 0, 5));
  Tensor border(DType::bf16, {});
  border.values<std::uint16_t>().front() = 0x3fc0;
  const ValueId padded = net.node(
      Pad{}, {turned, net.graph().add_ints("c", {0, 1, 2, 0, 0, 2, 1, 0}), net.graph().add_constant("c", border)});
  const ValueId wide = whole_conv(net, cast(net, padded, DType::f32), 12, 1, 1);
  const ValueId bytes = cast(net, wide, DType::u8);
  const ValueId reflected = net.pad(bytes, {0, 2, 1, 0, 0, 1, 2, 0}, PadMode::reflect);
  const ValueId cropped = crop(net, reflected, {3, 3}, {height + 3, width + 3});
  return net.finish(net.add(cast(net, cropped, DType::f32), whole_conv(net, x, 12, 3, 2)));
}

/// The same types where rows may be cut into strips: by operators that work on any columns.
inline Graph bf16_and_bytes_in_strips(std::int64_t height, std::int64_t width) {
  Network net("bf16 and bytes in strips");
  const ValueId x = net.input({1, height, width, 8});
  const ValueId half = net.concat(cast(net, whole_conv(net, x, 7, 3, 3), DType::bf16),
                                  cast(net, whole_conv(net, x, 9, 1, 40), DType::bf16));
  const ValueId wide = cast(net, half, DType::f32);
  const ValueId bytes = net.concat(cast(net, whole_conv(net, wide, 11, 3, 1), DType::u8),
                                   cast(net, whole_conv(net, wide, 5, 1, 1), DType::u8));
  return net.finish(whole_conv(net, cast(net, bytes, DType::f32), 6, 3, 2));
}

/// A wide middle that is bf16 and bytes, between pointwise convolutions: it comes chunk by chunk.
inline Graph bf16_and_bytes_in_chunks(std::int64_t height, std::int64_t width) {
  Network net("bf16 and bytes in chunks");
  const ValueId x = net.input({1, height, width, 16});
  const ValueId half = cast(net, whole_conv(net, x, 256, 1, 3), DType::bf16);
  const ValueId bytes = cast(net, half, DType::u8);
  return net.finish(whole_conv(net, cast(net, bytes, DType::f32), 16, 1, 2));
}

inline ValueId byte_scalar(Network& net, int value) {
  Tensor zero(DType::u8, {});
  zero.values<std::uint8_t>().front() = static_cast<std::uint8_t>(value);
  return net.graph().add_constant("zero", std::move(zero));
}
inline ValueId quantized(Network& net, ValueId x, float scale, int zero) {
  return net.node(Quantize{DType::u8, 3}, {x, net.floats({scale}), byte_scalar(net, zero)});
}
inline ValueId dequantized(Network& net, ValueId x, float scale, int zero) {
  return net.node(Dequantize{3}, {x, net.floats({scale}), byte_scalar(net, zero)});
}
inline ValueId looked_up(Network& net, ValueId x) {
  Tensor table(DType::u8, {256});
  for (std::size_t i = 0; i < 256; ++i) table.values<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * i / 200);
  return net.node(Lookup{}, {x, net.graph().add_constant("table", std::move(table))});
}

/// Numbers that are quantised, looked up, added, multiplied by bytes of each channel, and stand for numbers again.
inline Graph combined_bytes(std::int64_t height, std::int64_t width) {
  Network net("combined bytes");
  const ValueId x = net.input({1, height, width, 8});
  const ValueId left = looked_up(net, quantized(net, whole_conv(net, x, 20, 3, 1), 2, 100));
  const ValueId right = quantized(net, whole_conv(net, x, 20, 3, 3), 8, 128);
  const ValueId sum =
      net.node(ByteBinary{BinaryKind::add, 100, 128, 0.3f, 0.7f, {DType::u8, 90, -90, 165}}, {left, right});
  Tensor factors(DType::u8, {20});
  for (std::size_t i = 0; i < 20; ++i) factors.values<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 13);
  const ValueId product = net.node(ByteBinary{BinaryKind::mul, 90, 5, 0.01f, 1, {DType::u8, 128, -128, 127}},
                                   {sum, net.graph().add_constant("factors", std::move(factors))});
  return net.finish(whole_conv(net, dequantized(net, product, 0.5f, 128), 6, 3, 2));
}

/// Bytes that pass windows of each channel, of two sizes and strides, the largest of windows, and averages.
inline Graph windows_of_bytes(std::int64_t height, std::int64_t width) {
  Network net("windows of bytes");
  constexpr std::size_t kChannels = 40;
  const ValueId x = net.input({1, height, width, 8});
  const ValueId bytes = quantized(net, whole_conv(net, x, kChannels, 3, 1), 2, 100);
  const auto windows = [&](ValueId from, std::int64_t kernel, std::int64_t stride) {
    Tensor weight(DType::i8, {kChannels, 1, kernel, kernel});
    auto weights = weight.values<std::int8_t>();
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<std::int8_t>(i * 37 % 256 - 128);
    Conv conv;
    conv.kernel = {kernel, kernel}, conv.strides = {stride, stride}, conv.dilations = {1, 1};
    conv.pads = Ints(4, kernel / 2), conv.groups = kChannels;
    const ValueId factor = net.floats(std::vector<float>(kChannels, 0.01f));
    return net.node(
        ByteConv{conv, {DType::u8, 90, -90, 165}},
        {from, net.graph().add_constant("weight", std::move(weight)), byte_scalar(net, 100), kAbsent, factor});
  };
  const auto pool = [](PoolKind kind, std::int64_t kernel) {
    Pool window;
    window.kind = kind, window.kernel = {kernel, kernel}, window.strides = {1, 1}, window.dilations = {1, 1};
    window.pads = Ints(4, kernel / 2);
    return window;
  };
  const ValueId largest = net.node(pool(PoolKind::max, 3), {windows(windows(bytes, 3, 1), 5, 2)});
  const ValueId average =
      net.node(ByteAverage{pool(PoolKind::average, 3), 90, 0.7f, {DType::u8, 128, -128, 127}}, {largest});
  return net.finish(whole_conv(net, dequantized(net, average, 0.5f, 128), 6, 3, 2));
}

/// Bytes of a wide middle between pointwise convolutions, which comes chunk by chunk, by a scale for each channel.
inline Graph bytes_in_chunks(std::int64_t height, std::int64_t width) {
  Network net("bytes in chunks");
  const ValueId x = net.input({1, height, width, 16});
  std::vector<float> scales;
  for (int i = 0; i < 256; ++i) scales.push_back(static_cast<float>(1 << i % 4));
  const ValueId wide = whole_conv(net, x, 256, 1, 3);
  const ValueId bytes = net.node(Quantize{DType::u8, 3}, {wide, net.floats(scales), byte_scalar(net, 99)});
  const ValueId numbers = net.node(Dequantize{3}, {looked_up(net, bytes), net.floats(scales), byte_scalar(net, 3)});
  return net.finish(whole_conv(net, numbers, 16, 1, 2));
}

}  // namespace colonnade::test
