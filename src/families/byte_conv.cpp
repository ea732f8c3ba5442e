// SPDX-License-Identifier: Apache-2.0
// Convolution of bytes, dense or in groups.
#include "families/byte_contraction.hpp"
#include "families/common.hpp"
#include "families/table.hpp"

namespace colonnade {
namespace {

constexpr TypeSet kOutputTypes{DType::u8, DType::i8, DType::i32, DType::f32};

Match match(const Candidate& node) {
  const ByteConv* op = std::get_if<ByteConv>(&node.node.op);
  if (op == nullptr) return refuse();
  if (node.input_shape(0).size() != 4) return refuse("only two spatial axes have a kernel");
  if (!node.constant(1)) return refuse("weights are not constant");
  const std::int64_t groups = op->window.groups;
  return byte_contraction(node, window_of(node, op->window), groups, node.input_shape(0).back() / groups,
                          node.output_shape().back() / groups, op->out);
}

ColumnWindow columns(const Chosen& node) { return window_columns(node.form<ByteContraction>().window); }

/// Weights [out, in / groups, kernel...].
WeightMemory pack(const Tensor& weight, std::int64_t groups, const ByteContraction& form, WeightRoom& room) {
  const Shape& shape = weight.shape();
  const std::int64_t taps = shape[2] * shape[3], inputs = shape[1], outputs = shape[0] / groups;
  const auto weight_of = [&](std::int64_t group, std::int64_t input, std::int64_t output, std::int64_t tap) {
    if (input / inputs != output / outputs) return 0;
    return byte_weight(weight, ((group * form.outputs + output) * inputs + input % inputs) * taps + tap);
  };
  return pack_bytes(form, weight_of, room);
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  const std::int64_t groups = std::get<ByteConv>(context.node.op).window.groups;
  const auto& form = context.form<ByteContraction>();
  return lower_byte_contraction(context, context.packed(1, packing_name(form) + std::to_string(groups),
                                                        [&](const Tensor& weight, WeightRoom& room) {
                                                          return pack(weight, groups, form, room);
                                                        }));
}

}  // namespace

constinit const Family families::byte_conv = {.name = "byte_conv",
                                              .scope = Scope::rows,
                                              .border = Border::none,
                                              .types = kOutputTypes,
                                              .match = match,
                                              .units = one_unit,
                                              .effort = byte_contraction_effort,
                                              .weights_bytes = byte_contraction_weights_bytes,
                                              .workspace_bytes = byte_contraction_workspace_bytes,
                                              .window = columns,
                                              .chunks = byte_contraction_chunks,
                                              .placements = no_placements,
                                              .tell = nothing_told,
                                              .lower = lower};

}  // namespace colonnade
