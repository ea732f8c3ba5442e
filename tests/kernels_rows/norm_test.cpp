// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/norm.hpp"

#include "kernels_rows/support.hpp"

namespace colonnade::kernels::test {
namespace {

constexpr std::size_t kChannels[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 67, 131, 257};
constexpr double kRounding = 6e-8;

/// Pixels `gap` floats apart, in and out, and a copy to work on in place.
struct Rows {
  std::size_t pixels, channels, stride;
  std::vector<float> values;
  Guarded in, out, same;

  Rows(std::size_t p, std::size_t c, std::size_t gap, float low, float high)
      : pixels(p),
        channels(c),
        stride(c + gap),
        values(random_floats((p - 1) * stride + c, static_cast<unsigned>(c), low, high)),
        in(values, gap ? Edge::front : Edge::back),
        out(values.size()),
        same(values, Edge::back) {}

  std::ptrdiff_t step() const { return static_cast<std::ptrdiff_t>(stride); }

  /// Compares every output with want(pixel's values, channel); in place must give the same bits.
  template <class Want>
  void check(Want want, double tolerance, const char* name) {
    for (std::size_t p = 0; p < pixels; ++p) {
      const float* pixel = values.data() + p * stride;
      for (std::size_t c = 0; c < channels; ++c) {
        const std::size_t i = p * stride + c;
        const double w = want(pixel, c);
        ASSERT_NEAR(out.data()[i], w, tolerance * (1 + std::fabs(w))) << name << " channels " << channels << " c " << c;
        ASSERT_EQ(0, std::memcmp(out.data() + i, same.data() + i, sizeof(float))) << name << " in place " << channels;
      }
    }
    ASSERT_TRUE(out.intact() && same.intact());
  }
};

double log_sum_exp(const float* x, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += std::exp(static_cast<double>(x[i]) - x[0]);
  return x[0] + std::log(sum);
}

/// More pixels than go together, and lines too long for that.
TEST(Norm, Softmax) {
  constexpr std::size_t kPixels = 6;
  std::vector<std::size_t> counts(std::begin(kChannels), std::end(kChannels));
  for (const std::size_t count : {1023, 1024, 1029}) counts.push_back(count);
  for (const auto& kernel : runnable(norm::table())) {
    for (const std::size_t channels : counts) {
      for (const bool log : {false, true}) {
        Rows rows(kPixels, channels, channels % 3, -30, 30);
        kernel.softmax({kPixels, channels, rows.in.data(), rows.out.data(), rows.step(), rows.step(), log});
        kernel.softmax({kPixels, channels, rows.same.data(), rows.same.data(), rows.step(), rows.step(), log});
        rows.check(
            [&](const float* x, std::size_t c) {
              const double y = x[c] - log_sum_exp(x, channels);
              return log ? y : std::exp(y);
            },
            kRounding * (8 + std::sqrt(static_cast<double>(channels))), kernel.name);
      }
    }
  }
}

TEST(Norm, SoftmaxOfLargeAndInfiniteValues) {
  for (const auto& kernel : runnable(norm::table())) {
    std::vector<float> x = {3e38f, -3e38f, 3e38f, -std::numeric_limits<float>::infinity(), 0};
    kernel.softmax({1, 5, x.data(), x.data(), 5, 5, false});
    EXPECT_EQ(x, (std::vector<float>{0.5f, 0, 0.5f, 0, 0})) << kernel.name;
  }
}

/// Down to the least normal number; below it there may be zeros.
TEST(Norm, SoftmaxOfSmallShares) {
  for (const auto& kernel : runnable(norm::table()))
    for (const float below : {1.0f, 20.0f, 60.0f, 86.0f, 87.2f}) {
      std::vector<float> x = {0, -below, -below / 2, -1000};
      kernel.softmax({1, 4, x.data(), x.data(), 4, 4, false});
      const double sum = 1 + std::exp(-static_cast<double>(below)) + std::exp(-static_cast<double>(below / 2));
      EXPECT_NEAR(x[1] * sum / std::exp(-static_cast<double>(below)), 1, 1e-6) << kernel.name << " " << below;
      EXPECT_EQ(x[3], 0) << kernel.name;
    }
}

TEST(Norm, LayerNorm) {
  for (const auto& kernel : runnable(norm::table())) {
    for (const std::size_t channels : kChannels) {
      for (const int form : {0, 1, 2, 3}) {
        const bool rms = form >= 2;
        Rows rows(3, channels, channels % 2, -1, 3);
        Guarded scale(random_floats(channels, 5), Edge::back);
        Guarded bias(random_floats(channels, 6), Edge::back);
        const float* shift = form % 2 == 1 ? nullptr : bias.data();
        const float epsilon = 1e-3f;
        kernel.layer_norm({3, channels, rows.in.data(), rows.out.data(), rows.step(), rows.step(), scale.data(), shift,
                           epsilon, rms});
        kernel.layer_norm({3, channels, rows.same.data(), rows.same.data(), rows.step(), rows.step(), scale.data(),
                           shift, epsilon, rms});
        const auto want = [&](const float* x, std::size_t c) {
          double mean = 0;
          double square = 0;
          for (std::size_t i = 0; i < channels && !rms; ++i) mean += x[i] / static_cast<double>(channels);
          for (std::size_t i = 0; i < channels; ++i)
            square += (x[i] - mean) * (x[i] - mean) / static_cast<double>(channels);
          return (x[c] - mean) / std::sqrt(square + epsilon) * scale.data()[c] + (shift ? shift[c] : 0.0f);
        };
        rows.check(want, 200 * kRounding, kernel.name);
      }
    }
  }
}

double reduced(norm::Reduction op, const std::vector<float>& x, std::size_t pixels, std::size_t stride, std::size_t c) {
  double sum = 0, product = 1, magnitudes = 0, squares = 0, powers = 0;
  double largest = x[c];
  double smallest = x[c];
  for (std::size_t p = 0; p < pixels; ++p) {
    const double v = x[p * stride + c];
    sum += v;
    product *= v;
    magnitudes += std::abs(v);
    squares += v * v;
    powers += std::exp(v);
    largest = std::max(largest, v);
    smallest = std::min(smallest, v);
  }
  switch (op) {
    case norm::Reduction::sum: return sum;
    case norm::Reduction::mean: return sum / static_cast<double>(pixels);
    case norm::Reduction::max: return largest;
    case norm::Reduction::min: return smallest;
    case norm::Reduction::prod: return product;
    case norm::Reduction::l1: return magnitudes;
    case norm::Reduction::l2: return std::sqrt(squares);
    case norm::Reduction::log_sum: return std::log(sum);
    case norm::Reduction::log_sum_exp: return std::log(powers);
    case norm::Reduction::sum_square: return squares;
  }
  return 0;
}

bool adds_up(norm::Reduction op) {
  return op == norm::Reduction::sum || op == norm::Reduction::l1 || op == norm::Reduction::sum_square;
}

void check_reduce(const norm::Kernel& kernel, norm::Reduction op, std::size_t pixels, std::size_t channels,
                  std::size_t lines) {
  const std::size_t stride = channels + pixels % 2, line = pixels * stride + 1;
  const bool positive = op == norm::Reduction::log_sum;
  const auto values = random_floats((lines - 1) * line + (pixels - 1) * stride + channels, 8, positive ? 0.1f : -1.0f);
  Guarded in(values, Edge::back);
  Guarded out(lines * channels);
  kernel.reduce({op, pixels, channels, in.data(), out.data(), static_cast<std::ptrdiff_t>(stride), lines,
                 static_cast<std::ptrdiff_t>(line)});
  const bool exact = op == norm::Reduction::max || op == norm::Reduction::min;
  const double tolerance = exact ? 0 : kRounding * 30 * (adds_up(op) ? static_cast<double>(pixels) : 8);
  for (std::size_t l = 0; l < lines; ++l)
    for (std::size_t c = 0; c < channels; ++c)
      ASSERT_NEAR(out.data()[l * channels + c], reduced(op, values, pixels, stride, l * line + c), tolerance)
          << kernel.name << " reduction " << static_cast<int>(op) << " channels " << channels << " pixels " << pixels;
  ASSERT_TRUE(out.intact());
}

TEST(Norm, Reduce) {
  for (const auto& kernel : runnable(norm::table()))
    for (int op = 0; op < norm::kReductionCount; ++op)
      for (const std::size_t channels : kChannels)
        for (const std::size_t pixels : {1u, 2u, 127u, 128u, 129u, 300u})
          check_reduce(kernel, static_cast<norm::Reduction>(op), pixels, channels, 1 + pixels % 2);
}

TEST(Norm, ReduceLines) {
  for (const auto& kernel : runnable(norm::table()))
    for (int op = 0; op < norm::kReductionCount; ++op)
      for (const std::size_t lines : {1u, 3u, 4u, 8u, 15u, 16u, 17u, 35u})
        for (const std::size_t pixels : {1u, 5u, 16u, 56u, 150u})
          check_reduce(kernel, static_cast<norm::Reduction>(op), pixels, 1, lines);
}

/// A line of many gives the bits of the line alone.
TEST(Norm, ReduceDoesNotDependOnOtherLines) {
  for (const auto& kernel : runnable(norm::table()))
    for (int op = 0; op < norm::kReductionCount; ++op) {
      const auto values = random_floats(40 * 77, 9, 0.1f);
      std::vector<float> all(40), alone(40);
      const auto kind = static_cast<norm::Reduction>(op);
      kernel.reduce({kind, 77, 1, values.data(), all.data(), 1, 40, 77});
      for (std::size_t i = 0; i < 40; ++i) kernel.reduce({kind, 77, 1, values.data() + i * 77, &alone[i], 1});
      EXPECT_EQ(all, alone) << kernel.name << " reduction " << op;
    }
}

TEST(Norm, ReduceKeepsNan) {
  for (const auto& kernel : runnable(norm::table())) {
    for (const std::size_t at : {0u, 20u, 46u}) {
      std::vector<float> x(47, 1.0f);
      x[at] = std::nanf("");
      float out = 0;
      kernel.reduce({norm::Reduction::max, 47, 1, x.data(), &out, 1});
      EXPECT_TRUE(std::isnan(out)) << kernel.name;
    }
  }
}

/// Of one sign or both, with what is not a number or infinite anywhere among them.
TEST(Norm, RangeOfValuesAndZero) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const auto& kernel : runnable(norm::table()))
    for (const std::size_t count : {0u, 1u, 3u, 4u, 7u, 8u, 9u, 15u, 16u, 17u, 31u, 32u, 33u, 64u, 65u, 131u, 1031u})
      for (const float low : {-2.0f, -1.0f, 1.0f})
        for (const float special : {0.0f, kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
          auto values = random_floats(count, 8, low, low + 1.5f);
          if (special != 0 && count > 0) values[count * 2 / 3] = special;
          Guarded in(values, Edge::back), out(2);
          kernel.range({in.data(), count, out.data(), out.data() + 1});
          float least = 0, most = 0;
          for (const float value : values) least = std::fmin(least, value), most = std::fmax(most, value);
          if (count > 0 && std::isnan(special)) least = most = special;
          const auto same = [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); };
          ASSERT_TRUE(same(out.data()[0], least))
              << kernel.name << ' ' << count << ": " << out.data()[0] << ' ' << least;
          ASSERT_TRUE(same(out.data()[1], most)) << kernel.name << ' ' << count << ": " << out.data()[1] << ' ' << most;
          ASSERT_TRUE(out.intact());
        }
}

