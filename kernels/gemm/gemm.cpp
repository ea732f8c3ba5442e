// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/gemm.hpp"

#include "kernels/gemm/tiers.hpp"

namespace colonnade::kernels::gemm {
namespace {

constinit const Kernel kTable[] = {
#if defined(__x86_64__)
    {"conv_f32_6x64_avx512", Isa::avx512, conv_avx512},
    {"conv_f32_6x16_avx2", Isa::avx2, conv_avx2},
#endif
    {"conv_f32_2x16_baseline", Isa::baseline, conv_baseline},
};

}  // namespace

std::span<const Kernel> table() noexcept { return kTable; }

const Kernel& select(Isa isa) noexcept {
  const Kernel* kernel = kTable;
  while (kernel->isa > isa) ++kernel;
  return *kernel;
}

void pack(const float* source, std::ptrdiff_t k_stride, std::ptrdiff_t n_stride, std::size_t k, std::size_t n,
          float* packed) noexcept {
  for (std::size_t first = 0; first < n; first += kPanel) {
    for (std::size_t row = 0; row < k; ++row) {
      const float* from = source + static_cast<std::ptrdiff_t>(row) * k_stride;
      for (std::size_t column = first; column < first + kPanel; ++column) {
        *packed++ = column < n ? from[static_cast<std::ptrdiff_t>(column) * n_stride] : 0.0f;
      }
    }
  }
}

}  // namespace colonnade::kernels::gemm
