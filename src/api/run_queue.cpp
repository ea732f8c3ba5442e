// SPDX-License-Identifier: Apache-2.0
#include "api/run_queue.hpp"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.hpp"

namespace colonnade {
/// The threads, and what guards all queues. Never destroyed: the threads sleep in it until the process ends.
class Dispatcher {
 public:
  static Dispatcher& of_process() {
    static Dispatcher& dispatcher = *new Dispatcher;
    return dispatcher;
  }

  void post(RunQueue& queue, std::function<void()> task) {
    const std::scoped_lock lock(mutex_);
    refresh(queue);
    if (static_cast<int>(ready_.size()) + !queue.is_active_ > idle_ && threads_ < std::max(1, queue.most_threads_))
      start_thread();
    queue.tasks_.push_back(std::move(task));
    queue.pending_.fetch_add(1, std::memory_order_relaxed);
    if (std::exchange(queue.is_active_, true)) return;
    ready_.push_back(&queue);
    work_.notify_one();
  }

  void wait(RunQueue& queue, const RunControl* control) {
    if (queue.pending_.load(std::memory_order_acquire) == 0 || current == &queue) return;
    std::unique_lock lock(mutex_);
    refresh(queue);
    const auto is_done = [&] { return queue.pending_.load(std::memory_order_acquire) == 0; };
    if (control == nullptr) return done_.wait(lock, is_done);
    while (!done_.wait_for(lock, kBetweenQuestions, is_done)) {
      lock.unlock();
      control->check_caller();
      lock.lock();
    }
  }

 private:
  Dispatcher() {
    pthread_atfork([] { of_process().mutex_.lock(); }, [] { of_process().mutex_.unlock(); },
                   [] { of_process().start_anew(); });
  }

  /// In the child of a fork: the threads are gone, and with them what they did.
  void start_anew() {
    threads_ = idle_ = 0;
    ++generation_;
    ready_.clear();
    new (&work_) std::condition_variable;  // the old ones count waiters that are gone
    new (&done_) std::condition_variable;
    mutex_.unlock();
  }

  /// Empties a queue that was filled before a fork.
  void refresh(RunQueue& queue) const {
    if (std::exchange(queue.generation_, generation_) == generation_) return;
    queue.tasks_.clear();
    queue.is_active_ = false;
    queue.pending_ = 0;
  }

  /// Signals are for the threads of the program.
  void start_thread() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      std::thread([this] { work(); }).detach();
      ++threads_;
      ++idle_;
    } catch (const std::system_error& error) {
      if (threads_ == 0) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        fail(ErrorCode::resource_limit, "cannot start a thread: {}", error.code().message());
      }
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void work() {
    pthread_setname_np(pthread_self(), "colonnade-run");
    std::unique_lock lock(mutex_);
    while (true) {
      work_.wait(lock, [this] { return !ready_.empty(); });
      --idle_;
      RunQueue& queue = *ready_.front();
      ready_.pop_front();
      std::function<void()> task = std::move(queue.tasks_.front());
      queue.tasks_.pop_front();
      lock.unlock();
      current = &queue;
      task();
      task = nullptr;
      current = nullptr;
      lock.lock();
      queue.is_active_ = !queue.tasks_.empty();
      if (queue.is_active_) ready_.push_back(&queue);
      queue.pending_.fetch_sub(1, std::memory_order_release);
      done_.notify_all();
      ++idle_;
    }
  }

  static inline thread_local const RunQueue* current = nullptr;  ///< whose task this thread runs

  std::mutex mutex_;
  std::condition_variable work_, done_;
  std::deque<RunQueue*> ready_;  ///< have a task and none under way
  int threads_ = 0;
  int idle_ = 0;        ///< threads that will look into ready_ next
  int generation_ = 0;  ///< forks
};

void RunQueue::post(std::function<void()> task) { Dispatcher::of_process().post(*this, std::move(task)); }
void RunQueue::wait(const RunControl* control) {
  if (pending_.load(std::memory_order_acquire) != 0) Dispatcher::of_process().wait(*this, control);
}

}  // namespace colonnade
