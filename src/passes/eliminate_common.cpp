// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "passes/editor.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::rewrite {
namespace {

std::size_t mixed(std::size_t hash, std::size_t value) {
  return (hash ^ value) * std::size_t{0x9E3779B97F4A7C15} + (hash >> 29);
}

std::size_t hash_of(const Tensor& tensor) {
  std::size_t hash = static_cast<std::size_t>(tensor.dtype());
  for (const std::int64_t size : tensor.shape()) hash = mixed(hash, static_cast<std::size_t>(size));
  if (tensor.byte_size() == 0) return hash;
  const std::string_view bytes(static_cast<const char*>(tensor.data()), tensor.byte_size());
  return mixed(hash, std::hash<std::string_view>{}(bytes));
}

bool equal(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  return a.byte_size() == 0 || std::memcmp(a.data(), b.data(), a.byte_size()) == 0;
}

void share_constants(Editor& editor) {
  std::unordered_multimap<std::size_t, ValueId> seen;
  std::unordered_map<const Constant*, ValueId> same_constant;
  const auto count = static_cast<ValueId>(editor.graph().values.size());
  for (ValueId id = 0; id < count; ++id) {
    if (!editor.is_constant(id) || editor.readers(id).empty() || editor.is_output(id)) continue;
    const Constant& constant = *editor.value(id).constant;
    if (const auto [entry, fresh] = same_constant.emplace(&constant, id); !fresh) {
      editor.replace(id, entry->second);
      continue;
    }
    // small ones are compared by content, large ones by identity
    if (constant.dtype() == DType::string || constant.byte_size() > Constant::kSmallBytes) continue;
    const auto tensor = constant.tensor();
    const std::size_t hash = hash_of(*tensor);
    const auto [first, last] = seen.equal_range(hash);
    ValueId twin = kAbsent;
    for (auto entry = first; entry != last; ++entry) {
      if (equal(*editor.value(entry->second).constant->tensor(), *tensor)) twin = entry->second;
    }
    if (twin == kAbsent) {
      seen.emplace(hash, id);
    } else {
      editor.replace(id, twin);
    }
  }
}

std::size_t hash_of(const Node& node) {
  std::size_t hash = node.op.index();
  for (const ValueId id : node.inputs) hash = mixed(hash, static_cast<std::size_t>(id));
  return mixed(hash, node.outputs.size());
}

bool may_share(const Editor& editor, const Node& a, const Node& b) {
  if (a.inputs != b.inputs || a.outputs.size() != b.outputs.size() || !(a.op == b.op)) return false;
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    if (b.outputs[i] == kAbsent) continue;
    if (a.outputs[i] == kAbsent || editor.needs_identity(b.outputs[i], a.outputs[i])) return false;
  }
  return true;
}

void share_nodes(Editor& editor) {
  std::unordered_multimap<std::size_t, int> seen;
  for (int index = 0; index < editor.node_count(); ++index) {
    const Node& node = editor.node(index);
    const std::size_t hash = hash_of(node);
    const auto [first, last] = seen.equal_range(hash);
    int twin = -1;
    for (auto entry = first; entry != last && twin < 0; ++entry) {
      if (may_share(editor, editor.node(entry->second), node)) twin = entry->second;
    }
    if (twin < 0) {
      seen.emplace(hash, index);
      continue;
    }
    const std::vector<ValueId> outputs = node.outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] != kAbsent) editor.replace(outputs[i], editor.node(twin).outputs[i]);
    }
  }
}

}  // namespace

bool eliminate_common(Graph& graph) {
  Editor editor(graph);
  share_constants(editor);
  share_nodes(editor);
  return editor.finish();
}

}  // namespace colonnade::rewrite
