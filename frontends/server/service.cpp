// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/service.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>

#include "frontends/server/config.hpp"
#include "frontends/server/log.hpp"
#include "frontends/server/messages.hpp"
#include "frontends/server/metrics.hpp"
#include "frontends/server/registry.hpp"
#include "frontends/server/tracer.hpp"
#include "frontends/server/waker.hpp"

namespace colonnade::serve {
namespace {

const std::vector<std::string> kExtensions = {
    "classification",  "model_repository",    "model_repository(unload_dependents)",
    "schedule_policy", "model_configuration", "binary_tensor_data",
    "parameters",      "statistics"};
/// A model may be replaced between its lookup and the queue, but hardly this often.
constexpr int kMostTries = 100;

ServiceOptions resolved(ServiceOptions options) {
  if (options.streams <= 0) options.streams = default_threads();
  if (options.model.threads <= 0) options.model.threads = default_threads();
  return options;
}

std::int64_t version_of(const std::string& text) {
  if (text.empty()) return 0;
  const std::optional<std::int64_t> version = parse_version(text);
  if (!version)
    throw Failure(Code::invalid_argument,
                  fmt::format("failed to get model version from specified version string '{}'", text));
  return *version;
}

const char* word_of(Registry::State state) {
  switch (state) {
    case Registry::State::unavailable: return "UNAVAILABLE";
    case Registry::State::loading: return "LOADING";
    case Registry::State::ready: return "READY";
    case Registry::State::unloading: break;
  }
  return "UNLOADING";
}

}  // namespace

int default_threads() {
  const auto machine = nlohmann::json::parse(describe_machine(false));
  return machine.value("default_threads", 1);
}

struct Service::Impl {
  explicit Impl(const ServiceOptions& wanted)
      : options(resolved(wanted)),
        clients(options.clients),
        shared_memory(options.shared_memory),
        tracer(options.trace),
        memory(options.memory_limit),
        scheduler(options.streams, options.most_pending, options.model.numa),
        cache(options.response_cache, memory),
        registry(options, scheduler, memory, cache) {
    if (options.unload_idle)
      waker.emplace([this](const std::string& model) { registry.wake(model); },
                    [this](InferenceRequest request, Done done) { ask(std::move(request), std::move(done)); },
                    options.max_queue, options.limits.timeout);
  }

  std::shared_ptr<ServedModel> find(const std::string& model, const std::string& version) const {
    return registry.find(model, version_of(version));
  }

  CardPtr card(const std::string& model, const std::string& version) const {
    return registry.card(model, version_of(version));
  }

  void infer(InferenceRequest& request, Done& done) {
    for (int i = 0; i < kMostTries; ++i) {
      if (draining) throw Failure(Code::unavailable, "the server is shutting down");
      if (waker && registry.sleeps(request.model, request.version))
        return waker->wait(std::move(request), std::move(done));
      if (registry.find(request.model, request.version)->infer(request, done)) return;
    }
    throw Failure(Code::unavailable, fmt::format("model '{}' is being replaced", request.model));
  }

  /// Never throws.
  void ask(InferenceRequest request, Done done) {
    Status refused;
    try {
      return infer(request, done);
    } catch (const Failure& failure) {
      refused = failure.status();
    } catch (const std::bad_alloc&) {
      refused = {Code::resource_exhausted, "out of memory"};
    } catch (const std::exception& error) {
      refused = {Code::internal, error.what()};
    }
    done(std::move(refused));
  }

