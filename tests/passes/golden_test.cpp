// SPDX-License-Identifier: Apache-2.0
// One pass at a time on small graphs: what it prints afterwards, and that it computes the same.
#include "passes/golden.hpp"

namespace colonnade::test {
namespace {

using namespace golden;

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
  EXPECT_EQ(golden::nodes_of(b.graph), R"(
input %x f32[2,3,4,5]
%y f32[2,3,4,5] = Relu(%x) # y
output %y
)");
}

TEST(StaticForms, TakesWhatAUniformConditionChooses) {
  for (const bool same : {true, false}) {
    Builder b;
    const ValueId x = b.input("x", {2, 3}), y = b.input("y", {2, 3});
    Tensor condition(DType::boolean, {2, 1});
    condition.values<bool>()[0] = false, condition.values<bool>()[1] = !same;
    const ValueId chosen = b.node("chosen", Select{}, {b.graph.add_constant("condition", std::move(condition)), x, y});
    b.output(b.unary("z", UnaryKind::relu, chosen));
    EXPECT_EQ(run("static_forms", b.graph), same);
    EXPECT_EQ(operators_of(b.graph), same ? "Relu" : "Select Relu");
  }
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
  EXPECT_EQ(golden::nodes_of(b.graph), R"(
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

TEST(StaticForms, ScalesDoNotWaitForMovedNumbers) {
  Builder b;
  const ValueId x = b.input("x", {2, 3, 4});
  const ValueId rows = b.node("rows", Reshape{}, {b.transpose("turned", x, {0, 2, 1}), b.ints("shape", {8, 3})});
  const ValueId twice = b.node("twice", Tile{}, {rows, b.ints("repeats", {2, 1})});
  const ValueId scale = b.node("scale", ByteScale{}, {twice});
  b.output(scale);
  b.output(b.graph.nodes.back().outputs[1]);
  expect_same_results(b.graph, optimized(b.graph), 3, 0);
  EXPECT_EQ(operators_of(optimized(b.graph)), "ByteScale");
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
  EXPECT_EQ(golden::nodes_of(b.graph), R"(
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
  EXPECT_EQ(golden::nodes_of(b.graph), R"(
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
  EXPECT_EQ(golden::nodes_of(b.graph), R"(
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

TEST(SplitReductions, WidthFirst) {
  Builder b;
  const ValueId x = b.input("x", {2, 5, 6, 4});
  b.output(b.node("mean", Reduce{ReduceKind::mean, true}, {x, b.ints("axes", {1, 2})}));
  b.output(b.node("inner", Reduce{ReduceKind::mean, true}, {x, b.ints("inner_axes", {2, 3})}));
  EXPECT_TRUE(run("split_reductions", b.graph));
  EXPECT_EQ(golden::nodes_of(b.graph), R"(
input %x f32[2,5,6,4]
%mean_6 f32[2,5,1,4] = Reduce(%x, %mean_axes) kind=mean # mean
%mean f32[2,1,1,4] = Reduce(%mean_6, %mean_axes_7) kind=mean # mean
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
  EXPECT_EQ(golden::nodes_of(b.graph), R"(
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

/// Of two values that are turned one goes out as it came in, the other is computed with.
TEST(WidenF16, LeavesWhatOnlyMoves) {
  Builder b;
  const ValueId x = b.input("x", {2, 3}, DType::f16), z = b.input("z", {2, 3}, DType::f16);
  const ValueId turned = b.node("turn", Transpose{{1, 0}}, {x});
  b.output(b.node("flat", Flatten{0}, {turned}));
  b.output(b.unary("relu", UnaryKind::relu, b.node("other", Transpose{{1, 0}}, {z})));
  EXPECT_TRUE(run("widen_f16", b.graph, false));
  EXPECT_FALSE(run("widen_f16", b.graph, false));
  EXPECT_EQ(to_text(b.graph), R"(graph test
input %x f16[2,3]
input %z f16[2,3]
%turn f16[3,2] = Transpose(%x) perm=1,0 # turn
%flat f16[1,6] = Flatten(%turn) axis=0 # flat
%z_6 f32[2,3] = Cast(%z) to=float32 # z
%other f32[3,2] = Transpose(%z_6) perm=1,0 # other
%relu_7 f32[3,2] = Relu(%other) # relu
%relu f16[3,2] = Cast(%relu_7) to=float16 # relu
output %flat
output %relu
)");
}

TEST(WindowsApart, LeavesWeightsOfNoChannels) {
  Builder b;
  ConvTranspose conv;
  conv.kernel = conv.strides = {2};
  conv.dilations = {1};
  conv.pads = {0, 0};
  conv.output_padding = {0};
  const ValueId weight = b.graph.add_constant("w", Tensor(DType::f32, {0, 2, 2}));
  b.output(b.node("y", conv, {b.input("x", {1, 3, 0}), weight}));
  EXPECT_FALSE(run("windows_apart", b.graph, false));
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
