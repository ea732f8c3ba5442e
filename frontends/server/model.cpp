// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/model.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <future>
#include <iterator>
#include <list>
#include <new>

#include "colonnade/numa.hpp"
#include "frontends/server/classify.hpp"
#include "frontends/server/log.hpp"

namespace colonnade::serve {
namespace {

/// Asks a run to stop when the server does or when all its clients have gone.
class RunStop {
 public:
  RunStop(std::span<const JobPtr> jobs, const std::stop_token& server) : token_(server), left_(jobs.size()) {
    const bool may_be_left =
        std::all_of(jobs.begin(), jobs.end(), [](const JobPtr& job) { return job->request.stop.stop_possible(); });
    if (!may_be_left) return;
    source_ = std::stop_source();
    token_ = source_.get_token();
    callbacks_.emplace_back(server, [this] { source_.request_stop(); });
    for (const JobPtr& job : jobs)
      callbacks_.emplace_back(job->request.stop, [this] {
        if (left_.fetch_sub(1) == 1) source_.request_stop();
      });
  }

  const std::stop_token& token() const { return token_; }

 private:
  std::stop_token token_;
  std::stop_source source_{std::nostopstate};
  std::atomic<std::size_t> left_;
  std::list<std::stop_callback<std::function<void()>>> callbacks_;
};

/// Of a run on one of so many parts of the machine. The service has said how many threads a model has on all of it.
int threads_of(const Model& model, int parts) { return std::max(1, model.options().threads / parts); }

std::atomic<std::uint64_t> next_load{1};

/// Messages about files name paths of the host, which are none of the client's business.
Status status_of(const Error& error, const std::string& model) {
  switch (error.code()) {
    case ErrorCode::invalid_argument:
    case ErrorCode::invalid_input: return {Code::invalid_argument, error.what()};
    case ErrorCode::resource_limit: return {Code::resource_exhausted, error.what()};
    case ErrorCode::unsupported: return {Code::unsupported, error.what()};
    case ErrorCode::deadline: return {Code::deadline_exceeded, "Request timeout expired: the run did not end in time"};
    case ErrorCode::cancelled: return {Code::unavailable, "the server is shutting down"};
    case ErrorCode::io: return {Code::internal, fmt::format("the files of model '{}' cannot be read any more", model)};
    case ErrorCode::invalid_model:
    case ErrorCode::internal: break;
  }
  return {Code::internal, error.what()};
}

Status status_of(const std::exception_ptr& failure, const std::string& model, std::int64_t version) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::io || error.code() == ErrorCode::internal)
      log(LogLevel::error, "run failed",
          {{"model", model}, {"version", version}, {"reason", std::string_view(error.what())}});
    return status_of(error, model);
  } catch (const Failure& error) {
    return error.status();
  } catch (const std::bad_alloc&) {
    return {Code::resource_exhausted, "out of memory"};
  } catch (const std::exception& error) {
    return {Code::internal, error.what()};
  }
}

std::size_t bytes_of(const TensorView& view) {
  return static_cast<std::size_t>(element_count(view.shape)) * size_of(view.dtype);
}

/// The samples of `tensor` from `first` on, along its first axis.
TensorView slice(const Tensor& tensor, std::int64_t first, std::int64_t samples) {
  Shape shape = tensor.shape();
  const std::int64_t stride = shape[0] > 0 ? tensor.size() / shape[0] : 0;
  shape[0] = samples;
  const auto offset = static_cast<std::size_t>(first * stride);
  if (tensor.dtype() == DType::string) return {tensor.dtype(), shape, tensor.strings().data() + offset};
  return {tensor.dtype(), shape, static_cast<const std::byte*>(tensor.data()) + offset * size_of(tensor.dtype())};
}

}  // namespace

ServedModel::ServedModel(Scheduler& scheduler, CardPtr card, QueuePolicy policy, Model model,
                         const RequestLimits& limits, MemoryShare share)
    : scheduler_(scheduler),
      card_(std::move(card)),
      model_(std::move(model)),
      limits_(limits),
      share_(std::move(share)),
      line_(policy, *this),
      load_(next_load++),
      keeps_order_(policy.keep_order) {}

ServedModel::~ServedModel() {
  if (cache_ != nullptr) cache_->forget(load_);
}

bool ServedModel::infer(InferenceRequest& request, Done& done) {
  const Clock::time_point received = request.received;
  last_used_.store(received, std::memory_order_relaxed);
  std::optional<Status> refused;
  try {
    JobPtr job = signature().bind(request);
    if (cache_ != nullptr && answer_again(*job, done)) return true;
    job->done = std::move(done);
    if (limits_.timeout.count() > 0) job->deadline = std::min(job->deadline, received + limits_.timeout);
    refused = scheduler_.push(line_, job);
    if (!refused) return true;
    request = std::move(job->request);
    done = std::move(job->done);
  } catch (const Failure& failure) {
    refused = failure.status();
  }
  if (refused->code == Code::unavailable) return false;
  card_->statistics->record_failure(refused->code, Clock::now() - received);
  done(std::move(*refused));
  return true;
}

