// SPDX-License-Identifier: Apache-2.0
// The requests that wait for one model, and which of them run together next. A plain value: no threads, no locks.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "frontends/server/inference.hpp"

namespace colonnade::serve {

/// A request that was checked and bound to its model.
struct Job {
  InferenceRequest request;
  Done done;
  std::vector<TensorView> inputs;  ///< in the model's order, with the model's shapes
  struct Wanted {
    std::size_t output = 0;  ///< of the model
    std::int64_t classes = 0;
    SharedPlacePtr place = {};
  };
  std::vector<Wanted> outputs;
  std::int64_t samples = 1;                               ///< along the batch axis
  std::uint64_t form = 0;                                 ///< equal for inputs of equal shapes but for the samples
  std::uint64_t ticket = 0;                               ///< its place in the order of arrival
  std::string response_key;                               ///< of its answer, where that is kept; else ""
  Clock::time_point queued;                               ///< when it entered the queue
  Clock::time_point expires = Clock::time_point::max();   ///< when it has waited too long
  Clock::time_point deadline = Clock::time_point::max();  ///< when its run must be over
};
using JobPtr = std::unique_ptr<Job>;

/// Requests of one priority.
struct LevelPolicy {
  std::size_t most = 1024;               ///< that may wait
  std::chrono::microseconds timeout{0};  ///< for those that bring none; 0: none
  bool may_override = true;              ///< a request's own timeout counts
  bool delay = false;                    ///< who waited too long runs after all others, instead of never
};

struct QueuePolicy {
  std::vector<LevelPolicy> levels = std::vector<LevelPolicy>(1);  ///< the most urgent first
  std::uint32_t default_level = 1;                                ///< counted from 1
  std::int64_t largest_batch = 1;                                 ///< samples that are merged; 1: requests run alone
  bool merge_if_faster = false;         ///< ... but only as far as runs turn out to be faster for it
  std::vector<std::int64_t> preferred;  ///< sizes that need not wait for `delay`, ascending
  std::chrono::microseconds delay{0};   ///< how long a request may wait for others
  bool keep_order = false;              ///< answers leave in the order of arrival
  int instances = 1;                    ///< runs at the same time
  bool may_be_brief = true;             ///< what a run takes follows from its shapes, whatever its values
};

/// Who waited too long is told so within this time.
constexpr std::chrono::milliseconds kExpireStep{1};
/// Who has left without a word is noticed within this time.
constexpr std::chrono::milliseconds kLeaversStep{50};

class Queue {
 public:
  explicit Queue(QueuePolicy policy);

  const QueuePolicy& policy() const { return policy_; }
  void never_brief() { policy_.may_be_brief = false; }
  std::size_t size() const { return size_; }
  /// Who is first; null when nobody waits.
  const Job* first() const;
  /// That would be made of what waits, were there streams enough.
  std::size_t runs() const;

  /// Takes the job, or leaves it and says why. Clients that have gone make room: their jobs are appended to `gone`.
  std::optional<Status> push(JobPtr& job, std::vector<JobPtr>& gone);
  /// Whether there is a batch worth running now. Once true, only a change of the queue makes it false.
  bool is_ready(Clock::time_point now) const;
  /// The first job and those that can be merged with it, as far as they are an even share for `runs` runs; empty when
  /// the queue is not ready. What is not worth running is appended to `gone`. Takes only so many samples as
  /// `fits` says, perhaps none.
  using Fits = std::function<bool(const Job& first, std::int64_t samples)>;
  std::vector<JobPtr> take(Clock::time_point now, std::size_t runs, std::vector<JobPtr>& gone, const Fits& fits = {});
  /// Appends to `gone` who waited too long or has left.
  void expire(Clock::time_point now, std::vector<JobPtr>& gone);
  /// When time alone leaves something to do, after whatever change: the queue becomes ready, or `expire` finds somebody
  /// (at most kExpireStep later who waited too long, kLeaversStep who has left). Perhaps too early, never too late;
  /// max: never. A queue that is ready waits for a stream, not for a time.
  Clock::time_point alarm(Clock::time_point now) const;
  void take_all(std::vector<JobPtr>& gone);
  /// How long a run of so many samples took, as time on the whole machine.
  void learn(std::int64_t samples, std::chrono::nanoseconds took);

 private:
  using Level = std::deque<JobPtr>;
  /// The most urgent level with jobs; the number of levels when there are none.
  std::size_t first_level() const;
  /// Of the samples at the front that can run together, at most `most`.
  std::int64_t mergeable(const Level& level, std::int64_t most) const;
  /// Runs of 2^i samples: how many, and the least time a sample.
  struct Measured {
    int runs = 0;
    double best = 0;
  };
  std::int64_t worth_merging() const;
  /// Samples that a run may have.
  std::int64_t most_samples() const { return policy_.merge_if_faster ? worth_merging() : policy_.largest_batch; }
  std::vector<JobPtr> take_batch(Level& level, Clock::time_point now, std::int64_t runs, const Fits& fits);
  void sweep(Clock::time_point now, std::vector<JobPtr>& gone);
  /// When somebody will have waited for others as long as they may; some job must wait.
  Clock::time_point ripens() const;
  /// When `expire` has to look at a job of the level that it was not looked at since `now`.
  Clock::time_point end_of(const Job& job, std::size_t level, Clock::time_point now) const;

  QueuePolicy policy_;
  std::vector<Level> levels_;  ///< as the policy's, and one for those that waited too long but may still run
  std::size_t size_ = 0;
  Clock::time_point ends_ = Clock::time_point::max();  ///< the first `end_of`, or earlier
  std::uint64_t tickets_ = 0;
  std::vector<Measured> measured_;
};

/// True when the client has gone or no longer waits.
bool is_pointless(const Job& job, Clock::time_point now);
/// Why a job of `gone` is not run.
Status reason_of(const Job& job, Clock::time_point now);

}  // namespace colonnade::serve
