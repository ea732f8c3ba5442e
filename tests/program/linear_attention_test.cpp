// SPDX-License-Identifier: Apache-2.0
// Attention by a state beside the reference: rules, heads that are shared either way, schedules and threads.
#include "program/whole.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::test::linear_attention {
namespace {

using whole::absent;
using whole::computed;

struct Heads {
  std::int64_t queries, keys;
};

void check(const Heads& heads, std::int64_t tokens, const std::vector<whole::Input>& rest) {
  constexpr std::int64_t kSize = 10, kValues = 70;
  std::vector<whole::Input> inputs{computed(DType::f32, {2, tokens, heads.queries * kSize}),
                                   computed(DType::f32, {2, tokens, heads.keys * kSize}),
                                   computed(DType::f32, {2, tokens, heads.keys * kValues})};
  inputs.insert(inputs.end(), rest.begin(), rest.end());
  const Attributes attributes{{"query_heads", heads.queries}, {"heads", heads.keys}, {"scale", 0.01f}};
  const Graph graph = whole::single(make_opaque(reference::kLinearAttention, 1, attributes), inputs, 2);
  std::vector<Tensor> given = whole::inputs_of(graph, 3);
  for (std::size_t i = 1; i < given.size(); ++i)  // a state that stays within bounds
    for (float& x : given[i].values<float>()) x = i == 2 ? x : 0.3f * std::fabs(x) / 3;
  whole::check(graph, families::linear_attention, given, 1e-4);
}

TEST(LinearAttentionProgram, EveryRuleAndGroup) {
  for (const Heads heads : {Heads{4, 4}, {4, 2}, {2, 4}, {1, 3}})
    for (const std::int64_t tokens : {1, 9}) {
      const auto numbers = [&](std::int64_t width) { return computed(DType::f32, {2, tokens, width}); };
      const whole::Input state = computed(DType::f32, {2, heads.keys, 10, 70});
      check(heads, tokens, {});
      check(heads, tokens, {state, numbers(heads.keys)});
      check(heads, tokens, {state, numbers(heads.keys * 10), numbers(1)});
      check(heads, tokens, {absent(), absent(), numbers(heads.keys)});
    }
}

}  // namespace
}  // namespace colonnade::test::linear_attention
