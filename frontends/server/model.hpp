// SPDX-License-Identifier: Apache-2.0
// A loaded version of a model: its instances, its place among the streams, its answers.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "frontends/server/card.hpp"
#include "frontends/server/memory.hpp"
#include "frontends/server/options.hpp"
#include "frontends/server/response_cache.hpp"
#include "frontends/server/scheduler.hpp"

namespace colonnade::serve {

class ServedModel : public Runner {
 public:
  ServedModel(Scheduler& scheduler, CardPtr card, QueuePolicy policy, Model model, const RequestLimits& limits,
              MemoryShare share);
  /// Needs `close` before, unless nobody ever called `infer`.
  ~ServedModel() override;

  const CardPtr& card() const { return card_; }
  const Signature& signature() const { return card_->signature; }
  const Model& model() const { return model_; }
  int instances() const { return card_->instances; }
  Clock::time_point last_used() const { return last_used_; }
  bool is_idle() const { return scheduler_.is_idle(line_); }
  std::size_t waiting() const { return scheduler_.waiting(line_); }

  /// Its runs are no work for who brings requests: what they take does not follow from shapes. Before `infer`.
  void never_brief() { line_.never_brief(); }
  /// Its answers are kept, and given again to equal requests. Before `infer`; the cache outlives it.
  void keep_responses(ResponseCache& cache) { cache_ = &cache; }

  /// Queues a request, or refuses it. False when the model was closed meanwhile: then nothing was done.
  bool infer(InferenceRequest& request, Done& done);
  /// Runs a request `count` times on `instances` that then wait for others, on each part of the machine that runs may
  /// have; nothing is counted. Throws Failure.
  void warm_up(const InferenceRequest& request, int count, int instances);
  /// Refuses requests from now on and returns when those it has are answered.
  void close() { scheduler_.close(line_); }

  void run(std::vector<JobPtr> jobs, int parts, const std::stop_token& stop) override;
  void refuse(JobPtr job, const Status& why) override;

 private:
  /// A session, and memory in which the inputs of a batch are put one after the other.
  struct Instance {
    Instance(const Model& model, int on) : session(model), node(on) {}
    Session session;
    const int node;  ///< of NUMA, where its memory is
    std::vector<Tensor> bytes;
    std::vector<std::vector<std::string>> strings;
    std::set<std::uint64_t> kinds;  ///< of run that were counted
    std::size_t extra = 0;          ///< bytes that it took beyond what the model was said to need
  };
  using InstancePtr = std::unique_ptr<Instance>;

  /// One whose memory is on this thread's node, where that matters.
  InstancePtr borrow();
  void warm_up_here(const InferenceRequest& request, int count, int instances);
  void give_back(InstancePtr instance);
  std::vector<TensorView> gather(Instance& instance, std::span<const JobPtr> jobs) const;
  /// Answers all jobs, or none and says why.
  std::optional<Status> attempt(std::span<JobPtr> jobs, int parts, const std::stop_token& stop);
  void run_together(Instance& instance, std::span<JobPtr> jobs, int parts, const std::stop_token& stop);
  /// After a run: where it was the first of its kind, its plan and arena are counted, or forgotten for lack of memory.
  void count_memory(Instance& instance, const Job& job, std::int64_t samples, int parts);
  InferenceResponse response_of(const Job& job, const std::shared_ptr<std::vector<Tensor>>& outputs, std::int64_t first,
                                std::int64_t samples) const;
  void answer(JobPtr job, InferenceResult result);
  /// Answers an equal request's answer, if there is one.
  bool answer_again(Job& job, const Done& done);

  Scheduler& scheduler_;
  const CardPtr card_;
  const Model model_;
  const RequestLimits limits_;
  std::mutex share_mutex_;
  MemoryShare share_;
  std::atomic<Clock::time_point> last_used_{Clock::now()};
  Scheduler::Line line_;
  ResponseCache* cache_ = nullptr;  ///< null: each request runs
  const std::uint64_t load_;        ///< another one for each object of the process

  std::mutex idle_mutex_;
  std::vector<InstancePtr> idle_;
  const bool keeps_order_;
  std::mutex order_mutex_;         ///< of what follows
  std::uint64_t next_ticket_ = 0;  ///< whose answer leaves next, where the order is kept
  std::map<std::uint64_t, std::pair<JobPtr, InferenceResult>> early_;
};

}  // namespace colonnade::serve
