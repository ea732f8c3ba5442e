// SPDX-License-Identifier: Apache-2.0
// The public C++ API of Colonnade: run ONNX models on CPUs by tensor columns.
//
//   colonnade::Model model = colonnade::Model::load("net.onnx");
//   colonnade::Session session(model);
//   std::vector<colonnade::Tensor> outputs = session.run(inputs);
#pragma once

#if __cplusplus < 201709L  // where C++20 is complete enough: GCC 10, clang 10
#error "colonnade/colonnade.hpp needs C++20: compile with -std=c++20, or use the C interface, colonnade/colonnade.h"
#else

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "colonnade/model.hpp"
#include "colonnade/session.hpp"
#include "colonnade/tensor.hpp"
#include "colonnade/version.h"

namespace colonnade {

enum class LogLevel { debug, info, warning, error };
/// Called with one line at a time, by any thread, one at a time. Without a handler, warnings and errors go to stderr.
using LogHandler = std::function<void(LogLevel level, std::string_view line)>;
/// For the whole process; an empty handler restores the default.
COLONNADE_API void set_log_handler(LogHandler handler);

/// Where arenas, tensors and packed weights come from. `allocate` returns null when there is no memory.
struct AllocationHooks {
  void* (*allocate)(std::size_t bytes, std::size_t alignment, void* user) = nullptr;
  void (*release)(void* memory, std::size_t bytes, void* user) = nullptr;
  void* user = nullptr;
};
/// For the whole process; hooks with null functions restore the default. Memory is released by the hooks that
/// allocated it, so they must stay valid.
COLONNADE_API void set_allocation_hooks(const AllocationHooks& hooks);

/// The machine as JSON: topology, ISA, caches, NUMA, quota, default threads, and the rates by which plans are made
/// (`rates`; its `source` is "defaults" or the file they were read from). With `measure` they are measured first, which
/// takes a second or two, and kept in that file for all models loaded from then on: COLONNADE_RATES, else one under
/// XDG_CACHE_HOME or ~/.cache; `rates.error` says why when it cannot be written.
COLONNADE_API std::string describe_machine(bool measure);

/// Measured fp32 FMA peak in GFLOP/s of `threads` threads under the given tier ("" = active one).
COLONNADE_API double measure_fma_peak(int threads, const std::string& isa = "");

/// The library's version string.
COLONNADE_API std::string_view version() noexcept;

}  // namespace colonnade

#endif  // C++20
