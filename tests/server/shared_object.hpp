// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <vector>

namespace colonnade::test {

/// An object of shared memory of a name of its own, gone with this.
class SharedObject {
 public:
  explicit SharedObject(std::size_t bytes, const std::string& prefix = "/colonnade_test_") {
    static std::atomic<int> number{0};
    name_ = fmt::format("{}{}_{}", prefix, ::getpid(), number++);
    file_ = ::shm_open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    EXPECT_GE(file_, 0) << name_;
    resize(bytes);
  }
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;
  ~SharedObject() {
    ::shm_unlink(name_.c_str());
    ::close(file_);
  }

  const std::string& name() const { return name_; }
  void resize(std::size_t bytes) const { EXPECT_EQ(::ftruncate(file_, static_cast<off_t>(bytes)), 0); }
  std::size_t size() const {
    struct stat status {};
    EXPECT_EQ(::fstat(file_, &status), 0);
    return static_cast<std::size_t>(status.st_size);
  }
  void put(std::size_t at, const std::vector<float>& values) const {
    const std::size_t bytes = values.size() * sizeof(float);
    EXPECT_EQ(::pwrite(file_, values.data(), bytes, static_cast<off_t>(at)), static_cast<ssize_t>(bytes));
  }
  std::vector<float> get(std::size_t at, std::size_t count) const {
    std::vector<float> values(count);
    const auto read = ::pread(file_, values.data(), count * sizeof(float), static_cast<off_t>(at));
    EXPECT_EQ(read, static_cast<ssize_t>(count * sizeof(float)));
    return values;
  }

 private:
  std::string name_;
  int file_ = -1;
};

}  // namespace colonnade::test
