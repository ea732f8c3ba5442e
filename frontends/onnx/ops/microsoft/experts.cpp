// SPDX-License-Identifier: Apache-2.0
// com.microsoft: mixtures of experts. A router says how much each of many experts counts for a token; the token goes
// through the few that count most, and their answers are added (Shazeer et al., 2017; SwiGLU: Shazeer, 2020).
#include <cmath>
#include <limits>

#include "frontends/onnx/ops/core/shared.hpp"
#include "frontends/onnx/ops/microsoft/quantized.hpp"
#include "frontends/onnx/ops/microsoft/shared.hpp"
#include "graph/narrow_weights.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::onnx_import {
namespace {

/// A layer of all experts: float32 matrices [experts * outputs, inputs], and bias [experts, outputs] or kAbsent.
struct Layer {
  ValueId matrices = kAbsent, bias = kAbsent;
  std::int64_t outputs = 0;
};
struct Experts {
  std::int64_t count = 0, chosen = 1;
  Layer first, second, gated;  ///< `gated` may be absent: its results are what those of `first` are multiplied by
};

std::int64_t known_dim_of(const Lowering& low, std::size_t input, std::int64_t axis) {
  const ValueId x = low.input(input);
  if (low.rank(x) != 3) low.invalid("expected input {} of rank 3, found rank {}", input, low.rank(x));
  const std::int64_t dim = low.dim(x, axis);
  if (dim < 1) low.unsupported("the shape of input {} is not known", input);
  return dim;
}

std::int64_t outputs_of_all(const Lowering& low, std::int64_t experts, std::int64_t outputs) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (outputs > kMost / experts) low.invalid("{} experts of {} outputs are too many", experts, outputs);
  return experts * outputs;
}

/// Bias of a layer as float32.
ValueId read_bias(Lowering& low, std::size_t input, std::int64_t experts, std::int64_t outputs) {
  const ValueId bias = low.optional_input(input);
  if (bias == kAbsent) return bias;
  if (low.rank(bias) != 2 || (low.dim(bias, 0) >= 0 && low.dim(bias, 0) != experts) ||
      (low.dim(bias, 1) >= 0 && low.dim(bias, 1) != outputs))
    low.invalid("expected input {} of shape [{}, {}]", input, experts, outputs);
  return cast(low, bias, DType::f32);
}

Layer float_layer(Lowering& low, std::size_t input, std::int64_t experts, std::int64_t inputs) {
  if (low.optional_input(input) == kAbsent) return {};
  const std::int64_t outputs = known_dim_of(low, input, 1);
  if (known_dim_of(low, input, 0) != experts || known_dim_of(low, input, 2) != inputs)
    low.invalid("expected input {} of shape [{}, {}, {}]", input, experts, outputs, inputs);
  const ValueId matrices =
      cast(low, reshape(low, low.input(input), {outputs_of_all(low, experts, outputs), inputs}), DType::f32);
  return {matrices, read_bias(low, input + 1, experts, outputs), outputs};
}

/// Where a layer of QMoE has its inputs: weights, scales and bias from `first` on.
struct QuantizedLayer {
  std::size_t first, zeros;
  std::string_view bits;
};

/// Zero points of all outputs. Without blocks those of an expert's outputs lie one behind the other in bytes.
ValueId read_zeros(Lowering& low, std::size_t input, const FewBits& sizes, std::int64_t experts) {
  const auto given = low.constant_of(low.optional_input(input));
  if (!given) return kAbsent;
  const std::int64_t rows = low.has_attribute("block_size") ? sizes.rows : experts;
  const std::int64_t columns = sizes.rows * sizes.blocks() / rows, bytes = (columns * sizes.bits + 7) / 8;
  if (given->size() != rows * bytes)
    low.invalid("expected {} bytes of zero points in input {}, found {}", rows * bytes, input, given->size());
  const auto fields = fields_of(reshaped(given, {rows, bytes}), sizes.type(), columns);
  return low.constant(reshaped(fields, {sizes.rows, sizes.blocks()}));
}

