// SPDX-License-Identifier: Apache-2.0
// Convolution by direct sums.
#include <algorithm>

#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/contraction.hpp"
#include "families/dense_conv.hpp"
#include "families/table.hpp"

namespace colonnade {
namespace {

using kernels::Encoding;

bool is_pointwise(const Conv& conv) {
  const Ints one{1, 1};
  return conv.groups == 1 && conv.kernel == one && conv.strides == one;
}

Match match(const Candidate& node) {
  const Conv* conv = std::get_if<Conv>(&node.node.op);
  if (conv == nullptr) return refuse();
  if (const std::string reason = dense_refusal(node); !reason.empty()) return refuse(reason);
  const Shape &in = node.input_shape(0), &out = node.output_shape();
  const std::int64_t taps = conv->kernel[0] * conv->kernel[1], inputs = in[3] / conv->groups,
                     outputs = out[3] / conv->groups;
  const Encodings encodings = encodings_for(node, conv->exact);
  const Window window = window_of(node, *conv);
  const bool pointwise =
      is_pointwise(*conv) && window.pad_top == 0 && window.pad_left == 0 && in[1] == out[1] && in[2] == out[2];
  const Contraction form{window, conv->groups, inputs, outputs, pointwise, pointwise && takes_partial_sums(node)};
  const LongSums sums{out[1] * out[2],
                      taps,
                      inputs,
                      outputs,
                      conv->groups,
                      encodings.pieces ? taps_inside(*conv, in, out) : 1,
                      static_cast<double>(in[1] * in[2]) / static_cast<double>(out[1] * out[2]),
                      paired_terms(form)};
  return offers_of(form, direct_offers(sums, encodings, node.blocking), node);
}

ColumnWindow columns(const Chosen& node) { return conv_columns(node, node.form<Contraction>().window); }

ChunkRule chunks(const Chosen& node) {
  const Conv& conv = std::get<Conv>(node.node.op);
  return contraction_chunks(node, is_pointwise(conv), conv.epilogue);
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  const Encoding encoding = context.choice.encoding;
  const auto& form = context.form<Contraction>();
  const float* weights = context.packed(
      1, format_of(encoding, "conv", form) + "/" + std::to_string(form.groups),
      [&](const Constant& weight, WeightRoom& room) { return pack_filters(weight, form, encoding, room); });
  return lower_contraction(context, weights, std::get<Conv>(context.node.op).epilogue);
}

}  // namespace

constinit const Family families::conv = {.name = "conv",
                                         .scope = Scope::rows,
                                         .border = Border::none,
                                         .types = kFloats,
                                         .match = match,
                                         .units = one_unit,
                                         .effort = contraction_effort,
                                         .weights_bytes = contraction_weights_bytes,
                                         .workspace_bytes = contraction_workspace_bytes,
                                         .window = columns,
                                         .chunks = chunks,
                                         .placements = no_placements,
                                         .tell = nothing_told,
                                         .lower = lower};

}  // namespace colonnade
