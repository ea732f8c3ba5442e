// SPDX-License-Identifier: Apache-2.0
// Unary and binary operators by rows.
#include "kernels/elementwise/elementwise.hpp"

#include "base/checked.hpp"
#include "program/lower.hpp"
#include "program/ops/rows.hpp"

namespace colonnade {
namespace {

using kernels::elementwise::Binary;

class UnaryRowOp final : public RowOp {
 public:
  explicit UnaryRowOp(const LowerContext& context)
      : kernel_(kernels::elementwise::select(context.isa)),
        op_(unary_op(std::get<colonnade::Unary>(context.node.op))),
        chunks_(context.chunks),
        in_(context.node.inputs[0]),
        out_(context.node.outputs[0]),
        shape_(row_shape(context.output_shape())) {}

  void run(const StepContext& step) const override {
    const std::int64_t chunk = std::max<std::int64_t>(0, step.chunk);
    const Rows in(step, in_, chunk), out(step, out_, chunk);
    kernels::elementwise::UnaryArgs args;
    args.op = op_;
    args.channels = static_cast<std::size_t>(step.chunk < 0 ? shape_.channels : chunks_.size(step.chunk));
    args.in_pixel_stride = in.pixel_stride();
    args.out_pixel_stride = out.pixel_stride();
    const std::int64_t width = out.width();
    for (std::int64_t r = step.row_begin; r < step.row_end;) {
      const std::int64_t end = run_end({&in, &out}, r, step.row_end, width);
      args.pixels = static_cast<std::size_t>((end - r) * width);
      args.in = in.at(r, out.column_begin());
      args.out = out(r);
      kernel_.unary(args);
      r = end;
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::elementwise::Kernel& kernel_;
  kernels::UnaryOp op_;
  ChunkInfo chunks_;
  ValueId in_, out_;
  RowShape shape_;
};

Binary binary_kind(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::add: return Binary::add;
    case BinaryKind::sub: return Binary::sub;
    case BinaryKind::mul: return Binary::mul;
    case BinaryKind::div: return Binary::div;
    case BinaryKind::min: return Binary::min;
    case BinaryKind::max: return Binary::max;
    case BinaryKind::pow: return Binary::pow;
    case BinaryKind::prelu: return Binary::prelu;
    case BinaryKind::squared_difference: return Binary::squared_difference;
    default: fail(ErrorCode::internal, "binary function '{}' has no kernel", name_of(kind));
  }
}

/// One operand: rows like the output's, or a whole tensor (or constant) that broadcasts.
struct OperandRows {
  ValueId value = kAbsent;
  const float* constant = nullptr;
  bool by_rows = true;
  std::int64_t image_stride = 0, row_stride = 0;
  std::ptrdiff_t pixel_stride = 0, channel_stride = 1;

  /// The operand's values for output row r from `column` on.
  const float* row(const StepContext& step, std::int64_t r, std::int64_t column) const {
    if (by_rows) return pixel_stride == 0 ? Rows(step, value, 0)(r) : Rows(step, value, 0).at(r, column);
    const float* base = constant ? constant : whole(step, value);
    return base + step.image * image_stride + r * row_stride + column * pixel_stride;
  }
  /// Floats from a pixel to the next.
  std::ptrdiff_t stride(const StepContext& step) const {
    return by_rows && pixel_stride != 0 ? step.views[value].pixel_stride : pixel_stride;
  }
};

OperandRows operand_rows(const LowerContext& context, std::size_t index) {
  const Shape& shape = context.input_shape(index);
  const Shape& output = context.output_shape();
  const Operand broadcast = *operand_of(shape, output);
  OperandRows operand;
  operand.value = context.node.inputs[index];
  operand.constant = context.constant(index);
  operand.by_rows = !operand.constant && !broadcast.images && !broadcast.rows && shape.size() == output.size();
  const RowShape out = row_shape(output);
  const bool scalar = element_count(shape) == 1;
  const std::int64_t channels = broadcast.channels || scalar ? 1 : out.channels;
  const std::int64_t width = broadcast.width || scalar ? 1 : out.width, rows = broadcast.rows || scalar ? 1 : out.rows;
  operand.channel_stride = broadcast.channels ? 0 : 1;
  operand.pixel_stride = broadcast.width ? 0 : channels;
  if (out.width == 1) operand.pixel_stride = broadcast.rows ? 0 : channels;
  operand.row_stride = broadcast.rows ? 0 : width * channels;
  operand.image_stride = broadcast.images ? 0 : rows * width * channels;
  if (scalar) operand.pixel_stride = operand.row_stride = operand.image_stride = 0;
  return operand;
}

class BinaryRowOp final : public RowOp {
 public:
  explicit BinaryRowOp(const LowerContext& context)
      : kernel_(kernels::elementwise::select(context.isa)),
        op_(binary_kind(std::get<colonnade::Binary>(context.node.op).kind)),
        out_(context.node.outputs[0]),
        shape_(row_shape(context.output_shape())),
        a_(operand_rows(context, 0)),
        b_(operand_rows(context, 1)) {}

  void run(const StepContext& step) const override {
    const Rows out(step, out_, 0);
    kernels::elementwise::BinaryArgs args;
    args.op = op_;
    args.channels = static_cast<std::size_t>(shape_.channels);
    args.a_pixel_stride = a_.stride(step);
    args.a_channel_stride = a_.channel_stride;
    args.b_pixel_stride = b_.stride(step);
    args.b_channel_stride = b_.channel_stride;
    args.out_pixel_stride = out.pixel_stride();
    const std::int64_t width = out.width(), column = out.column_begin();
    for (std::int64_t r = step.row_begin; r < step.row_end;) {
      const float* a = a_.row(step, r, column);
      const float* b = b_.row(step, r, column);
      std::int64_t end = r + 1;
      while (end < step.row_end && out(end) == out(end - 1) + width * args.out_pixel_stride &&
             a_.row(step, end, column) == a + (end - r) * width * args.a_pixel_stride &&
             b_.row(step, end, column) == b + (end - r) * width * args.b_pixel_stride)
        ++end;
      args.pixels = static_cast<std::size_t>((end - r) * width);
      args.a = a;
      args.b = b;
      args.out = out(r);
      kernel_.binary(args);
      r = end;
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::elementwise::Kernel& kernel_;
  Binary op_;
  ValueId out_;
  RowShape shape_;
  OperandRows a_, b_;
};

}  // namespace

std::unique_ptr<RowOp> lower_unary(const LowerContext& context) { return std::make_unique<UnaryRowOp>(context); }
std::unique_ptr<RowOp> lower_binary(const LowerContext& context) { return std::make_unique<BinaryRowOp>(context); }

}  // namespace colonnade
