// SPDX-License-Identifier: Apache-2.0
// One client: reads requests one after another, answers each before the next, and closes in good order.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "frontends/server/clients.hpp"
#include "frontends/server/http/endpoints.hpp"
#include "frontends/server/http/event_loops.hpp"

namespace colonnade::serve {
class Certificates;
}

namespace colonnade::serve::http {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  virtual ~Connection() = default;
  virtual void start() = 0;
  /// Closes when the request under way is answered. Any thread.
  virtual void finish() = 0;
  /// Cancels the request under way and closes. Any thread.
  virtual void abort() = 0;
  /// Ends what has taken too long. Any thread.
  virtual void expire() = 0;
  bool is_late(Clock::time_point now) const { return deadline_.load(std::memory_order_relaxed) < now; }

 protected:
  std::atomic<Clock::time_point> deadline_{Clock::time_point::max()};
};

/// The open connections of a server. Thread-safe.
class Connections {
 public:
  void add(Connection& connection);
  void remove(Connection& connection);
  std::size_t count() const;
  std::vector<std::shared_ptr<Connection>> all() const;
  std::vector<std::shared_ptr<Connection>> late(Clock::time_point now) const;
  /// True when none is left in time.
  bool wait_until_empty(Clock::time_point deadline) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable empty_;
  std::unordered_set<Connection*> open_;
};

/// What the connections of one listener share.
struct Listening {
  const Endpoints& endpoints;
  const HttpOptions& options;
  Connections& connections;
  const Certificates& certificates;
  bool metrics_only = false;
};

/// The socket is one of the loop where `seat` is. `listening` outlives the connection, which is lent `place`.
std::shared_ptr<Connection> make_connection(const Listening& listening, boost::asio::ip::tcp::socket socket,
                                            ClientPtr client, Lease place, Seat seat);

}  // namespace colonnade::serve::http
