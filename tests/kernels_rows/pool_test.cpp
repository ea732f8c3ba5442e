// SPDX-License-Identifier: Apache-2.0
#include "kernels/pool/pool.hpp"

#include "kernels_rows/support.hpp"

namespace colonnade::kernels::test {
namespace {

struct Case {
  pool::Kind kind;
  std::size_t height, width, channels, kernel_h, kernel_w, stride, dilation, pad;
  std::size_t gap = 0;
  std::size_t rows() const { return (height + 2 * pad - ((kernel_h - 1) * dilation + 1)) / stride + 1; }
  std::size_t columns() const { return (width + 2 * pad - ((kernel_w - 1) * dilation + 1)) / stride + 1; }
};

struct Problem {
  Case c;
  std::size_t pixel;
  Guarded in, row_counts, column_counts, out;
  std::vector<const float*> in_rows;
  std::vector<float*> out_rows;

  Problem(const Case& k, unsigned seed)
      : c(k),
        pixel(k.channels + k.gap),
        in(random_floats((k.height * k.width - 1) * pixel + k.channels, seed), seed % 2 ? Edge::front : Edge::back),
        row_counts(random_floats(k.rows(), seed + 1, 1, 3), Edge::back),
        column_counts(random_floats(k.columns(), seed + 2, 1, 3), Edge::back),
        out((k.rows() * k.columns() - 1) * pixel + k.channels) {
    for (std::size_t row = 0; row < c.rows(); ++row) {
      out_rows.push_back(out.data() + row * c.columns() * pixel);
      for (std::size_t ky = 0; ky < c.kernel_h; ++ky) {
        const auto y = static_cast<long>(row * c.stride + ky * c.dilation) - static_cast<long>(c.pad);
        const bool exists = y >= 0 && y < static_cast<long>(c.height);
        in_rows.push_back(exists ? in.data() + static_cast<std::size_t>(y) * c.width * pixel : nullptr);
      }
    }
  }

  pool::Args args() {
    pool::Args a;
    a.kind = c.kind;
    a.rows = c.rows();
    a.in_rows = in_rows.data();
    a.out_rows = out_rows.data();
    a.width_in = c.width;
    a.width_out = c.columns();
    a.kernel_h = c.kernel_h;
    a.kernel_w = c.kernel_w;
    a.stride_w = c.stride;
    a.dilation_w = c.dilation;
    a.pad_left = c.pad;
    a.channels = c.channels;
    a.in_pixel_stride = a.out_pixel_stride = static_cast<std::ptrdiff_t>(pixel);
    a.row_counts = row_counts.data();
    a.column_counts = column_counts.data();
    return a;
  }

