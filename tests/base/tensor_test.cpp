// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "base/aligned_buffer.hpp"
#include "base/checked.hpp"
#include "base/interval.hpp"
#include "base/tensor_memory.hpp"
#include "colonnade/colonnade.hpp"

namespace colonnade {
namespace {

ErrorCode code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::internal;
}

Tensor counting(Shape shape) {
  Tensor tensor(DType::f32, std::move(shape));
  float next = 0;
  for (float& value : tensor.values<float>()) value = next++;
  return tensor;
}

TEST(DTypes, SizesAndNames) {
  EXPECT_EQ(size_of(DType::f32), 4u);
  EXPECT_EQ(size_of(DType::bf16), 2u);
  EXPECT_EQ(size_of(DType::boolean), 1u);
  EXPECT_EQ(size_of(DType::u64), 8u);
  EXPECT_EQ(size_of(DType::string), 0u);
  EXPECT_EQ(size_of(DType::undefined), 0u);
  EXPECT_EQ(name_of(DType::bf16), "bfloat16");
  EXPECT_EQ(name_of(DType::boolean), "bool");
}

TEST(ElementCount, MultipliesAndChecks) {
  EXPECT_EQ(element_count(Shape{}), 1);
  EXPECT_EQ(element_count(Shape{2, 3}), 6);
  const std::int64_t large = std::int64_t{1} << 40;
  EXPECT_EQ(element_count(Shape{large, large, 0}), 0);
  EXPECT_EQ(code_of([&] { element_count(Shape{large, large}); }), ErrorCode::resource_limit);
  EXPECT_EQ(code_of([] { element_count(Shape{2, -1}); }), ErrorCode::invalid_argument);
}

TEST(Tensors, BorrowMemoryAndLeaveItToItsOwner) {
  std::vector<float> memory = {1, 2, 3, 4, 5, 6};
  Tensor copy;
  Datum datum = Datum::lent(TensorView(DType::f32, {2, 3}, memory.data()));
  EXPECT_EQ(datum.tensor().data(), memory.data());
  EXPECT_EQ(datum.tensor().shape(), (Shape{2, 3}));
  copy = std::move(datum).take_tensor();
  EXPECT_NE(copy.data(), memory.data());
  datum = Datum();
  EXPECT_EQ(memory, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(copy.values<float>()[5], 6);

  const std::vector<std::string> texts = {"a", "bc"};
  const auto strings = TensorMemory::borrow(TensorView(DType::string, {2}, texts.data()));
  EXPECT_EQ(strings->strings(), texts);
  EXPECT_EQ(TensorMemory::borrow(TensorView(DType::i64, {0, 3}, nullptr))->size(), 0);
}

TEST(Tensors, UnsetOnesHaveTheirSizeAndAreChecked) {
  const Tensor tensor = TensorMemory::unset(DType::i64, {3, 5});
  EXPECT_EQ(tensor.byte_size(), 120u);
  EXPECT_EQ(TensorMemory::unset(DType::string, {2}).strings().size(), 2u);
  EXPECT_EQ(TensorMemory::unset(DType::f32, {0}).data(), nullptr);
  EXPECT_EQ(code_of([] { TensorMemory::unset(DType::f32, {-1}); }), ErrorCode::invalid_argument);
}

TEST(Tensors, AreZeroAndAligned) {
  for (const std::int64_t size : {1, 15, 16, 17, 1000}) {
    const Tensor tensor(DType::f32, {size});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % AlignedBuffer::kAlignment, 0u);
    const auto values = tensor.values<float>();
    EXPECT_EQ(std::count(values.begin(), values.end(), 0.0f), size);
  }
}

TEST(Tensors, EmptyAndScalar) {
  EXPECT_EQ(Tensor().size(), 0);
  EXPECT_EQ(Tensor(DType::f32, {0, 3}).byte_size(), 0u);
  EXPECT_EQ(Tensor(DType::f64, {}).byte_size(), 8u);
}

TEST(Tensors, RefuseWhatCannotBe) {
  const std::int64_t limit = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(code_of([&] { Tensor(DType::f32, {limit}); }), ErrorCode::resource_limit);
  EXPECT_EQ(code_of([&] { Tensor(DType::i8, {limit}); }), ErrorCode::resource_limit);
  EXPECT_EQ(code_of([&] { Tensor(DType::string, {limit}); }), ErrorCode::resource_limit);
  EXPECT_EQ(code_of([&] { Tensor(DType::f32, {-1}); }), ErrorCode::invalid_argument);
}

TEST(Tensors, CopyIsDeep) {
  Tensor original = counting({2, 3});
  Tensor copy = original;
  copy.values<float>()[0] = 42;
  EXPECT_EQ(original.values<float>()[0], 0);
  EXPECT_EQ(copy.shape(), (Shape{2, 3}));
  EXPECT_EQ(copy.values<float>()[5], 5);
  Tensor assigned(DType::i8, {7});
  assigned = original;
  EXPECT_EQ(assigned.dtype(), DType::f32);
  EXPECT_NE(assigned.data(), original.data());
  const Tensor& self = assigned;
  assigned = self;
  EXPECT_EQ(assigned.values<float>()[5], 5);
}

TEST(Tensors, MoveKeepsTheMemory) {
  Tensor original = counting({4});
  const void* memory = original.data();
  Tensor moved = std::move(original);
  EXPECT_EQ(moved.data(), memory);
  Tensor target(DType::f32, {1});
  target = std::move(moved);
  EXPECT_EQ(target.data(), memory);
  EXPECT_EQ(target.size(), 4);
}

TEST(Tensors, Strings) {
  Tensor tensor(DType::string, {2});
  tensor.strings()[1] = "b";
  const Tensor copy = tensor;
  tensor.strings()[1] = "c";
  EXPECT_EQ(copy.strings(), (std::vector<std::string>{"", "b"}));
  EXPECT_EQ(copy.data(), nullptr);
  EXPECT_EQ(copy.size(), 2);
}

TEST(Tensors, Reshape) {
  const Tensor reshaped = counting({2, 3}).reshaped({3, 2});
  EXPECT_EQ(reshaped.shape(), (Shape{3, 2}));
  EXPECT_EQ(reshaped.values<float>()[5], 5);
  EXPECT_EQ(code_of([] { counting({2, 3}).reshaped({4}); }), ErrorCode::invalid_argument);
}

TEST(Checked, Arithmetic) {
  const std::int64_t limit = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(checked_mul(-3, 4), -12);
  EXPECT_EQ(try_mul(limit, 2), std::nullopt);
  EXPECT_EQ(code_of([&] { checked_mul(limit, 2); }), ErrorCode::resource_limit);
  EXPECT_EQ(code_of([&] { checked_add(limit, 1); }), ErrorCode::resource_limit);
  EXPECT_EQ(round_up(17, 16), 32);
}

TEST(Intervals, HullAndIntersection) {
  EXPECT_EQ(hull({1, 3}, {5, 6}), (Interval{1, 6}));
  EXPECT_EQ(hull({4, 4}, {5, 6}), (Interval{5, 6}));
  EXPECT_EQ(intersect({1, 5}, {3, 9}), (Interval{3, 5}));
  EXPECT_TRUE(intersect({1, 2}, {3, 9}).empty());
  EXPECT_EQ((Interval{5, 3}).size(), 0);
}

}  // namespace
}  // namespace colonnade
