// SPDX-License-Identifier: Apache-2.0
// Graphs before and after the passes that fold and fuse nodes into contractions.
#include "passes/golden.hpp"

namespace colonnade::test {
namespace {

using namespace golden;

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
  EXPECT_EQ(golden::nodes_of(b.graph), R"(
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

/// Of a map of a convolution's input only a scale: padding is zero behind the map. One weight a channel is a map too.
TEST(FoldBatchNorm, FoldsIntoConvolutionsAroundIt) {
  const auto grouped = [](std::int64_t kernel, std::int64_t groups) {
    Conv conv;
    conv.kernel = {kernel, kernel};
    conv.strides = conv.dilations = {1, 1};
    conv.pads = Ints(4, kernel / 2);
    conv.groups = groups;
    return conv;
  };
  for (const bool shifts : {false, true}) {
    Builder b;
    ValueId x = b.binary("scaled", BinaryKind::mul, b.input("x", {1, 6, 7, 4}), b.weights("scale", {4}));
    if (shifts) x = b.binary("shifted", BinaryKind::add, x, b.weights("shift", {4}));
    x = b.node("conv", grouped(3, 2), {x, b.weights("w", {6, 2, 3, 3}), b.weights("b", {6})});
    x = b.node("each", grouped(1, 6), {x, b.weights("v", {6, 1, 1, 1}), b.weights("u", {6})});
    b.output(b.unary("relu", UnaryKind::relu, x));
    const Graph before = b.graph;
    EXPECT_TRUE(run("fold_batch_norm", b.graph));
    EXPECT_EQ(operators_of(b.graph), shifts ? "Conv Conv Relu" : "Conv Relu");  // a map is a convolution
    EXPECT_FALSE(run("fold_batch_norm", b.graph));
    expect_same_results(before, b.graph, 1, 1e-6);
  }
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
  EXPECT_EQ(golden::nodes_of(b.graph), R"(
input %x f32[5,8]
%first f32[5,8] = MatMul(%x, %w1, %b1) act=tanh # first
%second f32[5,8] = MatMul(%first, %w2, _, %x) act=relu residual=before # second
%y f32[5,8] = MatMul(%second, %w3, _, %prelu_slope, %second) act=prelu residual=after # third
output %y
)");
}

/// Few rows have a kernel without an epilogue, and attention is found by its factor.
TEST(FuseEpilogue, LeavesScaledProductsOfComputedValues) {
  Builder b;
  const ValueId product = b.node("product", MatMul{}, {b.input("q", {1, 8}), b.input("k", {8, 5})});
  b.output(b.binary("scaled", BinaryKind::mul, product, b.scalar("s", 0.5f)));
  EXPECT_FALSE(run("fuse_epilogue", b.graph));
}

TEST(FuseEpilogue, TheLaterOperandTakesTheResidual) {
  Builder b;
  const ValueId x = b.input("x", {5, 8});
  const ValueId first = b.node("first", MatMul{}, {x, b.weights("w1", {8, 8})});
  const ValueId second = b.node("second", MatMul{}, {x, b.weights("w2", {8, 8})});
  b.output(b.binary("y", BinaryKind::add, second, first));
  EXPECT_TRUE(run("fuse_epilogue", b.graph));
  EXPECT_EQ(golden::nodes_of(b.graph), R"(
input %x f32[5,8]
%first f32[5,8] = MatMul(%x, %w1) # first
%y f32[5,8] = MatMul(%x, %w2, _, %first) residual=before # second
output %y
)");
}

/// One of two open dimensions may be 1 when shapes are known.
TEST(FuseEpilogue, LeavesSumsOfOpenShapesAlone) {
  Builder b;
  const ValueId product = b.node("m", MatMul{}, {b.input("x", {-1, 5}), b.weights("w", {5, 8})});
  b.output(b.binary("y", BinaryKind::add, product, b.input("z", {-1, 8})));
  EXPECT_FALSE(run("fuse_epilogue", b.graph, false));
  EXPECT_EQ(operators_of(b.graph), "MatMul Add");
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

}  // namespace
}  // namespace colonnade::test
