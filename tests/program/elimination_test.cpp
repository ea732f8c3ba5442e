// SPDX-License-Identifier: Apache-2.0
// Determinants and inverses on whole tensors.
#include "program/whole.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::test {
namespace {

using namespace whole;

Operator determinant() { return make_opaque(reference::kDet, 22, {}); }
Operator inverse() { return make_opaque(reference::kInverse, 1, {}); }

TEST(Elimination, OfEveryMatrix) {
  for (const Shape& shape : {Shape{1, 1}, Shape{5, 5}, Shape{2, 70, 3, 3}, Shape{3, 9, 9}}) {
    check(determinant(), {computed(DType::f64, shape)}, families::elimination, 1e-6);
    check(inverse(), {computed(DType::f64, shape)}, families::elimination, 1e-8);
  }
  for (const Shape& shape : {Shape{2, 4, 4}, Shape{6, 6}}) {
    check(determinant(), {computed(DType::f32, shape)}, families::elimination, 1e-3);
    check(inverse(), {computed(DType::f32, shape)}, families::elimination, 1e-4);
  }
  check(inverse(), {computed(DType::f64, {130, 130})}, families::elimination, 1e-8);
}

TEST(Elimination, IsLeftToTheReference) {
  check(determinant(), {computed(DType::f32, {2, 0, 0})}, families::island);
  check(inverse(), {computed(DType::f32, {0, 0})}, families::island);
}

TEST(Elimination, RefusesWhatHasNoInverse) {
  const Graph graph = single(inverse(), {computed(DType::f32, {3, 2, 2})}, 1);
  const Tensor x = reference::tensor_of(DType::f32, {3, 2, 2}, std::vector<double>{1, 0, 0, 1, 1, 2, 2, 4, 1, 0, 0, 1});
  for (const int threads : {1, 3}) {
    try {
      run(graph, {Schedule::automatic, Math::fast, threads, 0}, kernels::usable_features(), {x});
      FAIL() << "expected an error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      EXPECT_EQ(std::string(error.what()), "node 'subject' (Inverse): the matrix at element 4 has no inverse");
    }
  }
}

}  // namespace
}  // namespace colonnade::test
