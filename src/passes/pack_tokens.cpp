// SPDX-License-Identifier: Apache-2.0
#include "passes/pack_tokens.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "graph/contraction.hpp"
#include "passes/token_facts.hpp"

namespace colonnade {
namespace {

using rewrite::Dependence;
using rewrite::Fact;
using rewrite::kBatchSize;
using rewrite::kTokenSize;
using rewrite::lead_of;

/// Follows what the nodes of a graph depend on and writes the packed graph beside it.
class Packer {
 public:
  Packer(const Graph& graph, std::size_t mask) : graph_(graph), facts_(graph.values.size()) {
    packed_ = std::make_shared<Graph>();
    packed_->name = graph.name;
    packing_.mask = mask;
  }

  Packing run() {
    if (!take_inputs()) return refuse("an input is not [batch, tokens]");
    for (const Node& node : graph_.nodes)
      if (!take(node)) return refuse(fmt::format("node '{}' ({})", node.name, name_of(node.op)));
    if (!meets_) return refuse("no attention is masked");
    for (const ValueId id : graph_.outputs) {
      const Fact& fact = facts_[place(id)];
      if (fact.on != Dependence::tokens && fact.on != Dependence::texts)
        return refuse(fmt::format("output '{}'", graph_.value(id).name));
      if (!keeps_shape(id, fact)) return refuse(fmt::format("output '{}'", graph_.value(id).name));
      packing_.of_tokens.push_back(fact.on == Dependence::tokens);
      packed_->outputs.push_back(fact.packed);
    }
    if (std::any_of(packed_->outputs.begin(), packed_->outputs.end(), [&](ValueId id) { return is_repeated(id); }))
      return refuse("an output is given twice");
    packing_.graph = std::move(packed_);
    return std::move(packing_);
  }

 private:
  static std::size_t place(ValueId id) { return static_cast<std::size_t>(id); }
  Packing refuse(std::string reason) const {
    Packing none;
    none.reason = std::move(reason);
    return none;
  }
  bool is_repeated(ValueId id) const {
    return std::count(packed_->outputs.begin(), packed_->outputs.end(), id) != 1 ||
           std::count(packed_->inputs.begin(), packed_->inputs.end(), id) != 0;
  }

  /// What the packed graph gives has the dimensions of the network's output behind tokens or texts.
  bool keeps_shape(ValueId id, const Fact& fact) const {
    const auto rest = rest_of(id, lead_of(fact.on));
    const Shape& packed = *packed_->value(fact.packed).type.shape;
    const auto lead = static_cast<std::ptrdiff_t>(lead_of(fact.on));
    return rest && std::ssize(packed) >= lead &&
           std::equal(packed.begin() + lead, packed.end(), rest->begin(), rest->end());
  }

  const Shape& shape(ValueId id) const { return *graph_.value(id).type.shape; }
  bool has_shape(ValueId id) const { return graph_.value(id).type.shape.has_value(); }

  ValueId add_input(PackedRole role, const std::string& name, DType dtype, Shape of, std::size_t source = 0) {
    for (std::size_t i = 0; i < packing_.inputs.size() && role != PackedRole::tokens; ++i)
      if (packing_.inputs[i].role == role) return packed_->inputs[i];
    const ValueId id = packed_->add_value(name, {dtype, std::move(of)});
    packed_->value(id).dim_names.assign(packed_->value(id).type.shape->size(), "");
    packed_->inputs.push_back(id);
    packing_.inputs.push_back({role, source});
    return id;
  }
  ValueId places() { return add_input(PackedRole::places, "places", DType::i64, {-1}); }

  bool take_inputs() {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      const ValueId id = graph_.inputs[i];
      const ValueType& type = graph_.value(id).type;
      const bool ints = type.dtype == DType::i64 || type.dtype == DType::i32;
      if (!ints || !type.shape || type.shape->size() != 2 || (*type.shape)[1] >= 0) return false;
      Fact& fact = facts_[place(id)];
      if (i == packing_.mask) {
        fact = {.on = Dependence::live, .axis = 1};
        continue;
      }
      fact = {.on = Dependence::tokens, .axis = 1};
      fact.packed = add_input(PackedRole::tokens, graph_.value(id).name, type.dtype, {1, -1}, i);
    }
    return true;
  }