  void check_one(std::size_t row, std::size_t x, std::size_t ch) {
    double sum = 0;
    double magnitude = 0;
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t ky = 0; ky < c.kernel_h; ++ky) {
      const float* in_row = in_rows[row * c.kernel_h + ky];
      for (std::size_t kx = 0; in_row && kx < c.kernel_w; ++kx) {
        const auto column = static_cast<long>(x * c.stride + kx * c.dilation) - static_cast<long>(c.pad);
        if (column < 0 || column >= static_cast<long>(c.width)) continue;
        const double v = in_row[static_cast<std::size_t>(column) * pixel + ch];
        sum += v;
        magnitude += std::fabs(v);
        largest = std::max(largest, v);
      }
    }
    const float got = out_rows[row][x * pixel + ch];
    if (c.kind == pool::Kind::max) {
      ASSERT_EQ(got, largest) << "row " << row << " x " << x << " channel " << ch;
      return;
    }
    const double divisor = static_cast<double>(row_counts.data()[row]) * column_counts.data()[x];
    ASSERT_NEAR(got, sum / divisor, magnitude / divisor * 6e-8 * static_cast<double>(c.kernel_h * c.kernel_w + 4))
        << "row " << row << " x " << x << " channel " << ch;
  }
};

void run_case(const Case& c) {
  unsigned seed = 1;
  for (const auto& kernel : runnable(pool::table())) {
    Problem problem(c, ++seed);
    SCOPED_TRACE(::testing::Message() << kernel.name << " " << c.height << "x" << c.width << "x" << c.channels
                                      << " kernel " << c.kernel_h << "x" << c.kernel_w << " seed " << seed);
    kernel.run(problem.args());
    for (std::size_t row = 0; row < c.rows(); ++row) {
      for (std::size_t x = 0; x < c.columns(); ++x) {
        for (std::size_t ch = 0; ch < c.channels; ++ch) problem.check_one(row, x, ch);
      }
    }
    ASSERT_TRUE(problem.out.intact());
  }
}

TEST(Pool, ShapesAndChannels) {
  for (const pool::Kind kind : {pool::Kind::max, pool::Kind::average}) {
    for (const std::size_t channels : kChannelCounts) {
      run_case({kind, 6, 7, channels, 2, 2, 2, 1, 0});
      run_case({kind, 6, 7, channels, 3, 3, 2, 1, 1, 2});
    }
    run_case({kind, 5, 9, 130, 3, 3, 1, 1, 1});
    run_case({kind, 13, 13, 20, 5, 5, 1, 1, 2});
    run_case({kind, 13, 13, 20, 3, 2, 1, 3, 1});
    run_case({kind, 4, 9, 530, 3, 3, 1, 1, 1, 1});
    run_case({kind, 3, 140, 7, 2, 3, 1, 1, 1});
    run_case({kind, 11, 6, 18, 7, 3, 1, 1, 2});
    run_case({kind, 12, 8, 18, 10, 5, 1, 1, 2});
    run_case({kind, 7, 7, 65, 7, 7, 1, 1, 0});
    run_case({kind, 3, 4, 65, 1, 1, 1, 1, 2});
  }
}

void run_lines(const Case& c) {
  unsigned seed = 1;
  for (const auto& kernel : runnable(pool::table())) {
    Problem problem(c, ++seed);
    const pool::Args args = problem.args();
    SCOPED_TRACE(::testing::Message() << kernel.name << " " << c.height << "x" << c.width << " kernel " << c.kernel_h
                                      << "x" << c.kernel_w << " stride " << c.stride << " dilation " << c.dilation);
    pool::LinesArgs lines{.kind = args.kind,
                          .rows = args.rows,
                          .in_rows = args.in_rows,
                          .out = problem.out.data(),
                          .width_in = args.width_in,
                          .width_out = args.width_out,
                          .kernel_h = args.kernel_h,
                          .kernel_w = args.kernel_w,
                          .stride_w = args.stride_w,
                          .dilation_w = args.dilation_w,
                          .pad_left = args.pad_left,
                          .row_counts = args.row_counts,
                          .column_counts = args.column_counts};
    Guarded workspace(random_floats(pool::workspace_floats(lines), seed, 5, 9), Edge::back);
    lines.workspace = workspace.data();
    kernel.lines(lines);
    lines.rows -= lines.rows / 2;
    lines.fresh = false;
    kernel.lines(lines);
    for (std::size_t row = 0; row < c.rows(); ++row)
      for (std::size_t x = 0; x < c.columns(); ++x) problem.check_one(row, x, 0);
    ASSERT_TRUE(problem.out.intact() && workspace.intact());
  }
}

TEST(Pool, Planes) {
  for (const pool::Kind kind : {pool::Kind::max, pool::Kind::average})
    for (const std::size_t width : {7u, 16u, 33u, 100u, 129u})
      for (const std::size_t stride : {1u, 2u, 3u, 5u}) {
        run_lines({kind, 6, width, 1, 3, 3, stride, 1, 1});
        run_lines({kind, 6, width, 1, 2, 4, stride, 2, 0});
        run_lines({kind, 3, width, 1, 1, 1, stride, 1, 0});
        run_lines({kind, 9, width, 1, 5, 7, stride, 1, 4});
      }
}

TEST(Pool, BitsDoNotDependOnSplits) {
  const Case c{pool::Kind::average, 9, 11, 83, 3, 3, 1, 1, 1};
  for (const auto& kernel : runnable(pool::table())) {
    Problem whole(c, 5);
    kernel.run(whole.args());
    Problem parts(c, 5);
    const std::size_t cuts[] = {0, 5, 21, 83};
    for (std::size_t row = 0; row < c.rows(); ++row) {
      for (std::size_t i = 0; i + 1 < std::size(cuts); ++i) {
        std::vector<const float*> in;
        for (std::size_t ky = 0; ky < c.kernel_h; ++ky) {
          const float* p = parts.in_rows[row * c.kernel_h + ky];
          in.push_back(p ? p + cuts[i] : nullptr);
        }
        float* out = parts.out_rows[row] + cuts[i];
        pool::Args a = parts.args();
        a.rows = 1;
        a.in_rows = in.data();
        a.out_rows = &out;
        a.row_counts += row;
        a.channels = cuts[i + 1] - cuts[i];
        kernel.run(a);
      }
    }
    EXPECT_EQ(0, std::memcmp(whole.out.data(), parts.out.data(), whole.out.values().size_bytes())) << kernel.name;
  }
}

TEST(Pool, TapByTap) {
  for (const auto& kernel : runnable(pool::table()))
    for (const std::size_t channels : kChannelCounts)
      for (const std::size_t taps : {0u, 1u, 2u, 9u}) {
        std::vector<Guarded> pixels;
        std::vector<const float*> in;
        std::vector<std::int32_t> positions;
        for (std::size_t t = 0; t < taps; ++t) {
          pixels.emplace_back(random_floats(channels, static_cast<unsigned>(t), -2, 2));
          positions.push_back(static_cast<std::int32_t>(7 * t + 3));
        }
        for (const Guarded& pixel : pixels) in.push_back(pixel.data());
        Guarded largest(channels), powers(channels);
        colonnade::test::Guarded<std::int32_t> found(channels);
        pool::TapsArgs args{channels, taps, in.data(), positions.data(), largest.data(), found.data(), 3};
        kernel.largest(args);
        args.out = powers.data();
        kernel.powers(args);
        for (std::size_t c = 0; c < channels; ++c) {
          double sum = 0;
          std::size_t best = 0;
          for (std::size_t t = 0; t < taps; ++t) {
            sum += std::pow(std::abs(static_cast<double>(in[t][c])), 3);
            if (in[t][c] > in[best][c]) best = t;
          }
          ASSERT_EQ(largest.data()[c], taps > 0 ? in[best][c] : std::numeric_limits<float>::lowest()) << kernel.name;
          ASSERT_EQ(found.data()[c], taps > 0 ? positions[best] : -1) << kernel.name;
          ASSERT_NEAR(powers.data()[c], std::cbrt(sum), 1e-5) << kernel.name;
        }
        ASSERT_TRUE(largest.intact() && powers.intact() && found.intact());
      }
}

}  // namespace
}  // namespace colonnade::kernels::test
