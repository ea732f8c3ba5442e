// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/registry.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <set>

#include "frontends/server/config.hpp"
#include "frontends/server/load_version.hpp"
#include "frontends/server/log.hpp"
#include "frontends/server/policy.hpp"

namespace colonnade::serve {
namespace {

/// Files younger than this may still be written.
constexpr std::chrono::seconds kSettled{1};

FoundModel embedded_model(const std::string& name) {
  FoundModel found;
  found.name = name;
  found.versions[1] = std::string(kEmbedded) + name;
  found.stamps[1] = version();
  return found;
}

}  // namespace

Registry::Registry(const ServiceOptions& options, Scheduler& scheduler, Memory& memory, ResponseCache& cache)
    : options_(options), scheduler_(scheduler), memory_(memory), cache_(cache) {}

Registry::~Registry() { close(); }

std::vector<FoundModel> Registry::scan() const {
  std::vector<std::string> paths;
  std::vector<FoundModel> embedded;
  for (const std::string& path : options_.repositories) {
    if (path.starts_with(kEmbedded)) {
      embedded.push_back(embedded_model(path.substr(kEmbedded.size())));
    } else {
      paths.push_back(path);
    }
  }
  if (options_.repositories.empty())
    for (const std::string& name : Model::embedded_names()) embedded.push_back(embedded_model(name));
  std::vector<FoundModel> found = paths.empty() ? std::vector<FoundModel>() : scan_repositories(paths);
  for (FoundModel& model : embedded) {
    const bool known =
        std::any_of(found.begin(), found.end(), [&](const FoundModel& other) { return other.name == model.name; });
    if (!known) found.push_back(std::move(model));
  }
  return found;
}

std::optional<FoundModel> Registry::find_on_disk(const std::string& name) const {
  for (FoundModel& found : scan())
    if (found.name == name) return std::move(found);
  return std::nullopt;
}

void Registry::start() {
  std::vector<FoundModel> found = scan();
  if (options_.control == ControlMode::explicit_) {
    const std::set<std::string> names(options_.load_models.begin(), options_.load_models.end());
    for (const std::string& name : names) {
      const bool known =
          name == "*" || std::any_of(found.begin(), found.end(), [&](const FoundModel& f) { return f.name == name; });
      if (!known)
        throw Failure(Code::not_found, fmt::format("failed to load '{}', no such model in the repository", name));
    }
    if (!names.contains("*")) std::erase_if(found, [&](const FoundModel& f) { return !names.contains(f.name); });
  }
  for (const FoundModel& model : found) entry(model.name)->wanted = true;
  loader_ = std::thread([this, found = std::move(found)]() mutable { load_at_start(std::move(found)); });
}

void Registry::load_at_start(std::vector<FoundModel> found) {
  std::atomic<std::size_t> next{0};
  const auto load_some = [&] {
    for (std::size_t i = next++; i < found.size(); i = next++) {
      {
        const std::lock_guard lock(stop_mutex_);
        if (stopping_) return;
      }
      try {
        apply(found[i], {}, false);
      } catch (const Failure&) {
        // logged, and in the index
      }
    }
  };
  std::vector<std::thread> others;
  const auto helpers = std::min<std::size_t>(found.size(), static_cast<std::size_t>(scheduler_.streams()));
  for (std::size_t i = 1; i < helpers; ++i) others.emplace_back(load_some);
  load_some();
  for (std::thread& thread : others) thread.join();
  settled_ = true;
  if (options_.control == ControlMode::poll) poll();
}

void Registry::poll() {
  std::unique_lock lock(stop_mutex_);
  while (!stop_changed_.wait_for(lock, options_.poll_every, [&] { return stopping_; })) {
    lock.unlock();
    try {
      look_for_changes();
    } catch (const std::exception& error) {
      log(LogLevel::error, "polling failed", {{"reason", std::string_view(error.what())}});
    }
    lock.lock();
  }
}

void Registry::look_for_changes() {
  std::vector<FoundModel> found = scan();
  std::vector<std::string> gone;
  {
    const std::shared_lock lock(mutex_);
    for (const auto& row : entries_) {
      const bool there =
          std::any_of(found.begin(), found.end(), [&](const FoundModel& f) { return f.name == row.first; });
      if (!there && row.second->wanted) gone.push_back(row.first);
    }
  }
  for (const std::string& name : gone) take_out(name);
  const auto now = std::filesystem::file_time_type::clock::now();
  for (const FoundModel& model : found) {
    if (model.changed > now - kSettled) continue;
    entry(model.name)->wanted = true;
    try {
      apply(model, {}, false);
    } catch (const Failure&) {
      // logged, and in the index
    }
  }
}

bool Registry::is_settled() const { return settled_; }

bool Registry::is_complete() const {
  if (!settled_) return false;
  const std::shared_lock lock(mutex_);
  return std::all_of(entries_.begin(), entries_.end(), [](const auto& row) {
    const auto& versions = row.second->versions;
    return !row.second->wanted || std::any_of(versions.begin(), versions.end(), [](const auto& v) {
      return v.second.model != nullptr || v.second.sleeps;
    });
  });
}

Registry::EntryPtr Registry::entry(const std::string& name) {
  const std::lock_guard lock(mutex_);
  EntryPtr& entry = entries_[name];
  if (!entry) entry = std::make_shared<Entry>();
  return entry;
}

const Registry::Version& Registry::version(const std::string& name, std::int64_t number,
                                           bool (*has)(const Version&)) const {
  const auto found = entries_.find(name);
  if (found == entries_.end())
    throw Failure(Code::not_found, fmt::format("Request for unknown model: '{}' is not found", name));
  const auto& versions = found->second->versions;
  if (number == 0) {
    const auto newest = std::find_if(versions.rbegin(), versions.rend(), [&](const auto& v) { return has(v.second); });
    if (newest != versions.rend()) return newest->second;
    throw Failure(Code::unavailable, fmt::format("Request for unknown model: '{}' has no available versions", name));
  }
  const auto wanted = versions.find(number);
  if (wanted == versions.end())
    throw Failure(Code::not_found,
                  fmt::format("Request for unknown model: '{}' version {} is not found", name, number));
  if (!has(wanted->second))
    throw Failure(Code::unavailable,
                  fmt::format("Request for unknown model: '{}' version {} is not at ready state", name, number));
  return wanted->second;
}

std::shared_ptr<ServedModel> Registry::find(const std::string& name, std::int64_t version) const {
  const std::shared_lock lock(mutex_);
  return this->version(name, version, [](const Version& each) { return each.model != nullptr; }).model;
}

CardPtr Registry::card(const std::string& name, std::int64_t version) const {
  const std::shared_lock lock(mutex_);
  return this->version(name, version, [](const Version& each) { return each.card != nullptr; }).card;
}

void Registry::load(const std::string& name, const std::map<std::string, std::string>& parameters) {
  if (options_.control != ControlMode::explicit_)
    throw Failure(Code::unavailable,
                  "explicit model load / unload is not allowed unless --model-control-mode=explicit");
  const LoadParameters overrides = parse_load_parameters(parameters);
  std::optional<FoundModel> found = is_model_name(name) ? find_on_disk(name) : std::nullopt;
  if (!found) {
    if (!is_model_name(name) || overrides.files.empty())
      throw Failure(Code::not_found, fmt::format("failed to load '{}', no such model in the repository", name));
    found.emplace();
    found->name = name;
  }
  apply(*found, overrides, true);
  entry(name)->wanted = true;
}

void Registry::unload(const std::string& name) {
  if (options_.control != ControlMode::explicit_)
    throw Failure(Code::unavailable,
                  "explicit model load / unload is not allowed unless --model-control-mode=explicit");
  if (!take_out(name))
    throw Failure(Code::not_found, fmt::format("failed to unload '{}', no such model is loaded", name));
}

bool Registry::take_out(const std::string& name) {
  EntryPtr entry;
  {
    const std::shared_lock lock(mutex_);
    const auto found = entries_.find(name);
    if (found == entries_.end()) return false;
    entry = found->second;
  }
  const std::lock_guard changing(entry->changing);
  entry->wanted = false;
  retire(*entry, {});
  log(LogLevel::info, "model unloaded", {{"model", name}});
  return true;
}

void Registry::fail(Entry& entry, const std::string& name, const Failure& failure) {
  const std::lock_guard lock(mutex_);
  if (entry.problem != failure.what())  // polls find the same again and again
    log(LogLevel::error, "model cannot be loaded", {{"model", name}, {"reason", std::string_view(failure.what())}});
  entry.problem = failure.what();
  for (auto& [number, version] : entry.versions) version.reason = failure.what();
}

Registry::Intent Registry::intent_of(const FoundModel& found, const LoadParameters& parameters) {
  if (found.problem && parameters.files.empty()) throw Failure(found.problem->code, found.problem->message);
  Intent intent;
  intent.config = parameters.config.value_or(found.config);
  intent.is_overridden = parameters.config || !parameters.files.empty();
  std::vector<std::string> warnings = found.warnings;
  std::vector<std::string> more = check_config(intent.config, found.name);
  if (parameters.config) warnings = std::move(more);  // the scan has checked what lies on disk
  for (const std::string& warning : warnings)
    log(LogLevel::warning, "configuration", {{"model", found.name}, {"reason", warning}});
  std::vector<std::int64_t> available;
  for (const auto& [number, path] : found.versions) available.push_back(number);
  if (!parameters.files.empty()) available.clear();
  for (const auto& [number, bytes] : parameters.files) available.push_back(number);
  intent.versions = served_versions(intent.config, available);
  if (intent.versions.empty())
    throw Failure(Code::not_found, fmt::format("model '{}' has no version to serve", found.name));
  return intent;
}

void Registry::apply(const FoundModel& found, const LoadParameters& parameters, bool again) {
  const EntryPtr entry = this->entry(found.name);
  const std::lock_guard changing(entry->changing);
  Intent intent;
  try {
    intent = intent_of(found, parameters);
  } catch (const Failure& failure) {
    fail(*entry, found.name, failure);
    throw;
  }
  const bool all = intent.is_overridden || entry->stamp != found.config_stamp;
  std::optional<Failure> failure;
  for (const std::int64_t number : intent.versions) {
    const auto stamp = found.stamps.find(number);
    const std::string text = stamp == found.stamps.end() ? "" : stamp->second;
    if (!all && !is_changed(*entry, number, text, again)) continue;
    try {
      replace(*entry, found, number, intent.config, parameters);
    } catch (const Failure& caught) {
      failure = caught;
    }
    const std::lock_guard lock(mutex_);
    entry->versions[number].stamp = text;
  }
  {
    const std::lock_guard lock(mutex_);
    entry->problem = "";
    entry->stamp = intent.is_overridden ? kOverridden : found.config_stamp;
    entry->found = found;
  }
  retire(*entry, intent.versions);
  if (failure) throw Failure(failure->code(), fmt::format("failed to load '{}', {}", found.name, failure->what()));
}

bool Registry::is_changed(const Entry& entry, std::int64_t number, const std::string& stamp, bool again) const {
  const std::shared_lock lock(mutex_);
  const auto found = entry.versions.find(number);
  if (found == entry.versions.end()) return true;
  const Version& version = found->second;
  return version.stamp != stamp || (again && (!version.model || !version.reason.empty()));
}

void Registry::Version::refuse(const Failure& failure, bool may_sleep, const CardPtr& made) {
  reason = failure.what();
  if (model) return;
  state = State::unavailable;
  sleeps = may_sleep && failure.code() == Code::resource_exhausted;
  if (sleeps) card = made;
}

void Registry::replace(Entry& entry, const FoundModel& found, std::int64_t number, const inference::ModelConfig& config,
                       const LoadParameters& parameters) {
  std::shared_ptr<Statistics> statistics;
  {
    const std::lock_guard lock(mutex_);
    Version& version = entry.versions[number];
    version.reason = "";
    if (!version.model) version.state = State::loading;
    statistics = version.statistics;
  }
  std::shared_ptr<ServedModel> model;
  CardPtr card;
  try {
    const Clock::time_point start = Clock::now();
    const auto admit = [&](const CardPtr& made) {
      card = made;
      return this->admit(*made);
    };
    model = load_version(options_, scheduler_, cache_, found, number, config, parameters, statistics, admit);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    log(LogLevel::info, "model loaded", {{"model", found.name}, {"version", number}, {"seconds", seconds}});
  } catch (const Failure& failure) {
    log(LogLevel::error, "model cannot be loaded",
        {{"model", found.name}, {"version", number}, {"reason", std::string_view(failure.what())}});
    const std::lock_guard lock(mutex_);
    entry.versions[number].refuse(failure, options_.unload_idle, card);
    throw;
  }
  {
    const std::lock_guard lock(mutex_);
    Version& version = entry.versions[number];
    version.state = State::ready;
    version.sleeps = false;
    version.card = std::move(card);
    version.model.swap(model);
  }
  if (model) model->close();
  model.reset();
  return_free_memory();
}

void Registry::retire(Entry& entry, std::span<const std::int64_t> keep) {
  std::vector<std::shared_ptr<ServedModel>> old;
  const auto for_others = [&](const auto& change) {
    const std::lock_guard lock(mutex_);
    for (auto& [number, version] : entry.versions)
      if (std::find(keep.begin(), keep.end(), number) == keep.end()) change(version);
  };
  for_others([&](Version& version) {
    if (version.model) old.push_back(std::move(version.model));
    version.model = nullptr;
    version.state = State::unloading;
  });
  for (const auto& model : old) model->close();
  if (!old.empty()) {
    old.clear();
    return_free_memory();
  }
  for_others([](Version& version) {
    version.state = State::unavailable;
    version.sleeps = false;
    version.card = nullptr;
    version.reason = "unloaded";
    version.stamp = "";
  });
}

void Registry::close() {
  {
    const std::lock_guard lock(stop_mutex_);
    stopping_ = true;
  }
  stop_changed_.notify_all();
  if (loader_.joinable()) loader_.join();
  std::vector<EntryPtr> all;
  {
    const std::shared_lock lock(mutex_);
    for (const auto& [name, entry] : entries_) all.push_back(entry);
  }
  for (const EntryPtr& entry : all) {
    const std::lock_guard changing(entry->changing);
    retire(*entry, {});
  }
}

}  // namespace colonnade::serve
