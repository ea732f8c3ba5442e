// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <model_config.pb.h>

#include "frontends/server/options.hpp"
#include "frontends/server/queue.hpp"

namespace colonnade::serve {

/// How requests of a model wait and are merged, as its complete configuration says and, where it says nothing, the
/// options; `streams` is the number of runs at the same time in the process. Unless somebody asked for batches
/// (`asked_for_batches`), they are only made where they turn out to be faster.
QueuePolicy queue_policy_of(const inference::ModelConfig& config, bool asked_for_batches, const ServiceOptions& options,
                            int streams);

}  // namespace colonnade::serve
