// SPDX-License-Identifier: Apache-2.0
// Convolution along rows by Winograd's minimal filtering: of signals, and of filters that are no square or are dilated.
#include "kernels/row_winograd/row_winograd.hpp"

#include <fmt/core.h>

#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/contraction.hpp"
#include "families/dense_conv.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "families/window.hpp"

namespace colonnade {
namespace {

using kernels::row_winograd::Args;
using kernels::row_winograd::Filter;
using kernels::row_winograd::Kernel;
using kernels::row_winograd::Tile;

struct RowWinogradForm {
  Window window{};
  Filter filter{};
  std::size_t groups = 1;
  std::size_t inputs = 0, outputs = 0;  ///< channels of a group
  const Kernel* kernel = nullptr;
  bool far_weights = false;

  std::size_t packed_floats(std::size_t channels_out) const {
    return kernels::row_winograd::packed_floats(kernel->tile, filter, inputs, channels_out);
  }
  kernels::row_winograd::Work work(std::int64_t rows, std::int64_t width) const {
    return kernels::row_winograd::work(kernel->tile, filter, static_cast<std::size_t>(rows),
                                       static_cast<std::size_t>(width), inputs, outputs);
  }
};

/// Weights [out, in / groups, height, width] transformed and packed group by group.
WeightMemory pack_groups(const RowWinogradForm& form, const Constant& weight, WeightRoom& room) {
  const std::size_t n = form.outputs, row = form.inputs * form.filter.height * form.filter.width;
  const std::size_t floats = form.packed_floats(n);
  WeightMemory packed = room.take(form.groups * floats * sizeof(float));
  const auto multiple = static_cast<std::int64_t>(form.groups == 1 ? kernels::gemm::kPanel : n);
  weight.for_each_rows(multiple, [&](std::span<const float> elements, std::int64_t first) {
    const auto begin = static_cast<std::size_t>(first);
    const std::size_t end = begin + elements.size() / row;
    for (std::size_t o = begin, count = 0; o < end; o += count) {
      count = std::min(end - o, n - o % n);
      kernels::row_winograd::pack(form.kernel->tile, form.filter, elements.data() + (o - begin) * row, form.inputs,
                                  o % n, count, packed.floats() + o / n * floats);
    }
  });
  return packed;
}

class RowWinogradOp final : public RowOp {
 public:
  RowWinogradOp(const LowerContext& context, const Conv& conv)
      : form_(context.form<RowWinogradForm>()),
        chunks_(context.chunks),
        in_(context.in<float>(0)),
        out_(context.out<float>()),
        in_shape_(row_shape(context.input_shape(0))),
        out_shape_(row_shape(context.output_shape())) {
    const Tile tile = form_.kernel->tile;
    weights_ =
        context.packed(1, fmt::format("row_winograd/{}/{}/{}", tile.outputs, tile.taps, form_.groups),
                       [this](const Constant& weight, WeightRoom& room) { return pack_groups(form_, weight, room); });
    bias_ = context.floats(2);
    const LoweredEpilogue lowered = lower_epilogue(context, conv.epilogue, 3);
    epilogue_ = lowered.epilogue;
    residual_ = lowered.residual;
  }

  void run(const StepContext& step) const override {
    const std::int64_t rows = step.row_end - step.row_begin, begin = step.chunk < 0 ? 0 : chunks_.begin(step.chunk);
    const float** in_rows = step.pointers;
    const float** out_rows = in_rows + rows * form_.window.kernel_h;
    const float** residual_rows = out_rows + rows;
    const Rows in(step, in_, 0), out(step, out_, 0), residual(step, residual_, 0);
    const RowWindow row_window(in, out, 1, form_.window.pad_left);
    tap_rows(in, form_.window, row_window.skip, step.row_begin, step.row_end, in_shape_.rows, in_rows);
    for (std::int64_t r = 0; r < rows; ++r) {
      out_rows[r] = out(step.row_begin + r) + begin;
      residual_rows[r] = residual ? residual.at(step.row_begin + r, out.column_begin()) + begin : nullptr;
    }
    Args args = base_args(step, begin);
    args.in_rows = in_rows;
    args.out_rows = const_cast<float**>(out_rows);
    args.residual_rows = residual ? residual_rows : nullptr;
    args.width_in = static_cast<std::size_t>(row_window.width_in);
    args.width_out = static_cast<std::size_t>(row_window.width_out);
    args.pad_left = static_cast<std::size_t>(row_window.pad_left);
    args.in_pixel_stride = in.pixel_stride();
    args.out_pixel_stride = out.pixel_stride();
    args.residual_pixel_stride = residual.pixel_stride();
    run_groups(args, in_rows, out_rows, residual_rows);
  }

