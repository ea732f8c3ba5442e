// SPDX-License-Identifier: Apache-2.0
// What indices name: taken, put and merged by the family `indexing` as by the reference, on every tier and any number
// of threads.
#include <algorithm>

#include "program/whole.hpp"

namespace colonnade::test {
namespace {

using namespace whole;

constexpr ScatterMode kModes[] = {ScatterMode::replace, ScatterMode::add, ScatterMode::mul, ScatterMode::min,
                                  ScatterMode::max};

/// Indices of an axis, from its front or its end.
Tensor random_indices(const Shape& shape, const Ints& sizes, unsigned seed, DType dtype = DType::i64) {
  std::mt19937 generator(seed);
  Ints values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t size = sizes[i % sizes.size()];
    values[i] = static_cast<std::int64_t>(generator() % static_cast<unsigned>(2 * size)) - size;
  }
  return index_tensor(shape, values, dtype);
}

/// Runs the node on data, on these indices and, where their shape is given, on updates.
void check_indexed(const Operator& op, DType dtype, const Shape& data, const Tensor& indices,
                   const std::optional<Shape>& updates, double tolerance = 0) {
  std::vector<Input> inputs{computed(dtype, data), computed(indices.dtype(), indices.shape())};
  std::vector<Tensor> values{random_tensor(dtype, data, 3), indices};
  if (updates) {
    inputs.push_back(computed(dtype, *updates));
    values.push_back(random_tensor(dtype, *updates, 4));
  }
  check(single(op, inputs, 1), families::indexing, values, tolerance);
}

TEST(Indexing, GathersElements) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::i8, DType::i64, DType::boolean}) {
    check_indexed(GatherElements{-1}, dtype, {7, 9}, random_indices({7, 5}, {9}, 1), {});
    check_indexed(GatherElements{1}, dtype, {3, 11, 4}, random_indices({3, 20, 4}, {11}, 2), {});
  }
  for (const Shape& shape :
       {Shape{3, 40, 7, 2}, Shape{2, 1, 7, 2}, Shape{3, 40, 5, 2}, Shape{3, 40, 7, 1}, Shape{1, 1, 1, 1}})
    for (std::int64_t axis = 0; axis < 4; ++axis)
      check_indexed(GatherElements{axis}, DType::f32, {3, 40, 7, 2},
                    random_indices(shape, {Shape{3, 40, 7, 2}[static_cast<std::size_t>(axis)]}, 7, DType::i32), {});
  check_indexed(GatherElements{0}, DType::f32, {5}, random_indices({2000}, {5}, 8), {});
  check_indexed(GatherElements{0}, DType::f32, {5, 1300}, random_indices({3, 1300}, {5}, 9), {});
}

TEST(Indexing, GathersAlongAnAxis) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::i8, DType::i64})
    for (std::int64_t axis = -1; axis < 3; ++axis) {
      const Shape data{4, 5, 6};
      const std::int64_t size = data[static_cast<std::size_t>(axis < 0 ? 2 : axis)];
      check_indexed(Gather{axis}, dtype, data, random_indices({2, 3}, {size}, 1), {});
      check_indexed(Gather{axis}, dtype, data, random_indices({}, {size}, 2, DType::i32), {});
      check_indexed(Gather{axis}, dtype, data, random_indices({700}, {size}, 3), {});
    }
  check_indexed(Gather{0}, DType::f32, {50, 300}, random_indices({90}, {50}, 4), {});
  check_indexed(Gather{1}, DType::i8, {900, 48}, random_indices({48}, {48}, 5), {});
}

TEST(Indexing, GathersBlocks) {
  for (const DType dtype : {DType::f32, DType::i8, DType::f16, DType::f64}) {
    check_indexed(GatherNd{0}, dtype, {4, 5, 6}, random_indices({7, 2}, {4, 5}, 1), {});
    check_indexed(GatherNd{0}, dtype, {4, 5, 6}, random_indices({700, 3}, {4, 5, 6}, 2), {});
    check_indexed(GatherNd{1}, dtype, {4, 5, 6}, random_indices({4, 3, 1}, {5}, 3), {});
    check_indexed(GatherNd{2}, dtype, {4, 5, 6, 2}, random_indices({4, 5, 9, 2}, {6, 2}, 4), {});
  }
  check_indexed(GatherNd{0}, DType::f32, {2, 3, 2, 3, 2}, random_indices({9, 5}, {2, 3, 2, 3, 2}, 5, DType::i32), {});
}

