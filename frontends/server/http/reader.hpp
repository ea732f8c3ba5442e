// SPDX-License-Identifier: Apache-2.0
// Turns the bytes of a connection into requests.
#pragma once

#include <memory>

#include "frontends/server/http/message.hpp"
#include "frontends/server/options.hpp"

namespace colonnade::serve::http {

/// Reads one request: first its head, at which it stops for the caller to decide, then its body. Throws Problem; the
/// connection is then of no further use.
class Reader {
 public:
  enum class State { head, body, done };

  static constexpr std::size_t kMostHeadBytes = 16384;
  static constexpr std::size_t kMostFields = 100;

  /// `options` outlive the reader. Bodies are lent as `bytes` is.
  explicit Reader(const HttpOptions& options, const Lease& bytes = {});
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;
  ~Reader();

  State state() const;
  /// Takes what it can of `bytes` and returns how much that was. The caller keeps the rest and comes again with more
  /// behind it.
  std::size_t feed(std::span<const std::byte> bytes);
  /// Complete once the state is beyond `head`, but for its body.
  const Request& request() const;
  /// The client waits for a `100 Continue` before it sends the body.
  bool expects_continue() const;
  /// Where the next bytes of the body may be read to without a detour, to be followed by `commit`; empty when they
  /// have to be fed.
  std::span<std::byte> room();
  void commit(std::size_t count);
  /// The request, once done.
  Request take();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace colonnade::serve::http
