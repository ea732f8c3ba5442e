// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "passes/bytes.hpp"
#include "passes/known_ints.hpp"
#include "passes/pass_list.hpp"
#include "passes/permutation.hpp"
#include "reference/reference.hpp"

namespace colonnade::rewrite {
namespace {

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
constexpr std::int64_t kMaxResultBytes = 1024 * kMebibyte;
constexpr std::int64_t kFreeResultBytes = kMebibyte, kFreeElementBytes = 16 * kMebibyte;
constexpr std::int64_t kMaxGrowth = 16;
constexpr int kMaxConstantChain = 8;
constexpr std::size_t kLongestName = 1024;  ///< of how a constant is made
/// Multiplications that a new size may wait for: about a millisecond of the reference's products, and as long for
/// Einsum, which it computes an element at a time.
constexpr double kMaxProducts = 1 << 21, kMaxEinsum = 1 << 14;

bool all_inputs_constant(const Editor& editor, const Node& node) {
  const auto constant = [&](ValueId id) { return id == kAbsent || editor.is_constant(id); };
  return std::all_of(node.inputs.begin(), node.inputs.end(), constant);
}

/// Gives the same tensors every time, in a time that its inputs bound. Weights of bytes stay until compute_in_bytes has
/// seen them.
bool is_pure(const Operator& op) {
  if (std::holds_alternative<Dequantize>(op)) return false;
  const auto* opaque = std::get_if<Opaque>(&op);
  return bodies_of(op).empty() && (opaque == nullptr || !opaque->definition->random);
}

bool takes_weights(const Operator& op) {
  return std::holds_alternative<Conv>(op) || std::holds_alternative<ConvTranspose>(op) ||
         std::holds_alternative<MatMul>(op) || std::holds_alternative<Recurrent>(op) ||
         std::holds_alternative<BatchNorm>(op);
}

/// By value, whether it is computed of constants alone.
std::vector<bool> known_values(const Editor& editor) {
  std::vector<bool> known(editor.graph().values.size());
  for (std::size_t id = 0; id < known.size(); ++id) known[id] = editor.is_constant(static_cast<ValueId>(id));
  for (int index = 0; index < editor.node_count(); ++index) {
    if (!editor.alive(index) || !is_pure(editor.node(index).op)) continue;
    const Node& node = editor.node(index);
    const bool all = std::ranges::all_of(
        node.inputs, [&](ValueId id) { return id == kAbsent || known[static_cast<std::size_t>(id)]; });
    for (const ValueId id : node.outputs)
      if (all && id != kAbsent) known[static_cast<std::size_t>(id)] = true;
  }
  return known;
}

/// By value, whether it is known and ends as weights, maybe through further nodes that fold.
std::vector<bool> values_for_weights(const Editor& editor) {
  const std::vector<bool> known = known_values(editor);
  std::vector<bool> feeds(known.size());
  for (int index = editor.node_count() - 1; index >= 0; --index) {
    if (!editor.alive(index)) continue;
    const Node& node = editor.node(index);
    const auto is_in = [](const std::vector<bool>& values, ValueId id) {
      return id != kAbsent && values[static_cast<std::size_t>(id)];
    };
    const bool passes_on = std::ranges::any_of(node.outputs, [&](ValueId id) { return is_in(feeds, id); });
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (is_in(known, node.inputs[i]) && (takes_weights(node.op) ? i > 0 : passes_on))
        feeds[static_cast<std::size_t>(node.inputs[i])] = true;
  }
  return feeds;
}

/// Those values, found when one asks.
class Weights {
 public:
  explicit Weights(const Editor& editor) : editor_(editor) {}
  bool contain(ValueId id) {
    if (values_.empty()) values_ = values_for_weights(editor_);
    return static_cast<std::size_t>(id) < values_.size() && values_[static_cast<std::size_t>(id)];
  }