Layer quantized_layer(Lowering& low, const QuantizedLayer& at, std::int64_t experts, std::int64_t inputs) {
  if (low.optional_input(at.first) == kAbsent) return {};
  const std::int64_t outputs = known_dim_of(low, at.first, 1);
  FewBits sizes{.rows = outputs_of_all(low, experts, outputs), .depth = inputs};
  sizes.bits = low.int_or(at.bits, low.int_or("expert_weight_bits", 4));
  sizes.block = low.has_attribute("block_size") ? read_block_size(low, 0) : inputs;
  sizes.byte_rows = low.has_attribute("block_size") && low.int_or("accuracy_level", 0) == FewBits::kBytes;
  if (sizes.bits != 2 && sizes.bits != 4 && sizes.bits != 8)
    low.unsupported("{} bits a weight are not supported", sizes.bits);
  if (inputs % sizes.block != 0) low.invalid("blocks of {} do not divide {} inputs", sizes.block, inputs);
  if (inputs * sizes.bits % 8 != 0) low.invalid("rows of {} weights of {} bits do not fill bytes", inputs, sizes.bits);
  for (const std::size_t input : {at.first, at.first + 1, at.zeros})
    if (low.optional_input(input) != kAbsent && !low.constant_of(low.input(input)))
      low.unsupported("input {} is computed", input);
  const auto bytes = low.constant_of(low.input(at.first)), scales = low.constant_of(low.input(at.first + 1));
  if (bytes->shape() != Shape{experts, outputs, sizes.row_bytes()})
    low.invalid("expected input {} of shape [{}, {}, {}]", at.first, experts, outputs, sizes.row_bytes());
  if (scales->size() != sizes.rows * sizes.blocks())
    low.invalid("expected {} scales in input {}, found {}", sizes.rows * sizes.blocks(), at.first + 1, scales->size());
  const ValueId matrices = few_bits_as_floats(low, sizes, bytes, scales, read_zeros(low, at.zeros, sizes, experts));
  return {cast(low, matrices, DType::f32), read_bias(low, at.first + 2, experts, outputs), outputs};
}

/// What one token's experts count, [tokens, chosen], and which they are.
struct Route {
  ValueId weights, experts;
};
Route route(Lowering& low, const Experts& experts, ValueId router, ValueId weights) {
  const ValueId count = ints(low, {experts.chosen});
  const bool normalized = low.flag("normalize_routing_weights");
  if (weights == kAbsent && !normalized) {
    const Values top = low.emit_all(TopK{}, {low.emit(Softmax{}, {router}), count}, 2);
    return {top[0], top[1]};
  }
  const Values top = low.emit_all(TopK{}, {router, count}, 2);
  if (weights == kAbsent) return {low.emit(Softmax{}, {top[0]}), top[1]};
  const ValueId found = low.emit(GatherElements{1}, {weights, top[1]});
  if (!normalized) return {found, top[1]};
  return {binary(low, BinaryKind::div, found, reduce(low, ReduceKind::sum, found, {1})), top[1]};
}

/// x * sigmoid(alpha x)
ValueId swish(Lowering& low, ValueId x, float alpha) {
  if (alpha == 1) return unary(low, UnaryKind::silu, x);
  return binary(low, BinaryKind::mul, x, unary(low, UnaryKind::sigmoid, binary_scalar(low, BinaryKind::mul, x, alpha)));
}

/// Every second column from column `part` on, or one half of them.
ValueId part_of_columns(Lowering& low, ValueId x, std::int64_t columns, std::int64_t part, bool interleaved) {
  const std::int64_t half = columns / 2;
  const Ints bounds = interleaved ? Ints{part, columns, 2} : Ints{part * half, (part + 1) * half, 1};
  return low.emit(Slice{}, {x, ints(low, {bounds[0]}), ints(low, {bounds[1]}), ints(low, {1}), ints(low, {bounds[2]})});
}

ValueId swiglu(Lowering& low, ValueId gate, ValueId linear) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float limit = low.float_or("swiglu_limit", kInfinity), beta = low.float_or("activation_beta", 0);
  if (std::isnan(limit)) low.invalid("attribute 'swiglu_limit' is NaN");
  if (limit != kInfinity) {
    gate = unary(low, UnaryKind::clip, gate, -kInfinity, limit);
    linear = unary(low, UnaryKind::clip, linear, -limit, limit);
  }
  if (beta != 0) linear = binary_scalar(low, BinaryKind::add, linear, beta);
  return binary(low, BinaryKind::mul, swish(low, gate, low.float_or("activation_alpha", 1)), linear);
}

/// Between both products; `gated` is what the third one made, or kAbsent.
ValueId between(Lowering& low, ValueId x, const Layer& first, ValueId gated) {
  const std::string kind = low.string_or("activation_type", "relu");
  const std::int64_t fusion = low.int_or("swiglu_fusion", 0);
  if (kind == "swiglu") {
    if (fusion < 0 || fusion > 2) low.invalid("attribute 'swiglu_fusion': {} is out of range", fusion);
    if (fusion == 0 && gated == kAbsent) low.invalid("swiglu needs a third product, or swiglu_fusion");
    if (fusion == 0) return swiglu(low, x, gated);
    if (gated != kAbsent) low.invalid("swiglu_fusion and a third product exclude each other");
    if (first.outputs % 2 != 0) low.invalid("{} outputs are no pairs for swiglu", first.outputs);
    return swiglu(low, part_of_columns(low, x, first.outputs, 0, fusion == 1),
                  part_of_columns(low, x, first.outputs, 1, fusion == 1));
  }
  ValueId y = x;
  if (kind == "silu")
    y = unary(low, UnaryKind::silu, x);
  else if (kind == "gelu")
    y = unary(low, UnaryKind::gelu_tanh, x);
  else if (kind == "relu")
    y = unary(low, UnaryKind::relu, x);
  else if (kind != "identity")
    low.unsupported("activation '{}' is not supported", printable(kind));
  return gated == kAbsent ? y : binary(low, BinaryKind::mul, y, gated);
}

