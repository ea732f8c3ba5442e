// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/http/connection.hpp"

namespace colonnade::serve::http {

void Connections::add(Connection& connection) {
  const std::lock_guard lock(mutex_);
  open_.insert(&connection);
}

void Connections::remove(Connection& connection) {
  const std::lock_guard lock(mutex_);
  open_.erase(&connection);
  if (open_.empty()) empty_.notify_all();
}

std::size_t Connections::count() const {
  const std::lock_guard lock(mutex_);
  return open_.size();
}

std::vector<std::shared_ptr<Connection>> Connections::all() const { return late(Clock::time_point::max()); }

std::vector<std::shared_ptr<Connection>> Connections::late(Clock::time_point now) const {
  std::vector<std::shared_ptr<Connection>> late;
  const std::lock_guard lock(mutex_);
  for (Connection* connection : open_) {
    if (now != Clock::time_point::max() && !connection->is_late(now)) continue;
    if (auto shared = connection->weak_from_this().lock()) late.push_back(std::move(shared));
  }
  return late;
}

bool Connections::wait_until_empty(Clock::time_point deadline) const {
  std::unique_lock lock(mutex_);
  return empty_.wait_until(lock, deadline, [this] { return open_.empty(); });
}

}  // namespace colonnade::serve::http
