// SPDX-License-Identifier: Apache-2.0
#include "passes/layouts.hpp"

#include "passes/match.hpp"
#include "passes/permutation.hpp"

namespace colonnade::rewrite {

const Ints* Layouts::of(ValueId id) const {
  if (id == kAbsent || at(id) >= component.size() || component[at(id)] < 0) return nullptr;
  const Ints& result = perm[at(component[at(id)])];
  return is_identity(result) ? nullptr : &result;
}

bool is_linked(const Editor& editor, const Node& reshape, const Layouts& layouts) {
  if (!std::holds_alternative<Reshape>(reshape.op)) return false;
  const Ints* from = layouts.of(reshape.inputs[0]);
  const Ints* to = layouts.of(reshape.outputs[0]);
  if (from == nullptr && to == nullptr) return true;
  if (!has_rank(editor, reshape.inputs[0]) || !has_rank(editor, reshape.outputs[0])) return false;
  const Shape& in = *editor.value(reshape.inputs[0]).type.shape;
  const Shape& out = *editor.value(reshape.outputs[0]).type.shape;
  const auto carried = through_reshape(in, out, from == nullptr ? identity_perm(in.size()) : *from);
  if (!carried) return false;
  const Ints wanted = to == nullptr ? identity_perm(out.size()) : *to;
  return keeps_order(permuted(out, *carried), compose(inverse(*carried), wanted));
}

}  // namespace colonnade::rewrite