/// Tokens are sorted by their experts, so that an expert's are multiplied together, and its weights read once.
Values mix(Lowering& low, const Experts& experts, ValueId weights_of_router) {
  const ValueId x = low.input(0);
  const DType dtype = low.dtype(x);
  const auto rows_of = [&](ValueId value, std::int64_t columns) {
    return cast(low, reshape(low, value, {-1, columns}), DType::f32);
  };
  const std::int64_t width = experts.second.outputs;
  const Route chosen = route(low, experts, rows_of(low.input(1), experts.count),
                             weights_of_router == kAbsent ? kAbsent : rows_of(weights_of_router, experts.count));
  const Attributes attributes{{"groups", experts.count}, {"repeats", experts.chosen}};
  const Values sorted = low.emit_all(make_opaque(reference::kGroupRows, 1, attributes), {chosen.experts}, 3);
  const auto product = [&](ValueId rows, const Layer& layer) {
    if (layer.matrices == kAbsent) return kAbsent;
    return low.emit(make_opaque(reference::kGroupedProduct, 1, attributes),
                    {rows, layer.matrices, sorted[2], layer.bias});
  };
  const ValueId rows = low.emit(Gather{0}, {rows_of(x, width), sorted[0]});
  const ValueId inner = between(low, product(rows, experts.first), experts.first, product(rows, experts.gated));
  const ValueId answers = low.emit(Gather{0}, {product(inner, experts.second), sorted[1]});
  const ValueId weighted = binary(low, BinaryKind::mul, answers, unsqueeze(low, chosen.weights, {2}));
  const ValueId sum = cast(low, reduce(low, ReduceKind::sum, weighted, {1}, false), dtype);
  return {low.rank(x) == 2 ? sum : reshape_to(low, sum, {extent(low, x, 0), extent(low, x, 1), ints(low, {width})})};
}

/// Sizes that both operators read of inputs: `first` and `second` are where weights are.
Experts read_experts(const Lowering& low, std::size_t first) {
  if (low.flag("swiglu_limit_after_activation")) low.unsupported("swiglu_limit_after_activation is not supported");
  const std::int64_t rank = low.rank(low.input(0));
  if (rank != 2 && rank != 3) low.invalid("expected input 0 of rank 2 or 3, found rank {}", rank);
  Experts experts{
      .count = known_dim_of(low, first, 0), .chosen = low.int_or("k", 1), .first = {}, .second = {}, .gated = {}};
  if (experts.chosen < 1 || experts.chosen > experts.count)
    low.invalid("attribute 'k': {} of {} experts", experts.chosen, experts.count);
  return experts;
}

/// Inputs of the second product, as the first one makes them.
std::int64_t inner_width(const Lowering& low, const Layer& first) {
  return low.string_or("activation_type", "relu") == "swiglu" && low.int_or("swiglu_fusion", 0) != 0 ? first.outputs / 2
                                                                                                     : first.outputs;
}

Values lower_moe(Lowering& low) {
  Experts experts = read_experts(low, 2);
  experts.first = float_layer(low, 2, experts.count, known_dim_of(low, 4, 1));
  experts.second = float_layer(low, 4, experts.count, inner_width(low, experts.first));
  experts.gated = float_layer(low, 6, experts.count, experts.second.outputs);
  return mix(low, experts, kAbsent);
}

Values lower_qmoe(Lowering& low) {
  const std::string type = low.string_or("quant_type", "int");
  if (type != "int") low.unsupported("quant_type '{}' is not supported", printable(type));
  if (low.int_or("weights_prepacked", -1) == 1) low.unsupported("prepacked weights are not supported");
  for (std::size_t input = 15; input < low.input_count(); ++input)
    if (low.optional_input(input) != kAbsent) low.unsupported("input {} is not supported", input);
  Experts experts = read_experts(low, 2);
  const auto layer = [&](std::size_t first, std::size_t zeros, std::string_view bits, std::int64_t inputs) {
    return quantized_layer(low, {first, zeros, bits}, experts.count, inputs);
  };
  experts.first = layer(2, 11, "fc1_expert_weight_bits", known_dim_of(low, 5, 1));
  experts.second = layer(5, 12, "fc2_expert_weight_bits", inner_width(low, experts.first));
  experts.gated = layer(8, 13, "fc3_expert_weight_bits", experts.second.outputs);
  return mix(low, experts, low.optional_input(14));
}

constexpr Row kExpertsRows[] = {
    microsoft_row("MoE", 5, 8, 1, lower_moe),
    microsoft_row("QMoE", 7, 20, 1, lower_qmoe),
};

}  // namespace

std::span<const Row> microsoft_experts_rows() { return kExpertsRows; }

}  // namespace colonnade::onnx_import
