// SPDX-License-Identifier: Apache-2.0
// Convolution by Winograd's minimal filtering.
#include "families/winograd.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/contraction.hpp"
#include "families/dense_conv.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "families/window.hpp"
#include "kernels/winograd/winograd.hpp"

namespace colonnade {
namespace {

using kernels::Encoding;

constexpr double kNever = std::numeric_limits<double>::infinity();

struct WinogradForm {
  Window window{};
  kernels::winograd::Filter filter{};
  std::size_t groups = 1;               ///< as the kernel takes them
  std::size_t merged = 1;               ///< groups of the convolution in each, whose weights for others' channels are 0
  std::size_t inputs = 0, outputs = 0;  ///< channels of a group as tiles see them
  const kernels::winograd::Kernel* kernel = nullptr;
  bool far_weights = false;

  /// Transformed weights of a group, as floats.
  std::size_t weights() const { return kernels::winograd::packed_floats(Encoding::f32, kernel->tile, inputs, outputs); }
  std::int64_t tile() const { return static_cast<std::int64_t>(kernel->tile.outputs); }
  /// Rows of output that tiles share, which a dilation interleaves.
  std::int64_t span() const { return tile() * window.dilation_h; }
};

/// Groups of so many channels that are taken together: tiles have room for a line of them, whether they are there or
/// not. More are no faster.
std::size_t merged_groups(const Conv& conv, std::int64_t inputs, std::int64_t outputs) {
  std::int64_t merged = 1;
  while (inputs > 1 && conv.groups % (2 * merged) == 0 && 2 * merged * std::max(inputs, outputs) <= kPanel) merged *= 2;
  return static_cast<std::size_t>(merged);
}

/// Rows of weights of `merged` groups, `row` floats each, as those of one: with zeros for the channels of the others.
/// `first` is the first one's output channel, of `outputs` in a group before.
std::vector<float> spread(std::span<const float> rows, std::size_t row, std::size_t merged, std::size_t first,
                          std::size_t outputs) {
  std::vector<float> wide(rows.size() * merged);
  for (std::size_t i = 0; i * row < rows.size(); ++i) {
    const std::size_t group = (first + i) / outputs % merged;
    std::ranges::copy(rows.subspan(i * row, row),
                      wide.begin() + static_cast<std::ptrdiff_t>((i * merged + group) * row));
  }
  return wide;
}

/// Weights [out, in / groups, kernel, kernel] transformed and packed group by group, `merged` of them as one.
WeightMemory pack_groups(const kernels::winograd::Kernel& kernel, kernels::winograd::Filter filter,
                         const Constant& weight, std::size_t groups, std::size_t merged, WeightRoom& room) {
  const bool pieces = kernel.encoding == Encoding::bf16x3;
  const kernels::winograd::Tile tile = kernel.tile;
  const std::size_t n = static_cast<std::size_t>(weight.shape()[0]) / groups;
  const std::size_t k = static_cast<std::size_t>(weight.shape()[1]) * merged;
  const std::size_t channels = filter.channels(k), row = filter.kernel * filter.kernel * k;
  const std::size_t floats = kernels::winograd::packed_floats(kernel.encoding, tile, channels, n);
  WeightMemory packed = room.take(groups * floats * sizeof(float));
  const auto multiple = static_cast<std::int64_t>(groups == 1 ? kernels::gemm::kPanel : n);
  weight.for_each_rows(multiple, [&](std::span<const float> elements, std::int64_t first) {
    std::vector<float> panel(pieces ? kernels::winograd::packed_floats(Encoding::f32, tile, channels, 1) : 0);
    const auto begin = static_cast<std::size_t>(first);
    std::vector<float> wide;
    if (merged > 1) elements = wide = spread(elements, row / merged, merged, begin, n / merged);
    const std::size_t end = begin + elements.size() / row;
    for (std::size_t o = begin, count = 0; o < end; o += count) {
      count = std::min(end - o, n - o % n);
      const float* from = elements.data() + (o - begin) * row;
      float* const to = packed.floats() + o / n * floats;
      if (pieces)
        kernels::winograd::pack_pieces(tile, filter, from, k, o % n, count, panel.data(), to);
      else
        kernels::winograd::pack(tile, filter, from, k, o % n, count, to);
    }
  });
  return packed;
}

class WinogradOp final : public RowOp {
 public:
  WinogradOp(const LowerContext& context, const Conv& conv)
      : tile_(context.form<WinogradForm>().tile()),
        filter_(context.form<WinogradForm>().filter),
        parts_(static_cast<std::int64_t>(filter_.parts())),
        halo_(static_cast<std::int64_t>(filter_.taps()) - 1),
        dilation_(context.form<WinogradForm>().window.dilation_h),
        kernel_(*context.form<WinogradForm>().kernel),
        far_weights_(context.form<WinogradForm>().far_weights),
        window_(context.form<WinogradForm>().window),
        groups_(context.form<WinogradForm>().groups),
        merged_(context.form<WinogradForm>().merged),
        chunks_(context.chunks),
        in_(context.in<float>(0)),
        out_(context.out<float>()),
        in_shape_(row_shape(context.input_shape(0))),
        out_shape_(row_shape(context.output_shape())) {
    weights_ =
        context.packed(1,
                       fmt::format("winograd/{}{}/{}/{}{}", kernel_.encoding == Encoding::bf16x3 ? "pieces/" : "",
                                   tile_, filter_.stride, groups_, merged_ > 1 ? fmt::format("x{}", merged_) : ""),
                       [this](const Constant& weight, WeightRoom& room) {
                         return pack_groups(kernel_, filter_, weight, groups_, merged_, room);
                       });
    bias_ = context.floats(2);
    const LoweredEpilogue lowered = lower_epilogue(context, conv.epilogue, 3);
    epilogue_ = lowered.epilogue;
    residual_ = lowered.residual;
  }

