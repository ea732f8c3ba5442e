// SPDX-License-Identifier: Apache-2.0
// How functions of the interface fail: by a status, made of what is thrown.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "colonnade/colonnade.hpp"
#include "frontends/onnxruntime/functions.hpp"

struct OrtStatus {
  OrtErrorCode code;
  std::string message;
};

namespace colonnade::ort {

/// Thrown within a function of the interface.
class Failure : public std::runtime_error {
 public:
  Failure(OrtErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  OrtErrorCode code() const noexcept { return code_; }

 private:
  OrtErrorCode code_;
};

/// The status of the exception that is being handled; null when there is no memory for it.
OrtStatus* status_of_thrown() noexcept;
/// ORT_NOT_IMPLEMENTED with the function's name.
OrtStatus* refused(const char* name) noexcept;
OrtStatus* made(OrtErrorCode code, const std::string& message) noexcept;

/// Null, or the status of what `work` throws.
template <class Work>
OrtStatus* guarded(Work work) noexcept {
  try {
    work();
    return nullptr;
  } catch (...) {
    return status_of_thrown();
  }
}

/// Throws where a pointer is null that must not be.
template <class Type>
Type& deref(Type* pointer, const char* what) {
  if (pointer == nullptr) throw Failure(ORT_INVALID_ARGUMENT, std::string(what) + " must not be null");
  return *pointer;
}
/// For text, arrays and results.
template <class... Pointers>
void need(const char* what, const Pointers*... pointers) {
  if (((pointers == nullptr) || ...)) throw Failure(ORT_INVALID_ARGUMENT, std::string(what) + " must not be null");
}

}  // namespace colonnade::ort
