// SPDX-License-Identifier: Apache-2.0
#include "kernels/depthwise/depthwise.hpp"

#include "kernels_rows/support.hpp"

namespace colonnade::kernels::test {
namespace {

struct Case {
  std::size_t height, width, channels, kernel_h, kernel_w, stride, dilation, pad;
  bool residual = false;
  bool residual_after = false;
  Unary activation = Unary::identity;
  bool bias = true;
  std::size_t gap = 0;  // floats between pixels

  std::size_t extent(std::size_t k) const { return (k - 1) * dilation + 1; }
  std::size_t rows() const { return (height + 2 * pad - extent(kernel_h)) / stride + 1; }
  std::size_t columns() const { return (width + 2 * pad - extent(kernel_w)) / stride + 1; }
};

/// The tensors of a case with all rows' pointers, and the arguments of one call over everything.
struct Problem {
  Case c;
  Guarded in, weights, bias, residual, slope, out;
  std::vector<const float*> in_rows;
  std::vector<const float*> residual_rows;
  std::vector<float*> out_rows;

  std::size_t in_stride() const { return c.channels + c.gap; }
  std::size_t out_stride() const { return c.channels + c.gap; }
  static std::size_t floats(std::size_t pixels, const Case& k) {
    return pixels == 0 ? 0 : (pixels - 1) * (k.channels + k.gap) + k.channels;
  }

  Problem(const Case& k, unsigned seed)
      : c(k),
        in(random_floats(floats(k.height * k.width, k), seed), seed % 2 ? Edge::front : Edge::back),
        weights(random_floats(k.kernel_h * k.kernel_w * k.channels, seed + 1), seed % 2 ? Edge::back : Edge::front),
        bias(random_floats(k.channels, seed + 2), Edge::back),
        residual(random_floats(floats(k.rows() * k.columns(), k), seed + 3), Edge::back),
        slope(random_floats(k.channels, seed + 4), Edge::back),
        out(floats(k.rows() * k.columns(), k), seed % 3 ? Edge::back : Edge::front) {
    for (std::size_t row = 0; row < c.rows(); ++row) {
      out_rows.push_back(out.data() + row * c.columns() * out_stride());
      residual_rows.push_back(residual.data() + row * c.columns() * out_stride());
      for (std::size_t ky = 0; ky < c.kernel_h; ++ky) {
        const auto y = static_cast<long>(row * c.stride + ky * c.dilation) - static_cast<long>(c.pad);
        const bool exists = y >= 0 && y < static_cast<long>(c.height);
        in_rows.push_back(exists ? in.data() + static_cast<std::size_t>(y) * c.width * in_stride() : nullptr);
      }
    }
  }

  depthwise::Args args() {
    depthwise::Args a;
    a.rows = c.rows();
    a.in_rows = in_rows.data();
    a.out_rows = out_rows.data();
    a.residual_rows = c.residual ? residual_rows.data() : nullptr;
    a.width_in = c.width;
    a.width_out = c.columns();
    a.kernel_h = c.kernel_h;
    a.kernel_w = c.kernel_w;
    a.stride_w = c.stride;
    a.dilation_w = c.dilation;
    a.pad_left = c.pad;
    a.channels = c.channels;
    a.in_pixel_stride = static_cast<std::ptrdiff_t>(in_stride());
    a.out_pixel_stride = a.residual_pixel_stride = static_cast<std::ptrdiff_t>(out_stride());
    a.weights = weights.data();
    a.weight_stride = static_cast<std::ptrdiff_t>(c.channels);
    a.bias = c.bias ? bias.data() : nullptr;
    a.epilogue = {{c.activation, 0.1f, 0.6f, c.activation == Unary::prelu ? slope.data() : nullptr}, c.residual_after};
    return a;
  }

  double activate(double x, std::size_t channel) {
    switch (c.activation) {
      case Unary::relu: return std::max(x, 0.0);
      case Unary::clip: return std::min(std::max(x, 0.1), 0.6);
      case Unary::prelu: return x < 0 ? slope.data()[channel] * x : x;
      case Unary::silu: return x / (1 + std::exp(-x));
      default: return x;
    }
  }

  /// Every output against a sum in double; the tolerance is one rounding a tap of the sum of magnitudes.
  void check() {
    for (std::size_t row = 0; row < c.rows(); ++row) {
      for (std::size_t x = 0; x < c.columns(); ++x) {
        for (std::size_t ch = 0; ch < c.channels; ++ch) check_one(row, x, ch);
      }
    }
    ASSERT_TRUE(out.intact());
  }

