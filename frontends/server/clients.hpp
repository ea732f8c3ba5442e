// SPDX-License-Identifier: Apache-2.0
// What clients have under way, in total and each: connections, requests, bytes of requests.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace colonnade::serve {

enum class Holding { connections, requests, bytes };
inline constexpr std::size_t kHoldings = 3;

/// By Holding.
struct ClientLimits {
  std::array<std::size_t, kHoldings> total = {4096, 4096, std::size_t{1} << 30};
  std::array<std::size_t, kHoldings> each = {};  ///< of one client; 0: half of the total, rounded up
};

/// Of one address. Shared by all that it has under way.
class Client;
using ClientPtr = std::shared_ptr<Client>;

/// What a client was lent; goes back when this is destroyed. One that was made of nothing lends anything.
class Lease {
 public:
  Lease() = default;
  Lease(Lease&& other) noexcept : client_(std::move(other.client_)), kind_(other.kind_), amount_(other.amount_) {
    other.amount_ = 0;
  }
  Lease& operator=(Lease&& other) noexcept;
  ~Lease();

  /// False, and nothing has changed, where client or server would have too much.
  bool grow_to(std::size_t amount);
  /// The same, or throws Failure{resource_exhausted}.
  void need(std::size_t amount);
  /// Another one of the same client and kind, of nothing yet.
  Lease another() const { return {client_, kind_}; }

 private:
  friend class Clients;
  Lease(ClientPtr client, Holding kind) : client_(std::move(client)), kind_(kind) {}

  ClientPtr client_;
  Holding kind_ = Holding::bytes;
  std::size_t amount_ = 0;
};

/// All clients of the process. Any thread; outlives its leases.
class Clients {
 public:
  explicit Clients(const ClientLimits& limits);

  /// Of an address, without a port; an IPv6 one stands for its network of 64 bits.
  ClientPtr client(const std::string& address);
  static Lease lease(ClientPtr client, Holding kind) { return {std::move(client), kind}; }
  std::size_t held(Holding kind) const { return held_[static_cast<std::size_t>(kind)]; }
  std::size_t limit(Holding kind) const { return limits_.total[static_cast<std::size_t>(kind)]; }

 private:
  friend class Client;
  friend class Lease;

  ClientLimits limits_;
  std::array<std::atomic<std::size_t>, kHoldings> held_{};
  std::mutex mutex_;  ///< of what follows
  std::map<std::string, std::weak_ptr<Client>, std::less<>> known_;
};

}  // namespace colonnade::serve
