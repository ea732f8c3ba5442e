// SPDX-License-Identifier: Apache-2.0
#include "kernels/move/move.hpp"

#include <bit>
#include <complex>

#include "kernels_rows/support.hpp"

namespace colonnade::kernels::test {
namespace {

constexpr std::size_t kPixelCounts[] = {1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 50};

std::ptrdiff_t step(std::size_t stride) { return static_cast<std::ptrdiff_t>(stride); }

TEST(Move, CopyAndFill) {
  for (const auto& kernel : runnable(move::table())) {
    for (const std::size_t channels : kChannelCounts) {
      for (const std::size_t gap : {0u, 3u}) {
        const std::size_t pixels = 4;
        const std::size_t out_stride = channels + 2 * gap;
        const auto values = random_floats((pixels - 1) * (channels + gap) + channels, 1);
        Guarded in(values, gap ? Edge::front : Edge::back);
        Guarded copied((pixels - 1) * out_stride + channels);
        Guarded filled((pixels - 1) * out_stride + channels);
        kernel.copy({pixels, 4 * channels, in.data(), copied.data(), step(4 * (channels + gap)), step(4 * out_stride)});
        kernel.fill({pixels, 4 * channels, filled.data(), step(4 * out_stride), std::bit_cast<std::uint32_t>(2.5f)});
        for (std::size_t i = 0; i < copied.values().size(); ++i) {
          const std::size_t c = i % out_stride;
          if (c < channels) {
            ASSERT_EQ(copied.data()[i], values[i / out_stride * (channels + gap) + c]) << kernel.name;
            ASSERT_EQ(filled.data()[i], 2.5f) << kernel.name;
          } else {
            ASSERT_TRUE(std::isnan(copied.data()[i]) && std::isnan(filled.data()[i])) << kernel.name;
          }
        }
        ASSERT_TRUE(copied.intact() && filled.intact());
      }
    }
    kernel.copy({0, 4, nullptr, nullptr, 4, 4});
    kernel.fill({0, 4, nullptr, 4, 1});
  }
}

using Bytes = colonnade::test::Guarded<std::uint8_t>;
constexpr std::uint8_t kOld = 0xaa;

/// Five pixels from byte `shift` on; elements of one, two and four bytes.
void check_bytes(const move::Kernel& kernel, std::size_t bytes, std::size_t gap, std::size_t shift) {
  constexpr std::size_t kPixels = 5;
  const std::size_t stride = bytes + gap, last = shift + (kPixels - 1) * stride + bytes;
  const std::size_t element = stride % 4 == 0 && bytes % 4 == 0 ? 4 : stride % 2 == 0 && bytes % 2 == 0 ? 2 : 1;
  Bytes in(last), copied(last), filled(last);
  for (std::size_t i = 0; i < last; ++i) in[i] = static_cast<std::uint8_t>(i * 7 + 1);
  std::fill_n(copied.data(), last, kOld);
  std::fill_n(filled.data(), last, kOld);
  std::uint8_t pattern[4];
  for (std::size_t i = 0; i < 4; ++i) pattern[i] = static_cast<std::uint8_t>(1 + i % element);
  kernel.copy({kPixels, bytes, in.data() + shift, copied.data() + shift, step(stride), step(stride)});
  kernel.fill({kPixels, bytes, filled.data() + shift, step(stride), std::bit_cast<std::uint32_t>(pattern)});
  for (std::size_t i = 0; i < last; ++i) {
    const std::size_t at = i < shift ? stride : (i - shift) % stride;
    ASSERT_EQ(copied[i], at < bytes ? in[i] : kOld) << i;
    ASSERT_EQ(filled[i], at < bytes ? pattern[at % 4] : kOld) << i;
  }
  ASSERT_TRUE(copied.intact() && filled.intact());
}

TEST(Move, CopiesAndFillsBytes) {
  for (const auto& kernel : runnable(move::table()))
    for (std::size_t bytes = 1; bytes <= 150; ++bytes)
      for (const std::size_t gap : {0u, 1u, 4u})
        for (const std::size_t shift : {0u, 1u, 2u, 3u}) {
          SCOPED_TRACE(::testing::Message() << kernel.name << " " << bytes << " gap " << gap << " shift " << shift);
          check_bytes(kernel, bytes, gap, shift);
          if (HasFatalFailure()) return;
        }
}

void check_layouts(const move::Kernel& kernel, std::size_t pixels, std::size_t channels, std::size_t gap) {
  const std::size_t plane = pixels + gap;
  const std::size_t pixel = channels + gap;
  const auto planes = random_floats((channels - 1) * plane + pixels, 1);
  Guarded in(planes, gap ? Edge::front : Edge::back);
  Guarded woven((pixels - 1) * pixel + channels);
  Guarded apart(planes.size());
  kernel.planes_to_pixels({pixels, channels, in.data(), step(plane), woven.data(), step(pixel)});
  kernel.pixels_to_planes({pixels, channels, woven.data(), step(pixel), apart.data(), step(plane)});
  for (std::size_t p = 0; p < pixels; ++p) {
    for (std::size_t c = 0; c < channels; ++c) {
      ASSERT_EQ(woven.data()[p * pixel + c], planes[c * plane + p]) << "pixel " << p << " channel " << c;
      ASSERT_EQ(apart.data()[c * plane + p], planes[c * plane + p]) << "pixel " << p << " channel " << c;
    }
  }
  std::size_t untouched = 0;
  for (const float x : woven.values()) untouched += std::isnan(x) ? 1 : 0;
  ASSERT_EQ(untouched, (pixels - 1) * gap);
  ASSERT_TRUE(woven.intact() && apart.intact());
}

/// Targets that lie somewhat behind their source, or before it, in their pages.
TEST(Move, CopiesBetweenPagesOfAnyOffset) {
  constexpr std::size_t kPage = 4096, kMost = 3 * kPage;
  std::vector<std::uint8_t> from(2 * kMost), to(2 * kMost);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::uint8_t>(i * 31 >> 3);
  const auto page = [](std::vector<std::uint8_t>& bytes) {
    return bytes.data() + (kPage - reinterpret_cast<std::uintptr_t>(bytes.data()) % kPage) % kPage;
  };
  for (const auto& kernel : runnable(move::table()))
    for (const std::size_t offset : {0u, 1u, 16u, 31u, 63u, 64u, 65u, 4095u})
      for (const std::size_t bytes : {1u, 63u, 64u, 65u, 4096u, 5000u, 8000u}) {
        std::fill(to.begin(), to.end(), std::uint8_t{0xaa});
        std::uint8_t* target = page(to) + offset;
        kernel.copy({1, bytes, page(from), target, step(bytes), step(bytes)});
        ASSERT_TRUE(std::equal(target, target + bytes, page(from))) << kernel.name << " " << offset << " " << bytes;
        ASSERT_TRUE(std::all_of(to.data(), target, [](std::uint8_t x) { return x == 0xaa; }));
        ASSERT_TRUE(std::all_of(target + bytes, to.data() + to.size(), [](std::uint8_t x) { return x == 0xaa; }));
      }
}

TEST(Move, LayoutsBothWays) {
  for (const auto& kernel : runnable(move::table())) {
    for (const std::size_t channels : kChannelCounts) {
      for (const std::size_t pixels : kPixelCounts) {
        for (const std::size_t gap : {0u, 5u}) {
          SCOPED_TRACE(::testing::Message() << kernel.name << " " << pixels << " x " << channels << " gap " << gap);
          check_layouts(kernel, pixels, channels, gap);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

struct Matrices {
  std::size_t rows, columns, gap, count;
  bool listed;  ///< every second line is an element farther from the one before
};

template <class T>
void check_transpose(const move::Kernel& kernel, const Matrices& m) {
  std::vector<std::ptrdiff_t> row_offsets, column_offsets;
  const std::size_t in_stride = m.columns + m.gap, out_stride = m.rows + m.gap;
  const auto farther = [&](std::size_t line) { return m.listed ? line / 2 : 0; };
  for (std::size_t r = 0; r < m.rows; ++r) row_offsets.push_back(step(r * in_stride + farther(r)));
  for (std::size_t c = 0; c < m.columns; ++c) column_offsets.push_back(step(c * out_stride + farther(c)));
  const std::size_t in_step = static_cast<std::size_t>(row_offsets.back()) + m.columns;
  const std::size_t out_step = static_cast<std::size_t>(column_offsets.back()) + m.rows;
  const std::size_t in_size = m.count * in_step, out_size = m.count * out_step;
  const Bytes in(in_size * sizeof(T)), out(out_size * sizeof(T));
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint8_t>(i * 7919 >> 3);
  std::memset(out.data(), 0xaa, out.size());
  std::vector<std::uint8_t> expected(out.size(), 0xaa);
  for (std::size_t k = 0; k < m.count; ++k)
    for (std::size_t r = 0; r < m.rows; ++r)
      for (std::size_t c = 0; c < m.columns; ++c)
        std::memcpy(expected.data() + (k * out_step + static_cast<std::size_t>(column_offsets[c]) + r) * sizeof(T),
                    in.data() + (k * in_step + static_cast<std::size_t>(row_offsets[r]) + c) * sizeof(T), sizeof(T));
  move::TransposeArgs args{sizeof(T), m.rows, m.columns, in.data(), step(in_stride), out.data(), step(out_stride)};
  args.matrices = m.count;
  args.in_step = step(in_step);
  args.out_step = step(out_step);
  if (m.listed) {
    args.row_offsets = row_offsets.data();
    args.column_offsets = column_offsets.data();
  }
  kernel.transpose(args);
  ASSERT_EQ(std::memcmp(out.data(), expected.data(), out.size()), 0) << sizeof(T) << " bytes";
  ASSERT_TRUE(in.intact() && out.intact());
}

TEST(Move, TransposesElementsOfAnySize) {
  for (const auto& kernel : runnable(move::table()))
    for (const std::size_t rows : kChannelCounts)
      for (const std::size_t columns : {1u, 2u, 3u, 4u, 5u, 8u, 15u, 16u, 17u, 18u, 19u, 32u, 34u, 50u, 70u})
        for (const std::size_t gap : {0u, 5u})
          for (const bool listed : {false, true})
            for (const std::size_t count : {1u, 3u}) {
              SCOPED_TRACE(::testing::Message() << kernel.name << " " << count << " of " << rows << " x " << columns
                                                << " gap " << gap << (listed ? " listed" : ""));
              const Matrices m{rows, columns, gap, count, listed};
              check_transpose<std::uint8_t>(kernel, m);
              check_transpose<std::uint16_t>(kernel, m);
              check_transpose<float>(kernel, m);
              check_transpose<double>(kernel, m);
              check_transpose<std::complex<double>>(kernel, m);
              if (HasFatalFailure()) return;
            }
}

void check_resize(const move::Kernel& kernel, std::size_t taps_y, std::size_t taps_x, std::size_t channels, bool ones) {
  const std::size_t width_in = 9;
  const std::size_t width_out = 14;
  const std::size_t stride = channels + 1;
  std::mt19937 generator(5);
  std::vector<std::int32_t> columns(width_out * taps_x);
  for (auto& column : columns) column = static_cast<std::int32_t>(generator() % width_in);
  const auto row_weights = ones ? std::vector<float>(taps_y, 1.0f) : random_floats(taps_y, 2);
  const auto column_weights =
      ones ? std::vector<float>(width_out * taps_x, 1.0f) : random_floats(width_out * taps_x, 3);
  Guarded in(random_floats((taps_y * width_in - 1) * stride + channels, 4), Edge::back);
  Guarded out((width_out - 1) * stride + channels);
  std::vector<const float*> rows;
  for (std::size_t j = 0; j < taps_y; ++j) rows.push_back(in.data() + j * width_in * stride);
  kernel.resize({width_out, channels, taps_y, taps_x, rows.data(), row_weights.data(), columns.data(),
                 column_weights.data(), out.data(), step(stride), step(stride)});
  for (std::size_t x = 0; x < width_out; ++x) {
    for (std::size_t c = 0; c < channels; ++c) {
      double want = 0;
      for (std::size_t j = 0; j < taps_y; ++j) {
        for (std::size_t i = 0; i < taps_x; ++i) {
          const auto column = static_cast<std::size_t>(columns[x * taps_x + i]);
          want += static_cast<double>(row_weights[j]) * column_weights[x * taps_x + i] * rows[j][column * stride + c];
        }
      }
      const double tolerance = ones && taps_x * taps_y == 1 ? 0 : 6e-8 * static_cast<double>(taps_x * taps_y + 4);
      ASSERT_NEAR(out.data()[x * stride + c], want, tolerance) << kernel.name << " x " << x << " c " << c;
    }
  }
  ASSERT_TRUE(out.intact());
}

TEST(Move, Resize) {
  for (const auto& kernel : runnable(move::table())) {
    for (const std::size_t channels : kChannelCounts) {
      check_resize(kernel, 1, 1, channels, true);
      check_resize(kernel, 1, 1, channels, false);
      check_resize(kernel, 2, 2, channels, false);
      check_resize(kernel, 1, 2, channels, false);
      check_resize(kernel, 4, 4, channels, false);
    }
  }
}

}  // namespace
}  // namespace colonnade::kernels::test
