// SPDX-License-Identifier: Apache-2.0
// One pass at a time on small graphs: what it prints afterwards, and that it computes the same.
#include <gtest/gtest.h>

#include <algorithm>

#include "passes/graphs.hpp"
#include "passes/passes.hpp"

namespace colonnade::test {
namespace {

/// Runs one pass, drops what is dead, checks the result; true when the pass changed something.
bool run(const std::string& name, Graph& graph, bool compare = true) {
  const auto all = passes();
  const auto pass = std::find_if(all.begin(), all.end(), [&](const Pass& p) { return p.name == name; });
  EXPECT_NE(pass, all.end()) << name;
  const Graph before = graph;
  verify(before);
  const bool changed = pass->run(graph);
  remove_dead(graph);
  verify(graph);
  if (compare) expect_same_results(before, graph, 7, 2e-5);
  return changed;
}

/// The printed graph without its constants.
std::string nodes_of(const Graph& graph) {
  std::string text = to_text(graph), result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin + 1);
    if (line.rfind("constant", 0) != 0 && line.rfind("graph", 0) != 0) result += line;
    begin = end + 1;
  }
  return "\n" + result;
}

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

TEST(FoldConstants, LeavesLargeExpansionsAlone) {
  Builder b;
  const ValueId x = b.input("x", {1024, 1024});
  const ValueId grown = b.node("grown", Expand{}, {b.scalar("c", 2), b.ints("shape", {1024, 1024})});
  b.output(b.binary("y", BinaryKind::add, x, grown));
  EXPECT_FALSE(run("fold_constants", b.graph));
}