  const ServiceOptions options;
  Clients clients;
  SharedMemory shared_memory;
  Tracer tracer;
  Memory memory;
  Scheduler scheduler;
  ResponseCache cache;
  Registry registry;
  std::atomic<bool> draining{false};
  std::optional<Waker> waker;  ///< null: models stay loaded
  std::mutex cpu_mutex;
  CpuTime cpu_seen = cpu_time();
};

Service::Service(ServiceOptions options, bool start) : impl_(std::make_unique<Impl>(options)) {
  if (start) this->start();
}

Service::~Service() {
  drain(std::chrono::hours(1));
  impl_->waker.reset();
  impl_->registry.close();
}

void Service::start() { impl_->registry.start(); }

bool Service::is_live() const { return true; }

bool Service::is_ready() const {
  if (impl_->draining) return false;
  return impl_->options.strict_readiness ? impl_->registry.is_complete() : impl_->registry.is_settled();
}

bool Service::is_ready(const std::string& model, const std::string& version) const {
  if (impl_->draining) return false;
  try {
    if (impl_->waker && impl_->registry.sleeps(model, version_of(version))) return true;
    impl_->find(model, version);
    return true;
  } catch (const Failure&) {
    return false;
  }
}

inference::ServerMetadataResponse Service::metadata() const {
  inference::ServerMetadataResponse response;
  response.set_name("colonnade");
  response.set_version(std::string(version()));
  for (const std::string& extension : kExtensions) response.add_extensions(extension);
  if (impl_->shared_memory.is_on()) response.add_extensions("system_shared_memory");
  return response;
}

inference::ModelMetadataResponse Service::metadata(const std::string& model, const std::string& version) const {
  return metadata_of(*impl_->card(model, version), impl_->registry.versions(model));
}

std::size_t Service::needed_bytes(const std::string& model, const std::string& version) const {
  return impl_->card(model, version)->needed_bytes();
}

inference::ModelConfig Service::config(const std::string& model, const std::string& version) const {
  return impl_->card(model, version)->config;
}

inference::ModelStatisticsResponse Service::statistics(const std::string& model, const std::string& version) const {
  inference::ModelStatisticsResponse response;
  const std::int64_t wanted = version_of(version);
  if (wanted != 0 || !model.empty()) impl_->registry.card(model, wanted);
  for (const auto& [card, loaded] : impl_->registry.known()) {
    const bool is_asked = model.empty() || card->signature.model == model;
    if (is_asked && (wanted == 0 || card->version == wanted)) *response.add_model_stats() = statistics_of(*card);
  }
  return response;
}

inference::RepositoryIndexResponse Service::index(bool ready_only) const {
  inference::RepositoryIndexResponse response;
  for (const Registry::IndexRow& row : impl_->registry.index()) {
    if (ready_only && row.state != Registry::State::ready) continue;
    auto& model = *response.add_models();
    model.set_name(row.name);
    if (row.version > 0) model.set_version(std::to_string(row.version));
    model.set_state(word_of(row.state));
    model.set_reason(row.reason);
  }
  return response;
}

std::string Service::describe(const std::string& model, const std::string& version) const {
  try {
    return impl_->find(model, version)->model().describe();
  } catch (const Error& error) {
    throw Failure(Code::internal, error.what());
  }
}

void Service::load(const std::string& model, const std::map<std::string, std::string>& parameters) {
  if (impl_->draining) throw Failure(Code::unavailable, "the server is shutting down");
  impl_->registry.load(model, parameters);
}

void Service::unload(const std::string& model) { impl_->registry.unload(model); }

void Service::infer(InferenceRequest request, Done done) {
  Done traced = impl_->tracer.traced(request, std::move(done));
  impl_->ask(std::move(request), std::move(traced));
}

Clients& Service::clients() { return impl_->clients; }

SharedMemory& Service::shared_memory() { return impl_->shared_memory; }

std::string Service::metrics() const {
  const CpuTime now = cpu_time();
  CpuTime before = now;
  {
    const std::lock_guard lock(impl_->cpu_mutex);
    std::swap(before, impl_->cpu_seen);
  }
  return metrics_of(impl_->registry.known(), before, now, impl_->memory, impl_->cache, impl_->tracer);
}

void Service::drain(std::chrono::milliseconds limit) {
  impl_->draining = true;
  if (impl_->scheduler.drain(Clock::now() + limit)) return;
  log(LogLevel::warning, "requests did not end in time");
  impl_->scheduler.cancel_all({Code::unavailable, "the server is shutting down"});
  impl_->scheduler.drain(Clock::time_point::max());
}

}  // namespace colonnade::serve
