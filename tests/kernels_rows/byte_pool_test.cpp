// SPDX-License-Identifier: Apache-2.0
#include "kernels/byte_pool/byte_pool.hpp"

#include "kernels_rows/support.hpp"

namespace colonnade::kernels::test {
namespace {

using byte_pool::Kind;
using byte_pool::Type;

struct Case {
  std::size_t height, width, channels, kernel, stride, dilation, pad;
  Kind kind = Kind::max;
  Type type = Type::u8;

  std::size_t out(std::size_t size) const { return (size + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1; }
  std::size_t element() const { return type == Type::f32 ? sizeof(float) : 1; }
};

/// One output by a plain loop: the largest byte, or the sum of bytes less 77 and nothing else.
std::int32_t plain(const Case& c, const std::uint8_t* in, std::size_t row, std::size_t x, std::size_t channel) {
  std::int32_t sum = 0, most = c.kind == Kind::max_signed ? -128 : 0;
  for (std::size_t ky = 0; ky < c.kernel; ++ky)
    for (std::size_t kx = 0; kx < c.kernel; ++kx) {
      const long y = static_cast<long>(row * c.stride + ky * c.dilation) - static_cast<long>(c.pad);
      const long column = static_cast<long>(x * c.stride + kx * c.dilation) - static_cast<long>(c.pad);
      if (y < 0 || y >= static_cast<long>(c.height) || column < 0 || column >= static_cast<long>(c.width)) continue;
      const std::uint8_t byte =
          in[(static_cast<std::size_t>(y) * c.width + static_cast<std::size_t>(column)) * c.channels + channel];
      sum += byte - 77;
      most = std::max<std::int32_t>(most, c.kind == Kind::max_signed ? static_cast<std::int8_t>(byte) : byte);
    }
  return c.kind == Kind::average ? sum : most;
}

void check_outputs(const Case& c, const std::uint8_t* in, const std::byte* out) {
  const std::size_t rows = c.out(c.height), width = c.out(c.width);
  for (std::size_t i = 0; i < rows * width * c.channels; ++i) {
    const std::int32_t number = plain(c, in, i / c.channels / width, i / c.channels % width, i % c.channels);
    const float v = static_cast<float>(number) * (0.9f / 6.0f);
    float found = 0;
    if (c.kind != Kind::average) {
      ASSERT_EQ(out[i], static_cast<std::byte>(number)) << "at " << i;
    } else if (c.type == Type::f32) {
      std::memcpy(&found, out + i * sizeof found, sizeof found);
      ASSERT_EQ(found, v) << "at " << i;
    } else {
      ASSERT_EQ(out[i], static_cast<std::byte>(std::clamp(std::nearbyint(v), -9.0f, 200.0f) + 12)) << "at " << i;
    }
  }
}

void run_case(const Case& c, const byte_pool::Kernel& kernel) {
  std::mt19937 generator(7);
  colonnade::test::Guarded<std::uint8_t> in(c.height * c.width * c.channels, Edge::back);
  for (std::uint8_t& x : in.values()) x = static_cast<std::uint8_t>(generator());
  const std::size_t rows = c.out(c.height), width = c.out(c.width);
  colonnade::test::Guarded<std::byte> out(rows * width * c.channels * c.element(), Edge::back);
  std::vector<const std::uint8_t*> in_rows;
  std::vector<std::byte*> out_rows;
  for (std::size_t row = 0; row < rows; ++row) {
    out_rows.push_back(out.data() + row * width * c.channels * c.element());
    for (std::size_t ky = 0; ky < c.kernel; ++ky) {
      const long y = static_cast<long>(row * c.stride + ky * c.dilation) - static_cast<long>(c.pad);
      const bool exists = y >= 0 && y < static_cast<long>(c.height);
      in_rows.push_back(exists ? in.data() + static_cast<std::size_t>(y) * c.width * c.channels : nullptr);
    }
  }
  std::vector<float> row_counts(rows, 2.0f), column_counts(width, 3.0f);
  byte_pool::Args a;
  a.kind = c.kind, a.rows = rows, a.in_rows = in_rows.data(), a.out_rows = out_rows.data();
  a.width_in = c.width, a.width_out = width, a.kernel_h = a.kernel_w = c.kernel;
  a.stride_w = c.stride, a.dilation_w = c.dilation, a.pad_left = c.pad, a.channels = c.channels;
  a.in_pixel_stride = static_cast<std::ptrdiff_t>(c.channels);
  a.out_pixel_stride = static_cast<std::ptrdiff_t>(c.channels * c.element());
  a.row_counts = row_counts.data(), a.column_counts = column_counts.data();
  a.x_zero = 77, a.factor = 0.9f, a.type = c.type, a.zero = 12, a.low = -9, a.high = 200;
  kernel.run(a);
  ASSERT_TRUE(out.intact());
  check_outputs(c, in.data(), out.data());
}

TEST(BytePool, EveryChannelCountAndWindow) {
  for (const auto& kernel : runnable(byte_pool::table()))
    for (const Kind kind : {Kind::max, Kind::max_signed, Kind::average})
      for (const Type type : {Type::u8, Type::f32}) {
        if (kind != Kind::average && type == Type::f32) continue;
        for (const std::size_t channels : {1, 3, 15, 16, 17, 64, 67, 80, 145}) {
          SCOPED_TRACE(::testing::Message() << kernel.name << " channels " << channels);
          run_case({7, 9, channels, 3, 2, 1, 1, kind, type}, kernel);
          run_case({6, 9, channels, 2, 2, 1, 0, kind, type}, kernel);
          run_case({9, 11, channels, 3, 1, 2, 2, kind, type}, kernel);
          run_case({20, 20, channels, 19, 1, 1, 3, kind, type}, kernel);
        }
      }
}

TEST(BytePool, SelectionFollowsTheTier) {
  for (const Isa isa : kAllIsas) EXPECT_LE(byte_pool::select(isa).isa, isa);
}

}  // namespace
}  // namespace colonnade::kernels::test
