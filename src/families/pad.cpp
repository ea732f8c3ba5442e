// SPDX-License-Identifier: Apache-2.0
// Padding of images.
#include <array>
#include <bit>

#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "graph/parameters.hpp"
#include "kernels/move/move.hpp"

namespace colonnade {
namespace {

/// Padding of rows, width and, with a constant, channels.
class PadOp final : public RowOp {
 public:
  explicit PadOp(const LowerContext& context)
      : kernel_(kernels::move::select(context.features)),
        in_(context.in<std::byte>(0)),
        out_(context.out<std::byte>()),
        element_(element_bytes(context.input(0))),
        in_shape_(row_shape(context.input_shape(0))),
        shape_(row_shape(context.output_shape())),
        pads_(context.form<std::vector<Interval>>()),
        mode_(std::get<Pad>(context.node.op).mode) {
    const std::byte* value = context.bytes(2);
    for (std::size_t i = 0; value && i < value_.size(); ++i) value_[i] = value[i % static_cast<std::size_t>(element_)];
  }

  void run(const StepContext& step) const override {
    const Rows in(step, in_, 0), out(step, out_, 0);
    for (std::int64_t r = step.row_begin; r < step.row_end; ++r) {
      const std::int64_t y = padded_source(mode_, r - pads_[1].begin, in_shape_.rows);
      if (mode_ == PadMode::constant)
        kernel_.fill({static_cast<std::size_t>(shape_.width), static_cast<std::size_t>(shape_.channels * element_),
                      out(r), out.pixel_stride(), std::bit_cast<std::uint32_t>(value_)});
      if (y < 0) continue;
      copy_pixels(in(y), in, pads_[2].begin, in_shape_.width, out(r), out);
      if (mode_ == PadMode::constant) continue;
      for (std::int64_t x = 0; x < shape_.width; ++x) {
        if (x == pads_[2].begin) x += in_shape_.width;
        if (x == shape_.width) break;
        const std::int64_t source = padded_source(mode_, x - pads_[2].begin, in_shape_.width);
        copy_pixels(in(y) + source * in.pixel_stride(), in, x, 1, out(r), out);
      }
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  /// `count` pixels from `from` to output columns from `column` on.
  void copy_pixels(const std::byte* from, const Rows<std::byte>& in, std::int64_t column, std::int64_t count,
                   std::byte* row, const Rows<std::byte>& out) const {
    kernel_.copy({static_cast<std::size_t>(count), static_cast<std::size_t>(in_shape_.channels * element_), from,
                  row + column * out.pixel_stride() + pads_[3].begin * element_, in.pixel_stride(),
                  out.pixel_stride()});
  }

  const kernels::move::Kernel& kernel_;
  ValueOf<std::byte> in_, out_;
  std::int64_t element_;  ///< bytes
  RowShape in_shape_, shape_;
  std::vector<Interval> pads_;
  PadMode mode_;
  std::array<std::byte, 4> value_{};  ///< an element, repeated
};

/// Begin and end padding of each axis of a Pad with constant pads.
std::optional<std::vector<Interval>> pad_axes_of(const Graph& graph, const Node& node) {
  const auto rank = static_cast<std::int64_t>(graph.value(node.inputs[0]).type.static_shape().size());
  const auto pads = constant_ints(graph, node, 1);
  const auto axes = constant_ints(graph, node, 3);
  if (!pads || (node.input(3) != kAbsent && !axes)) return std::nullopt;
  std::vector<Interval> result(static_cast<std::size_t>(rank), Interval{0, 0});
  const std::size_t count = pads->size() / 2;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t axis = axes ? (*axes)[i] : static_cast<std::int64_t>(i);
    result[static_cast<std::size_t>(normalize_axis(axis, rank, node))] = {(*pads)[i], (*pads)[i + count]};
  }
  return result;
}

Match match(const Candidate& node) {
  const auto* op = std::get_if<Pad>(&node.node.op);
  if (op == nullptr) return refuse();
  const auto axes = pad_axes_of(node.graph, node.node);
  if (!axes || axes->size() != 4) return refuse("pads are not constant, or not of an image");
  if (op->mode == PadMode::wrap) return refuse("no kernel for this padding mode");
  if (!node.constant_or_absent(2)) return refuse("value is not constant");
  if (node.has_input(2) &&
      (node.input(2).type.dtype != node.input(0).type.dtype || element_count(node.input_shape(2)) != 1))
    return refuse("value is not one of the input's type");
  for (const Interval& pads : *axes)
    if (pads.begin < 0 || pads.end < 0) return refuse("negative pads");
  if (op->mode != PadMode::constant && (*axes)[3] != Interval{0, 0}) return refuse("pads channels with channels");
  return (*axes)[0] == Interval{0, 0} ? take(Form::of(*axes)) : refuse("pads images");
}

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<PadOp>(context); }

}  // namespace

constinit const Family families::pad = {.name = "pad",
                                        .scope = Scope::rows,
                                        .border = Border::none,
                                        .types = kMovedTypes,
                                        .match = match,
                                        .units = one_unit,
                                        .effort = byte_effort<Work::copy>,
                                        .weights_bytes = no_bytes,
                                        .workspace_bytes = no_bytes,
                                        .window = no_window,
                                        .chunks = no_chunks,
                                        .placements = no_placements,
                                        .tell = nothing_told,
                                        .lower = lower};

}  // namespace colonnade
