// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/clients.hpp"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>

#include "frontends/server/status.hpp"

namespace colonnade::serve {
namespace {

constexpr std::size_t kNetworkBytes = 8;  ///< of an IPv6 address: what one customer has
constexpr std::array<const char*, kHoldings> kHoldingNames = {"connections", "requests", "bytes of requests"};

std::string network_of(const std::string& address) {
  std::array<char, 16> bytes{};
  if (inet_pton(AF_INET6, address.c_str(), bytes.data()) != 1) return address;
  if (IN6_IS_ADDR_V4MAPPED(reinterpret_cast<const in6_addr*>(bytes.data())))
    return address.substr(address.rfind(':') + 1);
  return {bytes.data(), kNetworkBytes};
}

/// Adds where the sum stays within the limit.
bool add_within(std::atomic<std::size_t>& held, std::size_t amount, std::size_t limit) {
  std::size_t now = held.load(std::memory_order_relaxed);
  do {
    if (amount > limit || now > limit - amount) return false;
  } while (!held.compare_exchange_weak(now, now + amount, std::memory_order_relaxed));
  return true;
}

}  // namespace

class Client {
 public:
  explicit Client(Clients& all) : all_(all) {}

  bool take(Holding kind, std::size_t amount) {
    const auto index = static_cast<std::size_t>(kind);
    if (!add_within(held_[index], amount, all_.limits_.each[index])) return false;
    if (add_within(all_.held_[index], amount, all_.limits_.total[index])) return true;
    held_[index] -= amount;
    return false;
  }

  void give(Holding kind, std::size_t amount) {
    const auto index = static_cast<std::size_t>(kind);
    held_[index] -= amount;
    all_.held_[index] -= amount;
  }

 private:
  Clients& all_;
  std::array<std::atomic<std::size_t>, kHoldings> held_{};
};

Lease& Lease::operator=(Lease&& other) noexcept {
  std::swap(client_, other.client_);
  std::swap(kind_, other.kind_);
  std::swap(amount_, other.amount_);
  return *this;
}

Lease::~Lease() {
  if (client_ && amount_ > 0) client_->give(kind_, amount_);
}

bool Lease::grow_to(std::size_t amount) {
  if (!client_ || amount <= amount_) return true;
  if (!client_->take(kind_, amount - amount_)) return false;
  amount_ = amount;
  return true;
}

void Lease::need(std::size_t amount) {
  if (!grow_to(amount))
    throw Failure(Code::resource_exhausted,
                  fmt::format("too many {} are under way", kHoldingNames[static_cast<std::size_t>(kind_)]));
}

Clients::Clients(const ClientLimits& limits) : limits_(limits) {
  for (std::size_t i = 0; i < kHoldings; ++i)
    if (limits_.each[i] == 0) limits_.each[i] = limits_.total[i] - limits_.total[i] / 2;
}

ClientPtr Clients::client(const std::string& address) {
  const std::string network = network_of(address);
  const std::lock_guard lock(mutex_);
  if (const auto found = known_.find(network); found != known_.end())
    if (ClientPtr known = found->second.lock()) return known;
  std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
  auto fresh = std::make_shared<Client>(*this);
  known_[network] = fresh;
  return fresh;
}

}  // namespace colonnade::serve