  ValueId add(const Node& like, Operator op, std::vector<ValueId> inputs) {
    Node node{std::move(op), std::move(inputs), {kAbsent}, like.name, like.origin};
    ValueType type = infer_types(*packed_, node).at(0);
    node.outputs[0] = packed_->add_value(like.name, std::move(type));
    packed_->nodes.push_back(std::move(node));
    return packed_->nodes.back().outputs[0];
  }
  ValueId reshaped(const Node& like, ValueId value, const Ints& target) {
    return add(like, Reshape{}, {value, packed_->add_ints(like.name + "_shape", target)});
  }

  /// The value in the packed graph: one number stands for whether tokens are live.
  ValueId operand(ValueId id) {
    if (id == kAbsent) return kAbsent;
    Fact& fact = facts_[place(id)];
    if (fact.on == Dependence::live) {
      Tensor number(graph_.value(id).type.dtype, {});
      if (number.dtype() != DType::f32) return kAbsent;
      number.values<float>()[0] = static_cast<float>(fact.live);
      return packed_->add_constant(graph_.value(id).name, std::move(number));
    }
    if (fact.packed == kAbsent && graph_.value(id).constant)
      fact.packed = packed_->add_constant(graph_.value(id).name, graph_.value(id).constant);
    return fact.packed;
  }

  std::vector<Fact> facts_of(const Node& node) {
    std::vector<Fact> inputs;
    for (const ValueId id : node.inputs) {
      if (id != kAbsent && graph_.value(id).constant) facts_[place(id)].on = Dependence::fixed;
      inputs.push_back(id == kAbsent ? Fact{.on = Dependence::fixed} : facts_[place(id)]);
    }
    return inputs;
  }

  bool take(const Node& node) {
    if (node.outputs.size() != 1 || node.outputs[0] == kAbsent || !has_shape(node.outputs[0])) return false;
    const std::vector<Fact> inputs = facts_of(node);
    const auto has = [&](Dependence on) {
      return std::any_of(inputs.begin(), inputs.end(), [&](const Fact& fact) { return fact.on == on; });
    };
    Fact& out = facts_[place(node.outputs[0])];
    if (has(Dependence::unknown) ||
        !std::ranges::all_of(node.inputs, [&](ValueId id) { return id == kAbsent || has_shape(id); }))
      return false;
    if (auto sizes = rewrite::sizes_after(graph_, node, inputs)) {
      out = {.on = Dependence::sizes, .sizes = *std::move(sizes)};
      return true;
    }
    if (const auto found = after(node, inputs, has(Dependence::tokens), has(Dependence::texts))) {
      out = *found;
      return true;
    }
    if (has(Dependence::tokens) || has(Dependence::texts)) return false;
    const auto live = rewrite::live_after(graph_, node, inputs);
    if (live) out = *live;
    return live.has_value();
  }

  std::optional<Fact> after(const Node& node, const std::vector<Fact>& inputs, bool tokens, bool texts) {
    if (std::holds_alternative<Attention>(node.op)) return attention(node, inputs);
    if (const auto* gather = std::get_if<Gather>(&node.op)) return gathered(node, *gather, inputs);
    if (std::holds_alternative<Slice>(node.op)) return sliced(node, inputs);
    if (std::holds_alternative<Reduce>(node.op)) return reduced(node, inputs);
    if (std::holds_alternative<Range>(node.op)) return counted_up(node, inputs);
    if (!tokens && inputs.size() == 2 && inputs[0].on == Dependence::place) return placed(node, inputs);
    if (std::holds_alternative<Reshape>(node.op) && (tokens || texts)) return reshaped(node, inputs);
    if (tokens) return by_position(node, inputs, Dependence::tokens);
    if (texts) return by_position(node, inputs, Dependence::texts);
    return std::nullopt;
  }

