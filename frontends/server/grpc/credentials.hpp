// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "frontends/server/certificates.hpp"

namespace colonnade::serve {

/// Of a port of gRPC: new connections get what the files say now. What is returned and the certificates outlive the
/// server.
std::shared_ptr<grpc::ServerCredentials> grpc_credentials(Certificates& certificates);

}  // namespace colonnade::serve
