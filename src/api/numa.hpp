// SPDX-License-Identifier: Apache-2.0
// Options::numa, on this machine: on which NUMA nodes weights, arenas and threads are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/placement.hpp"
#include "runtime/workers.hpp"

namespace colonnade {

struct NumaPolicy {
  enum class Kind : std::uint8_t { off, replicate, interleave, node };
  Kind kind = Kind::off;
  int node = 0;             ///< of Kind::node
  int cores = 0;            ///< that a node has; 0: teams take no notice of nodes
  NumaNodes nodes = {};     ///< of the process
  std::string reason = {};  ///< why it is this one, where nobody asked for it

  /// The node whose workers help a session that is first used on node `here`; Workers::kAnyNode: any.
  int home(int here) const;
  /// Whose copy of the weights it reads.
  int weights_node(int home) const { return kind == Kind::replicate ? home : 0; }
  /// Where the copy lies that is called that node's.
  NumaNodes weights_at(int weights_node) const;
  std::size_t copies() const { return kind == Kind::replicate ? nodes.size() : 1; }
  std::string text() const;
};

/// What `asked` (Options::numa) means for a model with so many bytes of constants. Throws Error{invalid_argument} for
/// other words, and for a node that this process has no cores of. On one node nothing is placed.
NumaPolicy numa_policy(std::string_view asked, std::int64_t constant_bytes, const Workers* workers);

/// The process's, where the machine has several nodes; else null. They are not made before they are needed.
const Workers* workers_of_nodes();

}  // namespace colonnade
