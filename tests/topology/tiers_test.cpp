// SPDX-License-Identifier: Apache-2.0
// What the compiler may use in a tier's files is what the processor is asked for before they run.
#include <gtest/gtest.h>

#include "kernels/base/tier.hpp"
#include "kernels/gemm/gemm.hpp"

namespace colonnade::kernels {
namespace {

template <class Tier, bool kHere>
void expect_asked(Isa isa) {
  if constexpr (kHere) {
    EXPECT_EQ(compiled_features<Tier>(), Features(isa)) << name_of(isa);
  }
}

TEST(Tiers, AreAskedForWhatTheyMayUse) {
#define TIER(name, on, ...) expect_asked<tier::name, architecture::on>(Isa::name);
#define SPECIAL_TIER(name, on, ...) expect_asked<tier::name, architecture::on>(Isa::name);
#include "kernels/base/tiers.def"
#undef TIER
#undef SPECIAL_TIER
}

TEST(Tiers, HostRunsWhatIsUsed) { EXPECT_TRUE(host_features().contains(usable_features())); }

/// Sets need not lie on a line: none of these holds the other, and each runs what both hold.
TEST(Tiers, FeaturesAreASet) {
  Features tiles_without_vectors(Isa::avx2);
  tiles_without_vectors.add(Features(Feature::amx_tile, Feature::amx_bf16));
  EXPECT_FALSE(tiles_without_vectors.contains(Isa::avx512));
  EXPECT_FALSE(Features(Isa::avx512).contains(tiles_without_vectors));
  EXPECT_EQ(tiles_without_vectors & Isa::avx512, Isa::avx2);
  EXPECT_EQ(gemm::select(tiles_without_vectors, Encoding::f32).isa, Isa::avx2);
}

TEST(Tiers, OneMissingFeatureIsTooFew) {
  Features without_f16c(Feature::avx2, Feature::fma, Feature::bmi2);
  EXPECT_FALSE(without_f16c.contains(Isa::avx2));
  without_f16c.add(Feature::f16c);
  EXPECT_TRUE(without_f16c.contains(Isa::avx2));
  EXPECT_FALSE(without_f16c.contains(Isa::avx512));
}

}  // namespace
}  // namespace colonnade::kernels
