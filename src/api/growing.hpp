// SPDX-License-Identifier: Apache-2.0
// Inputs that grow from call to call, as a decoder's caches of keys and values: one plan for a class of lengths. What
// grows is not said by a model but seen: axes that became longer or shorter by the same number since a call before.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "colonnade/colonnade.hpp"
#include "passes/grow_cache.hpp"

namespace colonnade {

/// Lengths that one plan is for: up to 255, 511, 1023, ...; the last one of a length that is at least 1.
std::int64_t last_of_class(std::int64_t length);

/// The network of a class of lengths.
struct Grown {
  GrowingShapes shapes;
  GrowingNetwork network;
  mutable std::atomic<bool> is_split = false;  ///< cannot be planned as a whole: lengths run by plans of their own
};

/// One for a call: the class that its shapes are of, and their length.
struct GrownCall {
  std::shared_ptr<const Grown> grown;  ///< null: shapes run by a plan of their own
  std::int64_t length = 0;

  std::vector<Shape> output_shapes() const;
};

/// Of one model; sessions share it.
class GrowingPlans {
 public:
  /// Null where nothing may grow.
  void watch(std::shared_ptr<const Graph> graph);
  GrownCall find(std::span<const TensorView> inputs);
  /// What is to be said of a network whose inputs look like caches; nothing of others. Shapes are those of one call.
  static std::string tell(const Graph& graph, const std::vector<Shape>& shapes);

 private:
  /// Shapes of which some axes are -1, and those.
  struct Pattern {
    std::vector<Shape> shapes;
    std::vector<std::optional<GrowingAxis>> axes;
    std::list<std::shared_ptr<const Grown>> classes;

    std::optional<std::int64_t> length_of(std::span<const TensorView> inputs) const;
  };
  static std::optional<Pattern> pattern_of(const std::vector<Shape>& before, std::span<const TensorView> now);
  std::shared_ptr<const Grown> made(const Pattern& pattern, std::int64_t first, std::int64_t last) const;
  std::shared_ptr<const Grown> class_of(Pattern& pattern, std::int64_t length);
  void remember(std::span<const TensorView> inputs);

  std::shared_ptr<const Graph> graph_;
  mutable std::mutex mutex_;
  std::list<Pattern> patterns_;
  int refused_ = 0;                       ///< classes; -1 once one was not
  std::list<std::vector<Shape>> recent_;  ///< shapes of calls, the last first
};

/// A call's inputs as the class's network takes them; keeps its memory for the next one.
class GrownInputs {
 public:
  std::span<const TensorView> set(const GrownCall& call, std::span<const TensorView> inputs);
  std::span<const TensorView> views() const { return views_; }
  std::size_t bytes() const;

 private:
  std::vector<std::vector<std::byte>> padded_;  ///< by input
  std::vector<TensorView> views_;
  std::int64_t length_ = 0;
};

}  // namespace colonnade
