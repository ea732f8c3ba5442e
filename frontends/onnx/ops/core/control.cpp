// SPDX-License-Identifier: Apache-2.0
// If, Loop, Scan and SequenceMap: nested graphs become bodies.
#include <algorithm>

#include "frontends/onnx/lowering.hpp"
#include "graph/shape_rules.hpp"
#include "reference/known_tensor.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::onnx_import {
namespace {

using TypeList = std::vector<ValueType>;

Values with_captures(const Lowering& low, Values inputs) {
  inputs.insert(inputs.end(), low.captures().begin(), low.captures().end());
  return inputs;
}

Values emit_control(Lowering& low, Operator op, Values inputs, std::size_t outputs) {
  return low.emit_all(std::move(op), with_captures(low, std::move(inputs)), std::max(outputs, low.output_count()));
}

/// The branch that is always taken, where that is known now.
std::optional<std::string_view> taken_branch(const Lowering& low) {
  int budget = 64;
  std::shared_ptr<const Tensor> condition;
  try {
    condition = reference::known_tensor(low.graph(), low.input(0), budget);
  } catch (const Error&) {
    return std::nullopt;  // a run that reaches this arithmetic reports what is wrong with it
  }
  if (!condition || condition->dtype() != DType::boolean || condition->size() != 1) return std::nullopt;
  return condition->values<bool>().front() ? "then_branch" : "else_branch";
}

/// The other branch is often one for other ranks, which cannot even be imported.
Values lower_taken(Lowering& low, std::string_view name) {
  const auto branch = std::make_shared<const Graph>(low.body(name, {}));
  Tensor condition(DType::boolean, {});
  condition.values<bool>().front() = name == "then_branch";
  return emit_control(low, If{branch, branch}, {low.constant(std::move(condition))}, branch->outputs.size());
}

Values lower_if(Lowering& low) {
  const ValueId condition = low.input(0);
  if (const auto taken = taken_branch(low)) return lower_taken(low, *taken);
  const auto branch = [&](std::string_view name) { return std::make_shared<const Graph>(low.body(name, {})); };
  If op{branch("then_branch"), branch("else_branch")};
  const std::size_t outputs = op.then_branch->outputs.size();
  return emit_control(low, std::move(op), {condition}, outputs);
}

/// Where the states of a loop are among its body's inputs and outputs.
struct StatePlaces {
  std::size_t first_input = 0, first_output = 0, count = 0;
};

ValueType with_open_dims(ValueType type) {
  if (type.shape) std::fill(type.shape->begin(), type.shape->end(), kUnknownDim);
  return type;
}

/// What is true of a state before and after an iteration. An iteration that says nothing about the rank keeps it, but
/// that of a scalar: exports of Paddle make vectors of one element of them.
ValueType state_type(const Lowering& low, std::size_t state, const ValueType& before, const ValueType& after) {
  const auto common = common_type(before, after);
  if (!common) low.invalid("state {} is {}, then {}", state, to_text(before), to_text(after));
  const bool is_scalar = before.shape && before.shape->empty();
  const bool keeps_rank = !after.shape && !is_scalar && common->containers == before.containers;
  return keeps_rank ? with_open_dims(before) : *common;
}

/// States after `opened` attempts failed: dimensions that stay are known at first, then none, at last no ranks.
void open_states(OpenedStates& opened) {
  ++opened.times;
  for (ValueType& type : opened.types) {
    if (opened.times >= 2) type = with_open_dims(std::move(type));
    if (opened.times >= 3) type.shape.reset();
  }
}

/// The body of a loop, its states of types that hold in every iteration. Each node's states are opened a few times at
/// most, however often graphs around it are imported again: the work stays in proportion.
Body stateful_body(Lowering& low, TypeList inputs, const StatePlaces& places) {
  OpenedStates& opened = low.opened_states();
  for (std::size_t i = 0; opened.times > 0 && i < places.count; ++i) {
    ValueType& type = inputs[places.first_input + i];
    type = state_type(low, i, type, opened.types[i]);
    if (!opened.types[i].shape) type.shape.reset();
  }
  for (;;) {
    Graph body = low.body("body", inputs);
    if (body.outputs.size() < places.first_output + places.count) {
      low.invalid("attribute 'body': expected a graph of {} outputs or more, found {}",
                  places.first_output + places.count, body.outputs.size());
    }
    opened.types.clear();
    for (std::size_t i = 0; i < places.count; ++i) {
      const ValueType& after = body.value(body.outputs[places.first_output + i]).type;
      opened.types.push_back(state_type(low, i, inputs[places.first_input + i], after));
    }
    const auto states = inputs.begin() + static_cast<std::ptrdiff_t>(places.first_input);
    if (std::equal(opened.types.begin(), opened.types.end(), states)) {
      return std::make_shared<const Graph>(std::move(body));
    }
    open_states(opened);
    std::copy(opened.types.begin(), opened.types.end(), states);
  }
}

/// A state's type before the first iteration; a rank that is not known is the one that the body declares.
ValueType initial_type(const Lowering& low, ValueId id, const OnnxGraph& body, std::size_t input) {
  ValueType type = low.type(id);
  if (type.shape || !type.is_tensor()) return type;
  type.shape = declared_shape(body, input);
  return with_open_dims(std::move(type));
}

/// Iteration number or condition: a scalar, or a vector of one where the body says so.
ValueType single_type(DType dtype, const OnnxGraph& body, std::size_t input) {
  const auto declared = declared_shape(body, input);
  return {dtype, declared && declared->size() == 1 ? Shape{1} : Shape{}};
}

Values lower_loop(Lowering& low) {
  const OnnxGraph& source = low.required_graph("body");
  const std::size_t states = std::max<std::size_t>(low.input_count(), 2) - 2;
  Values inputs = {low.optional_input(0), low.optional_input(1)};
  TypeList types = {single_type(DType::i64, source, 0), single_type(DType::boolean, source, 1)};
  for (std::size_t i = 0; i < states; ++i) {
    inputs.push_back(low.input(i + 2));
    types.push_back(initial_type(low, inputs.back(), source, i + 2));
  }
  Loop op{stateful_body(low, std::move(types), {2, 1, states}), static_cast<std::int64_t>(states)};
  const std::size_t outputs = op.body->outputs.size() - 1;
  return emit_control(low, std::move(op), std::move(inputs), outputs);
}

/// The type of a slice along an axis.
ValueType slice_type(const Lowering& low, ValueType type, std::int64_t axis) {
  if (!type.shape) return type;
  axis = checked_axis(low, axis, static_cast<std::int64_t>(type.shape->size()));
  type.shape->erase(type.shape->begin() + axis);
  return type;
}

/// Axes or directions: none, or one a tensor.
Ints per_tensor(const Lowering& low, std::string_view name, std::size_t count) {
  Ints values = find_ints(low.node(), name).value_or(Ints{});
  if (!values.empty() && values.size() != count) {
    low.invalid("attribute '{}': expected {} values, found {}", name, count, values.size());
  }
  return values;
}

Ints directions(const Lowering& low, std::string_view name, std::size_t count) {
  Ints values = per_tensor(low, name, count);
  for (const std::int64_t value : values) {
    if (value != 0 && value != 1) low.invalid("attribute '{}': expected 0 or 1, found {}", name, value);
  }
  return values;
}

/// How many of the node's inputs from `first` on are states, and how many are walked along.
Scan scan_of(const Lowering& low, std::size_t first) {
  Scan op;
  op.scans = low.required_int("num_scan_inputs");
  op.states = static_cast<std::int64_t>(low.input_count()) - static_cast<std::int64_t>(first) - op.scans;
  if (op.scans < 1 || op.scans > static_cast<std::int64_t>(low.input_count()) || op.states < 0) {
    low.invalid("attribute 'num_scan_inputs': {} do not fit {} inputs", op.scans, low.input_count());
  }
  return op;
}

/// Emits the Scan along the axes of `op`; the inputs are states, then tensors.
Values emit_scan(Lowering& low, Scan op, Values inputs) {
  const OnnxGraph& source = low.required_graph("body");
  const auto states = static_cast<std::size_t>(op.states);
  TypeList types;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (i < states) {
      types.push_back(initial_type(low, inputs[i], source, i));
    } else {
      const std::int64_t axis = op.input_axes.empty() ? 0 : op.input_axes[i - states];
      types.push_back(slice_type(low, low.type(inputs[i]), axis));
    }
  }
  op.body = stateful_body(low, std::move(types), {0, 0, states});
  const std::size_t outputs = op.body->outputs.size();
  op.output_axes = per_tensor(low, "scan_output_axes", outputs - states);
  op.output_reversed = directions(low, "scan_output_directions", outputs - states);
  return low.emit_all(std::move(op), with_captures(low, std::move(inputs)), outputs);
}

