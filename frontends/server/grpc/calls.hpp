// SPDX-License-Identifier: Apache-2.0
// One object a call, from its first message to its last; each deletes itself when gRPC is done with it.
#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include <atomic>

#include "frontends/server/grpc/methods.hpp"
#include "frontends/server/grpc/work.hpp"
#include "frontends/server/grpc/workers.hpp"

namespace colonnade::serve {

/// What all calls of a server share.
struct CallContext {
  Service& service;
  std::size_t most_message_bytes = 0;
  Workers& workers;                    ///< for what loads and lists
  Workers& decoders;                   ///< for requests that the network's threads may not read
  Work& work;                          ///< of the network's threads
  std::atomic<bool> stopping = false;  ///< health watches end
};

using Reactor = grpc::ServerGenericBidiReactor;

Reactor* start_unary(CallContext& shared, grpc::GenericCallbackServerContext& call, const Method& method);
Reactor* start_infer(CallContext& shared, grpc::GenericCallbackServerContext& call);
Reactor* start_stream(CallContext& shared, grpc::GenericCallbackServerContext& call);
Reactor* start_watch(CallContext& shared, grpc::GenericCallbackServerContext& call);
Reactor* start_reflection(grpc::GenericCallbackServerContext& call);
Reactor* start_refused(grpc::GenericCallbackServerContext& call, const Status& status);

}  // namespace colonnade::serve
