// SPDX-License-Identifier: Apache-2.0
#include "api/numa.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/error.hpp"
#include "colonnade/numa.hpp"

namespace colonnade {
namespace {

constexpr std::string_view kNodePrefix = "node=";

/// Packed weights take more than constants: Winograd four times, matrix units one and a half times.
constexpr std::int64_t kPackedPart = 2;
/// Of a node's free memory that one model's copy may take.
constexpr std::int64_t kShareOfNode = 2;

int node_in(std::string_view asked, const NumaNodes& nodes) {
  const std::string_view text = asked.substr(kNodePrefix.size());
  int node = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), node);
  if (error != std::errc() || end != text.data() + text.size() || std::ranges::count(nodes, node) == 0)
    fail(ErrorCode::invalid_argument, "numa: expected node={}, found '{}'", fmt::join(nodes, " or node="), asked);
  return node;
}

/// Nobody said: a copy a node, where there is memory for it.
void choose(NumaPolicy& policy, std::int64_t constant_bytes) {
  policy.kind = NumaPolicy::Kind::replicate;
  policy.reason = "each node has memory for a copy of the weights";
  for (const int node : policy.nodes) {
    const std::int64_t free = free_memory_of_node(node);
    if (free == 0 || constant_bytes * kPackedPart <= free / kShareOfNode) continue;
    policy.kind = NumaPolicy::Kind::interleave;
    policy.reason = fmt::format("node {} has no memory for a copy of the weights", node);
    return;
  }
}

}  // namespace

int NumaPolicy::home(int here) const {
  if (kind == Kind::off) return Workers::kAnyNode;
  return kind == Kind::node ? node : here;
}

NumaNodes NumaPolicy::weights_at(int weights_node) const {
  switch (kind) {
    case Kind::off: break;
    case Kind::replicate: return {weights_node};
    case Kind::interleave: return nodes;
    case Kind::node: return {node};
  }
  return {};
}

std::string NumaPolicy::text() const {
  switch (kind) {
    case Kind::off: break;
    case Kind::replicate: return "replicate";
    case Kind::interleave: return "interleave";
    case Kind::node: return fmt::format("node={}", node);
  }
  return "off";
}

namespace {

/// On any machine. Nothing asked is off.
NumaPolicy parsed(std::string_view asked, const Workers* workers) {
  using Kind = NumaPolicy::Kind;
  NumaPolicy policy;
  if (workers == nullptr) policy.nodes = {0};
  if (workers != nullptr)
    for (const NumaNode& node : workers->nodes()) policy.nodes.push_back(node.number);
  if (asked == "replicate") {
    policy.kind = Kind::replicate;
  } else if (asked == "interleave") {
    policy.kind = Kind::interleave;
  } else if (asked.starts_with(kNodePrefix)) {
    policy.kind = Kind::node;
    policy.node = node_in(asked, policy.nodes);
  } else if (!asked.empty() && asked != "off") {
    fail(ErrorCode::invalid_argument, "numa: expected replicate, interleave, node=N or off, found '{}'", asked);
  }
  return policy;
}

}  // namespace

NumaPolicy numa_policy(std::string_view asked, std::int64_t constant_bytes, const Workers* workers) {
  using Kind = NumaPolicy::Kind;
  NumaPolicy policy = parsed(asked, workers);
  if (policy.nodes.size() < 2) return {.nodes = policy.nodes, .reason = "the process has one node"};
  if (asked.empty()) choose(policy, constant_bytes);
  if (policy.kind == Kind::node) policy.cores = workers->cores_of(policy.node);
  if (policy.kind == Kind::replicate || policy.kind == Kind::interleave)
    for (const int node : policy.nodes) policy.cores = std::max(policy.cores, workers->cores_of(node));
  return policy;
}

const Workers* workers_of_nodes() {
  static const bool several = machine_has_several_nodes();
  return several ? &Workers::process() : nullptr;
}

void stay_on_node(std::string_view numa, int turn) {
  const Workers* workers = workers_of_nodes();
  const NumaPolicy policy = parsed(numa, workers);
  if (policy.nodes.size() < 2 || numa == "off") return;
  const auto place = static_cast<std::size_t>(std::max(0, turn)) % policy.nodes.size();
  workers->keep_caller_on(policy.kind == NumaPolicy::Kind::node ? policy.node : policy.nodes[place]);
}

int current_node() {
  const Workers* workers = workers_of_nodes();
  return workers == nullptr ? 0 : workers->node_of_caller();
}

}  // namespace colonnade
