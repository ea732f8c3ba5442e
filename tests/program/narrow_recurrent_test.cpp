// SPDX-License-Identifier: Apache-2.0
// Recurrent networks whose weights stay narrow, beside the reference.
#include "families/recurrent_form.hpp"
#include "program/narrow_graphs.hpp"

namespace colonnade::test::narrow_recurrent {
namespace {

using namespace whole;

constexpr std::int64_t kDepth = 72, kHidden = 128;

struct NarrowCell {
  RecurrentKind kind = RecurrentKind::lstm;
  Direction direction = Direction::forward;
  bool linear = false;
  std::int64_t batch = 1, steps = 6;
  DType type = DType::i8;
  bool has_zeros = false, byte_rows = false, lengths = false;
};

Graph graph_of(const NarrowCell& cell) {
  colonnade::Recurrent op;
  op.kind = cell.kind;
  op.direction = cell.direction;
  op.hidden_size = kHidden;
  op.linear_before_reset = cell.linear;
  const std::int64_t gates = cell.kind == RecurrentKind::rnn ? 1 : cell.kind == RecurrentKind::gru ? 3 : 4;
  const std::int64_t directions = cell.direction == Direction::bidirectional ? 2 : 1, rows = gates * kHidden;
  std::vector<Input> inputs{computed(DType::f32, {cell.steps, cell.batch, kDepth}),
                            constant(Tensor(DType::f32, {directions, rows, kDepth})),
                            constant(Tensor(DType::f32, {directions, rows, kHidden})),
                            constant(random_tensor(DType::f32, {directions, 2 * rows}, 3))};
  if (cell.lengths) inputs.push_back(constant(index_tensor({cell.batch}, Ints{2, 1, 0, 2, 2}, DType::i32)));
  Graph graph = single(op, inputs, cell.kind == RecurrentKind::lstm ? 3 : 2);
  for (const std::size_t input : {1, 2}) {
    const std::int64_t columns = input == 1 ? kDepth : kHidden;
    const std::int64_t block_rows = cell.has_zeros ? 1 : rows;
    graph.value(graph.nodes[0].inputs[input]).constant = narrow_constant({cell.type,
                                                                          {directions * rows, columns},
                                                                          block_rows,
                                                                          columns,
                                                                          cell.has_zeros,
                                                                          cell.byte_rows,
                                                                          {directions, rows, columns}},
                                                                         static_cast<unsigned>(40 + input));
  }
  return graph;
}

/// Inputs within [-bound, bound], such that gates are not all open or shut.
std::vector<Tensor> small_inputs(const Graph& graph, double bound) {
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs)
    inputs.push_back(random_tensor(DType::f32, graph.value(id).type.static_shape(), 9, -bound, bound));
  return inputs;
}

RecurrentForm form_of(const Graph& graph, Math math) {
  return choose_family(graph, graph.nodes[0], math, kernels::Isa::avx2, known_blocking()).form.as<RecurrentForm>();
}

constexpr RecurrentKind kKinds[] = {RecurrentKind::lstm, RecurrentKind::gru, RecurrentKind::rnn};
constexpr Direction kDirections[] = {Direction::forward, Direction::reverse, Direction::bidirectional};

/// A sequence alone meets the numbers; their sums round otherwise than those of floats.
TEST(NarrowRecurrent, NumbersAgreeWithTheReference) {
  for (const RecurrentKind kind : kKinds)
    for (const Direction direction : kDirections)
      for (const bool linear : {true, false}) {
        const DType type = linear ? DType::u8 : DType::i8;
        const Graph graph = graph_of({.kind = kind,
                                      .direction = direction,
                                      .linear = linear,
                                      .type = type,
                                      .has_zeros = direction != Direction::reverse});
        EXPECT_FALSE(form_of(graph, Math::fast).narrow_w);
        EXPECT_TRUE(form_of(graph, Math::fast).narrow_r);
        EXPECT_FALSE(form_of(graph, Math::exact).narrow_r);
        check(graph, families::recurrent, small_inputs(graph, 0.3), 2e-4);
      }
}

/// Rows that may be rounded are, those of inputs and of states, for any number of sequences. Few steps: such weights
/// make more of every difference.
TEST(NarrowRecurrent, RoundedRowsAreClose) {
  for (const RecurrentKind kind : kKinds)
    for (const Direction direction : kDirections)
      for (const std::int64_t batch : {1, 5}) {
        const Graph graph = graph_of({.kind = kind,
                                      .direction = direction,
                                      .linear = batch == 5,
                                      .batch = batch,
                                      .steps = 2,
                                      .byte_rows = true,
                                      .lengths = batch == 5});
        EXPECT_TRUE(form_of(graph, Math::fast).narrow_w);
        EXPECT_TRUE(form_of(graph, Math::fast).narrow_r);
        EXPECT_FALSE(form_of(graph, Math::exact).narrow_w);
        check(graph, families::recurrent, small_inputs(graph, 0.02), 0.05);
      }
}

/// Also more rows than are multiplied together.
TEST(NarrowRecurrent, SequencesHaveTheBitsThatTheyHaveAlone) {
  constexpr std::int64_t kBatch = 37, kSteps = 6;
  const Graph all = graph_of({.batch = kBatch, .byte_rows = true}), alone = graph_of({.byte_rows = true});
  const std::vector<Tensor> inputs = small_inputs(all, 0.02);
  const auto run_of = [](const Graph& graph, const std::vector<Tensor>& x) {
    return run(graph, {Schedule::layers, Math::fast, 2, 0}, kernels::usable_features(), x);
  };
  const Tensor together = run_of(all, inputs)[0];
  for (const std::int64_t sequence : {std::int64_t{0}, std::int64_t{31}, kBatch - 1}) {
    Tensor one(DType::f32, {kSteps, 1, kDepth});
    for (std::int64_t step = 0; step < kSteps; ++step)
      std::copy_n(inputs[0].values<float>().data() + (step * kBatch + sequence) * kDepth, kDepth,
                  one.values<float>().data() + step * kDepth);
    const Tensor found = run_of(alone, {one})[0];
    for (std::int64_t step = 0; step < kSteps; ++step)
      EXPECT_EQ(
          std::memcmp(found.values<float>().data() + step * kHidden,
                      together.values<float>().data() + (step * kBatch + sequence) * kHidden, kHidden * sizeof(float)),
          0)
          << "sequence " << sequence << ", step " << step;
  }
}

}  // namespace
}  // namespace colonnade::test::narrow_recurrent
