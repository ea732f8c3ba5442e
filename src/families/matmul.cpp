// SPDX-License-Identifier: Apache-2.0
// Product with a constant matrix, row by row.
#include <algorithm>

#include "families/common.hpp"
#include "families/contraction.hpp"
#include "families/dense_conv.hpp"
#include "families/matrices.hpp"
#include "families/table.hpp"

namespace colonnade {
namespace {

using kernels::Encoding;

constexpr auto kPiecesStep = static_cast<std::int64_t>(kernels::gemm::kPiecesStep);

/// A matrix [in, out], or [out, in] when transposed.
WeightMemory pack(const Constant& weight, bool transposed, Encoding encoding, WeightRoom& room) {
  const std::int64_t k = weight.shape()[transposed ? 1 : 0], n = weight.shape()[transposed ? 0 : 1];
  const auto depth = static_cast<std::size_t>(k);
  WeightMemory packed =
      room.take(kernels::gemm::packed_floats(encoding, depth, static_cast<std::size_t>(n)) * sizeof(float));
  if (encoding != Encoding::f32) {
    const auto panel_floats = static_cast<std::int64_t>(kernels::gemm::panel_floats(encoding, depth));
    weight.for_each_rows(transposed ? kPanel : kPiecesStep, [&](std::span<const float> elements, std::int64_t first) {
      std::vector<float> some;
      if (transposed) {
        const auto count = static_cast<std::int64_t>(elements.size()) / k;
        some.resize(depth * kernels::gemm::kPanel);
        for (std::int64_t o = 0; o < count; o += kPanel) {
          kernels::gemm::pack(elements.data() + o * k, 1, k, depth,
                              static_cast<std::size_t>(std::min(kPanel, count - o)), some.data());
          encode_panel(encoding, some.data(), depth, depth, packed.floats() + (first + o) / kPanel * panel_floats);
        }
        return;
      }
      const std::size_t rows = elements.size() / static_cast<std::size_t>(n);
      some.resize(rows * kernels::gemm::kPanel);
      for (std::int64_t o = 0; o < n; o += kPanel) {
        kernels::gemm::pack(elements.data() + o, n, 1, rows, static_cast<std::size_t>(std::min(kPanel, n - o)),
                            some.data());
        encode_panel(
            encoding, some.data(), rows, rows,
            packed.floats() + o / kPanel * panel_floats +
                static_cast<std::int64_t>(kernels::gemm::panel_floats(encoding, static_cast<std::size_t>(first))));
      }
    });
    return packed;
  }
  weight.for_each_rows(transposed ? kPanel : 1, [&](std::span<const float> elements, std::int64_t first) {
    if (transposed)
      return kernels::gemm::pack(elements.data(), 1, k, static_cast<std::size_t>(k),
                                 elements.size() / static_cast<std::size_t>(k), packed.floats() + first * k);
    for (std::int64_t o = 0; o < n; o += kPanel)
      kernels::gemm::pack(elements.data() + o, n, 1, elements.size() / static_cast<std::size_t>(n),
                          static_cast<std::size_t>(std::min(kPanel, n - o)), packed.floats() + o * k + first * kPanel);
  });
  return packed;
}

Match match(const Candidate& node) {
  const MatMul* op = std::get_if<MatMul>(&node.node.op);
  if (op == nullptr) return refuse();
  if (!node.constant_or_absent(2)) return refuse("bias is not constant");
  if (!node.constant(1) || node.input_shape(1).size() != 2) return refuse();
  const Shape &in = node.input_shape(0), &weight = node.input_shape(1);
  if (op->transpose_a || in.size() < 2) return refuse("transposed or one-dimensional left operand");
  if (has_heads_inside(*op)) return refuse();
  const RowShape rows = row_shape(in), out = row_shape(node.output_shape());
  const std::int64_t terms = weight[op->transpose_b ? 1 : 0], outputs = weight[op->transpose_b ? 0 : 1];
  const Contraction form{.inputs = terms,
                         .outputs = outputs,
                         .pointwise = rows.rows == out.rows && rows.width == out.width,
                         .partial_sums = takes_partial_sums(node)};
  const LongSums sums{.pixels = pixels_of_sample(node),
                      .inputs = in.back(),
                      .outputs = out.channels,
                      .paired_terms = paired_terms(form)};
  return offers_of(form, direct_offers(sums, encodings_for(node, false), node.blocking), node);
}

ChunkRule chunks(const Chosen& node) { return contraction_chunks(node, true, std::get<MatMul>(node.node.op).epilogue); }

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  const MatMul& op = std::get<MatMul>(context.node.op);
  const Encoding encoding = context.choice.encoding;
  const float* weights = context.packed(
      1, format_of(encoding, op.transpose_b ? "matmul/t" : "matmul", context.form<Contraction>()),
      [&](const Constant& weight, WeightRoom& room) { return pack(weight, op.transpose_b, encoding, room); });
  return lower_contraction(context, weights, op.epilogue);
}

}  // namespace

constinit const Family families::matmul = {.name = "matmul",
                                           .scope = Scope::rows,
                                           .border = Border::none,
                                           .types = kFloats,
                                           .match = match,
                                           .units = one_unit,
                                           .effort = contraction_effort,
                                           .weights_bytes = contraction_weights_bytes,
                                           .workspace_bytes = contraction_workspace_bytes,
                                           .window = no_window,
                                           .chunks = chunks,
                                           .placements = no_placements,
                                           .tell = nothing_told,
                                           .lower = lower};

}  // namespace colonnade
