// SPDX-License-Identifier: Apache-2.0
#include "kernels/grid_sample/grid_sample.hpp"

#include "kernels_rows/support.hpp"

namespace colonnade::kernels::test {
namespace {

using grid_sample::Args;
using grid_sample::Mode;
using grid_sample::Padding;

struct Case {
  Mode mode;
  Padding padding;
  bool align_corners;
  std::size_t height, width, channels;
  std::size_t gap = 0;  ///< floats between pixels beyond the channels
  bool planes = false;  ///< a channel's pixels side by side
};

struct Problem {
  Case c;
  std::size_t positions;
  Guarded image, grid, out;

  Problem(const Case& k, std::span<const float> where, unsigned seed)
      : c(k),
        positions(where.size() / 2),
        image(random_floats((k.height * k.width - 1) * (k.channels + k.gap) + k.channels, seed),
              seed % 2 ? Edge::front : Edge::back),
        grid(where),
        out(positions * k.channels) {}

  Args args() const {
    Args a;
    a.mode = c.mode;
    a.padding = c.padding;
    a.align_corners = c.align_corners;
    a.positions = positions;
    a.height = c.height;
    a.width = c.width;
    a.channels = c.channels;
    a.image = image.data();
    a.pixel_stride = static_cast<std::ptrdiff_t>(c.planes ? 1 : c.channels + c.gap);
    a.channel_stride = static_cast<std::ptrdiff_t>(c.planes ? c.height * c.width : 1);
    a.grid = grid.data();
    a.out = out.data();
    return a;
  }

