// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/policy.hpp"

#include <algorithm>

namespace colonnade::serve {
namespace {

LevelPolicy level_policy_of(const inference::ModelQueuePolicy& policy, std::size_t most) {
  LevelPolicy level;
  level.most = policy.max_queue_size() > 0 ? policy.max_queue_size() : most;
  level.timeout = std::chrono::microseconds(policy.default_timeout_microseconds());
  level.may_override = policy.allow_timeout_override();
  level.delay = policy.timeout_action() == inference::ModelQueuePolicy::DELAY;
  return level;
}

int instances_of(const inference::ModelConfig& config, int streams) {
  int count = 0;
  for (const inference::ModelInstanceGroup& group : config.instance_group()) count += std::max(1, group.count());
  return count > 0 ? count : streams;
}

}  // namespace

QueuePolicy queue_policy_of(const inference::ModelConfig& config, bool asked_for_batches, const ServiceOptions& options,
                            int streams) {
  QueuePolicy policy;
  policy.instances = instances_of(config, streams);
  LevelPolicy everyone;
  everyone.most = options.max_queue;
  policy.levels = {everyone};
  if (!config.has_dynamic_batching()) return policy;
  const inference::ModelDynamicBatching& batching = config.dynamic_batching();
  policy.largest_batch = std::max(1, config.max_batch_size());
  policy.merge_if_faster = !asked_for_batches;
  policy.preferred.assign(batching.preferred_batch_size().begin(), batching.preferred_batch_size().end());
  std::sort(policy.preferred.begin(), policy.preferred.end());
  if (!policy.preferred.empty()) policy.largest_batch = std::min(policy.largest_batch, policy.preferred.back());
  policy.delay = std::chrono::microseconds(batching.max_queue_delay_microseconds());
  policy.keep_order = batching.preserve_ordering();
  if (batching.has_default_queue_policy())
    policy.levels = {level_policy_of(batching.default_queue_policy(), options.max_queue)};
  policy.levels.resize(std::max<std::size_t>(1, batching.priority_levels()), policy.levels[0]);
  for (const auto& [level, rules] : batching.priority_queue_policy())
    if (level >= 1 && level <= policy.levels.size())
      policy.levels[level - 1] = level_policy_of(rules, options.max_queue);
  const auto fallback = static_cast<std::uint32_t>(batching.default_priority_level());
  policy.default_level = std::clamp<std::uint32_t>(fallback, 1, static_cast<std::uint32_t>(policy.levels.size()));
  return policy;
}

}  // namespace colonnade::serve
