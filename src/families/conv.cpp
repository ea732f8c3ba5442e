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

/// Weights [out, in / groups, kernel...] packed group by group.
WeightMemory pack(const Constant& weight, const Contraction& form, Encoding encoding, WeightRoom& room) {
  const bool encoded = encoding != Encoding::f32;
  const std::int64_t groups = form.groups;
  const Shape& shape = weight.shape();
  const std::int64_t taps = shape[2] * shape[3], channels = shape[1], n = shape[0] / groups, row = channels * taps;
  const auto k = static_cast<std::size_t>(row);
  const std::int64_t floats = packed_floats(encoding, form), panel_floats = floats / ceil_div(n, kPanel);
  WeightMemory packed = room.take(static_cast<std::size_t>(floats * groups) * sizeof(float));
  weight.for_each_rows(groups == 1 ? kPanel : n, [&](std::span<const float> elements, std::int64_t first) {
    std::vector<float> whole(encoded ? k * kernels::gemm::kPanel : 0);
    const std::int64_t end = first + static_cast<std::int64_t>(elements.size()) / row;
    for (std::int64_t o = first, width = 0; o < end; o += width) {
      width = std::min(kPanel, n - o % n);
      float* const place = packed.floats() + o / n * floats + o % n / kPanel * panel_floats;
      float* const panel = encoded ? whole.data() : place;
      for (std::int64_t t = 0; t < taps; ++t)
        kernels::gemm::pack(elements.data() + (o - first) * row + t, taps, row, static_cast<std::size_t>(channels),
                            static_cast<std::size_t>(width), panel + t * channels * kPanel);
      if (encoded) encode_panel(encoding, panel, k, kernels::gemm::paired_terms(terms_of(form)), place);
    }
  });
  return packed;
}

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
  const float* weights =
      context.packed(1, format_of(encoding, "conv", form) + "/" + std::to_string(form.groups),
                     [&](const Constant& weight, WeightRoom& room) { return pack(weight, form, encoding, room); });
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