TEST(Indexing, ScattersBlocks) {
  for (const ScatterMode mode : kModes)
    for (const DType dtype :
         {DType::f32, DType::f64, DType::i8, DType::u8, DType::i16, DType::i32, DType::u32, DType::i64}) {
      const double tolerance = dtype == DType::f32 ? 2e-4 : 0;
      check_indexed(ScatterNd{mode}, dtype, {6, 5, 33}, random_indices({4, 2}, {6, 5}, 1), Shape{4, 33}, tolerance);
      check_indexed(ScatterNd{mode}, dtype, {6, 5}, random_indices({40, 2}, {6, 5}, 2), Shape{40}, tolerance);
      check_indexed(ScatterNd{mode}, dtype, {6, 5}, random_indices({1}, {6}, 3), Shape{5}, tolerance);
    }
  check_indexed(ScatterNd{}, DType::boolean, {300}, random_indices({2, 700, 1}, {300}, 4), Shape{2, 700});
  check_indexed(ScatterNd{}, DType::f16, {300}, random_indices({0, 1}, {300}, 4), Shape{0});
}

TEST(Indexing, ScattersElements) {
  for (const ScatterMode mode : kModes)
    for (const DType dtype : {DType::f32, DType::i8, DType::u16, DType::i64, DType::u64})
      for (std::int64_t axis = 0; axis < 3; ++axis) {
        const Shape data{5, 20, 3};
        const std::int64_t size = data[static_cast<std::size_t>(axis)];
        for (const Shape& shape : {data, Shape{3, 20, 3}, Shape{4, 7, 2}, Shape{5, 1, 3}, Shape{5, 0, 3}})
          check_indexed(ScatterElements{axis, mode}, dtype, data, random_indices(shape, {size}, 1), shape,
                        dtype == DType::f32 ? 2e-4 : 0);
      }
  check_indexed(ScatterElements{0}, DType::f32, {5}, random_indices({2000}, {5}, 8), Shape{2000});
  check_indexed(ScatterElements{1, ScatterMode::add}, DType::f32, {1, 900, 33}, random_indices({1, 70, 33}, {900}, 9),
                Shape{1, 70, 33}, 1e-5);
}

/// The message of a run on these tensors.
std::string message_of(const Graph& graph, const std::vector<Tensor>& inputs, int threads) {
  try {
    run(graph, {Schedule::layers, Math::fast, threads, 0}, kernels::usable_features(), inputs);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
  return {};
}

TEST(Indexing, RefusesIndicesOutside) {
  for (const int threads : {1, 2}) {
    const Graph elements = single(GatherElements{1}, {computed(DType::f32, {2, 4}), computed(DType::i64, {2, 1})}, 1);
    for (const std::int64_t index : {4, -5})
      EXPECT_EQ(message_of(elements, {random_tensor(DType::f32, {2, 4}, 1), index_tensor({2, 1}, {3, index})}, threads),
                fmt::format("node 'subject' (Test): index {} of 'x_1' is outside axis 1, expected [-4,4)", index));
    const Graph rows = single(Gather{1}, {computed(DType::f32, {2, 4}), computed(DType::i64, {3})}, 1);
    for (const std::int64_t index : {4, -5})
      EXPECT_EQ(message_of(rows, {random_tensor(DType::f32, {2, 4}, 1), index_tensor({3}, {3, -4, index})}, threads),
                fmt::format("node 'subject' (Test): index {} of 'x_1' is outside axis 1, expected [-4,4)", index));
    const Graph blocks = single(
        ScatterNd{}, {computed(DType::f32, {9, 4, 2}), computed(DType::i64, {2, 2}), computed(DType::f32, {2, 2})}, 1);
    const std::vector<Tensor> inputs{random_tensor(DType::f32, {9, 4, 2}, 1), index_tensor({2, 2}, {-9, 3, 8, 4}),
                                     random_tensor(DType::f32, {2, 2}, 2)};
    EXPECT_EQ(message_of(blocks, inputs, threads),
              "node 'subject' (Test): index 4 of 'x_1' is outside axis 1, expected [-4,4)");
  }
}

/// A scatter changes its data in place where the output lies there; what only reads it does not, nor where another
/// reads.
TEST(Scatters, MayLieWhereTheirDataDo) {
  const auto overwrites = [](Operator op, const std::vector<Input>& inputs, bool is_read_twice) {
    Graph graph = single(std::move(op), inputs, 1);
    if (is_read_twice) graph.outputs.push_back(graph.inputs[0]);
    return program_of(graph, {}, host_isas().back())->overwrites.at(0);
  };
  const Input data = computed(DType::f32, {9, 4}), indices = computed(DType::i64, {2, 4}),
              updates = computed(DType::f32, {2, 4});
  EXPECT_EQ(overwrites(ScatterElements{}, {data, indices, updates}, false), 0);
  EXPECT_EQ(overwrites(ScatterElements{}, {data, indices, updates}, true), -1);
  EXPECT_EQ(overwrites(ScatterNd{}, {data, computed(DType::i64, {2, 1}), updates}, false), 0);
  EXPECT_EQ(overwrites(GatherElements{}, {data, computed(DType::i64, {9, 4})}, false), -1);
}

}  // namespace
}  // namespace colonnade::test
