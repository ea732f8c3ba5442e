// SPDX-License-Identifier: Apache-2.0
// Providers and devices: there is the CPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "frontends/onnxruntime/interface.h"

namespace colonnade::ort {

inline constexpr const char* kProvider = "CPUExecutionProvider";

const OrtEpDevice& cpu_device() noexcept;

}  // namespace colonnade::ort
