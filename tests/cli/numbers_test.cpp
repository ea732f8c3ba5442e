// SPDX-License-Identifier: Apache-2.0
#include "frontends/cli/numbers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace colonnade::cli {
namespace {

TEST(Numbers, HalfPrecisionRoundTripsEveryFiniteValue) {
  Tensor all(DType::f16, {0x10000});
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
    all.values<std::uint16_t>()[bits] = static_cast<std::uint16_t>(bits);
  const std::vector<double> values = to_doubles(all);
  const Tensor back = from_doubles(DType::f16, all.shape(), values);
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
    EXPECT_TRUE(std::isnan(values[bits]) || back.values<std::uint16_t>()[bits] == bits) << bits;
  const Tensor rounded = from_doubles(DType::f16, {4}, {65520, 65519, 1 + 0x1p-11, 1 + 3 * 0x1p-11});
  const std::vector<std::uint16_t> expected = {0x7c00, 0x7bff, 0x3c00, 0x3c02};
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), rounded.values<std::uint16_t>().begin()));
}

TEST(Numbers, NarrowIntegersClampAndComplexNumbersAreMagnitudes) {
  const std::vector<double> values = {-100, -1.5, 0.4, 6.6, 100};
  EXPECT_EQ(to_doubles(from_doubles(DType::i4, {5}, values)), (std::vector<double>{-8, -2, 0, 7, 7}));
  EXPECT_EQ(to_doubles(from_doubles(DType::u2, {5}, values)), (std::vector<double>{0, 0, 0, 3, 3}));
  EXPECT_EQ(to_doubles(from_doubles(DType::f8e4m3fn, {5}, values)), (std::vector<double>{-96, -1.5, 0.40625, 6.5, 96}));
  EXPECT_EQ(to_doubles(from_doubles(DType::c64, {2}, {-3, 4})), (std::vector<double>{3, 4}));
}

}  // namespace
}  // namespace colonnade::cli
