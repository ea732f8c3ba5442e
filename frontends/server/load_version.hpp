// SPDX-License-Identifier: Apache-2.0
// A version of a model from its file to one that serves.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "frontends/server/model.hpp"
#include "frontends/server/options.hpp"
#include "frontends/server/repository.hpp"

namespace colonnade::serve {

/// Stands before the name of an embedded model where else a path is.
inline constexpr std::string_view kEmbedded = "embedded:";

/// A share of memory for what a version needs. Throws Failure where there is not so much.
using Admit = std::function<MemoryShare(const CardPtr& card)>;

/// Loads it, completes its configuration, asks for memory before its weights are packed, and warms it up. Throws
/// Failure with a message that is fit for clients.
std::shared_ptr<ServedModel> load_version(const ServiceOptions& options, Scheduler& scheduler, ResponseCache& cache,
                                          const FoundModel& found, std::int64_t number, inference::ModelConfig config,
                                          const LoadParameters& parameters, std::shared_ptr<Statistics> statistics,
                                          const Admit& admit);

}  // namespace colonnade::serve
