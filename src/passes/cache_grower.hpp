// SPDX-License-Identifier: Apache-2.0
// Follows what grows through a network and writes the one of a class of lengths beside it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "passes/grow_cache.hpp"

namespace colonnade::rewrite {

enum class Growth : std::uint8_t {
  unknown,  ///< cannot be followed
  steady,   ///< of the same shape at all lengths
  sizes,    ///< of the same shape, and elements a + b n that follow from the length alone
  rows,     ///< an axis of size n + behind; what the network computes of it is right as far as it goes
};

struct GrowingFact {
  Growth on = Growth::unknown;
  ValueId made = kAbsent;  ///< in the class's network; of sizes only once somebody needs them as numbers
  GrowingAxis rows = {};   ///< which are there
  /// Rows of a head lie n + so many apart, as in a dense tensor of the true shape; nothing: as in one of the class's.
  std::optional<std::int64_t> apart = std::nullopt;
  bool zero_behind = false;  ///< zeros behind what is there
  /// Each head of what is made stands for so many side by side, as those of queries that share keys.
  std::int64_t heads = 1;
  bool is_turned = false;  ///< its last two axes are the other way round than those of what is made
};

class CacheGrower {
 public:
  CacheGrower(const Graph& graph, const GrowingShapes& shapes);
  GrowingNetwork run();

 private:
  using Fact = GrowingFact;
  static constexpr std::size_t kFirst = 0, kNext = 1, kLast = 2;  ///< of the lengths that are looked at

  static std::size_t place(ValueId id) { return static_cast<std::size_t>(id); }
  std::string blame(ValueId id) const;
  void take_inputs();
  bool is_cache(ValueId id) const;
  bool take_output(ValueId id);
  void take(const Node& node);
  bool infer_sizes(const Node& node);
  std::optional<Fact> settled(const Node& node);
  bool is_affine(const Node& node) const;
  void keep_elements(const Node& node);
  std::vector<Fact> facts_of(const Node& node);
  std::optional<Fact> after(const Node& node, const std::vector<Fact>& inputs);
  bool copy(const Node& node);

  // grow_rows.cpp
  std::optional<Fact> reshaped(const Node& node, const Fact& from);
  std::optional<Fact> expanded(const Node& node, const Fact& from);
  std::optional<Fact> filled(const Node& node);
  std::optional<Fact> counted(const Node& node, const std::vector<Fact>& inputs);
  std::optional<Fact> sliced(const Node& node, const Fact& from);
  /// Where a slice begins along an axis, and how much it takes, at the first and at the last length.
  struct Cut {
    std::int64_t begin_first, begin, count_first, count;
  };
  std::optional<Fact> sliced_along(const Node& node, Fact fact, std::size_t axis, const Cut& cut);
  std::optional<Fact> elementwise(const Node& node, const std::vector<Fact>& inputs);
  std::optional<Fact> transposed(const Node& node, const Fact& from);
  std::optional<Fact> gathered(const Node& node, const std::vector<Fact>& inputs);
  std::optional<Fact> picked(const Node& node, const std::vector<Fact>& inputs);
  std::optional<Fact> reduced(const Node& node, const Fact& from);
  std::optional<Fact> accumulated(const Node& node, const Fact& from);

  // grow_keys.cpp
  std::optional<Fact> repeated(const Node& node, const Fact& from);
  std::optional<Fact> joined(const Node& node, const std::vector<Fact>& inputs);
  std::optional<Fact> appended(const Node& node, const std::vector<Fact>& inputs);
  ValueId attend_shared(const Node& node, const Attention& op, std::vector<ValueId> ids, std::int64_t heads);
  std::optional<Fact> attended(const Node& node, const std::vector<Fact>& inputs);

  // grow_sizes.cpp
  const Shape& shape(ValueId id, std::size_t at = kLast) const { return *sized_[at].value(id).type.shape; }
  bool has_shape(ValueId id) const;
  bool is_steady(ValueId id) const { return shape(id, kFirst) == shape(id, kLast); }
  /// The axis along which a value grows; nothing where that is not one by as much as the length.
  std::optional<GrowingAxis> grows_along(ValueId id) const;
  /// The elements at one of the lengths, where they follow from it.
  std::optional<Ints> ints(ValueId id, std::size_t at = kLast) const;
  /// Whether elements that follow from the length are, at each, the first along the axis of those at the last one.
  bool is_prefix(ValueId id, std::size_t axis) const;
  /// Where elements of a vector are sizes: how far behind the length, or a number that is none of it.
  struct Size {
    bool grows = false;
    std::int64_t number = 0;
  };
  std::optional<Size> size_of(ValueId id) const;

  ValueId operand(ValueId id);
  /// The elements at the last length.
  ValueId constant(ValueId id);
  std::vector<ValueId> operands(const Node& node);
  ValueId numbers(ValueId id);
  /// n + behind: i64 [1].
  ValueId length(std::int64_t behind);
  ValueId add(const Node& like, Operator op, std::vector<ValueId> inputs);
  ValueId reshape(const Node& like, ValueId value, const Shape& to);

  ValueId part(const Node& like, ValueId value, std::size_t axis, std::int64_t begin, std::int64_t count);

  const Graph& graph_;
  const GrowingShapes& given_;
  std::array<std::int64_t, 3> lengths_;
  std::array<Graph, 3> sized_;  ///< the network at these lengths; constants where they follow from sizes alone
  std::vector<Fact> facts_;     ///< by value
  std::vector<const Node*> blame_;
  std::shared_ptr<Graph> made_;
  ValueId length_ = kAbsent;
  GrowingNetwork network_;
};

}  // namespace colonnade::rewrite
