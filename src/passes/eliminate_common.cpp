// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstring>
#include <string_view>
#include <vector>

#include "passes/editor.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::rewrite {
namespace {

std::size_t mixed(std::size_t hash, std::size_t value) {
  return (hash ^ value) * std::size_t{0x9E3779B97F4A7C15} + (hash >> 29);
}

/// Items by hash. Made for each run of the pass, so it allocates twice and not an item.
class Buckets {
 public:
  explicit Buckets(std::size_t most) : first_(std::bit_ceil(2 * most + 1), -1) { items_.reserve(most); }

  void insert(std::size_t hash, int item) {
    int& first = first_[bucket_of(hash)];
    items_.push_back({hash, item, first});
    first = static_cast<int>(items_.size()) - 1;
  }
  /// The item of this hash that was inserted first, of those that are `same`; -1: there is none.
  template <class Same>
  int find(std::size_t hash, const Same& same) const {
    int found = -1;
    for (int index = first_[bucket_of(hash)]; index >= 0; index = items_[at(index)].next) {
      const Item& item = items_[at(index)];
      if (item.hash == hash && same(item.value)) found = item.value;
    }
    return found;
  }

 private:
  struct Item {
    std::size_t hash;
    int value, next;
  };
  std::size_t bucket_of(std::size_t hash) const { return (hash ^ (hash >> 32)) & (first_.size() - 1); }

  std::vector<int> first_;
  std::vector<Item> items_;
};

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
  const auto count = static_cast<ValueId>(editor.graph().values.size());
  Buckets by_identity(at(count)), by_content(at(count));
  for (ValueId id = 0; id < count; ++id) {
    if (!editor.is_constant(id) || editor.readers(id).empty() || editor.is_output(id)) continue;
    const Constant& constant = *editor.value(id).constant;
    const std::size_t address = mixed(0, std::hash<const Constant*>{}(&constant));
    const int same =
        by_identity.find(address, [&](int other) { return editor.value(other).constant.get() == &constant; });
    if (same >= 0) {
      editor.replace(id, same);
      continue;
    }
    by_identity.insert(address, id);
    // small ones are compared by content, large ones by identity
    if (constant.dtype() == DType::string || constant.byte_size() > Constant::kSmallBytes) continue;
    const auto tensor = constant.tensor();
    const std::size_t hash = hash_of(*tensor);
    const int twin =
        by_content.find(hash, [&](int other) { return equal(*editor.value(other).constant->tensor(), *tensor); });
    if (twin < 0)
      by_content.insert(hash, id);
    else
      editor.replace(id, twin);
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
  Buckets seen(at(editor.node_count()));
  for (int index = 0; index < editor.node_count(); ++index) {
    const Node& node = editor.node(index);
    const std::size_t hash = hash_of(node);
    const int twin = seen.find(hash, [&](int other) { return may_share(editor, editor.node(other), node); });
    if (twin < 0) {
      seen.insert(hash, index);
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
