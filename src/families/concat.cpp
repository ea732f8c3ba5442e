// SPDX-License-Identifier: Apache-2.0
// Concatenation along the channels or the width, and of whole tensors along an outer axis.
#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/shared.hpp"
#include "families/table.hpp"
#include "kernels/base/copy.hpp"
#include "kernels/move/move.hpp"

namespace colonnade {
namespace {

struct ConcatForm {
  bool along_channels = false;
};

/// Concatenation along the channels or the width. Parts that lie in the output's rows already are left alone.
class ConcatOp final : public RowOp {
 public:
  explicit ConcatOp(const LowerContext& context)
      : kernel_(kernels::move::select(context.features)), out_(context.out<std::byte>()) {
    along_channels_ = context.form<ConcatForm>().along_channels;
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < context.node.inputs.size(); ++i) {
      const RowShape shape = row_shape(context.input_shape(i));
      const std::int64_t pixel_bytes = shape.channels * element_bytes(context.input(i));
      parts_.push_back({context.in<std::byte>(i), context.bytes(i), shape, pixel_bytes, begin});
      begin += along_channels_ ? pixel_bytes : shape.width;
    }
  }

  void run(const StepContext& step) const override {
    const Rows out(step, out_, 0);
    for (std::int64_t r = step.row_begin; r < step.row_end; ++r)
      for (const Part& part : parts_) {
        const std::int64_t column = along_channels_ ? out.column_begin() : 0;
        const Rows rows(step, part.constant ? ValueOf<std::byte>{} : part.value, 0);
        const std::int64_t row = (step.image * part.shape.rows + r) * part.shape.width;
        const std::byte* in = rows ? rows.at(r, column) : part.constant + (row + column) * part.pixel_bytes;
        std::byte* to = out(r) + (along_channels_ ? part.begin : part.begin * out.pixel_stride());
        if (in == to) continue;
        kernel_.copy({static_cast<std::size_t>(along_channels_ ? out.width() : part.shape.width),
                      static_cast<std::size_t>(part.pixel_bytes), in, to, rows ? rows.pixel_stride() : part.pixel_bytes,
                      out.pixel_stride()});
      }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  struct Part {
    ValueOf<std::byte> value;
    const std::byte* constant;
    RowShape shape;
    std::int64_t pixel_bytes;
    std::int64_t begin;  ///< the byte of a pixel, or the column, where it begins
  };
  const kernels::move::Kernel& kernel_;
  ValueOf<std::byte> out_;
  bool along_channels_ = true;
  std::vector<Part> parts_;
};

/// Of whole tensors: threads share blocks of the output, wherever its parts end.
struct OuterForm {
  std::int64_t outer = 1;    ///< indices before the axis
  std::int64_t stretch = 1;  ///< elements of an index of these
  Shared blocks{};
};

/// Concatenation of whole tensors along an outer axis.
class ConcatOuterOp final : public RowOp {
 public:
  explicit ConcatOuterOp(const LowerContext& context) : form_(context.form<OuterForm>()), out_(context.out<float>()) {
    for (std::size_t i = 0; i < context.node.inputs.size(); ++i)
      parts_.push_back({context.in<float>(i), context.floats(i), element_count(context.input_shape(i)) / form_.outer});
  }

  void run(const StepContext& step) const override {
    const Interval blocks = form_.blocks.of(step);
    const std::int64_t end = std::min(blocks.end * kBlock, form_.outer * form_.stretch);
    for (std::int64_t at = blocks.begin * kBlock; at < end;) {
      const std::int64_t index = at / form_.stretch;
      std::int64_t within = at % form_.stretch;
      for (const Part& part : parts_) {
        if (within >= part.elements) {
          within -= part.elements;
          continue;
        }
        const std::int64_t count = std::min(part.elements - within, end - at);
        const float* in = part.constant ? part.constant : whole(step, part.value);
        kernels::copy_memory(whole(step, out_) + at, in + index * part.elements + within,
                             static_cast<std::size_t>(count) * sizeof(float));
        at += count;
        within = 0;
        if (at == end) break;
      }
    }
  }

  std::string_view kernel() const override { return "memcpy"; }

  static constexpr std::int64_t kBlock = 1 << 12;  ///< elements

 private:
  struct Part {
    ValueOf<float> value;
    const float* constant;
    std::int64_t elements;  ///< of an index of the outer axes
  };
  OuterForm form_;
  ValueOf<float> out_;
  std::vector<Part> parts_;
};

Match match(const Candidate& node) {
  const auto* op = std::get_if<Concat>(&node.node.op);
  if (op == nullptr) return refuse();
  const auto rank = static_cast<std::int64_t>(node.output_shape().size());
  const std::int64_t axis = normalize_axis(op->axis, rank, node.node);
  const bool by_rows = (rank == 4 && axis >= 2) || (rank >= 2 && rank < 4 && axis == rank - 1);
  return by_rows ? take(Form::of(ConcatForm{axis == rank - 1})) : refuse();
}

Match match_outer(const Candidate& node) {
  const auto* op = std::get_if<Concat>(&node.node.op);
  if (op == nullptr) return refuse();
  const Shape& shape = node.output_shape();
  const auto axis =
      static_cast<std::size_t>(normalize_axis(op->axis, static_cast<std::int64_t>(shape.size()), node.node));
  const std::int64_t elements = element_count(shape), outer = element_count(std::span(shape).first(axis));
  if (elements == 0) return take(Form::of(OuterForm{1, 0}));
  return take(Form::of(OuterForm{outer, elements / outer, {ceil_div(elements, ConcatOuterOp::kBlock)}}));
}

std::int64_t outer_units(const Chosen& node) { return node.form<OuterForm>().blocks.units(); }

ColumnWindow columns(const Chosen& node) { return {node.form<ConcatForm>().along_channels}; }

/// Its parts may lie in it.
std::vector<Placement> placements(const Chosen& node) {
  std::vector<Placement> parts;
  if (!node.form<ConcatForm>().along_channels) return parts;
  std::int64_t channel = 0;
  for (const ValueId id : node.node.inputs) {
    parts.push_back({id, node.node.outputs[0], channel});
    channel += node.graph.value(id).type.static_shape().back();
  }
  return parts;
}

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<ConcatOp>(context); }
std::unique_ptr<RowOp> lower_outer(const LowerContext& context) { return std::make_unique<ConcatOuterOp>(context); }

}  // namespace

constinit const Family families::concat = {.name = "concat",
                                           .scope = Scope::rows,
                                           .border = Border::none,
                                           .types = kMovedTypes,
                                           .match = match,
                                           .units = one_unit,
                                           .effort = byte_effort<Work::copy>,
                                           .weights_bytes = no_bytes,
                                           .workspace_bytes = no_bytes,
                                           .window = columns,
                                           .chunks = no_chunks,
                                           .placements = placements,
                                           .tell = nothing_told,
                                           .lower = lower};

constinit const Family families::concat_outer = whole_family({.name = "concat_outer",
                                                              .types = kFloats,
                                                              .match = match_outer,
                                                              .units = outer_units,
                                                              .effort = byte_effort<Work::copy>,
                                                              .weights_bytes = no_bytes,
                                                              .workspace_bytes = no_bytes,
                                                              .lower = lower_outer});

}  // namespace colonnade
