// SPDX-License-Identifier: Apache-2.0
// Convolutions of volumes, dense and depthwise, by the kernels of images: units are rows of all planes or, where
// these are few, parts of them. Those whose weights are computed pack them first, in a turn of their own; images and
// lines are volumes of one plane then.
#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/contraction.hpp"
#include "families/depthwise.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "families/volume.hpp"
#include "kernels/depthwise/depthwise.hpp"

namespace colonnade {
namespace {

using kernels::Encoding;
using Dense = kernels::gemm::ConvArgs;
using Depthwise = kernels::depthwise::Args;

constexpr std::int64_t kMostWindowRows = 1 << 12;  // of a window

struct VolumeForm {
  VolumeWindow axes;
  Contraction sums;  ///< rows of planes count as rows of the window
  bool depthwise = false;
  bool packs = false;  ///< the weights are computed

  std::int64_t window_rows() const { return sums.window.kernel_h; }
};

std::int64_t panels(const Contraction& sums) { return sums.groups * ceil_div(sums.outputs, kPanel); }

/// Panels, or channels of filters of one channel each, that a step's units pack. Weights [out, in / groups, kernel...].
void pack_share(const StepContext& step, const VolumeForm& form, std::int64_t units, const float* weights, float* to) {
  const Contraction& sums = form.sums;
  const std::int64_t taps = form.window_rows() * sums.window.kernel_w, row = taps * sums.inputs;
  const std::int64_t total = form.depthwise ? sums.groups : panels(sums);
  for (std::int64_t i = total * step.row_begin / units, end = total * step.row_end / units; i < end; ++i) {
    if (form.depthwise) {
      for (std::int64_t tap = 0; tap < taps; ++tap) to[tap * sums.groups + i] = weights[i * taps + tap];
      continue;
    }
    const std::int64_t of_group = panels(sums) / sums.groups, first = i % of_group * kPanel;
    const float* from = weights + (i / of_group * sums.outputs + first) * row;
    pack_taps(from, taps, sums.inputs, std::min(kPanel, sums.outputs - first), to + i * row * kPanel);
  }
}

/// Parts of rows, where rows are too few for several threads: lines have one.
struct Parts {
  std::int64_t a_row = 1;  ///< parts
  std::int64_t width = 1;  ///< pixels of the output
};
Parts parts_of(const Shape& out) {
  constexpr std::int64_t kUnits = 8, kGrain = 24;  // of pixels: a multiple of the tiles' on every tier
  const std::int64_t rows = std::max<std::int64_t>(1, out[0] * out[1] * out[2]);
  const std::int64_t wanted = std::clamp<std::int64_t>(kUnits / rows, 1, std::max<std::int64_t>(1, out[3] / kGrain));
  const std::int64_t width = wanted == 1 ? out[3] : ceil_div(ceil_div(out[3], wanted), kGrain) * kGrain;
  return {ceil_div(out[3], std::max<std::int64_t>(1, width)), width};
}
Shared shared_parts(const Shape& out) {
  Shared parts = volume_rows(out);
  parts.total *= parts_of(out).a_row;
  return parts;
}

/// Rows that a call takes: enough pixels for weights to be read once for many.
std::int64_t rows_a_call(const Shape& out) {
  constexpr std::int64_t kPixels = 512;
  if (parts_of(out).a_row > 1) return 1;
  return std::clamp<std::int64_t>(kPixels / std::max<std::int64_t>(1, out[3]), 1, 64);
}

/// `Args` are those of either kernel, which have their members in common.
template <class Args>
class ConvVolumeOp final : public RowOp {
 public:
  /// All but rows and epilogue is in `args`.
  ConvVolumeOp(const LowerContext& context, Args args, void (*kernel_run)(const Args&) noexcept, std::string_view name)
      : run_(kernel_run),
        name_(name),
        form_(context.form<VolumeForm>()),
        in_(context.in<float>(0)),
        out_(context.out<float>()),
        weights_(form_.packs ? context.in<float>(1) : ValueOf<float>{}),
        bias_(context.in<float>(2)),
        in_shape_(volume_of(context.input_shape(0))),
        out_shape_(volume_of(context.output_shape())),
        parts_(parts_of(out_shape_)),
        shared_(shared_parts(out_shape_)),
        args_(args) {
    const LoweredEpilogue lowered = lower_epilogue(context, std::get<Conv>(context.node.op).epilogue, 3);
    residual_ = lowered.residual;
    args_.epilogue = lowered.epilogue;
    args_.kernel_h = static_cast<std::size_t>(form_.window_rows());
    args_.kernel_w = static_cast<std::size_t>(form_.sums.window.kernel_w);
    args_.stride_w = static_cast<std::size_t>(form_.sums.window.stride_w);
    args_.dilation_w = static_cast<std::size_t>(form_.sums.window.dilation_w);
    args_.in_pixel_stride = in_shape_[4];
    args_.out_pixel_stride = args_.residual_pixel_stride = out_shape_[4];
    args_.bias = context.floats(2);
  }

