// SPDX-License-Identifier: Apache-2.0
#include "families/byte_contraction.hpp"

#include <algorithm>
#include <atomic>
#include <string>

#include "base/checked.hpp"
#include "base/parts.hpp"
#include "families/byte_rescale.hpp"
#include "families/common.hpp"
#include "families/dense_conv.hpp"

namespace colonnade {
namespace {

using kernels::Isa;
using kernels::byte_product::Args;
using kernels::byte_product::Depth;
using kernels::byte_product::Kernel;

constexpr auto kOutputs = static_cast<std::int64_t>(kernels::byte_product::kPanel);
constexpr double kIdlePixels = 4;

/// Products a second over those of floats: what instructions a tier has for them.
double speed_over_floats(Isa isa) {
  switch (isa) {
    case Isa::baseline: return 0.15;
    case Isa::avx2: return 1.5;
    case Isa::avx512: return 1.6;
    case Isa::avxvnni:
    case Isa::vnni:
    case Isa::bf16:
    case Isa::amx: return 4;
  }
  return 1;
}

Depth depth_of(const ByteContraction& form) {
  return {static_cast<std::size_t>(form.window.kernel_h), static_cast<std::size_t>(form.window.kernel_w * form.inputs)};
}

/// Of all panels, packed for a kernel.
std::size_t panels_bytes(const ByteContraction& form, const Kernel& kernel) {
  return static_cast<std::size_t>(form.groups) *
         kernels::byte_product::packed_bytes(kernel.packing, depth_of(form), static_cast<std::size_t>(form.outputs));
}

Args sizes_of(const ByteContraction& form) {
  Args args;
  args.kernel_h = static_cast<std::size_t>(form.window.kernel_h);
  args.kernel_w = static_cast<std::size_t>(form.window.kernel_w);
  args.stride_w = static_cast<std::size_t>(form.window.stride_w);
  args.dilation_w = static_cast<std::size_t>(form.window.dilation_w);
  args.channels_in = static_cast<std::size_t>(form.inputs);
  args.channels_out = static_cast<std::size_t>(form.outputs);
  args.groups = static_cast<std::size_t>(form.groups);
  return args;
}

/// Behind the panels.
std::size_t tilts_bytes(const ByteContraction& form) {
  return form.tilts ? static_cast<std::size_t>(form.groups * form.outputs) * sizeof(std::int32_t) : 0;
}

/// Before the panels, where two kernels may have them: whether it is the one that splits them.
std::size_t head_bytes(const ByteContraction& form) { return form.split == nullptr ? 0 : 64; }
std::size_t weights_bytes(const ByteContraction& form, const Kernel& kernel) {
  return head_bytes(form) + panels_bytes(form, kernel) + tilts_bytes(form);
}
const Kernel& kernel_of(const ByteContraction& form, const std::int8_t* weights) {
  return form.split != nullptr && *weights != 0 ? *form.split : *form.kernel;
}

class ByteContractionOp final : public RowOp {
 public:
  ByteContractionOp(const LowerContext& context, const std::int8_t* weights)
      : form_(context.form<ByteContraction>()),
        chunks_(context.chunks),
        in_(context.in<std::byte>(0)),
        out_(context.out<std::byte>()),
        height_(row_shape(context.input_shape(0)).rows),
        weights_(weights + head_bytes(form_)),
        kernel_(kernel_of(form_, weights)),
        rescale_(context, form_.out) {}

  void run(const StepContext& step) const override {
    const Rows in(step, in_, 0), out(step, out_, 0);
    const RowWindow columns(in, out, form_.window.stride_w, form_.window.pad_left);
    const std::int64_t rows = step.row_end - step.row_begin;
    const std::int64_t first = step.chunk < 0 ? 0 : chunks_.begin(step.chunk);
    auto** const in_rows = reinterpret_cast<const std::byte**>(step.pointers);
    const std::int64_t taps = form_.window.kernel_h;
    auto** const out_rows = const_cast<void**>(reinterpret_cast<const void**>(in_rows + rows * taps));
    tap_rows(in, form_.window, columns.skip, step.row_begin, step.row_end, height_, in_rows);
    for (std::int64_t r = 0; r < rows; ++r) out_rows[r] = out(step.row_begin + r) + first * rescale_.value_bytes();
    Args args = base_args(step);
    args.rows = static_cast<std::size_t>(rows);
    args.in_rows = reinterpret_cast<const std::uint8_t* const*>(in_rows);
    args.out_rows = out_rows;
    args.width_in = static_cast<std::size_t>(columns.width_in);
    args.width_out = static_cast<std::size_t>(columns.width_out);
    args.pad_left = static_cast<std::size_t>(columns.pad_left);
    args.in_pixel_stride = in.pixel_stride();
    args.out_pixel_stride = out.pixel_stride();
    kernel_.run(args);
  }

