// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace colonnade::kernels {

/// Instruction-set tiers, weakest first: portable C++, AVX2+FMA+F16C, AVX-512 F/BW/CD/DQ/VL (x86-64-v4), the same with
/// AMX's bf16 tiles.
enum class Isa : unsigned char { baseline, avx2, avx512, amx };
inline constexpr Isa kAllIsas[] = {Isa::baseline, Isa::avx2, Isa::avx512, Isa::amx};

/// "baseline", "avx2", "avx512", "amx".
const char* name_of(Isa isa) noexcept;
/// Parses name_of's names; false leaves `isa` alone.
bool parse_isa(const char* name, Isa& isa) noexcept;
/// The strongest tier that this CPU and operating system run. Asks the system, once a process, to let it use AMX.
Isa host_isa() noexcept;

}  // namespace colonnade::kernels
