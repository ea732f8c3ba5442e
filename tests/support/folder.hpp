// SPDX-License-Identifier: Apache-2.0
// A folder for a test's files.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace colonnade::test {

/// A new folder that goes with the object; forked children leave it alone.
class TemporaryFolder {
 public:
  TemporaryFolder() : owner_(getpid()) {
    std::string pattern = (std::filesystem::temp_directory_path() / "colonnade_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::system_error(errno, std::generic_category(), pattern);
    path_ = std::filesystem::canonical(pattern);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (getpid() == owner_) std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  pid_t owner_;
  std::filesystem::path path_;
};

}  // namespace colonnade::test
