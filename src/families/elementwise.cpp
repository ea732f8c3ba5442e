// SPDX-License-Identifier: Apache-2.0
// Unary and binary operators by rows.
#include "kernels/elementwise/elementwise.hpp"

#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "families/broadcast.hpp"
#include "families/common.hpp"
#include "families/convert.hpp"
#include "families/lower.hpp"
#include "families/operand_rows.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"

namespace colonnade {
namespace {

using kernels::elementwise::Binary;
using kernels::elementwise::Function;

/// A function that rows alone are mapped by.
std::optional<Function> row_function(UnaryKind kind) {
  const auto& names = kernels::elementwise::kFunctionNames;
  const auto* found = std::find(std::begin(names), std::end(names), function_of(kind).name);
  if (found == std::end(names)) return std::nullopt;
  return static_cast<Function>(found - names);
}

/// A function of floats, by one of two kernels.
class Mapping {
 public:
  explicit Mapping(const LowerContext& context)
      : kernel_(kernels::elementwise::select(context.features)),
        unary_(std::get<colonnade::Unary>(context.node.op)),
        function_(row_function(unary_.kind)) {
    if (!function_) op_ = unary_op(unary_);
  }

  struct Rows {
    std::size_t pixels, channels;
    const float* in;
    float* out;
    std::ptrdiff_t in_pixel_stride, out_pixel_stride;
  };
  void run(const Rows& rows) const {
    const auto& [pixels, channels, in, out, in_stride, out_stride] = rows;
    if (function_)
      kernel_.function({*function_, unary_.a, unary_.b, pixels, channels, in, out, in_stride, out_stride});
    else
      kernel_.unary({op_, pixels, channels, in, out, in_stride, out_stride});
  }
  std::string_view kernel() const { return kernel_.name; }

 private:
  const kernels::elementwise::Kernel& kernel_;
  colonnade::Unary unary_;
  std::optional<Function> function_;
  kernels::UnaryOp op_;
};

class UnaryRowOp final : public RowOp {
 public:
  explicit UnaryRowOp(const LowerContext& context)
      : mapping_(context),
        chunks_(context.chunks),
        in_(context.in<float>(0)),
        out_(context.out<float>()),
        shape_(row_shape(context.output_shape())) {}

  void run(const StepContext& step) const override {
    const std::int64_t chunk = std::max<std::int64_t>(0, step.chunk);
    const Rows in(step, in_, chunk), out(step, out_, chunk);
    const auto channels = static_cast<std::size_t>(step.chunk < 0 ? shape_.channels : chunks_.size(step.chunk));
    const std::int64_t width = out.width();
    for (std::int64_t r = step.row_begin; r < step.row_end;) {
      const std::int64_t end = run_end({&in, &out}, r, step.row_end, width);
      const auto pixels = static_cast<std::size_t>((end - r) * width);
      mapping_.run({pixels, channels, in.at(r, out.column_begin()), out(r), in.pixel_stride(), out.pixel_stride()});
      r = end;
    }
  }

  std::string_view kernel() const override { return mapping_.kernel(); }

 private:
  Mapping mapping_;
  ChunkInfo chunks_;
  ValueOf<float> in_, out_;
  RowShape shape_;
};

constexpr std::int64_t kBlockFloats = 1024;

/// A function of numbers of 16 bits: of floats, a block of pixels at a time, rounded once.
class NarrowUnaryOp final : public RowOp {
 public:
  explicit NarrowUnaryOp(const LowerContext& context)
      : mapping_(context),
        chunks_(context.chunks),
        in_(context.in<std::byte>(0)),
        out_(context.out<std::byte>()),
        shape_(row_shape(context.output_shape())) {
    const kernels::convert::Kernel& convert = kernels::convert::select(context.features);
    const auto type = *convert_type(context.input(0).type.dtype);
    widen_ = convert.convert(type, kernels::convert::Type::f32);
    narrow_ = convert.convert(kernels::convert::Type::f32, type);
  }

  void run(const StepContext& step) const override {
    const std::int64_t chunk = std::max<std::int64_t>(0, step.chunk);
    const Rows in(step, in_, chunk), out(step, out_, chunk);
    const std::int64_t channels = step.chunk < 0 ? shape_.channels : chunks_.size(step.chunk);
    const std::int64_t block = std::max<std::int64_t>(1, kBlockFloats / channels);
    for (std::int64_t r = step.row_begin; r < step.row_end; ++r)
      for (std::int64_t x = 0; x < out.width(); x += block) {
        const auto pixels = static_cast<std::size_t>(std::min(block, out.width() - x));
        const auto count = static_cast<std::size_t>(channels);
        const std::int64_t dense = channels * static_cast<std::int64_t>(sizeof(float));
        widen_({pixels, count, in.at(r, out.column_begin() + x), step.scratch, in.pixel_stride(), dense});
        mapping_.run({pixels, count, step.scratch, step.scratch, channels, channels});
        narrow_({pixels, count, step.scratch, out(r) + x * out.pixel_stride(), dense, out.pixel_stride()});
      }
  }