TEST(Norm, ReduceDoesNotDependOnChannelSplits) {
  for (const auto& kernel : runnable(norm::table())) {
    const auto values = random_floats(300 * 99, 8);
    std::vector<float> whole(99), parts(99);
    kernel.reduce({norm::Reduction::sum, 300, 99, values.data(), whole.data(), 99});
    const std::size_t cuts[] = {0, 5, 21, 85, 99};
    for (std::size_t i = 0; i + 1 < std::size(cuts); ++i) {
      kernel.reduce(
          {norm::Reduction::sum, 300, cuts[i + 1] - cuts[i], values.data() + cuts[i], parts.data() + cuts[i], 99});
    }
    EXPECT_EQ(whole, parts) << kernel.name;
  }
}

TEST(Norm, ReduceOfOneChannelDoesNotDependOnWhereItLies) {
  for (const auto& kernel : runnable(norm::table())) {
    for (const std::size_t pixels : {1u, 7u, 55u, 300u}) {
      const auto values = random_floats(pixels, 9, 0.1f);
      std::vector<float> spread(pixels * 3, NAN);
      for (std::size_t p = 0; p < pixels; ++p) spread[p * 3] = values[p];
      for (int kind = 0; kind < norm::kReductionCount; ++kind) {
        const auto op = static_cast<norm::Reduction>(kind);
        float dense = 0, strided = 0;
        kernel.reduce({op, pixels, 1, values.data(), &dense, 1});
        kernel.reduce({op, pixels, 1, spread.data(), &strided, 3});
        EXPECT_EQ(dense, strided) << kernel.name << ", " << pixels << " pixels";
      }
    }
  }
}

