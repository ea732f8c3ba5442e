// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/lists.hpp"

#include "frontends/onnxruntime/functions.hpp"

void OrtKeyValuePairs::set(const char* key, const char* value) {
  entries[key] = value == nullptr ? "" : value;
  refresh();
}

void OrtKeyValuePairs::refresh() {
  keys.clear();
  values.clear();
  for (const auto& [key, value] : entries) {
    keys.push_back(key.c_str());
    values.push_back(value.c_str());
  }
}

namespace colonnade::ort {

void CreateKeyValuePairs(OrtKeyValuePairs** out) noexcept {
  if (out != nullptr) *out = new OrtKeyValuePairs;
}
void AddKeyValuePair(OrtKeyValuePairs* pairs, const char* key, const char* value) noexcept {
  if (pairs != nullptr && key != nullptr && *key != '\0') pairs->set(key, value);
}
const char* GetKeyValue(const OrtKeyValuePairs* pairs, const char* key) noexcept {
  if (pairs == nullptr || key == nullptr) return nullptr;
  const auto at = pairs->entries.find(key);
  return at == pairs->entries.end() ? nullptr : at->second.c_str();
}
void GetKeyValuePairs(const OrtKeyValuePairs* pairs, const char* const** keys, const char* const** values,
                      std::size_t* count) noexcept {
  if (keys != nullptr) *keys = pairs == nullptr ? nullptr : pairs->keys.data();
  if (values != nullptr) *values = pairs == nullptr ? nullptr : pairs->values.data();
  if (count != nullptr) *count = pairs == nullptr ? 0 : pairs->keys.size();
}
void RemoveKeyValuePair(OrtKeyValuePairs* pairs, const char* key) noexcept {
  if (pairs == nullptr || key == nullptr) return;
  pairs->entries.erase(key);
  pairs->refresh();
}
void ReleaseKeyValuePairs(OrtKeyValuePairs* pairs) noexcept { delete pairs; }

}  // namespace colonnade::ort
