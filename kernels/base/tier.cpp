// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

namespace colonnade::kernels {

static Features special_features() {
  Features features;
#if defined(__AVXVNNI__)
  features.add(Feature::avxvnni);
#endif
#if defined(__AVX512VNNI__)
  features.add(Feature::avx512vnni);
#endif
#if defined(__AVX512BF16__)
  features.add(Feature::avx512bf16);
#endif
#if defined(__AMX_TILE__)
  features.add(Feature::amx_tile);
#endif
#if defined(__AMX_BF16__)
  features.add(Feature::amx_bf16);
#endif
  return features;
}

template <>
Features compiled_features<ThisTier>() noexcept {
  Features features = special_features();
#if defined(__AVX2__)
  features.add(Feature::avx2);
#endif
#if defined(__FMA__)
  features.add(Feature::fma);
#endif
#if defined(__F16C__)
  features.add(Feature::f16c);
#endif
#if defined(__BMI2__)
  features.add(Feature::bmi2);
#endif
#if defined(__AVX512F__)
  features.add(Feature::avx512f);
#endif
#if defined(__AVX512BW__)
  features.add(Feature::avx512bw);
#endif
#if defined(__AVX512CD__)
  features.add(Feature::avx512cd);
#endif
#if defined(__AVX512DQ__)
  features.add(Feature::avx512dq);
#endif
#if defined(__AVX512VL__)
  features.add(Feature::avx512vl);
#endif
  return features;
}

}  // namespace colonnade::kernels
