// SPDX-License-Identifier: Apache-2.0
// TLS as files say, read again when they change.
#pragma once

#include <array>
#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <mutex>
#include <string>

#include "frontends/server/options.hpp"

namespace colonnade::serve::http {

/// Thread-safe.
class Certificates {
 public:
  using Context = boost::asio::ssl::context;

  /// Throws Failure{invalid_argument} where files are missing, unusable or do not fit each other.
  explicit Certificates(const HttpOptions& options);

  bool is_on() const { return !files_[0].empty(); }
  /// For a new connection; null without TLS.
  std::shared_ptr<Context> now() const;
  /// Reads files again that have changed; what cannot be used yet leaves those that are, and is said in the log.
  void look();

 private:
  using Stamp = std::string;
  std::shared_ptr<Context> read() const;
  Stamp stamp() const;

  const std::array<std::string, 3> files_;  ///< certificate, key, authority of clients
  mutable std::mutex mutex_;                ///< of what follows
  std::shared_ptr<Context> context_;
  Stamp stamp_, failed_;  ///< of the files that are used, and of those that could not be
};

}  // namespace colonnade::serve::http