  std::optional<Fact> by_position(const Node& node, const std::vector<Fact>& inputs, Dependence on) {
    const std::size_t rank = shape(node.outputs[0]).size();
    if (!rewrite::keeps_rows(graph_, node, lead_of(on))) return std::nullopt;
    const bool broadcasts = std::holds_alternative<Binary>(node.op) || std::holds_alternative<Select>(node.op);
    Fact out{.on = on};
    bool zero = false;
    std::vector<ValueId> operands;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      const bool weights = !broadcasts && i > 0 && inputs[i].on == Dependence::fixed;
      if (id != kAbsent && !weights && !rewrite::is_along(graph_, id, inputs[i], rank, on)) return std::nullopt;
      zero = zero || (inputs[i].on == Dependence::live && inputs[i].dead == 0) || inputs[i].zero_dead;
      operands.push_back(operand(id));
    }
    const auto* binary = std::get_if<Binary>(&node.op);
    const bool multiplies = binary != nullptr && binary->kind == BinaryKind::mul;
    out.zero_dead = zero && (multiplies || std::holds_alternative<Cast>(node.op));
    for (std::size_t i = 0; i < inputs.size() && multiplies; ++i)
      if (inputs[i].on == Dependence::live && inputs[i].live == 1) out.packed = operands[1 - i];
    if (out.packed == kAbsent) out.packed = add(node, node.op, std::move(operands));
    return out;
  }

  std::optional<Fact> attention(const Node& node, const std::vector<Fact>& inputs) {
    const Attention& op = std::get<Attention>(node.op);
    const std::size_t rank = op.heads_inside_q ? 4 : 3;
    const bool alike = op.heads_inside_k == op.heads_inside_q && op.heads_inside_v == op.heads_inside_q &&
                       op.heads_inside_out == op.heads_inside_q;
    if (!alike || !rewrite::bars_padding(graph_, node, inputs, rank)) return std::nullopt;
    std::vector<ValueId> operands;
    for (std::size_t i = 0; i < kAddendInput; ++i) {
      if (inputs[i].on != Dependence::tokens || shape(node.inputs[i]).size() != rank) return std::nullopt;
      operands.push_back(operand(node.inputs[i]));
    }
    operands.resize(kBoundsInput, kAbsent);
    operands.push_back(add_input(PackedRole::bounds, "bounds", DType::i64, {-1}));
    meets_ = true;
    return Fact{.on = Dependence::tokens, .packed = add(node, op, std::move(operands))};
  }

  /// Rows of a table, or the first token of each text.
  std::optional<Fact> gathered(const Node& node, const Gather& op, const std::vector<Fact>& inputs) {
    if (inputs[0].on == Dependence::fixed && op.axis == 0 &&
        (inputs[1].on == Dependence::tokens || inputs[1].on == Dependence::place)) {
      if (shape(node.inputs[1]).size() != inputs[1].axis + 1) return std::nullopt;
      const ValueId table = operand(node.inputs[0]);
      Fact out{.on = inputs[1].on, .axis = inputs[1].axis};
      out.packed = add(node, op, {table, inputs[1].packed});
      return out;
    }
    const auto indices = constant_ints(graph_, node, 1);
    const bool first = inputs[0].on == Dependence::tokens && op.axis == 1 && indices && *indices == Ints{0};
    return first ? first_tokens(node, shape(node.inputs[1]).size() == 1) : std::nullopt;
  }

  std::optional<Fact> first_tokens(const Node& node, bool keeps_axis) {
    const ValueId firsts = add_input(PackedRole::firsts, "firsts", DType::i64, {-1});
    packing_.needs_firsts = true;
    const auto rest = rest_of(node.inputs[0], 2);
    if (!rest) return std::nullopt;
    Ints target{-1};
    if (keeps_axis) target.push_back(1);
    target.insert(target.end(), rest->begin(), rest->end());
    const ValueId rows = add(node, Gather{1}, {operand(node.inputs[0]), firsts});
    return Fact{.on = Dependence::texts, .packed = reshaped(node, rows, target)};
  }

