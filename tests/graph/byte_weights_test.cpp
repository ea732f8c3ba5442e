// SPDX-License-Identifier: Apache-2.0
#include "graph/byte_weights.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace colonnade {
namespace {

using Zeros = std::vector<std::int64_t>;

Tensor unsigned_bytes(Shape shape, std::vector<std::uint8_t> values) {
  Tensor tensor(DType::u8, std::move(shape));
  std::copy(values.begin(), values.end(), tensor.values<std::uint8_t>().begin());
  return tensor;
}

TEST(ByteWeights, AreSignedBytesWhereThoseHoldThem) {
  const Tensor bytes = unsigned_bytes({2, 2}, {0, 255, 128, 3});
  const auto found = centred_weights(bytes, Zeros{128}, 1, ByteWidth::one);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->dtype(), DType::i8);
  EXPECT_EQ(found->values<std::int8_t>()[0], -128);
  EXPECT_EQ(found->values<std::int8_t>()[1], 127);
}

TEST(ByteWeights, AreWideWhereTwoBytesMayBeTaken) {
  const Tensor bytes = unsigned_bytes({2, 2, 1}, {0, 255, 128, 3});
  EXPECT_FALSE(centred_weights(bytes, Zeros{100}, 1, ByteWidth::one));
  const auto found = centred_weights(bytes, Zeros{200, 1}, 1, ByteWidth::two);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->dtype(), DType::i16);
  const auto values = found->values<std::int16_t>();
  EXPECT_EQ((std::vector<int>{values.begin(), values.end()}), (std::vector<int>{-200, 254, -72, 2}));
}

TEST(ByteWeights, MayBeAllThatBytesLessAZeroPointAre) {
  const auto most = centred_weights(unsigned_bytes({1, 1}, {255}), {}, 1, ByteWidth::two);
  ASSERT_TRUE(most);
  EXPECT_EQ(most->values<std::int16_t>()[0], 255);
  Tensor bytes(DType::i8, {1, 1});
  bytes.values<std::int8_t>()[0] = -128;
  const auto least = centred_weights(bytes, Zeros{127}, 1, ByteWidth::two);
  ASSERT_TRUE(least);
  EXPECT_EQ(least->values<std::int16_t>()[0], -255);
}

TEST(ByteWeights, RefuseOtherTypesAndCountsOfZeroPoints) {
  EXPECT_FALSE(centred_weights(Tensor(DType::i32, {2, 2}), {}, 1, ByteWidth::two));
  EXPECT_FALSE(centred_weights(unsigned_bytes({1, 3}, {1, 2, 3}), Zeros{1, 2}, 1, ByteWidth::two));
  EXPECT_FALSE(centred_weights(unsigned_bytes({0, 3}, {}), {}, 1, ByteWidth::two));
}

}  // namespace
}  // namespace colonnade
