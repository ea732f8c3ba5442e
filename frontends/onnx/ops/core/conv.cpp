// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/ops/core/window.hpp"

namespace colonnade::onnx_import {
namespace {

/// Kernel extents from the weight's shape and the attribute, which must agree.
Ints kernel_of(const Lowering& low, ValueId weight) {
  const auto given = read_kernel(low);
  const auto& shape = low.shape(weight);
  if (!shape) {
    if (!given) low.unsupported("neither the weight's shape nor 'kernel_shape' is known");
    return *given;
  }
  if (shape->size() < 3) low.invalid("expected a weight of rank 3 or more, found rank {}", shape->size());
  Ints kernel(shape->begin() + 2, shape->end());
  if (given && given->size() != kernel.size()) {
    low.invalid("attribute 'kernel_shape': expected {} values, found {}", kernel.size(), given->size());
  }
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    if (kernel[i] < 0 && given) kernel[i] = (*given)[i];
    if (kernel[i] < 1) low.invalid("kernel extent {} is not positive", kernel[i]);
    if (given && (*given)[i] != kernel[i]) {
      low.invalid("attribute 'kernel_shape': expected {} as the weight has, found {}", kernel[i], (*given)[i]);
    }
  }
  return kernel;
}

/// The input's rank, which the kernel determines.
std::int64_t checked_rank(const Lowering& low, ValueId x, const Ints& kernel) {
  const auto rank = static_cast<std::int64_t>(kernel.size()) + 2;
  const auto& shape = low.shape(x);
  if (shape && static_cast<std::int64_t>(shape->size()) != rank) {
    low.invalid("expected an input of rank {} for its kernel, found rank {}", rank, shape->size());
  }
  return rank;
}

std::int64_t read_groups(const Lowering& low, std::int64_t divided) {
  const std::int64_t groups = low.int_or("group", 1);
  if (groups < 1) low.invalid("attribute 'group': {} is not positive", groups);
  if (divided >= 0 && divided % groups != 0)
    low.invalid("attribute 'group': {} does not divide {} channels", groups, divided);
  return groups;
}

Values window_inputs(Lowering& low, const ConvOperands& operands, std::int64_t rank) {
  const ValueId weight = rank == 3 ? unsqueeze(low, operands.weight, {2}) : operands.weight;
  Values inputs = {to_window_layout(low, operands.x, rank), weight};
  if (operands.bias != kAbsent) inputs.push_back(operands.bias);
  return inputs;
}

ConvOperands read_operands(const Lowering& low) {
  return {.x = low.input(0), .weight = low.input(1), .bias = low.optional_input(2)};
}

Values lower_conv(Lowering& low) { return {convolve(low, read_operands(low))}; }

/// Spatial part of the attribute, which some writers give with batch and channels.
Ints read_output_shape(const Lowering& low, std::size_t spatial) {
  Ints shape = find_ints(low.node(), "output_shape").value_or(Ints());
  if (shape.size() == spatial + 2) shape.erase(shape.begin(), shape.begin() + 2);
  if (!shape.empty()) check_ints(low, "output_shape", shape, spatial, 1);
  return shape;
}

Values lower_conv_transpose(Lowering& low) {
  const ConvOperands operands = read_operands(low);
  Window window = read_window(low, kernel_of(low, operands.weight));
  const std::size_t spatial = window.kernel.size();
  const std::int64_t rank = checked_rank(low, operands.x, window.kernel);
  const std::int64_t groups = read_groups(low, low.dim(operands.weight, 0));
  Ints output_padding = find_ints(low.node(), "output_padding").value_or(Ints(spatial, 0));
  check_ints(low, "output_padding", output_padding, spatial, 0);
  Ints output_shape = read_output_shape(low, spatial);
  if (spatial == 1) {
    output_padding.insert(output_padding.begin(), 0);
    if (!output_shape.empty()) output_shape.insert(output_shape.begin(), 1);
  }
  lift(window);
  ConvTranspose conv{.kernel = window.kernel,
                     .strides = window.strides,
                     .dilations = window.dilations,
                     .pads = window.pads,
                     .output_padding = output_padding,
                     .output_shape = output_shape,
                     .groups = groups,
                     .auto_pad = window.auto_pad,
                     .epilogue = {}};
  const ValueId y = low.emit(std::move(conv), window_inputs(low, operands, rank));
  return {from_window_layout(low, y, rank)};
}

constexpr Row kConvRows[] = {
    {kOnnxDomain, "Conv", 1, kNoLimit, 2, 3, 1, lower_conv},
    {kOnnxDomain, "ConvTranspose", 1, kNoLimit, 2, 3, 1, lower_conv_transpose},
};

}  // namespace

ValueId convolve(Lowering& low, const ConvOperands& operands) {
  Window window = read_window(low, kernel_of(low, operands.weight));
  const std::int64_t rank = checked_rank(low, operands.x, window.kernel);
  const std::int64_t groups = read_groups(low, low.dim(operands.weight, 0));
  lift(window);
  Conv conv{.kernel = window.kernel,
            .strides = window.strides,
            .dilations = window.dilations,
            .pads = window.pads,
            .groups = groups,
            .auto_pad = window.auto_pad,
            .exact = operands.exact,
            .epilogue = {}};
  Values inputs = window_inputs(low, operands, rank);
  Operator op = conv;
  if (operands.bytes) {
    op = ByteConv{std::move(conv), operands.bytes->out};
    inputs.insert(inputs.end(), operands.bytes->inputs.begin(), operands.bytes->inputs.end());
  }
  return from_window_layout(low, low.emit(std::move(op), std::move(inputs)), rank);
}

std::span<const Row> conv_rows() { return kConvRows; }

}  // namespace colonnade::onnx_import
