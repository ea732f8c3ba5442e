// SPDX-License-Identifier: Apache-2.0
#include "base/parts.hpp"

#include <atomic>
#include <exception>
#include <mutex>
#include <utility>

#include "base/interruption.hpp"

namespace colonnade {
namespace {

thread_local const Helpers* helpers_of_thread = nullptr;

/// Parts that several threads take one by one.
class SharedParts {
 public:
  SharedParts(std::int64_t count, const std::function<void(std::int64_t)>& part) : count_(count), part_(part) {}

  void work() noexcept {
    const Helped alone(nullptr);
    try {
      for (std::int64_t i = next_.fetch_add(1); i < count_; i = next_.fetch_add(1)) {
        interruption_point();
        part_(i);
      }
    } catch (...) {
      next_.store(count_);
      const std::scoped_lock lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const std::int64_t count_;
  const std::function<void(std::int64_t)>& part_;
  std::atomic<std::int64_t> next_{0};
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

Helped::Helped(const Helpers* helpers) noexcept : before_(std::exchange(helpers_of_thread, helpers)) {}
Helped::~Helped() { helpers_of_thread = before_; }

bool is_helped() noexcept { return helpers_of_thread != nullptr && *helpers_of_thread; }

void for_each_part(std::int64_t count, const std::function<void(std::int64_t index)>& part) {
  SharedParts parts(count, part);
  if (count > 1 && is_helped())
    (*helpers_of_thread)([&parts] { parts.work(); });
  else
    parts.work();
  parts.rethrow();
}

}  // namespace colonnade
