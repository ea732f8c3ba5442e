// SPDX-License-Identifier: Apache-2.0
// Where tensors lie: memory of the CPU, by the library's allocator or one of the program's.
#pragma once

#include <string>

#include "frontends/onnxruntime/status.hpp"

struct OrtMemoryInfo {
  std::string name = "Cpu";
  OrtAllocatorType allocator = OrtDeviceAllocator;
  int id = 0;
  OrtMemType memory = OrtMemTypeDefault;
  OrtMemoryInfoDeviceType device = OrtMemoryInfoDeviceType_CPU;
  std::uint32_t vendor = 0;
  OrtDeviceMemoryType device_memory = OrtDeviceMemoryType_DEFAULT;

  bool operator==(const OrtMemoryInfo&) const = default;
};

namespace colonnade::ort {

/// The library's own, for as long as the process lives.
OrtAllocator& default_allocator() noexcept;
const OrtMemoryInfo& cpu_memory() noexcept;
/// One of the program's, to be released by ReleaseAllocator.
OrtAllocator* new_cpu_allocator();

/// Memory of `allocator`. Throws Failure where it has none.
void* allocated(OrtAllocator& allocator, std::size_t bytes);
/// The text in memory of `allocator`, which the program frees.
char* copied(OrtAllocator& allocator, const std::string& text);
/// Copies the text, with its end, to `out` where there is room: `size` is the room, then what is needed; a null `out`
/// asks for that alone. Throws Failure where the room is too small.
void copy_text(const std::string& text, char* out, std::size_t& size);

}  // namespace colonnade::ort