TEST(Norm, SoftmaxAcross) {
  for (const auto& kernel : runnable(norm::table()))
    for (const std::size_t count : kChannels)
      for (const std::size_t size : {1u, 2u, 21u})
        for (const bool log : {false, true}) {
          const std::size_t stride = count + 3;
          const auto values = random_floats((size - 1) * stride + count, 11, -20, 20);
          Guarded in(values, Edge::back), out(values.size()), same(values, Edge::front);
          kernel.softmax_across({size, count, in.data(), out.data(), static_cast<std::ptrdiff_t>(stride), log});
          kernel.softmax_across({size, count, same.data(), same.data(), static_cast<std::ptrdiff_t>(stride), log});
          for (std::size_t k = 0; k < count; ++k) {
            double top = -1e30, sum = 0;
            for (std::size_t i = 0; i < size; ++i) top = std::max<double>(top, values[i * stride + k]);
            for (std::size_t i = 0; i < size; ++i) sum += std::exp(values[i * stride + k] - top);
            for (std::size_t i = 0; i < size; ++i) {
              const double x = values[i * stride + k] - top, want = log ? x - std::log(sum) : std::exp(x) / sum;
              ASSERT_NEAR(out.data()[i * stride + k], want, 20 * kRounding * (log ? 40 : 1)) << kernel.name;
              ASSERT_EQ(out.data()[i * stride + k], same.data()[i * stride + k]) << kernel.name;
            }
          }
          ASSERT_TRUE(out.intact());
        }
}

