// SPDX-License-Identifier: Apache-2.0
// The library's functions of the interface by name, as the table has them. Whoever includes this defines some.
#pragma once

#include <cstddef>
#include <cstdint>

#include "frontends/onnxruntime/interface.h"

namespace colonnade::ort {

/// The newest version of the interface.
inline constexpr std::uint32_t kApiVersion = 32;
inline constexpr const char* kVersionString = "1.32.0";

#define SINCE(version)
#define STATUS(name, ...) OrtStatus* name(__VA_ARGS__) noexcept;
#define REFUSED(name, ...)
#define VALUE(type, name, ...) type name(__VA_ARGS__) noexcept;
#define RELEASE(type) void Release##type(Ort##type*) noexcept;
#include "frontends/onnxruntime/functions/all.def"
#undef SINCE
#undef STATUS
#undef REFUSED
#undef VALUE
#undef RELEASE

const OrtApi& api() noexcept;
const OrtApiBase& base() noexcept;

}  // namespace colonnade::ort
