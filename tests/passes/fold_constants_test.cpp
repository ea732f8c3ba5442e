// SPDX-License-Identifier: Apache-2.0
// What is computed before a run: shapes, weights, and constants that repeat one element.
#include <numeric>

#include "passes/golden.hpp"

namespace colonnade::test {
namespace {

using namespace golden;

TEST(FoldConstants, EvaluatesShapeChains) {
  Builder b;
  const ValueId x = b.input("x", {2, 3, 4, 5});
  const ValueId shape = b.node("shape", ShapeOf{}, {x});
  const ValueId batch = b.node("batch", Gather{0}, {shape, b.ints("zero", {0})});
  const ValueId target = b.node("target", Concat{0}, {batch, b.ints("rest", {-1})});
  b.output(b.node("y", Reshape{}, {x, target}));
  EXPECT_TRUE(run("fold_constants", b.graph));
  EXPECT_EQ(to_text(b.graph), R"(graph test
input %x f32[2,3,4,5]
constant %target i64[2] = [2,-1]
%y f32[2,60] = Reshape(%x, %target) # y
output %y
)");
}

/// Sizes that nobody knew before constants were computed: whoever wrote the model is told, no pass is blamed.
TEST(FoldConstants, SizesThatContradictAreTheModelsFault) {
  Builder b;
  const ValueId x = b.input("x", {2, 3, 4, 5});
  const ValueId target = b.binary("target", BinaryKind::mul, b.ints("seven", {7}), b.ints("two", {2}));
  b.output(b.node("y", Reshape{}, {x, target}));
  for (const bool verify : {false, true}) {
    Graph graph = b.graph;
    PassOptions options;
    options.verify = verify;
    try {
      optimize(graph, options);
      ADD_FAILURE() << "taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_model) << error.what();
      EXPECT_NE(std::string_view(error.what()).find("node 'y' (Reshape)"), std::string_view::npos) << error.what();
    }
  }
}

/// A table of words that is turned to be multiplied by is large: a copy would take its memory again.
TEST(FoldConstants, LeavesLargeTurnedMatricesToProducts) {
  for (const std::int64_t words : {10, 300})
    for (const bool read_otherwise : {false, true}) {
      Builder b;
      const ValueId x = b.input("x", {5, 30});
      const ValueId turned = b.transpose("turned", b.weights("table", {words, 30}), {1, 0});
      b.output(b.node("y", MatMul{}, {x, turned}));
      if (read_otherwise) b.output(b.unary("z", UnaryKind::abs, turned));
      Graph folded = b.graph;
      EXPECT_EQ(run("fold_constants", folded), words == 10 || read_otherwise);
      EXPECT_EQ(count_of<Transpose>(folded), words == 10 || read_otherwise ? 0 : 1);
      const Graph after = optimized(b.graph);
      EXPECT_EQ(operators_of(after), read_otherwise ? "MatMul Identity" : "MatMul") << to_text(after);
    }
}

TEST(FoldConstants, KnowsSomeDimensionsOfOpenShapes) {
  Builder b;
  const ValueId x = b.input("x", {-1, 3, 4, 5});
  const ValueId shape = b.node("shape", ShapeOf{}, {x});
  const ValueId channels = b.node("channels", Gather{0}, {shape, b.ints("one", {1})});
  const ValueId batch = b.node("batch", Gather{0}, {shape, b.ints("zero", {0})});
  const ValueId target = b.node("target", Concat{0}, {batch, channels, b.ints("rest", {-1})});
  b.output(b.node("y", Reshape{}, {x, target}));
  EXPECT_TRUE(run("fold_constants", b.graph, false));
  EXPECT_EQ(operators_of(b.graph), "ShapeOf Gather Concat Reshape");
  EXPECT_FALSE(run("fold_constants", b.graph, false));
}

/// What is large is kept where all runs use it, up to a limit.
TEST(FoldConstants, LeavesLargeExpansionsAlone) {
  for (const bool has_other_sizes : {true, false})
    for (const std::int64_t rows : {1024, 1 << 16}) {
      Builder b;
      b.graph.has_other_sizes = has_other_sizes;
      const ValueId x = b.input("x", {1024, 2});
      const ValueId grown = b.node("grown", Expand{}, {b.scalar("c", 2), b.ints("shape", {rows, 1024})});
      b.output(b.node("y", MatMul{}, {grown, x}));
      const bool folds = rows == 1024 && !has_other_sizes;
      EXPECT_EQ(run("fold_constants", b.graph, false), folds) << rows;
      EXPECT_EQ(operators_of(b.graph), folds ? "MatMul" : "Expand MatMul");
    }
}

/// As a filter of a sinc that is written out: weights of a convolution behind a long chain.
TEST(FoldConstants, FoldsWhatBecomesWeights) {
  Builder b;
  b.graph.has_other_sizes = true;
  ValueId y = b.binary("sum", BinaryKind::add, b.weights("rows", {640, 1}), b.weights("columns", {1, 455}));
  for (int i = 0; i < 20; ++i) y = b.binary("chain", BinaryKind::mul, b.unary("wave", UnaryKind::sin, y), y);
  b.output(b.node("y", MatMul{}, {b.input("x", {2, 640}), y}));
  EXPECT_TRUE(run("fold_constants", b.graph));
  EXPECT_EQ(operators_of(b.graph), "MatMul");
}

/// A large constant's scale and zero point, of whatever has other sizes.
TEST(FoldConstants, MakesAllResultsOfAConstantOnce) {
  Builder b;
  b.graph.has_other_sizes = true;
  const ValueId scale = b.node("scale", ByteScale{}, {b.weights("table", {300, 30})});
  const ValueId zero = b.graph.nodes.back().outputs[1];
  b.output(b.node("y", Quantize{}, {b.input("x", {5}), scale, zero}));
  Graph first = b.graph, second = b.graph;
  EXPECT_TRUE(run("fold_constants", first));
  EXPECT_TRUE(run("fold_constants", second));
  ASSERT_EQ(operators_of(first), "Quantize");
  for (const std::size_t input : {1u, 2u}) {
    const auto made = [&](const Graph& graph) { return graph.value(graph.nodes[0].inputs[input]).constant; };
    ASSERT_NE(made(first), nullptr);
    EXPECT_EQ(made(first), made(second));
  }
  expect_same_results(b.graph, first, 1, 0);
}

/// Zeros of any size, as networks add where an optional input is missing, and what is made of them.
TEST(FoldConstants, TakesUniformOperandsForScalars) {
  for (const std::int64_t rows : {2, 100, 100000}) {
    Builder b;
    b.graph.has_other_sizes = true;
    const ValueId x = b.input("x", {4, rows});
    const ValueId zeros = b.node("zeros", Fill{}, {b.ints("shape", {rows, 4}), b.scalar("zero", 0)});
    const ValueId turned = b.transpose("turned", zeros, {1, 0});
    const ValueId sum = b.binary("sum", BinaryKind::add, x, turned);
    const ValueId twos = b.node("twos", Expand{}, {b.scalar("two", 2), b.ints("its_shape", {4, rows})});
    const ValueId product = b.binary("product", BinaryKind::mul, sum, b.unary("ones", UnaryKind::exp, turned));
    b.output(b.binary("y", BinaryKind::sub, twos, product));
    b.output(b.node("all", Concat{0}, {twos, x}));
    optimize(b.graph);
    EXPECT_EQ(count_of<Binary>(b.graph), 1) << to_text(b.graph);
    EXPECT_EQ(count_of<Expand>(b.graph), rows == 100000 ? 1 : 0) << to_text(b.graph);
  }
}

/// A uniform operand that broadcasts the other one says how large the result is.
TEST(FoldConstants, KeepsUniformOperandsThatGiveTheShape) {
  Builder b;
  const ValueId zeros = b.node("zeros", Fill{}, {b.ints("shape", {50, 3}), b.scalar("zero", 0)});
  b.output(b.binary("y", BinaryKind::add, b.input("x", {3}), zeros));
  optimize(b.graph);
  EXPECT_EQ(b.shape(b.graph.outputs[0]), (Shape{50, 3}));
  EXPECT_EQ(count_of<Binary>(b.graph), 1);
}

TEST(FoldConstants, FillsWeights) {
  Builder b;
  const ValueId x = b.input("x", {2, 1024});
  const ValueId filled = b.node("filled", Fill{}, {b.ints("shape", {1024, 1024}), b.scalar("v", 0.01f)});
  b.output(b.node("y", MatMul{}, {x, filled}));
  EXPECT_TRUE(run("fold_constants", b.graph));
  EXPECT_EQ(operators_of(b.graph), "MatMul");
}

TEST(FoldConstants, TakesRowsOfATableWhereTheyLie) {
  Tensor table(DType::f32, {300, 64});
  for (std::size_t i = 0; i < 300 * 64; ++i) table.values<float>()[i] = static_cast<float>(i);
  Ints positions(100);
  std::iota(positions.begin(), positions.end(), 7);
  for (const bool gathers : {false, true}) {
    Builder b;
    const ValueId whole = b.graph.add_constant("table", std::make_shared<const Constant>(table));
    const auto memory = b.graph.value(whole).constant->bytes();
    const ValueId x = b.input("x", {100, 64});
    const ValueId rows = gathers ? b.node("rows", Gather{0}, {whole, b.ints("positions", positions)})
                                 : b.node("rows", Slice{}, {whole, b.ints("starts", {-293}), b.ints("ends", {107})});
    b.output(b.binary("y", BinaryKind::add, x, rows));
    EXPECT_TRUE(run("fold_constants", b.graph));
    EXPECT_EQ(operators_of(b.graph), "Add");
    const auto& found = b.graph.value(b.graph.nodes[0].inputs[1]).constant;
    EXPECT_EQ(found->bytes().get(), memory.get() + std::size_t{7} * 64 * sizeof(float));
    EXPECT_EQ(found->shape(), (Shape{100, 64}));
  }
}

/// Positions times weights, of which each length has its own (Conformer): a new length does not wait for the reference.
TEST(FoldConstants, LeavesLargeProductsOfOneSizeToTheRun) {
  for (const bool has_other_sizes : {false, true})
    for (const std::int64_t rows : {16, 1024}) {
      Builder b;
      b.graph.has_other_sizes = has_other_sizes;
      const ValueId keys = b.node("keys", MatMul{}, {b.weights("positions", {rows, 64}), b.weights("w", {64, 64})});
      b.output(b.node("y", MatMul{}, {b.input("x", {2, rows}), keys}));
      const bool folds = rows == 16 || !has_other_sizes;
      EXPECT_EQ(run("fold_constants", b.graph, false), folds) << rows;
      EXPECT_EQ(operators_of(b.graph), folds ? "MatMul" : "MatMul MatMul");
    }
}

/// The first result of a recurrent network is often absent.
TEST(FoldConstants, EvaluatesNodesWithoutTheirFirstResult) {
  Builder b;
  b.graph.has_other_sizes = true;
  Recurrent op;
  op.hidden_size = 2;
  Node lstm{op,
            {b.weights("x", {3, 1, 2}), b.weights("w", {1, 8, 2}), b.weights("r", {1, 8, 2})},
            {kAbsent, b.graph.add_value("last", {DType::f32, Shape{1, 1, 2}})},
            "lstm",
            "LSTM"};
  const ValueId last = lstm.outputs[1];
  b.graph.nodes.push_back(std::move(lstm));
  b.output(b.binary("y", BinaryKind::add, b.input("in", {1, 1, 2}), last));
  EXPECT_TRUE(run("fold_constants", b.graph));
  EXPECT_EQ(operators_of(b.graph), "Add");
}

/// The reference computes an Einsum an element at a time: XLNet's of positions took 20 seconds.
TEST(FoldConstants, LeavesLargeEinsumsToBecomeProducts) {
  for (const std::int64_t rows : {4, 128}) {
    Builder b;
    const ValueId keys =
        b.node("keys", Einsum{"ibh,hnd->ibnd"}, {b.weights("positions", {rows, 2, 64}), b.weights("w", {64, 2, 8})});
    b.output(b.binary("y", BinaryKind::add, b.input("x", {rows, 2, 2, 8}), keys));
    EXPECT_EQ(run("fold_constants", b.graph, false), rows == 4);
    optimize(b.graph);
    EXPECT_EQ(operators_of(b.graph), "Add");
  }
}

TEST(FoldConstants, KeepsAnOutputThatIsConstant) {
  Builder b;
  b.output(b.binary("y", BinaryKind::add, b.scalar("one", 1), b.scalar("two", 2)));
  EXPECT_TRUE(run("fold_constants", b.graph));
  EXPECT_FALSE(run("fold_constants", b.graph));
  optimize(b.graph);
  EXPECT_EQ(b.graph.value(b.graph.outputs[0]).name, "y");
  EXPECT_EQ(operators_of(b.graph), "Identity");
}

}  // namespace
}  // namespace colonnade::test
