// SPDX-License-Identifier: Apache-2.0
#include "families/narrow_rows.hpp"

#include <algorithm>

#include "families/common.hpp"
#include "families/matrices.hpp"

namespace colonnade {
namespace {

constexpr auto kOutputs = static_cast<std::int64_t>(kernels::narrow::kOutputs);
constexpr auto kFew = static_cast<std::int64_t>(kernels::narrow::kMostRows);

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

const std::byte* packed_panels(const LowerContext& context, std::size_t input, const NarrowForm& form) {
  return reinterpret_cast<const std::byte*>(
      context.packed(input, format_of(form),
                     [&](const Constant& weights, WeightRoom& room) { return pack_narrow(weights, form, room); }));
}

NarrowRows NarrowRows::some(const NarrowForm& form, std::int64_t first, std::int64_t most) const {
  NarrowRows part = *this;
  part.count = std::min(most, count - first);
  part.x += first * form.depth();
  part.out += first * form.outputs;
  if (residual != nullptr) part.residual += first * form.outputs;
  return part;
}

kernels::gemm::ConvArgs NarrowSums::args_of(const NarrowRows& rows, std::int64_t which) const {
  const std::int64_t output = which * kOutputs;
  kernels::gemm::ConvArgs args;
  args.width_in = args.width_out = static_cast<std::size_t>(rows.count);
  args.channels_out = static_cast<std::size_t>(std::min(kOutputs, form_.outputs - output));
  args.in_pixel_stride = form_.depth();
  args.out_pixel_stride = args.residual_pixel_stride = form_.outputs;
  args.bias = rows.bias == nullptr ? nullptr : rows.bias + output;
  args.epilogue = epilogue_;
  if (epilogue_.activation.slope != nullptr) args.epilogue.activation.slope += output;
  return args;
}

void NarrowSums::start(const NarrowRows& rows, std::int64_t which, float* sums) const {
  std::fill_n(sums, rows.count * kOutputs, 0.0f);
  const kernels::gemm::ConvArgs args = args_of(rows, which);
  for (std::int64_t r = 0; args.bias != nullptr && r < rows.count; ++r)
    std::copy_n(args.bias, args.channels_out, sums + r * kOutputs);
}

/// A product without terms starts from the outputs.
void NarrowSums::finish(const NarrowRows& rows, std::int64_t which, const float* sums) const {
  kernels::gemm::ConvArgs args = args_of(rows, which);
  float* const to = rows.out + which * kOutputs;
  for (std::int64_t r = 0; r < rows.count; ++r)
    std::copy_n(sums + r * kOutputs, args.channels_out, to + r * form_.outputs);
  const float* const added = rows.residual == nullptr ? nullptr : rows.residual + which * kOutputs;
  if (added == nullptr && epilogue_.activation.kind == kernels::Unary::identity) return;
  const float* const in = to;
  args.in_rows = &in;
  args.out_rows = &to;
  args.residual_rows = added != nullptr ? &added : nullptr;
  args.weights = sums;
  args.accumulate = true;
  gemm_.run(args);
}

/// As many as are prepared at once.
void NarrowProduct::multiply_vectors(const NarrowRows& rows, Interval panels, float* scratch) const {
  const auto prepared_floats = static_cast<std::int64_t>(form_.format.prepared_floats());
  for (std::int64_t row = 0; row < rows.count; row += NarrowForm::kMostVectors) {
    const NarrowRows together = rows.some(form_, row, NarrowForm::kMostVectors);
    for (std::int64_t r = 0; r < together.count; ++r)
      kernel_.prepare({form_.format, together.x + r * form_.depth(), scratch + r * prepared_floats});
    for (std::int64_t which = panels.begin; which < panels.end; ++which)
      for (std::int64_t first = 0; first < together.count; first += kFew) {
        alignas(64) float sums[kFew * kOutputs];
        const NarrowRows some = together.some(form_, first, kFew);
        start(some, which, sums);
        kernel_.multiply({form_.format, panel(rows, which), static_cast<std::size_t>(some.count),
                          scratch + first * prepared_floats, sums});
        finish(some, which, sums);
      }
  }
}

void NarrowProduct::multiply_few(const NarrowRows& rows, Interval panels) const {
  for (std::int64_t which = panels.begin; which < panels.end; ++which)
    for (std::int64_t first = 0; first < rows.count; first += kFew) {
      alignas(64) float sums[kFew * kOutputs];
      const NarrowRows some = rows.some(form_, first, kFew);
      start(some, which, sums);
      kernel_.multiply_rows(
          {form_.format, panel(rows, which), static_cast<std::size_t>(some.count), some.x, form_.depth(), sums});
      finish(some, which, sums);
    }
}

void NarrowProduct::multiply_rows(const NarrowRows& rows, std::int64_t which, float* scratch) const {
  const kernels::gemm::ConvArgs whole_sum = args_of(rows, which);
  float* out = rows.out + which * kOutputs;
  const float* residual = rows.residual == nullptr ? nullptr : rows.residual + which * kOutputs;
  for (std::int64_t first = 0; first < form_.depth(); first += form_.depth_step) {
    const std::int64_t count = std::min(form_.depth_step, form_.depth() - first);
    const bool is_last = first + count == form_.depth();
    kernel_.widen(
        {form_.format, panel(rows, which), static_cast<std::size_t>(first), static_cast<std::size_t>(count), scratch});
    kernels::gemm::ConvArgs args = whole_sum;
    const float* a = rows.x + first;
    args.in_rows = &a;
    args.out_rows = &out;
    args.residual_rows = residual != nullptr && is_last ? &residual : nullptr;
    args.channels_in = static_cast<std::size_t>(count);
    args.weights = scratch;
    args.panel_stride = args.channels_in * kernels::gemm::kPanel;
    args.accumulate = first > 0;
    if (!is_last) args.epilogue = {};
    gemm_.run(args);
  }
}

std::int64_t NarrowProduct::vector_floats(const NarrowForm& form, std::int64_t rows) {
  return std::min(rows, NarrowForm::kMostVectors) * static_cast<std::int64_t>(form.format.prepared_floats());
}

std::int64_t NarrowProduct::panel_floats(const NarrowForm& form) {
  return std::min(form.depth_step, form.depth()) * kOutputs;
}

void NarrowByteProduct::multiply(const NarrowRows& rows, Interval panels, float* scratch) const {
  const auto count = static_cast<std::size_t>(rows.count);
  auto* const prepared = reinterpret_cast<std::byte*>(scratch);
  kernel_.prepare({form_.format, count, rows.x, form_.depth(), prepared});
  for (std::int64_t which = panels.begin; which < panels.end; ++which) {
    alignas(64) float sums[kMostRows * kOutputs];
    start(rows, which, sums);
    kernel_.multiply({form_.format, count, panel(rows, which), prepared, sums});
    finish(rows, which, sums);
  }
}

std::int64_t NarrowByteProduct::workspace_bytes(const NarrowForm& form, std::int64_t rows) {
  const auto count = static_cast<std::size_t>(std::min(rows, kMostRows));
  return static_cast<std::int64_t>(kernels::narrow_bytes::prepared_bytes(form.format, count));
}

}  // namespace colonnade
