// SPDX-License-Identifier: Apache-2.0
// Sessions of one model that threads take in turns: each run has one for itself.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "colonnade/colonnade.hpp"

namespace colonnade {

/// Named apart from the operator of the graph. Makes a session where all that there are run, up to one a processor; one
/// alone where a memory limit is for all. Functions that wait throw what the options say meanwhile; a thread of Python
/// must not hold the GIL.
class SessionPool {
  struct Slot;

 public:
  explicit SessionPool(Model model);
  SessionPool(const SessionPool&) = delete;
  SessionPool& operator=(const SessionPool&) = delete;
  ~SessionPool();

  /// A session that nobody else has, until it is destroyed or moved from.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept
        : pool_(other.pool_), slot_(std::exchange(other.slot_, nullptr)), beside_(other.beside_) {}
    Lease& operator=(Lease&& other) noexcept;
    ~Lease();

    explicit operator bool() const { return slot_ != nullptr; }
    Session& session() const;
    /// For a run that begins now: with a part of the model's threads beside other runs.
    RunOptions shared(RunOptions options) const;
    bool is_alone() const { return beside_ == 0; }
    /// From now on another thread has it.
    void leave_thread();

   private:
    friend class SessionPool;
    Lease(SessionPool& pool, Slot& slot, int beside) : pool_(&pool), slot_(&slot), beside_(beside) {}
    SessionPool* pool_ = nullptr;
    Slot* slot_ = nullptr;
    int beside_ = 0;  ///< runs that went on when it was taken
  };

  Lease take(const RunOptions& options);
  /// Empty where it would have to wait.
  Lease try_take();

  /// Waits for all runs; meanwhile and while `use` goes over the sessions, nobody takes one.
  template <class Use>
  void each(const RunOptions& options, Use use) {
    const Everything everything(*this, options);
    for (const auto& slot : slots_) use(slot->session);
  }
  /// As many runs as go at the same time: 1 for profiles, 0 for as many as there are processors. Ends the other
  /// sessions.
  void limit(int most, const RunOptions& options);
  /// Gives back the sessions that the next run can make anew.
  void trim(const RunOptions& options) { limit(most_, options); }
  /// Later calls throw.
  void close(const RunOptions& options);

 private:
  struct Slot {
    explicit Slot(const Model& model) : session(model) {}
    Session session;
    std::thread::id holder;  ///< the thread that has it; none: nobody, or a run that was started
  };
  /// The pool for one thread.
  class Everything {
   public:
    Everything(SessionPool& pool, const RunOptions& options);
    Everything(const Everything&) = delete;
    Everything& operator=(const Everything&) = delete;
    ~Everything();

   private:
    SessionPool& pool_;
  };

  void check_open() const;
  void check_holders() const;
  Slot* take_slot();
  template <class Ready>
  void wait(std::unique_lock<std::mutex>& lock, const RunOptions& options, Ready ready);
  void give_back(Slot& slot);

  Model model_;
  const int processors_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> idle_;  ///< the one used last is at the end
  int lent_ = 0;
  int most_ = 1;
  int wants_everything_ = 0;
  bool is_closed_ = false;
};

}  // namespace colonnade
