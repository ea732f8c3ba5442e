// SPDX-License-Identifier: Apache-2.0
// The table of ONNX operators: one row says since when and until when a lowering holds.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "frontends/onnx/node.hpp"

namespace colonnade::onnx_import {

class Lowering;
/// Emits core operators for one ONNX node and answers its outputs, in order. Those nobody asked for may be kAbsent.
using Values = std::vector<std::int32_t>;
using Lower = Values (*)(Lowering& low);

inline constexpr int kNoLimit = 1 << 30;

struct Row {
  std::string_view domain;
  std::string_view name;
  int since;  ///< first opset the lowering holds for
  int until;  ///< last one
  int min_inputs;
  int max_inputs;  ///< kNoLimit: variadic
  int max_outputs;
  Lower lower;
};

/// The rows of one family of operators; each in ops/<domain>/<family>.cpp.
std::span<const Row> attention_rows();
std::span<const Row> beside_attention_rows();
std::span<const Row> cast_rows();
std::span<const Row> composed_rows();
std::span<const Row> constant_rows();
std::span<const Row> control_rows();
std::span<const Row> conv_rows();
std::span<const Row> elementwise_rows();
std::span<const Row> first_opsets_rows();
std::span<const Row> functions_rows();
std::span<const Row> gather_rows();
std::span<const Row> legacy_rows();
std::span<const Row> linear_attention_rows();
std::span<const Row> loss_rows();
std::span<const Row> matmul_rows();
std::span<const Row> norm_rows();
std::span<const Row> opaque_rows();
std::span<const Row> pool_rows();
std::span<const Row> quantize_rows();
std::span<const Row> random_rows();
std::span<const Row> recurrent_rows();
std::span<const Row> reduce_rows();
std::span<const Row> resize_rows();
std::span<const Row> sequence_rows();
std::span<const Row> shape_rows();
std::span<const Row> slice_rows();
std::span<const Row> training_rows();

std::span<const Row> ml_encoders_rows();
std::span<const Row> ml_linear_rows();
std::span<const Row> ml_svm_rows();
std::span<const Row> ml_tree_rows();

std::span<const Row> microsoft_attention_rows();
std::span<const Row> microsoft_experts_rows();
std::span<const Row> microsoft_fused_rows();
std::span<const Row> microsoft_heads_rows();
std::span<const Row> microsoft_integer_product_rows();
std::span<const Row> microsoft_norm_rows();
std::span<const Row> microsoft_recurrence_rows();
std::span<const Row> microsoft_opaque_rows();
std::span<const Row> microsoft_product_rows();
std::span<const Row> microsoft_quantized_rows();

/// The row for the node's domain, operator and opset; null when there is none. Writers put operators into files whose
/// opset does not have them yet: such a one stands for its first version.
const Row* find_row(const OnnxNode& node);

/// Every row, family after family.
std::vector<Row> all_rows();

}  // namespace colonnade::onnx_import
