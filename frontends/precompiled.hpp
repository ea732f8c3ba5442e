// SPDX-License-Identifier: Apache-2.0
// What nearly every file of the command and the server reads, parsed once a target (cmake/compiler.cmake).
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "colonnade/colonnade.hpp"
