// SPDX-License-Identifier: Apache-2.0
// Axes become rows or columns as kernels like them, where operators allow it.
#include <gtest/gtest.h>

#include <algorithm>

#include "passes/graphs.hpp"
#include "passes/passes.hpp"

namespace colonnade::test {
namespace {

/// Shapes of what the Ops make, in order.
template <class Op>
std::vector<Shape> shapes_of(const Graph& graph) {
  std::vector<Shape> shapes;
  for (const Node& node : graph.nodes)
    if (std::holds_alternative<Op>(node.op)) shapes.push_back(graph.value(node.outputs[0]).type.static_shape());
  return shapes;
}

/// Norm, product, function and product with what went in, as layers of transformers.
Graph layers(const Shape& shape) {
  Builder b;
  ValueId x = b.input("x", shape);
  for (int layer = 0; layer < 2; ++layer) {
    const std::int64_t size = shape.back();
    const ValueId norm = b.node("norm", LayerNorm{}, {x, b.weights("s", {size}), b.weights("h", {size})});
    const ValueId wide = b.node("wide", MatMul{}, {norm, b.weights("w", {size, 2 * size})});
    const ValueId tanh = b.unary("tanh", UnaryKind::tanh, wide);
    const ValueId back = b.node("back", MatMul{}, {tanh, b.weights("v", {2 * size, size}), b.weights("b", {size})});
    x = b.binary("sum", BinaryKind::add, x, back);
  }
  b.output(x);
  return b.graph;
}

TEST(Orient, PositionsOfSmallImagesAreRowsOfOne) {
  for (const Shape& shape :
       {Shape{24, 1, 8}, Shape{1, 1, 24, 8}, Shape{24, 1, 1, 8}, Shape{2, 12, 8}, Shape{3, 8, 8}}) {
    const Graph graph = optimized(layers(shape));
    Shape joined(shape.size(), 1);
    joined[1] = 24;
    joined.back() = 16;
    EXPECT_EQ(shapes_of<MatMul>(graph).front(), joined) << to_text(graph);
    EXPECT_LE(count_of<Reshape>(graph), 2) << to_text(graph);
  }
}

TEST(Orient, OtherPositionsStay) {
  for (const Shape& shape : {Shape{1, 24, 8}, Shape{24, 8}, Shape{2, 64, 8}, Shape{1, 24, 1, 8}})
    EXPECT_EQ(count_of<Reshape>(optimized(layers(shape))), 0);
  Builder b;  // nothing is multiplied
  const ValueId x = b.input("x", {12, 1, 8});
  b.output(b.unary("exp", UnaryKind::exp, b.node("norm", LayerNorm{}, {x, b.weights("s", {8}), b.weights("h", {8})})));
  EXPECT_EQ(count_of<Reshape>(optimized(b.graph)), 0);
}

TEST(Orient, OperandsOfOnePositionEach) {
  Builder b;
  const ValueId x = b.input("x", {4, 3, 8}), y = b.input("y", {4, 3, 1}), z = b.input("z", {4, 1, 16});
  const ValueId product =
      b.node("product", MatMul{}, {b.binary("scaled", BinaryKind::mul, x, y), b.weights("w", {8, 16})});
  b.output(b.node("softmax", Softmax{-1, false}, {b.binary("sum", BinaryKind::add, product, z)}));
  const Graph graph = optimized(b.graph);
  EXPECT_EQ(shapes_of<MatMul>(graph), (std::vector<Shape>{{1, 12, 16}})) << to_text(graph);
  EXPECT_EQ(shapes_of<Softmax>(graph), (std::vector<Shape>{{4, 3, 16}})) << to_text(graph);
}

TEST(Orient, ManySmallImagesAreRowsOfOne) {
  for (const std::int64_t images : {15, 16, 200}) {
    Builder b;
    const ValueId x = b.input("x", {images, 1, 20}), y = b.input("y", {images, 3, 1});
    const ValueId far = b.binary("far", BinaryKind::sub, x, b.weights("center", {1, 3, 20}));
    const ValueId scaled = b.binary("scaled", BinaryKind::mul, far, b.weights("scale", {3, 1}));
    b.output(b.unary("exp", UnaryKind::exp, b.binary("sum", BinaryKind::add, scaled, y)));
    const Graph graph = optimized(b.graph);
    const Shape expected = images < 16 ? Shape{images, 3, 20} : Shape{1, images, 3, 20};
    EXPECT_EQ(shapes_of<Binary>(graph).front(), expected) << to_text(graph);
    EXPECT_EQ(count_of<Reshape>(graph), images < 16 ? 0 : 3) << to_text(graph);
  }
}

/// What stands is not taken back, where nothing but operators of one value stands.
TEST(Orient, ManySmallImagesStayRowsOfOne) {
  Builder b;
  const ValueId x = b.input("x", {17, 16, 1});
  b.output(b.unary("sigmoid", UnaryKind::sigmoid, b.binary("sum", BinaryKind::add, x, b.scalar("one", 1))));
  const Graph graph = optimized(b.graph);
  EXPECT_EQ(shapes_of<Unary>(graph), (std::vector<Shape>{{1, 17, 16, 1}})) << to_text(graph);
}

/// Casts of half floats stay at the ends, whatever moves beside them.
TEST(Orient, CastsOfHalfFloatsStayAtTheEnds) {
  Builder b;
  const ValueId x = b.input("x", {1, 3, 12, 12}, DType::f16);
  const ValueId wide = b.node("wide", Cast{DType::f32}, {x});
  const ValueId pooled =
      b.node("mean", Reduce{.kind = ReduceKind::mean}, {b.conv("conv", wide, 8, 3), b.ints("a", {2, 3})});
  const ValueId narrow = b.node("narrow", Cast{DType::f16}, {b.node("flat", Reshape{}, {pooled, b.ints("s", {1, 8})})});
  b.output(b.node("tall", Reshape{}, {narrow, b.ints("t", {1, 8, 1, 1})}));
  const Graph graph = optimized(b.graph);
  EXPECT_EQ(count_of<Cast>(graph), 2) << to_text(graph);
}

TEST(Orient, LargeImagesAndThoseOfConstantsStay) {
  for (const Shape& shape : {Shape{20, 4, 65}, Shape{20, 3, 5}}) {
    Builder b;
    const ValueId x = b.input("x", shape);
    b.output(b.binary("sum", BinaryKind::add, x, b.weights("w", shape)));
    EXPECT_EQ(count_of<Reshape>(optimized(b.graph)), 0);
  }
}

Conv window(const Ints& kernel, const Ints& strides, const Ints& pads, std::int64_t groups = 1) {
  Conv conv;
  conv.kernel = kernel;
  conv.strides = strides;
  conv.dilations = {1, 1};
  conv.pads = pads;
  conv.groups = groups;
  return conv;
}

TEST(Orient, ColumnsLieDown) {
  Builder b;
  const ValueId x = b.to_last("in", b.input("x", {2, 8, 30, 1}));
  const ValueId dense = b.node("dense", window({5, 1}, {2, 1}, {2, 0, 1, 0}), {x, b.weights("w", {6, 8, 5, 1})});
  const ValueId plus =
      b.binary("plus", BinaryKind::mul, b.unary("tanh", UnaryKind::tanh, dense), b.weights("each", {15, 1, 6}));
  const ValueId depth = b.node("depth", window({3, 3}, {1, 1}, {1, 1, 0, 1}, 6),
                               {plus, b.weights("d", {6, 1, 3, 3}), b.weights("b", {6})});
  Pool pool;
  pool.kernel = {3, 1};
  pool.strides = {2, 1};
  pool.dilations = {1, 1};
  pool.pads = {0, 0, 1, 0};
  b.output(b.to_first("out", b.node("pool", pool, {depth})));
  const Graph graph = optimized(b.graph);
  EXPECT_EQ(shapes_of<Conv>(graph), (std::vector<Shape>{{2, 1, 15, 6}, {2, 1, 14, 6}})) << to_text(graph);
  EXPECT_EQ(shapes_of<Pool>(graph), (std::vector<Shape>{{2, 1, 7, 6}})) << to_text(graph);
}

TEST(Orient, OnlyColumnsLieDown) {
  for (const std::int64_t width : {1, 2}) {
    Builder b;
    ConvTranspose conv;
    conv.kernel = {4, 1};
    conv.strides = {2, 1};
    conv.dilations = {1, 1};
    conv.pads = {1, 0, 1, 0};
    const ValueId x = b.input("x", {1, 9, width, 4});
    b.output(b.node("up", conv, {b.unary("exp", UnaryKind::exp, x), b.weights("w", {4, 5, 4, 1})}));
    const Graph graph = optimized(b.graph);
    EXPECT_EQ(shapes_of<ConvTranspose>(graph).front(), (width == 1 ? Shape{1, 1, 18, 5} : Shape{1, 18, 2, 5}));
  }
}

}  // namespace
}  // namespace colonnade::test