TEST(FoldConstants, FillsWeights) {
  Builder b;
  const ValueId x = b.input("x", {2, 1024});
  const ValueId filled = b.node("filled", Fill{}, {b.ints("shape", {1024, 1024}), b.scalar("v", 0.01f)});
  b.output(b.node("y", MatMul{}, {x, filled}));
  EXPECT_TRUE(run("fold_constants", b.graph));
  EXPECT_EQ(operators_of(b.graph), "MatMul");
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

TEST(StaticForms, DropsNodesWithoutEffect) {
  Builder b;
  const ValueId x = b.input("x", {2, 3, 4, 5});
  ValueId y = b.unary("identity", UnaryKind::identity, x);
  y = b.node("cast", Cast{DType::f32}, {y});
  y = b.node("pad", Pad{}, {y, b.ints("pads", {0, 0, 0, 0, 0, 0, 0, 0})});
  y = b.transpose("transpose", y, {0, 1, 2, 3});
  y = b.node("tile", Tile{}, {y, b.ints("repeats", {1, 1, 1, 1})});
  y = b.node("concat", Concat{1}, {y});
  y = b.node("expand", Expand{}, {y, b.ints("shape", {3, 1, 5})});
  y = b.binary("times", BinaryKind::mul, y, b.scalar("one", 1));
  b.output(b.unary("y", UnaryKind::relu, y));
  EXPECT_TRUE(run("static_forms", b.graph));
  EXPECT_EQ(nodes_of(b.graph), R"(
input %x f32[2,3,4,5]
%y f32[2,3,4,5] = Relu(%x) # y
output %y
)");
}

TEST(StaticForms, MergesReshapesAndTransposes) {
  Builder b;
  const ValueId x = b.input("x", {2, 3, 4, 5});
  ValueId y = b.transpose("t1", x, {0, 2, 3, 1});
  y = b.transpose("t2", y, {0, 2, 1, 3});
  y = b.node("flat", Flatten{2}, {y});
  y = b.node("un", Unsqueeze{}, {y, b.ints("axes", {0, 3})});
  b.output(b.node("y", Squeeze{}, {y, b.ints("first", {0})}));
  EXPECT_TRUE(run("static_forms", b.graph));
  EXPECT_EQ(nodes_of(b.graph), R"(
input %x f32[2,3,4,5]
%t2 f32[2,5,4,3] = Transpose(%x) perm=0,3,2,1 # t2
%y f32[10,12,1] = Reshape(%t2, %y_shape) # y
output %y
)");
}

TEST(StaticForms, SplitsBySlicing) {
  Builder b;
  const ValueId x = b.input("x", {2, 6});
  const ValueId first = b.node("split", Split{1}, {x});
  b.output(b.binary("y", BinaryKind::mul, first, b.graph.nodes.back().outputs[1]));
  EXPECT_TRUE(run("static_forms", b.graph));
  EXPECT_EQ(operators_of(b.graph), "Slice Slice Mul");
}

TEST(StaticForms, KeepsNamesWhenAnOutputIsAnInput) {
  Builder b;
  const ValueId x = b.input("x", {2, 3});
  b.output(b.node("y", Reshape{}, {x, b.ints("shape", {2, 3})}));
  b.output(x);
  EXPECT_TRUE(run("static_forms", b.graph));
  EXPECT_FALSE(run("static_forms", b.graph));
  EXPECT_EQ(operators_of(b.graph), "Identity");
}

TEST(Recognise, Activations) {
  Builder b;
  const ValueId x = b.input("x", {2, 8});
  b.output(b.binary("silu", BinaryKind::mul, b.unary("s", UnaryKind::sigmoid, x), x));
  const ValueId shifted = b.binary("plus3", BinaryKind::add, x, b.scalar("three", 3));
  const ValueId relu = b.unary("from0", UnaryKind::relu, shifted);
  const ValueId relu6 = b.binary("to6", BinaryKind::min, relu, b.scalar("six", 6));
  b.output(b.binary("hard", BinaryKind::div, b.binary("p", BinaryKind::mul, x, relu6), b.scalar("6", 6)));
  const ValueId sp = b.unary("sp", UnaryKind::softplus, x);
  b.output(b.binary("mish", BinaryKind::mul, x, b.unary("th", UnaryKind::tanh, sp)));
  b.output(b.unary("relu", UnaryKind::clip, x, 0, std::numeric_limits<float>::infinity()));
  b.output(b.binary("square", BinaryKind::pow, x, b.scalar("2", 2)));
  EXPECT_TRUE(run("recognise", b.graph));
  EXPECT_EQ(operators_of(b.graph), "Silu HardSwish Mish Relu Square");
  EXPECT_FALSE(run("recognise", b.graph));
}

TEST(Recognise, BothGelus) {
  Builder b;
  const ValueId x = b.input("x", {2, 8});
  const ValueId root = b.scalar("root", 1.41421354f), half = b.scalar("half", 0.5f), one = b.scalar("one", 1);
  const ValueId erf = b.unary("erf", UnaryKind::erf, b.binary("d", BinaryKind::div, x, root));
  const ValueId gate = b.binary("g", BinaryKind::add, erf, one);
  b.output(b.binary("y", BinaryKind::mul, b.binary("m", BinaryKind::mul, x, gate), half));
  const ValueId cube = b.binary("cube", BinaryKind::pow, x, b.scalar("3", 3));
  const ValueId small = b.binary("small", BinaryKind::mul, cube, b.scalar("c", 0.044715f));
  const ValueId sum = b.binary("sum", BinaryKind::add, x, small);
  const ValueId inner = b.binary("inner", BinaryKind::mul, b.scalar("k", 0.797884583f), sum);
  const ValueId gate2 = b.binary("g2", BinaryKind::add, b.unary("tanh", UnaryKind::tanh, inner), one);
  b.output(b.binary("z", BinaryKind::mul, b.binary("h", BinaryKind::mul, half, x), gate2));
  EXPECT_TRUE(run("recognise", b.graph));
  EXPECT_EQ(nodes_of(b.graph), R"(
input %x f32[2,8]
%y f32[2,8] = GeluErf(%x) # y
%z f32[2,8] = GeluTanh(%x) # z
output %y
output %z
)");
}

TEST(Recognise, LayerNormAndSoftmax) {
  Builder b;
  const ValueId x = b.input("x", {2, 3, 8});
  const ValueId axes = b.ints("axes", {-1});
  const auto mean = [&](const std::string& name, ValueId v) {
    return b.node(name, Reduce{ReduceKind::mean, true}, {v, axes});
  };
  const ValueId centred = b.binary("sub", BinaryKind::sub, x, mean("mean", x));
  const ValueId squared = b.binary("pow", BinaryKind::pow, centred, b.scalar("2", 2));
  const ValueId sum = b.binary("eps", BinaryKind::add, mean("var", squared), b.scalar("e", 1e-3f));
  const ValueId norm = b.binary("div", BinaryKind::div, centred, b.unary("sqrt", UnaryKind::sqrt, sum));
  const ValueId scaled = b.binary("mul", BinaryKind::mul, norm, b.weights("g", {8}));
  const ValueId y = b.binary("add", BinaryKind::add, scaled, b.weights("b", {8}));
  const ValueId max = b.node("max", Reduce{ReduceKind::max, true}, {y, axes});
  const ValueId e = b.unary("exp", UnaryKind::exp, b.binary("less", BinaryKind::sub, y, max));
  b.output(b.binary("soft", BinaryKind::div, e, b.node("total", Reduce{ReduceKind::sum, true}, {e, axes})));
  EXPECT_TRUE(run("recognise", b.graph));
  EXPECT_EQ(nodes_of(b.graph), R"(
input %x f32[2,3,8]
%div_20 f32[2,3,8] = LayerNorm(%x, %g, %b) axis=2 epsilon=0.001 # div
%soft f32[2,3,8] = Softmax(%div_20) axis=2 # soft
output %soft
)");
}

TEST(ChannelsLast, MovesTransposesToTheBorders) {
  Builder b;
  const ValueId x = b.input("x", {1, 4, 6, 6});
  const ValueId c = b.conv("c", x, 8, 3);
  const ValueId scaled = b.binary("scaled", BinaryKind::mul, c, b.weights("s", {8, 1, 1}));
  const ValueId both = b.node("both", Concat{1}, {b.unary("relu", UnaryKind::relu, scaled), c});
  b.output(b.conv("d", both, 4, 1));
  EXPECT_TRUE(run("channels_last", b.graph));
  EXPECT_EQ(nodes_of(b.graph), R"(
input %x f32[1,4,6,6]
%c.in f32[1,6,6,4] = Transpose(%x) perm=0,2,3,1 # c.in
%c f32[1,6,6,8] = Conv(%c.in, %c.w, %c.b) kernel=3x3 pads=1,1,1,1 # c
%scaled_16 f32[1,6,6,8] = Mul(%c, %s_19) # scaled
%relu_17 f32[1,6,6,8] = Relu(%scaled_16) # relu
%both_18 f32[1,6,6,16] = Concat(%relu_17, %c) axis=3 # both
%d f32[1,6,6,4] = Conv(%both_18, %d.w, %d.b) kernel=1x1 # d
%d.out f32[1,4,6,6] = Transpose(%d) perm=0,3,1,2 # d.out
output %d.out
)");
  EXPECT_FALSE(run("channels_last", b.graph));
}

TEST(ChannelsLast, SqueezeAndExcite) {
  Builder b;
  const ValueId x = b.conv("c", b.input("x", {1, 4, 6, 6}), 8, 3);
  const ValueId mean = b.node("mean", Reduce{ReduceKind::mean, false}, {x, b.ints("hw", {2, 3})});
  const ValueId dense = b.node("fc", MatMul{}, {mean, b.weights("w", {8, 8})});
  const ValueId gate = b.node("un", Unsqueeze{}, {b.unary("s", UnaryKind::sigmoid, dense), b.ints("axes", {2, 3})});
  b.output(b.conv("d", b.binary("y", BinaryKind::mul, x, gate), 4, 1));
  optimize(b.graph);
  EXPECT_EQ(operators_of(b.graph), "Transpose Conv Reduce Reduce Reshape MatMul Reshape Mul Conv Transpose");
}

TEST(ChannelsLast, PermutesTheRowsOfADenseLayer) {
  Builder b;
  const ValueId x = b.conv("c", b.input("x", {2, 4, 6, 6}), 3, 3);
  const ValueId flat = b.node("flat", Reshape{}, {x, b.ints("shape", {2, 108})});
  b.output(b.node("y", MatMul{}, {flat, b.weights("w", {108, 5})}));
  b.output(b.node("z", MatMul{false, true, {}}, {flat, b.weights("v", {5, 108})}));
  EXPECT_TRUE(run("channels_last", b.graph));
  EXPECT_EQ(operators_of(b.graph), "Transpose Conv Reshape MatMul MatMul");
}

TEST(ChannelsLast, SharesTheTransposesOfAttention) {
  Builder b;
  const ValueId x = b.input("x", {1, 6, 8});
  const ValueId heads = b.node("heads", Reshape{}, {x, b.ints("shape", {1, 6, 2, 4})});
  const ValueId q = b.transpose("q", heads, {0, 2, 1, 3}), k = b.transpose("k", heads, {0, 2, 3, 1});
  b.output(b.node("scores", MatMul{}, {q, k}));
  EXPECT_TRUE(run("static_forms", b.graph));
  EXPECT_TRUE(run("channels_last", b.graph));
  EXPECT_FALSE(run("channels_last", b.graph));
  EXPECT_EQ(count_of<Transpose>(b.graph), 1);
  EXPECT_TRUE(std::get<MatMul>(b.graph.nodes.back().op).transpose_b);
}

TEST(FoldBatchNorm, FoldsIntoWeights) {
  Builder b;
  const ValueId x = b.input("x", {1, 6, 6, 4});
  Conv conv;
  conv.kernel = {3, 3};
  conv.strides = conv.dilations = {1, 1};
  conv.pads = {1, 1, 1, 1};
  const ValueId w = b.weights("w", {8, 2, 3, 3});
  conv.groups = 2;
  const ValueId first = b.batch_norm("bn", b.node("c", conv, {x, w}), 3);
  const ValueId second = b.binary("sub", BinaryKind::sub, b.scalar("k", 2), b.node("d", conv, {x, w}));
  b.output(first);
  b.output(second);
  EXPECT_TRUE(run("fold_batch_norm", b.graph));
  EXPECT_EQ(nodes_of(b.graph), R"(
input %x f32[1,6,6,4]
%bn f32[1,6,6,8] = Conv(%x, %w_11, %c_bias) kernel=3x3 pads=1,1,1,1 groups=2 # c
%sub f32[1,6,6,8] = Conv(%x, %w_13, %d_bias) kernel=3x3 pads=1,1,1,1 groups=2 # d
output %bn
output %sub
)");
}

TEST(FoldBatchNorm, FoldsIntoGroupedTransposedConvolutionAndDenseLayers) {
  Builder b;
  ConvTranspose conv;
  conv.kernel = {2, 2};
  conv.strides = {2, 2};
  conv.dilations = {1, 1};
  conv.pads = {0, 0, 0, 0};
  conv.groups = 2;
  const ValueId c = b.node("c", conv, {b.input("x", {1, 3, 3, 4}), b.weights("w", {4, 3, 2, 2}), b.weights("b", {6})});
  b.output(b.batch_norm("bn", c, 3));
  const ValueId m = b.node("m", MatMul{false, true, {}}, {b.input("y", {2, 5}), b.weights("v", {7, 5})});
  const ValueId scaled = b.binary("scaled", BinaryKind::mul, m, b.weights("s", {7}));
  b.output(b.binary("biased", BinaryKind::add, scaled, b.weights("t", {1, 7})));
  EXPECT_TRUE(run("fold_batch_norm", b.graph));
  EXPECT_EQ(operators_of(b.graph), "ConvTranspose MatMul");
}

/// What maps the input of a dense layer goes into its matrix and its bias, unless others read it or it moves values
/// far.
TEST(FoldBatchNorm, FoldsIntoTheDenseLayerThatReads) {
  for (const bool transposed : {false, true}) {
    Builder b;
    const ValueId centred = b.binary("centred", BinaryKind::sub, b.input("x", {3, 5}), b.weights("mean", {5}));
    const ValueId y = b.binary("y", BinaryKind::div, centred, b.weights("spread", {5}, 1, 2));
    const ValueId w = b.weights("w", transposed ? Shape{7, 5} : Shape{5, 7});
    const ValueId m = b.node("m", MatMul{false, transposed, {}}, {y, w, b.weights("b", {7})});
    const ValueId norm = b.batch_norm("norm", b.unary("gelu", UnaryKind::gelu_erf, m), 1);
    b.output(b.unary("relu", UnaryKind::relu, b.node("n", MatMul{}, {norm, b.weights("v", {7, 4})})));
    const Graph before = b.graph;
    EXPECT_TRUE(run("fold_batch_norm", b.graph));
    EXPECT_EQ(operators_of(b.graph), "MatMul GeluErf MatMul Relu");
    expect_same_results(before, b.graph, 1, 1e-6);
  }
  Builder b;
  const ValueId twice = b.binary("twice", BinaryKind::add, b.input("x", {3, 5}), b.scalar("k", 1));
  b.output(b.node("m", MatMul{}, {twice, b.weights("w", {5, 7})}));
  b.output(b.unary("relu", UnaryKind::relu, twice));
  const ValueId far = b.binary("far", BinaryKind::sub, b.input("y", {3, 5}), b.scalar("far_mean", 1000));
  b.output(b.node("n", MatMul{}, {far, b.weights("v", {5, 7})}));
  EXPECT_FALSE(run("fold_batch_norm", b.graph));
}

TEST(FoldBatchNorm, ShortensChains) {
  Builder b;
  const ValueId x = b.input("x", {2, 3, 4});
  const ValueId y = b.batch_norm("bn", x, 2);
  const ValueId z =
      b.binary("mul", BinaryKind::mul, b.binary("add", BinaryKind::add, y, b.scalar("a", 1)), b.weights("m", {4}));
  b.output(b.unary("relu", UnaryKind::relu, z));
  EXPECT_TRUE(run("fold_batch_norm", b.graph));
  EXPECT_EQ(operators_of(b.graph), "Mul Add Relu");
  EXPECT_FALSE(run("fold_batch_norm", b.graph));
}

TEST(FuseEpilogue, ActivationAndResidual) {
  Builder b;
  const ValueId x = b.input("x", {5, 8});
  const ValueId first = b.node("first", MatMul{}, {x, b.weights("w1", {8, 8}), b.weights("b1", {8})});
  const ValueId second = b.node("second", MatMul{}, {b.unary("tanh", UnaryKind::tanh, first), b.weights("w2", {8, 8})});
  const ValueId sum = b.binary("sum", BinaryKind::add, second, x);
  const ValueId relu = b.unary("relu", UnaryKind::relu, sum);
  const ValueId third = b.node("third", MatMul{}, {relu, b.weights("w3", {8, 8})});
  const ValueId act = b.binary("prelu", BinaryKind::prelu, third, b.weights("slope", {8}));
  b.output(b.binary("y", BinaryKind::add, relu, act));
  EXPECT_TRUE(run("fuse_epilogue", b.graph));
  EXPECT_EQ(nodes_of(b.graph), R"(
input %x f32[5,8]
%first f32[5,8] = MatMul(%x, %w1, %b1) act=tanh # first
%second f32[5,8] = MatMul(%first, %w2, _, %x) act=relu residual=before # second
%y f32[5,8] = MatMul(%second, %w3, _, %prelu_slope, %second) act=prelu residual=after # third
output %y
)");
}

TEST(FuseEpilogue, TheLaterOperandTakesTheResidual) {
  Builder b;
  const ValueId x = b.input("x", {5, 8});
  const ValueId first = b.node("first", MatMul{}, {x, b.weights("w1", {8, 8})});
  const ValueId second = b.node("second", MatMul{}, {x, b.weights("w2", {8, 8})});
  b.output(b.binary("y", BinaryKind::add, second, first));
  EXPECT_TRUE(run("fuse_epilogue", b.graph));
  EXPECT_EQ(nodes_of(b.graph), R"(
input %x f32[5,8]
%first f32[5,8] = MatMul(%x, %w1) # first
%y f32[5,8] = MatMul(%x, %w2, _, %first) residual=before # second
output %y
)");
}

TEST(FuseEpilogue, WaitsForAResidualThatComesLater) {
  Builder b;
  const ValueId x = b.input("x", {5, 8});
  const ValueId product = b.node("product", MatMul{}, {x, b.weights("w", {8, 8})});
  const ValueId late = b.unary("late", UnaryKind::exp, x);
  b.output(b.binary("y", BinaryKind::add, product, late));
  EXPECT_TRUE(run("fuse_epilogue", b.graph));
  EXPECT_EQ(operators_of(b.graph), "Exp MatMul");
}

TEST(FuseEpilogue, KeepsSumsThatOthersRead) {
  Builder b;
  const ValueId x = b.input("x", {5, 8});
  const ValueId product = b.node("product", MatMul{}, {x, b.weights("w", {8, 8})});
  b.output(b.unary("relu", UnaryKind::relu, product));
  b.output(product);
  EXPECT_FALSE(run("fuse_epilogue", b.graph));
}

TEST(SplitReductions, WidthFirst) {
  Builder b;
  const ValueId x = b.input("x", {2, 5, 6, 4});
  b.output(b.node("mean", Reduce{ReduceKind::mean, true}, {x, b.ints("axes", {1, 2})}));
  b.output(b.node("inner", Reduce{ReduceKind::mean, true}, {x, b.ints("inner_axes", {2, 3})}));
  EXPECT_TRUE(run("split_reductions", b.graph));
  EXPECT_EQ(nodes_of(b.graph), R"(
input %x f32[2,5,6,4]
%mean_7 f32[2,5,1,4] = Reduce(%x, %mean_width) kind=mean # mean
%mean f32[2,1,1,4] = Reduce(%mean_7, %mean_rows) kind=mean # mean
%inner f32[2,5,1,1] = Reduce(%x, %inner_axes) kind=mean # inner
output %mean
output %inner
)");
}

TEST(EliminateCommon, SharesNodesAndConstants) {
  Builder b;
  const ValueId x = b.input("x", {2, 3});
  const ValueId left = b.binary("left", BinaryKind::add, x, b.scalar("one", 1));
  const ValueId right = b.binary("right", BinaryKind::add, x, b.scalar("uno", 1));
  b.output(left);
  b.output(b.binary("y", BinaryKind::mul, left, right));
  b.output(b.binary("again", BinaryKind::add, x, b.scalar("eins", 1)));
  EXPECT_TRUE(run("eliminate_common", b.graph));
  EXPECT_EQ(nodes_of(b.graph), R"(
input %x f32[2,3]
%left f32[2,3] = Add(%x, %one) # left
%y f32[2,3] = Mul(%left, %left) # y
%again f32[2,3] = Add(%x, %one) # again
output %left
output %y
output %again
)");
}

TEST(WidenF16, CastsAtTheBorders) {
  Builder b;
  const ValueId x = b.input("x", {2, 3}, DType::f16);
  Tensor half(DType::f16, {3});
  for (std::uint16_t& bits : half.values<std::uint16_t>()) bits = 0x3E00;
  const ValueId y = b.binary("add", BinaryKind::add, x, b.graph.add_constant("c", std::move(half)));
  b.output(b.unary("relu", UnaryKind::relu, y));
  b.output(b.node("wide", Cast{DType::f32}, {y}));
  EXPECT_TRUE(run("widen_f16", b.graph, false));
  EXPECT_FALSE(run("widen_f16", b.graph, false));
  optimize(b.graph);
  EXPECT_EQ(to_text(b.graph), R"(graph test
input %x f16[2,3]
constant %c f32[3] = [1.5,1.5,1.5]
%x_5 f32[2,3] = Cast(%x) to=float32 # x
%wide f32[2,3] = Add(%x_5, %c) # add
%relu_6 f32[2,3] = Relu(%wide) # relu
%relu f16[2,3] = Cast(%relu_6) to=float16 # relu
output %relu
output %wide
)");
}

TEST(Driver, ReportsEveryPassAndLeavesOutDisabledOnes) {
  Builder b;
  b.output(b.unary("y", UnaryKind::relu, b.unary("i", UnaryKind::identity, b.input("x", {2}))));
  std::vector<std::string> seen;
  PassOptions options;
  options.disabled = {"static_forms"};
  options.observer = [&](const PassTrace& trace, const Graph&) { seen.emplace_back(trace.pass); };
  Graph graph = b.graph;
  optimize(graph, options);
  EXPECT_EQ(operators_of(graph), "Identity Relu");
  EXPECT_EQ(std::count(seen.begin(), seen.end(), "static_forms"), 0);
  EXPECT_GE(seen.size(), passes().size() - 1);
  options.disabled = {"no_such_pass"};
  EXPECT_THROW(optimize(graph, options), Error);
}

}  // namespace
}  // namespace colonnade::test
