// SPDX-License-Identifier: Apache-2.0
// Convolution of bytes by Winograd's tiles, whose sums are those of the definition.
#include "kernels/byte_winograd/byte_winograd.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/checked.hpp"
#include "base/parts.hpp"
#include "families/byte_contraction.hpp"
#include "families/byte_rescale.hpp"
#include "families/common.hpp"
#include "families/dense_conv.hpp"
#include "families/table.hpp"
#include "families/window.hpp"

namespace colonnade {
namespace {

using kernels::Isa;
using kernels::byte_winograd::Args;
using kernels::byte_winograd::Kernel;

constexpr auto kOutputs = static_cast<std::int64_t>(kernels::byte_winograd::kPanel);
constexpr auto kTile = static_cast<std::int64_t>(kernels::byte_winograd::kTile);
constexpr auto kTaps = static_cast<std::int64_t>(kernels::byte_winograd::kTaps);
constexpr TypeSet kOutputTypes{DType::u8, DType::i8, DType::i32, DType::f32};
constexpr std::size_t kHeadBytes = 64;  ///< before packed weights: the parts that they need

struct TilesForm {
  Window window{};
  std::size_t groups = 1;
  std::size_t inputs = 0, outputs = 0;  ///< channels of a group
  Rescale out{};
  const Kernel* kernel = nullptr;
  bool far_weights = false;  ///< a group's come from beyond the second-level cache
  double evaluation = 0;     ///< of inputs, as a share of the tiles' time

