// SPDX-License-Identifier: Apache-2.0
// Windows over rows of bytes: the largest, and averages of what they stand for.
#include "kernels/byte_pool/byte_pool.hpp"

#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/pool.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "families/window.hpp"

namespace colonnade {
namespace {

using kernels::byte_pool::Kind;
using kernels::byte_pool::Type;

struct BytePoolForm {
  Window window;
  Ints pads;
};

/// The pooling of a node of either operator; null of another.
const Pool* pool_of(const Operator& op) {
  if (const auto* average = std::get_if<ByteAverage>(&op)) return &average->window;
  return std::get_if<Pool>(&op);
}

std::size_t size(std::int64_t number) { return static_cast<std::size_t>(number); }

class BytePoolOp final : public RowOp {
 public:
  explicit BytePoolOp(const LowerContext& context)
      : kernel_(kernels::byte_pool::select(context.features)),
        window_(context.form<BytePoolForm>().window),
        in_(context.in<std::byte>(0)),
        out_(context.out<std::byte>()),
        in_shape_(row_shape(context.input_shape(0))) {
    const RowShape out = row_shape(context.output_shape());
    args_.kind = context.input(0).type.dtype == DType::i8 ? Kind::max_signed : Kind::max;
    args_.kernel_h = size(window_.kernel_h);
    args_.kernel_w = size(window_.kernel_w);
    args_.stride_w = size(window_.stride_w);
    args_.dilation_w = size(window_.dilation_w);
    args_.channels = size(out.channels);
    const auto* average = std::get_if<ByteAverage>(&context.node.op);
    if (average == nullptr) return;
    args_.kind = Kind::average;
    args_.x_zero = average->x_zero;
    args_.factor = average->factor;
    args_.type = average->out.to == DType::f32 ? Type::f32 : Type::u8;
    args_.zero = average->out.zero;
    args_.low = average->out.low;
    args_.high = average->out.high;
    const Ints& pads = context.form<BytePoolForm>().pads;
    const bool padded = average->window.count_include_pad;
    row_counts_ = tap_counts(out.rows, in_shape_.rows, window_.kernel_h, window_.stride_h, window_.dilation_h, pads[0],
                             pads[2], padded);
    column_counts_ = tap_counts(out.width, in_shape_.width, window_.kernel_w, window_.stride_w, window_.dilation_w,
                                pads[1], pads[3], padded);
  }

  void run(const StepContext& step) const override {
    const std::int64_t rows = step.row_end - step.row_begin;
    const auto** in_rows = reinterpret_cast<const std::byte**>(step.pointers);
    auto** out_rows = const_cast<std::byte**>(in_rows + rows * window_.kernel_h);
    const Rows in(step, in_, 0), out(step, out_, 0);
    const RowWindow row_window(in, out, window_.stride_w, window_.pad_left);
    tap_rows(in, window_, row_window.skip, step.row_begin, step.row_end, in_shape_.rows, in_rows);
    for (std::int64_t r = 0; r < rows; ++r) out_rows[r] = out(step.row_begin + r);
    kernels::byte_pool::Args args = args_;
    args.rows = size(rows);
    args.in_rows = reinterpret_cast<const std::uint8_t**>(in_rows);
    args.out_rows = out_rows;
    args.width_in = size(row_window.width_in);
    args.width_out = size(row_window.width_out);
    args.pad_left = size(row_window.pad_left);
    args.in_pixel_stride = in.pixel_stride();
    args.out_pixel_stride = out.pixel_stride();
    if (!row_counts_.empty()) {
      args.row_counts = row_counts_.data() + step.row_begin;
      args.column_counts = column_counts_.data() + out.column_begin();
    }
    kernel_.run(args);
  }

  std::size_t pointer_count(std::int64_t rows) const override { return size(rows * (window_.kernel_h + 1)); }
  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::byte_pool::Kernel& kernel_;
  Window window_;
  ValueOf<std::byte> in_, out_;
  RowShape in_shape_;
  kernels::byte_pool::Args args_;  ///< all but what a step says
  std::vector<float> row_counts_, column_counts_;
};

Match match(const Candidate& node) {
  const Pool* pool = pool_of(node.node.op);
  const Shape& in = node.input_shape(0);
  const bool averages = std::holds_alternative<ByteAverage>(node.node.op);
  if (pool == nullptr || in.size() != 4 || (!averages && pool->kind != PoolKind::max)) return refuse();
  if (node.input(0).type.dtype == DType::f32) return refuse();
  if (node.node.outputs.size() > 1 && node.node.outputs[1] != kAbsent) return refuse();
  const Ints pads = resolve_pads(*pool, std::span(in).subspan(1, 2));
  const auto at = [](const Ints& given, std::size_t i) { return given.empty() ? std::int64_t{1} : given[i]; };
  const Window window{pool->kernel[0],
                      pool->kernel[1],
                      at(pool->strides, 0),
                      at(pool->strides, 1),
                      at(pool->dilations, 0),
                      at(pool->dilations, 1),
                      pads[0],
                      pads[1]};
  return take(Form::of(BytePoolForm{window, pads}));
}

/// Against floats, by bytes.
constexpr double kShare = 0.25;

Effort effort(const Chosen& node, const Rates& rates) {
  const Window& window = node.form<BytePoolForm>().window;
  return {kShare * rates.seconds(Work::pool, flop_of(node.graph, node.node),
                                 static_cast<double>(window.kernel_h * window.kernel_w))};
}

ColumnWindow columns(const Chosen& node) { return window_columns(node.form<BytePoolForm>().window); }

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<BytePoolOp>(context); }

}  // namespace

constinit const Family families::byte_pool = {.name = "byte_pool",
                                              .scope = Scope::rows,
                                              .border = Border::none,
                                              .types = {DType::u8, DType::i8, DType::f32},
                                              .match = match,
                                              .units = one_unit,
                                              .effort = effort,
                                              .weights_bytes = no_bytes,
                                              .workspace_bytes = no_bytes,
                                              .window = columns,
                                              .chunks = no_chunks,
                                              .placements = no_placements,
                                              .tell = nothing_told,
                                              .lower = lower};

}  // namespace colonnade