  std::size_t pointer_count(std::int64_t rows) const override {
    return static_cast<std::size_t>(rows * (form_.window.kernel_h + 2));
  }
  std::string_view kernel() const override { return form_.kernel->name; }

 private:
  Args base_args(const StepContext& step, std::int64_t begin) const {
    Args args;
    args.rows = static_cast<std::size_t>(step.row_end - step.row_begin);
    args.filter = form_.filter;
    args.channels_in = form_.inputs;
    args.channels_out =
        static_cast<std::size_t>(step.chunk < 0 ? out_shape_.channels : chunks_.size(step.chunk)) / form_.groups;
    args.weights = weights_ + form_.packed_floats(static_cast<std::size_t>(begin));
    args.bias = bias_ ? bias_ + begin : nullptr;
    args.epilogue = epilogue_;
    if (args.epilogue.activation.slope) args.epilogue.activation.slope += begin;
    args.far_weights = form_.far_weights;
    args.workspace = step.scratch;
    return args;
  }

  void run_groups(Args& args, const float** in_rows, const float** out_rows, const float** residual_rows) const {
    for (std::size_t g = 0;; ++g) {
      form_.kernel->run(args);
      if (g + 1 == form_.groups) return;
      for (std::size_t i = 0; i < args.rows * form_.filter.height; ++i)
        if (in_rows[i]) in_rows[i] += args.channels_in;
      for (std::size_t i = 0; i < args.rows; ++i) {
        out_rows[i] += args.channels_out;
        if (args.residual_rows) residual_rows[i] += args.channels_out;
      }
      args.weights += form_.packed_floats(args.channels_out);
      if (args.bias) args.bias += args.channels_out;
      if (args.epilogue.activation.slope) args.epilogue.activation.slope += args.channels_out;
    }
  }

