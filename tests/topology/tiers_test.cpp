// SPDX-License-Identifier: Apache-2.0
// What the compiler may use in a tier's files is what the processor is asked for before they run.
#include <gtest/gtest.h>

#include "kernels/base/tier.hpp"

namespace colonnade::kernels {
namespace {

template <class Tier, bool kHere>
void expect_asked(Isa isa) {
  if constexpr (kHere) {
    EXPECT_EQ(compiled_features<Tier>(), features_of(isa)) << name_of(isa);
  }
}

TEST(Tiers, AreAskedForWhatTheyMayUse) {
#define TIER(name, on, ...) expect_asked<tier::name, architecture::on>(Isa::name);
#define SPECIAL_TIER(name, ...)
#include "kernels/base/tiers.def"
#undef TIER
#undef SPECIAL_TIER
}

TEST(Tiers, HostRunsItsStrongest) { EXPECT_TRUE(host_features().contains(features_of(host_isa()))); }

TEST(Tiers, OneMissingFeatureIsTooFew) {
  Features without_f16c(Feature::avx2, Feature::fma, Feature::bmi2);
  EXPECT_FALSE(without_f16c.contains(features_of(Isa::avx2)));
  without_f16c.add(Feature::f16c);
  EXPECT_TRUE(without_f16c.contains(features_of(Isa::avx2)));
  EXPECT_FALSE(without_f16c.contains(features_of(Isa::avx512)));
}

}  // namespace
}  // namespace colonnade::kernels
