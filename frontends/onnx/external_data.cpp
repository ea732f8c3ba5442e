// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/external_data.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

namespace colonnade::onnx_import {
namespace {

constexpr std::size_t kLongestPath = 4096;

std::int64_t parse_count(const std::string& text, std::string_view key, std::string_view where) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < 0) {
    fail(ErrorCode::invalid_model, "{}: external data: {} must be a non-negative 64-bit integer, found '{}'", where,
         key, printable(text));
  }
  return value;
}

std::vector<std::string> components_of(std::string_view path) {
  std::vector<std::string> components;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view component = path.substr(0, slash);
    if (!component.empty() && component != ".") components.emplace_back(component);
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return components;
}

bool has_drive(std::string_view path) {
  return path.size() >= 2 && path[1] == ':' &&
         ((path[0] >= 'a' && path[0] <= 'z') || (path[0] >= 'A' && path[0] <= 'Z'));
}

void check_path(const std::string& path, std::string_view where) {
  const auto refuse = [&](std::string_view why) {
    fail(ErrorCode::invalid_model, "{}: external data: location '{}' {}", where, printable(path), why);
  };
  if (path.find('\0') != std::string::npos) refuse("holds a NUL");
  if (path.size() > kLongestPath) refuse("is too long");
  if (path.front() == '/') refuse("must be relative to the model's folder");
  if (path.find('\\') != std::string::npos) refuse("holds a backslash");
  if (has_drive(path)) refuse("names a drive");
  const auto components = components_of(path);
  if (components.empty() || path.back() == '/') refuse("names no file");
  for (const auto& component : components) {
    if (component == "..") refuse("climbs out of the model's folder");
  }
}

[[noreturn]] void fail_open(const std::string& path, std::string_view where, int error) {
  if (error == ELOOP || error == ENOTDIR || error == EMLINK) {
    fail(ErrorCode::invalid_model, "{}: external data: '{}' leads through a symbolic link or a file", where,
         printable(path));
  }
  fail(ErrorCode::io, "{}: external data: cannot open '{}': {}", where, printable(path), std::strerror(error));
}

/// Walks the path component by component, so that no link on the way can lead out of the folder.
FileDescriptor open_beneath(const std::string& folder, const std::string& path, std::string_view where) {
  FileDescriptor at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!at.is_open()) fail_open(folder, where, errno);
  const auto components = components_of(path);
  for (std::size_t i = 0; i < components.size(); ++i) {
    const bool last = i + 1 == components.size();
    const int kind = last ? O_NONBLOCK | O_NOCTTY : O_DIRECTORY;
    FileDescriptor next(::openat(at.get(), components[i].c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | kind));
    if (!next.is_open()) fail_open(path, where, errno);
    at = std::move(next);
  }
  return at;
}

std::int64_t checked_size(const FileDescriptor& file, const std::string& path, std::string_view where) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail_open(path, where, errno);
  if (!S_ISREG(status.st_mode)) {
    fail(ErrorCode::invalid_model, "{}: external data: '{}' is not a regular file", where, printable(path));
  }
  if (status.st_nlink > 1) {
    fail(ErrorCode::invalid_model, "{}: external data: '{}' has {} hard links, expected 1", where, printable(path),
         static_cast<std::uint64_t>(status.st_nlink));
  }
  return status.st_size;
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

int FileDescriptor::release() { return std::exchange(fd_, -1); }

ExternalLocation parse_location(const onnx::TensorProto& proto, std::string_view where) {
  ExternalLocation location;
  std::set<std::string_view> seen;
  for (const auto& entry : proto.external_data()) {
    const std::string& key = entry.key();
    if (!seen.insert(key).second) {
      fail(ErrorCode::invalid_model, "{}: external data: key '{}' occurs twice", where, printable(key));
    }
    if (key == "location") {
      location.path = entry.value();
    } else if (key == "offset") {
      location.offset = parse_count(entry.value(), key, where);
    } else if (key == "length") {
      location.length = parse_count(entry.value(), key, where);
    } else if (key != "checksum" && key != "basepath") {
      fail(ErrorCode::invalid_model, "{}: external data: unknown key '{}'", where, printable(key));
    }
  }
  if (location.path.empty()) fail(ErrorCode::invalid_model, "{}: external data: no location", where);
  check_path(location.path, where);
  return location;
}

std::int64_t ExternalData::open(const ExternalLocation& location, std::string_view where) {
  if (!folder_) {
    fail(ErrorCode::invalid_model, "{}: external data '{}' needs a model that is loaded from a file", where,
         printable(location.path));
  }
  if (file_.is_open() && open_path_ == location.path) return size_;
  FileDescriptor file = open_beneath(*folder_, location.path, where);
  size_ = checked_size(file, location.path, where);
  file_ = std::move(file);
  open_path_ = location.path;
  return size_;
}

void ExternalData::read(std::int64_t offset, std::span<std::byte> target, std::string_view where) {
  while (!target.empty()) {
    const ssize_t count = ::pread(file_.get(), target.data(), target.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      fail(ErrorCode::io, "{}: external data: cannot read '{}': {}", where, printable(open_path_),
           count < 0 ? std::strerror(errno) : "the file became shorter");
    }
    target = target.subspan(static_cast<std::size_t>(count));
    offset += count;
  }
}

}  // namespace colonnade::onnx_import
