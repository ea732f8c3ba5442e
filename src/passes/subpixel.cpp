// SPDX-License-Identifier: Apache-2.0
// A transposed convolution with few output channels as one dense convolution whose channels are the stride x stride
// outputs of a block, moved to their places by DepthToSpace: one panel of a kernel then serves all phases (Shi et al.,
// "Is the deconvolution layer the same as a convolutional layer?", 2016).
#include <algorithm>
#include <optional>

#include "graph/contraction.hpp"
#include "passes/editor.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::rewrite {
namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
std::int64_t panels(std::int64_t channels) { return (channels + kPanel - 1) / kPanel; }

/// One axis: a block of outputs reads inputs first ... first + taps - 1 from the block's own position on.
struct Axis {
  std::int64_t kernel = 1, stride = 1, pad = 0, first = 0, taps = 1, pad_end = 0;

  /// The kernel element that output `phase` of a block multiplies input tap `tap` by; outside [0, kernel): none.
  std::int64_t element(std::int64_t phase, std::int64_t tap) const { return phase + pad - (first + tap) * stride; }
};

/// Nothing where blocks do not cover the output evenly or would begin inside the input.
std::optional<Axis> axis_of(std::int64_t kernel, std::int64_t stride, std::int64_t pad_begin, std::int64_t pad_end,
                            std::int64_t output_padding) {
  const std::int64_t extra = kernel + output_padding - pad_begin - pad_end;  // outputs = (inputs - 1) * stride + extra
  if (extra % stride != 0) return std::nullopt;
  Axis axis{kernel, stride, pad_begin, -floor_div(kernel - 1 - pad_begin, stride), 1, 0};
  const std::int64_t last = floor_div(stride - 1 + pad_begin, stride);
  axis.taps = last - axis.first + 1;
  axis.pad_end = extra / stride - 1 + last;
  return axis.first <= 0 && axis.pad_end >= 0 ? std::optional(axis) : std::nullopt;
}

Tensor dense_weight(const Tensor& weight, const Axis& y, const Axis& x) {
  const std::int64_t channels = weight.shape()[0], outputs = weight.shape()[1];
  Tensor dense(DType::f32, {y.stride * x.stride * outputs, channels, y.taps, x.taps});
  const auto from = weight.values<float>();
  float* to = dense.values<float>().data();
  for (std::int64_t py = 0; py < y.stride; ++py)
    for (std::int64_t px = 0; px < x.stride; ++px)
      for (std::int64_t o = 0; o < outputs; ++o)
        for (std::int64_t c = 0; c < channels; ++c)
          for (std::int64_t ty = 0; ty < y.taps; ++ty)
            for (std::int64_t tx = 0; tx < x.taps; ++tx) {
              const std::int64_t ky = y.element(py, ty), kx = x.element(px, tx);
              const bool inside = ky >= 0 && ky < y.kernel && kx >= 0 && kx < x.kernel;
              const std::int64_t at = ((c * outputs + o) * y.kernel + ky) * x.kernel + kx;
              *to++ = inside ? from[static_cast<std::size_t>(at)] : 0.0f;
            }
  return dense;
}

Tensor repeated(const Tensor& values, std::int64_t times) {
  Tensor result(DType::f32, {values.size() * times});
  const auto from = values.values<float>();
  for (std::int64_t i = 0; i < times; ++i)
    std::copy(from.begin(), from.end(),
              result.values<float>().begin() + static_cast<std::ptrdiff_t>(i * values.size()));
  return result;
}

bool rewrite_node(Editor& editor, int index) {
  const Node node = editor.node(index);
  const auto* op = std::get_if<ConvTranspose>(&node.op);
  if (op == nullptr || op->groups != 1 || !op->output_shape.empty() || op->kernel.size() != 2) return false;
  if (op->auto_pad != AutoPad::explicit_pads || op->epilogue.residual || op->strides[0] != op->strides[1]) return false;
  if (op->strides[0] == 1 || op->dilations != Ints{1, 1} || op->pads.size() != 4) return false;
  for (std::size_t i = 1; i < node.inputs.size(); ++i)
    if (node.inputs[i] != kAbsent && !editor.is_constant(node.inputs[i])) return false;
  const Value& weight = editor.value(node.inputs[1]);
  if (weight.type.dtype != DType::f32) return false;
  const auto padding = [&](std::size_t axis) { return op->output_padding.empty() ? 0 : op->output_padding[axis]; };
  const auto y = axis_of(op->kernel[0], op->strides[0], op->pads[0], op->pads[2], padding(0));
  const auto x = axis_of(op->kernel[1], op->strides[1], op->pads[1], op->pads[3], padding(1));
  if (!y || !x) return false;
  const std::int64_t outputs = weight.constant->shape()[1], block = y->stride * x->stride;
  if (panels(outputs * block) * y->taps * x->taps >= panels(outputs) * y->kernel * x->kernel) return false;

  Conv conv;
  conv.kernel = {y->taps, x->taps};
  conv.strides = conv.dilations = {1, 1};
  conv.pads = {-y->first, -x->first, y->pad_end, x->pad_end};
  conv.epilogue = op->epilogue;
  DepthToSpace shuffle;
  shuffle.block = y->stride;
  shuffle.axis = 3;
  std::vector<ValueId> inputs{
      node.inputs[0], editor.add_constant(node.name + "_dense", dense_weight(*weight.constant->tensor(), *y, *x))};
  for (std::size_t i = 2; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kAbsent) {
      inputs.push_back(kAbsent);
      continue;
    }
    const std::shared_ptr<const Tensor> values = editor.value(node.inputs[i]).constant->tensor();
    inputs.push_back(editor.add_constant(node.name + "_repeated", repeated(*values, block)));
  }
  editor.replace(node.outputs[0], editor.add(shuffle, {editor.add(conv, std::move(inputs), node)}, node));
  return true;
}

}  // namespace

bool subpixel(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index) {
    if (editor.alive(index)) rewrite_node(editor, index);
  }
  return editor.finish();
}

}  // namespace colonnade::rewrite
