// SPDX-License-Identifier: Apache-2.0
// Tensor data in files beside the model. The model is untrusted, so its folder is a boundary.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "frontends/onnx/proto.hpp"

namespace colonnade::onnx_import {

/// A file descriptor that closes itself.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor();
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  int release();

 private:
  int fd_ = -1;
};

/// Where in which file a tensor's bytes are.
struct ExternalLocation {
  std::string path;
  std::int64_t offset = 0;
  std::optional<std::int64_t> length;
};

/// Reads the keys of TensorProto.external_data. Throws Error{invalid_model} for unknown, doubled or malformed keys and
/// for paths that are absolute, climb out or hold a NUL, a backslash or a drive.
ExternalLocation parse_location(const onnx::TensorProto& proto, std::string_view where);

/// The files of one folder: nothing outside it is opened, no symbolic link is followed, only regular files with one
/// hard link are read. Without a folder every read is refused.
class ExternalData {
 public:
  ExternalData() = default;
  explicit ExternalData(std::string folder) : folder_(std::move(folder)) {}

  /// The open file's size; call before allocating for its contents. Throws Error{invalid_model} or Error{io}.
  std::int64_t open(const ExternalLocation& location, std::string_view where);
  /// Fills `target` from the file opened last; its range must lie within the size `open` answered.
  void read(std::int64_t offset, std::span<std::byte> target, std::string_view where);

 private:
  std::optional<std::string> folder_;
  std::string open_path_;
  FileDescriptor file_;
  std::int64_t size_ = 0;
};

}  // namespace colonnade::onnx_import
