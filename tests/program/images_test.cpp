// SPDX-License-Identifier: Apache-2.0
// Resizes, norms and reductions along any axes of whole tensors, against the reference.
#include "program/whole.hpp"

namespace colonnade::test {
namespace {

using namespace whole;

Tensor floats(const std::vector<float>& values) {
  Tensor tensor(DType::f32, {static_cast<std::int64_t>(values.size())});
  std::ranges::copy(values, tensor.values<float>().begin());
  return tensor;
}

/// By lines, whatever the type.
void check_resize(const Resize& op, const Shape& shape, const Ints& sizes, DType dtype = DType::f32,
                  const std::vector<float>& roi = {}, double tolerance = 2e-5) {
  const auto count = static_cast<std::int64_t>(sizes.size());
  check(op,
        {computed(dtype, shape), roi.empty() ? absent() : constant(floats(roi)), absent(),
         constant(index_tensor({count}, sizes))},
        families::resize_lines, tolerance);
}

constexpr CoordinateMode kCoordinates[] = {CoordinateMode::half_pixel, CoordinateMode::half_pixel_symmetric,
                                           CoordinateMode::pytorch_half_pixel, CoordinateMode::align_corners,
                                           CoordinateMode::asymmetric};

TEST(ResizeLines, EveryModeOfPlanes) {
  for (const ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic})
    for (const CoordinateMode coordinates : kCoordinates)
      for (const Ints& sizes : {Ints{2, 3, 10, 46}, Ints{2, 3, 3, 9}, Ints{2, 3, 11, 100}, Ints{2, 3, 1, 1}}) {
        Resize op;
        op.mode = mode;
        op.coordinates = coordinates;
        check_resize(op, {2, 3, 5, 37}, sizes);
      }
}

TEST(ResizeLines, RoundsAndExcludes) {
  for (const NearestMode rounding :
       {NearestMode::round_prefer_floor, NearestMode::round_prefer_ceil, NearestMode::floor, NearestMode::ceil}) {
    Resize op;
    op.nearest = rounding;
    op.coordinates = CoordinateMode::asymmetric;
    check_resize(op, {1, 2, 6, 40}, {1, 2, 12, 20}, DType::f32, {}, 0);
  }
  Resize cubic;
  cubic.mode = ResizeMode::cubic;
  cubic.exclude_outside = true;
  check_resize(cubic, {1, 2, 6, 7}, {1, 2, 12, 31});
}

TEST(ResizeLines, Antialiases) {
  for (const ResizeMode mode : {ResizeMode::linear, ResizeMode::cubic})
    for (const Ints& sizes : {Ints{1, 2, 7, 70}, Ints{1, 2, 40, 9}, Ints{1, 2, 3, 3}}) {
      Resize op;
      op.mode = mode;
      op.antialias = true;
      check_resize(op, {1, 2, 31, 160}, sizes);
    }
}

TEST(ResizeLines, CropsAndExtrapolates) {
  for (const ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic}) {
    Resize op;
    op.mode = mode;
    op.coordinates = CoordinateMode::tf_crop_and_resize;
    op.extrapolation = 7.5f;
    check_resize(op, {1, 2, 9, 20}, {1, 2, 12, 33}, DType::f32, {0, 0, 0.25f, -0.2f, 1, 1, 1.3f, 0.7f});
    check_resize(op, {1, 9, 20, 3}, {1, 12, 33, 3}, DType::f32, {0, 0.25f, 0.8f, 0, 1, 1.3f, 0.1f, 1});
  }
}

TEST(ResizeLines, AnyAxes) {
  for (const ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic}) {
    Resize op;
    op.mode = mode;
    check_resize(op, {50}, {80});
    check_resize(op, {3, 50}, {7, 20});
    check_resize(op, {2, 3, 17}, {2, 3, 40});
    check_resize(op, {2, 4, 5, 6, 19}, {2, 4, 10, 3, 30});
    check_resize(op, {1, 4, 5, 6, 3}, {1, 7, 9, 11, 3});
    check_resize(op, {2, 4, 5, 6}, {3, 4, 9, 6});
  }
  Resize some;
  some.mode = ResizeMode::linear;
  some.axes = {3, 1};
  check_resize(some, {2, 3, 4, 5}, {11, 6});
}

TEST(ResizeLines, PicksElementsOfAnyType) {
  for (const DType dtype : {DType::u8, DType::f16, DType::i32, DType::i64, DType::boolean}) {
    check_resize({}, {1, 2, 5, 7}, {1, 2, 10, 14}, dtype, {}, 0);
    const bool by_rows = dtype == DType::u8 || dtype == DType::f16;  // family resize_nearest
    if (!by_rows) check_resize({}, {1, 5, 7, 3}, {1, 4, 21, 3}, dtype, {}, 0);
  }
}

