// SPDX-License-Identifier: Apache-2.0
// Padding of whole tensors: any axes, any mode, elements of any type.
#include <bit>
#include <cstring>

#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/shared.hpp"
#include "families/table.hpp"
#include "graph/parameters.hpp"
#include "kernels/base/copy.hpp"
#include "reference/indexing.hpp"

namespace colonnade {
namespace {

/// Of an axis: they are listed.
constexpr std::int64_t kMostIndices = std::int64_t{1} << 24;

/// One axis of the output: its size, and the steps of the input from one index to the next in bytes.
struct PaddedAxis {
  std::int64_t stride = 0, size = 0;
  Ints sources;  ///< by output index: that of the input; -1: the value; none: each its own
};

/// Output indices [begin, end) that show input indices source, source + 1, ...; -1: the value.
struct Piece {
  std::int64_t begin = 0, end = 0, source = 0;
};

struct PadForm {
  std::vector<PaddedAxis> outer;  ///< before the last axis that is padded
  std::vector<Piece> pieces;      ///< of that axis
  std::int64_t count = 1;         ///< its indices
  std::int64_t block = 1;         ///< bytes of one
  Shared shared;                  ///< indices of all rows
};

std::int64_t source_of(PadMode mode, std::int64_t i, std::int64_t size) {
  return mode == PadMode::wrap ? (i % size + size) % size : padded_source(mode, i, size);
}

PaddedAxis axis_of(PadMode mode, std::int64_t stride, std::int64_t size, std::int64_t begin, std::int64_t end) {
  PaddedAxis axis{stride, size + begin + end, {}};
  if (begin == 0 && end == 0) return axis;
  for (std::int64_t i = -begin; i < size + end; ++i) axis.sources.push_back(source_of(mode, i, size));
  return axis;
}

/// Of an axis with so many indices more, or fewer, at its ends.
std::vector<Piece> pieces_of(PadMode mode, std::int64_t size, std::int64_t begin, std::int64_t end) {
  std::vector<Piece> pieces;
  const auto show = [&](std::int64_t first, std::int64_t last, std::int64_t source) {
    if (first >= last) return;
    const Piece* before = pieces.empty() ? nullptr : &pieces.back();
    const bool goes_on =
        before && (source < 0 ? before->source < 0
                              : before->source >= 0 && source == before->source + before->end - before->begin);
    if (!goes_on) pieces.push_back({first + begin, 0, source});
    pieces.back().end = last + begin;
  };
  const auto show_outside = [&](std::int64_t first, std::int64_t last) {
    if (mode == PadMode::constant) return show(first, last, -1);
    for (std::int64_t i = first; i < last; ++i) show(i, i + 1, source_of(mode, i, size));
  };
  const std::int64_t first = -begin, last = size + end;
  show_outside(first, std::min<std::int64_t>(0, last));
  show(std::max<std::int64_t>(0, first), std::min(size, last), std::max<std::int64_t>(0, first));
  show_outside(std::max(size, first), last);
  return pieces;
}

template <class T>
void fill_with(std::byte* to, std::int64_t bytes, const std::byte* value) {
  T element;
  std::memcpy(&element, value, sizeof(T));
  std::fill_n(reinterpret_cast<T*>(to), static_cast<std::size_t>(bytes) / sizeof(T), element);
}

/// Blocks of the last padded axis, of all rows around it.
class PadWholeOp final : public RowOp {
 public:
  explicit PadWholeOp(const LowerContext& context)
      : in_(context.in<std::byte>(0)),
        out_(context.out<std::byte>()),
        form_(context.form<PadForm>()),
        element_(element_bytes(context.input(0))) {
    if (context.has_input(2) && element_count(context.input_shape(2)) == 1) value_ = context.in<std::byte>(2);
  }

  void run(const StepContext& step) const override {
    const Interval part = form_.shared.of(step);
    const std::byte* value = value_ ? whole(step, value_) : nullptr;
    for (std::int64_t at = part.begin; at < part.end;) {
      const std::int64_t row = at / form_.count, begin = at - row * form_.count;
      const std::int64_t end = std::min(form_.count, begin + part.end - at);
      std::byte* to = whole(step, out_) + row * form_.count * form_.block;
      const std::int64_t source = source_of(row);
      if (source < 0)
        fill(to + begin * form_.block, (end - begin) * form_.block, value);
      else
        pad_row(to, whole(step, in_) + source, {begin, end}, value);
      at += end - begin;
    }
  }

  std::string_view kernel() const override { return "pad"; }

