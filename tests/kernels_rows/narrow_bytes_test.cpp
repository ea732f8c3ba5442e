// SPDX-License-Identifier: Apache-2.0
// Products of rows as bytes and numbers of four or eight bits against their definition, bit for bit.
#include "kernels/narrow_bytes/narrow_bytes.hpp"

#include <limits>

#include "kernels_rows/narrow_panel.hpp"

namespace colonnade::kernels::test {
namespace {

using narrow::Format;
using narrow::kOutputs;

/// The definition: a row times output n.
float sum_of(const Panel& panel, const float* x, std::size_t n, float bias) {
  const Format& f = panel.format;
  float total = bias;
  for (std::size_t first = 0; first < f.k; first += f.block) {
    const std::size_t end = std::min(f.k, first + f.block);
    float most = 0;
    for (std::size_t k = first; k < end; ++k) most = std::max(most, std::fabs(x[k]));
    const float inverse = most < 0x1p-100f ? 0 : 127 / most;
    const float scale = panel.scales[first / f.block * kOutputs + n] * (most < 0x1p-100f ? 0 : most / 127);
    float t = 0, q_sum = 0;
    for (std::size_t k = first; k < end; ++k) {
      const float q = std::nearbyint(x[k] * inverse);
      t += q * panel.numbers[k * kOutputs + n];
      q_sum += q;
    }
    if (f.has_zeros || f.zero != 0) t = std::fma(-panel.zeros[first / f.block * kOutputs + n], q_sum, t);
    total = std::fma(scale, t, total);
  }
  return total;
}

void check(const narrow_bytes::Kernel& kernel, const Panel& panel, std::size_t rows, const std::vector<float>& values) {
  const Format& f = panel.format;
  const std::size_t stride = f.k + 3;
  const std::vector<float> bias = random_floats(rows * kOutputs, 21);
  const Guarded x(values), sums(bias);
  std::vector<std::byte> prepared(narrow_bytes::prepared_bytes(f, rows) + 64, std::byte{0x55});
  kernel.prepare({f, rows, x.data(), static_cast<std::ptrdiff_t>(stride), prepared.data()});
  for (std::size_t i = prepared.size() - 64; i < prepared.size(); ++i) ASSERT_EQ(prepared[i], std::byte{0x55});
  kernel.multiply({f, rows, panel.bytes.data(), prepared.data(), sums.data()});
  ASSERT_TRUE(x.intact() && sums.intact());
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t n = 0; n < kOutputs; ++n) {
      const float found = sums[r * kOutputs + n];
      const float expected = sum_of(panel, values.data() + r * stride, n, bias[r * kOutputs + n]);
      if (kernel.isa == Isa::baseline) {
        ASSERT_NEAR(found, expected, 1e-4 * (1 + std::fabs(expected))) << "row " << r << " output " << n;
      } else {
        ASSERT_EQ(found, expected) << "row " << r << " output " << n;
      }
    }
}

TEST(NarrowBytes, EverySizeAndZero) {
  for (const narrow_bytes::Kernel& kernel : runnable(narrow_bytes::table()))
    for (const std::size_t k : {1, 2, 7, 8, 9, 31, 32, 33, 100, 129, 300})
      for (const std::size_t block : {16, 32, 40, 256, 1000})
        for (const float zero : {0.0f, 8.0f, 7.5f})
          for (const bool has_zeros : {false, true}) {
            if ((has_zeros && zero != 0) || (block == 1000 && k > 256)) continue;
            SCOPED_TRACE(std::string(kernel.name) + " k " + std::to_string(k) + " block " + std::to_string(block) +
                         " zero " + std::to_string(zero) + (has_zeros ? " zeros" : ""));
            const Panel panel(kernel.type, k, block, has_zeros, zero, static_cast<unsigned>(k + block));
            const std::size_t rows = 1 + (k + block) % narrow_bytes::kMostRows;
            check(kernel, panel, rows, random_floats(rows * (k + 3), 22));
          }
}

/// The largest numbers against the largest q: nothing saturates.
TEST(NarrowBytes, LargestSums) {
  for (const narrow_bytes::Kernel& kernel : runnable(narrow_bytes::table()))
    for (const float sign : {1.0f, -1.0f}) {
      Panel panel(kernel.type, 256, 256, false, 0, 1);
      std::fill(panel.numbers.begin(), panel.numbers.end(), kernel.type == narrow::Type::u4 ? 15.0f : 255.0f);
      panel.pack();
      check(kernel, panel, 2, std::vector<float>(2 * 259, sign));
    }
}

/// Numbers about halfway between two q: the product is rounded before it becomes an integer.
TEST(NarrowBytes, AlmostHalfway) {
  for (const narrow_bytes::Kernel& kernel : runnable(narrow_bytes::table()))
    for (const std::size_t k : {7, 15}) {
      const Panel panel(kernel.type, k, 16, false, 8, 5);
      std::vector<float> x(21 * (k + 3), 1.0f);
      for (std::size_t i = 0; i < x.size(); ++i)
        if (i % (k + 3) != 0) x[i] = (static_cast<float>(i % 127) + 0.5f) / 127;
      check(kernel, panel, 21, x);
    }
}

/// Halfway goes to even; zeros and what is too small count as zeros; a block that is not finite gives NaN alone.
TEST(NarrowBytes, OddRows) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
  for (const narrow_bytes::Kernel& kernel : runnable(narrow_bytes::table())) {
    const Panel panel(kernel.type, 64, 32, true, 0, 3);
    std::vector<float> x(2 * 67, 0.0f);
    for (std::size_t i = 0; i < 32; ++i) x[i] = static_cast<float>(i) + 0.5f;
    x[31] = 127;
    x[67] = 0x1p-101f;
    check(kernel, panel, 2, x);
    std::vector<std::byte> tiny(narrow_bytes::prepared_bytes(panel.format, 1));
    std::vector<float> nothing(kOutputs, 0.0f);
    kernel.prepare({panel.format, 1, std::vector<float>(64, 0x1p-101f).data(), 64, tiny.data()});
    kernel.multiply({panel.format, 1, panel.bytes.data(), tiny.data(), nothing.data()});
    EXPECT_EQ(nothing, std::vector<float>(kOutputs, 0.0f)) << kernel.name;
    for (const float odd : {kNan, kInf, -kInf, -kNan}) {
      x[40] = odd;
      std::vector<std::byte> prepared(narrow_bytes::prepared_bytes(panel.format, 2));
      std::vector<float> sums(2 * kOutputs, 1.0f);
      kernel.prepare({panel.format, 2, x.data(), 67, prepared.data()});
      kernel.multiply({panel.format, 2, panel.bytes.data(), prepared.data(), sums.data()});
      for (std::size_t n = 0; n < kOutputs; ++n) {
        EXPECT_TRUE(std::isnan(sums[n])) << kernel.name << " " << odd;
        EXPECT_EQ(sums[kOutputs + n], 1) << kernel.name;
      }
    }
  }
}

}  // namespace
}  // namespace colonnade::kernels::test
