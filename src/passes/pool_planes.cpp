// SPDX-License-Identifier: Apache-2.0
// A pooling between two Transposes, none of which the layouts around could take away: planes are images of one channel
// then, pooled where they lie.
#include <algorithm>

#include "passes/match.hpp"
#include "passes/pass_list.hpp"
#include "passes/permutation.hpp"

namespace colonnade::rewrite {
namespace {

/// A short row of pixels costs more than two Transposes of its channels, but where these are fewer than its pixels.
bool is_long(std::int64_t columns, std::int64_t channels) {
  constexpr std::int64_t kLong = 48, kFewest = 8;
  return columns >= kLong || (columns >= kFewest && columns >= channels);
}

/// From channels first to channels last.
Ints to_last(std::size_t rank) {
  Ints perm{0};
  for (std::size_t axis = 2; axis < rank; ++axis) perm.push_back(static_cast<std::int64_t>(axis));
  perm.push_back(1);
  return perm;
}

bool is_transpose(const Editor& editor, int index, const Ints& perm) {
  const auto* op = index < 0 ? nullptr : std::get_if<Transpose>(&editor.node(index).op);
  return op != nullptr && op->perm == perm;
}

/// [images, channels, ...] as planes of one channel. Images are volumes of one plane each.
Shape planes_of(const Shape& first) {
  Shape planes{first[0] * first[1]};
  if (first.size() == 4) planes.push_back(1);
  planes.insert(planes.end(), first.begin() + 2, first.end());
  planes.push_back(1);
  return planes;
}

Pool with_planes(Pool pool) {
  const std::size_t axes = pool.kernel.size();
  if (axes != 2) return pool;
  if (!pool.pads.empty()) pool.pads.insert(pool.pads.begin() + static_cast<std::ptrdiff_t>(axes), 0);
  if (!pool.pads.empty()) pool.pads.insert(pool.pads.begin(), 0);
  for (Ints* of_axes : {&pool.kernel, &pool.strides, &pool.dilations})
    if (!of_axes->empty()) of_axes->insert(of_axes->begin(), 1);
  return pool;
}

bool pool_where_they_lie(Editor& editor, int index) {
  if (!editor.is_one_of<Pool>(index)) return false;
  const Node node = editor.node(index);
  const auto* pool = std::get_if<Pool>(&node.op);
  if (pool->kind == PoolKind::lp || node.outputs.size() != 1 || editor.is_output(node.outputs[0])) return false;
  const ValueType &in = editor.value(node.inputs[0]).type, &out = editor.value(node.outputs[0]).type;
  if (!in.is_static() || !out.is_static() || in.dtype != DType::f32) return false;
  const Shape& shape = out.static_shape();
  const std::size_t rank = shape.size();
  if (rank < 3 || rank > 5 || shape.back() == 1 || !is_long(shape[rank - 2], shape.back())) return false;
  const int before = editor.producer(node.inputs[0]);
  if (!is_transpose(editor, before, to_last(rank)) || !editor.read_once(node.inputs[0])) return false;
  const std::vector<int> readers = editor.readers(node.outputs[0]);
  const Ints to_first = inverse(to_last(rank));
  const auto turns_back = [&](int reader) { return is_transpose(editor, reader, to_first); };
  if (readers.empty() || !std::ranges::all_of(readers, turns_back)) return false;

  const ValueId source = editor.node(before).inputs[0];
  const Shape from = *editor.value(source).type.shape;
  const std::optional<ValueId> planes = add_reshape(editor, source, planes_of(from), node);
  if (!planes) return false;
  const ValueId pooled = editor.add(with_planes(*pool), {*planes}, node);
  for (const int reader : readers) {
    const ValueId result = editor.node(reader).outputs[0];
    editor.replace(result, *add_reshape(editor, pooled, Shape(*editor.value(result).type.shape), node));
  }
  return true;
}

}  // namespace

bool pool_planes(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index)
    if (editor.alive(index)) pool_where_they_lie(editor, index);
  return editor.finish();
}

}  // namespace colonnade::rewrite
