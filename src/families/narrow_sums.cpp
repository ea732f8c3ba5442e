// SPDX-License-Identifier: Apache-2.0
#include "families/narrow_sums.hpp"

#include <algorithm>

#include "families/common.hpp"
#include "families/matrices.hpp"

namespace colonnade {
namespace {

constexpr auto kOutputs = static_cast<std::int64_t>(kernels::narrow::kOutputs);

}  // namespace

std::optional<NarrowForm> narrow_product_form(const Candidate& node) {
  const MatMul* op = std::get_if<MatMul>(&node.node.op);
  if (op == nullptr || !is_by_rows(node) || !node.constant_or_absent(2)) return std::nullopt;
  const Shape& in = node.input_shape(0);
  if (in.size() < 2) return std::nullopt;
  auto form = narrow_form(*node.input(1).constant, op->transpose_b, node.blocking);
  if (form) form->rows = element_count(in) / in.back();
  return form;
}

NarrowSums::NarrowSums(const LowerContext& context, const NarrowForm& form)
    : depth_(form.depth()),
      outputs_(form.outputs),
      gemm_(kernels::gemm::select(context.features, kernels::Encoding::f32)),
      bias_(context.floats(2)),
      out_(context.out<float>()) {
  const LoweredEpilogue lowered = lower_epilogue(context, std::get<MatMul>(context.node.op).epilogue, 3);
  epilogue_ = lowered.epilogue;
  residual_ = lowered.residual;
}

kernels::gemm::ConvArgs NarrowSums::args_of(std::int64_t output, std::int64_t rows) const {
  kernels::gemm::ConvArgs args;
  args.width_in = args.width_out = static_cast<std::size_t>(rows);
  args.channels_out = static_cast<std::size_t>(std::min(kOutputs, outputs_ - output));
  args.in_pixel_stride = depth_;
  args.out_pixel_stride = args.residual_pixel_stride = outputs_;
  args.bias = bias_ == nullptr ? nullptr : bias_ + output;
  args.epilogue = epilogue_;
  if (epilogue_.activation.slope != nullptr) args.epilogue.activation.slope += output;
  return args;
}

float* NarrowSums::out(const StepContext& step, std::int64_t output, std::int64_t row) const {
  return whole(step, out_) + row * outputs_ + output;
}

const float* NarrowSums::residual(const StepContext& step, std::int64_t output, std::int64_t row) const {
  return residual_ ? whole(step, residual_) + row * outputs_ + output : nullptr;
}

void NarrowSums::start(std::int64_t output, std::int64_t rows, float* sums) const {
  const kernels::gemm::ConvArgs args = args_of(output, rows);
  for (std::int64_t r = 0; args.bias != nullptr && r < rows; ++r)
    std::copy_n(args.bias, args.channels_out, sums + r * kOutputs);
}

/// A product without terms starts from the outputs.
void NarrowSums::finish(const StepContext& step, std::int64_t output, std::int64_t row, std::int64_t rows,
                        const float* sums) const {
  kernels::gemm::ConvArgs args = args_of(output, rows);
  float* const to = out(step, output, row);
  for (std::int64_t r = 0; r < rows; ++r) std::copy_n(sums + r * kOutputs, args.channels_out, to + r * outputs_);
  const float* const added = residual(step, output, row);
  if (added == nullptr && epilogue_.activation.kind == kernels::Unary::identity) return;
  const float* const in = to;
  args.in_rows = &in;
  args.out_rows = &to;
  args.residual_rows = added != nullptr ? &added : nullptr;
  args.weights = sums;
  args.accumulate = true;
  gemm_.run(args);
}

}  // namespace colonnade
