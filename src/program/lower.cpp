// SPDX-License-Identifier: Apache-2.0
#include "program/lower.hpp"

namespace colonnade {

const float* LowerContext::constant(std::size_t index) const {
  if (!has_input(index) || !input(index).constant) return nullptr;
  taken[index] = true;
  auto tensor = input(index).constant->tensor();
  const float* floats = tensor->values<float>().data();
  owned.push_back(std::move(tensor));
  return floats;
}

const float* LowerContext::packed(std::size_t index, const std::string& format,
                                  const std::function<AlignedBuffer(const Constant&)>& pack) const {
  taken[index] = true;
  const PackedWeights found = weights.get(input(index).constant, format, pack);
  weights_bytes += static_cast<std::int64_t>(found.bytes);
  owned.push_back(found.floats);
  return found.floats.get();
}

const float* LowerContext::packed(std::size_t index, const std::string& format,
                                  const std::function<AlignedBuffer(const Tensor&)>& pack) const {
  return packed(index, format, [&](const Constant& constant) { return pack(*constant.tensor()); });
}

kernels::UnaryOp unary_op(const Unary& unary, const float* slope) {
  using Kind = kernels::Unary;
  kernels::UnaryOp op{Kind::identity, unary.a, unary.b, slope};
  switch (unary.kind) {
    case UnaryKind::identity: op.kind = Kind::identity; break;
    case UnaryKind::relu: op.kind = Kind::relu; break;
    case UnaryKind::clip: op.kind = Kind::clip; break;
    case UnaryKind::leaky_relu: op.kind = Kind::leaky_relu; break;
    case UnaryKind::sigmoid: op.kind = Kind::sigmoid; break;
    case UnaryKind::hard_sigmoid: op.kind = Kind::hard_sigmoid; break;
    case UnaryKind::hard_swish: op.kind = Kind::hard_swish; break;
    case UnaryKind::silu: op.kind = Kind::silu; break;
    case UnaryKind::tanh: op.kind = Kind::tanh; break;
    case UnaryKind::gelu_erf: op.kind = Kind::gelu_erf; break;
    case UnaryKind::gelu_tanh: op.kind = Kind::gelu_tanh; break;
    case UnaryKind::elu: op.kind = Kind::elu; break;
    case UnaryKind::selu: op.kind = Kind::selu; break;
    case UnaryKind::softplus: op.kind = Kind::softplus; break;
    case UnaryKind::softsign: op.kind = Kind::softsign; break;
    case UnaryKind::mish: op.kind = Kind::mish; break;
    case UnaryKind::exp: op.kind = Kind::exp; break;
    case UnaryKind::log: op.kind = Kind::log; break;
    case UnaryKind::erf: op.kind = Kind::erf; break;
    case UnaryKind::sqrt: op.kind = Kind::sqrt; break;
    case UnaryKind::reciprocal: op.kind = Kind::reciprocal; break;
    case UnaryKind::abs: op.kind = Kind::abs; break;
    case UnaryKind::neg: op.kind = Kind::neg; break;
    case UnaryKind::square: op.kind = Kind::square; break;
    case UnaryKind::floor: op.kind = Kind::floor; break;
    case UnaryKind::ceil: op.kind = Kind::ceil; break;
    case UnaryKind::round: op.kind = Kind::round; break;
    default: fail(ErrorCode::internal, "function '{}' has no kernel", name_of(unary.kind));
  }
  if (slope) op.kind = Kind::prelu;
  return op;
}

LoweredEpilogue lower_epilogue(const LowerContext& context, const FusedEpilogue& epilogue, std::size_t first_input) {
  LoweredEpilogue lowered;
  std::size_t next = first_input;
  const float* slope = epilogue.prelu_slope ? context.constant(next++) : nullptr;
  lowered.epilogue.activation = unary_op(epilogue.activation, slope);
  lowered.epilogue.residual_after = epilogue.residual_after;
  if (epilogue.residual) lowered.residual = context.node.inputs[next];
  return lowered;
}

}  // namespace colonnade
