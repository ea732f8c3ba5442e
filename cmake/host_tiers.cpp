// SPDX-License-Identifier: Apache-2.0
// Prints the tiers that this computer runs, for cmake/tiers.cmake.
#include <cstdio>

#include "kernels/base/isa.hpp"

int main() {
  using namespace colonnade::kernels;
  const Features host = host_features();
  for (const Isa isa : kAllIsas)
    if (host.contains(isa)) std::printf("%s ", name_of(isa));
}
