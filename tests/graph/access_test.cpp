// SPDX-License-Identifier: Apache-2.0
// Access maps against brute force: which input rows does each output row touch, by index arithmetic.
#include <functional>
#include <random>

#include "graph/builder.hpp"
#include "graph/resize_coordinates.hpp"

namespace colonnade::test {
namespace {

using Touch = std::function<void(std::int64_t input_row)>;
/// Calls `touch` with every input row (inside the tensor or not) that the output row reads.
using Reads = std::function<void(std::int64_t output_row, const Touch& touch)>;

Graph inferred_graph(const Operator& op, const std::vector<Input>& inputs) {
  Graph graph = single(op, inputs);
  infer_types(graph);
  verify(graph);
  return graph;
}

Interval brute_force(const Reads& reads, Interval rows, std::int64_t input_rows) {
  Interval touched;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    reads(row, [&](std::int64_t source) {
      if (source >= 0 && source < input_rows) touched = hull(touched, {source, source + 1});
    });
  }
  return touched;
}

/// The map covers what brute force touches in every interval of output rows, with at most `slack` rows more.
void check_access(const Graph& graph, std::size_t input, const Reads& reads, std::int64_t slack = 0) {
  const Node& node = graph.nodes.front();
  SCOPED_TRACE(to_text(graph));
  const std::int64_t output_rows = row_shape(graph.value(node.outputs.front()).type.static_shape()).rows;
  const std::int64_t input_rows = row_shape(graph.value(node.input(input)).type.static_shape()).rows;
  for (std::int64_t begin = 0; begin <= output_rows; ++begin) {
    for (std::int64_t end = begin; end <= output_rows; ++end) {
      const auto answer = access_rows(graph, node, input, {begin, end});
      ASSERT_TRUE(answer.has_value());
      const Interval expected = brute_force(reads, {begin, end}, input_rows);
      ASSERT_EQ(hull(expected, *answer), answer->empty() ? Interval{} : *answer) << begin << ".." << end;
      ASSERT_LE(answer->size(), expected.size() + slack) << begin << ".." << end;
      ASSERT_TRUE(answer->begin >= 0 && answer->end <= input_rows);
    }
  }
}

void same_rows(const Operator& op, const std::vector<Input>& inputs, std::size_t input = 0) {
  check_access(inferred_graph(op, inputs), input, [](std::int64_t row, const Touch& touch) { touch(row); });
}

void whole(const Operator& op, const std::vector<Input>& inputs, std::size_t input = 0) {
  const Graph graph = inferred_graph(op, inputs);
  EXPECT_FALSE(access_rows(graph, graph.nodes.front(), input, {0, 1}).has_value()) << to_text(graph);
}

TEST(RowShape, FollowsTheRank) {
  EXPECT_EQ(row_shape({2, 3, 4, 5}), (RowShape{2, 3, 4, 5}));
  EXPECT_EQ(row_shape({2, 3, 5}), (RowShape{2, 3, 1, 5}));
  EXPECT_EQ(row_shape({3, 5}), (RowShape{1, 3, 1, 5}));
  EXPECT_EQ(row_shape({5}), (RowShape{1, 1, 1, 5}));
  EXPECT_EQ(row_shape({}), (RowShape{1, 1, 1, 1}));
  EXPECT_EQ(row_shape({2, 3, 4, 5, 6}), (RowShape{2, 3, 20, 6}));
}

TEST(Access, ConvAndPool) {
  std::mt19937 random(1);
  const auto draw = [&](int low, int high) {
    return std::int64_t{std::uniform_int_distribution<int>(low, high)(random)};
  };
  for (int round = 0; round < 60; ++round) {
    const std::int64_t kernel = draw(1, 4), stride = draw(1, 3), dilation = draw(1, 3);
    const std::int64_t begin = draw(0, 3), end = draw(0, 3), rows = draw(10, 14);
    const std::string x = "f32[1," + std::to_string(rows) + ",5,2]";
    const Reads reads = [&](std::int64_t row, const Touch& touch) {
      for (std::int64_t tap = 0; tap < kernel; ++tap) touch(row * stride - begin + tap * dilation);
    };
    Conv conv;
    conv.kernel = {kernel, 1};
    conv.strides = {stride, 1};
    conv.dilations = {dilation, 1};
    conv.pads = {begin, 0, end, 0};
    const std::string weight = "f32[3,2," + std::to_string(kernel) + ",1]";
    check_access(inferred_graph(conv, {x, weight}), 0, reads, 2 * (dilation - 1) + 2 * (stride - 1));
    Pool pool;
    pool.kernel = conv.kernel;
    pool.strides = conv.strides;
    pool.dilations = conv.dilations;
    pool.pads = conv.pads;
    pool.ceil_mode = round % 2 == 0;
    check_access(inferred_graph(pool, {x}), 0, reads, 2 * (dilation - 1) + 2 * (stride - 1));
  }
}

TEST(Access, ConvTranspose) {
  std::mt19937 random(2);
  const auto draw = [&](int low, int high) {
    return std::int64_t{std::uniform_int_distribution<int>(low, high)(random)};
  };
  for (int round = 0; round < 60; ++round) {
    const std::int64_t kernel = draw(1, 4), stride = draw(1, 3), dilation = draw(1, 2), pad = draw(0, 2);
    ConvTranspose op;
    op.kernel = {kernel, 1};
    op.strides = {stride, 1};
    op.dilations = {dilation, 1};
    op.pads = {pad, 0, draw(0, 2), 0};
    op.output_padding = {stride - 1, 0};
    const Graph graph = inferred_graph(op, {typed("f32[1,9,5,2]"), "f32[2,3," + std::to_string(kernel) + ",1]"});
    const Reads reads = [&](std::int64_t row, const Touch& touch) {
      for (std::int64_t tap = 0; tap < kernel; ++tap) {
        const std::int64_t scaled = row + pad - tap * dilation;
        if (scaled >= 0 && scaled % stride == 0) touch(scaled / stride);
      }
    };
    check_access(graph, 0, reads, 2 * dilation);
  }
}

TEST(Access, FusedContractions) {
  Conv conv;
  conv.kernel = {3, 3};
  conv.pads = {1, 1, 1, 1};
  conv.epilogue.residual = true;
  const std::vector<Input> inputs = {typed("f32[2,6,5,3]"), typed("f32[4,3,3,3]"), Absent{}, typed("f32[2,6,5,4]")};
  same_rows(conv, inputs, 3);
  whole(conv, inputs, 1);
  same_rows(MatMul{}, {typed("f32[6,3]"), typed("f32[3,4]")});
  same_rows(MatMul{}, {typed("f32[2,6,3]"), typed("f32[3,4]")});
  whole(MatMul{}, {typed("f32[2,6,3]"), typed("f32[3,4]")}, 1);
  whole(MatMul{}, {typed("f32[2,6,3]"), typed("f32[2,3,4]")});
  whole(MatMul{true, false, {}}, {typed("f32[3,6]"), typed("f32[3,4]")});
}

TEST(Access, RowByRow) {
  const Input x = typed("f32[2,6,5,4]");
  const Input c = typed("f32[4]");
  BatchNorm batch_norm;
  batch_norm.axis = 3;
  InstanceNorm instance_norm;
  instance_norm.axis = 3;
  Lrn lrn;
  lrn.axis = 3;
  Reduce flat;
  flat.keepdims = false;
  same_rows(Unary{UnaryKind::relu}, {x});
  same_rows(Cast{DType::f16}, {typed("f32[6,4]")});
  same_rows(Binary{}, {x, x}, 1);
  same_rows(Binary{}, {x, typed("f32[2,6,1,1]")}, 1);
  same_rows(Select{}, {typed("bool[2,6,5,4]"), x, x}, 2);
  whole(Binary{}, {x, typed("f32[2,1,1,4]")}, 1);
  whole(Binary{}, {x, typed("f32[1,6,5,4]")}, 1);
  whole(Binary{}, {x, typed("f32[6,5,4]")}, 1);
  whole(Binary{}, {x, floats({1, 2, 3, 4})}, 1);
  same_rows(Softmax{-1, false}, {x});
  whole(Softmax{1, false}, {x});
  same_rows(LayerNorm{}, {x, c});
  same_rows(lrn, {x});
  same_rows(batch_norm, {x, c, c, c, c});
  whole(batch_norm, {x, c, c, c, c}, 1);
  whole(instance_norm, {x, c, c});
  same_rows(Reduce{}, {x, ints({2, -1})});
  whole(Reduce{}, {x, ints({1, 2})});
  whole(Reduce{}, {x});
  whole(flat, {x, ints({-1})});
  whole(Reshape{}, {x, ints({-1, 4})});
}

TEST(Access, ConcatSlicePad) {
  const Input a = typed("f32[1,4,5,2]");
  const Input b = typed("f32[1,3,5,2]");
  const Graph rows = inferred_graph(Concat{1}, {a, b, a});
  check_access(rows, 1, [](std::int64_t row, const Touch& touch) { touch(row - 4); });
  check_access(rows, 2, [](std::int64_t row, const Touch& touch) { touch(row - 7); });
  same_rows(Concat{3}, {a, a}, 1);
  same_rows(Concat{2}, {a, a}, 1);
  whole(Concat{0}, {a, a});

  check_access(inferred_graph(Slice{}, {a, ints({1, 2}), ints({-1, 5}), ints({1, 2})}), 0,
               [](std::int64_t row, const Touch& touch) { touch(row + 1); });
  same_rows(Slice{}, {a, ints({1}), ints({2}), ints({3})});
  whole(Slice{}, {a, ints({0}), ints({4}), ints({1}), ints({2})});
  whole(Slice{}, {typed("f32[3,4,5,2]"), ints({1}), ints({3}), ints({0})});

  const auto pads = [](std::int64_t begin, std::int64_t end) { return ints({0, begin, 1, 0, 0, end, 2, 0}); };
  const Reads constant = [](std::int64_t row, const Touch& touch) { touch(row - 2); };
  const Reads cropped = [](std::int64_t row, const Touch& touch) { touch(row + 1); };
  const Reads edge = [](std::int64_t row, const Touch& touch) { touch(std::clamp<std::int64_t>(row - 2, 0, 3)); };
  const Reads reflect = [](std::int64_t row, const Touch& touch) {
    const std::int64_t source = row < 2 ? 2 - row : row - 2;
    touch(source > 3 ? 6 - source : source);
  };
  check_access(inferred_graph(Pad{PadMode::constant}, {a, pads(2, 3)}), 0, constant);
  check_access(inferred_graph(Pad{PadMode::constant}, {a, pads(-1, 3)}), 0, cropped);
  check_access(inferred_graph(Pad{PadMode::edge}, {a, pads(2, 3)}), 0, edge);
  check_access(inferred_graph(Pad{PadMode::reflect}, {a, pads(2, 3)}), 0, reflect);
  whole(Pad{PadMode::wrap}, {a, pads(1, 1)});
  whole(Pad{PadMode::constant}, {a, ints({1, 0, 0, 0, 0, 0, 0, 0})});
}

TEST(Access, LayoutChanges) {
  const Graph to_last = inferred_graph(Transpose{{0, 2, 3, 1}}, {typed("f32[1,3,6,5]")});
  EXPECT_EQ(access_rows(to_last, to_last.nodes.front(), 0, {2, 9}), (Interval{2, 6}));
  const Graph to_first = inferred_graph(Transpose{{0, 3, 1, 2}}, {typed("f32[1,6,5,3]")});
  EXPECT_EQ(access_rows(to_first, to_first.nodes.front(), 0, {2, 9}), (Interval{2, 6}));
  whole(Transpose{{0, 2, 1}}, {typed("f32[1,6,5]")});
  check_access(inferred_graph(DepthToSpace{2, false, -1}, {typed("f32[1,4,5,8]")}), 0,
               [](std::int64_t row, const Touch& touch) { touch(row / 2); });
  check_access(inferred_graph(SpaceToDepth{2, 3}, {typed("f32[1,6,4,3]")}), 0,
               [](std::int64_t row, const Touch& touch) {
                 touch(2 * row);
                 touch(2 * row + 1);
               });
  whole(DepthToSpace{2, false, 1}, {typed("f32[1,8,4,5]")});
}

TEST(Access, ResizeWithoutCoordinates) {
  Resize nearest;
  nearest.coordinates = CoordinateMode::asymmetric;
  nearest.nearest = NearestMode::floor;
  const Input x = typed("f32[1,4,5,3]");
  check_access(inferred_graph(nearest, {x, Absent{}, floats({1, 2, 2, 1})}), 0,
               [](std::int64_t row, const Touch& touch) { touch(row / 2); });
  Resize linear;
  linear.mode = ResizeMode::linear;
  check_access(inferred_graph(linear, {x, Absent{}, floats({1, 2, 2, 1})}), 0,
               [](std::int64_t row, const Touch& touch) {
                 touch(std::clamp<std::int64_t>((row - 1) / 2 - (row == 0 ? 1 : 0), 0, 3));
                 touch(std::min<std::int64_t>((row + 1) / 2, 3));
               });
  same_rows(linear, {x, Absent{}, floats({1, 1, 2, 1})});
  whole(linear, {typed("f32[2,4,5,3]"), Absent{}, floats({2, 1, 1, 1})});
  whole(linear, {x, Absent{}, typed("f32[4]")}, 2);
}

TEST(Access, ResizeByTaps) {
  for (const ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic}) {
    for (const CoordinateMode coordinates :
         {CoordinateMode::half_pixel, CoordinateMode::half_pixel_symmetric, CoordinateMode::pytorch_half_pixel,
          CoordinateMode::align_corners, CoordinateMode::asymmetric}) {
      for (const std::int64_t size : {1, 3, 7, 12, 20}) {
        Resize op;
        op.mode = mode;
        op.coordinates = coordinates;
        const Graph graph = inferred_graph(op, {typed("f32[1,7,5,2]"), Absent{}, Absent{}, ints({1, size, 5, 2})});
        const ResizeTaps taps = resize_taps(op, (*resize_axes(graph, graph.nodes.front()))[1]);
        const Reads reads = [&](std::int64_t row, const Touch& touch) {
          for (std::int64_t tap = 0; tap < taps.taps; ++tap) {
            const auto index = static_cast<std::size_t>(row * taps.taps + tap);
            if (taps.weights[index] != 0) touch(taps.indices[index]);
          }
        };
        check_access(graph, 0, reads);
      }
    }
  }
}

TEST(Access, ClipsTheQuestion) {
  const Graph graph = inferred_graph(Unary{UnaryKind::relu}, {typed("f32[1,6,5,2]")});
  EXPECT_EQ(access_rows(graph, graph.nodes.front(), 0, {-3, 99}), (Interval{0, 6}));
  EXPECT_EQ(access_rows(graph, graph.nodes.front(), 0, {7, 9}), (Interval{}));
}

}  // namespace
}  // namespace colonnade::test
