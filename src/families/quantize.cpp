// SPDX-License-Identifier: Apache-2.0
// Numbers as bytes that stand for them, and back, row by row: by one scale and zero point, or by those of each image,
// row, column or channel.
#include <vector>

#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "kernels/bytes/bytes.hpp"

namespace colonnade {
namespace {

using kernels::bytes::Type;

/// What has parameters of its own.
enum class Each : std::uint8_t { tensor, image, row, column, channel };

struct QuantForm {
  Type integers;
  Each each = Each::tensor;
  std::int64_t count = 1;  ///< of parameters
};

/// A parameter, as it is when a step runs: constant, repeated to the number asked for, or computed.
class Parameter {
 public:
  Parameter(const LowerContext& context, std::size_t index, std::int64_t count, std::size_t bytes)
      : value_(context.in<std::byte>(index)), constant_(context.bytes(index)) {
    const bool each = value_ && element_count(context.input_shape(index)) == count;
    if (value_ && (each || constant_ == nullptr)) return;
    auto repeated = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(count) * bytes);
    for (std::size_t i = 0; constant_ != nullptr && i < repeated->size(); i += bytes)
      std::copy_n(constant_, bytes, repeated->data() + i);
    constant_ = repeated->data();
    context.owned.push_back(std::move(repeated));
  }
  const std::byte* at(const StepContext& step) const { return constant_ ? constant_ : whole(step, value_); }

 private:
  ValueOf<std::byte> value_;
  const std::byte* constant_;
};

class QuantOp final : public RowOp {
 public:
  explicit QuantOp(const LowerContext& context)
      : kernel_(kernels::bytes::select(context.features)),
        form_(context.form<QuantForm>()),
        chunks_(context.chunks),
        in_(context.in<std::byte>(0)),
        out_(context.out<std::byte>()),
        in_bytes_(element_bytes(context.input(0))),
        out_bytes_(element_bytes(context.graph.value(context.node.outputs[0]))),
        zero_bytes_(std::holds_alternative<Quantize>(context.node.op) ? out_bytes_ : in_bytes_),
        scale_(context, 1, form_.count, sizeof(float)),
        zero_(context, 2, form_.count, static_cast<std::size_t>(zero_bytes_)),
        shape_(row_shape(context.output_shape())) {
    if (std::holds_alternative<Quantize>(context.node.op))
      quantize_ = kernel_.quantize(form_.integers);
    else
      dequantize_ = kernel_.dequantize(form_.integers);
  }

