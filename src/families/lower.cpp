// SPDX-License-Identifier: Apache-2.0
#include "families/lower.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace colonnade {

const std::byte* LowerContext::bytes(std::size_t index) const {
  if (!has_input(index) || !input(index).constant) return nullptr;
  taken[index] = true;
  auto bytes = weights.plain(input(index).constant);
  const std::byte* first = bytes.get();
  owned.push_back(std::move(bytes));
  return first;
}

const float* LowerContext::floats(std::size_t index) const {
  checked(node.input(index), DType::f32);
  return reinterpret_cast<const float*>(bytes(index));
}

ValueId LowerContext::checked(ValueId value, DType type) const {
  if (value == kAbsent || type == DType::undefined || graph.value(value).type.dtype == type) return value;
  fail(ErrorCode::internal, "node '{}' ({}): family '{}' expects '{}' to be {}, not {}", node.name, name_of(node.op),
       choice.family->name, graph.value(value).name, name_of(type), name_of(graph.value(value).type.dtype));
}

const float* LowerContext::packed(std::size_t index, const std::string& format, const WeightStore::Pack& pack) const {
  taken[index] = true;
  const PackedWeights found = weights.get(input(index).constant, format, pack);
  weights_bytes += static_cast<std::int64_t>(found.bytes);
  owned.push_back(found.floats);
  return found.floats.get();
}

const float* LowerContext::packed(std::size_t index, const std::string& format,
                                  const std::function<WeightMemory(const Tensor&, WeightRoom&)>& pack) const {
  return packed(index, format,
                [&](const Constant& constant, WeightRoom& room) { return pack(*constant.tensor(), room); });
}

namespace {

/// The kernel of each function. What the table promises and kernels lack does not compile.
constexpr auto kKernels = [] {
  std::array<kernels::Unary, kFunctionCount> kinds{};
  for (std::size_t i = 0; i < kFunctionCount; ++i) {
    if (!has_kernel(static_cast<UnaryKind>(i))) continue;
    const std::string_view name = functions::kTable[i].name;
    const auto* found = std::find(std::begin(kernels::kUnaryNames), std::end(kernels::kUnaryNames), name);
    if (found == std::end(kernels::kUnaryNames)) fail(ErrorCode::internal, "function '{}' has no kernel", name);
    kinds[i] = static_cast<kernels::Unary>(found - kernels::kUnaryNames);
  }
  return kinds;
}();

}  // namespace

kernels::UnaryOp unary_op(const Unary& unary, const float* slope) {
  if (slope) return {kernels::Unary::prelu, unary.a, unary.b, slope};
  if (!has_kernel(unary.kind)) fail(ErrorCode::internal, "function '{}' has no kernel", name_of(unary.kind));
  return {kKernels[static_cast<std::size_t>(unary.kind)], unary.a, unary.b, nullptr};
}

LoweredEpilogue lower_epilogue(const LowerContext& context, const FusedEpilogue& epilogue, std::size_t first_input) {
  LoweredEpilogue lowered;
  std::size_t next = first_input;
  const float* slope = epilogue.prelu_slope ? context.floats(next++) : nullptr;
  lowered.epilogue.activation = unary_op(epilogue.activation, slope);
  lowered.epilogue.residual_after = epilogue.residual_after;
  if (epilogue.residual) lowered.residual = context.in<float>(next);
  return lowered;
}

}  // namespace colonnade
