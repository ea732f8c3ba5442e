// SPDX-License-Identifier: Apache-2.0
// Attention as the operators that it stands for.
#include "reference/elements.hpp"
#include "reference/families.hpp"
#include "reference/reference.hpp"

namespace colonnade::reference {
namespace {

Tensor step_of(const Call& call, Operator op, std::initializer_list<const Tensor*> inputs) {
  Node node{std::move(op), {}, {0}, call.node.name, call.node.origin};
  for (std::size_t i = 0; i < inputs.size(); ++i) node.inputs.push_back(static_cast<ValueId>(i));
  return std::move(evaluate(node, std::span(inputs.begin(), inputs.size())).at(0));
}

}  // namespace

Tensors apply(const Attention& op, const Call& call) {
  const MatMul by_keys{
      .transpose_b = true, .epilogue = {}, .heads_inside_a = op.heads_inside_q, .heads_inside_b = op.heads_inside_k};
  const MatMul by_values{.epilogue = {}, .heads_inside_b = op.heads_inside_v, .heads_inside_out = op.heads_inside_out};
  const Tensor scale = tensor_of(call.dtype(), Shape{}, std::vector<double>{op.scale});
  Tensor scores = step_of(call, by_keys, {&call.input(0), &call.input(1)});
  scores = step_of(call, Binary{BinaryKind::mul}, {&scores, &scale});
  for (std::size_t i = kAddendInput; i < kAddendInput + kMostAddends; ++i)
    if (const Tensor* addend = call.optional(i)) scores = step_of(call, Binary{BinaryKind::add}, {&scores, addend});
  const Tensor shares = step_of(call, Softmax{-1, false}, {&scores});
  Tensors outputs;
  outputs.push_back(step_of(call, by_values, {&shares, &call.input(2)}));
  return outputs;
}

}  // namespace colonnade::reference