  std::size_t group_bytes() const { return kernels::byte_winograd::packed_bytes(inputs, outputs); }
  std::size_t bytes() const { return kHeadBytes + groups * group_bytes(); }
};

/// Speeds against those of floats by the same tier: products of pairs of 16 bits, and all of a convolution.
struct Speed {
  double products;
  double whole;
};
Speed speed_of(Isa isa) {
  switch (isa) {
    case Isa::baseline: return {0.25, 0.25};
    case Isa::avx2: return {1.25, 1.5};
    case Isa::avx512: return {1.25, 1.4};
    case Isa::avxvnni:
    case Isa::vnni:
    case Isa::bf16:
    case Isa::amx: return {2, 1.8};
  }
  return {1, 1};
}

/// Transformed weights are eight times as many bytes, other layers' take their place in the caches, and other cores
/// wait for the same memory: a convolution counts as no shorter than so many times the way of its weights to one core.
constexpr double kWaiting = 2;

/// Operations of the vector units' peak that an image takes as long as.
struct TilesFlop {
  double products, inputs, outputs;
  double sum() const { return products + inputs + outputs; }
};
kernels::byte_winograd::Work work_of(const Shape& out, const TilesForm& form) {
  return kernels::byte_winograd::work(static_cast<std::size_t>(out[1]), static_cast<std::size_t>(out[2]), form.inputs,
                                      form.outputs);
}
TilesFlop tiles_flop(const kernels::byte_winograd::Work& work, const TilesForm& form, const Blocking& blocking) {
  return {2 * work.products / (blocking.multiply_share * speed_of(form.kernel->isa).products),
          2 * work.input_lanes / blocking.integer_transform_share,
          2 * work.output_lanes / blocking.integer_transform_share};
}

/// Likewise all of the convolution, its weights on their way too.
double weighed_flop(const Candidate& node, const TilesForm& form) {
  const Shape& out = node.output_shape();
  const Blocking& blocking = node.blocking;
  const kernels::byte_winograd::Work work = work_of(out, form);
  const double tiles = tiles_flop(work, form, blocking).sum();
  const double gain = blocking.winograd_gain * static_cast<double>(out[0]) * static_cast<double>(form.groups);
  if (!form.far_weights) return gain * tiles;
  constexpr double kFloats = static_cast<double>(sizeof(std::int16_t)) / sizeof(float);  // that a weight is as large as
  const double way = kFloats * blocking.far_weight_flop;
  const double once = way * static_cast<double>(form.group_bytes()) / sizeof(std::int16_t);
  return gain * std::max(tiles + blocking.fetched_share * way * work.weights_read, kWaiting * once);
}

Match match(const Candidate& node) {
  const ByteConv* op = std::get_if<ByteConv>(&node.node.op);
  if (op == nullptr || node.input_shape(0).size() != 4 || !node.constant(1)) return refuse();
  const Conv& conv = op->window;
  if (conv.kernel != Ints{kTaps, kTaps} || conv.strides != Ints{1, 1} || conv.dilations != Ints{1, 1}) return refuse();
  TilesForm form{.window = window_of(node, conv),
                 .groups = static_cast<std::size_t>(conv.groups),
                 .inputs = static_cast<std::size_t>(node.input_shape(0).back() / conv.groups),
                 .outputs = static_cast<std::size_t>(node.output_shape().back() / conv.groups),
                 .out = op->out,
                 .kernel = &kernels::byte_winograd::select(node.features)};
  form.far_weights = static_cast<std::int64_t>(form.group_bytes()) > node.blocking.near_weights_bytes;
  const TilesFlop flop = tiles_flop(work_of(node.output_shape(), form), form, node.blocking);
  form.evaluation = flop.inputs / flop.sum();
  Match match = take(Form::of(form), kTile);
  match.offers.front().flop = weighed_flop(node, form);
  return match;
}

/// Weights [out, in / groups, 3, 3].
WeightMemory pack(const Tensor& weight, const TilesForm& form, WeightRoom& room) {
  WeightMemory packed = room.take(form.bytes());
  std::fill_n(packed.data(), kHeadBytes, std::byte{0});
  constexpr std::size_t kAll = kTaps * kTaps;
  const std::size_t panels = (form.outputs + kernels::byte_winograd::kPanel - 1) / kernels::byte_winograd::kPanel;
  std::atomic<std::size_t> parts = 1;
  for_each_part(static_cast<std::int64_t>(form.groups * panels), [&](std::int64_t index) {
    const std::size_t group = static_cast<std::size_t>(index) / panels,
                      panel = static_cast<std::size_t>(index) % panels;
    const std::size_t first = panel * kernels::byte_winograd::kPanel;
    const std::size_t count = std::min(form.outputs - first, kernels::byte_winograd::kPanel);
    std::vector<std::int16_t> source(count * kAll * form.inputs);
    const std::size_t from = (group * form.outputs + first) * form.inputs * kAll;
    for (std::size_t i = 0; i < source.size(); ++i) {
      const std::size_t output = i / (kAll * form.inputs), tap = i / form.inputs % kAll, input = i % form.inputs;
      const std::size_t at = from + (output * form.inputs + input) * kAll + tap;
      source[i] = static_cast<std::int16_t>(byte_weight(weight, static_cast<std::int64_t>(at)));
    }
    kernels::byte_winograd::pack(source.data(), form.inputs, count,
                                 packed.data() + kHeadBytes + group * form.group_bytes() +
                                     panel * kernels::byte_winograd::panel_bytes(form.inputs));
    const std::size_t needed = kernels::byte_winograd::parts_of(source.data(), form.inputs, count);
    for (std::size_t known = parts; known < needed && !parts.compare_exchange_weak(known, needed);) {
    }
  });
  const auto needed = static_cast<std::uint32_t>(parts.load());
  std::memcpy(packed.data(), &needed, sizeof needed);
  return packed;
}

class ByteWinogradOp final : public RowOp {
 public:
  ByteWinogradOp(const LowerContext& context, const std::byte* weights)
      : form_(context.form<TilesForm>()),
        chunks_(context.chunks),
        in_(context.in<std::byte>(0)),
        out_(context.out<std::byte>()),
        height_(row_shape(context.input_shape(0)).rows),
        weights_(weights),
        far_weights_(form_.far_weights),
        rescale_(context, form_.out) {
    std::memcpy(&parts_, weights, sizeof parts_);
  }