  void run(const StepContext& step) const override {
    const std::int64_t begin = step.chunk < 0 ? 0 : chunks_.begin(step.chunk);
    const Rows in(step, in_, 0), out(step, out_, 0), residual(step, residual_, 0);
    const RowWindow row_window(in, out, window_.stride_w, window_.pad_left);
    const Table table = table_of(step, step.row_end - step.row_begin);
    set_inputs(step, table, in, row_window.skip);
    for (std::int64_t i = 0; i < table.outputs; ++i) {
      const std::int64_t r = step.row_begin + row_of(i / tile_) + i % tile_ * dilation_;
      table.out[i] = r < step.row_end ? out(r) + begin : nullptr;
      table.residual[i] = residual && r < step.row_end ? residual.at(r, out.column_begin()) + begin : nullptr;
    }
    kernels::winograd::Args args;
    args.tile_rows = static_cast<std::size_t>(table.outputs / tile_);
    args.in_rows = table.in;
    args.out_rows = const_cast<float**>(table.out);
    args.residual_rows = residual ? table.residual : nullptr;
    args.width_in = static_cast<std::size_t>(row_window.width_in);
    args.width_out = static_cast<std::size_t>(row_window.width_out);
    args.pad_left = static_cast<std::size_t>(row_window.pad_left);
    args.filter = filter_;
    args.dilation = static_cast<std::size_t>(dilation_);
    args.channels_in = static_cast<std::size_t>(in_shape_.channels) / groups_;
    args.channels_out =
        static_cast<std::size_t>(step.chunk < 0 ? out_shape_.channels : chunks_.size(step.chunk)) / groups_;
    args.in_pixel_stride = in.pixel_stride();
    args.out_pixel_stride = out.pixel_stride();
    args.residual_pixel_stride = residual.pixel_stride();
    args.weights = weights_ + packed_floats(args, static_cast<std::size_t>(begin));
    args.bias = bias_ ? bias_ + begin : nullptr;
    args.epilogue = epilogue_;
    if (args.epilogue.activation.slope) args.epilogue.activation.slope += begin;
    args.far_weights = far_weights_;
    args.workspace = step.scratch;
    run_groups(args, table);
  }