Values lower_scan(Lowering& low) {
  Scan op = scan_of(low, 0);
  const auto scans = static_cast<std::size_t>(op.scans);
  op.input_axes = per_tensor(low, "scan_input_axes", scans);
  op.input_reversed = directions(low, "scan_input_directions", scans);
  Values inputs;
  for (std::size_t i = 0; i < low.input_count(); ++i) inputs.push_back(low.input(i));
  return emit_scan(low, std::move(op), std::move(inputs));
}

/// The first `length` [1] slices of each tensor.
void cut_to(Lowering& low, Values& tensors, std::size_t first, ValueId length) {
  const ValueId zero = ints(low, {0});
  for (std::size_t i = first; i < tensors.size(); ++i) tensors[i] = low.emit(Slice{}, {tensors[i], zero, length, zero});
}

/// Zeros put to the tensors behind `length` [1] slices, up to `whole` [1].
void pad_to(Lowering& low, Values& tensors, std::size_t first, ValueId length, ValueId whole) {
  const ValueId zero = ints(low, {0});
  const ValueId missing = binary(low, BinaryKind::sub, whole, length);
  const ValueId pads = low.emit(Concat{0}, {zero, missing});
  for (std::size_t i = first; i < tensors.size(); ++i) tensors[i] = low.emit(Pad{}, {tensors[i], pads, kAbsent, zero});
}

