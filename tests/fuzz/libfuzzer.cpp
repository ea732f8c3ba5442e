// SPDX-License-Identifier: Apache-2.0
// The same checks driven by libFuzzer, which mutates bytes by the coverage they reach.
#include <memory>

#include "fuzz/fuzz.hpp"

namespace {

using namespace std::string_view_literals;
using colonnade::fuzz::Target;

/// libFuzzer brings its own corpus; a target's own only has to be there.
Target target() {
  if (COLONNADE_FUZZ_MODE == "graph"sv) return colonnade::fuzz::graph_target();
#if defined(COLONNADE_SERVER)
  if (COLONNADE_FUZZ_MODE == "http"sv) return colonnade::fuzz::http_target();
  if (COLONNADE_FUZZ_MODE == "shared"sv) return colonnade::fuzz::shared_target();
  if (COLONNADE_FUZZ_MODE == "grpc"sv) return colonnade::fuzz::grpc_target();
  if (COLONNADE_FUZZ_MODE == "config"sv) return colonnade::fuzz::config_target();
#endif
  if (COLONNADE_FUZZ_MODE == "tensor"sv) return colonnade::fuzz::tensor_target({});
  if (COLONNADE_FUZZ_MODE == "compiled"sv) return colonnade::fuzz::compiled_target({});
  return colonnade::fuzz::model_target({.models = {""}, .tensors = {}});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Target kTarget = target();
  kTarget.check({reinterpret_cast<const char*>(data), size});
  return 0;
}
