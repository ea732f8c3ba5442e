// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/grpc/call.hpp"

#include <exception>
#include <new>
#include <string_view>

#include "frontends/server/grpc/status.hpp"
#include "frontends/server/log.hpp"

namespace colonnade::serve {

Status status_of_exception() {
  try {
    throw;
  } catch (const Failure& failure) {
    return failure.status();
  } catch (const std::bad_alloc&) {
    return {Code::resource_exhausted, "not enough memory for the request"};
  } catch (const std::exception& error) {
    log(LogLevel::error, "grpc failure", {{"error", error.what()}});
    return {Code::internal, "internal error"};
  }
}

void Call::OnDone() {
  if (has_access_log()) write_access();
  delete this;
}

void Call::finish(const Status& status) { finish(to_grpc(status)); }

void Call::write_access() const {
  const std::string& method = call_.method();
  const std::string peer = call_.peer();
  log_access({.protocol = "grpc",
              .peer = peer,
              .method = std::string_view(method).substr(method.rfind('/') + 1),
              .path = method,
              .status = call_.IsCancelled() && status_ == 0 ? static_cast<int>(grpc::StatusCode::CANCELLED) : status_,
              .id = id_,
              .bytes_in = bytes_in_,
              .bytes_out = bytes_out_,
              .took = Clock::now() - started_});
}

void OneMessageCall::OnReadDone(bool ok) {
  if (!ok) return finish(Status{Code::invalid_argument, "expected a message, found none"});
  bytes_in_ = message_.Length();
  take();
}

}  // namespace colonnade::serve
