// SPDX-License-Identifier: Apache-2.0
#include "kernels/fourier/fourier.hpp"

#include <complex>
#include <numbers>

#include "kernels_rows/support.hpp"

namespace colonnade::kernels::test {
namespace {

using fourier::Args;
using fourier::Kernel;
using Signal = std::vector<std::complex<double>>;

std::complex<double> root(std::size_t k, std::size_t n) {
  return std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k % n) / static_cast<double>(n));
}

/// By its definition, without the division by the length.
Signal transform_of(const Signal& x, bool inverse) {
  Signal y(x.size());
  for (std::size_t k = 0; k < x.size(); ++k)
    for (std::size_t j = 0; j < x.size(); ++j) {
      const std::complex<double> turn = root(j * k, x.size());
      y[k] += x[j] * (inverse ? std::conj(turn) : turn);
    }
  return y;
}

std::vector<float> roots(std::size_t length, std::size_t count) {
  std::vector<float> list;
  for (std::size_t k = 0; k < count; ++k) {
    list.push_back(static_cast<float>(root(k, length).real()));
    list.push_back(static_cast<float>(root(k, length).imag()));
  }
  return list;
}

struct Case {
  std::size_t length, taken, in_parts, out_count, out_parts;
  bool inverse = false, mirrored = false, windowed = false;
};

/// What the case's arguments ask for, of one signal.
Signal expected_of(const Case& c, const float* in, const std::vector<float>& window) {
  Signal x(c.length);
  for (std::size_t k = 0; k < c.taken; ++k) {
    const double factor = c.windowed ? static_cast<double>(window[k]) : 1;
    x[k] = {static_cast<double>(in[k * c.in_parts]) * factor,
            c.in_parts == 2 ? static_cast<double>(in[k * c.in_parts + 1]) * factor : 0};
  }
  for (std::size_t k = std::max<std::size_t>(1, c.taken); k < c.length && c.mirrored; ++k)
    if (c.length - k < c.taken) x[k] = std::conj(x[c.length - k]);
  return transform_of(x, c.inverse);
}

/// Signals of `count` lanes, transformed together.
std::vector<std::vector<float>> run(const Kernel& kernel, const Case& c, std::vector<std::vector<float>> signals,
                                    const std::vector<float>& window) {
  Args a;
  fourier::Plan plan;
  a.halved = c.in_parts == 1 && !c.inverse && c.length % 2 == 0;
  EXPECT_TRUE(fourier::plan_length(a.halved ? c.length / 2 : c.length, plan));
  const std::vector<float> of_plan = roots(plan.length, plan.length), twists = roots(c.length, plan.length);
  plan.roots = of_plan.data();
  std::vector<std::vector<float>> results(signals.size(), std::vector<float>(c.out_count * c.out_parts, 7));
  std::vector<const float*> in;
  std::vector<float*> out;
  for (const auto& signal : signals) in.push_back(signal.data());
  for (auto& result : results) out.push_back(result.data());
  std::vector<float> work(fourier::kWorkFloats * c.length * kernel.lanes, std::nanf(""));
  a.plan = &plan;
  a.in = in.data();
  a.out = out.data();
  a.count = signals.size();
  a.length = c.length;
  a.taken = c.taken;
  a.in_step = static_cast<std::ptrdiff_t>(c.in_parts);
  a.in_parts = c.in_parts;
  a.window = c.windowed ? window.data() : nullptr;
  a.mirrored = c.mirrored;
  a.inverse = c.inverse;
  a.twists = twists.data();
  a.out_count = c.out_count;
  a.out_step = static_cast<std::ptrdiff_t>(c.out_parts);
  a.out_parts = c.out_parts;
  a.work = work.data();
  kernel.transform(a);
  return results;
}

void check(const Kernel& kernel, const Case& c) {
  SCOPED_TRACE(std::string(kernel.name) + " " + std::to_string(c.length) + " of " + std::to_string(c.taken) + " x " +
               std::to_string(c.in_parts));
  std::mt19937 random(static_cast<unsigned>(c.length));
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<std::vector<float>> signals(kernel.lanes, std::vector<float>(c.taken * c.in_parts));
  for (auto& signal : signals)
    for (float& x : signal) x = uniform(random);
  std::vector<float> window(c.taken);
  for (float& x : window) x = uniform(random);
  const auto results = run(kernel, c, signals, window);
  const double bound = 1e-6 * std::sqrt(static_cast<double>(c.length)) * std::log2(static_cast<double>(c.length) + 2);
  for (std::size_t i = 0; i < signals.size(); ++i) {
    const Signal expected = expected_of(c, signals[i].data(), window);
    for (std::size_t k = 0; k < c.out_count; ++k) {
      ASSERT_NEAR(results[i][k * c.out_parts], expected[k].real(), bound) << i << " " << k;
      for (std::size_t part = 1; part < c.out_parts; ++part)
        ASSERT_NEAR(results[i][k * 2 + 1], expected[k].imag(), bound) << i << " " << k;
    }
    // alone as among others
    ASSERT_EQ(run(kernel, c, {signals[i]}, window).front(), results[i]);
  }
}

constexpr std::size_t kLengths[] = {1,  2,  3,  4,  5,  6,  7,   8,   9,   11,  13,  16, 20,
                                    22, 25, 26, 49, 64, 91, 100, 105, 128, 143, 400, 512};

TEST(Fourier, OfComplexNumbers) {
  for (const Kernel& kernel : runnable(fourier::table()))
    for (const std::size_t n : kLengths)
      for (const bool inverse : {false, true}) {
        check(kernel, {n, n, 2, n, 2, inverse});
        check(kernel, {n, n / 2 + 1, 2, n, 2, inverse});
      }
}

TEST(Fourier, OfRealNumbers) {
  for (const Kernel& kernel : runnable(fourier::table()))
    for (const std::size_t n : kLengths) {
      check(kernel, {n, n, 1, n, 2});
      check(kernel, {n, n, 1, n / 2 + 1, 2, false, false, true});
      check(kernel, {n, (n + 2) / 3, 1, n / 2 + 1, 2});
      check(kernel, {n, n, 1, n, 2, true});
    }
}

TEST(Fourier, BackToRealNumbers) {
  for (const Kernel& kernel : runnable(fourier::table()))
    for (const std::size_t n : kLengths) {
      check(kernel, {n, n / 2 + 1, 2, n, 1, true, true});
      check(kernel, {n, n / 4 + 1, 2, n, 1, true, true});
    }
}

TEST(Fourier, KnowsWhichLengthsItHas) {
  fourier::Plan plan;
  for (const std::size_t n : kLengths) {
    ASSERT_TRUE(fourier::plan_length(n, plan));
    std::size_t product = 1;
    for (std::size_t i = 0; i < plan.passes; ++i) product *= plan.radices[i];
    EXPECT_EQ(product, n);
  }
  for (const std::size_t n : {std::size_t{0}, std::size_t{17}, std::size_t{34}, std::size_t{1009}})
    EXPECT_FALSE(fourier::plan_length(n, plan)) << n;
}

}  // namespace
}  // namespace colonnade::kernels::test