 private:
  /// Bytes from the first element of the input to the row that an output row shows; -1: the value.
  std::int64_t source_of(std::int64_t row) const {
    std::int64_t offset = 0;
    for (std::size_t a = form_.outer.size(); a-- > 0;) {
      const PaddedAxis& axis = form_.outer[a];
      const std::int64_t index = row % axis.size;
      const std::int64_t source = axis.sources.empty() ? index : axis.sources[static_cast<std::size_t>(index)];
      if (source < 0) return -1;
      offset += source * axis.stride;
      row /= axis.size;
    }
    return offset;
  }

  void pad_row(std::byte* to, const std::byte* from, Interval part, const std::byte* value) const {
    for (const Piece& piece : form_.pieces) {
      const Interval taken = intersect({piece.begin, piece.end}, part);
      if (taken.empty()) continue;
      std::byte* target = to + taken.begin * form_.block;
      const std::int64_t bytes = taken.size() * form_.block;
      if (piece.source < 0) {
        fill(target, bytes, value);
        continue;
      }
      const std::byte* source = from + (piece.source + taken.begin - piece.begin) * form_.block;
      if (bytes == 4)
        std::memcpy(target, source, 4);
      else
        kernels::copy_memory(target, source, static_cast<std::size_t>(bytes));
    }
  }

  void fill(std::byte* to, std::int64_t bytes, const std::byte* value) const {
    if (value == nullptr) {
      std::memset(to, 0, static_cast<std::size_t>(bytes));
      return;
    }
    switch (element_) {
      case 1: return fill_with<std::uint8_t>(to, bytes, value);
      case 2: return fill_with<std::uint16_t>(to, bytes, value);
      case 4: return fill_with<std::uint32_t>(to, bytes, value);
      case 8: return fill_with<std::uint64_t>(to, bytes, value);
      default: return fill_with<std::array<std::uint64_t, 2>>(to, bytes, value);
    }
  }

  ValueOf<std::byte> in_, out_, value_;  ///< no value: zeros
  PadForm form_;
  std::int64_t element_;  ///< bytes
};

PadForm form_of(PadMode mode, const Candidate& node, const AxisPads& pads) {
  const Shape& shape = node.input_shape(0);
  const Ints strides = reference::strides_of(shape);
  const std::int64_t bytes = element_bytes(node.input(0));
  const auto is_padded = [&](std::size_t axis) { return pads.begins[axis] != 0 || pads.ends[axis] != 0; };
  std::size_t last = shape.size() - 1;
  while (last > 0 && !is_padded(last)) --last;
  PadForm form;
  form.block = strides[last] * bytes;
  Shape sizes = shape;
  for (std::size_t axis = 0; axis < last; ++axis) {
    if (axis + 1 < last && !is_padded(axis) && !is_padded(axis + 1) && sizes[axis] * sizes[axis + 1] <= kMostIndices) {
      sizes[axis + 1] *= sizes[axis];
      continue;
    }
    form.outer.push_back(axis_of(mode, strides[axis] * bytes, sizes[axis], pads.begins[axis], pads.ends[axis]));
  }
  form.pieces = pieces_of(mode, shape[last], pads.begins[last], pads.ends[last]);
  form.count = std::max<std::int64_t>(0, shape[last] + pads.begins[last] + pads.ends[last]);
  form.shared.total = form.count;
  for (const PaddedAxis& axis : form.outer) form.shared.total *= std::max<std::int64_t>(0, axis.size);
  return form;
}

Match match(const Candidate& node) {
  const auto* op = std::get_if<Pad>(&node.node.op);
  if (op == nullptr) return refuse();
  const DType dtype = node.input(0).type.dtype;
  if (dtype == DType::string) return refuse("type has no kernel");
  if (node.has_input(2) && (node.input(2).type.dtype != dtype || element_count(node.input_shape(2)) > 1))
    return refuse("value is not one of the input's type");
  const auto rank = static_cast<std::int64_t>(node.input_shape(0).size());
  const auto pads = axis_pads(node.graph, node.node, rank);
  if (!pads || rank == 0) return refuse("pads are not constant");
  for (const Shape& shape : {node.input_shape(0), node.output_shape()})
    if (*std::ranges::max_element(shape) > kMostIndices) return refuse("more indices than a plan can count");
  return take(Form::of(form_of(op->mode, node, *pads)));
}

std::int64_t units(const Chosen& node) { return node.form<PadForm>().shared.units(); }

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<PadWholeOp>(context); }

}  // namespace

constinit const Family families::pad_whole = whole_family({.name = "pad_whole",
                                                           .types = kAllTypes,
                                                           .match = match,
                                                           .units = units,
                                                           .effort = byte_effort<Work::copy>,
                                                           .weights_bytes = no_bytes,
                                                           .workspace_bytes = no_bytes,
                                                           .lower = lower});

}  // namespace colonnade
