// SPDX-License-Identifier: Apache-2.0
// One convolution for the tests: sizes, random operands in guarded memory, and the same sum in double precision.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/gemm/gemm.hpp"
#include "support/guarded.hpp"

namespace colonnade::testing {

using test::GuardedFloats;

/// Numbers in [-1, 1), the same for equal seeds.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2862933555777941757u + 3037000493u) {}
  float next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<float>(static_cast<std::int32_t>(state_ >> 32)) * 0x1p-31f;
  }
  void fill(std::span<float> values) {
    for (float& value : values) value = next();
  }

 private:
  std::uint64_t state_;
};

struct ConvSizes {
  std::size_t height_in = 1;
  std::size_t width_in = 1;
  std::size_t channels_in = 1;
  std::size_t channels_out = 1;
  std::size_t kernel_h = 1;
  std::size_t kernel_w = 1;
  std::size_t stride = 1;
  std::size_t dilation = 1;
  std::size_t pad = 0;
  std::size_t in_gap = 0;  ///< floats between pixels beyond the channels
  std::size_t out_gap = 0;

  std::size_t height_out() const { return (height_in + 2 * pad - (kernel_h - 1) * dilation - 1) / stride + 1; }
  std::size_t width_out() const { return (width_in + 2 * pad - (kernel_w - 1) * dilation - 1) / stride + 1; }
  std::size_t k() const { return kernel_h * kernel_w * channels_in; }
  kernels::gemm::Terms terms() const { return {kernel_h, kernel_w, stride, dilation, channels_in}; }
  bool possible() const {
    return height_in + 2 * pad > (kernel_h - 1) * dilation && width_in + 2 * pad > (kernel_w - 1) * dilation;
  }
};

std::string describe(const ConvSizes& sizes);

using Rows = std::vector<GuardedFloats>;

/// Rows of `width` pixels, `stride` floats apart, `channels` each; every row in its own guarded memory.
Rows make_rows(std::size_t rows, std::size_t width, std::size_t channels, std::size_t stride, std::uint64_t seed);

struct ConvCase {
  ConvCase(const ConvSizes& sizes, std::uint64_t seed);

  /// Arguments for the whole convolution into `out`.
  kernels::gemm::ConvArgs args(const kernels::gemm::Kernel& kernel, Rows& out);
  Rows make_out(std::uint64_t seed) const;
  /// The packed weights as an encoding has them.
  GuardedFloats& encoded(kernels::Encoding encoding);
  /// Sum with bias and the sum of absolute values, in double.
  struct Exact {
    double sum;
    double magnitude;
  };
  Exact exact(std::size_t y, std::size_t x, std::size_t channel) const;
  float weight(std::size_t channel_out, std::size_t channel_in, std::size_t ky, std::size_t kx) const;

  ConvSizes sizes;
  Rows in;
  GuardedFloats weights;  ///< [channels_out][channels_in][kernel_h][kernel_w]
  GuardedFloats packed;
  GuardedFloats pieces;  ///< packed, cut
  GuardedFloats pairs;   ///< packed, rounded to bf16
  GuardedFloats bias;
  GuardedFloats workspace, pair_workspace;
  std::vector<const float*> in_table;
  std::vector<float*> out_table;
};

/// Runs `body` once for every kernel that this host runs, and prints which.
template <class Table, class Body>
void for_each_kernel(const Table& table, Body body) {
  for (const auto& kernel : table) {
    if (!kernels::host_features().contains(kernel.isa)) {
      std::printf("[ skipped  ] %s: the host lacks %s\n", kernel.name, kernels::name_of(kernel.isa));
      continue;
    }
    std::printf("[ kernel   ] %s\n", kernel.name);
    body(kernel);
  }
}

}  // namespace colonnade::testing
