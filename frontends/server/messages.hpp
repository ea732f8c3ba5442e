// SPDX-License-Identifier: Apache-2.0
// What is known of a model, as messages of the protocol.
#pragma once

#include <grpc_service.pb.h>

#include "frontends/server/card.hpp"

namespace colonnade::serve {

/// `versions` are those that are served.
inference::ModelMetadataResponse metadata_of(const Card& card, const std::vector<std::int64_t>& versions);
inference::ModelStatistics statistics_of(const Card& card);

}  // namespace colonnade::serve
