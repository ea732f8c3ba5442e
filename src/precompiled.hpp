// SPDX-License-Identifier: Apache-2.0
// What nearly every file of the engine reads, parsed once a build (cmake/compiler.cmake). Files include what they use
// all the same: the sanitizers' builds do without.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/graph.hpp"
