// SPDX-License-Identifier: Apache-2.0
#include "runtime/workers.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <tuple>

#include "runtime/wait.hpp"

namespace colonnade {
namespace {

/// Runs that follow each other find their workers awake; longer than a program takes between two of them, and about
/// what it costs to wake up.
constexpr std::chrono::microseconds kSpinWithoutWork{50};
/// For workers that are at the end of their part.
constexpr std::chrono::microseconds kSpinForOthers{200};

/// Brief runs that follow each other so closely find awake whom the first of them woke.
constexpr std::chrono::nanoseconds kSoon = kSpinWithoutWork / 2;

constexpr std::chrono::seconds kBetweenAttempts{1};

constexpr std::size_t kMostOfAGroup = 64;  // bits of a word

/// Keeps the calling thread to these processors but one, as far as the system allows it.
void stay_on(const std::vector<int>& processors, int but = -1) {
  const int last = *std::max_element(processors.begin(), processors.end());
  const auto count = static_cast<std::size_t>(last) + 1;
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(count), [](cpu_set_t* raw) { CPU_FREE(raw); });
  if (set == nullptr) return;
  const std::size_t bytes = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(bytes, set.get());
  for (const int processor : processors)
    if (processor != but) CPU_SET_S(static_cast<std::size_t>(processor), bytes, set.get());
  sched_setaffinity(0, bytes, set.get());
}

/// Signals are for the program's own threads, but for those that say that a thread went wrong.
class BlockSignals {
 public:
  BlockSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&blocked, own);
    pthread_sigmask(SIG_SETMASK, &blocked, &saved_);
  }
  ~BlockSignals() { pthread_sigmask(SIG_SETMASK, &saved_, nullptr); }

 private:
  sigset_t saved_;
};

}  // namespace

/// One run: what its threads do, and how many workers have not left it.
struct Workers::Job {
  static constexpr std::uint32_t kCallerSleeps = std::uint32_t{1} << 31;

  /// By a worker. The job may be gone when this returns.
  void leave() {
    if (workers.fetch_sub(1, std::memory_order_acq_rel) == (kCallerSleeps | 1)) wake_all(workers);
  }
  /// By the caller.
  void wait_for_workers() {
    const auto count = [this] { return workers.load(std::memory_order_acquire) & ~kCallerSleeps; };
    if (spin_until(kSpinForOthers, [&] { return count() == 0; })) return;
    workers.fetch_or(kCallerSleeps, std::memory_order_acq_rel);
    while (const std::uint32_t left = count()) sleep_while(workers, left | kCallerSleeps);
  }

  Task task;
  int threads;
  int processor;  ///< the caller's
  std::atomic<std::uint32_t> workers;
};

/// A thread that waits for calls. Whoever clears its bit in the group may call it, once.
struct alignas(64) Workers::Worker {
  enum : std::uint32_t { kAwake, kAsleep, kCalled, kEnding };

  bool start();
  void end();
  void call(Job& its_job, int its_thread) {
    job = &its_job;
    thread = its_thread;
    wake(kCalled);
  }
  void wake(std::uint32_t why) {
    if (state.exchange(why, std::memory_order_acq_rel) == kAsleep) wake_all(state);
  }
  bool is_awake() const { return is_started && state.load(std::memory_order_relaxed) == kAwake; }
  void wait_for_call();
  void part_from(int caller);
  void serve();

  std::atomic<std::uint32_t> state{kAwake};
  Job* job = nullptr;
  int thread = 0;
  Worker* next = nullptr;  ///< of those that one caller has taken
  Group* group = nullptr;
  std::uint64_t bit = 0;
  bool is_started = false;
  std::chrono::steady_clock::time_point next_attempt{};
  pthread_t handle{};
};

/// At most 64 workers of one L3 domain whose cores are equally fast.
struct alignas(64) Workers::Group {
  std::atomic<std::uint64_t> idle{0};  ///< bits of the workers that may be called, started or not
  int domain = 0, node = 0;
  double speed = 1;
  std::vector<int> processors;
  std::unique_ptr<Worker[]> workers;
  std::vector<Group*> nearest;  ///< all groups: the fastest first, of those this one

  void fill(const Topology& topology, const std::vector<std::unique_ptr<Group>>& groups);
  /// A worker may be called from now on. False where none may any more: then whoever gave it has it back, and ends it.
  bool give(const Worker& worker) {
    idle.fetch_or(worker.bit);
    return !is_retired.load() || (idle.fetch_and(~worker.bit) & worker.bit) == 0;
  }

  std::atomic<bool> is_retired{false};
};

void Workers::Group::fill(const Topology& topology, const std::vector<std::unique_ptr<Group>>& groups) {
  workers = std::make_unique<Worker[]>(processors.size());
  for (std::size_t i = 0; i < processors.size(); ++i) {
    workers[i].group = this;
    workers[i].bit = std::uint64_t{1} << i;
    idle.fetch_or(workers[i].bit, std::memory_order_relaxed);
  }
  for (const auto& group : groups) nearest.push_back(group.get());
  const auto distance = [&](const Group* other) {
    return std::tuple(-other->speed, other != this, other->domain != domain, topology.distance(node, other->node));
  };
  std::stable_sort(nearest.begin(), nearest.end(),
                   [&](const Group* a, const Group* b) { return distance(a) < distance(b); });
}

