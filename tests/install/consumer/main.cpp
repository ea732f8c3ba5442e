// SPDX-License-Identifier: Apache-2.0
#include <colonnade/colonnade.hpp>
#include <colonnade/custom.hpp>
#include <cstdio>
#include <memory>
#include <vector>

/// The library shows what a class of the program's own needs.
struct Copy final : colonnade::CustomKernel {
  std::vector<colonnade::CustomType> infer(std::span<const colonnade::CustomType> inputs) const override {
    return {inputs.begin(), inputs.end()};
  }
  std::vector<colonnade::Tensor> run(std::span<const colonnade::Tensor* const>) const override { return {}; }
};

int main() {
  try {
    const std::unique_ptr<const colonnade::CustomKernel> kernel = std::make_unique<Copy>();
    if (!kernel->run({}).empty()) return 1;
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
