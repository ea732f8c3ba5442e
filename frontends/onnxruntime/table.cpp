// SPDX-License-Identifier: Apache-2.0
// The table of functions, and how programs come by it.
#include <cstdio>

#include "frontends/onnxruntime/functions.hpp"
#include "frontends/onnxruntime/status.hpp"

namespace colonnade::ort {
namespace {

constexpr std::size_t kFunctions = 429;
static_assert(sizeof(OrtApi) == kFunctions * sizeof(void*));

/// In the place of a function that is not offered.
template <class Name, class Function>
struct Refusal;
template <class Name, class... Parameters>
struct Refusal<Name, OrtStatus* (*)(Parameters...)> {
  static OrtStatus* call(Parameters...) noexcept { return refused(Name::text); }
};

#define SINCE(version)
#define STATUS(name, ...)
#define REFUSED(name, ...)                     \
  struct NameOf##name {                        \
    static constexpr const char* text = #name; \
  };
#define VALUE(type, name, ...)
#define RELEASE(type)
#include "frontends/onnxruntime/functions/all.def"
#undef STATUS
#undef REFUSED
#undef VALUE
#undef RELEASE

constexpr OrtApi kApi = {
#define STATUS(name, ...) name,
#define REFUSED(name, ...) Refusal<NameOf##name, decltype(OrtApi::name)>::call,
#define VALUE(type, name, ...) name,
#define RELEASE(type) Release##type,
#include "frontends/onnxruntime/functions/all.def"
#undef SINCE
#undef STATUS
#undef REFUSED
#undef VALUE
#undef RELEASE
};

const OrtApi* api_of(std::uint32_t version) {
  if (version >= 1 && version <= kApiVersion) return &kApi;
  std::fprintf(stderr, "colonnade: version %u of the interface was asked for, there are 1 to %u (%s)\n", version,
               kApiVersion, kVersionString);
  return nullptr;
}

const char* version_string() { return kVersionString; }

constexpr OrtApiBase kBase = {api_of, version_string};

}  // namespace

const OrtApi& api() noexcept { return kApi; }
const OrtApiBase& base() noexcept { return kBase; }

}  // namespace colonnade::ort

// Exported under their names with the node of every release: see symbols.cmake.
extern "C" {

COLONNADE_API const OrtApiBase* colonnade_ort_base() { return &colonnade::ort::kBase; }
COLONNADE_API OrtStatus* colonnade_ort_append_cpu(OrtSessionOptions* options, int /*use_arena*/) {
  return colonnade::ort::SessionOptionsAppendExecutionProvider(options, "CPU", nullptr, nullptr, 0);
}

}  // extern "C"
#include <symbol_versions.inc>
