// SPDX-License-Identifier: Apache-2.0
// What the compiler may use in a tier's files is what the processor is asked for before they run.
#include <gtest/gtest.h>

#include "kernels/base/built.hpp"
#include "kernels/gemm/gemm.hpp"

namespace colonnade::kernels {
namespace {

TEST(Tiers, AreAskedForWhatTheyMayUse) {
  EXPECT_TRUE(is_built(Isa::baseline));
  for (const Isa isa : kAllIsas)
    if (is_built(isa)) {
      EXPECT_EQ(compiled_features(isa), Features(isa)) << name_of(isa);
    }
}

TEST(Tiers, AreNamedByWords) {
  EXPECT_TRUE(names_tier("all", "avx2"));
  EXPECT_TRUE(names_tier("baseline avx2", "avx2"));
  EXPECT_TRUE(names_tier("baseline avx2", "baseline"));
  EXPECT_FALSE(names_tier("baseline avx512", "avx2"));
  EXPECT_FALSE(names_tier("baseline avx512", "avx"));
  EXPECT_FALSE(names_tier("", "avx2"));
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
