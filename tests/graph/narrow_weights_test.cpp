// SPDX-License-Identifier: Apache-2.0
// Fields of bytes, read from anywhere.
#include "graph/narrow_weights.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace colonnade {
namespace {

TEST(NarrowWeights, FieldsFromAnyPlace) {
  constexpr std::int64_t kRows = 2500, kRowBytes = 7;  // too many to be kept: each reading makes them
  Tensor bytes(DType::u8, {kRows, kRowBytes});
  for (std::size_t i = 0; i < bytes.values<std::uint8_t>().size(); ++i)
    bytes.values<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 89 + i / 256);
  const auto packed = std::make_shared<const Constant>(bytes);
  for (const auto& [type, bits] : {std::pair{DType::u2, 2}, {DType::u4, 4}, {DType::u8, 8}}) {
    const std::int64_t a_byte = 8 / bits, columns = kRowBytes * a_byte - (bits == 8 ? 0 : 1);
    const auto fields = fields_of(packed, type, columns);
    ASSERT_EQ(fields->shape(), (Shape{kRows, columns}));
    for (std::int64_t first = 0; first < 60; ++first)
      for (std::int64_t count = 1; count < 60; ++count) {
        std::vector<std::byte> read(static_cast<std::size_t>(count), std::byte{0xee});
        fields->read(first, read);
        for (std::int64_t i = 0; i < count; ++i) {
          const std::int64_t row = (first + i) / columns, column = (first + i) % columns;
          const auto at = static_cast<std::size_t>(row * kRowBytes + column / a_byte);
          const int expected = bytes.values<std::uint8_t>()[at] >> column % a_byte * bits & ((1 << bits) - 1);
          ASSERT_EQ(static_cast<int>(read[static_cast<std::size_t>(i)]), expected)
              << bits << " bits, from " << first << ", number " << i;
        }
      }
  }
}

}  // namespace
}  // namespace colonnade
