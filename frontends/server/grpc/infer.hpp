// SPDX-License-Identifier: Apache-2.0
// ModelInferRequest and ModelInferResponse as the service sees them.
#pragma once

#include <grpc_service.pb.h>
#include <grpcpp/support/byte_buffer.h>

#include <memory>

#include "frontends/server/inference.hpp"
#include "frontends/server/shared_memory.hpp"

namespace colonnade::serve {

/// Reads tensors where they lie in the message, which they keep alive; of those in shared memory copies, whose bytes
/// `client` is lent. Throws Failure that names what is wrong.
InferenceRequest to_request(std::shared_ptr<inference::ModelInferRequest> message, const SharedMemory& shared_memory,
                            const Lease& client);

/// A ModelInferResponse; outputs that go to shared memory are written there, and large tensors are sent from where they
/// lie.
grpc::ByteBuffer write_response(const InferenceResponse& response);
/// A ModelStreamInferResponse.
grpc::ByteBuffer write_stream_response(const InferenceResponse& response);
grpc::ByteBuffer write_stream_error(const std::string& id, const Status& status);

}  // namespace colonnade::serve