  std::string_view kernel() const override { return mapping_.kernel(); }

 private:
  Mapping mapping_;
  kernels::convert::Fn widen_ = nullptr, narrow_ = nullptr;
  ChunkInfo chunks_;
  ValueOf<std::byte> in_, out_;
  RowShape shape_;
};

/// Nothing when no kernel has the function.
std::optional<Binary> kernel_kind(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::add: return Binary::add;
    case BinaryKind::sub: return Binary::sub;
    case BinaryKind::mul: return Binary::mul;
    case BinaryKind::div: return Binary::div;
    case BinaryKind::min: return Binary::min;
    case BinaryKind::max: return Binary::max;
    case BinaryKind::pow: return Binary::pow;
    case BinaryKind::prelu: return Binary::prelu;
    case BinaryKind::squared_difference: return Binary::squared_difference;
    case BinaryKind::mod:
    case BinaryKind::fmod:
    case BinaryKind::equal:
    case BinaryKind::less:
    case BinaryKind::less_or_equal:
    case BinaryKind::greater:
    case BinaryKind::greater_or_equal:
    case BinaryKind::logical_and:
    case BinaryKind::logical_or:
    case BinaryKind::logical_xor:
    case BinaryKind::bitwise_and:
    case BinaryKind::bitwise_or:
    case BinaryKind::bitwise_xor:
    case BinaryKind::shift_left:
    case BinaryKind::shift_right: break;
  }
  return std::nullopt;
}

struct BinaryForm {
  Binary kind;
  std::array<Broadcast, 2> operands;
};

class BinaryRowOp final : public RowOp {
 public:
  explicit BinaryRowOp(const LowerContext& context)
      : kernel_(kernels::elementwise::select(context.features)),
        op_(context.form<BinaryForm>().kind),
        out_(context.out<float>()),
        shape_(row_shape(context.output_shape())),
        a_(context, 0, context.form<BinaryForm>().operands[0]),
        b_(context, 1, context.form<BinaryForm>().operands[1]) {}

