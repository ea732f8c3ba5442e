// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/grpc/status.hpp"

namespace colonnade::serve {
namespace {

grpc::StatusCode code_of(Code code) {
  switch (code) {
    case Code::invalid_argument: return grpc::StatusCode::INVALID_ARGUMENT;
    case Code::not_found: return grpc::StatusCode::NOT_FOUND;
    case Code::unauthorized: return grpc::StatusCode::PERMISSION_DENIED;
    case Code::too_large:
    case Code::resource_exhausted: return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case Code::unavailable: return grpc::StatusCode::UNAVAILABLE;
    case Code::deadline_exceeded: return grpc::StatusCode::DEADLINE_EXCEEDED;
    case Code::cancelled: return grpc::StatusCode::CANCELLED;
    case Code::unsupported: return grpc::StatusCode::UNIMPLEMENTED;
    case Code::internal: break;
  }
  return grpc::StatusCode::INTERNAL;
}

}  // namespace

grpc::Status to_grpc(const Status& status) { return {code_of(status.code), status.message}; }

}  // namespace colonnade::serve