  /// A coordinate mirrored at the ends of its axis until it lies between them.
  double reflected(double x, std::size_t size) const {
    const double low = c.align_corners ? 0 : -0.5, high = static_cast<double>(size) - (c.align_corners ? 1 : 0.5);
    if (high <= low) return 0;
    while (x < low || x > high) x = x < low ? 2 * low - x : 2 * high - x;
    return x;
  }
  /// The element of an axis at an index, where it is outside by the padding; -1: counts as zero.
  std::ptrdiff_t element(double index, std::size_t size) const {
    const double last = static_cast<double>(size) - 1;
    if (index >= 0 && index <= last) return static_cast<std::ptrdiff_t>(index);
    if (c.padding == Padding::zeros) return -1;
    if (c.padding == Padding::reflection) index = std::trunc(reflected(index, size));
    return static_cast<std::ptrdiff_t>(std::clamp(index, 0.0, last));
  }
  /// Where on the axis a grid's number lies, brought inside as padding says.
  double position(double g, std::size_t size) const {
    const auto n = static_cast<double>(size);
    double x = c.align_corners ? (g + 1) / 2 * (n - 1) : ((g + 1) * n - 1) / 2;
    if (c.mode == Mode::nearest) x = std::nearbyint(x);
    const double low = c.align_corners ? 0 : -0.5, high = n - (c.align_corners ? 1 : 0.5);
    if ((x < low || x > high) && c.padding == Padding::border) x = std::clamp(x, 0.0, n - 1);
    if (c.padding == Padding::reflection) x = reflected(x, size);
    return x;
  }
  static double weight(Mode mode, double distance) {
    const double d = std::fabs(distance), a = -0.75;
    if (mode == Mode::nearest) return 1;
    if (mode == Mode::linear) return 1 - d;
    return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  }
  double exact(std::size_t p, std::size_t channel) const {
    const double x = position(static_cast<double>(grid[2 * p]), c.width);
    const double y = position(static_cast<double>(grid[2 * p + 1]), c.height);
    const int before = c.mode == Mode::cubic ? 1 : 0, taps = c.mode == Mode::nearest  ? 1
                                                             : c.mode == Mode::linear ? 2
                                                                                      : 4;
    const double left = c.mode == Mode::nearest ? x : std::floor(x) - before;
    const double top = c.mode == Mode::nearest ? y : std::floor(y) - before;
    double sum = 0;
    for (int j = 0; j < taps; ++j)
      for (int i = 0; i < taps; ++i) {
        const std::ptrdiff_t row = element(top + j, c.height), column = element(left + i, c.width);
        if (row < 0 || column < 0) continue;
        const Args a = args();
        const std::ptrdiff_t pixel = row * static_cast<std::ptrdiff_t>(c.width) + column;
        sum += weight(c.mode, top + j - y) * weight(c.mode, left + i - x) *
               static_cast<double>(
                   a.image[pixel * a.pixel_stride + static_cast<std::ptrdiff_t>(channel) * a.channel_stride]);
      }
    return sum;
  }
};

void check(const Case& c, std::span<const float> where, unsigned seed) {
  for (const auto& kernel : runnable(grid_sample::table())) {
    const Problem problem(c, where, seed);
    kernel.run(problem.args());
    ASSERT_TRUE(problem.image.intact() && problem.grid.intact() && problem.out.intact()) << kernel.name;
    for (std::size_t i = 0; i < problem.out.size(); ++i)
      ASSERT_NEAR(problem.out[i], problem.exact(i / c.channels, i % c.channels), 1e-5)
          << kernel.name << " mode " << static_cast<int>(c.mode) << " padding " << static_cast<int>(c.padding)
          << (c.align_corners ? " aligned " : " ") << c.height << 'x' << c.width << 'x' << c.channels << " at "
          << where[i / c.channels * 2] << ',' << where[i / c.channels * 2 + 1];
  }
}

template <class Body>
void for_modes(Body body) {
  for (const Mode mode : {Mode::nearest, Mode::linear, Mode::cubic})
    for (const Padding padding : {Padding::zeros, Padding::border, Padding::reflection})
      for (const bool align : {true, false}) body(mode, padding, align);
}

TEST(GridSample, InsideAndFarOutside) {
  unsigned seed = 1;
  for_modes([&](Mode mode, Padding padding, bool align) {
    for (const std::size_t channels : kChannelCounts)
      ASSERT_NO_FATAL_FAILURE(
          check({mode, padding, align, 5, 7, channels, seed % 3}, random_floats(34, seed, -2.7f, 2.7f), seed));
    ++seed;
  });
}

TEST(GridSample, SmallImagesCornersAndPlanes) {
  const std::vector<float> corners = {-1, -1, 1, 1, -1, 1, 1, -1, 0, 0, 0.5f, -0.25f};
  for_modes([&](Mode mode, Padding padding, bool align) {
    for (const auto& [height, width] : {std::pair<std::size_t, std::size_t>{1, 1}, {1, 6}, {6, 1}, {2, 3}}) {
      ASSERT_NO_FATAL_FAILURE(check({mode, padding, align, height, width, 17}, corners, 50));
      ASSERT_NO_FATAL_FAILURE(check({mode, padding, align, height, width, 5, 0, true}, corners, 51));
    }
  });
}

/// Positions beyond all numbers read nothing outside the image.
TEST(GridSample, PositionsThatAreNoNumbers) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> odd = {infinity, 0, -infinity, 0, std::numeric_limits<float>::quiet_NaN(), 0, 0, 3e38f};
  for_modes([&](Mode mode, Padding padding, bool align) {
    for (const auto& kernel : runnable(grid_sample::table()))
      for (const unsigned seed : {60u, 61u}) {
        const Problem problem({mode, padding, align, 4, 4, 19}, odd, seed);
        kernel.run(problem.args());
        ASSERT_TRUE(problem.out.intact());
        const auto values = problem.out.values();
        ASSERT_TRUE(std::all_of(values.begin(), values.end(), [](float x) { return std::fabs(x) < 10; }))
            << kernel.name;
        if (padding == Padding::zeros) {
          ASSERT_TRUE(std::all_of(values.begin(), values.end(), [](float x) { return x == 0; })) << kernel.name;
        }
      }
  });
}

TEST(GridSample, NoPositions) {
  for (const auto& kernel : runnable(grid_sample::table())) {
    const Problem problem({Mode::linear, Padding::zeros, false, 3, 3, 4}, {}, 1);
    kernel.run(problem.args());
    ASSERT_TRUE(problem.out.intact());
  }
}

}  // namespace
}  // namespace colonnade::kernels::test
