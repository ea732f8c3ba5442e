// SPDX-License-Identifier: Apache-2.0
// Follows what the nodes of a network of texts depend on and writes the packed graph beside it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "passes/pack_tokens.hpp"
#include "passes/token_facts.hpp"

namespace colonnade::rewrite {

class TokenPacker {
 public:
  TokenPacker(const Graph& graph, std::size_t mask);
  Packing run();

 private:
  using Facts = std::vector<Fact>;

  static std::size_t place(ValueId id) { return static_cast<std::size_t>(id); }
  Packing refuse(std::string reason) const;
  std::string blame(ValueId id) const;
  bool take_inputs();
  bool take_output(ValueId id);
  void take(const Node& node);
  void infer_sizes(const Node& node);
  Facts facts_of(const Node& node);
  std::optional<Fact> after(const Node& node, const Facts& inputs);
  std::optional<Fact> fixed(const Node& node);
  Fact known(const Value& constant);

  // pack_places.cpp: what depends on positions and on whether tokens are live
  std::optional<Fact> elementwise(const Node& node, const Facts& inputs);
  std::optional<Fact> of_texts_and_places(const Node& node, const Facts& inputs);
  std::optional<Fact> between_places(const Node& node, const Facts& inputs);
  std::optional<Fact> of_live(const Node& node, const Facts& inputs);
  std::optional<Fact> along(const Node& node, const Facts& inputs, Dependence on);
  std::optional<Fact> by_distance(const Node& node, const Facts& inputs);
  std::optional<Fact> counted_up(const Node& node, const Facts& inputs);
  std::optional<Fact> filled(const Node& node);
  std::optional<Fact> expanded(const Node& node, const Facts& inputs);
  std::optional<Fact> picked_live(const Node& node, const Facts& inputs);
  std::optional<Fact> counted_before(const Node& node, const CumSum& op, const Facts& inputs);

  // pack_rows.cpp: what depends on tokens and texts
  std::optional<Fact> reshaped(const Node& node, const Facts& inputs);
  std::optional<Fact> transposed(const Node& node, const Transpose& op, const Facts& inputs);
  std::optional<Fact> gathered(const Node& node, const Gather& op, const Facts& inputs);
  std::optional<Fact> gathered_elements(const Node& node, const GatherElements& op, const Facts& inputs);
  std::optional<Fact> joined(const Node& node, const Concat& op, const Facts& inputs);
  std::optional<Fact> sliced(const Node& node, const Facts& inputs);
  std::optional<Fact> reduced(const Node& node, const Reduce& op, const Facts& inputs);
  std::optional<Fact> multiplied(const Node& node, const MatMul& op, const Facts& inputs);
  std::optional<Fact> normalised(const Node& node, std::int64_t axis, bool to_the_end, const Facts& inputs);
  std::optional<Fact> attention(const Node& node, const Attention& op, const Facts& inputs);
  std::optional<Fact> first_tokens(const Node& node, bool keeps_axis);
  std::optional<Fact> live_tokens(const Node& node, double live, std::int64_t rank);
  std::optional<Fact> summed(const Node& node, bool keeps_axis);
  /// Whether a node that leaves these axes alone works on each token, or text, by itself.
  bool leaves_alone(ValueId id, const Fact& fact, std::size_t axis) const;

  const Shape& shape(ValueId id) const { return *sized_.value(id).type.shape; }
  bool has_sizes(ValueId id) const;
  /// The sizes that a value has in the packed graph, with -1 where its tokens or texts lie.
  Ints packed_sizes(const Shape& sizes, const Fact& fact) const;
  std::optional<Ints> rest_of(ValueId id, std::size_t lead) const;
  /// The value in the packed graph: one number stands for whether tokens are live.
  ValueId operand(ValueId id);
  std::vector<ValueId> operands(const Node& node);
  ValueId number(ValueId like, double value);
  ValueId add_input(PackedRole role, const std::string& name, DType dtype, Shape of, std::size_t source = 0);
  ValueId places() { return add_input(PackedRole::places, "places", DType::i64, {-1}); }
  ValueId add(const Node& like, Operator op, std::vector<ValueId> inputs);
  ValueId reshape(const Node& like, ValueId value, const Ints& target);

  const Graph& graph_;
  Graph sized_;  ///< the network with sizes of kBatch and kTokens; constants where they follow from sizes alone
  Facts facts_;  ///< by value
  std::vector<const Node*> blame_;  ///< by value: the node that could not be followed
  std::shared_ptr<Graph> packed_;
  std::shared_ptr<Graph> before_;
  Packing packing_;
  bool meets_ = false;  ///< tokens of a text meet
};

}  // namespace colonnade::rewrite
