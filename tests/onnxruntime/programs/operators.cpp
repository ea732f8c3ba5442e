// SPDX-License-Identifier: Apache-2.0
// A library of operators, as programs in Python register them: Scale of the domain test.domain.
#include "onnxruntime/scale.hpp"

extern "C" __attribute__((visibility("default"))) OrtStatus* RegisterCustomOps(OrtSessionOptions* options,
                                                                               const OrtApiBase* base) {
  constexpr std::uint32_t kVersion = 22;
  const OrtApi& api = *base->GetApi(kVersion);
  auto& scale = *new colonnade::test::ort::Scale(api);  // it and the domain live as long as the process
  scale.use_shapes();
  OrtCustomOpDomain* domain = nullptr;
  if (OrtStatus* const status = api.CreateCustomOpDomain("test.domain", &domain)) return status;
  if (OrtStatus* const status = api.CustomOpDomain_Add(domain, &scale)) return status;
  return api.AddCustomOpDomain(options, domain);
}
