// SPDX-License-Identifier: Apache-2.0
// The plan: how a graph with known shapes runs on a machine. Segments, bands, steps, rings and arena offsets. A plain
// value made by a pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "families/family.hpp"
#include "graph/indices.hpp"
#include "plan/step.hpp"
#include "topology/topology.hpp"

namespace colonnade {

struct PlanOptions {
  Schedule schedule = Schedule::automatic;
  Math math = Math::fast;
  int threads = 1;
  std::int64_t memory_limit_bytes = 0;  ///< 0: none
};

/// Where a value lives while the program runs.
enum class Place : std::uint8_t { nowhere, constant, input, output, arena, ring };
struct Storage {
  Place place = Place::nowhere;
  ValueId root = kAbsent;  ///< the value whose bytes these are (itself, unless it is a view of another)
  ValueId host = kAbsent;  ///< whole tensor in whose rows it lies, from `channel` on
  std::int64_t channel = 0;
  std::int32_t index = 0;   ///< which graph input or output
  std::int64_t offset = 0;  ///< arena: bytes from its start
  std::int64_t bytes = 0;
  bool operator==(const Storage&) const = default;
};

/// The live rows of a value inside its segment, one instance a thread: rings from `offset` on, `thread_stride` bytes
/// apart. Before its ring, for each chunk, an instance has `head_rows` rows that are never recycled, because the
/// neighbour above reads them. The first instance has no such neighbour: its first chunk's head would lie before
/// `offset` and takes no memory. With a host the ring is part of the host's, from `channel` on, and only the heads are
/// its own.
struct Ring {
  ValueId value = kAbsent;
  DType type = DType::undefined;  ///< of its elements
  ValueId host = kAbsent;
  std::int64_t channel = 0;
  std::int64_t rows = 0;
  std::int64_t head_rows = 0;
  std::int64_t row_bytes = 0;  ///< of one chunk and the widest strip
  std::int64_t chunk_count = 1;
  std::int64_t offset = 0;
  std::int64_t thread_stride = 0;
  std::int64_t head_bytes() const { return head_rows * row_bytes; }
  std::int64_t own_rows() const { return head_rows + (host == kAbsent ? rows : 0); }
  std::int64_t bytes_a_thread() const { return own_rows() * row_bytes * chunk_count; }
  bool operator==(const Ring&) const = default;
};

/// Nodes that run chunk by chunk of channels within a step: the first expands (its output channels are cut), the last
/// contracts (its input channels are cut and it accumulates), those between work channel by channel. A single node: its
/// output channels are divided among the threads.
template <typename Index>
struct Chunks {
  std::vector<Index> nodes;
  std::int64_t channels = 0;
  std::int64_t chunk_channels = 0;
  std::int64_t count() const { return (channels + chunk_channels - 1) / chunk_channels; }
  bool operator==(const Chunks&) const = default;
};
using ChunkGroup = Chunks<NodeIndex>;

/// Place of a node in SegmentPlan::nodes.
enum class LocalIndex : std::int32_t {};
inline constexpr LocalIndex kNotLocal{-1};
template <typename T>
using ByLocal = Indexed<LocalIndex, T>;

/// The nearest memory that holds a working set.
enum class MemoryLevel : std::uint8_t { l2, l3, dram };

/// How the threads share a segment. rounds: each takes whole images, or whole strips of them.
enum class Sharing : std::uint8_t { single, rounds, bands, channels };

struct SegmentPlan {
  enum class Kind : std::uint8_t { columns, layer, island, view };
  Kind kind = Kind::layer;
  ByLocal<NodeIndex> nodes;
  Sharing sharing = Sharing::single;
  std::int64_t images = 1;
  std::int64_t turns = 1;          ///< in which the units of a whole tensor run (Family::turns)
  std::int64_t rows_per_step = 0;  ///< of the last node
  std::vector<ChunkGroup> chunk_groups;
  std::vector<std::vector<Step>> steps;   ///< one list a thread; one list in all when rounds are shared
  std::vector<Interval> bands;            ///< rows of the last node, one a thread
  std::vector<ByLocal<Interval>> strips;  ///< output columns, halo included; empty: full width
  std::vector<Ring> rings;
  std::int64_t scratch_offset =
      0;  ///< arena bytes for kernels' workspaces: those of all, then `scratch_bytes` a thread
  std::int64_t shared_bytes = 0;
  std::int64_t scratch_bytes = 0;
  std::string ends_because;
  double predicted_us = 0;
  double arithmetic_us = 0;  ///< of it, were all operands in L2
  double flop = 0;
  std::int64_t ring_bytes = 0;  ///< of one thread
  std::int64_t weights_bytes = 0;
  std::int64_t read_bytes = 0;                ///< whole tensors read
  std::int64_t written_bytes = 0;             ///< whole tensors written
  std::int64_t ring_traffic_bytes = 0;        ///< written to and read from rings
  MemoryLevel ring_level = MemoryLevel::l2;   ///< where rings and weights of a thread lie
  MemoryLevel whole_level = MemoryLevel::l2;  ///< where the whole tensors lie
  std::int64_t halo_rows = 0;                 ///< rows kept in heads for the neighbouring band, all tensors
};

struct Plan {
  PlanOptions options;
  int threads = 1;
  ByNode<Choice> choices;
  std::vector<SegmentPlan> segments;
  ByValue<Storage> storage;
  std::int64_t arena_bytes = 0;
  double flop = 0;
};

/// Plans a graph whose shapes are all known. Throws Error{resource_limit} naming the smallest limit that would do when
/// the arena cannot stay within options.memory_limit_bytes.
Plan make_plan(const Graph& graph, const Topology& topology, const PlanOptions& options);
/// The same with these choices, one a node, instead of those of choose_families.
Plan make_plan(const Graph& graph, const Topology& topology, const PlanOptions& options, ByNode<Choice> choices);

/// Of the plans that run otherwise (another schedule, other segments, steps or strips) the one that is predicted to be
/// the fastest, where that is about as fast as `plan` and takes about as little memory: for a duel, which decides by
/// real runs. Nothing where there is none, and where runs are too short to tell.
std::optional<Plan> make_runner_up(const Graph& graph, const Topology& topology, const Plan& plan);

/// Whether its runs are so short that waking threads for them does not pay: they are shared with those that are awake.
bool is_brief(const Plan& plan);

/// In a few words: "columns in 4 segments".
std::string outline(const Plan& plan);

/// Throws Error{internal} when the plan would read a row that was never written or already overwritten, write a row
/// twice, or overlap live memory.
void verify(const Plan& plan, const Graph& graph);

/// A line or two a segment, golden in tests.
std::string to_text(const Plan& plan, const Graph& graph);

}  // namespace colonnade
