// SPDX-License-Identifier: Apache-2.0
// What the author's tools wrote into the model.
#include "frontends/onnxruntime/session.hpp"

struct OrtModelMetadata {
  colonnade::ModelMetadata metadata;
  std::int64_t version = 0;
};

namespace colonnade::ort {
namespace {

/// A text of the metadata, in memory of the allocator.
OrtStatus* text(const OrtModelMetadata* metadata, const std::string ModelMetadata::*member, OrtAllocator* allocator,
                char** out) noexcept {
  return guarded([&] {
    need("metadata, allocator and out", metadata, allocator, out);
    *out = copied(*allocator, metadata->metadata.*member);
  });
}

}  // namespace

OrtStatus* SessionGetModelMetadata(const OrtSession* session, OrtModelMetadata** out) noexcept {
  return guarded([&] {
    need("out", out);
    *out = new OrtModelMetadata{deref(session, "session").engine->model.metadata(), session->file.version};
  });
}
void ReleaseModelMetadata(OrtModelMetadata* metadata) noexcept { delete metadata; }

OrtStatus* ModelMetadataGetProducerName(const OrtModelMetadata* metadata, OrtAllocator* allocator,
                                        char** out) noexcept {
  return text(metadata, &ModelMetadata::producer_name, allocator, out);
}
OrtStatus* ModelMetadataGetGraphName(const OrtModelMetadata* metadata, OrtAllocator* allocator, char** out) noexcept {
  return text(metadata, &ModelMetadata::graph_name, allocator, out);
}
OrtStatus* ModelMetadataGetDomain(const OrtModelMetadata* metadata, OrtAllocator* allocator, char** out) noexcept {
  return text(metadata, &ModelMetadata::domain, allocator, out);
}
OrtStatus* ModelMetadataGetDescription(const OrtModelMetadata* metadata, OrtAllocator* allocator, char** out) noexcept {
  return text(metadata, &ModelMetadata::description, allocator, out);
}
OrtStatus* ModelMetadataGetGraphDescription(const OrtModelMetadata* metadata, OrtAllocator* allocator,
                                            char** out) noexcept {
  return text(metadata, &ModelMetadata::graph_description, allocator, out);
}
OrtStatus* ModelMetadataGetVersion(const OrtModelMetadata* metadata, std::int64_t* out) noexcept {
  return guarded([&] { deref(out, "out") = deref(metadata, "metadata").version; });
}
OrtStatus* ModelMetadataLookupCustomMetadataMap(const OrtModelMetadata* metadata, OrtAllocator* allocator,
                                                const char* key, char** out) noexcept {
  return guarded([&] {
    need("metadata, allocator, key and out", metadata, allocator, key, out);
    const auto at = metadata->metadata.custom.find(key);
    *out = at == metadata->metadata.custom.end() ? nullptr : copied(*allocator, at->second);
  });
}
OrtStatus* ModelMetadataGetCustomMetadataMapKeys(const OrtModelMetadata* metadata, OrtAllocator* allocator, char*** out,
                                                 std::int64_t* count) noexcept {
  return guarded([&] {
    need("metadata, allocator, out and count", metadata, allocator, out, count);
    const auto& custom = metadata->metadata.custom;
    *out = nullptr;
    *count = static_cast<std::int64_t>(custom.size());
    if (custom.empty()) return;
    char** at = static_cast<char**>(allocated(*allocator, custom.size() * sizeof(char*)));
    *out = at;
    for (const auto& [key, value] : custom) *at++ = copied(*allocator, key);
  });
}

}  // namespace colonnade::ort