  RowWinogradForm form_;
  ChunkInfo chunks_;
  ValueOf<float> in_, out_, residual_;
  RowShape in_shape_, out_shape_;
  const float* weights_ = nullptr;
  const float* bias_ = nullptr;
  kernels::Epilogue epilogue_;
};

/// What is left of the time of weights from beyond the second-level cache: they are fetched between the products.
constexpr double kFetched = 0.25;

/// Operations of the vector units' peak that a tile's convolution takes as long as, beside direct sums that leave out
/// the taps outside the image.
double tiles_flop(const Candidate& node, const RowWinogradForm& form) {
  const Blocking& blocking = node.blocking;
  const kernels::row_winograd::Work work = form.work(node.output_shape()[1], node.output_shape()[2]);
  const auto packed = static_cast<double>(form.packed_floats(form.outputs));
  const double inside = taps_inside(std::get<Conv>(node.node.op), node.input_shape(0), node.output_shape());
  return blocking.winograd_gain * static_cast<double>(form.groups) / inside *
         (work.multiply_flop / blocking.multiply_share + work.transform_flop / blocking.transform_share +
          kFetched * far_weights_flop(packed, work.weights_read, blocking));
}

/// Squares without a dilation have tiles in both directions; matrix units multiply direct sums.
Match match(const Candidate& node) {
  const Conv* conv = std::get_if<Conv>(&node.node.op);
  if (conv == nullptr || !dense_refusal(node).empty() || !may_reorder(node, *conv)) return refuse();
  const bool square = conv->kernel[0] == conv->kernel[1] && conv->dilations == Ints{1, 1};
  if (square || conv->kernel[1] == 1 || conv->strides != Ints{1, 1} || may_use_matrix_units(node, *conv))
    return refuse();
  RowWinogradForm form{window_of(node, *conv),
                       {static_cast<std::size_t>(conv->kernel[0]), static_cast<std::size_t>(conv->kernel[1]),
                        static_cast<std::size_t>(conv->dilations[1])},
                       static_cast<std::size_t>(conv->groups)};
  form.inputs = static_cast<std::size_t>(node.input_shape(1)[1]);
  form.outputs = static_cast<std::size_t>(node.input_shape(1)[0]) / form.groups;
  Match match;
  for (const Tile tile : kernels::row_winograd::kTiles) {
    if (tile.taps > form.filter.width) continue;
    form.kernel = &kernels::row_winograd::select(node.features, tile);
    form.far_weights = form.packed_floats(form.outputs) * sizeof(float) >
                       static_cast<std::size_t>(node.blocking.near_tile_weights_bytes);
    match.offers.push_back({.form = Form::of(form), .flop = tiles_flop(node, form)});
  }
  return match;
}

/// Products at the rate of direct sums of as many terms, transforms at the peak's share that the class of machine has.
Effort effort(const Chosen& node, const Rates& rates) {
  const auto& form = node.form<RowWinogradForm>();
  const kernels::row_winograd::Work work = form.work(node.output_shape()[1], node.output_shape()[2]);
  const auto images = static_cast<double>(form.groups) * static_cast<double>(node.output_shape()[0]);
  const auto terms = static_cast<double>(form.filter.terms(form.kernel->tile, form.inputs));
  constexpr double kTransformShare = 0.6;
  return {images * (rates.seconds(Work::contraction, work.multiply_flop, terms) +
                    work.transform_flop / (kTransformShare * rates.fma_gflops * 1e9)),
          0};
}

std::int64_t weights_bytes(const Chosen& node) {
  const auto& form = node.form<RowWinogradForm>();
  return static_cast<std::int64_t>(form.groups * sizeof(float) * form.packed_floats(form.outputs));
}

std::int64_t workspace_bytes(const Chosen& node) {
  const auto& form = node.form<RowWinogradForm>();
  return static_cast<std::int64_t>(sizeof(float) * kernels::row_winograd::workspace_floats(
                                                       form.kernel->tile, form.filter, form.inputs, form.outputs));
}

ColumnWindow columns(const Chosen& node) {
  const auto& form = node.form<RowWinogradForm>();
  ColumnWindow window = conv_columns(node, form.window);
  window.grain = static_cast<std::int64_t>(form.kernel->tile.outputs * form.filter.dilation);
  return window;
}

ChunkRule chunks(const Chosen& node) { return {.share = node.form<RowWinogradForm>().groups == 1 ? kPanel : 0}; }

Told tell(const Chosen& node) {
  const auto& form = node.form<RowWinogradForm>();
  const Tile tile = form.kernel->tile;
  const auto products = static_cast<double>(tile.inputs() * form.filter.parts(tile));
  return {static_cast<std::int64_t>(tile.outputs), 1, products / static_cast<double>(tile.outputs * form.filter.width)};
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  return std::make_unique<RowWinogradOp>(context, std::get<Conv>(context.node.op));
}

}  // namespace

constinit const Family families::row_winograd = {.name = "row_winograd",
                                                 .scope = Scope::rows,
                                                 .border = Border::none,
                                                 .types = kFloats,
                                                 .match = match,
                                                 .units = one_unit,
                                                 .effort = effort,
                                                 .weights_bytes = weights_bytes,
                                                 .workspace_bytes = workspace_bytes,
                                                 .window = columns,
                                                 .chunks = chunks,
                                                 .placements = no_placements,
                                                 .tell = tell,
                                                 .lower = lower};

}  // namespace colonnade