  void check_one(std::size_t row, std::size_t x, std::size_t ch) {
    double sum = c.bias ? bias.data()[ch] : 0;
    double magnitude = std::fabs(sum) + 1;
    for (std::size_t ky = 0; ky < c.kernel_h; ++ky) {
      const float* in_row = in_rows[row * c.kernel_h + ky];
      for (std::size_t kx = 0; in_row && kx < c.kernel_w; ++kx) {
        const auto column = static_cast<long>(x * c.stride + kx * c.dilation) - static_cast<long>(c.pad);
        if (column < 0 || column >= static_cast<long>(c.width)) continue;
        const double term = static_cast<double>(in_row[static_cast<std::size_t>(column) * in_stride() + ch]) *
                            weights.data()[(ky * c.kernel_w + kx) * c.channels + ch];
        sum += term;
        magnitude += std::fabs(term);
      }
    }
    const std::size_t at = x * out_stride() + ch;
    const double added = c.residual ? residual_rows[row][at] : 0;
    const double want = c.residual_after ? activate(sum, ch) + added : activate(sum + added, ch);
    const double taps = static_cast<double>(c.kernel_h * c.kernel_w);
    ASSERT_NEAR(out_rows[row][at], want, (taps + 8) * 6e-8 * (magnitude + std::fabs(added)))
        << "row " << row << " x " << x << " channel " << ch;
  }
};

void run_case(const Case& c) {
  unsigned seed = 1;
  for (const auto& kernel : runnable(depthwise::table())) {
    SCOPED_TRACE(::testing::Message() << kernel.name << " " << c.height << "x" << c.width << "x" << c.channels
                                      << " kernel " << c.kernel_h << "x" << c.kernel_w << " stride " << c.stride
                                      << " dilation " << c.dilation << " pad " << c.pad << " seed " << seed);
    Problem problem(c, ++seed);
    kernel.run(problem.args());
    problem.check();
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Depthwise, EveryChannelCount) {
  for (const std::size_t channels : kChannelCounts) run_case({5, 6, channels, 3, 3, 1, 1, 1});
}

TEST(Depthwise, ColumnsThatADilationKeepsApart) {
  for (const std::size_t kernel : {3u, 5u, 7u})
    for (const std::size_t dilation : {2u, 3u, 4u, 9u})
      for (const std::size_t pad : {0u, 1u, 2u, 5u, 13u, 30u})
        for (const std::size_t width : {1u, 3u, 9u, 14u, 33u}) {
          Case c{width, width, 20, kernel, kernel, 1, dilation, pad};
          if (width + 2 * pad < c.extent(kernel)) continue;
          c.gap = width % 2 * 3;
          c.activation = pad % 2 == 1 ? Unary::silu : Unary::relu;
          run_case(c);
          if (::testing::Test::HasFatalFailure()) return;
        }
}

TEST(Depthwise, EveryWidth) {
  for (std::size_t width = 1; width <= 23; ++width) {
    run_case({4, width, 17, 3, 3, 1, 1, 1});
    run_case({5, width, 16, 5, 5, 1, 1, 2});
    run_case({8, width, 32, 7, 7, 1, 1, 3});
    run_case({5, width, 16, 3, 3, 2, 1, 1});
    run_case({7, width, 18, 5, 5, 2, 1, 2});
    run_case({9, width, 16, 7, 7, 2, 1, 3});
  }
}

TEST(Depthwise, OtherShapes) {
  run_case({9, 17, 20, 3, 3, 1, 2, 2});
  run_case({13, 13, 16, 3, 3, 2, 3, 3});
  run_case({6, 9, 33, 1, 1, 1, 1, 0});
  run_case({6, 19, 19, 1, 5, 1, 1, 0});
  run_case({9, 9, 16, 4, 2, 3, 1, 0});
  run_case({12, 40, 16, 11, 11, 1, 1, 5});
  run_case({3, 3, 16, 3, 3, 1, 1, 2});
  run_case({20, 21, 300, 3, 3, 1, 1, 1});
}

TEST(Depthwise, Epilogues) {
  for (const Unary activation : {Unary::identity, Unary::relu, Unary::clip, Unary::prelu, Unary::silu}) {
    for (const bool after : {false, true}) {
      run_case({6, 11, 37, 3, 3, 1, 1, 1, true, after, activation, true, 3});
      run_case({6, 11, 24, 3, 3, 2, 1, 1, false, after, activation, false, 5});
      run_case({3, 9, 264, 3, 3, 1, 1, 1, false, after, activation, false, 5});
      run_case({6, 11, 37, 1, 1, 1, 1, 0, true, after, activation, true, 3});
      run_case({6, 11, 150, 1, 1, 1, 1, 0, false, after, activation, false, 0});
    }
  }
}

TEST(Depthwise, OutputMayBeTheResidual) {
  for (const auto& kernel : runnable(depthwise::table())) {
    Problem apart({7, 10, 21, 3, 3, 1, 1, 1, true}, 11);
    kernel.run(apart.args());
    Problem same({7, 10, 21, 3, 3, 1, 1, 1, true}, 11);
    std::copy(same.residual.values().begin(), same.residual.values().end(), same.out.data());
    for (std::size_t row = 0; row < same.out_rows.size(); ++row) same.residual_rows[row] = same.out_rows[row];
    kernel.run(same.args());
    EXPECT_EQ(0, std::memcmp(apart.out.data(), same.out.data(), apart.out.values().size_bytes())) << kernel.name;
  }
}

void expect_equal_bits(Problem& a, Problem& b, const char* what) {
  EXPECT_EQ(0, std::memcmp(a.out.data(), b.out.data(), a.out.values().size_bytes())) << what;
}

TEST(Depthwise, BitsDoNotDependOnSplits) {
  for (const Case& c : {Case{9, 17, 83, 3, 3, 1, 1, 1}, Case{9, 17, 83, 5, 5, 1, 1, 2}, Case{9, 17, 83, 3, 3, 2, 1, 1},
                        Case{9, 17, 83, 3, 3, 1, 2, 2}, Case{9, 17, 83, 1, 1, 1, 1, 0}}) {
    for (const auto& kernel : runnable(depthwise::table())) {
      Problem whole(c, 5);
      kernel.run(whole.args());
      Problem by_row(c, 5);
      for (std::size_t row = 0; row < c.rows(); ++row) {
        depthwise::Args a = by_row.args();
        a.rows = 1;
        a.in_rows += row * c.kernel_h;
        a.out_rows += row;
        kernel.run(a);
      }
      expect_equal_bits(whole, by_row, kernel.name);
      Problem by_channel(c, 5);
      const std::size_t cuts[] = {0, 5, 21, 37, 69, 83};
      for (std::size_t i = 0; i + 1 < std::size(cuts); ++i) {
        std::vector<const float*> in;
        std::vector<float*> out;
        for (const float* p : by_channel.in_rows) in.push_back(p ? p + cuts[i] : nullptr);
        for (float* p : by_channel.out_rows) out.push_back(p + cuts[i]);
        depthwise::Args a = by_channel.args();
        a.in_rows = in.data();
        a.out_rows = out.data();
        a.channels = cuts[i + 1] - cuts[i];
        a.weights += cuts[i];
        a.bias += cuts[i];
        kernel.run(a);
      }
      expect_equal_bits(whole, by_channel, kernel.name);
    }
  }
}

TEST(Depthwise, BitsDoNotDependOnThePositionInATile) {
  const Case c{5, 30, 35, 3, 3, 1, 1, 1};
  for (const auto& kernel : runnable(depthwise::table())) {
    Problem whole(c, 7);
    kernel.run(whole.args());
    for (std::size_t shift = 1; shift < 9; ++shift) {
      Problem moved(c, 7);
      std::vector<const float*> in;
      std::vector<float*> out;
      for (const float* p : moved.in_rows) in.push_back(p ? p + (shift - 1) * c.channels : nullptr);
      for (float* p : moved.out_rows) out.push_back(p + shift * c.channels);
      depthwise::Args a = moved.args();
      a.in_rows = in.data();
      a.out_rows = out.data();
      a.width_in -= shift - 1;
      a.width_out -= shift;
      a.pad_left = 0;
      kernel.run(a);
      for (std::size_t row = 0; row < c.rows(); ++row) {
        ASSERT_EQ(0, std::memcmp(whole.out_rows[row] + shift * c.channels, out[row],
                                 a.width_out * c.channels * sizeof(float)))
            << kernel.name << " shift " << shift << " row " << row;
      }
    }
  }
}

TEST(Depthwise, SkippedTapsAddNothing) {
  for (const auto& kernel : runnable(depthwise::table())) {
    Problem problem({4, 5, 19, 3, 3, 1, 1, 1}, 3);
    for (std::size_t ch = 0; ch < 19; ++ch) problem.weights.data()[ch] = std::numeric_limits<float>::infinity();
    kernel.run(problem.args());
    EXPECT_TRUE(std::isfinite(problem.out_rows[0][0])) << kernel.name;
    EXPECT_FALSE(std::isfinite(problem.out_rows[1][19])) << kernel.name;
  }
}

TEST(Depthwise, EmptyCallsTouchNothing) {
  for (const auto& kernel : runnable(depthwise::table())) {
    Problem problem({4, 5, 16, 3, 3, 1, 1, 1}, 3);
    for (const int empty : {0, 1, 2}) {
      depthwise::Args a = problem.args();
      (empty == 0 ? a.rows : empty == 1 ? a.width_out : a.channels) = 0;
      kernel.run(a);
    }
    for (const float x : problem.out.values()) ASSERT_TRUE(std::isnan(x));
  }
}

TEST(Depthwise, SelectionFollowsTheTier) {
  for (const Isa isa : kAllIsas) EXPECT_LE(depthwise::select(isa).isa, isa);
  EXPECT_EQ(Isa::baseline, depthwise::select(Isa::baseline).isa);
}

}  // namespace
}  // namespace colonnade::kernels::test
