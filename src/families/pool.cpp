// SPDX-License-Identifier: Apache-2.0
#include "kernels/pool/pool.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/pool.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"

namespace colonnade {
namespace {

struct PoolForm {
  Ints pads;
};

class PoolOp final : public RowOp {
 public:
  PoolOp(const LowerContext& context, const Pool& pool)
      : kernel_(kernels::pool::select(context.features)),
        pool_(pool),
        in_(context.in<float>(0)),
        out_(context.out<float>()),
        in_shape_(row_shape(context.input_shape(0))),
        out_shape_(row_shape(context.output_shape())) {
    pads_ = context.form<PoolForm>().pads;
    row_counts_ = tap_counts(out_shape_.rows, in_shape_.rows, pool.kernel[0], pool.strides[0], pool.dilations[0],
                             pads_[0], pads_[2], pool.count_include_pad);
    column_counts_ = tap_counts(out_shape_.width, in_shape_.width, pool.kernel[1], pool.strides[1], pool.dilations[1],
                                pads_[1], pads_[3], pool.count_include_pad);
  }

  void run(const StepContext& step) const override {
    const std::int64_t rows = step.row_end - step.row_begin, taps = pool_.kernel[0];
    const float** in_rows = step.pointers;
    const float** out_rows = in_rows + rows * taps;
    const Rows in(step, in_, 0), out(step, out_, 0);
    const RowWindow row_window(in, out, pool_.strides[1], pads_[1]);
    for (std::int64_t r = 0; r < rows; ++r) {
      out_rows[r] = out(step.row_begin + r);
      for (std::int64_t k = 0; k < taps; ++k) {
        const std::int64_t y = (step.row_begin + r) * pool_.strides[0] - pads_[0] + k * pool_.dilations[0];
        in_rows[r * taps + k] = y < 0 || y >= in_shape_.rows ? nullptr : in(y) + row_window.skip * in.pixel_stride();
      }
    }
    kernels::pool::Args args;
    args.kind = pool_.kind == PoolKind::max ? kernels::pool::Kind::max : kernels::pool::Kind::average;
    args.rows = static_cast<std::size_t>(rows);
    args.in_rows = in_rows;
    args.out_rows = const_cast<float**>(out_rows);
    args.width_in = static_cast<std::size_t>(row_window.width_in);
    args.width_out = static_cast<std::size_t>(row_window.width_out);
    args.kernel_h = static_cast<std::size_t>(taps);
    args.kernel_w = static_cast<std::size_t>(pool_.kernel[1]);
    args.stride_w = static_cast<std::size_t>(pool_.strides[1]);
    args.dilation_w = static_cast<std::size_t>(pool_.dilations[1]);
    args.pad_left = static_cast<std::size_t>(row_window.pad_left);
    args.channels = static_cast<std::size_t>(out_shape_.channels);
    args.in_pixel_stride = in.pixel_stride();
    args.out_pixel_stride = out.pixel_stride();
    args.row_counts = row_counts_.data() + step.row_begin;
    args.column_counts = column_counts_.data() + out.column_begin();
    kernel_.run(args);
  }

  std::size_t pointer_count(std::int64_t rows) const override {
    return static_cast<std::size_t>(rows * (pool_.kernel[0] + 1));
  }
  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::pool::Kernel& kernel_;
  Pool pool_;
  ValueOf<float> in_, out_;
  RowShape in_shape_, out_shape_;
  Ints pads_;
  std::vector<float> row_counts_, column_counts_;
};

Match match(const Candidate& node) {
  const Pool* pool = std::get_if<Pool>(&node.node.op);
  if (pool == nullptr) return refuse();
  if (pool->kind == PoolKind::lp) return refuse("no kernel for this pooling");
  const Shape& in = node.input_shape(0);
  if (in.size() != 4) return refuse("only two spatial axes have a kernel");
  if (node.node.outputs.size() > 1 && node.node.outputs[1] != kAbsent) return refuse("indices are asked for");
  return take(Form::of(PoolForm{resolve_pads(*pool, std::span(in).subspan(1, 2))}));
}

Effort effort(const Chosen& node, const Rates& rates) {
  const Pool& pool = std::get<Pool>(node.node.op);
  return {
      rates.seconds(Work::pool, flop_of(node.graph, node.node), static_cast<double>(pool.kernel[0] * pool.kernel[1]))};
}

ColumnWindow columns(const Chosen& node) {
  const Pool& pool = std::get<Pool>(node.node.op);
  ColumnWindow window{true};
  window.kernel = pool.kernel[1], window.stride = pool.strides[1], window.dilation = pool.dilations[1];
  window.pad = node.form<PoolForm>().pads[1];
  return window;
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  return std::make_unique<PoolOp>(context, std::get<Pool>(context.node.op));
}

}  // namespace

std::vector<float> tap_counts(std::int64_t outputs, std::int64_t size, std::int64_t kernel, std::int64_t stride,
                              std::int64_t dilation, std::int64_t pad_begin, std::int64_t pad_end, bool include_pad) {
  const std::int64_t low = include_pad ? -pad_begin : 0, high = include_pad ? size + pad_end : size;
  // the first tap at or behind a position: windows of hostile models are too long to walk along
  const auto tap_at = [&](std::int64_t distance) {
    return std::clamp<std::int64_t>(distance <= 0 ? 0 : ceil_div(distance, dilation), 0, kernel);
  };
  std::vector<float> counts;
  for (std::int64_t i = 0; i < outputs; ++i) {
    const std::int64_t start = i * stride - pad_begin;
    counts.push_back(static_cast<float>(std::max<std::int64_t>(1, tap_at(high - start) - tap_at(low - start))));
  }
  return counts;
}

constinit const Family families::pool = {.name = "pool",
                                         .scope = Scope::rows,
                                         .border = Border::none,
                                         .types = kFloats,
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
