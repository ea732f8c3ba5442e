// SPDX-License-Identifier: Apache-2.0
// What the registry shows, and how models come and go with the memory there is.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "frontends/server/log.hpp"
#include "frontends/server/registry.hpp"

namespace colonnade::serve {
namespace {

constexpr double kMiB = 1 << 20;
constexpr const char* kAsleep = "asleep: unloaded to make room, a request loads it again";

std::string sum_of(const Card& card, const Memory& memory) {
  const MemoryNeed& need = card.need;
  const auto mib = [](std::size_t bytes) { return static_cast<double>(bytes) / kMiB; };
  return fmt::format(
      "it needs {:.1f} MiB (weights {:.1f}, plan {:.1f}, {} x {:.1f} for runs), of {:.1f} MiB {:.1f} are left",
      mib(card.needed_bytes()), mib(need.weights), mib(need.plan), card.instances, mib(need.arena + need.outputs),
      mib(memory.limit()), mib(memory.left()));
}

}  // namespace

std::vector<Registry::Known> Registry::known() const {
  const std::shared_lock lock(mutex_);
  std::vector<Known> known;
  for (const auto& [name, entry] : entries_)
    for (const auto& [number, version] : entry->versions)
      if (version.card) known.push_back({version.card, version.model});
  return known;
}

std::vector<std::int64_t> Registry::versions(const std::string& name) const {
  const std::shared_lock lock(mutex_);
  std::vector<std::int64_t> numbers;
  if (const auto found = entries_.find(name); found != entries_.end())
    for (const auto& [number, version] : found->second->versions)
      if (version.card) numbers.push_back(number);
  return numbers;
}

std::vector<Registry::IndexRow> Registry::index() const {
  std::vector<IndexRow> rows;
  std::set<std::string> known;
  {
    const std::shared_lock lock(mutex_);
    for (const auto& [name, entry] : entries_) {
      known.insert(name);
      for (const auto& [number, version] : entry->versions)
        rows.push_back({name, number, version.state, version.reason});
      if (entry->versions.empty())
        rows.push_back(
            {name, 0, entry->problem.empty() && !settled_ ? State::loading : State::unavailable, entry->problem});
    }
  }
  // Of what may be asked for, clients learn here.
  if (options_.control == ControlMode::explicit_)
    for (const FoundModel& found : scan())
      if (!known.contains(found.name))
        rows.push_back({found.name, 0, State::unavailable, found.problem ? found.problem->message : ""});
  return rows;
}

bool Registry::sleeps(const std::string& name, std::int64_t version) const {
  const std::shared_lock lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return false;
  bool one_sleeps = false;
  for (const auto& [number, each] : found->second->versions) {
    if (version != 0 && number != version) continue;
    if (each.model) return false;
    one_sleeps = one_sleeps || each.sleeps;
  }
  return one_sleeps;
}

void Registry::wake(const std::string& name) {
  const EntryPtr entry = this->entry(name);
  FoundModel found;
  {
    const std::shared_lock lock(mutex_);
    found = entry->found;
  }
  if (found.name.empty()) throw Failure(Code::unavailable, fmt::format("model '{}' is not loaded", name));
  apply(found, {}, true);
}

MemoryShare Registry::admit(const Card& card) {
  MemoryShare share(memory_);
  const std::size_t bytes = card.needed_bytes();
  const bool may_fit = memory_.limit() == 0 || bytes <= memory_.limit();
  while (!share.set(bytes)) {
    // At the start everybody is idle: who comes late waits for a request.
    if (!options_.unload_idle || !may_fit || !settled_ || !put_one_to_sleep(card.signature.model))
      throw Failure(may_fit ? Code::resource_exhausted : Code::invalid_argument, sum_of(card, memory_));
  }
  return share;
}

bool Registry::put_one_to_sleep(const std::string& but) {
  std::vector<std::pair<Clock::time_point, EntryPtr>> idle;
  {
    const std::shared_lock lock(mutex_);
    for (const auto& [name, entry] : entries_) {
      if (name == but || entry->stamp == kOverridden) continue;
      auto used = Clock::time_point::min();
      bool is_idle = true, is_loaded = false;
      for (const auto& [number, version] : entry->versions) {
        if (!version.model) continue;
        is_loaded = true;
        is_idle = is_idle && version.model->is_idle();
        used = std::max(used, version.model->last_used());
      }
      if (is_loaded && is_idle) idle.emplace_back(used, entry);
    }
  }
  std::sort(idle.begin(), idle.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return std::any_of(idle.begin(), idle.end(), [&](const auto& each) { return put_to_sleep(*each.second); });
}

bool Registry::put_to_sleep(Entry& entry) {
  // Who loads one model and waits for another's lock could wait for ever.
  const std::unique_lock changing(entry.changing, std::try_to_lock);
  if (!changing.owns_lock()) return false;
  std::vector<std::shared_ptr<ServedModel>> old;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [number, version] : entry.versions) {
      if (!version.model) continue;
      old.push_back(std::move(version.model));
      version.model = nullptr;
      version.sleeps = true;
      version.state = State::unavailable;
      version.reason = kAsleep;
    }
  }
  for (const auto& model : old) {
    model->close();
    log(LogLevel::info, "model put to sleep",
        {{"model", model->signature().model}, {"version", model->card()->version}});
  }
  const bool did = !old.empty();
  old.clear();
  return_free_memory();
  return did;
}

}  // namespace colonnade::serve
