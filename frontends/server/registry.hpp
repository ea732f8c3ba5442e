// SPDX-License-Identifier: Apache-2.0
// Which models there are, which are loaded, and how they come and go.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "frontends/server/memory.hpp"
#include "frontends/server/model.hpp"
#include "frontends/server/options.hpp"
#include "frontends/server/repository.hpp"

namespace colonnade::serve {

/// All calls may come from any thread. Lookups never wait for a load.
class Registry {
 public:
  enum class State : std::uint8_t { unavailable, loading, ready, unloading };
  struct IndexRow {
    std::string name;
    std::int64_t version = 0;  ///< 0: not even its versions are known
    State state = State::unavailable;
    std::string reason;
  };

  struct Known {
    CardPtr card;
    std::shared_ptr<ServedModel> model;  ///< null: it sleeps
  };

  Registry(const ServiceOptions& options, Scheduler& scheduler, Memory& memory, ResponseCache& cache);
  ~Registry();

  /// Starts to load what the options ask for, and to look after the repository.
  void start();
  /// What was asked for at the start was loaded or has failed.
  bool is_settled() const;
  /// Settled, and every model that should be served has a version that is.
  bool is_complete() const;

  /// The version, or the newest for 0. Throws Failure as Triton words it.
  std::shared_ptr<ServedModel> find(const std::string& name, std::int64_t version) const;
  /// The same of one that is loaded or sleeps.
  CardPtr card(const std::string& name, std::int64_t version) const;
  /// Whether what `find` would give was unloaded to make room: `wake` loads it again.
  bool sleeps(const std::string& name, std::int64_t version) const;
  /// Throws Failure where it cannot be loaded, or there is no room. Blocks.
  void wake(const std::string& name);
  /// All versions that are loaded or sleep.
  std::vector<Known> known() const;
  /// Those of a model, ascending.
  std::vector<std::int64_t> versions(const std::string& name) const;
  std::vector<IndexRow> index() const;

  void load(const std::string& name, const std::map<std::string, std::string>& parameters);
  void unload(const std::string& name);
  /// No more loads; unloads everything once what runs is done.
  void close();

 private:
  /// Stands for the stamp of a configuration that a client brought.
  static constexpr const char* kOverridden = "overridden";

  struct Version {
    State state = State::unavailable;
    std::string reason;
    std::string stamp;    ///< of the files that `model` was made of
    bool sleeps = false;  ///< was unloaded to make room, or never loaded for lack of it
    CardPtr card;         ///< null: it neither is loaded nor sleeps
    std::shared_ptr<ServedModel> model;
    std::shared_ptr<Statistics> statistics = std::make_shared<Statistics>();

    /// It could not be loaded. Where only room was lacking it sleeps, if it may; `made` is null if it came not so far.
    void refuse(const Failure& failure, bool may_sleep, const CardPtr& made);
  };
  struct Entry {
    std::mutex changing;               ///< held by the one thread that loads or unloads this model
    std::atomic<bool> wanted = false;  ///< the server is incomplete without it
    std::string problem;
    std::string stamp;  ///< of the configuration
    FoundModel found;   ///< what was loaded last
    std::map<std::int64_t, Version> versions;
  };
  using EntryPtr = std::shared_ptr<Entry>;
  /// What is to be served of what was found.
  struct Intent {
    inference::ModelConfig config;
    std::vector<std::int64_t> versions;
    bool is_overridden = false;  ///< by a client, so that it does not stand on disk
  };

  void load_at_start(std::vector<FoundModel> found);
  void poll();
  void look_for_changes();
  std::vector<FoundModel> scan() const;
  std::optional<FoundModel> find_on_disk(const std::string& name) const;
  EntryPtr entry(const std::string& name);
  /// Loads what has changed, and with `again` what failed before. Throws Failure when a version cannot be loaded, after
  /// trying all.
  void apply(const FoundModel& found, const LoadParameters& parameters, bool again);
  static Intent intent_of(const FoundModel& found, const LoadParameters& parameters);
  void fail(Entry& entry, const std::string& name, const Failure& failure);
  bool is_changed(const Entry& entry, std::int64_t number, const std::string& stamp, bool again) const;
  void replace(Entry& entry, const FoundModel& found, std::int64_t number, const inference::ModelConfig& config,
               const LoadParameters& parameters);
  /// The version, or the newest for 0, of those that `has` something. Throws Failure as Triton words it.
  const Version& version(const std::string& name, std::int64_t number, bool (*has)(const Version&)) const;
  /// A share of memory for a version that is loaded, after unloading idle ones if that is asked for. Throws Failure.
  MemoryShare admit(const Card& card);
  /// Unloads the model that was idle for the longest time; false when none is idle.
  bool put_one_to_sleep(const std::string& but);
  bool put_to_sleep(Entry& entry);
  /// Takes versions that `keep` does not name out of service, and waits for what they have under way.
  void retire(Entry& entry, std::span<const std::int64_t> keep);
  /// False when there is no such model.
  bool take_out(const std::string& name);

  const ServiceOptions options_;
  Scheduler& scheduler_;
  Memory& memory_;
  ResponseCache& cache_;
  mutable std::shared_mutex mutex_;  ///< of entries_ and of everything in them
  std::map<std::string, EntryPtr> entries_;
  std::mutex stop_mutex_;
  std::condition_variable stop_changed_;
  bool stopping_ = false;
  std::atomic<bool> settled_{false};
  std::thread loader_;
};

}  // namespace colonnade::serve