bool ServedModel::answer_again(Job& job, const Done& done) {
  const Clock::time_point begin = Clock::now();
  job.response_key = ResponseCache::key_of(load_, job);
  const ResponseCache::Outputs kept = cache_->find(job.response_key);
  const Clock::time_point end = Clock::now();
  if (kept == nullptr) {
    card_->statistics->record_miss(end - begin);
    return false;
  }
  InferenceResponse response;
  response.model = signature().model;
  response.version = card_->version;
  response.id = job.request.id;
  response.outputs = *kept;
  for (std::size_t i = 0; i < response.outputs.size(); ++i) response.outputs[i].place = job.outputs[i].place;
  card_->statistics->record_hit(end - job.request.received, end - begin);
  done(std::move(response));
  return true;
}

void ServedModel::warm_up(const InferenceRequest& request, int count, int instances) {
  if (card_->need.nodes == 1) return warm_up_here(request, count, instances);
  for (int turn = 0; turn < static_cast<int>(card_->need.nodes); ++turn)
    std::async(std::launch::async, [&] {
      stay_on_node("replicate", turn);
      warm_up_here(request, count, instances);
    }).get();
}

void ServedModel::warm_up_here(const InferenceRequest& request, int count, int instances) {
  InferenceRequest copy = request;
  const JobPtr job = signature().bind(copy);
  std::vector<InstancePtr> warm;
  for (int i = 0; i < instances; ++i) {
    warm.push_back(borrow());
    for (int parts = 1;; parts *= 2) {
      RunOptions options;
      options.threads = threads_of(model_, parts);
      options.loop_limit = limits_.loop_iterations;
      if (limits_.timeout.count() > 0) options.deadline = Clock::now() + limits_.timeout;
      for (int run = 0; run < count; ++run) warm.back()->session.run(job->inputs, options);
      if (options.threads == 1) break;
    }
  }
  for (InstancePtr& instance : warm) give_back(std::move(instance));
}

ServedModel::InstancePtr ServedModel::borrow() {
  const int node = card_->need.nodes > 1 ? current_node() : 0;
  {
    const std::lock_guard lock(idle_mutex_);
    const auto found =
        std::find_if(idle_.rbegin(), idle_.rend(), [&](const InstancePtr& instance) { return instance->node == node; });
    if (found != idle_.rend()) {
      InstancePtr instance = std::move(*found);
      idle_.erase(std::next(found).base());
      return instance;
    }
  }
  return std::make_unique<Instance>(model_, node);
}

void ServedModel::give_back(InstancePtr instance) {
  const std::lock_guard lock(idle_mutex_);
  idle_.push_back(std::move(instance));
}

void ServedModel::run(std::vector<JobPtr> jobs, int parts, const std::stop_token& stop) {
  const std::optional<Status> failure = attempt(jobs, parts, stop);
  if (!failure) return;
  for (JobPtr& job : jobs) {
    std::optional<Status> why = failure;
    // One request of a batch may be to blame: each gets its own run.
    if (jobs.size() > 1)
      why = is_pointless(*job, Clock::now()) ? reason_of(*job, Clock::now()) : attempt({&job, 1}, parts, stop);
    if (!why) continue;
    if (job->request.stop.stop_requested()) why = reason_of(*job, Clock::now());
    refuse(std::move(job), *why);
  }
}

std::optional<Status> ServedModel::attempt(std::span<JobPtr> jobs, int parts, const std::stop_token& stop) {
  std::optional<Status> failure;
  InstancePtr instance;
  const LogAbout about(signature().model, card_->version);
  try {
    instance = borrow();
    run_together(*instance, jobs, parts, stop);
  } catch (...) {
    failure = status_of(std::current_exception(), signature().model, card_->version);
  }
  if (instance) give_back(std::move(instance));
  return failure;
}

std::vector<TensorView> ServedModel::gather(Instance& instance, std::span<const JobPtr> jobs) const {
  std::vector<TensorView> inputs = jobs[0]->inputs;
  if (jobs.size() == 1) return inputs;
  instance.bytes.resize(inputs.size());
  instance.strings.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].shape[0] = 0;
    for (const JobPtr& job : jobs) inputs[i].shape[0] += job->samples;
    if (inputs[i].dtype == DType::string) {
      std::vector<std::string>& all = instance.strings[i];
      all.clear();
      for (const JobPtr& job : jobs) {
        const auto* const first = static_cast<const std::string*>(job->inputs[i].data);
        all.insert(all.end(), first, first + element_count(job->inputs[i].shape));
      }
      inputs[i].data = all.data();
      continue;
    }
    const std::size_t bytes = bytes_of(inputs[i]);
    Tensor& all = instance.bytes[i];
    if (all.byte_size() < bytes) all = Tensor(DType::u8, {static_cast<std::int64_t>(bytes)});
    auto* into = static_cast<std::byte*>(all.data());
    for (const JobPtr& job : jobs) {
      const std::size_t part = bytes_of(job->inputs[i]);
      if (part > 0) std::memcpy(into, job->inputs[i].data, part);
      into += part;
    }
    inputs[i].data = all.data();
  }
  return inputs;
}