  void run(const StepContext& step) const override {
    for (std::int64_t turn = step.turns.begin; turn < step.turns.end; ++turn)
      if (form_.packs && turn == 0)
        pack_share(step, form_, shared_.units(), whole(step, weights_), step.shared);
      else
        run_rows(step);
  }

  std::size_t pointer_count(std::int64_t) const override {
    return static_cast<std::size_t>(rows_a_call(out_shape_) * (form_.window_rows() + 2));
  }
  std::string_view kernel() const override { return name_; }

 private:
  void run_rows(const StepContext& step) const {
    const Interval parts = shared_.of(step);
    const std::int64_t most = rows_a_call(out_shape_), row_elements = out_shape_[3] * out_shape_[4];
    const float** in_rows = step.pointers;
    const float** out_rows = in_rows + most * form_.window_rows();
    const float** residual_rows = out_rows + most;
    Args args = args_;
    args.in_rows = in_rows;
    args.out_rows = const_cast<float**>(out_rows);
    args.residual_rows = residual_ ? residual_rows : nullptr;
    if constexpr (std::is_same_v<Args, Dense>) args.workspace = step.scratch;
    if (form_.packs) args.weights = step.shared;
    if (!args.bias && bias_) args.bias = whole(step, bias_);
    for (std::int64_t begin = parts.begin; begin < parts.end; begin += most) {
      const std::int64_t count = std::min(most, parts.end - begin), column = begin % parts_.a_row * parts_.width;
      const float* in = whole(step, in_) + settle_columns(args, column) * in_shape_[4];
      VolumeRow row(out_shape_, begin / parts_.a_row);
      for (std::int64_t r = 0; r < count; ++r, row.next()) {
        const std::int64_t at = (begin / parts_.a_row + r) * row_elements + column * out_shape_[4];
        volume_tap_rows(form_.axes, in_shape_, in, row, in_rows + r * form_.window_rows());
        out_rows[r] = whole(step, out_) + at;
        if (residual_) residual_rows[r] = whole(step, residual_) + at;
      }
      args.rows = static_cast<std::size_t>(count);
      run_(args);
    }
  }

  /// The part of a row that begins at a column: how many pixels of the input lie before what it reads.
  std::int64_t settle_columns(Args& args, std::int64_t column) const {
    const Window& window = form_.sums.window;
    const std::int64_t first = column * window.stride_w - window.pad_left;
    const std::int64_t skipped = std::clamp<std::int64_t>(first, 0, in_shape_[3]);
    args.pad_left = static_cast<std::size_t>(std::max<std::int64_t>(0, -first));
    args.width_in = static_cast<std::size_t>(in_shape_[3] - skipped);
    args.width_out = static_cast<std::size_t>(std::min(parts_.width, out_shape_[3] - column));
    return skipped;
  }

