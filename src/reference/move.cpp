// SPDX-License-Identifier: Apache-2.0
// Operators that only copy boxes of elements from place to place.
#include <algorithm>

#include "base/tensor_memory.hpp"
#include "reference/elements.hpp"
#include "reference/families.hpp"
#include "reference/indexing.hpp"

namespace colonnade::reference {
namespace {

Ints permuted(const Ints& values, const Ints& perm) {
  Ints result;
  for (const std::int64_t axis : perm) result.push_back(values[static_cast<std::size_t>(axis)]);
  return result;
}

Ints full_permutation(const Ints& perm, std::size_t rank) {
  if (!perm.empty()) return perm;
  Ints reversed;
  for (std::size_t axis = rank; axis-- > 0;) reversed.push_back(static_cast<std::int64_t>(axis));
  return reversed;
}

/// x seen as a tensor of `split` shape, its axes permuted, then stored densely as `shape`.
Tensor split_and_permute(const Tensor& x, const Ints& split, const Ints& perm, Shape shape) {
  Tensor y(x.dtype(), std::move(shape));
  const Ints box = permuted(split, perm);
  copy_box(x, {0, permuted(strides_of(split), perm)}, y, {0, strides_of(box)}, box);
  return y;
}

struct SliceAxis {
  std::int64_t start = 0, step = 1;
};

/// First index and step of one axis, clipped as ONNX says.
SliceAxis slice_axis(std::int64_t start, std::int64_t step, std::int64_t size) {
  if (start < 0) start += size;
  const std::int64_t last = step < 0 ? size - 1 : size;
  return {std::clamp<std::int64_t>(start, 0, std::max<std::int64_t>(last, 0)), std::clamp(step, -size - 1, size + 1)};
}

/// For one axis of a padded tensor: the input index every output index reads, -1 where it reads the value.
Ints pad_map(PadMode mode, std::int64_t size, std::int64_t begin, std::int64_t end, const Call& call) {
  Ints map;
  const std::int64_t output = size + begin + end;
  if (size == 0 && output > 0 && mode != PadMode::constant)
    call.invalid("an empty axis can only be padded by a constant");
  for (std::int64_t o = 0; o < output; ++o) {
    std::int64_t i = o - begin;
    switch (mode) {
      case PadMode::constant: i = i >= 0 && i < size ? i : -1; break;
      case PadMode::edge: i = std::clamp<std::int64_t>(i, 0, size - 1); break;
      case PadMode::wrap: i = (i % size + size) % size; break;
      case PadMode::reflect: {
        const std::int64_t period = std::max<std::int64_t>(1, 2 * (size - 1));
        i = (i % period + period) % period;
        i = i < size ? i : period - i;
        break;
      }
    }
    map.push_back(i);
  }
  return map;
}

template <class T>
void copy_mapped(const T* x, const Ints& strides, T* y, std::span<const Ints> maps, const T& fill) {
  Ints shape, index(maps.size(), 0);
  for (const Ints& map : maps) shape.push_back(static_cast<std::int64_t>(map.size()));
  const std::size_t last = maps.size() - 1;
  const std::int64_t rows = product(shape, 0, last);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t offset = 0;
    bool outside = false;
    for (std::size_t axis = 0; axis < last; ++axis) {
      const std::int64_t i = maps[axis][static_cast<std::size_t>(index[axis])];
      outside = outside || i < 0;
      offset += i * strides[axis];
    }
    for (const std::int64_t i : maps[last]) *y++ = outside || i < 0 ? fill : x[offset + i * strides[last]];
    next_index(std::span(index).first(last), std::span(shape).first(last));
  }
}

std::vector<Ints> pad_maps(const Pad& pad, const Call& call) {
  const Tensor& x = call.input(0);
  const Ints pads = call.ints(1);
  Ints axes = call.ints(3);
  if (call.optional(3) == nullptr) {
    for (std::size_t axis = 0; axis < x.shape().size(); ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  }
  if (pads.size() != 2 * axes.size()) call.invalid("{} pads for {} axes", pads.size(), axes.size());
  Ints begins(x.shape().size(), 0), ends(x.shape().size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(call.axis(axes[i], x));
    begins[axis] = pads[i];
    ends[axis] = pads[i + axes.size()];
  }
  std::vector<Ints> maps;
  for (std::size_t axis = 0; axis < begins.size(); ++axis) {
    maps.push_back(pad_map(pad.mode, x.shape()[axis], begins[axis], ends[axis], call));
  }
  return maps;
}

/// The two spatial axes of a rank-4 tensor whose channels are axis 1 or 3.
struct SpatialAxes {
  std::int64_t channel, height, width;
};
SpatialAxes spatial_axes(std::int64_t channel) { return channel == 1 ? SpatialAxes{1, 2, 3} : SpatialAxes{3, 1, 2}; }

}  // namespace

Tensors apply(const Transpose& op, const Call& call) {
  const Tensor& x = call.input(0);
  const Ints perm = full_permutation(op.perm, x.shape().size());
  return {split_and_permute(x, x.shape(), perm, permuted(x.shape(), perm))};
}

Tensors apply(const Concat& op, const Call& call) {
  Tensor y(call.dtype(), call.shape());
  const auto axis = static_cast<std::size_t>(call.axis(op.axis, y));
  const Ints strides = strides_of(y.shape());
  std::int64_t position = 0;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Tensor& x = call.input(i);
    copy_box(x, {0, strides_of(x.shape())}, y, {position * strides[axis], strides}, x.shape());
    position += x.shape()[axis];
  }
  return {std::move(y)};
}