  void run(const StepContext& step) const override {
    const Rows in(step, in_, 0), out(step, out_, 0);
    const RowWindow columns(in, out, 1, form_.window.pad_left);
    const std::int64_t tile_rows = ceil_div(step.row_end - step.row_begin, kTile);
    const std::int64_t begin = step.chunk < 0 ? 0 : chunks_.begin(step.chunk);
    auto** const in_rows = reinterpret_cast<const std::byte**>(step.pointers);
    auto** const out_rows = const_cast<void**>(reinterpret_cast<const void**>(in_rows + in_row_count(tile_rows)));
    const std::int64_t first = step.row_begin - form_.window.pad_top;
    const std::int64_t end = std::min(step.row_end - form_.window.pad_top + kTaps - 1, height_);
    for (std::int64_t i = 0; i < in_row_count(tile_rows); ++i) {
      const std::int64_t y = first + i;
      in_rows[i] = y < 0 || y >= end ? nullptr : in(y) + columns.skip * in.pixel_stride();
    }
    for (std::int64_t i = 0; i < tile_rows * kTile; ++i) {
      const std::int64_t r = step.row_begin + i;
      out_rows[i] = r < step.row_end ? out(r) + begin * rescale_.value_bytes() : nullptr;
    }
    Args args;
    args.tile_rows = static_cast<std::size_t>(tile_rows);
    args.in_rows = reinterpret_cast<const std::uint8_t* const*>(in_rows);
    args.out_rows = out_rows;
    args.width_in = static_cast<std::size_t>(columns.width_in);
    args.width_out = static_cast<std::size_t>(columns.width_out);
    args.pad_left = static_cast<std::size_t>(columns.pad_left);
    args.channels_in = form_.inputs;
    args.channels_out = step.chunk < 0 ? form_.outputs : static_cast<std::size_t>(chunks_.size(step.chunk));
    args.groups = form_.groups;
    args.in_pixel_stride = in.pixel_stride();
    args.out_pixel_stride = out.pixel_stride();
    args.weights = weights_ + kHeadBytes +
                   static_cast<std::size_t>(begin / kOutputs) * kernels::byte_winograd::panel_bytes(form_.inputs);
    args.far_weights = far_weights_;
    args.parts = parts_;
    args.x_zero = rescale_.x_zero(step);
    args.out = rescale_.at(step, begin);
    args.workspace = reinterpret_cast<std::byte*>(step.scratch);
    form_.kernel->run(args);
  }

  std::size_t pointer_count(std::int64_t rows) const override {
    const std::int64_t tile_rows = ceil_div(rows, kTile);
    return static_cast<std::size_t>(in_row_count(tile_rows) + tile_rows * kTile);
  }
  std::string_view kernel() const override { return form_.kernel->name; }

 private:
  static std::int64_t in_row_count(std::int64_t tile_rows) { return tile_rows * kTile + kTaps - 1; }

  TilesForm form_;
  ChunkInfo chunks_;
  ValueOf<std::byte> in_, out_;
  std::int64_t height_;
  const std::byte* weights_;
  bool far_weights_;
  std::uint32_t parts_ = 1;
  ByteRescale rescale_;
};

Effort effort(const Chosen& node, const Rates& rates) {
  const auto& form = node.form<TilesForm>();
  const auto in = static_cast<double>(form.inputs);
  const auto out = static_cast<double>(round_up(static_cast<std::int64_t>(form.outputs), kOutputs));
  const Shape& shape = node.output_shape();
  const double flop = flop_of(node.graph, node.node) * padded(shape[1], kTile) * padded(shape[2], kTile) *
                      padded(static_cast<std::int64_t>(form.outputs), kOutputs);
  return {rates.seconds(Work::winograd, flop / speed_of(form.kernel->isa).whole, 2 * in * out / (in + out))};
}

std::int64_t weights_bytes(const Chosen& node) { return static_cast<std::int64_t>(node.form<TilesForm>().bytes()); }

std::int64_t workspace_bytes(const Chosen& node) {
  const auto& form = node.form<TilesForm>();
  return static_cast<std::int64_t>(kernels::byte_winograd::workspace_bytes(form.inputs, form.outputs));
}

ColumnWindow columns(const Chosen& node) {
  ColumnWindow window = window_columns(node.form<TilesForm>().window);
  window.grain = std::max(window.grain, kTile);
  return window;
}

/// Who divides the outputs evaluates all inputs: for two threads once more than for one.
ChunkRule chunks(const Chosen& node) {
  const auto& form = node.form<TilesForm>();
  return {.share = form.groups == 1 ? kOutputs : 0, .apart = 1 + form.evaluation};
}

Told tell(const Chosen&) {
  constexpr double kProducts = static_cast<double>(kernels::byte_winograd::kMatrices) / (kTile * kTile * kTaps * kTaps);
  return {kTile, kTile, kProducts};
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  const auto& form = context.form<TilesForm>();
  const float* weights =
      context.packed(1, "byte_winograd/" + std::to_string(form.groups),
                     [&](const Tensor& weight, WeightRoom& room) { return pack(weight, form, room); });
  return std::make_unique<ByteWinogradOp>(context, reinterpret_cast<const std::byte*>(weights));
}

}  // namespace

constinit const Family families::byte_winograd = {.name = "byte_winograd",
                                                  .scope = Scope::rows,
                                                  .border = Border::none,
                                                  .types = kOutputTypes,
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