  void (*run_)(const Args&) noexcept;
  std::string_view name_;
  VolumeForm form_;
  ValueOf<float> in_, out_, residual_, weights_, bias_;
  Shape in_shape_, out_shape_;
  Parts parts_;
  Shared shared_;
  Args args_;  ///< all but rows and their columns
};

Match match(const Candidate& node) {
  const Conv* conv = std::get_if<Conv>(&node.node.op);
  if (conv == nullptr) return refuse();
  const std::size_t rank = node.input_shape(0).size();
  const bool packs = !node.constant(1);
  if (rank < 3 || rank > 5 || (rank < 5 && !packs && node.constant_or_absent(2))) return refuse();
  const Shape in = volume_of(node.input_shape(0)), out = volume_of(node.output_shape());
  VolumeForm form{volume_window(window_axes(*conv, std::span(node.input_shape(0)).subspan(1, rank - 2))), {}};
  form.depthwise = conv->groups == in[4] && out[4] == in[4];
  form.packs = packs;
  const WindowAxis &planes = form.axes[0], &lines = form.axes[1], &columns = form.axes[2];
  if (std::max(planes.kernel, lines.kernel) > kMostWindowRows || planes.kernel * lines.kernel > kMostWindowRows)
    return refuse("windows of too many rows");
  form.sums.window = {.kernel_h = planes.kernel * lines.kernel,
                      .kernel_w = columns.kernel,
                      .stride_w = columns.stride,
                      .dilation_w = columns.dilation,
                      .pad_left = columns.pad_begin};
  form.sums.groups = conv->groups;
  form.sums.inputs = in[4] / conv->groups, form.sums.outputs = out[4] / conv->groups;
  form.sums.kernel = &kernels::gemm::select(node.features, Encoding::f32);
  return take(Form::of(std::move(form)));
}

std::int64_t units(const Chosen& node) { return shared_parts(volume_of(node.output_shape())).units(); }

Turns turns(const Chosen& node) {
  const auto& form = node.form<VolumeForm>();
  if (!form.packs) return {};
  const std::int64_t dense = form.sums.groups * packed_floats(Encoding::f32, form.sums);
  const std::int64_t floats = form.depthwise ? element_count(node.input_shape(1)) : dense;
  return {2, floats * static_cast<std::int64_t>(sizeof(float))};
}

Effort effort(const Chosen& node, const Rates& rates) {
  const auto& form = node.form<VolumeForm>();
  if (!form.depthwise) return {contraction_seconds(node, form.sums.groups, rates)};
  const auto taps = static_cast<double>(form.window_rows() * form.sums.window.kernel_w);
  return {rates.seconds(Work::depthwise, flop_of(node.graph, node.node), taps)};
}

std::int64_t weights_bytes(const Chosen& node) { return node.form<VolumeForm>().packs ? 0 : weight_bytes(node); }

std::int64_t workspace_bytes(const Chosen& node) {
  const auto& form = node.form<VolumeForm>();
  if (form.depthwise) return 0;
  return static_cast<std::int64_t>(
      sizeof(float) *
      kernels::gemm::workspace_floats(Encoding::f32, terms_of(form.sums), static_cast<std::size_t>(form.sums.outputs)));
}

std::unique_ptr<RowOp> lower_depthwise(const LowerContext& context) {
  const auto& kernel = kernels::depthwise::select(context.features);
  Depthwise args;
  args.channels = static_cast<std::size_t>(context.output_shape().back());
  if (!context.form<VolumeForm>().packs) args.weights = context.packed(1, "depthwise", pack_depthwise);
  args.weight_stride = context.output_shape().back();
  return std::make_unique<ConvVolumeOp<Depthwise>>(context, args, kernel.run, kernel.name);
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  const auto& form = context.form<VolumeForm>();
  if (form.depthwise) return lower_depthwise(context);
  const Contraction& sums = form.sums;
  Dense args;
  args.groups = static_cast<std::size_t>(sums.groups);
  args.channels_in = static_cast<std::size_t>(sums.inputs);
  args.channels_out = static_cast<std::size_t>(sums.outputs);
  args.panel_stride =
      kernels::gemm::panel_floats(Encoding::f32, kernels::gemm::panel_rows(Encoding::f32, terms_of(sums)));
  if (!form.packs)
    args.weights = context.packed(
        1, format_of(Encoding::f32, "conv", sums) + "/" + std::to_string(sums.groups),
        [&](const Constant& weight, WeightRoom& room) { return pack_filters(weight, sums, Encoding::f32, room); });
  return std::make_unique<ConvVolumeOp<Dense>>(context, args, sums.kernel->run, sums.kernel->name);
}

}  // namespace

constinit const Family families::conv_volume = whole_family({.name = "conv_volume",
                                                             .types = kFloats,
                                                             .match = match,
                                                             .units = units,
                                                             .effort = effort,
                                                             .weights_bytes = weights_bytes,
                                                             .workspace_bytes = workspace_bytes,
                                                             .turns = turns,
                                                             .lower = lower});

}  // namespace colonnade
