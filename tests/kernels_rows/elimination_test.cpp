// SPDX-License-Identifier: Apache-2.0
#include "kernels/elimination/elimination.hpp"

#include <cmath>
#include <numeric>

#include "kernels_rows/support.hpp"

namespace colonnade::kernels::test {
namespace {

using elimination::Args;
using elimination::Kernel;

/// A matrix of small numbers; a larger one has zeros where pivots would stand.
std::vector<double> matrix(std::size_t n, std::size_t width, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<double> rows(n * width);
  const bool has_zeros = n >= 7;
  for (double& x : rows) x = has_zeros && random() % 5 == 0 ? 0.0 : static_cast<double>(random() % 199) / 16 - 6;
  for (std::size_t i = 0; has_zeros && i < n; i += 3) rows[i * width + i] = 0;
  return rows;
}

/// One column after another.
double plain_determinant(std::vector<double> m, std::size_t n) {
  double product = 1;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t row = k; row < n; ++row)
      if (std::abs(m[row * n + k]) > std::abs(m[pivot * n + k])) pivot = row;
    if (pivot != k) product = -product;
    for (std::size_t j = 0; j < n; ++j) std::swap(m[k * n + j], m[pivot * n + j]);
    product *= m[k * n + k];
    for (std::size_t row = k + 1; row < n && m[k * n + k] != 0; ++row) {
      const double factor = m[row * n + k] / m[k * n + k];
      for (std::size_t j = k; j < n; ++j) m[row * n + j] -= factor * m[k * n + j];
    }
  }
  return product;
}

constexpr std::size_t kSizes[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 40, 65};

TEST(Elimination, Determinants) {
  for (const Kernel& kernel : runnable(elimination::table()))
    for (const std::size_t n : kSizes) {
      std::vector<double> rows = matrix(n, n, static_cast<unsigned>(n));
      const double expected = plain_determinant(rows, n), found = kernel.determinant({rows.data(), n, n});
      EXPECT_NEAR(found, expected, 1e-9 * std::abs(expected)) << kernel.name << " " << n;
    }
}

TEST(Elimination, DeterminantsOfPermutationsAndOfLargeNumbers) {
  for (const Kernel& kernel : runnable(elimination::table())) {
    std::vector<double> cycle(100, 0);
    for (std::size_t i = 0; i < 10; ++i) cycle[i * 10 + (i + 1) % 10] = 2;
    EXPECT_EQ(kernel.determinant({cycle.data(), 10, 10}), -1024) << kernel.name;
    std::vector<double> singular{1e200, 0, 0, 0, 1e200, 0, 0, 0, 0};
    EXPECT_EQ(kernel.determinant({singular.data(), 3, 3}), 0) << kernel.name;
    std::vector<double> unknown{std::nan(""), 1, 1, 2};
    EXPECT_TRUE(std::isnan(kernel.determinant({unknown.data(), 2, 2}))) << kernel.name;
  }
}

/// Its product with the matrix is what stood to the right.
TEST(Elimination, Solutions) {
  for (const Kernel& kernel : runnable(elimination::table()))
    for (const std::size_t n : kSizes)
      for (const std::size_t right : {std::size_t{0}, std::size_t{1}, n, n + 5}) {
        if (n < 2) continue;
        const std::size_t width = n + right;
        const std::vector<double> given = matrix(n, width, static_cast<unsigned>(n + right));
        std::vector<double> rows = given;
        ASSERT_TRUE(kernel.solve({rows.data(), n, width})) << kernel.name << " " << n;
        for (std::size_t row = 0; row < n; ++row)
          for (std::size_t j = n; j < width; ++j) {
            double sum = 0;
            for (std::size_t k = 0; k < n; ++k) sum += given[row * width + k] * rows[k * width + j];
            ASSERT_NEAR(sum, given[row * width + j], 1e-8) << kernel.name << " " << n << "x" << right;
          }
      }
}

TEST(Elimination, WhatHasNoInverse) {
  for (const Kernel& kernel : runnable(elimination::table())) {
    std::vector<double> equal{1, 2, 1, 0, 1, 2, 0, 1};
    EXPECT_FALSE(kernel.solve({equal.data(), 2, 4})) << kernel.name;
    for (const double bad : {0.0, std::nan(""), HUGE_VAL}) {
      std::vector<double> rows(20 * 20);
      for (std::size_t i = 0; i < 20; ++i) rows[i * 21] = i == 17 ? bad : 1;
      EXPECT_FALSE(kernel.solve({rows.data(), 20, 20})) << kernel.name << " " << bad;
    }
  }
}

}  // namespace
}  // namespace colonnade::kernels::test