Tensors apply(const Slice&, const Call& call) {
  const Tensor& x = call.input(0);
  const Ints starts = call.ints(1), axes = call.ints(3), steps = call.ints(4);
  const bool fits = axes.empty() ? starts.size() <= x.shape().size() : axes.size() == starts.size();
  if (!fits || (!steps.empty() && steps.size() != starts.size()))
    call.invalid("{} starts, {} axes and {} steps for {} dimensions", starts.size(), axes.size(), steps.size(),
                 x.shape().size());
  Strided source{0, strides_of(x.shape())};
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes.empty() ? static_cast<std::int64_t>(i) : call.axis(axes[i], x));
    const SliceAxis slice = slice_axis(starts[i], steps.empty() ? 1 : steps[i], x.shape()[axis]);
    source.offset += slice.start * source.strides[axis];
    source.strides[axis] *= slice.step;
  }
  Tensor y = TensorMemory::unset(x.dtype(), call.shape());
  copy_box(x, source, y, {0, strides_of(y.shape())}, y.shape());
  return {std::move(y)};
}

Tensors apply(const Split& op, const Call& call) {
  const Tensor& x = call.input(0);
  const auto axis = static_cast<std::size_t>(call.axis(op.axis, x));
  const Ints strides = strides_of(x.shape());
  std::int64_t position = 0;
  Tensors outputs;
  for (std::size_t i = 0; i < call.types.size(); ++i) {
    Tensor& y = outputs.emplace_back(TensorMemory::unset(x.dtype(), call.shape(i)));
    if (position + y.shape()[axis] > x.shape()[axis]) call.invalid("the parts exceed the axis");
    copy_box(x, {position * strides[axis], strides}, y, {0, strides_of(y.shape())}, y.shape());
    position += y.shape()[axis];
  }
  return outputs;
}

Tensors apply(const Pad& op, const Call& call) {
  const Tensor& x = call.input(0);
  const Tensor* value = call.optional(2);
  if (x.shape().empty()) return {x};
  Tensor y(x.dtype(), call.shape());
  const std::vector<Ints> maps = pad_maps(op, call);
  visit_storage(x.dtype(), [&]<class T>(Tag<T>) {
    const T fill = value == nullptr || value->size() == 0 ? T{} : elements<T>(*value)[0];
    if (y.size() > 0) copy_mapped(elements<T>(x), strides_of(x.shape()), elements<T>(y), maps, fill);
  });
  return {std::move(y)};
}

