// SPDX-License-Identifier: Apache-2.0
// Machines described by files: other ones than that on which plans are made.
#pragma once

#include <string_view>

#include "topology/topology.hpp"

namespace colonnade {

/// The machine of a file's JSON: what describe_machine writes, or less by hand. "cores" may be a count, then
/// "numa_nodes" says of how many nodes they are and the third cache's "sharing_cores" who shares one. Of the "rates"
/// those of one thread must be there (fma_gflops, l2_gbs, l3_gbs, dram_gbs); others default to what such machines
/// reach. Throws Error{invalid_input} that says what was expected where.
Topology parse_machine(std::string_view json);

}  // namespace colonnade
