// SPDX-License-Identifier: Apache-2.0
// Recurrent networks by kernels, beside the reference.
#include "program/whole.hpp"

namespace colonnade::test {
namespace {

using namespace whole;

constexpr std::int64_t kDepth = 7;

struct Given {
  bool bias = false, lengths = false, states = false, peepholes = false, computed = false;
  std::int64_t batch = 3, steps = 5;
};

std::int64_t directions_of(const colonnade::Recurrent& op) { return op.direction == Direction::bidirectional ? 2 : 1; }

std::vector<Input> inputs_of_cell(const colonnade::Recurrent& op, const Given& given) {
  const std::int64_t gates = op.kind == RecurrentKind::rnn ? 1 : op.kind == RecurrentKind::gru ? 3 : 4;
  const std::int64_t directions = directions_of(op), hidden = op.hidden_size;
  const auto weights = [&](const Shape& shape, unsigned seed) {
    return given.computed ? computed(DType::f32, shape) : constant(random_tensor(DType::f32, shape, seed, -0.4, 0.4));
  };
  const auto optional = [](bool is_given, const Input& input) { return is_given ? input : absent(); };
  Ints lengths{3, 0, 5, 1, 5, 4, 2};
  lengths.resize(static_cast<std::size_t>(given.batch), 5);
  const Input states = computed(DType::f32, {directions, given.batch, hidden});
  std::vector<Input> inputs{computed(DType::f32, {given.steps, given.batch, kDepth}),
                            weights({directions, gates * hidden, kDepth}, 11),
                            weights({directions, gates * hidden, hidden}, 12),
                            optional(given.bias, weights({directions, 2 * gates * hidden}, 13)),
                            optional(given.lengths, constant(index_tensor({given.batch}, lengths, DType::i32))),
                            optional(given.states, states)};
  if (op.kind != RecurrentKind::lstm) return inputs;
  inputs.push_back(optional(given.states, states));
  inputs.push_back(optional(given.peepholes, weights({directions, 3 * hidden}, 14)));
  return inputs;
}

void check_cell(const colonnade::Recurrent& op, const Given& given, double tolerance = 1e-5) {
  const std::size_t outputs = op.kind == RecurrentKind::lstm ? 3 : 2;
  // computed weights are as large as inputs: gates are steep
  check(op, inputs_of_cell(op, given), families::recurrent, given.computed ? 5e-5 : tolerance, outputs);
}

constexpr RecurrentKind kKinds[] = {RecurrentKind::lstm, RecurrentKind::gru, RecurrentKind::rnn};
constexpr Direction kDirections[] = {Direction::forward, Direction::reverse, Direction::bidirectional};

colonnade::Recurrent cell_of(RecurrentKind kind, Direction direction, std::int64_t hidden) {
  colonnade::Recurrent op;
  op.kind = kind;
  op.direction = direction;
  op.hidden_size = hidden;
  return op;
}

TEST(Recurrent, AgreesWithTheReference) {
  for (const RecurrentKind kind : kKinds)
    for (const Direction direction : kDirections)
      for (const std::int64_t hidden : {8, 13, 40})
        for (const bool linear : {true, false})
          for (const bool all : {true, false}) {
            colonnade::Recurrent op = cell_of(kind, direction, hidden);
            op.linear_before_reset = linear;
            check_cell(op, {.bias = all, .states = all});
          }
}

TEST(Recurrent, EndsEachSequenceByItself) {
  for (const RecurrentKind kind : kKinds)
    for (const Direction direction : kDirections)
      for (const std::int64_t batch : {1, 3, 7, 9}) {
        colonnade::Recurrent op = cell_of(kind, direction, 12);
        op.linear_before_reset = batch > 3;
        check_cell(op, {.bias = true, .lengths = true, .states = batch % 2 == 1, .batch = batch});
      }
}

TEST(Recurrent, RefusesLengthsBeyondTheSteps) {
  for (const std::int64_t length : {-1, 6}) {
    const colonnade::Recurrent op = cell_of(RecurrentKind::lstm, Direction::forward, 8);
    std::vector<Input> inputs = inputs_of_cell(op, {.batch = 2});
    inputs[4] = constant(index_tensor({2}, {5, length}, DType::i32));
    const Graph graph = single(op, inputs, 3);
    EXPECT_THROW(run(graph, {Schedule::automatic, Math::fast, 1, 0}, host_isas()[0], inputs_of(graph, 1)), Error);
  }
}

TEST(Recurrent, SharesABatch) {
  for (const RecurrentKind kind : kKinds)
    for (const Direction direction : kDirections) check_cell(cell_of(kind, direction, 16), {.bias = true, .batch = 17});
}

TEST(Recurrent, SharesTheHiddenState) {
  for (const RecurrentKind kind : kKinds)
    for (const Direction direction : kDirections)
      for (const std::int64_t hidden : {136, 200, 264})
        for (const bool all : {true, false}) {
          colonnade::Recurrent op = cell_of(kind, direction, hidden);
          op.linear_before_reset = hidden == 264;
          // sums of so many products round more
          check_cell(op, {.bias = all, .lengths = all, .states = all, .peepholes = all}, 5e-5);
        }
}

TEST(Recurrent, TakesTurnsOnlyWhereItSharesTheState) {
  const auto plan_of = [](std::int64_t hidden, std::int64_t batch, bool linear) {
    colonnade::Recurrent op = cell_of(RecurrentKind::gru, Direction::bidirectional, hidden);
    op.linear_before_reset = linear;
    Graph graph = single(op, inputs_of_cell(op, {.batch = batch, .steps = 100}), 2);
    return make_plan(graph, topology_of(host_isas()[0]), {Schedule::automatic, Math::fast, 2, 0});
  };
  const auto turns = [&](std::int64_t hidden, std::int64_t batch, bool linear) {
    const Plan plan = plan_of(hidden, batch, linear);
    EXPECT_EQ(plan.segments.size(), 1);
    return plan.segments[0].turns;
  };
  EXPECT_EQ(turns(512, 1, true), 101);
  EXPECT_EQ(turns(512, 1, false), 201);
  EXPECT_EQ(turns(96, 1, true), 1);
  EXPECT_EQ(turns(512, 40, true), 1);
  const Plan plan = plan_of(512, 1, true);
  EXPECT_GT(plan.segments[0].shared_bytes, 0);
  EXPECT_EQ(plan.segments[0].scratch_bytes, 0);
  EXPECT_EQ(plan.segments[0].steps.size(), 2);
}

TEST(Recurrent, HasEveryFunction) {
  for (const char* name : {"Sigmoid", "Tanh", "Relu", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh",
                           "HardSigmoid", "Elu", "Softsign", "softplus"})
    for (const RecurrentKind kind : kKinds)
      for (const bool parameters : {true, false}) {
        colonnade::Recurrent op = cell_of(kind, Direction::bidirectional, 9);
        const std::size_t each = kind == RecurrentKind::rnn ? 1 : kind == RecurrentKind::gru ? 2 : 3;
        op.activations = std::vector<std::string>(2 * each, "Tanh");
        for (std::size_t i = 0; i < each; ++i) op.activations[i == 0 ? 0 : each + i] = name;
        if (parameters) {
          op.activation_alpha = {0.3f, 0.2f, 0.4f};
          op.activation_beta = {0.5f, 0.1f, 0.2f};
        }
        // gates without bounds double what was rounded
        check_cell(op, {.bias = true, .states = parameters, .steps = 2}, 1e-4);
      }
}

TEST(Recurrent, ClipsCouplesAndPeeps) {
  for (const RecurrentKind kind : kKinds) {
    colonnade::Recurrent op = cell_of(kind, Direction::bidirectional, 11);
    op.clip = 0.3f;
    check_cell(op, {.bias = true, .states = true});
  }
  for (const bool coupled : {true, false}) {
    colonnade::Recurrent op = cell_of(RecurrentKind::lstm, Direction::bidirectional, 11);
    op.input_forget = coupled;
    check_cell(op, {.bias = true, .lengths = coupled, .states = true, .peepholes = true});
    check_cell(op, {.peepholes = !coupled});
  }
}

TEST(Recurrent, PacksComputedWeights) {
  for (const RecurrentKind kind : kKinds)
    for (const std::int64_t hidden : {8, 21}) {
      const colonnade::Recurrent op = cell_of(kind, Direction::bidirectional, hidden);
      check_cell(op, {.bias = true, .states = true, .computed = true});
      check_cell(op, {.lengths = true, .peepholes = true, .computed = true});
    }
}

}  // namespace
}  // namespace colonnade::test
