// SPDX-License-Identifier: Apache-2.0
// Where a model's bytes are. Tensor data stays there until someone needs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

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

/// Bytes that can be read at any offset, again and again, from several threads.
class Bytes {
 public:
  virtual ~Bytes() = default;
  virtual std::int64_t size() const = 0;
  /// The range must lie within size(). Throws Error{io}.
  virtual void read(std::int64_t offset, std::span<std::byte> target) const = 0;
  /// A text that no other bytes have, and these no longer when they change; "" where nobody knows.
  virtual std::string identity() const { return ""; }
};

/// An open file. It is read, never mapped: a file that is cut or changed while the model lives is an Error, not a
/// crash or other weights; one that is replaced or deleted is still read as it was.
class FileBytes final : public Bytes {
 public:
  /// `name` is for messages. Throws Error{io}.
  FileBytes(FileDescriptor file, std::string name);
  std::int64_t size() const override { return size_; }
  void read(std::int64_t offset, std::span<std::byte> target) const override;
  /// Device, inode, size and times of change. "" for a file that changed a moment ago: its times would not tell when it
  /// changes once more.
  std::string identity() const override { return identity_; }

 private:
  FileDescriptor file_;
  std::string name_, identity_;
  std::int64_t size_ = 0, changed_s_ = 0, changed_ns_ = 0;
};

/// Memory of someone else, or what `owner` keeps.
class MemoryBytes final : public Bytes {
 public:
  explicit MemoryBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner = nullptr)
      : bytes_(bytes), owner_(std::move(owner)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(bytes_.size()); }
  void read(std::int64_t offset, std::span<std::byte> target) const override;

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
};

}  // namespace colonnade::onnx_import
