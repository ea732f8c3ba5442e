// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/files.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/printable.hpp"

namespace colonnade::onnx_import {
namespace {

constexpr std::size_t kLongestPath = 4096;
constexpr std::size_t kMostOpenFiles = 64;

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

}  // namespace

OpenBytes Files::open(const std::string& path, std::string_view where) {
  if (!folders_) {
    fail(ErrorCode::invalid_model, "{}: external data '{}' needs a model that is loaded from a file", where,
         printable(path));
  }
  check_path(path, where);
  if (const auto found = files_.find(path); found != files_.end()) return {found->second, true};
  FileDescriptor file = open_beside(*folders_, path, where);
  auto bytes = std::make_shared<const FileBytes>(std::move(file), path);
  if (files_.size() >= kMostOpenFiles) {
    all_last_ = false;
    return {std::move(bytes), false};
  }
  files_.emplace(path, bytes);
  return {std::move(bytes), true};
}

}  // namespace colonnade::onnx_import
