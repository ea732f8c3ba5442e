// SPDX-License-Identifier: Apache-2.0
// Tensors of strings.
#include <cstring>
#include <numeric>
#include <span>

#include "frontends/onnxruntime/value.hpp"

namespace colonnade::ort {
namespace {

std::span<std::string> strings_of(const OrtValue* value) {
  const OrtValue& tensor = tensor_in(value);
  if (tensor.view.dtype != DType::string) throw Failure(ORT_INVALID_ARGUMENT, "the tensor is none of strings");
  return {static_cast<std::string*>(tensor.view.data), static_cast<std::size_t>(element_count(tensor.view.shape))};
}

std::string& string_at(const OrtValue* value, std::size_t index) {
  const std::span<std::string> strings = strings_of(value);
  if (index >= strings.size())
    throw Failure(ORT_INVALID_ARGUMENT,
                  "there is no string " + std::to_string(index) + " in a tensor of " + std::to_string(strings.size()));
  return strings[index];
}

std::size_t bytes_in(std::span<const std::string> strings) {
  return std::accumulate(strings.begin(), strings.end(), std::size_t{0},
                         [](std::size_t sum, const std::string& text) { return sum + text.size(); });
}

}  // namespace

OrtStatus* FillStringTensor(OrtValue* value, const char* const* texts, std::size_t count) noexcept {
  return guarded([&] {
    const std::span<std::string> strings = strings_of(value);
    if (count != strings.size())
      throw Failure(ORT_INVALID_ARGUMENT,
                    "expected " + std::to_string(strings.size()) + " strings, found " + std::to_string(count));
    if (count > 0) need("strings", texts);
    for (std::size_t i = 0; i < count; ++i) need("strings", texts[i]);
    for (std::size_t i = 0; i < count; ++i) strings[i] = texts[i];
  });
}
OrtStatus* FillStringTensorElement(OrtValue* value, const char* text, std::size_t index) noexcept {
  return guarded([&] {
    need("string", text);
    string_at(value, index) = text;
  });
}
OrtStatus* GetResizedStringTensorElementBuffer(OrtValue* value, std::size_t index, std::size_t bytes,
                                               char** buffer) noexcept {
  return guarded([&] {
    need("buffer", buffer);
    std::string& text = string_at(value, index);
    text.resize(bytes);
    *buffer = text.data();
  });
}
OrtStatus* GetStringTensorDataLength(const OrtValue* value, std::size_t* out) noexcept {
  return guarded([&] { deref(out, "out") = bytes_in(strings_of(value)); });
}
OrtStatus* GetStringTensorContent(const OrtValue* value, void* out, std::size_t room, std::size_t* offsets,
                                  std::size_t count) noexcept {
  return guarded([&] {
    const std::span<std::string> strings = strings_of(value);
    if (count < strings.size()) throw Failure(ORT_FAIL, "there is no room for the offsets of all strings");
    const std::size_t bytes = bytes_in(strings);
    if (room < bytes) throw Failure(ORT_FAIL, "there is no room for the " + std::to_string(bytes) + " bytes of all");
    if (bytes > 0) need("out", out);
    if (!strings.empty()) need("offsets", offsets);
    std::size_t at = 0;
    for (std::size_t i = 0; i < strings.size(); at += strings[i++].size()) {
      offsets[i] = at;
      if (!strings[i].empty()) std::memcpy(static_cast<char*>(out) + at, strings[i].data(), strings[i].size());
    }
  });
}
OrtStatus* GetStringTensorElementLength(const OrtValue* value, std::size_t index, std::size_t* out) noexcept {
  return guarded([&] { deref(out, "out") = string_at(value, index).size(); });
}
OrtStatus* GetStringTensorElement(const OrtValue* value, std::size_t room, std::size_t index, void* out) noexcept {
  return guarded([&] {
    const std::string& text = string_at(value, index);
    if (room < text.size()) throw Failure(ORT_FAIL, "there is no room for the string");
    if (!text.empty()) {
      need("out", out);
      std::memcpy(out, text.data(), text.size());
    }
  });
}

}  // namespace colonnade::ort
