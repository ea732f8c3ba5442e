// SPDX-License-Identifier: Apache-2.0
// What convolutions and pools share: windows, and one spatial axis lifted to two.
#pragma once

#include "frontends/onnx/lowering.hpp"

namespace colonnade::onnx_import {

/// Attributes of a windowed operator; every list has one entry a spatial axis (pads two).
struct Window {
  Ints kernel, strides, dilations, pads;
  AutoPad auto_pad = AutoPad::explicit_pads;
};

/// Reads strides, dilations, pads and auto_pad; lengths and ranges are checked against the kernel.
Window read_window(const Lowering& low, Ints kernel);

/// kernel_shape as it is given; every entry positive.
std::optional<Ints> read_kernel(const Lowering& low);

/// `values` has `count` entries, each in [least, 2^31).
void check_ints(const Lowering& low, std::string_view name, const Ints& values, std::size_t count, std::int64_t least);

/// A 1-D window as a 2-D one of height 1.
void lift(Window& window);

/// x [N, C, spatial...] in the form core windowed operators take: channels-last, a single spatial axis lifted to two.
ValueId to_window_layout(Lowering& low, ValueId x, std::int64_t rank);
/// Undoes to_window_layout; `rank` is that of the ONNX tensor.
ValueId from_window_layout(Lowering& low, ValueId x, std::int64_t rank);

/// What a convolution of bytes has in place of a bias: inputs of the core operator after x and weight, in its order.
struct ByteParameters {
  Rescale out;
  Values inputs;
};

/// Operands of a convolution. exact: as of the core operator.
struct ConvOperands {
  ValueId x = kAbsent, weight = kAbsent;
  ValueId bias = kAbsent;  ///< kAbsent: none
  bool exact = false;
  std::optional<ByteParameters> bytes{};
};

/// The convolution that the node's attributes describe, of these operands: [N, O, spatial...].
ValueId convolve(Lowering& low, const ConvOperands& operands);

}  // namespace colonnade::onnx_import