  void run(const StepContext& step) const override {
    const Rows out(step, out_, 0);
    kernels::elementwise::BinaryArgs args;
    args.op = op_;
    args.channels = static_cast<std::size_t>(shape_.channels);
    args.a_pixel_stride = a_.stride(step);
    args.a_channel_stride = a_.channel_stride();
    args.b_pixel_stride = b_.stride(step);
    args.b_channel_stride = b_.channel_stride();
    args.out_pixel_stride = out.pixel_stride();
    const std::int64_t width = out.width();
    if (repeats(step, args, width)) return run_rows(step, args, width);
    for (std::int64_t r = step.row_begin; r < step.row_end;) {
      const std::array steps{width * args.out_pixel_stride, width * args.a_pixel_stride, width * args.b_pixel_stride};
      const std::int64_t end = run_of(step, r, steps);
      args.pixels = static_cast<std::size_t>((end - r) * width);
      run_from(step, r, args);
      r = end;
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  using Steps = std::array<std::ptrdiff_t, 3>;  // of the output and both operands

  std::array<const float*, 3> row(const StepContext& step, std::int64_t r) const {
    const Rows out(step, out_, 0);
    return {out(r), a_.row(step, r, out.column_begin()), b_.row(step, r, out.column_begin())};
  }

  /// Where the rows from r on end that lie these steps apart.
  std::int64_t run_of(const StepContext& step, std::int64_t r, const Steps& steps) const {
    std::int64_t end = r + 1;
    for (auto last = row(step, r); end < step.row_end; ++end) {
      const auto next = row(step, end);
      for (std::size_t i = 0; i < steps.size(); ++i)
        if (next[i] != last[i] + steps[i]) return end;
      last = next;
    }
    return end;
  }

  void run_from(const StepContext& step, std::int64_t r, kernels::elementwise::BinaryArgs& args) const {
    const auto rows = row(step, r);
    args.a = rows[1];
    args.b = rows[2];
    args.out = Rows(step, out_, 0)(r);
    kernel_.binary(args);
  }

  /// Whether dense rows of several pixels meet an operand that is the same in each of them.
  bool repeats(const StepContext& step, const kernels::elementwise::BinaryArgs& args, std::int64_t width) const {
    const auto channels = static_cast<std::ptrdiff_t>(args.channels);
    const auto is_dense = [&](std::ptrdiff_t pixel, std::ptrdiff_t channel) { return pixel == channel * channels; };
    if (width == 1 || step.row_end - step.row_begin == 1 || args.out_pixel_stride != channels ||
        !is_dense(args.a_pixel_stride, args.a_channel_stride) || !is_dense(args.b_pixel_stride, args.b_channel_stride))
      return false;
    const auto first = row(step, step.row_begin), second = row(step, step.row_begin + 1);
    return (first[1] == second[1] && args.a_pixel_stride != 0) || (first[2] == second[2] && args.b_pixel_stride != 0);
  }

  /// Each row as one pixel.
  void run_rows(const StepContext& step, kernels::elementwise::BinaryArgs args, std::int64_t width) const {
    args.channels *= static_cast<std::size_t>(width);
    for (std::int64_t r = step.row_begin; r < step.row_end;) {
      Steps steps{};
      if (r + 1 < step.row_end) {
        const auto here = row(step, r), next = row(step, r + 1);
        for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = next[i] - here[i];
      }
      const std::int64_t end = run_of(step, r, steps);
      args.pixels = static_cast<std::size_t>(end - r);
      args.out_pixel_stride = steps[0];
      args.a_pixel_stride = steps[1];
      args.b_pixel_stride = steps[2];
      run_from(step, r, args);
      r = end;
    }
  }

  const kernels::elementwise::Kernel& kernel_;
  Binary op_;
  ValueOf<float> out_;
  RowShape shape_;
  OperandRows<float> a_, b_;
};

Match match_unary(const Candidate& node) {
  const auto* op = std::get_if<colonnade::Unary>(&node.node.op);
  if (op == nullptr) return refuse();
  if (op->kind == UnaryKind::identity && node.input(0).type.dtype != DType::f32) return refuse("a copy");
  return has_kernel(op->kind) || row_function(op->kind) ? take() : refuse("no kernel for this function");
}

Match match_binary(const Candidate& node) {
  const auto* op = std::get_if<colonnade::Binary>(&node.node.op);
  if (op == nullptr) return refuse();
  const auto kind = kernel_kind(op->kind);
  if (!kind) return refuse("no kernel for this function");
  if (node.input(1).type.dtype != node.input(0).type.dtype) return refuse("operands of two types");
  const auto operands = broadcasts_of(node);
  return operands ? take(Form::of(BinaryForm{*kind, *operands})) : refuse("operand broadcasts over folded axes");
}

Effort unary_effort(const Chosen& node, const Rates& rates) {
  const bool function = is_costly(std::get<colonnade::Unary>(node.node.op).kind);
  return {rates.seconds(function ? Work::function : Work::arithmetic, larger_side(node), 1)};
}

Effort binary_effort(const Chosen& node, const Rates& rates) {
  const bool function = std::get<colonnade::Binary>(node.node.op).kind == BinaryKind::pow;
  return {rates.seconds(function ? Work::function : Work::arithmetic, larger_side(node), 1)};
}

std::int64_t unary_bytes(const Chosen& node) {
  if (node.input(0).type.dtype == DType::f32) return 0;
  return std::max(kBlockFloats, row_shape(node.output_shape()).channels) * static_cast<std::int64_t>(sizeof(float));
}

std::unique_ptr<RowOp> lower_unary(const LowerContext& context) {
  if (context.input(0).type.dtype == DType::f32) return std::make_unique<UnaryRowOp>(context);
  return std::make_unique<NarrowUnaryOp>(context);
}
std::unique_ptr<RowOp> lower_binary(const LowerContext& context) { return std::make_unique<BinaryRowOp>(context); }

}  // namespace

constinit const Family families::unary = {.name = "unary",
                                          .scope = Scope::rows,
                                          .border = Border::none,
                                          .types = {DType::f32, DType::bf16, DType::f16},
                                          .match = match_unary,
                                          .units = one_unit,
                                          .effort = unary_effort,
                                          .weights_bytes = no_bytes,
                                          .workspace_bytes = unary_bytes,
                                          .window = same_columns,
                                          .chunks = carries_chunks,
                                          .placements = no_placements,
                                          .tell = nothing_told,
                                          .lower = lower_unary};

constinit const Family families::binary = {.name = "binary",
                                           .scope = Scope::rows,
                                           .border = Border::none,
                                           .types = kFloats,
                                           .match = match_binary,
                                           .units = one_unit,
                                           .effort = binary_effort,
                                           .weights_bytes = no_bytes,
                                           .workspace_bytes = no_bytes,
                                           .window = same_columns,
                                           .chunks = no_chunks,
                                           .placements = no_placements,
                                           .tell = nothing_told,
                                           .lower = lower_binary};

}  // namespace colonnade
