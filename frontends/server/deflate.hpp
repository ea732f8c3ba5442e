// SPDX-License-Identifier: Apache-2.0
// zlib, for the protocols that pack what they send.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace colonnade::serve {

/// What packed bytes begin and end with.
enum class Frame { gzip, zlib, either };

/// Unpacks bytes that come piece by piece.
class Inflater {
 public:
  enum class State { unpacking, ended, damaged };

  /// Throws std::bad_alloc, as `unpack` does.
  explicit Inflater(Frame frame);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Fills `room`, which is not empty, as far as the bytes reach, and moves `bytes` behind those that were read.
  /// Returns how many it wrote; none while it is unpacking means that more bytes are needed.
  std::size_t unpack(std::span<const std::byte>& bytes, std::span<std::byte> room);
  State state() const { return state_; }

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
  State state_ = State::unpacking;
};

/// All pieces together, fast rather than small; `frame` is gzip or zlib.
std::string pack(Frame frame, std::span<const std::span<const std::byte>> pieces);

}  // namespace colonnade::serve
