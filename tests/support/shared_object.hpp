// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

namespace colonnade::test {

/// An object of shared memory of a name of its own, zeros at first, gone with this. Throws what tests fail with.
class SharedObject {
 public:
  explicit SharedObject(std::size_t bytes, const std::string& prefix = "/colonnade_test_") {
    static std::atomic<int> number{0};
    name_ = fmt::format("{}{}_{}", prefix, ::getpid(), number++);
    ::shm_unlink(name_.c_str());  // of a process that had this number and was killed
    file_ = ::shm_open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    resize(bytes);
  }
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;
  ~SharedObject() {
    ::shm_unlink(name_.c_str());
    ::close(file_);
  }

  const std::string& name() const { return name_; }
  void resize(std::size_t bytes) const { check(::ftruncate(file_, static_cast<off_t>(bytes)) == 0); }
  std::size_t size() const {
    struct stat status {};
    check(::fstat(file_, &status) == 0);
    return static_cast<std::size_t>(status.st_size);
  }
  void put(std::size_t at, const std::vector<float>& values) const {
    const std::size_t bytes = values.size() * sizeof(float);
    check(::pwrite(file_, values.data(), bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes));
  }
  std::vector<float> get(std::size_t at, std::size_t count) const {
    std::vector<float> values(count);
    const std::size_t bytes = count * sizeof(float);
    check(::pread(file_, values.data(), bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes));
    return values;
  }

 private:
  void check(bool is_well) const {
    if (!is_well) throw std::runtime_error("shared memory " + name_ + " failed");
  }

  std::string name_;
  int file_ = -1;
};

}  // namespace colonnade::test
