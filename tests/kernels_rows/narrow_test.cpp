// SPDX-License-Identifier: Apache-2.0
// Products of a vector and narrow weights against their definition, bit for bit, and panels that are widened.
#include <cmath>

#include "kernels_rows/narrow_panel.hpp"
#include "kernels_rows/support.hpp"

namespace colonnade::kernels::test {
namespace {

using narrow::Format;
using narrow::kOutputs;
using narrow::Type;

void check_sums(const narrow::Kernel& kernel, const Panel& panel) {
  const Format& f = panel.format;
  const std::vector<float> x = random_floats(f.k, 11), bias = random_floats(kOutputs, 12);
  const Guarded terms(x), sums(bias), prepared(std::vector<float>(f.prepared_floats(), NAN));
  kernel.prepare({f, terms.data(), prepared.data()});
  kernel.multiply({f, panel.bytes.data(), 1, prepared.data(), sums.data()});
  ASSERT_TRUE(terms.intact() && sums.intact() && prepared.intact());
  for (std::size_t n = 0; n < kOutputs; ++n) {
    const float expected = panel.sum(x, n, bias[n]);
    if (kernel.isa == Isa::baseline) {
      ASSERT_NEAR(sums[n], expected, 2e-5 * (1 + std::fabs(expected)) * 16) << "output " << n;
    } else {
      ASSERT_EQ(sums[n], expected) << "output " << n;
    }
  }
}

/// Several vectors have the sums that each has alone.
void check_vectors(const narrow::Kernel& kernel, const Panel& panel, std::size_t vectors) {
  const Format& f = panel.format;
  const std::vector<float> bias = random_floats(vectors * kOutputs, 15), x = random_floats(vectors * f.k, 16);
  const Guarded sums(bias), alone(bias), prepared(std::vector<float>(vectors * f.prepared_floats(), NAN));
  for (std::size_t v = 0; v < vectors; ++v) {
    float* const place = prepared.data() + v * f.prepared_floats();
    kernel.prepare({f, x.data() + v * f.k, place});
    kernel.multiply({f, panel.bytes.data(), 1, place, alone.data() + v * kOutputs});
  }
  kernel.multiply({f, panel.bytes.data(), vectors, prepared.data(), sums.data()});
  ASSERT_TRUE(sums.intact() && prepared.intact());
  for (std::size_t i = 0; i < vectors * kOutputs; ++i)
    ASSERT_EQ(sums[i], alone[i]) << "vector " << i / kOutputs << " output " << i % kOutputs;
}

/// One chain of FMAs with weights that are rounded once.
void check_rows(const narrow::Kernel& kernel, const Panel& panel, std::size_t rows) {
  const std::size_t k = panel.format.k, stride = k + 3;
  const std::vector<float> bias = random_floats(rows * kOutputs, 13);
  const Guarded x(random_floats((rows - 1) * stride + k, 14)), sums(bias);
  kernel.multiply_rows(
      {panel.format, panel.bytes.data(), rows, x.data(), static_cast<std::ptrdiff_t>(stride), sums.data()});
  ASSERT_TRUE(x.intact() && sums.intact());
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t n = 0; n < kOutputs; ++n) {
      float expected = bias[r * kOutputs + n];
      for (std::size_t i = 0; i < k; ++i) expected = std::fma(x[r * stride + i], panel.weight(i, n), expected);
      if (kernel.isa == Isa::baseline) {
        ASSERT_NEAR(sums[r * kOutputs + n], expected, 1e-3 * (1 + std::fabs(expected)));
      } else {
        ASSERT_EQ(sums[r * kOutputs + n], expected) << "row " << r << " output " << n;
      }
    }
}

void check_widened(const narrow::Kernel& kernel, const Panel& panel, std::size_t first, std::size_t count) {
  const Guarded to(std::vector<float>(count * kOutputs, NAN));
  kernel.widen({panel.format, panel.bytes.data(), first, count, to.data()});
  ASSERT_TRUE(to.intact());
  for (std::size_t n = 0; n < kOutputs; ++n)
    for (std::size_t k = 0; k < count; ++k)
      ASSERT_EQ(to[(n / 16 * count + k) * 16 + n % 16], panel.weight(first + k, n)) << "row " << k << " output " << n;
}

TEST(Narrow, EverySizeTypeAndZero) {
  for (const narrow::Kernel& kernel : runnable(narrow::table()))
    for (const std::size_t k : {1, 2, 7, 8, 9, 31, 32, 33, 100, 129, 300})
      for (const std::size_t block : {16, 32, 256, 1000})
        for (const float zero : {0.0f, 8.0f, 15.0f, -128.0f, 127.0f})
          for (const bool has_zeros : {false, true}) {
            const bool scaled = narrow::is_scaled(kernel.type);
            if ((has_zeros && zero != 0) || (!scaled && (has_zeros || zero != 0 || block < k))) continue;
            if (kernel.type == Type::u4 && zero < 0) continue;
            SCOPED_TRACE(std::string(kernel.name) + " k " + std::to_string(k) + " block " + std::to_string(block) +
                         " zero " + std::to_string(zero) + (has_zeros ? " zeros" : ""));
            const Panel panel(kernel.type, k, block, has_zeros, zero, static_cast<unsigned>(k + block));
            check_sums(kernel, panel);
            check_rows(kernel, panel, 1 + k % narrow::kMostRows);
            check_vectors(kernel, panel, 2 + k % 9);
            check_widened(kernel, panel, 0, k);
            if (k > 8) check_widened(kernel, panel, 8, k - 8);
            if (k > 24) check_widened(kernel, panel, 16, 3);
          }
}

}  // namespace
}  // namespace colonnade::kernels::test
