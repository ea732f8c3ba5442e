// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/status.h>

#include "frontends/server/status.hpp"

namespace colonnade::serve {

grpc::Status to_grpc(const Status& status);

}  // namespace colonnade::serve
