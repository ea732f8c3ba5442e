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
  std::int64_t stride = 0;
  Ints sources;  ///< by output index: that of the input; -1: the value
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

Ints sources_of(PadMode mode, std::int64_t size, std::int64_t begin, std::int64_t end) {
  Ints sources;
  for (std::int64_t i = -begin; i < size + end; ++i)
    sources.push_back(mode == PadMode::wrap ? (i % size + size) % size : padded_source(mode, i, size));
  return sources;
}

std::vector<Piece> pieces_of(const Ints& sources) {
  std::vector<Piece> pieces;
  for (std::int64_t i = 0; i < std::ssize(sources); ++i) {
    const std::int64_t source = sources[static_cast<std::size_t>(i)];
    const Piece* last = pieces.empty() ? nullptr : &pieces.back();
    const bool goes_on =
        last && (source < 0 ? last->source < 0 : last->source >= 0 && source == last->source + last->end - last->begin);
    if (!goes_on) pieces.push_back({i, i, source});
    pieces.back().end = i + 1;
  }
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
      const std::int64_t source = axis.sources[static_cast<std::size_t>(row % std::ssize(axis.sources))];
      if (source < 0) return -1;
      offset += source * axis.stride;
      row /= std::ssize(axis.sources);
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
    form.outer.push_back({strides[axis] * bytes, sources_of(mode, sizes[axis], pads.begins[axis], pads.ends[axis])});
  }
  const Ints sources = sources_of(mode, shape[last], pads.begins[last], pads.ends[last]);
  form.pieces = pieces_of(sources);
  form.count = std::ssize(sources);
  form.shared.total = form.count;
  for (const PaddedAxis& axis : form.outer) form.shared.total *= std::ssize(axis.sources);
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
