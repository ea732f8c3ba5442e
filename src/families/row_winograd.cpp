// SPDX-License-Identifier: Apache-2.0
// Convolution along rows or down columns by Winograd's minimal filtering: of signals, and of filters that are no square
// or are dilated.
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
  bool down = false;
  Filter filter{};
  std::size_t groups = 1;
  std::size_t inputs = 0, outputs = 0;  ///< channels of a group
  const Kernel* kernel = nullptr;
  bool far_weights = false;

  std::size_t packed_floats(std::size_t channels_out) const {
    return kernels::row_winograd::packed_floats(kernel->tile, filter, inputs, channels_out);
  }
  /// Rows and columns that are computed together.
  std::int64_t span() const { return static_cast<std::int64_t>(kernel->tile.outputs * filter.dilation); }
  /// Of an image of so many rows and columns.
  kernels::row_winograd::Work work(const Shape& image) const {
    const auto rows = static_cast<std::size_t>(image[1]), width = static_cast<std::size_t>(image[2]);
    return kernels::row_winograd::work(kernel->tile, filter, down ? width : rows, down ? rows : width, inputs, outputs);
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
    const std::int64_t begin = step.chunk < 0 ? 0 : chunks_.begin(step.chunk);
    const Rows in(step, in_, 0), out(step, out_, 0), residual(step, residual_, 0);
    const RowWindow row_window(in, out, 1, form_.window.pad_left);
    Table table = form_.down ? table_down(step, in, row_window.skip) : table_along(step, in, row_window.skip);
    for (std::int64_t i = 0; i < table.outputs; ++i) {
      const std::int64_t r = form_.down ? row_of(step, i) : step.row_begin + i;
      const bool is_there = r < step.row_end;
      table.out[i] = is_there ? out(r) + begin : nullptr;
      table.residual[i] = residual && is_there ? residual.at(r, out.column_begin()) + begin : nullptr;
    }
    Args args = base_args(step, begin);
    args.rows = static_cast<std::size_t>(table.rows);
    args.in_rows = table.in;
    args.out_rows = const_cast<float**>(table.out);
    args.residual_rows = residual ? table.residual : nullptr;
    args.width_in = static_cast<std::size_t>(row_window.width_in);
    args.width_out = static_cast<std::size_t>(row_window.width_out);
    args.pad_left = static_cast<std::size_t>(row_window.pad_left);
    args.in_pixel_stride = in.pixel_stride();
    args.out_pixel_stride = out.pixel_stride();
    args.residual_pixel_stride = residual.pixel_stride();
    run_groups(args, table);
  }

  std::size_t pointer_count(std::int64_t rows) const override {
    const auto outputs = static_cast<std::int64_t>(form_.kernel->tile.outputs);
    if (!form_.down) return static_cast<std::size_t>(rows * (form_.window.kernel_h + 2));
    const std::int64_t tile_rows = ceil_div(rows, form_.span()) * form_.window.dilation_h;
    return static_cast<std::size_t>(tile_rows * (inputs_of_row() + 2 * outputs));
  }
  std::string_view kernel() const override { return form_.kernel->name; }

 private:
  /// What a call reads and writes, all of it pointers to rows.
  struct Table {
    std::int64_t rows;  ///< Args::rows
    std::int64_t inputs, outputs;
    const float** in;
    const float** out;
    const float** residual;
  };

  Table table_of(const StepContext& step, std::int64_t rows, std::int64_t inputs, std::int64_t outputs) const {
    const float** const in = step.pointers;
    return {rows, rows * inputs, rows * outputs, in, in + rows * inputs, in + rows * (inputs + outputs)};
  }
  Table table_along(const StepContext& step, const Rows<float>& in, std::int64_t skip) const {
    const Table table = table_of(step, step.row_end - step.row_begin, form_.window.kernel_h, 1);
    tap_rows(in, form_.window, skip, step.row_begin, step.row_end, in_shape_.rows, table.in);
    return table;
  }

  /// Inputs of a row of tiles that go down.
  std::int64_t inputs_of_row() const {
    const Tile tile = form_.kernel->tile;
    return static_cast<std::int64_t>(form_.filter.parts(tile) * tile.inputs());
  }
  /// The row of an output of the rows of tiles of a step: those that a dilation interleaves follow each other.
  std::int64_t row_of(const StepContext& step, std::int64_t output) const {
    const auto outputs = static_cast<std::int64_t>(form_.kernel->tile.outputs), dilation = form_.window.dilation_h;
    const std::int64_t row = output / outputs;
    return step.row_begin + row / dilation * form_.span() + row % dilation + output % outputs * dilation;
  }
  Table table_down(const StepContext& step, const Rows<float>& in, std::int64_t skip) const {
    const Tile tile = form_.kernel->tile;
    const auto outputs = static_cast<std::int64_t>(tile.outputs), points = static_cast<std::int64_t>(tile.inputs()),
               taps = static_cast<std::int64_t>(tile.taps);
    const std::int64_t blocks = ceil_div(step.row_end - step.row_begin, form_.span());
    const Table table = table_of(step, blocks * form_.window.dilation_h, inputs_of_row(), outputs);
    // Of the last pixels of the last part no tap reads some; of what is not written none reads any.
    const std::int64_t read = outputs - 1 + form_.window.kernel_h;
    const float** to = table.in;
    for (std::int64_t row = 0; row < table.rows; ++row)
      for (std::int64_t i = 0; i < inputs_of_row(); ++i) {
        const std::int64_t at = i / points * taps + i % points;
        const std::int64_t first = row_of(step, row * outputs);
        const std::int64_t y = first + at * form_.window.dilation_h - form_.window.pad_top;
        const bool is_read = at < read && y < end_of(step) && first < step.row_end;
        *to++ = is_read && y >= 0 && y < in_shape_.rows ? in(y) + skip * in.pixel_stride() : nullptr;
      }
    return table;
  }
  /// Of the rows that the outputs of a step read.
  std::int64_t end_of(const StepContext& step) const {
    return step.row_end - form_.window.pad_top + (form_.window.kernel_h - 1) * form_.window.dilation_h;
  }

  Args base_args(const StepContext& step, std::int64_t begin) const {
    Args args;
    args.down = form_.down;
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

  void run_groups(Args& args, const Table& table) const {
    const auto advance = [](const float** rows, std::int64_t count, std::size_t channels) {
      for (std::int64_t i = 0; i < count; ++i)
        if (rows[i]) rows[i] += channels;
    };
    for (std::size_t g = 0;; ++g) {
      form_.kernel->run(args);
      if (g + 1 == form_.groups) return;
      advance(table.in, table.inputs, args.channels_in);
      advance(table.out, table.outputs, args.channels_out);
      if (args.residual_rows) advance(table.residual, table.outputs, args.channels_out);
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

/// Operations of the vector units' peak that a tile's convolution takes as long as, beside direct sums that leave out
/// the taps outside the image.
double tiles_flop(const Candidate& node, const RowWinogradForm& form) {
  const Blocking& blocking = node.blocking;
  const kernels::row_winograd::Work work = form.work(node.output_shape());
  const auto packed = static_cast<double>(form.packed_floats(form.outputs));
  const double inside = taps_inside(std::get<Conv>(node.node.op), node.input_shape(0), node.output_shape());
  return blocking.winograd_gain * static_cast<double>(form.groups) / inside *
         (work.multiply_flop / blocking.multiply_share + work.transform_flop / blocking.transform_share +
          blocking.fetched_share * far_weights_flop(packed, work.weights_read, blocking));
}

/// How tiles see a convolution: a filter of one column down the rows, others along them. Squares without a dilation
/// have tiles in both directions, and most with one; matrix units multiply direct sums.
std::optional<RowWinogradForm> form_of(const Candidate& node, const Conv& conv) {
  if (conv.strides != Ints{1, 1} || may_use_matrix_units(node, conv)) return std::nullopt;
  if (conv.kernel[0] == conv.kernel[1] && conv.dilations == Ints{1, 1}) return std::nullopt;
  RowWinogradForm form{window_of(node, conv)};
  const Window& window = form.window;
  const auto size = [](std::int64_t x) { return static_cast<std::size_t>(x); };
  form.down = window.kernel_w == 1;
  form.filter = form.down ? Filter{1, size(window.kernel_h), size(window.dilation_h)}
                          : Filter{size(window.kernel_h), size(window.kernel_w), size(window.dilation_w)};
  if (form.down && (window.pad_left != 0 || node.input_shape(0)[2] != node.output_shape()[2])) return std::nullopt;
  form.groups = size(conv.groups);
  form.inputs = size(node.input_shape(1)[1]);
  form.outputs = size(node.input_shape(1)[0]) / form.groups;
  return form;
}

Match match(const Candidate& node) {
  const Conv* conv = std::get_if<Conv>(&node.node.op);
  if (conv == nullptr || !dense_refusal(node).empty() || !may_reorder(node, *conv)) return refuse();
  auto form = form_of(node, *conv);
  if (!form) return refuse();
  Match match;
  for (const Tile tile : kernels::row_winograd::kTiles) {
    if (tile.taps > form->filter.width) continue;
    form->kernel = &kernels::row_winograd::select(node.features, tile);
    form->far_weights = form->packed_floats(form->outputs) * sizeof(float) >
                        static_cast<std::size_t>(node.blocking.near_tile_weights_bytes);
    match.offers.push_back(
        {Form::of(*form), form->down ? form->span() : 1, kernels::Encoding::f32, tiles_flop(node, *form)});
  }
  return match;
}

/// Products at the rate of direct sums of as many terms, transforms at a share of the peak.
Effort effort(const Chosen& node, const Rates& rates) {
  const auto& form = node.form<RowWinogradForm>();
  const kernels::row_winograd::Work work = form.work(node.output_shape());
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
  if (!form.down) window.grain = form.span();
  return window;
}

ChunkRule chunks(const Chosen& node) { return {.share = node.form<RowWinogradForm>().groups == 1 ? kPanel : 0}; }

Told tell(const Chosen& node) {
  const auto& form = node.form<RowWinogradForm>();
  const Tile tile = form.kernel->tile;
  const auto products = static_cast<double>(tile.inputs() * form.filter.parts(tile));
  const auto outputs = static_cast<std::int64_t>(tile.outputs);
  return {form.down ? 1 : outputs, form.down ? outputs : 1,
          products / static_cast<double>(tile.outputs * form.filter.width)};
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
