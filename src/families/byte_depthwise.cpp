// SPDX-License-Identifier: Apache-2.0
// Convolution of each channel of bytes by itself.
#include "kernels/byte_depthwise/byte_depthwise.hpp"

#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/table.hpp"
#include "families/window.hpp"

namespace colonnade {
namespace {

using kernels::byte_depthwise::Kernel;

constexpr std::int64_t kAlignment = AlignedBuffer::kAlignment;

enum Input : std::size_t { kX, kWeight, kZero, kOffset, kFactor, kShift, kSlope };

kernels::byte_depthwise::Type kernel_type_of(DType type) {
  using kernels::byte_depthwise::Type;
  if (type == DType::i8) return Type::i8;
  if (type == DType::f32) return Type::f32;
  return type == DType::i32 ? Type::i32 : Type::u8;
}

std::size_t size(std::int64_t number) { return static_cast<std::size_t>(number); }

class ByteDepthwiseOp final : public RowOp {
 public:
  ByteDepthwiseOp(const LowerContext& context, const ByteConv& conv)
      : kernel_(kernels::byte_depthwise::select(context.features)),
        window_(context.form<Window>()),
        in_(context.in<std::byte>(kX)),
        out_(context.out<std::byte>()),
        in_shape_(row_shape(context.input_shape(kX))),
        out_shape_(row_shape(context.output_shape())),
        shape_{size(out_shape_.channels), size(window_.kernel_h), size(window_.kernel_w)},
        output_{kernel_type_of(conv.out.to), conv.out.zero, conv.out.low, conv.out.high} {
    const auto pack = [&](const Tensor& weight, WeightRoom& room) {
      WeightMemory packed = room.take(kernel_.packed_bytes(shape_));
      kernel_.pack(shape_, static_cast<const std::int8_t*>(weight.data()), packed.data());
      return packed;
    };
    weights_ = reinterpret_cast<const std::byte*>(
        context.packed(kWeight, std::string("byte_depthwise/") + kernel_.name, pack));
    numbers_.x_zero = context.constant(kZero) ? static_cast<std::uint8_t>(*context.bytes(kZero)) : 0;
    numbers_.offset = reinterpret_cast<const std::int32_t*>(context.bytes(kOffset));
    numbers_.shift = context.floats(kShift);
    numbers_.factors = context.has_input(kFactor) && element_count(context.input_shape(kFactor)) > 1;
    if (context.constant(kFactor)) numbers_.factor = context.floats(kFactor);
    if (context.has_input(kZero) && !context.constant(kZero)) computed_zero_ = context.in<std::byte>(kZero);
    if (context.has_input(kFactor) && !context.constant(kFactor)) computed_factor_ = context.in<float>(kFactor);
    if (computed_zero_ || computed_factor_) return;
    prepared_ = AlignedBuffer(kernel_.prepared_bytes(shape_));
    kernel_.prepare(shape_, numbers_, weights_, prepared_.data());
  }

  void run(const StepContext& step) const override {
    const std::int64_t rows = step.row_end - step.row_begin;
    const auto** in_rows = reinterpret_cast<const std::uint8_t**>(step.pointers);
    auto** out_rows = const_cast<std::byte**>(reinterpret_cast<const std::byte**>(in_rows + rows * window_.kernel_h));
    const Rows in(step, in_, 0), out(step, out_, 0);
    const RowWindow row_window(in, out, window_.stride_w, window_.pad_left);
    tap_rows(in, window_, row_window.skip, step.row_begin, step.row_end, in_shape_.rows,
             reinterpret_cast<const std::byte**>(in_rows));
    for (std::int64_t r = 0; r < rows; ++r) out_rows[r] = out(step.row_begin + r);
    kernels::byte_depthwise::Args args;
    args.rows = size(rows);
    args.in_rows = in_rows;
    args.out_rows = out_rows;
    args.width_in = size(row_window.width_in);
    args.width_out = size(row_window.width_out);
    args.kernel_h = shape_.kernel_h;
    args.kernel_w = shape_.kernel_w;
    args.stride_w = size(window_.stride_w);
    args.dilation_w = size(window_.dilation_w);
    args.pad_left = size(row_window.pad_left);
    args.channels = shape_.channels;
    args.in_pixel_stride = in.pixel_stride();
    args.out_pixel_stride = out.pixel_stride();
    args.weights = weights_;
    args.numbers = numbers(step, args.x_zero);
    args.out = output_;
    args.row_room = in_rows + rows * (window_.kernel_h + 1);
    kernel_.run(args);
  }

