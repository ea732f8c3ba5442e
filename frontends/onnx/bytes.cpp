// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/bytes.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/error.hpp"
#include "base/printable.hpp"

namespace colonnade::onnx_import {

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

int FileDescriptor::release() { return std::exchange(fd_, -1); }

FileBytes::FileBytes(FileDescriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0)
    fail(ErrorCode::io, "cannot read '{}': {}", printable(name_), std::strerror(errno));
  size_ = status.st_size;
  changed_s_ = status.st_mtim.tv_sec;
  changed_ns_ = status.st_mtim.tv_nsec;
  constexpr std::time_t kMomentSeconds = 2;
  if (::time(nullptr) - std::max(status.st_ctim.tv_sec, status.st_mtim.tv_sec) < kMomentSeconds) return;
  identity_ = fmt::format("{}:{}:{}:{}.{:09}:{}.{:09}", status.st_dev, status.st_ino, size_, changed_s_, changed_ns_,
                          status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
}

void FileBytes::read(std::int64_t offset, std::span<std::byte> target) const {
  while (!target.empty()) {
    const ssize_t count = ::pread(file_.get(), target.data(), target.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      fail(ErrorCode::io, "cannot read '{}': {}", printable(name_),
           count < 0 ? std::strerror(errno) : "the file became shorter");
    }
    target = target.subspan(static_cast<std::size_t>(count));
    offset += count;
  }
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0 || status.st_size != size_ || status.st_mtim.tv_sec != changed_s_ ||
      status.st_mtim.tv_nsec != changed_ns_) {
    fail(ErrorCode::io, "cannot read '{}': the file changed while the model was in use", printable(name_));
  }
}

void MemoryBytes::read(std::int64_t offset, std::span<std::byte> target) const {
  if (!target.empty()) std::memcpy(target.data(), bytes_.data() + offset, target.size());
}

}  // namespace colonnade::onnx_import