void ServedModel::run_together(Instance& instance, std::span<JobPtr> jobs, int parts, const std::stop_token& stop) {
  RunTimes times;
  times.begin = Clock::now();
  const std::vector<TensorView> inputs = gather(instance, jobs);
  times.gathered = Clock::now();
  std::int64_t samples = 0;
  RunOptions options;
  options.threads = threads_of(model_, parts);
  options.loop_limit = limits_.loop_iterations;
  options.deadline = Clock::time_point::min();
  for (const JobPtr& job : jobs) {
    samples += job->samples;
    options.deadline = std::max(options.deadline, job->deadline);
  }
  std::shared_ptr<std::vector<Tensor>> outputs;
  {
    const RunStop run_stop(jobs, stop);
    options.stop = run_stop.token();
    outputs = std::make_shared<std::vector<Tensor>>(instance.session.run(inputs, options));
  }
  times.inferred = Clock::now();
  count_memory(instance, *jobs.front(), samples, parts);
  std::vector<InferenceResponse> responses;
  std::vector<Statistics::Answered> answered;
  std::int64_t first = 0;
  for (const JobPtr& job : jobs) {
    responses.push_back(response_of(*job, outputs, first, samples));
    responses.back().queued = times.begin - job->queued;
    responses.back().began = times.begin;
    if (!job->response_key.empty()) cache_->add(load_, job->response_key, responses.back().outputs);
    answered.push_back({job->request.received, job->queued});
    first += job->samples;
  }
  times.end = Clock::now();
  card_->statistics->record_run(times, samples, answered);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    responses[i].computed = times.end - times.begin;
    answer(std::move(jobs[i]), std::move(responses[i]));
  }
}

void ServedModel::count_memory(Instance& instance, const Job& job, std::int64_t samples, int parts) {
  constexpr std::size_t kMostKinds = 1024;
  const std::uint64_t kind = job.form + static_cast<std::uint64_t>(samples) * 1024 + static_cast<std::uint64_t>(parts);
  if (instance.kinds.size() >= kMostKinds) instance.kinds.clear();
  if (!instance.kinds.insert(kind).second) return;
  const Session::MemoryStats taken = instance.session.memory_stats();
  const std::size_t bytes = taken.arena_bytes + taken.plan_bytes, said = card_->need.arena + card_->need.plan;
  const std::size_t extra = bytes > said ? bytes - said : 0;
  const std::lock_guard lock(share_mutex_);
  if (share_.set(share_.bytes() + extra - instance.extra)) {
    instance.extra = extra;
    return;
  }
  instance.session.shrink();
  instance.kinds.clear();
  share_.set(share_.bytes() - std::exchange(instance.extra, 0));
}

InferenceResponse ServedModel::response_of(const Job& job, const std::shared_ptr<std::vector<Tensor>>& outputs,
                                           std::int64_t first, std::int64_t samples) const {
  InferenceResponse response;
  response.model = signature().model;
  response.version = card_->version;
  response.id = job.request.id;
  response.batch = samples;
  for (const Job::Wanted& wanted : job.outputs) {
    const Port& port = signature().outputs[wanted.output];
    const Tensor& tensor = (*outputs)[wanted.output];
    TensorView view = tensor;
    if (job.samples != samples) {
      if (tensor.shape().empty() || tensor.shape()[0] != samples)
        throw Failure(Code::internal, fmt::format("output '{}' of model '{}' has shape {} for {} samples", port.name,
                                                  signature().model, text_of(tensor.shape()), samples));
      view = slice(tensor, first, job.samples);
    }
    if (wanted.classes > 0) {
      auto classes = std::make_shared<Tensor>(classify(view, signature().max_batch > 0, wanted.classes, port.labels));
      const TensorView classified = *classes;
      response.outputs.push_back({port.name, classified, std::move(classes), wanted.place});
      continue;
    }
    view.shape = signature().client_shape(port, view.shape);
    response.outputs.push_back({port.name, std::move(view), outputs, wanted.place});
  }
  return response;
}

void ServedModel::refuse(JobPtr job, const Status& why) {
  card_->statistics->record_failure(why.code, Clock::now() - job->request.received);
  answer(std::move(job), why);
}

void ServedModel::answer(JobPtr job, InferenceResult result) {
  if (!keeps_order_) return job->done(std::move(result));
  const std::lock_guard lock(order_mutex_);
  const std::uint64_t ticket = job->ticket;
  early_.emplace(ticket, std::pair(std::move(job), std::move(result)));
  for (auto next = early_.find(next_ticket_); next != early_.end(); next = early_.find(++next_ticket_)) {
    next->second.first->done(std::move(next->second.second));
    early_.erase(next);
  }
}

}  // namespace colonnade::serve
