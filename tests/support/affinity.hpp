// SPDX-License-Identifier: Apache-2.0
// What taskset and control groups do to a process from outside.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace colonnade::test {

using ProcessorSet = std::set<int>;

inline std::set<pid_t> threads_of(pid_t process) {
  std::set<pid_t> threads;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", gone))
    threads.insert(std::stoi(entry.path().filename()));
  return threads;
}

/// Empty for a thread that is gone.
inline ProcessorSet processors_of(pid_t thread) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  ProcessorSet found;
  if (sched_getaffinity(thread, sizeof mask, &mask) != 0) return found;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &mask)) found.insert(i);
  return found;
}

/// For all threads, those too that others start meanwhile.
inline void give_processors(pid_t process, const ProcessorSet& processors) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const int processor : processors) CPU_SET(processor, &mask);
  std::set<pid_t> given;
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (const pid_t thread : threads_of(process))
      if (given.insert(thread).second) is_new = true, sched_setaffinity(thread, sizeof mask, &mask);
  }
}

/// The processors that threads of the process may run on beside these.
inline ProcessorSet used_beside(pid_t process, const ProcessorSet& processors) {
  ProcessorSet beside;
  for (const pid_t thread : threads_of(process))
    for (const int processor : processors_of(thread))
      if (!processors.contains(processor)) beside.insert(processor);
  return beside;
}

}  // namespace colonnade::test