  /// Dimensions from `lead` on, where they are known and none is empty.
  std::optional<Ints> rest_of(ValueId id, std::size_t lead) const {
    const Shape& from = shape(id);
    if (from.size() < lead) return std::nullopt;
    Ints rest(from.begin() + static_cast<std::ptrdiff_t>(lead), from.end());
    return std::any_of(rest.begin(), rest.end(), [](std::int64_t dim) { return dim < 1; }) ? std::nullopt
                                                                                           : std::optional(rest);
  }

  /// The first rows of a table, as many as there are tokens; the first token.
  std::optional<Fact> sliced(const Node& node, const std::vector<Fact>& inputs) {
    const auto starts = constant_ints(graph_, node, 1), axes = constant_ints(graph_, node, 3),
               steps = constant_ints(graph_, node, 4), ends = constant_ints(graph_, node, 2);
    if (!starts || *starts != Ints{0} || (steps && *steps != Ints{1})) return std::nullopt;
    if (node.input(3) != kAbsent && (!axes || axes->size() != 1)) return std::nullopt;
    const auto rank = std::ssize(shape(node.inputs[0]));
    std::int64_t axis = axes ? (*axes)[0] : 0;
    if (axis < 0) axis += rank;
    if (inputs[0].on == Dependence::tokens && axis == 1 && ends && *ends == Ints{1}) return first_tokens(node, true);
    const bool by_tokens = inputs[2].on == Dependence::sizes && inputs[2].sizes == Ints{kTokenSize};
    if (inputs[0].on != Dependence::fixed || !by_tokens || axis > 1) return std::nullopt;
    if (axis == 1 && shape(node.inputs[0])[0] != 1) return std::nullopt;
    Fact out{.on = Dependence::place, .axis = static_cast<std::size_t>(axis)};
    out.packed = add(node, Gather{axis}, {operand(node.inputs[0]), places()});
    return out;
  }

  /// 0, 1, .. as far as there are tokens.
  std::optional<Fact> counted_up(const Node& node, const std::vector<Fact>& inputs) {
    const auto first = constant_ints(graph_, node, 0), step = constant_ints(graph_, node, 2);
    const bool by_tokens = inputs[1].on == Dependence::sizes && inputs[1].sizes == Ints{kTokenSize};
    if (!by_tokens || first != Ints{0} || step != Ints{1}) return std::nullopt;
    return Fact{.on = Dependence::place, .packed = places()};
  }

  /// Positions [tokens] as [1, tokens], and those as each text's.
  std::optional<Fact> placed(const Node& node, const std::vector<Fact>& inputs) {
    Fact out = inputs[0];
    if (std::holds_alternative<Unsqueeze>(node.op) && out.axis == 0 && constant_ints(graph_, node, 1) == Ints{0} &&
        shape(node.inputs[0]).size() == 1) {
      out.axis = 1;
      out.packed = reshaped(node, out.packed, {1, -1});
      return out;
    }
    const auto target = rewrite::target_sizes(graph_, node, inputs);
    if (!std::holds_alternative<Expand>(node.op) || target != Ints{kBatchSize, kTokenSize} || out.axis != 1)
      return std::nullopt;
    out.on = Dependence::tokens;
    return out;
  }

  std::optional<Fact> reshaped(const Node& node, const std::vector<Fact>& inputs) {
    const Dependence on = inputs[0].on;
    const std::size_t lead = lead_of(on);
    const auto target = rewrite::target_sizes(graph_, node, inputs);
    const auto from = rest_of(node.inputs[0], lead), to = rest_of(node.outputs[0], lead);
    if (!target || !from || !to || target->size() < lead || std::get<Reshape>(node.op).allow_zero) return std::nullopt;
    const auto product = [](const Ints& dims) {
      std::int64_t all = 1;
      for (const std::int64_t dim : dims) all *= dim;
      return all;
    };
    const std::int64_t first = (*target)[0], second = lead == 2 ? (*target)[1] : 0;
    const bool keeps = (first == 0 || first == kBatchSize) && (second == 0 || second == kTokenSize || second == -1);
    if (!keeps || product(*from) != product(*to)) return std::nullopt;
    Ints packed = lead == 2 ? Ints{1, -1} : Ints{-1};
    packed.insert(packed.end(), to->begin(), to->end());
    Fact out = inputs[0];
    out.packed = reshaped(node, inputs[0].packed, packed);
    return out;
  }

