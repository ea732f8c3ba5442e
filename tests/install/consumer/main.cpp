// SPDX-License-Identifier: Apache-2.0
#include <colonnade/colonnade.hpp>
#include <cstdio>

int main() {
  try {
    const colonnade::Model model = colonnade::Model::embedded("digits");
    for (const colonnade::TensorInfo& input : model.inputs()) {
      std::printf("input %s %s", input.name.c_str(), colonnade::name_of(input.dtype).data());
      for (const auto dim : input.shape) std::printf(" %lld", static_cast<long long>(dim));
      std::printf("\n");
    }
  } catch (const colonnade::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
