// SPDX-License-Identifier: Apache-2.0
#include "frontends/pool/pool.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace colonnade {

SessionPool::SessionPool(Model model)
    : model_(std::move(model)), processors_(std::max(1, static_cast<int>(std::thread::hardware_concurrency()))) {
  most_ = model_.options().memory_limit_bytes > 0 ? 1 : processors_;
  slots_.push_back(std::make_unique<Slot>(model_));
  idle_.push_back(slots_.back().get());
}

SessionPool::~SessionPool() = default;

SessionPool::Lease& SessionPool::Lease::operator=(Lease&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(slot_, other.slot_);
  std::swap(beside_, other.beside_);
  return *this;
}

SessionPool::Lease::~Lease() {
  if (slot_ != nullptr) pool_->give_back(*slot_);
}

Session& SessionPool::Lease::session() const { return slot_->session; }

RunOptions SessionPool::Lease::shared(RunOptions options) const {
  const int asked = pool_->model_.options().threads;
  options.threads = std::max(1, (asked > 0 ? asked : pool_->processors_) / (beside_ + 1));
  return options;
}

void SessionPool::Lease::leave_thread() {
  const std::scoped_lock lock(pool_->mutex_);
  slot_->holder = {};
}

void SessionPool::check_open() const {
  if (is_closed_) throw Error(ErrorCode::invalid_argument, "the session is closed");
}

void SessionPool::check_holders() const {
  for (const auto& slot : slots_)
    if (slot->holder == std::this_thread::get_id())
      throw Error(ErrorCode::invalid_argument, "the session is in use by the run that a signal's handler interrupts");
}

/// Null where all run. With the mutex.
SessionPool::Slot* SessionPool::take_slot() {
  if (wants_everything_ > 0 || lent_ >= most_) return nullptr;
  if (idle_.empty()) {
    slots_.push_back(std::make_unique<Slot>(model_));
    idle_.push_back(slots_.back().get());
  }
  Slot* const slot = idle_.back();
  idle_.pop_back();
  ++lent_;
  return slot;
}

template <class Ready>
void SessionPool::wait(std::unique_lock<std::mutex>& lock, const RunOptions& options, Ready ready) {
  constexpr std::chrono::milliseconds kBetweenQuestions{5};
  while (!changed_.wait_for(lock, kBetweenQuestions, ready)) {
    if (options.stop.stop_requested()) throw Error(ErrorCode::cancelled, "the run was cancelled");
    if (std::chrono::steady_clock::now() >= options.deadline)
      throw Error(ErrorCode::deadline, "the run did not end by its deadline");
    if (!options.poll) continue;
    lock.unlock();
    options.poll();
    lock.lock();
  }
}

SessionPool::Lease SessionPool::take(const RunOptions& options) {
  std::unique_lock lock(mutex_);
  check_holders();
  Slot* slot = nullptr;
  wait(lock, options, [&] { return is_closed_ || (slot = take_slot()) != nullptr; });
  check_open();
  slot->holder = std::this_thread::get_id();
  return {*this, *slot, lent_ - 1};
}

SessionPool::Lease SessionPool::try_take() {
  const std::scoped_lock lock(mutex_);
  check_open();
  Slot* const slot = take_slot();
  if (slot == nullptr) return {};
  slot->holder = std::this_thread::get_id();
  return {*this, *slot, lent_ - 1};
}

void SessionPool::give_back(Slot& slot) {
  {
    const std::scoped_lock lock(mutex_);
    slot.holder = {};
    idle_.push_back(&slot);
    --lent_;
  }
  changed_.notify_all();
}

SessionPool::Everything::Everything(SessionPool& pool, const RunOptions& options) : pool_(pool) {
  std::unique_lock lock(pool.mutex_);
  pool.check_holders();
  pool.check_open();
  ++pool.wants_everything_;
  try {
    pool.wait(lock, options, [&] { return pool.lent_ == 0; });
    pool.check_open();
    pool.lent_ = 1;
  } catch (...) {
    --pool.wants_everything_;
    pool.changed_.notify_all();
    throw;
  }
}

SessionPool::Everything::~Everything() {
  {
    const std::scoped_lock lock(pool_.mutex_);
    --pool_.wants_everything_;
    pool_.lent_ = 0;
  }
  pool_.changed_.notify_all();
}

void SessionPool::limit(int most, const RunOptions& options) {
  const Everything everything(*this, options);
  most_ = most > 0 ? most : processors_;
  if (model_.options().memory_limit_bytes > 0) most_ = 1;
  Slot* const last = idle_.back();
  idle_ = {last};
  std::erase_if(slots_, [&](const auto& slot) { return slot.get() != last; });
}

void SessionPool::close(const RunOptions& options) {
  {
    const std::scoped_lock lock(mutex_);
    if (is_closed_) return;
  }
  const Everything everything(*this, options);
  idle_.clear();
  slots_.clear();
  is_closed_ = true;
}

}  // namespace colonnade