/// False when the system has no more threads to give. It is asked again only after a while: asking takes long.
bool Workers::Worker::start() {
  if (is_started) return true;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_attempt) return false;
  next_attempt = now + kBetweenAttempts;
  const BlockSignals blocked;
  const auto body = [](void* self) -> void* {
    static_cast<Worker*>(self)->serve();
    return nullptr;
  };
  is_started = pthread_create(&handle, nullptr, body, this) == 0;
  if (is_started) pthread_setname_np(handle, "colonnade");
  return is_started;
}

void Workers::Worker::end() {
  if (!is_started) return;
  wake(kEnding);
  pthread_join(handle, nullptr);
}

void Workers::Worker::wait_for_call() {
  const auto is_called = [this] { return state.load(std::memory_order_acquire) >= kCalled; };
  if (spin_until(kSpinWithoutWork, is_called)) return;
  std::uint32_t awake = kAwake;
  if (!state.compare_exchange_strong(awake, kAsleep, std::memory_order_acq_rel)) return;
  while (!is_called()) sleep_while(state, kAsleep);
}

/// Leaves the caller's processor to it: some systems wake a thread where its waker runs and leave it there for
/// milliseconds, while others idle. Then both would take turns.
void Workers::Worker::part_from(int caller) {
  if (group->processors.size() > 1 && sched_getcpu() == caller) stay_on(group->processors, caller);
}

void Workers::Worker::serve() {
  stay_on(group->processors);
  for (;;) {
    wait_for_call();
    if (state.load(std::memory_order_acquire) == kEnding) return;
    Job& mine = *job;
    const int index = thread;
    state.store(kAwake, std::memory_order_relaxed);
    part_from(mine.processor);
    mine.task.function(mine.task.context, index, mine.threads);
    // Idle before the caller knows: its next run finds this worker.
    const bool goes_on = group->give(*this);
    if (!goes_on) pthread_detach(pthread_self());
    mine.leave();
    if (!goes_on) return;
  }
}

