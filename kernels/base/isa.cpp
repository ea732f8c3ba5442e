// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/isa.hpp"

#include <cstring>

namespace colonnade::kernels {

const char* name_of(Isa isa) noexcept {
  switch (isa) {
    case Isa::baseline: return "baseline";
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
  }
  return "?";
}

bool parse_isa(const char* name, Isa& isa) noexcept {
  for (const Isa candidate : kAllIsas) {
    if (std::strcmp(name, name_of(candidate)) != 0) continue;
    isa = candidate;
    return true;
  }
  return false;
}

Isa host_isa() noexcept {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (avx2 && avx512) return Isa::avx512;
  if (avx2) return Isa::avx2;
#endif
  return Isa::baseline;
}

}  // namespace colonnade::kernels