  void run(const StepContext& step) const override {
    const std::int64_t chunk = std::max<std::int64_t>(0, step.chunk);
    const Rows in(step, in_, chunk), out(step, out_, chunk);
    kernels::bytes::Pixels rows;
    rows.channels = static_cast<std::size_t>(step.chunk < 0 ? shape_.channels : chunks_.size(step.chunk));
    rows.in_pixel_stride = in.pixel_stride() / in_bytes_;
    rows.out_pixel_stride = out.pixel_stride() / out_bytes_;
    const std::int64_t width = out.width();
    const bool apart = form_.each == Each::column || (form_.each == Each::row && width > 1);
    for (std::int64_t r = step.row_begin; r < step.row_end;) {
      const std::int64_t end = apart ? r + 1 : run_end({&in, &out}, r, step.row_end, width);
      rows.pixels = static_cast<std::size_t>((end - r) * width);
      const auto parameters = parameters_at(step, r, out.column_begin(), width);
      const std::byte* from = in.at(r, out.column_begin());
      if (quantize_ != nullptr)
        quantize_({rows, parameters, reinterpret_cast<const float*>(from), out(r)});
      else
        dequantize_({rows, parameters, from, reinterpret_cast<float*>(out(r))});
      r = end;
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  /// From a row on.
  kernels::bytes::Parameters parameters_at(const StepContext& step, std::int64_t row, std::int64_t column,
                                           std::int64_t width) const {
    std::int64_t first = 0;
    std::ptrdiff_t pixel_step = 0, channel_step = 0;
    switch (form_.each) {
      case Each::tensor: break;
      case Each::image: first = step.image; break;
      case Each::row:
        first = row;
        pixel_step = width == 1 ? 1 : 0;
        break;
      case Each::column:
        first = column;
        pixel_step = 1;
        break;
      case Each::channel:
        first = step.chunk < 0 ? 0 : chunks_.begin(step.chunk);
        channel_step = 1;
        break;
    }
    return {reinterpret_cast<const float*>(scale_.at(step)) + first, zero_.at(step) + first * zero_bytes_, pixel_step,
            channel_step};
  }

  const kernels::bytes::Kernel& kernel_;
  QuantForm form_;
  kernels::bytes::QuantizeFn quantize_ = nullptr;
  kernels::bytes::DequantizeFn dequantize_ = nullptr;
  ChunkInfo chunks_;
  ValueOf<std::byte> in_, out_;
  std::int64_t in_bytes_, out_bytes_, zero_bytes_;
  Parameter scale_, zero_;
  RowShape shape_;
};

/// What an axis is to rows; nothing where several axes are one width.
std::optional<Each> each_of(std::int64_t axis, std::int64_t rank) {
  if (axis == rank - 1) return Each::channel;
  if (rank == 2 || axis == 1) return Each::row;
  if (axis == 0) return Each::image;
  return rank == 4 ? std::optional(Each::column) : std::nullopt;
}

Match match(const Candidate& node, std::int64_t axis, Type integers) {
  QuantForm form{integers};
  for (const std::size_t input : {1, 2})
    if (node.has_input(input)) form.count = std::max(form.count, element_count(node.input_shape(input)));
  if (form.count == 1) return take(Form::of(form));
  for (const std::size_t input : {1, 2})
    if (!node.constant_or_absent(input) && element_count(node.input_shape(input)) != form.count)
      return refuse("one computed parameter beside several");
  const auto rank = static_cast<std::int64_t>(node.input_shape(0).size());
  const auto each = each_of(normalize_axis(axis, rank, node.node), rank);
  if (!each) return refuse("parameters along a folded axis");
  form.each = *each;
  return take(Form::of(form));
}

Type integers_of(DType dtype) {
  if (dtype == DType::i8) return Type::i8;
  if (dtype == DType::i16) return Type::i16;
  if (dtype == DType::u16) return Type::u16;
  return dtype == DType::i32 ? Type::i32 : Type::u8;
}

Match match_quantize(const Candidate& node) {
  const auto* op = std::get_if<Quantize>(&node.node.op);
  return op == nullptr ? refuse() : match(node, op->axis, integers_of(op->to));
}

Match match_dequantize(const Candidate& node) {
  const auto* op = std::get_if<Dequantize>(&node.node.op);
  if (op == nullptr || op->block != 0) return refuse();
  return match(node, op->axis, integers_of(node.input(0).type.dtype));
}

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<QuantOp>(context); }

constexpr Family row_of(std::string_view name, TypeSet types, Match (*match)(const Candidate&)) {
  return {.name = name,
          .scope = Scope::rows,
          .border = Border::none,
          .types = types,
          .match = match,
          .units = one_unit,
          .effort = element_effort<Work::arithmetic>,
          .weights_bytes = no_bytes,
          .workspace_bytes = no_bytes,
          .window = same_columns,
          .chunks = carries_chunks,
          .placements = no_placements,
          .tell = nothing_told,
          .lower = lower};
}

}  // namespace

constinit const Family families::quantize =
    row_of("quantize", {DType::f32, DType::u8, DType::i8, DType::u16, DType::i16}, match_quantize);
constinit const Family families::dequantize =
    row_of("dequantize", {DType::u8, DType::i8, DType::i32, DType::f32}, match_dequantize);

}  // namespace colonnade
