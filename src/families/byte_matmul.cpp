// SPDX-License-Identifier: Apache-2.0
// Product of bytes with a constant matrix, row by row.
#include "families/byte_contraction.hpp"
#include "families/common.hpp"
#include "families/table.hpp"

namespace colonnade {
namespace {

constexpr TypeSet kOutputTypes{DType::u8, DType::i8, DType::i32, DType::f32};

Match match(const Candidate& node) {
  const ByteMatMul* op = std::get_if<ByteMatMul>(&node.node.op);
  if (op == nullptr) return refuse();
  if (!node.constant(1) || node.input_shape(1).size() != 2) return refuse("the matrix is not constant");
  if (node.input_shape(0).size() < 2) return refuse("one-dimensional left operand");
  return byte_contraction(node, Window{}, 1, node.input_shape(1)[0], node.input_shape(1)[1], op->out);
}

/// A matrix [in, out].
WeightMemory pack(const Tensor& weight, const ByteContraction& form, WeightRoom& room) {
  return pack_bytes(
      form,
      [&](std::int64_t, std::int64_t input, std::int64_t output, std::int64_t) {
        return byte_weight(weight, input * form.outputs + output);
      },
      room);
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  const auto& form = context.form<ByteContraction>();
  return lower_byte_contraction(
      context, context.packed(1, packing_name(form) + "matmul",
                              [&](const Tensor& weight, WeightRoom& room) { return pack(weight, form, room); }));
}

}  // namespace

constinit const Family families::byte_matmul = {.name = "byte_matmul",
                                                .scope = Scope::rows,
                                                .border = Border::none,
                                                .types = kOutputTypes,
                                                .match = match,
                                                .units = one_unit,
                                                .effort = byte_contraction_effort,
                                                .weights_bytes = byte_contraction_weights_bytes,
                                                .workspace_bytes = byte_contraction_workspace_bytes,
                                                .window = no_window,
                                                .chunks = byte_contraction_chunks,
                                                .placements = no_placements,
                                                .tell = nothing_told,
                                                .lower = lower};

}  // namespace colonnade
