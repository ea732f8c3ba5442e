// SPDX-License-Identifier: Apache-2.0
// The pipeline for known shapes, as the picture draws it: passes, plan, compile. A newcomer starts at
// Model::Impl::make.
#include <algorithm>
#include <chrono>
#include <new>

#include "api/impl.hpp"
#include "api/run_queue.hpp"
#include "base/interruption.hpp"
#include "base/log.hpp"
#include "base/numbers.hpp"
#include "base/parts.hpp"
#include "plan/lean.hpp"
#include "runtime/workers.hpp"

namespace colonnade {
namespace {

/// About what a plan takes besides weights and arena.
std::size_t plan_bytes(const Prepared& prepared) {
  std::size_t bytes = prepared.graph.values.size() * (sizeof(Value) + sizeof(Storage)) +
                      prepared.graph.nodes.size() * (2 * sizeof(Node) + kBytesAroundANode);
  if (prepared.rest && prepared.rest->tail) {
    const Graph& tail = *prepared.rest->tail;
    bytes += tail.values.size() * sizeof(Value) + tail.nodes.size() * (sizeof(Node) + kBytesAroundATailsNode);
  }
  for (const ProgramSegment& segment : prepared.program->segments) {
    for (const auto& list : segment.lists) bytes += list.size() * 2 * sizeof(Step);  // the plan has them too
    for (const auto& lists : segment.strip_views)
      for (const auto& views : lists) bytes += views.size() * sizeof(StripView);
  }
  for (const auto& views : prepared.program->views) bytes += views.size() * sizeof(View);
  return bytes;
}

std::shared_ptr<Prepared> prepared_for(const PlanKey& key) {
  auto prepared = std::make_shared<Prepared>();
  static_cast<PlanKey&>(*prepared) = key;
  return prepared;
}

PlanOptions plan_options(const Options& options, const PlanKey& key) {
  return {options.schedule, options.math, key.threads, static_cast<std::int64_t>(options.memory_limit_bytes)};
}

/// Of whoever packs weights.
Helpers helpers_for(const Model::Impl& model) {
  if (model.threads == 1) return {};
  return [threads = model.threads](const std::function<void()>& work) {
    Workers::process().run(threads, [&work](int, int) { work(); });
  };
}

void refuse_islands(const Prepared& prepared) {
  const auto islands = islands_of(prepared);
  if (islands.empty()) return;
  const Island& island = islands.front();
  fail(ErrorCode::unsupported, "strict: node '{}' ({}) would run as an island ({}): {}", island.node, island.op,
       island.engine, island.reason);
}

}  // namespace

Model::Impl::Planned Model::Impl::planned(const PlanKey& key) const {
  {
    const std::lock_guard lock(mutex_);
    if (planned_ && static_cast<const PlanKey&>(*planned_) == key) {
      Planned taken = std::move(*planned_);
      planned_.reset();
      return taken;
    }
  }
  Planned made{key, bound_graph(*key.source, key.shapes, key.layouts, options.math), {}};
  made.plan = plan_for(made.bound.graph, key);
  return made;
}

Plan Model::Impl::plan_for(const Graph& graph, const PlanKey& key) const {
  constexpr double kLeastShare = 0.5;  // of what the further threads could save at most
  constexpr double kLargeInWakings = 1000;
  PlanOptions wanted = plan_options(options, key);
  if (numa.cores == 0 || key.threads <= numa.cores) return make_plan(graph, topology, wanted);
  wanted.threads = numa.cores;
  Plan near = make_plan(graph, topology, wanted);
  const bool is_large = predicted_us(near) > kLargeInWakings * topology.rates.team_us;
  if (numa.kind == NumaPolicy::Kind::node || near.threads < numa.cores || !is_large) return near;
  Plan wide = make_plan(graph, topology, plan_options(options, key));
  const double most_saved = 1 - real(near.threads) / real(wide.threads);
  const bool is_worth_it = predicted_us(wide) <= (1 - kLeastShare * most_saved) * predicted_us(near);
  return wide.threads > numa.cores && is_worth_it ? wide : near;
}

void Model::Impl::compile_for(Prepared& prepared) const {
  const auto with_weights_of = [&](int node) {
    return compile(prepared.graph, prepared.plan, topology.features, weights.of_node(node));
  };
  prepared.program = with_weights_of(prepared.node);
  if (numa.kind != NumaPolicy::Kind::replicate || prepared.plan.threads <= numa.cores) return;
  for (const int node : numa.nodes)
    if (node != prepared.node) prepared.elsewhere[node] = with_weights_of(node);
}

std::shared_ptr<Prepared> Model::Impl::make(const PlanKey& key) const {
  auto made = prepared_for(key);
  Planned plan = planned(key);
  made->graph = std::move(plan.bound.graph);
  made->rest = std::move(plan.bound.rest);
  made->plan = std::move(plan.plan);
  compile_for(*made);
  return made;
}

std::shared_ptr<Prepared> Model::Impl::read(const PlanKey& key) const {
  auto found = compiled->find(key.shapes, key.layouts, key.threads);
  if (!found) return nullptr;
  auto kept = prepared_for(key);
  kept->graph = std::move(found->bound.graph);
  kept->rest = std::move(found->bound.rest);
  kept->plan = std::move(found->plan);
  compile_for(*kept);
  return kept;
}

std::shared_ptr<Prepared> Model::Impl::read_or_made(const PlanKey& key, const RunControl* control) const {
  const std::function<void()> ask = [control] {
    if (control != nullptr) control->check_caller();
  };
  const Interruptible scope(ask);
  const Helpers helpers = helpers_for(*this);
  const Helped helped(&helpers);
  auto prepared = compiled && key.source == optimized ? read(key) : nullptr;
  return prepared ? prepared : make(key);
}

std::shared_ptr<const Prepared> Model::Impl::read_or_make(const PlanKey& key, const RunControl* control) const {
  const auto begin = std::chrono::steady_clock::now();
  auto prepared = read_or_made(key, control);
  prepared->bytes = plan_bytes(*prepared);
  if (options.strict) refuse_islands(*prepared);
  if (compiled && key.source == optimized) {
    compiled->keep({inputs, outputs, metadata, *optimized, key.shapes, key.layouts, key.threads, prepared->graph,
                    prepared->rest, prepared->plan, weights.of_node(key.node)});
  }
  const bool has_lost = [&] {
    const std::lock_guard lock(mutex_);
    const Verdict* verdict = find_verdict(key);
    return verdict != nullptr && verdict->winner == Side::runner_up;
  }();
  if (has_lost)
    if (auto plan = make_runner_up(prepared->graph, topology, prepared->plan))
      prepared = prepared_as(*prepared, *std::move(plan));
  prepared->milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  const std::lock_guard lock(mutex_);
  if (may_duel(*prepared)) prepared->duel = std::make_shared<Duel>(prepared->milliseconds);
  log_line(LogLevel::debug, "model '{}': planned {} segments in {:.1f} ms, arena {} bytes", name,
           prepared->program->segments.size(), prepared->milliseconds, prepared->program->arena_bytes);
  return prepared;
}

std::shared_ptr<const Prepared> Model::Impl::known_or_mine(const PlanKey& key, const RunControl* control) const {
  std::unique_lock lock(mutex_);
  while (true) {
    std::erase_if(prepared_, [](const auto& entry) { return entry.expired(); });
    for (const auto& entry : prepared_)
      if (auto prepared = entry.lock(); prepared && static_cast<const PlanKey&>(*prepared) == key)
        return prepared->duel && prepared->duel->state() == Duel::State::lost ? prepared->duel->runner_up() : prepared;
    if (std::find(making_.begin(), making_.end(), key) == making_.end()) break;
    made_.wait_for(lock, kBetweenQuestions);
    if (control == nullptr) continue;
    lock.unlock();
    control->check_caller();
    lock.lock();
  }
  making_.push_back(key);
  return nullptr;
}

void Model::Impl::end_making(const PlanKey& key, std::shared_ptr<const Prepared> made) const {
  {
    const std::lock_guard lock(mutex_);
    making_.erase(std::find(making_.begin(), making_.end(), key));
    if (made) prepared_.push_back(made);
  }
  made_.notify_all();
}

std::shared_ptr<const Prepared> Model::Impl::prepare(const PlanKey& key, const RunControl* control) const {
  if (auto known = known_or_mine(key, control)) return known;
  std::shared_ptr<const Prepared> prepared;
  try {
    std::unique_lock lock(compiled_mutex_, std::defer_lock);
    if (compiled && control == nullptr) lock.lock();
    while (compiled && !lock.owns_lock() && !lock.try_lock_for(kBetweenQuestions)) control->check_caller();
    prepared = read_or_make(key, control);
  } catch (const std::bad_alloc&) {
    end_making(key, nullptr);
    fail(ErrorCode::resource_limit, "model '{}': out of memory while it was planned", name);
  } catch (...) {
    end_making(key, nullptr);
    throw;
  }
  end_making(key, prepared);
  return prepared;
}

}  // namespace colonnade