TEST(ResizeLines, NoNumberSpreadsWithoutWeight) {
  Resize op;
  op.mode = ResizeMode::linear;
  op.coordinates = CoordinateMode::align_corners;
  const Graph graph = single(
      op, {computed(DType::f32, {1, 1, 3, 3}), absent(), absent(), constant(index_tensor({4}, {1, 1, 5, 5}))}, 1);
  std::vector<double> values{1, 2, 3, 4, std::nan(""), 6, 7, 8, 9};
  check(graph, families::resize_lines, {reference::tensor_of(DType::f32, {1, 1, 3, 3}, values)}, 1e-5);
}

/// By rows, antialiased too: no row is read that weighs nothing.
TEST(ResizeRows, Antialias) {
  for (const Ints& sizes : {Ints{1, 5, 9, 3}, Ints{1, 40, 11, 3}}) {
    Resize op;
    op.mode = ResizeMode::linear;
    op.antialias = true;
    check(op, {computed(DType::f32, {1, 23, 30, 3}), absent(), absent(), constant(index_tensor({4}, sizes))},
          families::resize, 2e-5);
  }
}

TEST(PoolTaps, LargestWithIndicesAndPowers) {
  for (const Shape& shape : {Shape{2, 9, 5}, Shape{2, 7, 9, 33}, Shape{1, 4, 5, 6, 3}}) {
    const std::size_t axes = shape.size() - 2;
    for (const std::int64_t stride : {1, 2}) {
      Pool pool{PoolKind::max, Ints(axes, 3), Ints(axes, stride), Ints(axes, 1), Ints(2 * axes, 1)};
      check(pool, {computed(DType::f32, shape)}, families::pool_taps, 0, 2);
      pool.dilations.assign(axes, 2);
      pool.pads.assign(2 * axes, 2);
      check(pool, {computed(DType::f32, shape)}, families::pool_taps, 0, 2);
      pool.kind = PoolKind::lp;
      for (const std::int64_t p : {1, 2, 3}) {
        pool.p = p;
        check(pool, {computed(DType::f32, shape)}, families::pool_taps, 2e-4);
      }
    }
  }
  const Pool pool{PoolKind::max, {1, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}};
  const Graph graph = single(pool, {computed(DType::f32, {1, 1, 5, 1})}, 2);
  const std::vector<double> values{1, std::nan(""), 2, 2, -INFINITY};
  check(graph, families::pool_taps, {reference::tensor_of(DType::f32, {1, 1, 5, 1}, values)});
}

