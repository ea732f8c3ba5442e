// SPDX-License-Identifier: Apache-2.0
#include "kernels/vector_product/vector_product.hpp"

#include "kernels_rows/support.hpp"

namespace colonnade::kernels::test {
namespace {

constexpr double kTolerance = 1e-5;
constexpr std::size_t kGap = 3;

struct Sizes {
  std::size_t vectors, k, n;
  bool by_rows, bias, apart;  ///< apart: elements of the result do not follow each other
};

void check(const vector_product::Kernel& kernel, const Sizes& s) {
  SCOPED_TRACE(std::string(kernel.name) + " " + std::to_string(s.vectors) + "x" + std::to_string(s.k) + "x" +
               std::to_string(s.n) + (s.by_rows ? " by rows" : " by columns"));
  const std::size_t rows = s.by_rows ? s.n : s.k, width = s.by_rows ? s.k : s.n;
  const std::size_t matrix_stride = width + kGap, vector_stride = s.k + kGap, step = s.apart ? 2 : 1;
  const std::size_t out_row = s.n * step + kGap;
  const auto span = [](std::size_t count, std::size_t stride, std::size_t last) {
    return count == 0 ? 0 : (count - 1) * stride + last;
  };
  const Guarded vectors(random_floats(span(s.vectors, vector_stride, s.k), 1)), bias(random_floats(s.n, 2));
  const Guarded matrix(random_floats(span(rows, matrix_stride, width), 3));
  const std::vector<float> before = random_floats(s.vectors * out_row, 4);
  const Guarded out(before);
  (s.by_rows ? kernel.by_rows : kernel.by_columns)(
      {s.vectors, s.k, s.n, vectors.data(), static_cast<std::ptrdiff_t>(vector_stride), matrix.data(),
       static_cast<std::ptrdiff_t>(matrix_stride), s.bias ? bias.data() : nullptr, out.data(),
       static_cast<std::ptrdiff_t>(out_row), static_cast<std::ptrdiff_t>(step)});
  ASSERT_TRUE(vectors.intact() && bias.intact() && matrix.intact() && out.intact());
  for (std::size_t i = 0; i < before.size(); ++i) {
    const std::size_t v = i / out_row, n = i % out_row / step;
    if (i % out_row % step != 0 || n >= s.n) {
      ASSERT_EQ(out[i], before[i]) << i;
      continue;
    }
    double sum = s.bias ? static_cast<double>(bias[n]) : 0;
    for (std::size_t k = 0; k < s.k; ++k)
      sum += static_cast<double>(vectors[v * vector_stride + k]) *
             static_cast<double>(matrix[s.by_rows ? n * matrix_stride + k : k * matrix_stride + n]);
    ASSERT_NEAR(out[i], sum, kTolerance) << "vector " << v << " element " << n;
  }
}

TEST(VectorProduct, EverySizeAndStride) {
  for (const auto& kernel : runnable(vector_product::table()))
    for (const bool by_rows : {true, false})
      for (const std::size_t vectors : {1, 3})
        for (const std::size_t k : {0, 1, 5, 16, 33, 67})
          for (const std::size_t n : {0, 1, 3, 4, 7, 16, 17, 31, 64, 130, 261})
            check(kernel, {vectors, k, n, by_rows, n % 2 == 1, k % 2 == 1});
}

/// Vectors and columns beside it do not change an element's bits.
TEST(VectorProduct, OfSomeOutputsHasTheSameBits) {
  constexpr std::size_t kDepth = 50, kOutputs = 150, kVectors = 3;
  const auto vectors = random_floats(kVectors * kDepth, 1), matrix = random_floats(kDepth * kOutputs, 2);
  for (const auto& kernel : runnable(vector_product::table()))
    for (const bool by_rows : {true, false}) {
      const auto run = by_rows ? kernel.by_rows : kernel.by_columns;
      const std::ptrdiff_t stride = by_rows ? kDepth : kOutputs;
      std::vector<float> whole(kVectors * kOutputs), parts = whole;
      run({kVectors, kDepth, kOutputs, vectors.data(), kDepth, matrix.data(), stride, nullptr, whole.data(), kOutputs});
      for (std::size_t v = 0; v < kVectors; ++v)
        for (std::size_t n = 0, some = 1; n < kOutputs; n += some, some = std::min(some + 7, kOutputs - n))
          run({1, kDepth, some, vectors.data() + v * kDepth, kDepth, matrix.data() + (by_rows ? n * kDepth : n), stride,
               nullptr, parts.data() + v * kOutputs + n, kOutputs});
      EXPECT_EQ(std::memcmp(whole.data(), parts.data(), whole.size() * sizeof(float)), 0) << kernel.name;
    }
}

}  // namespace
}  // namespace colonnade::kernels::test
