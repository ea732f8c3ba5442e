// SPDX-License-Identifier: Apache-2.0
// Elements of one type as another, row by row.
#include "families/convert.hpp"

#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"

namespace colonnade {
namespace {

using kernels::convert::Type;

constexpr TypeSet kConvertedTypes{DType::f32,      DType::bf16,       DType::f16,    DType::u8,        DType::i8,
                                  DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz};

struct ConvertForm {
  Type from, to;
};

class ConvertOp final : public RowOp {
 public:
  explicit ConvertOp(const LowerContext& context)
      : kernel_(kernels::convert::select(context.features)),
        convert_(kernel_.convert(context.form<ConvertForm>().from, context.form<ConvertForm>().to)),
        chunks_(context.chunks),
        in_(context.in<std::byte>(0)),
        out_(context.out<std::byte>()),
        shape_(row_shape(context.output_shape())) {}

  void run(const StepContext& step) const override {
    const std::int64_t chunk = std::max<std::int64_t>(0, step.chunk);
    const Rows in(step, in_, chunk), out(step, out_, chunk);
    kernels::convert::Args args;
    args.channels = static_cast<std::size_t>(step.chunk < 0 ? shape_.channels : chunks_.size(step.chunk));
    args.in_pixel_stride = in.pixel_stride();
    args.out_pixel_stride = out.pixel_stride();
    const std::int64_t width = out.width();
    for (std::int64_t r = step.row_begin; r < step.row_end;) {
      const std::int64_t end = run_end({&in, &out}, r, step.row_end, width);
      args.pixels = static_cast<std::size_t>((end - r) * width);
      args.in = in.at(r, out.column_begin());
      args.out = out(r);
      convert_(args);
      r = end;
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::convert::Kernel& kernel_;
  kernels::convert::Fn convert_;
  ChunkInfo chunks_;
  ValueOf<std::byte> in_, out_;
  RowShape shape_;
};

Match match(const Candidate& node) {
  const auto* op = std::get_if<Cast>(&node.node.op);
  if (op == nullptr) return refuse();
  const auto from = convert_type(node.input(0).type.dtype), to = convert_type(op->to);
  if (!op->saturate && is_minifloat(op->to)) return refuse("what is too large becomes infinity or NaN");
  return from && to ? take(Form::of(ConvertForm{*from, *to})) : refuse("type has no kernel");
}

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<ConvertOp>(context); }

}  // namespace

std::optional<Type> convert_type(DType type) {
  if (type == DType::f32) return Type::f32;
  if (type == DType::bf16) return Type::bf16;
  if (type == DType::f16) return Type::f16;
  if (type == DType::u8) return Type::u8;
  if (type == DType::i8) return Type::i8;
  if (type == DType::f8e4m3fn) return Type::f8e4m3fn;
  if (type == DType::f8e4m3fnuz) return Type::f8e4m3fnuz;
  if (type == DType::f8e5m2) return Type::f8e5m2;
  if (type == DType::f8e5m2fnuz) return Type::f8e5m2fnuz;
  return std::nullopt;
}

constinit const Family families::convert = {.name = "convert",
                                            .scope = Scope::rows,
                                            .border = Border::none,
                                            .types = kConvertedTypes,
                                            .match = match,
                                            .units = one_unit,
                                            .effort = byte_effort<Work::copy>,
                                            .weights_bytes = no_bytes,
                                            .workspace_bytes = no_bytes,
                                            .window = same_columns,
                                            .chunks = carries_chunks,
                                            .placements = no_placements,
                                            .tell = nothing_told,
                                            .lower = lower};

}  // namespace colonnade
