// SPDX-License-Identifier: Apache-2.0
// A session's times as ONNX Runtime writes them: events of the trace-event format, one list.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "colonnade/colonnade.hpp"

namespace colonnade::ort {

/// Collects from when it is made. Runs that are profiled follow each other.
class Profile {
 public:
  Profile(std::uint64_t start_ns, std::string prefix, bool is_file);
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;
  ~Profile();

  /// Does the work, a run of the session, and notes how long its operators took.
  void run(Session& session, const std::function<void()>& work);
  /// Writes the file, whose name it returns, and collects no more. Throws Failure.
  std::string finish();

 private:
  double now() const;  ///< microseconds from the start
  void add(const char* kind, const std::string& name, double begin, double end, long thread,
           const std::map<std::string, std::string>& arguments = {});
  void add_nodes(const std::string& trace, double begin);

  const std::uint64_t start_ns_;
  const std::string prefix_;
  std::mutex mutex_;
  bool is_over_ = false;
  std::map<std::string, int> nodes_;
  std::unique_ptr<nlohmann::json> events_;
};

}  // namespace colonnade::ort