/// One entry of a batch: inputs are its number of slices, where lengths are given, states, then tensors.
Values lower_scan_entry(Lowering& low, Scan op, bool has_lengths) {
  Values inputs = low.inputs();
  if (!has_lengths) return emit_scan(low, std::move(op), std::move(inputs));
  const auto states = static_cast<std::size_t>(op.states);
  const ValueId given = unsqueeze(low, cast(low, inputs.front(), DType::i64), {0});
  inputs.erase(inputs.begin());
  const ValueId whole = low.emit(ShapeOf{0, 1}, {inputs[states]});
  const ValueId length = binary(low, BinaryKind::max, binary(low, BinaryKind::min, given, whole), ints(low, {0}));
  cut_to(low, inputs, states, length);
  Values outputs = emit_scan(low, std::move(op), std::move(inputs));
  pad_to(low, outputs, states, length, whole);
  return outputs;
}

/// Scan of opset 8 has a batch axis first and a length for each entry: a Scan over the entries, of a Scan.
Values lower_scan_8(Lowering& low) {
  Scan op = scan_of(low, 1);
  op.input_reversed = directions(low, "directions", static_cast<std::size_t>(op.scans));
  const bool has_lengths = low.optional_input(0) != kAbsent;
  Values inputs;
  if (has_lengths) inputs.push_back(low.input(0));
  for (std::size_t i = 1; i < low.input_count(); ++i) inputs.push_back(low.input(i));

  Graph entry;
  entry.name = low.node().name + "/entry";
  Names names;
  const auto add_input = [&](ValueType type) {
    entry.inputs.push_back(push_value(entry, names.fresh("entry"), std::move(type)));
    return entry.inputs.back();
  };
  Values slices, captures;
  for (const ValueId id : inputs) slices.push_back(add_input(slice_type(low, low.type(id), 0)));
  for (const ValueId id : low.captures()) captures.push_back(add_input(low.type(id)));
  Target target = low.target(entry, names);
  Lowering within = low.within(target, std::move(slices), std::move(captures));
  entry.outputs = lower_scan_entry(within, std::move(op), has_lengths);

  Scan over_entries;
  over_entries.scans = static_cast<std::int64_t>(inputs.size());
  const std::size_t outputs = entry.outputs.size();
  over_entries.body = std::make_shared<const Graph>(std::move(entry));
  return emit_control(low, std::move(over_entries), std::move(inputs), outputs);
}

bool is_sequence(const ValueType& type) { return !type.is_tensor() && type.containers.front() == Container::sequence; }

