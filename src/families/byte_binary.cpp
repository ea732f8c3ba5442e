// SPDX-License-Identifier: Apache-2.0
// Sums and products of bytes, by rows.
#include <array>

#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/operand_rows.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "kernels/bytes/bytes.hpp"

namespace colonnade {
namespace {

using kernels::bytes::Type;

struct ByteBinaryForm {
  Type to;
  std::array<Broadcast, 2> operands;
};

class ByteBinaryOp final : public RowOp {
 public:
  explicit ByteBinaryOp(const LowerContext& context)
      : kernel_(kernels::bytes::select(context.features)),
        combine_(kernel_.binary(context.form<ByteBinaryForm>().to)),
        out_(context.out<std::byte>()),
        out_bytes_(element_bytes(context.graph.value(context.node.outputs[0]))),
        a_(context, 0, context.form<ByteBinaryForm>().operands[0]),
        b_(context, 1, context.form<ByteBinaryForm>().operands[1]) {
    const auto& op = std::get<ByteBinary>(context.node.op);
    args_.op = op.kind == BinaryKind::add ? kernels::bytes::Binary::add : kernels::bytes::Binary::mul;
    args_.channels = static_cast<std::size_t>(row_shape(context.output_shape()).channels);
    args_.a = {nullptr, 0, a_.channel_stride(), op.a_zero, op.a_factor};
    args_.b = {nullptr, 0, b_.channel_stride(), op.b_zero, op.b_factor};
    args_.zero = op.out.zero;
    args_.low = op.out.low;
    args_.high = op.out.high;
  }

  void run(const StepContext& step) const override {
    const Rows out(step, out_, 0);
    kernels::bytes::BinaryArgs args = args_;
    args.a.pixel_stride = a_.stride(step);
    args.b.pixel_stride = b_.stride(step);
    args.out_pixel_stride = out.pixel_stride() / out_bytes_;
    const std::int64_t width = out.width(), column = out.column_begin();
    for (std::int64_t r = step.row_begin; r < step.row_end;) {
      const std::byte *a = a_.row(step, r, column), *b = b_.row(step, r, column);
      std::int64_t end = r + 1;
      while (end < step.row_end && out(end) == out(end - 1) + width * out.pixel_stride() &&
             a_.row(step, end, column) == a + (end - r) * width * args.a.pixel_stride &&
             b_.row(step, end, column) == b + (end - r) * width * args.b.pixel_stride)
        ++end;
      args.pixels = static_cast<std::size_t>((end - r) * width);
      args.a.bytes = reinterpret_cast<const std::uint8_t*>(a);
      args.b.bytes = reinterpret_cast<const std::uint8_t*>(b);
      args.out = out(r);
      combine_(args);
      r = end;
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::bytes::Kernel& kernel_;
  kernels::bytes::BinaryFn combine_;
  ValueOf<std::byte> out_;
  std::int64_t out_bytes_;
  OperandRows<std::byte> a_, b_;
  kernels::bytes::BinaryArgs args_;
};

Match match(const Candidate& node) {
  const auto* op = std::get_if<ByteBinary>(&node.node.op);
  if (op == nullptr) return refuse();
  const auto operands = broadcasts_of(node);
  if (!operands) return refuse("operand broadcasts over folded axes");
  const Type to = op->out.to == DType::f32 ? Type::f32 : op->out.to == DType::i8 ? Type::i8 : Type::u8;
  return take(Form::of(ByteBinaryForm{to, *operands}));
}

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<ByteBinaryOp>(context); }

}  // namespace

constinit const Family families::byte_binary = {.name = "byte_binary",
                                                .scope = Scope::rows,
                                                .border = Border::none,
                                                .types = {DType::u8, DType::i8, DType::f32},
                                                .match = match,
                                                .units = one_unit,
                                                .effort = element_effort<Work::arithmetic>,
                                                .weights_bytes = no_bytes,
                                                .workspace_bytes = no_bytes,
                                                .window = same_columns,
                                                .chunks = no_chunks,
                                                .placements = no_placements,
                                                .tell = nothing_told,
                                                .lower = lower};

}  // namespace colonnade
