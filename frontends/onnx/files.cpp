// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "frontends/onnx/proto.hpp"

namespace colonnade::onnx_import {
namespace {

constexpr std::size_t kLongestPath = 4096;
constexpr std::size_t kMostOpenFiles = 64;

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

void check_file(const FileDescriptor& file, const std::string& path, std::string_view where) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail_open(path, where, errno);
  if (!S_ISREG(status.st_mode)) {
    fail(ErrorCode::invalid_model, "{}: external data: '{}' is not a regular file", where, printable(path));
  }
  if (status.st_nlink > 1) {
    fail(ErrorCode::invalid_model, "{}: external data: '{}' has {} hard links, expected 1", where, printable(path),
         static_cast<std::uint64_t>(status.st_nlink));
  }
}

}  // namespace

OpenBytes Files::open(const std::string& path, std::string_view where) {
  if (!folder_) {
    fail(ErrorCode::invalid_model, "{}: external data '{}' needs a model that is loaded from a file", where,
         printable(path));
  }
  check_path(path, where);
  if (const auto found = files_.find(path); found != files_.end()) return {found->second, true};
  FileDescriptor file = open_beneath(*folder_, path, where);
  check_file(file, path, where);
  auto bytes = std::make_shared<const FileBytes>(std::move(file), path);
  if (files_.size() >= kMostOpenFiles) {
    all_last_ = false;
    return {std::move(bytes), false};
  }
  files_.emplace(path, bytes);
  return {std::move(bytes), true};
}

}  // namespace colonnade::onnx_import