  std::size_t pointer_count(std::int64_t rows) const override {
    return static_cast<std::size_t>(rows * (form_.window.kernel_h + 1));
  }
  std::string_view kernel() const override { return kernel_.name; }

 private:
  Args base_args(const StepContext& step) const {
    Args args = sizes_of(form_);
    args.weights = weights_;
    if (form_.tilts) args.tilts = reinterpret_cast<const std::int32_t*>(weights_ + panels_bytes(form_, kernel_));
    args.x_zero = rescale_.x_zero(step);
    args.out = rescale_.at(step, step.chunk < 0 ? 0 : chunks_.begin(step.chunk));
    args.workspace = reinterpret_cast<std::byte*>(step.scratch);
    if (step.chunk >= 0) cut_chunk(step.chunk, args);
    return args;
  }

  /// Makes some of the output channels.
  void cut_chunk(std::int64_t chunk, Args& args) const {
    const std::int64_t begin = chunks_.begin(chunk);
    args.weights += static_cast<std::size_t>(begin / kOutputs) *
                    kernels::byte_product::panel_bytes(kernel_.packing, depth_of(form_));
    args.channels_out = static_cast<std::size_t>(chunks_.size(chunk));
    if (args.tilts != nullptr) args.tilts += begin;
  }

  ByteContraction form_;
  ChunkInfo chunks_;
  ValueOf<std::byte> in_, out_;
  std::int64_t height_;
  const std::int8_t* weights_;
  const Kernel& kernel_;
  ByteRescale rescale_;
};

/// How many groups fill a panel.
std::int64_t groups_together(std::int64_t groups, std::int64_t outputs) {
  std::int64_t most = 1;
  for (std::int64_t count = 2; count <= groups && count * outputs <= kOutputs; ++count)
    if (groups % count == 0) most = count;
  return most;
}

/// By how much the weights of an output are more than signed bytes; makes those of them. The zeros beside a group's
/// weights are among them: a zero point is a byte, too.
std::int32_t take_tilt(std::span<int> weights) {
  if (weights.empty()) return 0;
  const auto [least, most] = std::ranges::minmax(weights);
  const int tilt = most > 127 ? most - 127 : std::min(0, least + 128);
  if (least - tilt < -128)
    fail(ErrorCode::internal, "weights of an output from {} to {} span more than a byte", least, most);
  for (int& weight : weights) weight -= tilt;
  return tilt;
}

/// Writes weights_bytes(form, kernel) bytes; false where the kernel cannot have the weights.
bool pack_for(const ByteContraction& form, const Kernel& kernel, const ByteWeight& weight, std::int8_t* packed) {
  std::fill_n(packed, head_bytes(form), std::int8_t{0});
  if (form.split != nullptr) *packed = kernel.packing.splits ? 1 : 0;
  std::int8_t* const first = packed + head_bytes(form);
  const auto k = static_cast<std::size_t>(form.terms());
  const std::size_t panel_bytes = kernels::byte_product::panel_bytes(kernel.packing, depth_of(form));
  const std::int64_t panels = ceil_div(form.outputs, kOutputs), taps = form.window.kernel_h * form.window.kernel_w;
  auto* const tilts = reinterpret_cast<std::int32_t*>(first + panels_bytes(form, kernel));
  std::atomic<bool> can = true;
  for_each_part(panels * form.groups, [&](std::int64_t panel) {
    if (!can) return;
    const std::int64_t group = panel / panels, begin = panel % panels * kOutputs;
    const std::int64_t end = std::min(begin + kOutputs, form.outputs);
    std::vector<std::int8_t> rows(k * static_cast<std::size_t>(end - begin));
    std::vector<int> row(k);
    for (std::int64_t output = begin; output < end; ++output) {
      int* to = row.data();
      for (std::int64_t tap = 0; tap < taps; ++tap)
        for (std::int64_t input = 0; input < form.inputs; ++input) *to++ = weight(group, input, output, tap);
      if (form.tilts) tilts[group * form.outputs + output] = take_tilt(row);
      std::ranges::transform(row, rows.begin() + (output - begin) * form.terms(),
                             [](int x) { return static_cast<std::int8_t>(x); });
    }
    if (!kernels::byte_product::pack(rows.data(), 1, static_cast<std::ptrdiff_t>(k), depth_of(form),
                                     static_cast<std::size_t>(end - begin), kernel.packing,
                                     first + static_cast<std::size_t>(panel) * panel_bytes))
      can = false;
  });
  return can;
}

}  // namespace

Match byte_contraction(const Candidate& node, const Window& window, std::int64_t groups, std::int64_t inputs,
                       std::int64_t outputs, const Rescale& out) {
  const std::int64_t together = groups_together(groups, outputs);
  const ByteContraction form{.window = window,
                             .groups = groups / together,
                             .inputs = inputs * together,
                             .outputs = outputs * together,
                             .tilts = node.input(1).type.dtype == DType::i16,
                             .out = out,
                             .kernel = &kernels::byte_product::select(node.features),
                             .split = kernels::byte_product::select_split(node.features)};
  Match match = take(Form::of(form));
  const double weights =
      static_cast<double>(form.groups * form.terms()) * static_cast<double>(round_up(form.outputs, kOutputs));
  const double pixels = elements_of(node.graph, node.node.outputs[0]) / static_cast<double>(groups * outputs);
  match.offers.front().flop =
      2 * pixels * weights / (node.blocking.multiply_share * speed_over_floats(form.kernel->isa)) +
      far_weights_flop(weights / sizeof(float), weights / sizeof(float), node.blocking);
  return match;
}

Effort byte_contraction_effort(const Chosen& node, const Rates& rates) {
  const auto& form = node.form<ByteContraction>();
  const double products = elements_of(node.graph, node.node.outputs[0]) * static_cast<double>(form.terms());
  const double flop = 2 * products * padded(form.outputs, kOutputs) / speed_over_floats(form.kernel->isa);
  const auto steps = static_cast<double>(form.terms()) / static_cast<double>(form.kernel->packing.step);
  return {rates.seconds(Work::contraction, flop, std::max(1.0, steps)), kIdlePixels};
}

std::int64_t byte_contraction_weights_bytes(const Chosen& node) {
  const auto& form = node.form<ByteContraction>();
  return static_cast<std::int64_t>(weights_bytes(form, *form.kernel));
}

std::int64_t byte_contraction_workspace_bytes(const Chosen& node) {
  const auto& form = node.form<ByteContraction>();
  Args sizes = sizes_of(form);
  sizes.width_out = static_cast<std::size_t>(row_shape(node.output_shape()).width);
  const std::size_t bytes = form.kernel->workspace_bytes(sizes);
  return static_cast<std::int64_t>(form.split == nullptr ? bytes : std::max(bytes, form.split->workspace_bytes(sizes)));
}

ChunkRule byte_contraction_chunks(const Chosen& node) {
  return {.share = node.form<ByteContraction>().groups == 1 ? kOutputs : 0};
}

std::string packing_name(const ByteContraction& form) {
  return "bytes/" + std::to_string(form.kernel->packing.step) + (form.split == nullptr ? "/" : "/split/");
}

WeightMemory pack_bytes(const ByteContraction& form, const ByteWeight& weight, WeightRoom& room) {
  if (form.split != nullptr) {
    std::vector<std::int8_t> split(weights_bytes(form, *form.split));
    if (pack_for(form, *form.split, weight, split.data())) {
      WeightMemory packed = room.take(split.size());
      std::ranges::copy(split, reinterpret_cast<std::int8_t*>(packed.data()));
      return packed;
    }
  }
  WeightMemory packed = room.take(weights_bytes(form, *form.kernel));
  pack_for(form, *form.kernel, weight, reinterpret_cast<std::int8_t*>(packed.data()));
  return packed;
}

std::unique_ptr<RowOp> lower_byte_contraction(const LowerContext& context, const float* weights) {
  return std::make_unique<ByteContractionOp>(context, reinterpret_cast<const std::int8_t*>(weights));
}

}  // namespace colonnade
