// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/status.hpp"

#include <mutex>
#include <new>
#include <set>

namespace colonnade::ort {
namespace {

OrtErrorCode code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::invalid_input: return ORT_INVALID_ARGUMENT;
    case ErrorCode::unsupported: return ORT_NOT_IMPLEMENTED;
    case ErrorCode::resource_limit: return ORT_RUNTIME_EXCEPTION;
    case ErrorCode::invalid_model:
    case ErrorCode::io:
    case ErrorCode::internal:
    case ErrorCode::cancelled:
    case ErrorCode::deadline: return ORT_FAIL;
  }
  return ORT_FAIL;
}

/// Stands for all that there is no memory for.
OrtStatus& out_of_memory() {
  static OrtStatus status{ORT_RUNTIME_EXCEPTION, "out of memory"};
  return status;
}

}  // namespace

#if !defined(NDEBUG)
namespace {

struct Living {
  std::mutex mutex;
  std::set<const Alive*> handles;
};
/// Never destroyed: programs release handles as they end.
Living& living() {
  static Living& handles = *new Living;
  return handles;
}

}  // namespace

Alive::Alive() {
  const std::scoped_lock lock(living().mutex);
  living().handles.insert(this);
}
Alive::Alive(const Alive& /*other*/) : Alive() {}
Alive::~Alive() {
  const std::scoped_lock lock(living().mutex);
  living().handles.erase(this);
}
bool is_alive(const Alive* handle) noexcept {
  const std::scoped_lock lock(living().mutex);
  return living().handles.contains(handle);
}
#endif

OrtStatus* made(OrtErrorCode code, const std::string& message) noexcept {
  try {
    return new OrtStatus{code, message};
  } catch (const std::bad_alloc&) {
    return &out_of_memory();
  }
}

OrtStatus* status_of_thrown() noexcept {
  try {
    throw;
  } catch (const Failure& failure) {
    return made(failure.code(), failure.what());
  } catch (const Error& error) {
    return made(code_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return &out_of_memory();
  } catch (const std::exception& error) {
    return made(ORT_RUNTIME_EXCEPTION, error.what());
  } catch (...) {
    return made(ORT_RUNTIME_EXCEPTION, "an exception of unknown type");
  }
}

OrtStatus* refused(const char* name) noexcept {
  return guarded([&] { throw Failure(ORT_NOT_IMPLEMENTED, std::string(name) + " is not offered by Colonnade"); });
}

OrtStatus* CreateStatus(OrtErrorCode code, const char* message) noexcept {
  return made(code, message == nullptr ? "" : message);
}

OrtErrorCode GetErrorCode(const OrtStatus* status) noexcept { return status == nullptr ? ORT_OK : status->code; }

const char* GetErrorMessage(const OrtStatus* status) noexcept {
  return status == nullptr ? "" : status->message.c_str();
}

void ReleaseStatus(OrtStatus* status) noexcept {
  if (status != &out_of_memory()) delete status;
}

}  // namespace colonnade::ort