  std::size_t pointer_count(std::int64_t rows) const override {
    return size(rows * (window_.kernel_h + 1)) + kernels::byte_depthwise::rows_of(shape_.kernel_h);
  }
  std::string_view kernel() const override { return kernel_.name; }

 private:
  /// Those of the constants, or of what was computed.
  const std::byte* numbers(const StepContext& step, std::uint8_t& x_zero) const {
    x_zero = computed_zero_ ? static_cast<std::uint8_t>(*whole(step, computed_zero_)) : numbers_.x_zero;
    if (prepared_.data() != nullptr) return prepared_.data();
    kernels::byte_depthwise::Numbers now = numbers_;
    now.x_zero = x_zero;
    if (computed_factor_) now.factor = whole(step, computed_factor_);
    auto* room = reinterpret_cast<std::byte*>(step.scratch);
    room += (kAlignment - static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(room) % kAlignment)) % kAlignment;
    kernel_.prepare(shape_, now, weights_, room);
    return room;
  }

  const Kernel& kernel_;
  Window window_;
  ValueOf<std::byte> in_, out_, computed_zero_;
  ValueOf<float> computed_factor_;
  RowShape in_shape_, out_shape_;
  kernels::byte_depthwise::Shape shape_;
  kernels::byte_depthwise::Output output_;
  kernels::byte_depthwise::Numbers numbers_;
  const std::byte* weights_ = nullptr;
  AlignedBuffer prepared_;
};

Match match(const Candidate& node) {
  const ByteConv* conv = std::get_if<ByteConv>(&node.node.op);
  if (conv == nullptr || node.input_shape(kX).size() != 4) return refuse();
  const std::int64_t channels = node.input_shape(kX)[3];
  if (conv->window.groups != channels || channels == 1 || node.output_shape()[3] != channels) return refuse();
  if (node.has_input(kSlope)) return refuse("slopes below zero");
  if (node.input(kWeight).type.dtype != DType::i8) return refuse("weights of two bytes");
  if (!node.constant(kWeight) || !node.constant_or_absent(kOffset) || !node.constant_or_absent(kShift)) return refuse();
  return take(Form::of(window_of(node, conv->window)));
}

/// Against floats: measured with warm caches, layers of MobileNetV2 and EfficientNet.
constexpr double kShare = 0.7;

Effort effort(const Chosen& node, const Rates& rates) {
  const Window& window = node.form<Window>();
  return {kShare * rates.seconds(Work::depthwise, flop_of(node.graph, node.node),
                                 static_cast<double>(window.kernel_h * window.kernel_w))};
}

/// Quads of rows for each of two output rows, and what becomes of the sums.
std::int64_t packed_bytes(const Chosen& node) {
  const Window& window = node.form<Window>();
  const auto rows = static_cast<std::int64_t>(kernels::byte_depthwise::rows_of(size(window.kernel_h)));
  return node.output_shape()[3] * (2 * rows * window.kernel_w + 20);
}

/// For numbers that are computed.
std::int64_t workspace_bytes(const Chosen& node) {
  if (node.constant_or_absent(kZero) && node.constant_or_absent(kFactor)) return 0;
  std::size_t most = 0;
  for (const Kernel& kernel : kernels::byte_depthwise::table())
    most = std::max(most, kernel.prepared_bytes({size(node.output_shape()[3]), 1, 1}));
  return static_cast<std::int64_t>(most) + kAlignment;
}

ColumnWindow columns(const Chosen& node) { return window_columns(node.form<Window>()); }

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  return std::make_unique<ByteDepthwiseOp>(context, std::get<ByteConv>(context.node.op));
}

}  // namespace

constinit const Family families::byte_depthwise{.name = "byte_depthwise",
                                                .scope = Scope::rows,
                                                .border = Border::none,
                                                .types = {DType::u8, DType::i8, DType::f32, DType::i32},
                                                .match = match,
                                                .units = one_unit,
                                                .effort = effort,
                                                .weights_bytes = packed_bytes,
                                                .workspace_bytes = workspace_bytes,
                                                .window = columns,
                                                .chunks = no_chunks,
                                                .placements = no_placements,
                                                .tell = nothing_told,
                                                .lower = lower};

}  // namespace colonnade
