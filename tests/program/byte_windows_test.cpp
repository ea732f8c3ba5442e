// SPDX-License-Identifier: Apache-2.0
// Windows over bytes by their families, beside the reference, to the bit: every tier, schedules and threads.
#include "families/table.hpp"
#include "program/whole.hpp"

namespace colonnade::test::byte_windows {
namespace {

using whole::absent;
using whole::computed;
using whole::constant;
using whole::Input;

Tensor any(DType type, const Shape& shape, unsigned seed) {
  if (type == DType::f32) return whole::random_tensor(type, shape, seed, 0.001, 0.02);
  if (type == DType::i32) return whole::random_tensor(type, shape, seed, -9000, 9000);
  return whole::random_tensor(type, shape, seed, type == DType::u8 ? 0 : -128, type == DType::u8 ? 255 : 127);
}

void check_bytes(const Operator& op, const std::vector<Input>& given, const Family& family) {
  const Graph graph = whole::single(op, given, 1);
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs)
    inputs.push_back(any(graph.value(id).type.dtype, graph.value(id).type.static_shape(), 3 + id));
  whole::check(graph, family, inputs);
}

Conv conv(std::int64_t kernel, std::int64_t stride, std::int64_t dilation, std::int64_t channels) {
  Conv conv;
  conv.kernel = {kernel, kernel}, conv.strides = {stride, stride}, conv.dilations = {dilation, dilation};
  conv.pads = Ints(4, kernel / 2 * dilation), conv.groups = channels;
  return conv;
}

const Rescale kOutputs[] = {{DType::u8, 7, -7, 248}, {DType::u8, 0, 0, 255}, {DType::i8, -3, 0, 100}, {DType::f32}};

TEST(ByteWindows, OfEachChannelAreSummed) {
  for (const std::int64_t channels : {2, 35, 80})
    for (const auto& [kernel, stride, dilation] :
         {std::array<std::int64_t, 3>{3, 1, 1}, {3, 2, 1}, {5, 1, 1}, {5, 2, 1}, {3, 1, 2}, {1, 1, 1}})
      for (const Rescale& out : kOutputs) {
        const ByteConv op{conv(kernel, stride, dilation, channels), out};
        const Input x = computed(DType::u8, {2, 9, 11, channels});
        const Input weight = constant(any(DType::i8, {channels, 1, kernel, kernel}, 4));
        const Shape each{channels};
        check_bytes(op,
                    {x, weight, constant(any(DType::u8, {}, 5)), constant(any(DType::i32, each, 6)),
                     constant(any(DType::f32, each, 7)), constant(any(DType::f32, each, 8))},
                    families::byte_depthwise);
        check_bytes(op, {x, weight, absent(), absent(), constant(any(DType::f32, {1}, 7))}, families::byte_depthwise);
        check_bytes(op, {x, weight, computed(DType::u8, {1}), absent(), computed(DType::f32, {1})},
                    families::byte_depthwise);
        check_bytes(op, {x, weight, constant(any(DType::u8, {1}, 5)), absent(), computed(DType::f32, each)},
                    families::byte_depthwise);
      }
}

TEST(ByteWindows, MayBeTheSumsThemselves) {
  const ByteConv op{conv(3, 1, 1, 35), {DType::i32}};
  const Input weight = constant(any(DType::i8, {35, 1, 3, 3}, 4));
  check_bytes(op, {computed(DType::u8, {2, 9, 11, 35}), weight, computed(DType::u8, {1})}, families::byte_depthwise);
}

Pool pool(PoolKind kind, std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  Pool pool;
  pool.kind = kind, pool.kernel = {kernel, kernel}, pool.strides = {stride, stride}, pool.dilations = {1, 1};
  pool.pads = Ints(4, pad);
  return pool;
}

TEST(ByteWindows, HaveALargestByte) {
  for (const DType type : {DType::u8, DType::i8})
    for (const std::int64_t channels : {1, 3, 35, 80})
      for (const std::int64_t kernel : {2, 3, 5})
        check_bytes(pool(PoolKind::max, kernel, 2, kernel / 2), {computed(type, {2, 9, 11, channels})},
                    families::byte_pool);
}

TEST(ByteWindows, AreAveraged) {
  for (const std::int64_t channels : {1, 35, 80})
    for (const std::int64_t kernel : {2, 3, 9})
      for (const bool padded : {false, true})
        for (const Rescale& out : kOutputs) {
          ByteAverage op{pool(PoolKind::average, kernel, 2, kernel == 9 ? 0 : kernel / 2), 77, 0.9f, out};
          op.window.count_include_pad = padded;
          check_bytes(op, {computed(DType::u8, {2, 9, 11, channels})}, families::byte_pool);
        }
}

TEST(ByteWindows, AreResizedToTheNearest) {
  for (const DType type : {DType::u8, DType::i8})
    for (const Shape& sizes : {Shape{18, 22}, {13, 7}, {9, 30}}) {
      const Shape full{2, sizes[0], sizes[1], 35};
      Tensor to(DType::i64, {4});
      std::copy(full.begin(), full.end(), to.values<std::int64_t>().begin());
      check_bytes(Resize{}, {computed(type, {2, 9, 11, 35}), absent(), absent(), constant(to)},
                  families::resize_nearest);
    }
}

TEST(ByteWindows, OfManyTapsAreAveraged) {
  const ByteAverage op{pool(PoolKind::average, 33, 1, 0), 3, 0.9f, {DType::u8, 7, -7, 248}};
  check_bytes(op, {computed(DType::u8, {1, 33, 34, 70})}, families::byte_pool);
}

}  // namespace
}  // namespace colonnade::test::byte_windows