TEST(Norm, LineNorm) {
  for (const auto& kernel : runnable(norm::table()))
    for (const std::size_t count : {1u, 3u, 16u, 67u, 4096u, 9001u}) {
      const auto values = random_floats(count, 12, 2, 5);
      Guarded in(values, Edge::back), out(count);
      kernel.line_norm({count, in.data(), out.data(), 1.5f, -0.5f, 1e-3f});
      double mean = 0, variance = 0;
      for (const float x : values) mean += x / static_cast<double>(count);
      for (const float x : values) variance += (x - mean) * (x - mean) / static_cast<double>(count);
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_NEAR(out.data()[i], (values[i] - mean) / std::sqrt(variance + 1e-3) * 1.5 - 0.5, 300 * kRounding)
            << kernel.name << " count " << count;
      ASSERT_TRUE(out.intact());
    }
}

TEST(Norm, InstanceNorm) {
  for (const auto& kernel : runnable(norm::table())) {
    for (const std::size_t channels : kChannels) {
      for (const std::size_t pixels : {1u, 3u, 130u, 257u}) {
        Rows rows(pixels, channels, channels % 2, 1, 3);
        Guarded scale(random_floats(channels, 5), Edge::back);
        Guarded bias(random_floats(channels, 6), Edge::back);
        Guarded scratch(2 * channels);
        const float epsilon = 1e-3f;
        kernel.instance_norm({pixels, channels, rows.in.data(), rows.out.data(), rows.step(), rows.step(), scale.data(),
                              bias.data(), epsilon, scratch.data()});
        kernel.instance_norm({pixels, channels, rows.same.data(), rows.same.data(), rows.step(), rows.step(),
                              scale.data(), bias.data(), epsilon, scratch.data()});
        std::vector<double> mean(channels), factor(channels);
        for (std::size_t c = 0; c < channels; ++c) {
          mean[c] = reduced(norm::Reduction::mean, rows.values, pixels, rows.stride, c);
          double square = 0;
          for (std::size_t p = 0; p < pixels; ++p) square += std::pow(rows.values[p * rows.stride + c] - mean[c], 2);
          factor[c] = scale.data()[c] / std::sqrt(square / static_cast<double>(pixels) + epsilon);
        }
        rows.check([&](const float* x, std::size_t c) { return (x[c] - mean[c]) * factor[c] + bias.data()[c]; },
                   300 * kRounding, kernel.name);
        ASSERT_TRUE(scratch.intact());
      }
    }
  }
}