  std::optional<Fact> reduced(const Node& node, const std::vector<Fact>& inputs) {
    const Reduce& op = std::get<Reduce>(node.op);
    const auto given = constant_ints(graph_, node, 1);
    const auto rank = std::ssize(shape(node.inputs[0]));
    if (!given || given->empty()) return std::nullopt;
    Ints axes = *given;
    for (std::int64_t& axis : axes) axis = axis < 0 ? axis + rank : axis;
    const Fact& from = inputs[0];
    if (axes == Ints{1} && op.kind == ReduceKind::sum && from.on == Dependence::live && from.axis == 1 &&
        from.dead == 0)
      return counted(node, from.live, op.keepdims ? rank : rank - 1);
    if (axes == Ints{1} && op.kind == ReduceKind::sum && from.on == Dependence::tokens && from.zero_dead && rank == 3)
      return summed(node, op.keepdims);
    if (from.on != Dependence::tokens && from.on != Dependence::texts) return std::nullopt;
    const auto lead = static_cast<std::int64_t>(lead_of(from.on));
    if (std::any_of(axes.begin(), axes.end(), [&](std::int64_t axis) { return axis < lead; })) return std::nullopt;
    return Fact{.on = from.on, .packed = add(node, op, {operand(node.inputs[0]), operand(node.inputs[1])})};
  }

  std::optional<Fact> counted(const Node& node, double live, std::int64_t rank) {
    if (graph_.value(node.outputs[0]).type.dtype != DType::f32 || rank < 1) return std::nullopt;
    ValueId count = add_input(PackedRole::counts, "counts", DType::f32, {-1, 1});
    if (live != 1) {
      Tensor factor(DType::f32, {});
      factor.values<float>()[0] = static_cast<float>(live);
      count = add(node, Binary{BinaryKind::mul}, {count, packed_->add_constant(node.name, std::move(factor))});
    }
    Ints target(static_cast<std::size_t>(rank), 1);
    target[0] = -1;
    return Fact{.on = Dependence::texts, .packed = rank == 2 ? count : reshaped(node, count, target)};
  }

  /// Sums of the tokens of each text, in their order.
  std::optional<Fact> summed(const Node& node, bool keeps_axis) {
    const auto rest = rest_of(node.inputs[0], 2);
    if (!rest || graph_.value(node.outputs[0]).type.dtype != DType::f32) return std::nullopt;
    Tensor zeros(DType::f32, {rest->front()});
    std::fill(zeros.values<float>().begin(), zeros.values<float>().end(), 0.0f);
    const ValueId owners = add_input(PackedRole::owners, "owners", DType::i64, {-1, 1}),
                  texts = add_input(PackedRole::texts, "texts", DType::f32, {-1, 1});
    const ValueId none =
        add(node, Binary{BinaryKind::add}, {texts, packed_->add_constant(node.name, std::move(zeros))});
    const ValueId rows = reshaped(node, operand(node.inputs[0]), {-1, rest->front()});
    ValueId sums = add(node, ScatterNd{ScatterMode::add}, {none, owners, rows});
    if (keeps_axis) sums = reshaped(node, sums, {-1, 1, rest->front()});
    return Fact{.on = Dependence::texts, .packed = sums};
  }

  const Graph& graph_;
  std::vector<Fact> facts_;  ///< by value
  std::shared_ptr<Graph> packed_;
  Packing packing_;
  bool meets_ = false;  ///< tokens of a text meet
};

}  // namespace

Packing pack_tokens(const Graph& graph) {
  Packing none;
  none.reason = "no input is a mask";
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.value(graph.inputs[i]).name.find("mask") == std::string::npos) continue;
    Packing found;
    try {
      found = Packer(graph, i).run();
    } catch (const Error& error) {
      found.reason = error.what();
    }
    found.is_text = none.is_text = true;
    if (found.graph) return found;
    none.reason = std::move(found.reason);
  }
  return none;
}

}  // namespace colonnade