  std::size_t pointer_count(std::int64_t rows) const override {
    const std::int64_t outputs = outputs_of(rows);
    return static_cast<std::size_t>(inputs_of(outputs) + 2 * outputs);
  }
  std::string_view kernel() const override { return kernel_.name; }

 private:
  /// Of weights of so many output channels of a group.
  std::size_t packed_floats(const kernels::winograd::Args& args, std::size_t channels_out) const {
    return kernels::winograd::packed_floats(kernel_.encoding, kernel_.tile, filter_.channels(args.channels_in),
                                            channels_out);
  }

  /// What a call reads and writes, all of it pointers to rows.
  struct Table {
    std::int64_t inputs, outputs;
    const float** in;
    const float** out;
    const float** residual;
  };

  /// Outputs of the rows of tiles that so many rows take.
  std::int64_t outputs_of(std::int64_t rows) const {
    return tile_ *
           static_cast<std::int64_t>(kernels::winograd::tiles_across(
               static_cast<std::size_t>(tile_), static_cast<std::size_t>(dilation_), static_cast<std::size_t>(rows)));
  }
  std::int64_t inputs_of(std::int64_t outputs) const {
    return dilation_ > 1 ? outputs / tile_ * (tile_ + halo_) : (outputs + halo_) * parts_;
  }
  Table table_of(const StepContext& step, std::int64_t rows) const {
    const std::int64_t outputs = outputs_of(rows), inputs = inputs_of(outputs);
    const float** const in = step.pointers;
    return {inputs, outputs, in, in + inputs, in + inputs + outputs};
  }

  /// The first output of a row of tiles of a step.
  std::int64_t row_of(std::int64_t tile_row) const {
    return tile_row / dilation_ * dilation_ * tile_ + tile_row % dilation_;
  }

  void set_inputs(const StepContext& step, const Table& table, const Rows<float>& in, std::int64_t skip) const {
    const std::int64_t first = step.row_begin * window_.stride_h - window_.pad_top;
    const std::int64_t last = (step.row_end - step.row_begin - 1) * window_.stride_h;
    const std::int64_t end = std::min(first + last + (window_.kernel_h - 1) * dilation_ + 1, in_shape_.rows);
    const auto row = [&](std::int64_t y) { return y < 0 || y >= end ? nullptr : in(y) + skip * in.pixel_stride(); };
    const float** to = table.in;
    const auto apart = static_cast<std::int64_t>(filter_.step());
    if (dilation_ == 1) {
      for (std::int64_t i = 0; i < table.outputs + halo_; ++i)
        for (std::int64_t part = 0; part < parts_; ++part) *to++ = row(first + i * window_.stride_h + part * apart);
      return;
    }
    for (std::int64_t t = 0; t < table.outputs / tile_; ++t)
      for (std::int64_t i = 0; i < tile_ + halo_; ++i) *to++ = row(first + row_of(t) + i * dilation_);
  }

  void run_groups(kernels::winograd::Args& args, const Table& table) const {
    const auto advance = [](const float** rows, std::int64_t count, std::size_t channels) {
      for (std::int64_t i = 0; i < count; ++i)
        if (rows[i]) rows[i] += channels;
    };
    for (std::size_t g = 0; g < groups_; ++g) {
      kernel_.run(args);
      if (g + 1 == groups_) return;
      advance(table.in, table.inputs, args.channels_in);
      advance(table.out, table.outputs, args.channels_out);
      if (args.residual_rows) advance(table.residual, table.outputs, args.channels_out);
      args.weights += packed_floats(args, args.channels_out);
      if (args.bias) args.bias += args.channels_out;
      if (args.epilogue.activation.slope) args.epilogue.activation.slope += args.channels_out;
    }
  }

