// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "topology/blocking.hpp"

namespace colonnade::test {

/// The class of machine for which tests know what is chosen.
inline const Blocking& known_blocking() { return blocking_of(fixed_topology("emerald-2")); }

}  // namespace colonnade::test