 private:
  const Editor& editor_;
  std::vector<bool> values_;
};

std::int64_t input_bytes(const Editor& editor, const Node& node) {
  std::int64_t bytes = 0;
  for (const ValueId id : node.inputs) {
    if (id != kAbsent) bytes += static_cast<std::int64_t>(editor.value(id).constant->byte_size());
  }
  return bytes;
}

/// About the multiplications of a product of two operands: of [m, k] by [k, n] the root of mk * kn * mn.
double multiplications(const Editor& editor, const Node& node) {
  double sizes = static_cast<double>(element_count(*editor.value(node.outputs[0]).type.shape));
  for (std::size_t i = 0; i < 2 && i < node.inputs.size(); ++i)
    if (node.inputs[i] != kAbsent) sizes *= static_cast<double>(editor.value(node.inputs[i]).constant->size());
  return std::sqrt(sizes);
}

/// A large matrix that is turned for products alone: static_forms lets them read it as it lies.
bool is_turned_for_products(const Editor& editor, const Node& node) {
  const auto* op = std::get_if<Transpose>(&node.op);
  if (op == nullptr) return false;
  const Constant& matrix = *editor.value(node.inputs[0]).constant;
  if (matrix.dtype() != DType::f32 || matrix.byte_size() <= Constant::kSmallBytes) return false;
  if (perm_of(*op, matrix.shape().size()) != Ints{1, 0} || editor.is_output(node.outputs[0])) return false;
  return std::ranges::all_of(editor.readers(node.outputs[0]), [&](int reader) {
    const auto* product = std::get_if<MatMul>(&editor.node(reader).op);
    const auto& inputs = editor.node(reader).inputs;
    return product != nullptr && !product->heads_inside_b && inputs[1] == node.outputs[0] &&
           std::ranges::count(inputs, node.outputs[0]) == 1;
  });
}

/// Not an Einsum that expand_einsum makes products of. Nor a large product of what is known of one size: each run
/// computes it by kernels, so that a new size need not wait for it. What all sizes share is folded before any is known.
bool worth_evaluating(const Editor& editor, const Node& node) {
  if (node.outputs[0] == kAbsent) return true;
  if (is_turned_for_products(editor, node)) return false;
  const DType dtype = editor.value(node.outputs[0]).type.dtype;
  if (std::holds_alternative<Einsum>(node.op) && (dtype == DType::f32 || dtype == DType::f64))
    return multiplications(editor, node) <= kMaxEinsum;
  if (!editor.graph().has_other_sizes || !takes_weights(node.op)) return true;
  return multiplications(editor, node) <= kMaxProducts;
}

/// What a result may always take: much where no product is evaluated, and all runs use it.
std::int64_t free_bytes(const Editor& editor, const Node& node) {
  return takes_weights(node.op) || editor.graph().has_other_sizes ? kFreeResultBytes : kFreeElementBytes;
}

/// The results are of known size and not too large for what they save.
bool worth_storing(const Editor& editor, const Node& node, Weights& weights) {
  std::int64_t bytes = 0;
  for (const ValueId id : node.outputs) {
    if (id == kAbsent) continue;
    const Value& value = editor.value(id);
    if (!value.type.is_tensor()) return false;
    if (!value.type.is_static()) return std::holds_alternative<NonZero>(node.op);
    const double exact = static_cast<double>(size_of(value.type.dtype)) * [&] {
      double count = 1;
      for (const std::int64_t size : *value.type.shape) count *= static_cast<double>(size);
      return count;
    }();
    if (exact > static_cast<double>(kMaxResultBytes)) return false;
    bytes += static_cast<std::int64_t>(exact);
  }
  if (!worth_evaluating(editor, node)) return false;
  if (bytes <= free_bytes(editor, node) || bytes <= kMaxGrowth * input_bytes(editor, node)) return true;
  return std::ranges::any_of(node.outputs, [&](ValueId id) { return id != kAbsent && weights.contain(id); });
}

/// The first of the rows of the outermost axis that a Slice takes, if they are rows one after another.
std::optional<std::int64_t> first_sliced_row(const Editor& editor, const Node& node) {
  const Graph& graph = editor.graph();
  const auto starts = constant_ints(graph, node, 1), axes = constant_ints(graph, node, 3);
  const auto steps = constant_ints(graph, node, 4);
  const Shape& shape = editor.value(node.inputs[0]).constant->shape();
  const bool is_first_axis = node.input(3) == kAbsent || (axes && axes->size() == 1 && axes->front() == 0);
  const bool has_step = node.input(4) != kAbsent && (!steps || steps->size() != 1 || steps->front() != 1);
  if (!starts || starts->size() != 1 || !is_first_axis || has_step) return std::nullopt;
  const std::int64_t start = starts->front() < 0 ? starts->front() + shape[0] : starts->front();
  return std::clamp<std::int64_t>(start, 0, shape[0]);
}

std::optional<std::int64_t> first_gathered_row(const Editor& editor, const Node& node, const Gather& op) {
  const auto indices = constant_ints(editor.graph(), node, 1);
  const std::int64_t rows = editor.value(node.inputs[0]).constant->shape()[0];
  if (op.axis != 0 || !indices || indices->empty()) return std::nullopt;
  for (std::size_t i = 1; i < indices->size(); ++i)
    if ((*indices)[i] != (*indices)[i - 1] + 1) return std::nullopt;
  if (indices->front() < 0 || indices->back() >= rows) return std::nullopt;
  return indices->front();
}

/// Rows that a node takes of a table, one after another, stay in the table's memory: plans for many shapes share it.
bool share_rows(Editor& editor, int index) {
  const Node& node = editor.node(index);
  const auto* gather = std::get_if<Gather>(&node.op);
  if (gather == nullptr && !std::holds_alternative<Slice>(node.op)) return false;
  const auto whole = editor.value(node.inputs[0]).constant;
  const ValueType& type = editor.value(node.outputs[0]).type;
  if (whole->dtype() == DType::string || whole->shape().empty() || whole->size() == 0 || !type.is_static())
    return false;
  const auto first = gather != nullptr ? first_gathered_row(editor, node, *gather) : first_sliced_row(editor, node);
  if (!first) return false;
  editor.set_constant(node.outputs[0], part_of(whole, *first * (whole->size() / whole->shape()[0]), *type.shape));
  return true;
}

template <class... Ops>
bool is_one_of(const Operator& op) {
  return (std::holds_alternative<Ops>(op) || ...);
}

Tensor element_of(const Constant& uniform, Shape shape) {
  Tensor element(uniform.dtype(), std::move(shape));
  uniform.read(0, {static_cast<std::byte*>(element.data()), element.byte_size()});
  return element;
}

/// The element that a value repeats in all places; nothing where that is not seen at once.
std::optional<Tensor> repeated_element(const Editor& editor, ValueId id, int chain = 0) {
  if (id == kAbsent || chain == kMaxConstantChain || editor.value(id).type.dtype == DType::string) return std::nullopt;
  if (editor.is_constant(id)) {
    const Constant& constant = *editor.value(id).constant;
    return constant.is_uniform() || constant.size() == 1 ? std::optional(element_of(constant, {1})) : std::nullopt;
  }
  if (editor.producer(id) < 0) return std::nullopt;
  const Node& node = editor.node(editor.producer(id));
  if (std::holds_alternative<Fill>(node.op)) return repeated_element(editor, node.inputs[1], chain + 1);
  if (is_one_of<Transpose, Reshape, Squeeze, Unsqueeze, Flatten, Slice, Expand, Tile>(node.op))
    return repeated_element(editor, node.inputs[0], chain + 1);
  if (!is_one_of<Unary, Cast>(node.op) || node.inputs.size() != 1) return std::nullopt;
  const auto element = repeated_element(editor, node.inputs[0], chain + 1);
  if (!element) return std::nullopt;
  try {
    return std::move(reference::evaluate(node, std::vector<const Tensor*>{&*element}).at(0));
  } catch (const Error&) {
    return std::nullopt;  // a run that reaches this node reports what is wrong with it
  }
}

/// Uniform constants: nothing is computed for each element.
bool fold_uniform(Editor& editor, int index) {
  const Node& node = editor.node(index);
  if (node.outputs.size() != 1 || node.outputs[0] == kAbsent) return false;
  const ValueType& type = editor.value(node.outputs[0]).type;
  if (!type.is_static() || element_count(*type.shape) <= 1) return false;
  const auto element = repeated_element(editor, node.outputs[0]);
  if (element) editor.set_constant(node.outputs[0], filled(*element, *type.shape));
  return element.has_value();
}

/// A uniform operand that the other one covers is a scalar: what has no effect is then seen.
void narrow_uniform(Editor& editor, int index) {
  if (!editor.is_one_of<Binary>(index)) return;
  for (const std::size_t side : {0, 1}) {
    const Node& node = editor.node(index);
    const ValueType& type = editor.value(node.inputs[side]).type;
    const ValueType& output = editor.value(node.outputs[0]).type;
    if (!output.is_static() || editor.value(node.inputs[1 - side]).type.shape != output.shape) continue;
    if (!type.is_static() || element_count(*type.shape) <= 1) continue;
    const auto element = repeated_element(editor, node.inputs[side]);
    if (!element) continue;
    std::vector<ValueId> inputs = node.inputs;
    inputs[side] = editor.add_constant(editor.value(inputs[side]).name, Tensor(*element).reshaped({}));
    editor.set_inputs(index, std::move(inputs));
  }
}

std::vector<Tensor> evaluated(const Editor& editor, const Node& node) {
  std::vector<std::shared_ptr<const Tensor>> held;
  for (const ValueId id : node.inputs) held.push_back(id == kAbsent ? nullptr : editor.value(id).constant->tensor());
  std::vector<const Tensor*> inputs;
  for (const auto& tensor : held) inputs.push_back(tensor.get());
  return reference::evaluate(node, inputs);
}

/// Small constants by their elements, others by name.
std::string named(const Constant& constant) {
  if (constant.byte_size() > Constant::kSmallBytes || constant.dtype() == DType::string)
    return fmt::format("|{}", constant.serial());
  const auto tensor = constant.tensor();
  std::string name = fmt::format("|{}[{}]", name_of(tensor->dtype()), fmt::join(tensor->shape(), " "));
  return tensor->byte_size() == 0 ? name : name.append(static_cast<const char*>(tensor->data()), tensor->byte_size());
}

/// Operators whose attributes as text are all that there is to them.
bool is_named_by_attributes(const Node& node) {
  if (std::holds_alternative<ByteScale>(node.op)) return true;
  return node.outputs.size() == 1 &&
         (takes_elements(node) || is_one_of<Unary, Binary, Cast, Select, Reduce, Quantize, MatMul, Concat>(node.op));
}

/// What a node makes of a large constant as its `output`: in the same memory where it only changes the shape, else,
/// where the network has other shapes, once for all that ask for it. Null of other nodes.
std::shared_ptr<const Constant> made_once(const Editor& editor, const Node& node, std::size_t output) {
  std::shared_ptr<const Constant> largest;
  for (const ValueId id : node.inputs)
    if (id != kAbsent && (!largest || editor.value(id).constant->byte_size() > largest->byte_size()))
      largest = editor.value(id).constant;
  if (!largest || largest->byte_size() <= Constant::kSmallBytes || !is_named_by_attributes(node)) return nullptr;
  const ValueType& type = editor.value(node.outputs[0]).type;
  const bool keeps_order = is_one_of<Reshape, Squeeze, Unsqueeze, Flatten, Expand>(node.op);
  if (keeps_order && largest->dtype() != DType::string && type.is_static() &&
      element_count(*type.shape) == largest->size())
    return *type.shape == largest->shape() ? largest : reshaped(largest, *type.shape);
  if (!editor.graph().has_other_sizes) return nullptr;
  std::string how = fmt::format("{} {} {}", name_of(node.op), attributes_of(node.op), output);
  for (const ValueId id : node.inputs) how += id == kAbsent ? "|" : named(*editor.value(id).constant);
  if (how.size() > kLongestName) return nullptr;
  return derived(largest, how,
                 [&] { return std::make_shared<const Constant>(std::move(evaluated(editor, node).at(output))); });
}

/// The same of all outputs, of which none is null then.
std::vector<std::shared_ptr<const Constant>> all_made_once(const Editor& editor, const Node& node) {
  std::vector<std::shared_ptr<const Constant>> made;
  for (std::size_t output = 0; output < node.outputs.size(); ++output) {
    made.push_back(node.outputs[output] == kAbsent ? nullptr : made_once(editor, node, output));
    if (made.back() == nullptr) return {};
  }
  return made;
}

void fold(Editor& editor, int index) {
  const std::vector<ValueId> outputs = editor.node(index).outputs;
  std::vector<Tensor> results;
  try {
    auto made = all_made_once(editor, editor.node(index));
    for (std::size_t i = 0; i < made.size(); ++i) editor.set_constant(outputs[i], std::move(made[i]));
    if (!made.empty()) return;
    results = evaluated(editor, editor.node(index));
  } catch (const Error&) {
    return;  // a run that reaches this node reports what is wrong with it
  }
  for (std::size_t i = 0; i < outputs.size() && i < results.size(); ++i) {
    if (outputs[i] != kAbsent) editor.set_constant(outputs[i], std::move(results[i]));
  }
}

/// Takes over what is newly known about the outputs' shapes.
void refine_types(Editor& editor, int index) {
  const auto& known = editor.node(index).outputs;
  if (std::all_of(known.begin(), known.end(),
                  [&](ValueId id) { return id == kAbsent || editor.value(id).type.is_static(); }))
    return;
  const std::vector<ValueType> types = infer_types(editor.graph(), editor.node(index));
  const std::vector<ValueId> outputs = editor.node(index).outputs;
  for (std::size_t i = 0; i < outputs.size() && i < types.size(); ++i) {
    if (outputs[i] == kAbsent || !types[i].shape || types[i] == editor.value(outputs[i]).type) continue;
    if (!editor.value(outputs[i]).type.is_static()) editor.set_type(outputs[i], types[i]);
  }
}

bool is_output_identity(const Editor& editor, const Node& node) {
  const auto* unary = std::get_if<Unary>(&node.op);
  return unary != nullptr && unary->kind == UnaryKind::identity && editor.is_output(node.outputs[0]);
}

void fold_known_ints(Editor& editor, int index) {
  const Node& node = editor.node(index);
  if (node.outputs.size() != 1 || node.outputs[0] == kAbsent) return;
  const ValueId output = node.outputs[0];
  const ValueType& type = editor.value(output).type;
  if (!type.is_static() || type.shape->size() > 1) return;
  if (type.dtype != DType::i64 && type.dtype != DType::i32) return;
  const auto ints = known_ints(editor, output);
  if (!ints || std::any_of(ints->begin(), ints->end(), [](const auto& v) { return !v.has_value(); })) return;
  Tensor tensor(type.dtype, *type.shape);
  if (static_cast<std::size_t>(tensor.size()) != ints->size()) return;
  for (std::size_t i = 0; i < ints->size(); ++i) {
    if (type.dtype == DType::i64) tensor.values<std::int64_t>()[i] = *(*ints)[i];
    if (type.dtype == DType::i32) tensor.values<std::int32_t>()[i] = static_cast<std::int32_t>(*(*ints)[i]);
  }
  editor.set_constant(output, std::move(tensor));
}

}  // namespace

bool fold_constants(Graph& graph) {
  Editor editor(graph);
  Weights weights(editor);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index) {
    if (!editor.alive(index) || is_output_identity(editor, editor.node(index))) continue;
    refine_types(editor, index);
    if (all_inputs_constant(editor, editor.node(index))) {
      if (share_rows(editor, index)) continue;
      if (!is_pure(editor.node(index).op) || !worth_storing(editor, editor.node(index), weights)) continue;
      if (!fold_uniform(editor, index)) fold(editor, index);
    } else {
      narrow_uniform(editor, index);
      fold_known_ints(editor, index);
    }
  }
  return editor.finish();
}

}  // namespace colonnade::rewrite
