// SPDX-License-Identifier: Apache-2.0
// What clients may ask about a version of a model, whether it is loaded or sleeps.
#pragma once

#include <memory>

#include "colonnade/memory.hpp"
#include "frontends/server/signature.hpp"
#include "frontends/server/statistics.hpp"

namespace colonnade::serve {

/// Made before the version's memory is asked for, and kept while it sleeps.
struct Card {
  std::int64_t version = 0;
  inference::ModelConfig config;  ///< complete
  Signature signature;
  std::shared_ptr<Statistics> statistics;  ///< of all its loads
  MemoryNeed need;
  int instances = 1;

  /// Of the loaded version with all its instances, on each NUMA node that it is on.
  std::size_t needed_bytes() const { return need.of_sessions(static_cast<std::size_t>(instances) * need.nodes); }
};
using CardPtr = std::shared_ptr<const Card>;

}  // namespace colonnade::serve