/// What the body of a SequenceMap is given of one of the node's inputs: an element of a sequence, or a tensor itself.
TypeList map_inputs(const Lowering& low) {
  const OnnxGraph& source = low.required_graph("body");
  TypeList types;
  for (std::size_t i = 0; i < low.input_count(); ++i) {
    ValueType type = low.type(low.input(i));
    if (i == 0 && !is_sequence(type)) low.invalid("input 0 must be a sequence, is {}", to_text(type));
    if (is_sequence(type)) type.containers.erase(type.containers.begin());
    if (!type.shape && type.is_tensor()) type = with_open_dims({type.dtype, declared_shape(source, i)});
    types.push_back(std::move(type));
  }
  return types;
}

/// Makes the graph of one application the body of a loop: elements are taken from the sequences at the iteration's
/// number, results are put to sequences that are states. `sequences`: the types of the inputs that are some.
Graph map_step(const Lowering& low, Graph step, const std::vector<std::optional<ValueType>>& sequences) {
  Names names;
  for (const Value& value : step.values) names.reserve(value.name);
  Target target = low.target(step, names);
  Lowering within = low.within(target, {}, {});
  const auto add_value = [&](std::string_view name, ValueType type) {
    return push_value(step, names.fresh(std::string(name)), std::move(type));
  };
  Values inputs = {add_value("number", {DType::i64, Shape{}}), add_value("condition", {DType::boolean, Shape{}})};
  Values results = {unary(within, UnaryKind::identity, inputs[1])};
  for (const ValueId result : step.outputs) {
    ValueType type = step.value(result).type;
    inputs.push_back(add_value("mapped", {type.dtype, {}, {Container::sequence}}));
    results.push_back(within.emit(Opaque{&reference::kSequenceInsert, kNewestOpset, {}}, {inputs.back(), result}));
  }
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    const ValueId element = step.inputs[i];
    inputs.push_back(element);
    if (i >= sequences.size() || !sequences[i]) continue;
    inputs.back() = add_value("sequence", *sequences[i]);
    within.emit(Opaque{&reference::kSequenceAt, kNewestOpset, {}}, {inputs.back(), inputs.front()});
    step.nodes.back().outputs = {element};
    std::rotate(step.nodes.begin(), step.nodes.end() - 1, step.nodes.end());
  }
  step.inputs = std::move(inputs);
  step.outputs = std::move(results);
  remove_dead(step);
  return step;
}

Opaque empty_sequence(DType dtype) {
  return {&reference::kSequenceEmpty, kNewestOpset, {{"dtype", static_cast<std::int64_t>(dtype)}}};
}

Values lower_sequence_map(Lowering& low) {
  Graph application = low.body("body", map_inputs(low));
  Values inputs = {low.emit(Opaque{&reference::kSequenceLength, kNewestOpset, {}}, {low.input(0)}), kAbsent};
  for (const ValueId result : application.outputs) {
    inputs.push_back(low.emit(empty_sequence(application.value(result).type.dtype), {}));
  }
  std::vector<std::optional<ValueType>> sequences;
  for (const ValueId id : low.inputs()) {
    inputs.push_back(id);
    sequences.push_back(is_sequence(low.type(id)) ? std::optional(low.type(id)) : std::nullopt);
  }
  const std::size_t outputs = application.outputs.size();
  Loop op{std::make_shared<const Graph>(map_step(low, std::move(application), sequences)),
          static_cast<std::int64_t>(outputs)};
  return emit_control(low, std::move(op), std::move(inputs), outputs);
}

constexpr Row kControlRows[] = {
    {kOnnxDomain, "If", 1, kNoLimit, 1, 1, kNoLimit, lower_if},
    {kOnnxDomain, "Loop", 1, kNoLimit, 0, kNoLimit, kNoLimit, lower_loop},
    {kOnnxDomain, "Scan", 8, 8, 2, kNoLimit, kNoLimit, lower_scan_8},
    {kOnnxDomain, "Scan", 9, kNoLimit, 1, kNoLimit, kNoLimit, lower_scan},
    {kOnnxDomain, "SequenceMap", 17, kNoLimit, 1, kNoLimit, kNoLimit, lower_sequence_map},
};

}  // namespace

std::span<const Row> control_rows() { return kControlRows; }

}  // namespace colonnade::onnx_import
