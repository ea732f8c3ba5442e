// SPDX-License-Identifier: Apache-2.0
// Tensors in memory that clients on this host share with the server (Triton's system shared memory), which clients may
// shorten or change at any time: it is read and written by calls that fail then, never mapped.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/server/clients.hpp"
#include "frontends/server/inference.hpp"

namespace colonnade::serve {

/// A part of an object of shared memory, by the name that a client gave it.
class SharedRegion {
 public:
  /// Throws Failure where there is no such object or it is too small.
  SharedRegion(std::string name, std::string key, std::uint64_t offset, std::uint64_t bytes);
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;
  ~SharedRegion();

  const std::string& name() const { return name_; }
  const std::string& key() const { return key_; }
  std::uint64_t offset() const { return offset_; }
  std::uint64_t size() const { return bytes_; }

  /// From and to `at` of the region. Throw Failure where the object does not hold that any more.
  void read(std::uint64_t at, std::span<std::byte> into) const;
  void write(std::uint64_t at, std::span<const std::byte> from) const;

 private:
  [[noreturn]] void refuse(std::uint64_t at, std::size_t bytes) const;
  bool holds(std::uint64_t end) const;

  const std::string name_, key_;
  const std::uint64_t offset_, bytes_;
  int file_ = -1;
};

/// The regions of a server. Any thread may call.
class SharedMemory {
 public:
  static constexpr std::size_t kMostRegions = 256;  ///< each keeps a descriptor

  /// Objects whose names begin so ("/" and what follows) may be used; "": none, and every call is refused. Throws
  /// Failure for any other prefix.
  explicit SharedMemory(std::string prefix);

  bool is_on() const { return !prefix_.empty(); }
  void add(const std::string& name, const std::string& key, std::uint64_t offset, std::uint64_t bytes);
  /// What requests under way use of it stays until they are answered. Unknown names are no error.
  void remove(const std::string& name);
  void remove_all();
  /// All when `name` is empty. Throws Failure{not_found}.
  std::vector<SharedRegionPtr> regions(const std::string& name) const;

  /// Takes what says that a tensor is there out of its parameters; null when nothing does. Throws Failure.
  SharedPlacePtr take_place(Parameters& parameters, std::string_view where) const;

 private:
  void check_on() const;

  const std::string prefix_;
  mutable std::mutex mutex_;  ///< of what follows
  std::map<std::string, SharedRegionPtr> regions_;
};

/// Where a tensor's bytes are, or go.
struct SharedPlace {
  SharedRegionPtr region;
  std::uint64_t offset = 0;  ///< in the region
  std::uint64_t bytes = 0;
};

/// A copy of an input as it is now, of which `client` is lent the bytes. Throws Failure.
InputTensor shared_input(const SharedPlace& place, std::string name, DType dtype, Shape shape, const Lease& client);
/// The bytes of an output; returns how many they are. Throws Failure where they do not fit.
std::uint64_t write_shared(const OutputTensor& output);

}  // namespace colonnade::serve