  std::int64_t tile_;  ///< output rows
  kernels::winograd::Filter filter_;
  std::int64_t parts_;
  std::int64_t halo_;  ///< rows of parts that a tile reads more
  std::int64_t dilation_;
  const kernels::winograd::Kernel& kernel_;
  bool far_weights_;
  Window window_;
  std::size_t groups_, merged_;
  ChunkInfo chunks_;
  ValueOf<float> in_, out_, residual_;
  RowShape in_shape_, out_shape_;
  const float* weights_ = nullptr;
  const float* bias_ = nullptr;
  kernels::Epilogue epilogue_;
};

/// Matrix units multiply channels in pairs of panels.
double pieces_padding(std::size_t channels) {
  const auto count = static_cast<std::int64_t>(channels);
  return static_cast<double>(round_up(count, 2 * kPanel)) / static_cast<double>(round_up(count, kPanel));
}

/// Operations of the vector units' peak that a tile's convolution takes as long as; infinite where it is no good.
double tiles_flop(const Candidate& node, const WinogradForm& form) {
  constexpr kernels::winograd::Tile kSixes{6, 3};
  const kernels::winograd::Tile tile = form.kernel->tile;
  const Encoding encoding = form.kernel->encoding;
  const bool pieces = encoding == Encoding::bf16x3;
  const Blocking& blocking = node.blocking;
  const auto dilation = static_cast<std::size_t>(form.window.dilation_h);
  const auto covered = [&](std::int64_t pixels) {
    return tile.outputs * kernels::winograd::tiles_across(tile.outputs, dilation, static_cast<std::size_t>(pixels));
  };
  const std::size_t height = covered(node.output_shape()[1]), width = covered(node.output_shape()[2]);
  const kernels::winograd::Work work =
      kernels::winograd::work(encoding, tile, height, width, form.inputs, form.outputs, form.far_weights);
  const auto floats = [](std::int64_t bytes) { return static_cast<double>(bytes) / sizeof(float); };
  const auto packed = static_cast<double>(kernels::winograd::packed_floats(encoding, tile, form.inputs, form.outputs));
  const bool far = packed > floats(blocking.near_weights_bytes);
  const std::int64_t near_sixes =
      form.kernel->isa < kernels::Isa::avx512 ? blocking.narrow_sixes_bytes : blocking.near_sixes_bytes;
  if (tile == kSixes && work.block_floats > floats(far ? blocking.far_sixes_bytes : near_sixes)) return kNever;
  if (pieces && far) return kNever;
  const double multiply = pieces ? pieces_padding(form.inputs) * pieces_padding(form.outputs) * work.multiply_flop /
                                           blocking.pieces.tile_speed +
                                       blocking.pieces.split_flop * work.split_floats
                                 : work.multiply_flop / blocking.multiply_share;
  // Direct sums leave out the taps outside the image, which a dilation makes many.
  const double inside =
      dilation > 1 ? taps_inside(std::get<Conv>(node.node.op), node.input_shape(0), node.output_shape()) : 1;
  const double parts = form.filter.parts() > 1 ? blocking.part_flop * work.input_floats : 0;
  return blocking.winograd_gain * static_cast<double>(form.groups) / inside *
         (multiply + work.transform_flop / blocking.transform_share + parts +
          far_weights_flop(static_cast<double>(form.groups) * packed, work.weights_read, blocking));
}

Match match(const Candidate& node) {
  const Conv* conv = std::get_if<Conv>(&node.node.op);
  if (conv == nullptr || !dense_refusal(node).empty() || !may_reorder(node, *conv)) return refuse();
  if (conv->kernel[0] != conv->kernel[1] || conv->kernel[0] == 1 || conv->strides[0] != conv->strides[1] ||
      conv->dilations[0] != conv->dilations[1])
    return refuse();
  WinogradForm form{window_of(node, *conv), winograd_filter(*conv)};
  if (form.window.dilation_h > 1 && (form.window.stride_h > 1 || !form.filter.whole())) return refuse();
  const std::int64_t inputs = node.input_shape(1)[1], outputs = node.input_shape(1)[0] / conv->groups;
  form.merged = merged_groups(*conv, inputs, outputs);
  form.groups = static_cast<std::size_t>(conv->groups) / form.merged;
  form.inputs = winograd_channels(*conv, inputs * static_cast<std::int64_t>(form.merged));
  form.outputs = static_cast<std::size_t>(outputs) * form.merged;
  const bool matrix_units =
      may_use_matrix_units(node, *conv) &&
      static_cast<std::int64_t>(std::min(form.inputs, form.outputs)) >= node.blocking.pieces.least_winograd_channels;
  Match match;
  for (const kernels::winograd::Tile tile : kernels::winograd::kTiles) {
    if (tile.taps != form.filter.taps()) continue;
    for (const Encoding encoding : {Encoding::f32, Encoding::bf16x3}) {
      if (encoding == Encoding::bf16x3 && !matrix_units) continue;
      form.kernel = &kernels::winograd::select(node.features, encoding, tile);
      form.far_weights =
          form.weights() * sizeof(float) > static_cast<std::size_t>(node.blocking.near_tile_weights_bytes);
      match.offers.push_back({Form::of(form), form.span(), encoding, tiles_flop(node, form)});
    }
  }
  return match;
}

Effort effort(const Chosen& node, const Rates& rates) {
  const auto& form = node.form<WinogradForm>();
  const auto in = static_cast<double>(form.inputs);
  const auto out = static_cast<double>(round_up(static_cast<std::int64_t>(form.outputs), kPanel));
  return {rates.seconds(Work::winograd, winograd_flop(node, form.tile()), 2 * in * out / (in + out)),
          idle_pixels(node.choice.encoding)};
}

std::int64_t weights_bytes(const Chosen& node) {
  const auto& form = node.form<WinogradForm>();
  return static_cast<std::int64_t>(
      form.groups * sizeof(float) *
      kernels::winograd::packed_floats(form.kernel->encoding, form.kernel->tile, form.inputs, form.outputs));
}

std::int64_t workspace_bytes(const Chosen& node) {
  const auto& form = node.form<WinogradForm>();
  return static_cast<std::int64_t>(sizeof(float) * kernels::winograd::workspace_floats(form.kernel->encoding,
                                                                                       form.kernel->tile, form.inputs,
                                                                                       form.outputs, form.far_weights));
}

ColumnWindow columns(const Chosen& node) {
  const auto& form = node.form<WinogradForm>();
  ColumnWindow window = conv_columns(node, form.window);
  window.grain = std::max(window.grain, form.span());
  return window;
}

ChunkRule chunks(const Chosen& node) {
  const bool one_group = node.form<WinogradForm>().groups == 1;
  return {.share = one_group ? kPanel : 0, .apart = apart(node.choice.encoding)};
}

Told tell(const Chosen& node) {
  const std::int64_t tile = node.form<WinogradForm>().tile();
  return {tile, tile, winograd_products(std::get<Conv>(node.node.op), tile)};
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  return std::make_unique<WinogradOp>(context, std::get<Conv>(context.node.op));
}

}  // namespace

double winograd_flop(const Subject& node, std::int64_t tile) {
  const Conv& conv = std::get<Conv>(node.node.op);
  const Shape& shape = node.output_shape();
  const auto tiled = [&](std::int64_t pixels) {
    const std::size_t tiles = kernels::winograd::tiles_across(
        static_cast<std::size_t>(tile), static_cast<std::size_t>(conv.dilations[0]), static_cast<std::size_t>(pixels));
    return static_cast<double>(tile) * static_cast<double>(tiles) / static_cast<double>(pixels);
  };
  const double sticking_out = tiled(shape[1]) * tiled(shape[2]) * padded(shape[3] / conv.groups, kPanel);
  constexpr double kProducts = 36.0 / (16 * 9);  // of 4x4 outputs of a 3x3 filter, whose rate is known
  return flop_of(node.graph, node.node) * sticking_out * winograd_products(conv, tile) / kProducts;
}

constinit const Family families::winograd = {.name = "winograd",
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
