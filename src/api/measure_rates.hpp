// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "topology/topology.hpp"

namespace colonnade {

/// Measures the rates of this machine in a second or two: FMA peak and memory with the loops of kernels/peak, kernels,
/// steps, barriers and the start of a team by running small graphs with this engine.
Rates measure_rates(const Topology& topology);

}  // namespace colonnade
