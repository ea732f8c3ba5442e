// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "kernels/base/features.hpp"

namespace colonnade::kernels {

/// The tiers of tiers.def, weakest first: portable C++, AVX2 with FMA, the same with dot products of bytes (AVX-VNNI),
/// AVX-512 (x86-64-v4), the same with dot products of bytes, that with those of bf16, and with AMX's bf16 tiles. All
/// have names on every architecture, so that plans can be made for other machines.
enum class Isa : unsigned char {
#define TIER(name, ...) name,
#define SPECIAL_TIER(name, ...) name,
#include "kernels/base/tiers.def"
#undef TIER
#undef SPECIAL_TIER
};
inline constexpr Isa kAllIsas[] = {
#define TIER(name, ...) Isa::name,
#define SPECIAL_TIER(name, ...) Isa::name,
#include "kernels/base/tiers.def"
#undef TIER
#undef SPECIAL_TIER
};

/// Which architectures of tiers.def this build is for.
namespace architecture {
inline constexpr bool any = true;
#if defined(__x86_64__)
inline constexpr bool x86_64 = true;
#else
inline constexpr bool x86_64 = false;
#endif
}  // namespace architecture

/// "baseline", "avx2", "avxvnni", "avx512", "vnni", "bf16", "amx".
const char* name_of(Isa isa) noexcept;
/// Parses name_of's names; false leaves `isa` alone.
bool parse_isa(const char* name, Isa& isa) noexcept;
/// The strongest tier that these features run: how a processor is called.
const char* name_of(Features features) noexcept;
/// Whether this build has the tier's kernels: those of its architecture that CMake's COLONNADE_TIERS names.
bool is_built(Isa isa) noexcept;
/// What the compiler was allowed in the files of a tier that is built, by its macros.
Features compiled_features(Isa isa) noexcept;
/// All that kernels of this build can use of this processor and operating system.
Features usable_features() noexcept;

}  // namespace colonnade::kernels
