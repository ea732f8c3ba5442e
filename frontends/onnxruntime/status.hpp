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

/// A member of handles, by which debug builds know those that live: one that was released is refused, not followed.
#if defined(NDEBUG)
struct Alive {};
inline bool is_alive(const Alive* /*handle*/) noexcept { return true; }
#else
struct Alive {
  Alive();
  Alive(const Alive& other);
  Alive& operator=(const Alive& /*other*/) noexcept { return *this; }
  ~Alive();
};
bool is_alive(const Alive* handle) noexcept;
#endif

template <class Type>
bool was_released(const Type* handle) {
  if constexpr (requires { handle->alive; })
    return !is_alive(&handle->alive);
  else
    return false;
}

/// Throws where a pointer is null that must not be.
template <class Type>
Type& deref(Type* pointer, const char* what) {
  if (pointer == nullptr) throw Failure(ORT_INVALID_ARGUMENT, std::string(what) + " must not be null");
  if (was_released(pointer)) throw Failure(ORT_INVALID_ARGUMENT, std::string(what) + " was released");
  return *pointer;
}
/// Makes what the caller will release, when there is a place for it.
template <class Type, class... Arguments>
void hand_out(Type** out, Arguments&&... arguments) {
  Type*& place = deref(out, "out");
  place = new Type(std::forward<Arguments>(arguments)...);
}
/// For text, arrays and results.
template <class... Pointers>
void need(const char* what, const Pointers*... pointers) {
  if (((pointers == nullptr) || ...)) throw Failure(ORT_INVALID_ARGUMENT, std::string(what) + " must not be null");
  if ((was_released(pointers) || ...)) throw Failure(ORT_INVALID_ARGUMENT, std::string(what) + " was released");
}
/// Does nothing with what was released before, where that is known.
template <class Type>
void release(Type* handle) noexcept {
  if (handle != nullptr && !was_released(handle)) delete handle;
}

}  // namespace colonnade::ort
