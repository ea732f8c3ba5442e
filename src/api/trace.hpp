// SPDX-License-Identifier: Apache-2.0
// Steps of threads in Chrome's trace format, which Perfetto shows.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/executor.hpp"

namespace colonnade {

/// Names a node, or says what kind it is.
using NodeText = std::function<std::string(NodeIndex)>;

/// Events by thread; time starts with the first of them.
std::string trace_json(const std::string& process, const std::vector<std::vector<TraceEvent>>& threads,
                       const NodeText& name, const NodeText& kind);

}  // namespace colonnade