Tensors apply(const Expand&, const Call& call) {
  const Tensor& x = call.input(0);
  Tensor y(x.dtype(), call.shape());
  copy_box(x, {0, broadcast_strides(x.shape(), y.shape())}, y, {0, strides_of(y.shape())}, y.shape());
  return {std::move(y)};
}

Tensors apply(const Tile&, const Call& call) {
  const Tensor& x = call.input(0);
  const Ints repeats = call.ints(1);
  Tensor y(x.dtype(), call.shape());
  Ints box, from, x_strides = strides_of(x.shape());
  for (std::size_t axis = 0; axis < repeats.size(); ++axis) {
    box.insert(box.end(), {repeats[axis], x.shape()[axis]});
    from.insert(from.end(), {0, x_strides[axis]});
  }
  copy_box(x, {0, from}, y, {0, strides_of(box)}, box);
  return {std::move(y)};
}

Tensors apply(const DepthToSpace& op, const Call& call) {
  const Tensor& x = call.input(0);
  const SpatialAxes axes = spatial_axes(call.axis(op.axis, x));
  const Shape& s = x.shape();
  const std::int64_t b = op.block, h = s[static_cast<std::size_t>(axes.height)],
                     w = s[static_cast<std::size_t>(axes.width)];
  const std::int64_t c = s[static_cast<std::size_t>(axes.channel)] / (b * b);
  const bool first = axes.channel == 1;
  // The channel axis falls apart into (block row, block column, channel), or (channel, block row, block column).
  Ints split = op.crd ? Ints{c, b, b} : Ints{b, b, c};
  const std::int64_t base = first ? 1 : 3;
  const std::int64_t channel = base + (op.crd ? 0 : 2), block_row = base + (op.crd ? 1 : 0),
                     block_column = block_row + 1;
  const std::int64_t row = first ? 4 : 1, column = row + 1;
  split.insert(first ? split.end() : split.begin(), {h, w});
  split.insert(split.begin(), s[0]);
  const Ints perm = first ? Ints{0, channel, row, block_row, column, block_column}
                          : Ints{0, row, block_row, column, block_column, channel};
  return {split_and_permute(x, split, perm, call.shape())};
}

Tensors apply(const SpaceToDepth& op, const Call& call) {
  const Tensor& x = call.input(0);
  const SpatialAxes axes = spatial_axes(call.axis(op.axis, x));
  const Shape& s = x.shape();
  const std::int64_t b = op.block, c = s[static_cast<std::size_t>(axes.channel)];
  const std::int64_t h = s[static_cast<std::size_t>(axes.height)] / b, w = s[static_cast<std::size_t>(axes.width)] / b;
  if (axes.channel == 1) {
    return {split_and_permute(x, {s[0], c, h, b, w, b}, {0, 3, 5, 1, 2, 4}, call.shape())};
  }
  return {split_and_permute(x, {s[0], h, b, w, b, c}, {0, 1, 3, 2, 4, 5}, call.shape())};
}

Tensors apply(const Trilu& op, const Call& call) {
  const Tensor& x = call.input(0);
  const Ints shift = call.ints(1);
  const std::int64_t k = shift.empty() ? 0 : shift[0];
  const std::size_t rank = x.shape().size();
  const std::int64_t rows = x.shape()[rank - 2], columns = x.shape()[rank - 1];
  Tensor y = x;
  visit_storage(x.dtype(), [&]<class T>(Tag<T>) {
    T* element = elements<T>(y);
    for (std::int64_t n = 0; n < y.size(); ++n) {
      const std::int64_t row = n / columns % rows, column = n % columns;
      const bool keep = op.upper ? column - row >= k : column - row <= k;
      if (!keep) element[n] = T{};
    }
  });
  return {std::move(y)};
}

}  // namespace colonnade::reference