/// What reads planes reads them dense: a slice of their columns does not lie in what it is taken from.
TEST(Planes, OfASliceAreNotThoseOfItsSource) {
  for (const bool computed_source : {false, true})
    for (const bool by_conv : {false, true}) {
      Graph graph = single(Unary{UnaryKind::relu, 0, 0}, {computed(DType::f32, {2, 3, 8, 15})}, 1);
      const ValueId made = graph.outputs[0], source = computed_source ? made : graph.inputs[0];
      const auto add = [&](Operator op, std::vector<ValueId> inputs) {
        const ValueId out = graph.add_value("y");
        graph.nodes.push_back({std::move(op), std::move(inputs), {out}, "node", "Test"});
        return out;
      };
      const ValueId part =
          add(Slice{}, {source, graph.add_ints("b", {4}), graph.add_ints("e", {12}), graph.add_ints("a", {3})});
      ValueId result = add(Transpose{{0, 2, 3, 1}}, {part});
      if (by_conv)
        result = add(Conv{{3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 1, AutoPad::explicit_pads, false, {}},
                     {result, graph.add_constant("w", random_tensor(DType::f32, {8, 3, 3, 3}, 1))});
      graph.outputs = {result};
      if (!computed_source) graph.outputs.push_back(made);
      infer_types(graph);
      check(graph, families::unary, inputs_of(graph, 1), 1e-3);
    }
}

TEST(ConvTransposes, ChannelByChannel) {
  for (const std::int64_t stride : {1, 2, 3})
    for (const std::int64_t kernel : {1, 2, 4, 5})
      for (const std::int64_t pad : {0, 1}) {
        if (2 * pad >= kernel) continue;
        ConvTranspose op;
        op.kernel = {kernel, kernel};
        op.strides = {stride, stride};
        op.dilations = {1, 1};
        op.pads = {pad, 0, pad, pad};
        op.output_padding = {0, stride - 1};
        op.groups = 19;
        op.epilogue.activation.kind = UnaryKind::relu;
        check(op,
              {computed(DType::f32, {2, 5, 6, 19}), constant(random_tensor(DType::f32, {19, 1, kernel, kernel}, 3)),
               constant(random_tensor(DType::f32, {19}, 4))},
              families::conv_transpose, 1e-4);
      }
}

/// One row of output: threads divide its channels.
TEST(ConvTransposes, ShareTheChannelsOfALine) {
  constexpr std::int64_t kIn = 64, kOut = 104;
  for (const bool slope : {false, true}) {
    ConvTranspose op{{1, 16}, {1, 8}, {1, 1}, {0, 4, 0, 4}, {0, 0}, {}, 1, AutoPad::explicit_pads, {}};
    op.epilogue.prelu_slope = slope;
    op.epilogue.residual = true;
    std::vector<Input> inputs{computed(DType::f32, {1, 1, 200, kIn}),
                              constant(random_tensor(DType::f32, {kIn, kOut, 1, 16}, 3)),
                              constant(random_tensor(DType::f32, {kOut}, 4))};
    if (slope) inputs.push_back(constant(random_tensor(DType::f32, {kOut}, 5)));
    inputs.push_back(computed(DType::f32, {1, 1, 1600, kOut}));
    const Graph graph = single(op, inputs, 1);
    const PlanOptions two{Schedule::automatic, Math::fast, 2, 0};
    EXPECT_EQ(make_plan(graph, topology_of(host_isas()[0]), two).segments[0].sharing, Sharing::channels);
    check(graph, families::conv_transpose, inputs_of(graph, 1), 1e-3);
  }
}

TEST(BatchNorms, OfRows) {
  for (const Shape& shape : {Shape{2, 3, 5, 37}, Shape{1, 4, 90}, Shape{2, 2, 3, 4, 5}}) {
    std::vector<Input> inputs{computed(DType::f32, shape)};
    for (unsigned seed = 0; seed < 4; ++seed)
      inputs.push_back(constant(random_tensor(DType::f32, {shape[1]}, seed, 0.5, 2)));
    check(BatchNorm{}, inputs, families::batch_norm, 1e-5);
    inputs[2] = computed(DType::f32, {shape[1]});
    check(BatchNorm{}, inputs, families::batch_norm, 1e-5);
  }
}

TEST(SoftmaxAcross, AnyAxis) {
  for (const bool log : {false, true}) {
    check(Softmax{1, log}, {computed(DType::f32, {2, 21, 9, 37})}, families::softmax_across, 2e-6);
    check(Softmax{0, log}, {computed(DType::f32, {5, 300})}, families::softmax_across, 2e-6);
    check(Softmax{-2, log}, {computed(DType::f32, {3, 4, 7})}, families::softmax_across, 2e-6);
  }
}

TEST(PlaneNorm, ChannelsFirst) {
  for (const Shape& shape : {Shape{2, 3, 5, 37}, Shape{1, 4, 9000}, Shape{2, 2, 3, 4, 5}}) {
    const Tensor scale = random_tensor(DType::f32, {shape[1]}, 7), bias = random_tensor(DType::f32, {shape[1]}, 8);
    check(InstanceNorm{}, {computed(DType::f32, shape), constant(scale), constant(bias)}, families::plane_norm, 1e-5);
    check(InstanceNorm{}, {computed(DType::f32, shape), computed(DType::f32, {shape[1]}), constant(bias)},
          families::plane_norm, 1e-5);
  }
}

constexpr ReduceKind kReductions[] = {
    ReduceKind::sum, ReduceKind::mean, ReduceKind::max,     ReduceKind::min,         ReduceKind::prod,
    ReduceKind::l1,  ReduceKind::l2,   ReduceKind::log_sum, ReduceKind::log_sum_exp, ReduceKind::sum_square};

/// Sums of positive numbers, so that each has a logarithm.
void check_reduction(ReduceKind kind, const Shape& shape, const std::optional<Ints>& axes, const Family& family,
                     bool keepdims) {
  const auto count = axes ? static_cast<std::int64_t>(axes->size()) : 0;
  const Graph graph =
      single(Reduce{kind, keepdims},
             {computed(DType::f32, shape), axes ? constant(index_tensor({count}, *axes)) : absent()}, 1);
  check(graph, family, {random_tensor(DType::f32, shape, 5, 0.5, 1.5)}, 1e-3);
}

TEST(Reductions, EveryKindOverAdjacentAxes) {
  for (const ReduceKind kind : kReductions) {
    check_reduction(kind, {2, 3, 37}, Ints{2}, families::reduce, false);
    check_reduction(kind, {2, 7, 300}, Ints{1}, families::reduce, true);
    check_reduction(kind, {3, 5, 7}, std::nullopt, families::reduce, false);
    check_reduction(kind, {1, 5, 3, 7}, Ints{0, 2, 3}, families::reduce, true);
    check_reduction(kind, {2, 5, 9, 33}, Ints{2}, families::reduce_width, true);
  }
}

TEST(Reductions, LogarithmsOfWhatIsInfinite) {
  for (const Shape& shape : {Shape{3, 4}, Shape{3, 4, 2}}) {
    const Graph graph =
        single(Reduce{ReduceKind::log_sum_exp}, {computed(DType::f32, shape), constant(index_tensor({1}, {1}))}, 1);
    std::vector<double> values(static_cast<std::size_t>(element_count(shape)), -INFINITY);
    values[0] = 1;
    values.back() = INFINITY;
    check(graph, families::reduce, {reference::tensor_of(DType::f32, shape, values)}, 1e-6);
  }
}

}  // namespace
}  // namespace colonnade::test
