// SPDX-License-Identifier: Apache-2.0
// TLS as files say, read again when they change.
#pragma once

#include <array>
#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <mutex>
#include <string>

namespace colonnade::serve {

/// Thread-safe.
class Certificates {
 public:
  using Context = boost::asio::ssl::context;
  /// Certificate with its chain, key, authority of clients ("": they need none): paths of files, or what is in them.
  using Files = std::array<std::string, 3>;
  /// What fits together and was understood.
  struct Used {
    Files texts;
    Context context{Context::tls_server};
  };

  /// Throws Failure{invalid_argument} where files are missing, unusable or do not fit each other. Without any, there is
  /// no TLS.
  explicit Certificates(Files paths);

  bool is_on() const { return !paths_[0].empty(); }
  /// For a new connection; null without TLS.
  std::shared_ptr<Used> now() const;
  /// Reads files again that have changed; what cannot be used yet leaves those that are, and is said in the log.
  void look();

 private:
  using Stamp = std::string;
  std::shared_ptr<Used> read() const;
  Stamp stamp() const;

  const Files paths_;
  mutable std::mutex mutex_;  ///< of what follows
  std::shared_ptr<Used> used_;
  Stamp stamp_, failed_;  ///< of the files that are used, and of those that could not be
};

}  // namespace colonnade::serve
