// SPDX-License-Identifier: Apache-2.0
// Models that take as long as a test wants, and who counts the answers.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>

#include "frontends/server/scheduler.hpp"

namespace colonnade::serve::testing {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// A gate that runs wait at.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void wait_for_visitors(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int waiting_ = 0;
};

/// Answers every job after `work`, and remembers who came when.
class FakeModel : public Runner {
 public:
  FakeModel(Scheduler& scheduler, const QueuePolicy& policy, std::function<void(const std::stop_token&)> work)
      : scheduler_(scheduler), work_(std::move(work)), line_(policy, *this) {}
  ~FakeModel() override { scheduler_.close(line_); }

  void run(std::vector<JobPtr> jobs, int parts, const std::stop_token& stop) override {
    const int now = ++running_;
    for (int most = most_running_; most < now && !most_running_.compare_exchange_weak(most, now);) {
    }
    {
      const std::lock_guard lock(parts_mutex_);
      parts_.push_back(parts);
    }
    work_(stop);
    --running_;
    done_ += static_cast<int>(jobs.size());
    ++runs_;
    for (const JobPtr& job : jobs) job->done(InferenceResponse());
  }

  void refuse(JobPtr job, const Status& why) override { job->done(why); }

  std::optional<Status> push(Done done, microseconds timeout = {}, std::stop_token stop = {}) {
    auto job = std::make_unique<Job>();
    job->request.timeout = timeout;
    job->request.stop = std::move(stop);
    job->inputs.emplace_back(DType::f32, Shape{1}, nullptr);
    job->done = std::move(done);
    return scheduler_.push(line_, job);
  }

  void close() { scheduler_.close(line_); }
  int done() const { return done_; }
  int runs() const { return runs_; }
  int most_running() const { return most_running_; }
  /// Of the machine that each run had, in the order of their starts.
  std::vector<int> parts() const {
    const std::lock_guard lock(parts_mutex_);
    return parts_;
  }

 private:
  Scheduler& scheduler_;
  std::function<void(const std::stop_token&)> work_;
  std::atomic<int> running_{0}, most_running_{0}, done_{0}, runs_{0};
  mutable std::mutex parts_mutex_;
  std::vector<int> parts_;
  Scheduler::Line line_;
};

/// Counts answers and waits for them.
class Answers {
 public:
  Done one() {
    return [this](const InferenceResult& result) {
      const std::lock_guard lock(mutex_);
      ++total_;
      if (const auto* status = std::get_if<Status>(&result)) ++failed_[status->code];
      changed_.notify_all();
    };
  }
  void wait(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return total_ >= count; });
  }
  /// False when they do not come within ten seconds.
  bool arrive(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), [&] { return total_ >= count; });
  }
  int total() {
    const std::lock_guard lock(mutex_);
    return total_;
  }
  int failed(Code code) {
    const std::lock_guard lock(mutex_);
    return failed_[code];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int total_ = 0;
  std::map<Code, int> failed_;
};

inline QueuePolicy instances(int count) {
  QueuePolicy policy;
  policy.instances = count;
  policy.levels[0].most = 100000;
  return policy;
}

inline void spend(microseconds time) { std::this_thread::sleep_for(time); }

}  // namespace colonnade::serve::testing