Workers::Workers(const Topology& topology) : limit_(topology.default_threads()), nodes_(topology.nodes) {
  std::vector<std::size_t> order(topology.cores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto place = [&](std::size_t core) {
    const Core& at = topology.cores[core];
    return std::tuple(at.numa_node, at.l3_domain, -at.speed);  // the fastest first
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
  std::vector<Group*> group_of_core(order.size());
  for (const std::size_t core : order) {
    const auto fits = [&](const Group& group) {
      return place(core) == std::tuple(group.node, group.domain, -group.speed) &&
             group.processors.size() < kMostOfAGroup;
    };
    if (groups_.empty() || !fits(*groups_.back())) {
      groups_.push_back(std::make_unique<Group>());
      const Core& at = topology.cores[core];
      groups_.back()->node = at.numa_node, groups_.back()->domain = at.l3_domain, groups_.back()->speed = at.speed;
    }
    group_of_core[core] = groups_.back().get();
    groups_.back()->processors.push_back(topology.cores[core].os_processor);
  }
  for (const int core : topology.core_of)
    group_of_.push_back(core < 0 ? nullptr : group_of_core[static_cast<std::size_t>(core)]);
  for (const auto& group : groups_) group->fill(topology, groups_);
}

Workers::~Workers() {
  for (const auto& group : groups_)
    for (std::size_t i = 0; i < group->processors.size(); ++i) group->workers[i].end();
}

Workers& Workers::process() {
  static std::atomic<Workers*> current{nullptr};
  static Workers* inherited = nullptr;
  Workers* const old = current.load(std::memory_order_acquire);
  if (old != nullptr && !old->processors_->have_changed()) return *old;
  // What a child inherits has no threads: it is left behind. It never ends in its parent either, as sessions may run
  // until the process is gone.
  static const int watches_forks = pthread_atfork(nullptr, nullptr, [] {
    if (Workers* workers = current.exchange(nullptr, std::memory_order_relaxed)) inherited = workers;
  });
  (void)watches_forks;
  auto processors = std::make_unique<Processors>();
  auto made = std::make_unique<Workers>(detect_cores(processors->list()));
  made->processors_ = std::move(processors);
  made->before_ = old != nullptr ? old : inherited;
  Workers* found = old;
  if (!current.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)) return *found;
  if (old != nullptr) old->retire();
  return *made.release();
}

/// Ends the idle workers; the others end when they have done their part. What is left takes some bytes a core.
void Workers::retire() {
  for (const auto& group : groups_) {
    group->is_retired.store(true);
    const std::uint64_t idle = group->idle.exchange(0);
    for (std::size_t i = 0; i < group->processors.size(); ++i)
      if ((idle >> i & 1) != 0) group->workers[i].end();
  }
}

Workers::Group& Workers::group_of_caller() const {
  if (groups_.size() > 1) {
    const auto processor = static_cast<std::size_t>(std::max(0, sched_getcpu()));
    if (processor < group_of_.size() && group_of_[processor] != nullptr) return *group_of_[processor];
  }
  return *groups_.front();
}

int Workers::node_of_caller() const { return group_of_caller().node; }

int Workers::cores_of(int node) const {
  std::size_t cores = 0;
  for (const auto& group : groups_) cores += group->node == node ? group->processors.size() : 0;
  return static_cast<int>(cores);
}

void Workers::keep_caller_on(int node) const {
  std::vector<int> processors;
  for (std::size_t i = 0; i < group_of_.size(); ++i)
    if (group_of_[i] != nullptr && group_of_[i]->node == node) processors.push_back(static_cast<int>(i));
  if (processors.empty()) return;
  stay_on(processors);
  if (processors_ != nullptr) processors_->accept_first();
}

/// Counts the caller, and as many workers as there is room for: its run has no more than `most` threads, nor more than
/// its share beside those of the other callers. Answers the number of workers.
int Workers::reserve(int most) {
  std::uint64_t before = active_.load(std::memory_order_relaxed);
  int workers = 0;
  do {
    const int callers = static_cast<int>(before / kCaller) + 1, busy = static_cast<int>(before % kCaller);
    const int share = (limit_ + callers - 1) / callers;
    workers = std::max(0, std::min({most - 1, share - 1, limit_ - callers - busy}));
  } while (!active_.compare_exchange_weak(before, before + kCaller + static_cast<std::uint64_t>(workers),
                                          std::memory_order_relaxed));
  return workers;
}

/// What a caller asks for.
struct Workers::Wish {
  int workers;
  bool awake_only;
  int node;
};

/// What it has got.
struct Workers::Taken {
  int workers = 0;
  Worker* first = nullptr;
  Worker* last = nullptr;

  void add(Worker& worker) {
    (first == nullptr ? first : last->next) = &worker;
    last = &worker;
    ++workers;
  }
};

/// Takes idle workers of a group, always in the same order, as their caches hold what they worked on. False where the
/// system has no more threads.
bool Workers::take_from(Group& group, std::size_t most, const Wish& wish, Taken& taken) {
  std::uint64_t passed = 0;
  for (std::size_t here = 0; here < most && taken.workers < wish.workers;) {
    const std::uint64_t idle = group.idle.load(std::memory_order_relaxed) & ~passed;
    if (idle == 0) break;
    Worker& worker = group.workers[static_cast<std::size_t>(std::countr_zero(idle))];
    if ((group.idle.fetch_and(~worker.bit, std::memory_order_acq_rel) & worker.bit) == 0) continue;
    if (wish.awake_only && !worker.is_awake()) {
      passed |= worker.bit;
      if (!group.give(worker)) worker.end();
      continue;
    }
    if (!worker.start()) {
      group.give(worker);
      return false;
    }
    taken.add(worker);
    ++here;
  }
  return true;
}

/// The fastest come first, and of those the caller's neighbours: thread i of a run is on about the i-th fastest core.
/// The caller has one of its group's processors itself: all of the group's workers are taken only when there are no
/// others.
Workers::Taken Workers::take(const Wish& wish) {
  Group& own = group_of_caller();
  Taken taken;
  for (Group* group : own.nearest) {
    if (wish.node != kAnyNode && group->node != wish.node) continue;
    const std::size_t most = group->processors.size() - (group == &own ? 1 : 0);
    if (!take_from(*group, most, wish, taken)) return taken;
  }
  if (wish.node == kAnyNode) take_from(own, own.processors.size(), wish, taken);
  return taken;
}

void Workers::run(int most, const Task& task, Sleepers sleepers, int node) {
  const auto now_ns = [] { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); };
  const int reserved = reserve(most);
  const bool is_brief = reserved > 0 && sleepers == Sleepers::leave;
  const bool awake_only = is_brief && now_ns() - brief_end_ns_.load(std::memory_order_relaxed) > kSoon.count();
  const Taken found = reserved > 0 ? take({reserved, awake_only, node}) : Taken();
  const int taken = found.workers;
  Job job{task, taken + 1, taken > 0 ? sched_getcpu() : -1, static_cast<std::uint32_t>(taken)};
  Worker* worker = found.first;
  for (int thread = 1; thread <= taken; ++thread) {
    Worker* const next = worker->next;
    worker->call(job, thread);
    worker = next;
  }
  task.function(task.context, 0, job.threads);
  if (taken > 0) job.wait_for_workers();
  if (is_brief) brief_end_ns_.store(now_ns(), std::memory_order_relaxed);
  active_.fetch_sub(kCaller + static_cast<std::uint64_t>(reserved), std::memory_order_relaxed);
}

}  // namespace colonnade
