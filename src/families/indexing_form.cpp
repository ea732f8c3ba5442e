// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"
#include "families/indexing.hpp"
#include "reference/indexing.hpp"

namespace colonnade::indexing {
namespace {

/// Fewer steps are no good to share where another loop has more.
constexpr std::int64_t kEnoughToShare = 16;

/// Bytes that follow each other, of which threads may write parts without touching the same lines all the time.
constexpr std::int64_t kRunsApart = 16384;

/// Joins a loop with the one around it where both tensors walk them evenly.
void append(std::vector<AxisLoop>& loops, const AxisLoop& loop) {
  AxisLoop* around = loops.empty() || loops.back().is_axis || loop.is_axis ? nullptr : &loops.back();
  if (around != nullptr && around->extent == 1 && around->count == 1) {
    *around = loop;
  } else if (around != nullptr && loop.count == loop.extent) {
    *around = {around->count * loop.count, around->extent * loop.extent, loop.stride};
  } else {
    loops.push_back(loop);
  }
}

/// Takes the first loop that has enough steps, else the longest one, else the last one as a whole. Scatters share none
/// whose steps land where another's do, nor write parts of short runs.
void share(ElementForm& form, bool scatters) {
  form.shared.total = 0;
  for (std::size_t l = 0; l < form.loops.size() && form.shared.total < kEnoughToShare; ++l) {
    const AxisLoop& loop = form.loops[l];
    const std::int64_t total = scatters ? loop.extent : loop.count;
    if (scatters && (loop.is_axis || (l > 0 && loop.extent * loop.stride < kRunsApart))) continue;
    if (total <= form.shared.total) continue;
    form.shared_loop = l;
    form.shared.total = total;
  }
  if (form.shared.total > 0) return;
  form.shared_loop = form.loops.size() - 1;
  form.shared = {scatters ? form.loops.back().extent : form.loops.back().count, 1};
}

}  // namespace

TupleForm tuple_form(const Subject& node, std::int64_t batch_dims, bool scatters) {
  const Shape &data = node.input_shape(0), &indices = node.input_shape(1);
  const auto batch_rank = static_cast<std::size_t>(batch_dims), depth = static_cast<std::size_t>(indices.back());
  const std::int64_t bytes = element_bytes(node.input(0));
  TupleForm form;
  form.first_axis = batch_dims;
  form.depth = indices.back();
  form.tuples = reference::product(indices, 0, indices.size() - 1);
  form.per_batch = reference::product(indices, batch_rank, indices.size() - 1);
  form.blocks = reference::product(data, 0, batch_rank + depth);
  form.block_bytes = reference::product(data, batch_rank + depth, data.size()) * bytes;
  form.batch_bytes = reference::product(data, batch_rank, data.size()) * bytes;
  const Ints strides = reference::strides_of(data);
  for (std::size_t d = batch_rank; d < batch_rank + depth; ++d) {
    form.sizes.push_back(data[d]);
    form.strides.push_back(strides[d] * bytes);
  }
  form.shared.total = scatters ? form.blocks : form.tuples;
  return form;
}

BlockForm block_form(const Subject& node, std::int64_t axis) {
  const Shape& data = node.input_shape(0);
  const auto along = static_cast<std::size_t>(axis);
  BlockForm form;
  form.axis = axis;
  form.size = data[along];
  form.count = element_count(node.input_shape(1));
  form.outer = reference::product(data, 0, along);
  form.block_bytes = reference::product(data, along + 1, data.size()) * element_bytes(node.input(0));
  form.shared.total = form.outer * form.count;
  return form;
}

ElementForm element_form(const Subject& node, std::int64_t axis, bool scatters) {
  const Shape &data = node.input_shape(0), &indices = node.input_shape(1);
  const std::int64_t bytes = element_bytes(node.input(0));
  const Ints strides = reference::strides_of(data);
  const auto along = static_cast<std::size_t>(axis);
  ElementForm form;
  form.axis = axis;
  form.size = data[along];
  form.stride = strides[along] * bytes;
  for (std::size_t d = 0; d < data.size(); ++d) {
    const bool is_axis = d == along;
    append(form.loops, {indices[d], data[d], is_axis ? 0 : strides[d] * bytes, is_axis});
  }
  if (form.loops.back().is_axis) form.loops.push_back({1, 1, bytes});
  for (std::size_t l = form.loops.size() - 1; l-- > 0;)
    form.loops[l].apart = form.loops[l + 1].apart * form.loops[l + 1].count;
  share(form, scatters);
  return form;
}

void Indices::refuse(const StepContext& step, std::int64_t position, std::int64_t count, const Ints& sizes,
                     std::int64_t first_axis) const {
  const auto depth = static_cast<std::int64_t>(sizes.size());
  for (std::int64_t i = position; i < position + count; ++i) {
    const std::byte* at = this->at(step, i);
    const std::int64_t index =
        wide_ ? *reinterpret_cast<const std::int64_t*>(at) : *reinterpret_cast<const std::int32_t*>(at);
    const std::int64_t size = sizes[static_cast<std::size_t>(i % depth)];
    if (index < -size || index >= size)
      fail(ErrorCode::invalid_input, "node '{}' ({}): index {} of '{}' is outside axis {}, expected [{},{})", node_,
           origin_, index, tensor_, first_axis + i % depth, -size, size);
  }
  fail(ErrorCode::internal, "node '{}' ({}): all indices are inside", node_, origin_);
}

}  // namespace colonnade::indexing
