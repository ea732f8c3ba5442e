// SPDX-License-Identifier: Apache-2.0
// Rotary embeddings by their family as by the reference, on every tier and any number of threads.
#include "program/whole.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::test {
namespace {

using namespace whole;

Operator rotation(std::int64_t pairs, std::int64_t heads_axis, bool interleaved) {
  return make_opaque(reference::kRotate, 1,
                     {{"pairs", pairs}, {"heads_axis", heads_axis}, {"interleaved", std::int64_t{interleaved}}});
}

/// Angles for each position, or tables of them with positions.
std::vector<Input> with_angles(const Shape& x, std::int64_t positions, std::int64_t angles, DType index,
                               unsigned seed) {
  std::vector<Input> inputs{computed(DType::f32, x)};
  if (index == DType::undefined) {
    for (int i = 0; i < 2; ++i) inputs.push_back(computed(DType::f32, {seed % 2 == 0 ? 1 : x[0], positions, angles}));
    return inputs;
  }
  constexpr std::int64_t kRows = 11;
  for (int i = 0; i < 2; ++i) inputs.push_back(computed(DType::f32, {kRows, angles}));
  const Shape shape{seed % 2 == 0 ? 1 : x[0], positions};
  std::mt19937 random(seed);
  Ints values;
  for (std::int64_t i = 0; i < element_count(shape); ++i) values.push_back(std::int64_t(random() % kRows));
  inputs.push_back(constant(index_tensor(shape, values, index)));
  return inputs;
}

TEST(Rotary, AgreesWithTheReference) {
  unsigned seed = 0;
  for (const bool interleaved : {false, true})
    for (const std::int64_t heads_axis : {1, 2})
      for (const DType index : {DType::undefined, DType::i64, DType::i32})
        for (const std::int64_t pairs : {1, 7, 16, 33})
          for (const std::int64_t rest : {0, 5}) {
            const std::int64_t positions = 9, heads = 3;
            const Shape x{2, heads_axis == 1 ? heads : positions, heads_axis == 1 ? positions : heads,
                          2 * pairs + rest};
            check(rotation(pairs, heads_axis, interleaved), with_angles(x, positions, pairs + rest, index, ++seed),
                  families::rotary, 1e-5);
          }
}

TEST(Rotary, OfNothing) {
  check(rotation(4, 2, true), with_angles({2, 0, 3, 8}, 0, 4, DType::i64, 1), families::island);
  check(rotation(4, 1, false), with_angles({0, 3, 5, 8}, 5, 4, DType::undefined, 2), families::island);
}

TEST(Rotary, RefusesPositionsThatAreNotThere) {
  for (const std::int64_t position : {-5, 4}) {
    const Graph graph = single(rotation(2, 2, false),
                               {computed(DType::f32, {1, 1, 1, 4}), computed(DType::f32, {4, 2}),
                                computed(DType::f32, {4, 2}), constant(index_tensor({1, 1}, {position}))},
                               1);
    EXPECT_THROW(run(graph, {Schedule::layers, Math::fast, 1, 0}, kernels::usable_features(), inputs_of(graph, 1)),
                 Error);
  }
}

}  // namespace
}  // namespace colonnade::test