TEST(Norm, LocalResponse) {
  for (const auto& kernel : runnable(norm::table())) {
    for (const std::size_t channels : kChannels) {
      for (const std::size_t size : {1u, 2u, 3u, 5u, 9u}) {
        const float beta = size == 2 ? 0.5f : size == 3 ? 0.6f : size == 9 ? 1.0f : 0.75f;
        Rows rows(2, channels, channels % 3, -3, 3);
        kernel.lrn({2, channels, rows.in.data(), rows.out.data(), rows.step(), rows.step(), size, 0.3f, beta, 1.5f});
        std::copy(rows.out.values().begin(), rows.out.values().end(), rows.same.data());
        rows.check(
            [&](const float* x, std::size_t c) {
              double sum = 0;
              for (std::size_t j = 0; j < channels; ++j) {
                if (j + (size - 1) / 2 >= c && j <= c + size / 2) sum += static_cast<double>(x[j]) * x[j];
              }
              return x[c] / std::pow(1.5f + 0.3f / static_cast<double>(size) * sum, static_cast<double>(beta));
            },
            12 * kRounding, kernel.name);
      }
    }
  }
}

TEST(Norm, EmptyCallsTouchNothing) {
  for (const auto& kernel : runnable(norm::table())) {
    kernel.softmax({0, 5, nullptr, nullptr, 5, 5, false});
    kernel.layer_norm({0, 5, nullptr, nullptr, 5, 5, nullptr, nullptr, 0, false});
    kernel.reduce({norm::Reduction::sum, 3, 0, nullptr, nullptr, 5});
    kernel.instance_norm({0, 5, nullptr, nullptr, 5, 5, nullptr, nullptr, 0, nullptr});
    kernel.lrn({0, 5, nullptr, nullptr, 5, 5, 3, 1, 1, 1});
    float out[2] = {7, 7};
    kernel.reduce({norm::Reduction::sum, 0, 2, nullptr, out, 5});
    EXPECT_EQ(out[0] + out[1], 0) << kernel.name;
  }
}

}  // namespace
}  // namespace colonnade::kernels::test
