// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/waker.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

namespace colonnade::serve {
namespace {

constexpr int kLoaders = 2;
/// Who has left, or waited too long, is noticed within this time.
constexpr std::chrono::milliseconds kWakerLook{20};

bool is_late(const InferenceRequest& request, Clock::time_point end, Clock::time_point now) {
  return end <= now || request.stop.stop_requested();
}

}  // namespace

Waker::Waker(Load load, Ask ask, std::size_t most, std::chrono::milliseconds timeout)
    : load_(std::move(load)), ask_(std::move(ask)), most_(most), timeout_(timeout) {
  for (int i = 0; i < kLoaders; ++i) threads_.emplace_back([this] { load_models(); });
  threads_.emplace_back([this] { watch_clock(); });
}

Waker::~Waker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  clock_wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  refuse(take_all(), {Code::unavailable, "the server is shutting down"});
}

void Waker::wait(InferenceRequest request, Done done) {
  Clock::time_point end = request.deadline;
  if (request.timeout.count() > 0) end = std::min(end, request.received + request.timeout);
  if (timeout_.count() > 0) end = std::min(end, request.received + timeout_);
  {
    const std::lock_guard lock(mutex_);
    if (count_ < most_ && !stopping_) {
      const std::string model = request.model;
      const auto [entry, is_new] = pending_.try_emplace(model);
      if (is_new) models_.push_back(model);
      entry->second.push_back({std::move(request), std::move(done), end});
      ++count_;
      wake_.notify_one();
      clock_wake_.notify_one();
      return;
    }
  }
  done(Status{Code::resource_exhausted, "Exceeds maximum queue size: too many requests wait for models to be loaded"});
}

void Waker::load_models() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !models_.empty(); });
    if (stopping_) return;
    const std::string model = std::move(models_.front());
    models_.pop_front();
    lock.unlock();
    std::optional<Status> failure;
    try {
      load_(model);
    } catch (const Failure& error) {
      failure = error.status();
    } catch (const std::exception& error) {
      failure = Status{Code::internal, error.what()};
    }
    std::vector<Pending> waiting = take(model);
    if (failure) {
      refuse(std::move(waiting), *failure);
    } else {
      for (Pending& each : waiting) ask_(std::move(each.request), std::move(each.done));
    }
    lock.lock();
  }
}

void Waker::watch_clock() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (count_ == 0) {
      clock_wake_.wait(lock, [this] { return stopping_ || count_ > 0; });
      continue;
    }
    clock_wake_.wait_for(lock, kWakerLook);
    lock.unlock();
    refuse(take_late(Clock::now()),
           {Code::deadline_exceeded, "Request timeout expired: its model was not loaded in time"});
    lock.lock();
  }
}

std::vector<Waker::Pending> Waker::take(const std::string& model) {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(model);
  if (found == pending_.end()) return {};
  std::vector<Pending> taken = std::move(found->second);
  pending_.erase(found);
  count_ -= taken.size();
  return taken;
}

std::vector<Waker::Pending> Waker::take_late(Clock::time_point now) {
  std::vector<Pending> late;
  const std::lock_guard lock(mutex_);
  for (auto& [model, waiting] : pending_) {
    const auto first = std::stable_partition(
        waiting.begin(), waiting.end(), [&](const Pending& each) { return !is_late(each.request, each.end, now); });
    std::move(first, waiting.end(), std::back_inserter(late));
    waiting.erase(first, waiting.end());
  }
  // An entry without requests stays while its model is being loaded, so that it is not asked for twice.
  count_ -= late.size();
  return late;
}

std::vector<Waker::Pending> Waker::take_all() {
  std::vector<Pending> all;
  const std::lock_guard lock(mutex_);
  for (auto& [model, waiting] : pending_) std::move(waiting.begin(), waiting.end(), std::back_inserter(all));
  pending_.clear();
  count_ = 0;
  return all;
}

void Waker::refuse(std::vector<Pending> pending, const Status& why) {
  for (Pending& each : pending) each.done(why);
}

}  // namespace colonnade::serve
