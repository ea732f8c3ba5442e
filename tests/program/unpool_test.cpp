// SPDX-License-Identifier: Apache-2.0
// MaxUnpool on whole tensors.
#include "program/whole.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::test {
namespace {

using namespace whole;

Operator unpool(Ints kernel, Ints strides, Ints pads = {}) {
  Attributes attributes{{"kernel_shape", std::move(kernel)}, {"strides", std::move(strides)}};
  if (!pads.empty()) attributes.emplace("pads", std::move(pads));
  return make_opaque(reference::kMaxUnpool, 11, attributes);
}

/// Places in a tensor of `total` elements, some of them twice.
Tensor places(const Shape& shape, std::int64_t total) {
  Ints at(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < at.size(); ++i) at[i] = static_cast<std::int64_t>(i) * 7 % total;
  return index_tensor(shape, at);
}

TEST(Unpool, PutsElementsOfEveryType) {
  for (const DType dtype : {DType::f32, DType::f16, DType::i8, DType::i64, DType::f64}) {
    const Shape shape{2, 3, 5, 4};
    const Graph graph = single(unpool({2, 2}, {2, 2}), {computed(dtype, shape), computed(DType::i64, shape)}, 1);
    check(graph, families::unpool, {random_tensor(dtype, shape, 1), places(shape, 2 * 3 * 10 * 8)});
  }
}

TEST(Unpool, StaysInPlanesOrStraysFromSome) {
  const Shape shape{2, 3, 5, 4};
  const Graph graph = single(unpool({2, 2}, {2, 2}), {computed(DType::f32, shape), computed(DType::i64, shape)}, 1);
  Ints at;
  for (std::int64_t i = 0; i < 6 * 20; ++i) at.push_back(i / 20 * 80 + i * 7 % 80);
  check(graph, families::unpool, {random_tensor(DType::f32, shape, 1), index_tensor(shape, at)});
  at[30] = at[99] = at[5];  // planes 1 and 4 meet in plane 0
  check(graph, families::unpool, {random_tensor(DType::f32, shape, 1), index_tensor(shape, at)});
}

TEST(Unpool, HasWindowsOfAnyRank) {
  const Shape line{1, 2, 9}, volume{1, 2, 3, 2, 4};
  const Input shape = constant(index_tensor({3}, {1, 2, 19}));
  const Graph lines =
      single(unpool({3}, {2}, {0, 0}), {computed(DType::f32, line), computed(DType::i64, line), shape}, 1);
  check(lines, families::unpool, {random_tensor(DType::f32, line, 1), places(line, 38)});
  const Graph volumes =
      single(unpool({2, 1, 2}, {2, 1, 2}), {computed(DType::f32, volume), computed(DType::i64, volume)}, 1);
  check(volumes, families::unpool, {random_tensor(DType::f32, volume, 1), places(volume, 2 * 6 * 2 * 8)});
}

TEST(Unpool, LeavesAnotherShapeToTheReference) {
  const Shape pooled{1, 1, 2, 2};
  const Input shape = constant(index_tensor({4}, {1, 1, 5, 5}));
  const Graph graph =
      single(unpool({2, 2}, {2, 2}), {computed(DType::f32, pooled), computed(DType::i64, pooled), shape}, 1);
  check(graph, families::island, {random_tensor(DType::f32, pooled, 1), index_tensor(pooled, {5, 7, 13, 15})});
}

TEST(Unpool, RefusesIndicesOutside) {
  const Shape pooled{1, 1, 2, 2};
  const Graph graph = single(unpool({2, 2}, {2, 2}), {computed(DType::f32, pooled), computed(DType::i64, pooled)}, 1);
  for (const std::int64_t bad : {-1, 16})
    for (const int threads : {1, 3}) {
      try {
        run(graph, {Schedule::automatic, Math::fast, threads, 0}, kernels::usable_features(),
            {random_tensor(DType::f32, pooled, 1), index_tensor(pooled, {0, 3, bad, 2})});
        FAIL() << "expected an error";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_input);
        EXPECT_EQ(std::string(error.what()),
                  "node 'subject' (MaxUnpool): index " + std::to_string(bad) + " is out of range [0,16)");
      }
    }
}

}  // namespace
}  // namespace colonnade::test
