// SPDX-License-Identifier: Apache-2.0
// Functions of one byte are tables.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "passes/bytes.hpp"
#include "passes/match.hpp"
#include "reference/reference.hpp"

namespace colonnade::rewrite {
namespace {

constexpr std::size_t kBytes = 256;
constexpr std::size_t kMostSteps = 16;

/// One number for each element alone.
bool is_function(const Node& node) {
  if (const auto* unary = std::get_if<Unary>(&node.op)) return unary->kind != UnaryKind::identity;
  return std::holds_alternative<Binary>(node.op) || std::holds_alternative<Quantize>(node.op) ||
         std::holds_alternative<Dequantize>(node.op) || std::holds_alternative<Lookup>(node.op) ||
         std::holds_alternative<ByteBinary>(node.op) || std::holds_alternative<Cast>(node.op);
}

/// Constants of one element, and tables.
bool is_parameter(const Editor& editor, const Node& node, std::size_t input) {
  const ValueId id = node.inputs[input];
  if (id == kAbsent) return true;
  if (!editor.is_constant(id)) return false;
  return (std::holds_alternative<Lookup>(node.op) && input == 1) || editor.value(id).constant->size() == 1;
}

/// The steps from one value of bytes to another, which computes each of its elements of one of the first.
struct ByteFunction {
  ValueId bytes = kAbsent;
  std::vector<int> steps;  ///< nodes, in the order in which they run
};

/// Places of nodes in the order in which they run: new ones run before those that read them, wherever they stand.
class Depths {
 public:
  explicit Depths(const Editor& editor) : editor_(editor) {}
  int of(ValueId id) {
    const int index = editor_.producer(id);
    if (index < 0) return 0;
    if (const auto known = depths_.find(id); known != depths_.end()) return known->second;
    depths_[id] = 0;
    int depth = 0;
    for (const ValueId input : editor_.node(index).inputs)
      if (input != kAbsent && (is_function(editor_.node(index)))) depth = std::max(depth, of(input));
    return depths_[id] = depth + 1;
  }

 private:
  const Editor& editor_;
  std::map<ValueId, int> depths_;
};

/// Walks back from the value, always from the latest of those that are open, until one of bytes is left that is no
/// Lookup itself.
std::optional<ByteFunction> function_to(const Editor& editor, ValueId to) {
  Depths depths(editor);
  ByteFunction function;
  std::set<ValueId> open{to};
  while (true) {
    const ValueId latest = *std::max_element(open.begin(), open.end(), [&](ValueId a, ValueId b) {
      return std::pair(depths.of(a), a) < std::pair(depths.of(b), b);
    });
    const bool is_bytes = size_of(editor.value(latest).type.dtype) == 1;
    if (open.size() == 1 && latest != to && is_bytes && editor.produced_by<Lookup>(latest) == nullptr) {
      function.bytes = latest;
      std::reverse(function.steps.begin(), function.steps.end());
      return function;
    }
    const int index = editor.producer(latest);
    if (index < 0 || !is_function(editor.node(index)) || function.steps.size() == kMostSteps) return std::nullopt;
    open.erase(latest);
    const Node& node = editor.node(index);
    function.steps.push_back(index);
    for (std::size_t input = 0; input < node.inputs.size(); ++input) {
      if (is_parameter(editor, node, input)) continue;
      const ValueId id = node.inputs[input];
      if (!has_rank(editor, id) || rank_of(editor, id) != rank_of(editor, to)) return std::nullopt;
      open.insert(id);
    }
    if (open.empty()) return std::nullopt;
  }
}

/// What the steps make of all bytes.
Tensor table_of(const Editor& editor, const ByteFunction& function, ValueId to) {
  std::map<ValueId, Tensor> values;
  Tensor& all = values[function.bytes] = Tensor(editor.value(function.bytes).type.dtype, {kBytes});
  auto* bytes = static_cast<std::uint8_t*>(all.data());
  std::iota(bytes, bytes + kBytes, std::uint8_t{0});
  std::vector<std::shared_ptr<const Tensor>> held;
  for (const int index : function.steps) {
    const Node& node = editor.node(index);
    std::vector<const Tensor*> inputs;
    for (std::size_t input = 0; input < node.inputs.size(); ++input) {
      const ValueId id = node.inputs[input];
      if (id == kAbsent || !is_parameter(editor, node, input)) {
        inputs.push_back(id == kAbsent ? nullptr : &values.at(id));
        continue;
      }
      const Constant& constant = *editor.value(id).constant;
      const bool is_table = std::holds_alternative<Lookup>(node.op);
      held.push_back(is_table ? constant.tensor() : std::make_shared<Tensor>(Tensor(*constant.tensor()).reshaped({})));
      inputs.push_back(held.back().get());
    }
    values[node.outputs[0]] = std::move(reference::evaluate(node, inputs)[0]);
  }
  return std::move(values.at(to));
}

bool keeps_bytes(const Tensor& table) {
  const auto* bytes = static_cast<const std::uint8_t*>(table.data());
  for (std::size_t i = 0; i < kBytes; ++i)
    if (bytes[i] != i) return false;
  return true;
}

}  // namespace

bool look_up(Editor& editor, int index) {
  const Node node = editor.node(index);
  const auto* lookup = std::get_if<Lookup>(&node.op);
  const bool merges = lookup != nullptr && editor.produced_by<Lookup>(node.inputs[0]) != nullptr;
  const bool combines = std::holds_alternative<Quantize>(node.op) || std::holds_alternative<ByteBinary>(node.op);
  const ValueId to = node.outputs[0];
  if (!(merges || combines) || !has_rank(editor, to) || size_of(editor.value(to).type.dtype) != 1) return false;
  const auto function = function_to(editor, to);
  if (!function) return false;
  Tensor table = table_of(editor, *function, to);
  if (table.dtype() == editor.value(function->bytes).type.dtype && keeps_bytes(table)) {
    editor.replace(to, function->bytes);
  } else {
    const ValueId constant = editor.add_constant("table", std::move(table));
    editor.replace(to, editor.add(Lookup{}, {function->bytes, constant}, node));
  }
  return true;
}

}  // namespace colonnade::rewrite
