// SPDX-License-Identifier: Apache-2.0
// Einsum, recurrent networks, grid sampling, trees, whole graphs.
#include <cmath>

#include "reference/support.hpp"

namespace colonnade::test {
namespace {

TEST(Einsum, AgreesWithMatMul) {
  const Tensor a = random({2, 3, 4}), b = random({2, 4, 5}, 2), expected = run(MatMul{}, a, b);
  for (const char* equation : {"bij,bjk->bik", "...ij, ...jk -> ...ik", "...ij,...jk"}) {
    expect_near(run(Einsum{equation}, a, b), {2, 3, 5}, numbers(expected));
  }
}

TEST(Einsum, DiagonalsTracesAndSums) {
  const Tensor x = f32({2, 2}, {1, 2, 3, 4});
  expect_near(run(Einsum{"ii->i"}, x), {2}, {1, 4});
  expect_near(run(Einsum{"ii"}, x), {}, {5});
  expect_near(run(Einsum{"ij->ji"}, x), {2, 2}, {1, 3, 2, 4});
  expect_near(run(Einsum{"ij->"}, x), {}, {10});
  expect_near(run(Einsum{"ba"}, x), {2, 2}, {1, 3, 2, 4});
  expect_near(run(Einsum{"i,j,k->kji"}, f32({2}, {1, 2}), f32({1}, {3}), f32({2}, {5, 7})), {2, 1, 2},
              {15, 30, 21, 42});
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

Recurrent recurrent(RecurrentKind kind, std::int64_t hidden) {
  Recurrent op;
  op.kind = kind;
  op.hidden_size = hidden;
  return op;
}

TEST(Recurrent, OneLstmStepByFormula) {
  const Tensor x = f32({1, 1, 1}, {0.5}), w = f32({1, 4, 1}, {0.1, 0.2, 0.3, 0.4}),
               r = f32({1, 4, 1}, {0.5, 0.6, 0.7, 0.8});
  const Tensor bias = f32({1, 8}, {0.1, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.2}), h = f32({1, 1, 1}, {0.3}),
               c = f32({1, 1, 1}, {-0.4});
  const Tensor peepholes = f32({1, 3}, {0.9, 0.8, 0.7});
  const std::vector<Tensor> y =
      outputs_of(recurrent(RecurrentKind::lstm, 1), {&x, &w, &r, &bias, nullptr, &h, &c, &peepholes}, 3);
  const auto gate = [&](double wg, double rg) { return 0.5 * wg + 0.3 * rg + 0.3; };
  const double input = sigmoid(gate(0.1, 0.5) + 0.9 * -0.4), forget = sigmoid(gate(0.3, 0.7) + 0.7 * -0.4);
  const double cell = forget * -0.4 + input * std::tanh(gate(0.4, 0.8));
  const double hidden = sigmoid(gate(0.2, 0.6) + 0.8 * cell) * std::tanh(cell);
  expect_near(y[0], {1, 1, 1, 1}, {hidden});
  expect_near(y[1], {1, 1, 1}, {hidden});
  expect_near(y[2], {1, 1, 1}, {cell});
}

TEST(Recurrent, OneGruStepByFormula) {
  const Tensor x = f32({1, 1, 1}, {0.5}), w = f32({1, 3, 1}, {0.1, 0.2, 0.3}), r = f32({1, 3, 1}, {0.5, 0.6, 0.7});
  const Tensor bias = f32({1, 6}, {0.1, 0.1, 0.1, 0.2, 0.2, 0.4}), h = f32({1, 1, 1}, {0.3});
  const double update = sigmoid(0.5 * 0.1 + 0.3 * 0.5 + 0.3), reset = sigmoid(0.5 * 0.2 + 0.3 * 0.6 + 0.3);
  for (const bool linear : {false, true}) {
    Recurrent op = recurrent(RecurrentKind::gru, 1);
    op.linear_before_reset = linear;
    const double part = linear ? reset * (0.3 * 0.7 + 0.4) : reset * 0.3 * 0.7 + 0.4;
    const double proposed = std::tanh(0.5 * 0.3 + 0.1 + part);
    expect_near(outputs_of(op, {&x, &w, &r, &bias, nullptr, &h}, 2)[0], {1, 1, 1, 1},
                {(1 - update) * proposed + update * 0.3});
  }
}

TEST(Recurrent, ActivationsAndClip) {
  Recurrent op = recurrent(RecurrentKind::rnn, 1);
  op.activations = {"Affine"}, op.activation_alpha = {2}, op.activation_beta = {1}, op.clip = 0.5f;
  const Tensor x = f32({2, 1, 1}, {3, -0.25}), w = f32({1, 1, 1}, {1}), r = f32({1, 1, 1}, {0});
  expect_near(outputs_of(op, {&x, &w, &r}, 2)[0], {2, 1, 1, 1}, {2, 0.5});
  op.activations = {"Cosine"};
  expect_error(ErrorCode::unsupported, op, {&x, &w, &r});
}

TEST(Recurrent, InputForgetCouplesTheGates) {
  Recurrent op = recurrent(RecurrentKind::lstm, 1);
  op.input_forget = true;
  const Tensor x = f32({1, 1, 1}, {0}), w = f32({1, 4, 1}, {0, 0, 9, 0}), r = f32({1, 4, 1}, {0, 0, 9, 0});
  const Tensor bias = f32({1, 8}, {1, 0, 5, 0, 0, 0, 0, 0}), h = f32({1, 1, 1}, {0}), c = f32({1, 1, 1}, {2});
  expect_near(outputs_of(op, {&x, &w, &r, &bias, nullptr, &h, &c}, 3)[2], {1, 1, 1}, {2 * (1 - sigmoid(1))});
}

TEST(Recurrent, DirectionsMirrorEachOther) {
  for (const RecurrentKind kind : {RecurrentKind::rnn, RecurrentKind::gru, RecurrentKind::lstm}) {
    const std::int64_t gates = kind == RecurrentKind::rnn ? 1 : (kind == RecurrentKind::gru ? 3 : 4);
    const Tensor x = random({5, 2, 3}), w = random({1, gates * 4, 3}, 2), r = random({1, gates * 4, 4}, 3);
    const Tensor flipped = run(Slice{}, x, ints({-1}), ints({-100}), ints({0}), ints({-1}));
    Recurrent op = recurrent(kind, 4);
    const std::vector<Tensor> forward = outputs_of(op, {&flipped, &w, &r}, 2);
    op.direction = Direction::reverse;
    const std::vector<Tensor> reverse = outputs_of(op, {&x, &w, &r}, 2);
    expect_near(reverse[1], {1, 2, 4}, numbers(forward[1]), 0);
    op.direction = Direction::bidirectional;
    const Tensor w2 = run(Concat{0}, w, w), r2 = run(Concat{0}, r, r);
    const std::vector<Tensor> both = outputs_of(op, {&x, &w2, &r2}, 2);
    const Tensor second = run(Gather{1}, both[0], i64({}, {1})), only = run(Gather{1}, reverse[0], i64({}, {0}));
    expect_near(second, {5, 2, 4}, numbers(only), 0);
  }
}

TEST(Recurrent, SequenceLengthsStopEachEntry) {
  const Tensor x = random({4, 2, 3}), w = random({1, 16, 3}, 2), r = random({1, 16, 4}, 3);
  const Tensor lengths = tensor(DType::i32, {2}, {4, 2}), head = run(Slice{}, x, ints({0}), ints({2}));
  for (const Direction direction : {Direction::forward, Direction::reverse}) {
    Recurrent op = recurrent(RecurrentKind::lstm, 4);
    op.direction = direction;
    const std::vector<Tensor> all = outputs_of(op, {&x, &w, &r, nullptr, &lengths}, 3),
                              two = outputs_of(op, {&head, &w, &r}, 3);
    const Numbers last = numbers(all[1]), expected = numbers(two[1]);
    for (std::size_t i = 4; i < 8; ++i) EXPECT_EQ(last[i], expected[i]);
    const Numbers y = numbers(all[0]);
    for (std::size_t i = 20; i < 24; ++i) EXPECT_EQ(y[i], 0);
  }
  const Tensor wrong = tensor(DType::i32, {2}, {4, 5});
  expect_error(ErrorCode::invalid_input, recurrent(RecurrentKind::lstm, 4), {&x, &w, &r, nullptr, &wrong});
}

TEST(GridSample, IdentityGridReturnsTheImage) {
  const Tensor x = random({1, 2, 3, 3});
  Numbers grid;
  for (int row = -1; row <= 1; ++row) {
    for (int column = -1; column <= 1; ++column) grid.insert(grid.end(), {double(column), double(row)});
  }
  const Tensor identity = f32({1, 3, 3, 2}, grid);
  for (const ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic}) {
    expect_near(run(GridSample{mode, GridSample::Padding::zeros, true}, x, identity), x.shape(), numbers(x));
  }
}

TEST(GridSample, PaddingModes) {
  // Without align_corners a width of 2 spans [-1, 1] from edge to edge: -1 is half a pixel left of the first centre.
  const Tensor x = f32({1, 1, 1, 2}, {1, 3}), grid = f32({1, 1, 3, 2}, {-1, 0, 0, 0, -1.5, 0});
  const auto sampled = [&](GridSample::Padding padding) {
    return run(GridSample{ResizeMode::linear, padding, false}, x, grid);
  };
  expect_near(sampled(GridSample::Padding::zeros), {1, 1, 1, 3}, {0.5, 2, 0});
  expect_near(sampled(GridSample::Padding::border), {1, 1, 1, 3}, {1, 2, 1});
  expect_near(sampled(GridSample::Padding::reflection), {1, 1, 1, 3}, {1, 2, 1});
}

TreeEnsemble stump() {
  TreeEnsemble op;
  op.nodes = {{0, 0.5f, TreeEnsemble::Mode::leq, true, 1, 2, 0, 0},
              {-1, 0, TreeEnsemble::Mode::leaf, false, 0, 0, 0, 1},
              {-1, 0, TreeEnsemble::Mode::leaf, false, 0, 0, 1, 2}};
  op.roots = {0, 0};
  op.leaf_weights = {{0, 1}, {0, 3}};
  return op;
}

TEST(TreeEnsemble, RegressorAggregates) {
  TreeEnsemble op = stump();
  op.base_values = {10};
  const Tensor x = f32({3, 1}, {0.5, 0.6, NAN});
  expect_near(run(op, x), {3, 1}, {12, 16, 12});
  op.aggregate = TreeEnsemble::Aggregate::average;
  expect_near(run(op, x), {3, 1}, {11, 13, 11});
  op.aggregate = TreeEnsemble::Aggregate::max;
  expect_near(run(op, x), {3, 1}, {11, 13, 11});
  op.nodes[0].if_true = 0;
  expect_error(ErrorCode::invalid_input, op, {&x});
}

TEST(TreeEnsemble, EveryBranchMode) {
  using Mode = TreeEnsemble::Mode;
  const Tensor x = f32({3, 1}, {0, 0.5, 1});
  const std::pair<Mode, Numbers> cases[] = {{Mode::leq, {2, 2, 6}}, {Mode::lt, {2, 6, 6}}, {Mode::gte, {6, 2, 2}},
                                            {Mode::gt, {6, 6, 2}},  {Mode::eq, {6, 2, 6}}, {Mode::neq, {2, 6, 2}}};
  for (const auto& [mode, expected] : cases) {
    TreeEnsemble op = stump();
    op.nodes[0].mode = mode;
    expect_near(run(op, x), {3, 1}, expected);
  }
}

TEST(TreeEnsemble, ClassifierLabelsAndScores) {
  TreeEnsemble op = stump();
  op.classifier = true, op.target_count = 2, op.labels = {7, 9};
  op.leaf_weights = {{0, 1}, {1, 3}};
  const Tensor x = f32({2, 1}, {0, 1});
  std::vector<Tensor> y = outputs_of(op, {&x}, 2);
  expect_near(y[0], {2}, {7, 9});
  expect_near(y[1], {2, 2}, {2, 0, 0, 6});
  op.post = TreeEnsemble::Post::softmax;
  expect_near(outputs_of(op, {&x}, 2)[1], {2, 2}, {sigmoid(2), 1 - sigmoid(2), 1 - sigmoid(6), sigmoid(6)});
  op.post = TreeEnsemble::Post::logistic;
  expect_near(outputs_of(op, {&x}, 2)[1], {2, 2}, {sigmoid(2), 0.5, 0.5, sigmoid(6)});
}

/// y = relu(x + c) * 2, and x + c itself.
Graph small_graph() {
  Graph graph;
  graph.name = "small";
  const ValueId x = graph.add_value("x", {DType::f32, Shape{-1, 2}});
  const ValueId c = graph.add_constant("c", f32({2}, {1, -1})), two = graph.add_constant("two", f32({}, {2}));
  const ValueId sum = graph.add_value("sum"), act = graph.add_value("act"), y = graph.add_value("y");
  graph.nodes = {{Binary{BinaryKind::add}, {x, c}, {sum}, "add", "Add"},
                 {Unary{UnaryKind::relu}, {sum}, {act}, "relu", "Relu"},
                 {Binary{BinaryKind::mul}, {act, two}, {y}, "mul", "Mul"}};
  graph.inputs = {x};
  graph.outputs = {y, sum, y, c};
  infer_types(graph);
  return graph;
}

TEST(EvaluateGraph, RunsInOrderAndReturnsSharedOutputs) {
  const Tensor x = f32({1, 2}, {3, -4});
  const std::vector<TensorView> inputs{x};
  const std::vector<Tensor> y = reference::evaluate(small_graph(), inputs);
  ASSERT_EQ(y.size(), 4u);
  expect_near(y[0], {1, 2}, {8, 0});
  expect_near(y[1], {1, 2}, {4, -5});
  expect_near(y[2], {1, 2}, {8, 0});
  expect_near(y[3], {2}, {1, -1});
}

TEST(EvaluateGraph, RefusesWrongInputs) {
  const auto message_of = [](std::vector<TensorView> inputs,
                             ErrorCode code = ErrorCode::invalid_argument) -> std::string {
    try {
      reference::evaluate(small_graph(), inputs);
    } catch (const Error& error) {
      EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code));
      return error.what();
    }
    return "";
  };
  const Tensor wide = f32({1, 3}, {1, 2, 3}), wrong_type = tensor(DType::f64, {1, 2}, {1, 2});
  EXPECT_NE(message_of({}).find("1 inputs"), std::string::npos);
  EXPECT_NE(message_of({wide}, ErrorCode::invalid_input).find("x"), std::string::npos);
  EXPECT_NE(message_of({wrong_type}).find("'x'"), std::string::npos);
  EXPECT_NE(message_of({TensorView(DType::f32, {1, 2}, nullptr)}).find("'x'"), std::string::npos);
}

}  // namespace
}  // namespace colonnade::test
