// SPDX-License-Identifier: Apache-2.0
// What kernel and how many threads the planner takes for shapes that were measured.
#include <gtest/gtest.h>

#include <array>

#include "families/dense_conv.hpp"
#include "families/table.hpp"
#include "plan/plan.hpp"
#include "support/known_blocking.hpp"
#include "support/known_networks.hpp"

namespace colonnade::test {
namespace {

/// A second thread costs half of a wake: in every other run it is awake.
TEST(Plan, TakesAnotherThreadWhereItSavesHalfOfAWake) {
  const Graph graph = six_layers(64, 96, 16);
  Topology topology = fixed_topology("zen4-2");
  const auto plan = [&](int threads, double team_us) {
    topology.rates.team_us = team_us;
    return make_plan(graph, topology, {Schedule::automatic, Math::fast, threads, 0});
  };
  const auto predicted = [](const Plan& of) {
    double sum = 0;
    for (const SegmentPlan& segment : of.segments) sum += segment.predicted_us;
    return sum;
  };
  const double saved = predicted(plan(1, 0)) - predicted(plan(2, 0));
  ASSERT_GT(saved, 40);
  EXPECT_EQ(plan(2, 1.9 * saved).threads, 2);
  EXPECT_EQ(plan(2, 2.1 * saved).threads, 1);
}

/// A chain whose last layers have few rows has no bands for two threads, and is not taken to have any.
TEST(Plan, SharesTheLayersOfAPyramid) {
  Network net("pyramid");
  ValueId x = net.input({1, 64, 64, 3});
  for (int i = 0; i < 4; ++i) x = net.pool(net.conv(x, 16, {.activation = UnaryKind::relu}), PoolKind::max, 2, 2);
  const Graph graph = net.finish(net.conv(x, 16));
  Topology topology = fixed_topology("zen4-2");
  topology.rates.team_us = 0;
  const Plan plan = make_plan(graph, topology, {Schedule::automatic, Math::fast, 2, 0});
  for (const SegmentPlan& segment : plan.segments)
    EXPECT_TRUE(segment.flop < 1e6 || segment.sharing != Sharing::single) << to_text(plan, graph);
}

/// What functions write is still in L1 when the next one reads it; rows of a whole L1 leave no room for that.
TEST(Plan, TakesStepsThatFitTheNearestCache) {
  const Topology topology = fixed_topology("zen4-2");
  for (const std::int64_t width : {192, 768, 4 * 8192}) {
    Network net("functions");
    ValueId x = net.input({1, 128, width});
    for (int i = 0; i < 8; ++i) x = net.node(Unary{i % 2 == 0 ? UnaryKind::neg : UnaryKind::abs}, {x});
    const Graph graph = net.finish(x);
    const Plan plan = make_plan(graph, topology, {Schedule::automatic, Math::fast, 1, 0});
    const std::int64_t step_bytes =
        2 * plan.segments.front().rows_per_step * width * static_cast<std::int64_t>(sizeof(float));
    if (plan.segments.front().nodes.size() < 2) continue;
    EXPECT_TRUE(step_bytes <= topology.cache_bytes(1) || width > 8192) << to_text(plan, graph);
    EXPECT_GT(2 * step_bytes, std::min<std::int64_t>(width * 8, topology.cache_bytes(1))) << to_text(plan, graph);
  }
}

/// Two operands and a result are one and a half times what a copy moves.
TEST(Plan, ChargesForAllThatTypedOperatorsMove) {
  const auto predicted = [](const Operator& op, std::size_t operands) {
    Network net("typed");
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < operands; ++i) inputs.push_back(net.input({512, 512}, DType::boolean));
    const Graph graph = net.finish(net.node(op, inputs));
    return make_plan(graph, fixed_topology("zen4-2"), {Schedule::layers, Math::fast, 1, 0})
        .segments.front()
        .predicted_us;
  };
  const double of_one = predicted(Unary{UnaryKind::logical_not}, 1);
  EXPECT_NEAR(predicted(Binary{BinaryKind::logical_xor}, 2) / of_one, 1.5, 0.05);
}

/// The product of two values is shared between threads as others are.
TEST(Plan, SharesProductsOfTwoValues) {
  Network net("product");
  const ValueId a = net.input({4, 256, 128}), b = net.input({4, 128, 256});
  const Graph graph = net.finish(net.node(MatMul{}, {a, b}));
  Topology topology = fixed_topology("zen4-2");
  topology.rates.team_us = 0;
  const Plan plan = make_plan(graph, topology, {Schedule::automatic, Math::fast, 2, 0});
  EXPECT_EQ(plan.threads, 2);
  EXPECT_GT(plan.segments.back().arithmetic_us, 1e6 * plan.flop / 2 / (1e9 * topology.rates.fma_gflops));
}

/// Seven rows halve worse than many channels, but then every pixel is read from the other thread, by both layers.
TEST(Plan, SharesChannelsWhereOtherCachesAreNear) {
  Network net("expand");
  const ValueId x = net.conv(net.input({1, 7, 7, 128}), 1024, {.kernel = 1});
  const Graph graph = net.finish(net.conv(x, 1024, {.kernel = 3, .groups = 1024}));
  Topology topology = fixed_topology("emerald-2");
  topology.rates.team_us = 0;
  const auto sharing = [&](double l3_gbs) {
    topology.rates.l3_gbs = l3_gbs;
    topology.rates.l3_total_gbs = 0;
    return make_plan(graph, topology, {Schedule::layers, Math::fast, 2, 0}).segments.front().sharing;
  };
  EXPECT_EQ(sharing(topology.rates.l2_gbs), Sharing::channels);
  EXPECT_EQ(sharing(5), Sharing::bands);
}

/// Few pixels leave Winograd few tiles for its many weights; large ones fill 4x4 tiles on vector units.
TEST(Plan, TakesTheTileThatIsSoonestBesideMatrixUnits) {
  const auto choice = [](std::int64_t side, std::int64_t channels) {
    Network net("one convolution");
    net.conv(net.input({1, side, side, channels}), channels, {});
    const Graph graph = net.finish();
    return choose_family(graph, graph.nodes.front(), Math::fast, kernels::Isa::amx, known_blocking());
  };
  for (const auto& [side, channels, tile] : {std::array<std::int64_t, 3>{28, 512, 4}, {14, 512, 2}, {14, 256, 2}}) {
    const Choice taken = choice(side, channels);
    EXPECT_EQ(taken.family, &families::winograd) << side << " x " << channels;
    EXPECT_EQ(taken.granularity, tile) << side << " x " << channels;
    EXPECT_EQ(taken.encoding, kernels::Encoding::f32) << side << " x " << channels;
  }
  EXPECT_EQ(choice(7, 512).family, &families::conv);
  EXPECT_EQ(choice(7, 512).encoding, kernels::Encoding::bf16x3);
}

/// The kernel of a convolution of a square image, on vector units.
Choice choice(std::int64_t side, std::int64_t in, std::int64_t out, ConvSpec spec) {
  Network net("one convolution");
  net.conv(net.input({1, side, side, in}), out, spec);
  const Graph graph = net.finish();
  return choose_family(graph, graph.nodes.front(), Math::fast, kernels::Isa::avx512, known_blocking());
}

/// 5x5 filters pass in tiles too, unless few channels make the transforms dearer than the products they save; few
/// outputs leave lanes idle that pixels fill.
TEST(Plan, TakesTilesOfFiveByFiveFiltersAndPlanesOfFewOutputs) {
  for (const std::int64_t channels : {12, 48, 128}) {
    const Choice taken = choice(28, channels, channels, {.kernel = 5});
    EXPECT_EQ(taken.family, &families::winograd) << channels;
    EXPECT_EQ(taken.granularity, 4) << channels;
  }
  EXPECT_EQ(choice(28, 3, 16, {.kernel = 5}).family, &families::conv);
  EXPECT_EQ(choice(28, 1, 8, {.kernel = 5}).family, &families::planes);
  EXPECT_EQ(choice(28, 3, 12, {.kernel = 5}).family, &families::planes);
  EXPECT_EQ(choice(28, 3, 3, {.kernel = 3}).family, &families::planes);
}

/// Larger filters and strides come down to tiles of fewer taps, where that takes fewer products.
TEST(Plan, TakesTilesOfFiltersThatAreLargeOrHaveAStride) {
  const auto tile = [](std::int64_t side, std::int64_t in, std::int64_t out, ConvSpec spec) {
    const Choice taken = choice(side, in, out, spec);
    return taken.family == &families::winograd ? taken.granularity : 0;
  };
  EXPECT_EQ(tile(224, 3, 64, {.kernel = 7, .stride = 2}), 5) << "a residual network's first layer";
  EXPECT_EQ(tile(224, 3, 96, {.kernel = 11, .stride = 4}), 4);
  EXPECT_EQ(tile(112, 16, 32, {.kernel = 5, .stride = 2}), 4);
  EXPECT_EQ(tile(720, 3, 32, {.kernel = 9}), 6);
  EXPECT_EQ(tile(56, 48, 48, {.kernel = 7}), 5);
  EXPECT_EQ(tile(56, 64, 128, {.kernel = 4, .stride = 2}), 5);
  EXPECT_EQ(tile(56, 64, 64, {.kernel = 3, .stride = 2}), 0) << "three taps of two phases are two and one";
  EXPECT_EQ(tile(224, 1, 16, {.kernel = 7, .stride = 2}), 0) << "few products, as many transforms";
  EXPECT_EQ(tile(56, 48, 48, {.kernel = 7, .dilation = 2}), 0);
  EXPECT_EQ(choice(112, 3, 8, {.kernel = 7}).family, &families::planes);
  EXPECT_EQ(tile(112, 16, 12, {.kernel = 9}), 4);
}

/// Pixels a dilation apart are an image of their own, with tiles in both directions, unless they are few.
TEST(Plan, TakesTilesOfDilatedSquares) {
  for (const std::int64_t dilation : {2, 4}) {
    const Choice taken = choice(28, 128, 128, {.dilation = dilation});
    EXPECT_EQ(taken.family, &families::winograd) << dilation;
    EXPECT_EQ(taken.granularity % dilation, 0) << dilation;
  }
  EXPECT_EQ(choice(48, 64, 64, {.kernel = 5, .dilation = 3}).family, &families::winograd);
  EXPECT_NE(choice(28, 128, 128, {.dilation = 18}).family, &families::winograd);
}

/// What is no square passes in tiles along rows, or down columns, and so does a dilated square of several parts: unless
/// it is short or moves by strides, or matrix units are there.
TEST(Plan, TakesTilesOfOneDirectionOfFiltersThatAreNoSquare) {
  const auto products = [](std::int64_t width, std::int64_t channels, ConvSpec spec,
                           kernels::Isa isa = kernels::Isa::avx512) {
    Network net("one convolution");
    net.conv(net.input({1, 17, width, channels}), channels, spec);
    const Graph graph = net.finish();
    const Node& node = graph.nodes.front();
    const Choice taken = choose_family(graph, node, Math::fast, isa, known_blocking());
    return taken.family == &families::row_winograd ? taken.family->tell({{graph, node}, taken}).products : 1;
  };
  EXPECT_EQ(products(1000, 64, {.kernel = 3, .height = 1}), 8.0 / 18);
  EXPECT_EQ(products(1000, 64, {.kernel = 5, .dilation = 2, .height = 1}), 8.0 / 20);
  EXPECT_EQ(products(17, 192, {.kernel = 7, .height = 1}), 2 * 8.0 / 35) << "two parts of four taps";
  EXPECT_EQ(products(8, 128, {.kernel = 3, .height = 1}), 6.0 / 12) << "two tiles of four outputs";
  EXPECT_EQ(products(72, 128, {.kernel = 3, .dilation = 2}), 1) << "tiles in both directions";
  EXPECT_EQ(products(64, 64, {.kernel = 3}), 1) << "tiles in both directions";
  EXPECT_EQ(products(64, 64, {.kernel = 1, .height = 7}), 2 * 8.0 / 35);
  EXPECT_EQ(products(64, 128, {.kernel = 1, .height = 3}), 8.0 / 18) << "17 rows are three times six, and one more";
  EXPECT_EQ(products(64, 64, {.kernel = 7, .stride = 2, .height = 1}), 1);
  EXPECT_EQ(products(64, 4, {.kernel = 3, .height = 1}), 1) << "more transforms than products";
  EXPECT_EQ(products(64, 64, {.kernel = 7, .height = 1}, kernels::Isa::amx), 1);
}

/// Counted one by one; windows that lie beside the image read none of it.
TEST(Plan, KnowsTheShareOfTapsInsideTheImage) {
  Conv conv;
  const Shape in{1, 4, 5, 1};
  std::uint32_t seed = 1;
  const auto next = [&](std::uint32_t most) {
    return static_cast<std::int64_t>((seed = seed * 69069 + 1) >> 16) % most;
  };
  for (int round = 0; round < 2000; ++round) {
    Shape out{1, 1 + next(9), 1 + next(9), 1};
    conv.kernel = {1 + next(5), 1 + next(5)}, conv.strides = {1 + next(3), 1 + next(3)};
    conv.dilations = {1 + next(7), 1 + next(7)}, conv.pads = {next(9), next(9), 1, 1};
    double inside = 1;
    for (std::size_t axis = 0; axis < 2; ++axis) {
      double count = 0;
      for (std::int64_t x = 0; x < out[1 + axis]; ++x)
        for (std::int64_t tap = 0; tap < conv.kernel[axis]; ++tap) {
          const std::int64_t at = x * conv.strides[axis] + tap * conv.dilations[axis] - conv.pads[axis];
          count += at >= 0 && at < in[1 + axis] ? 1 : 0;
        }
      inside *= count / static_cast<double>(out[1 + axis] * conv.kernel[axis]);
    }
    ASSERT_DOUBLE_EQ(taps_inside(conv, in, out), inside) << "round " << round;
  }
}

/// Where weights from beyond the second-level cache cost little, larger tiles pay for more channels, and tiles of
/// strides at all.
TEST(Plan, WeighsTilesByTheClassOfMachine) {
  const auto tile = [](const char* machine, std::int64_t side, std::int64_t in, std::int64_t out, ConvSpec spec,
                       kernels::Isa isa = kernels::Isa::avx512) {
    Network net("one convolution");
    net.conv(net.input({1, side, side, in}), out, spec);
    const Graph graph = net.finish();
    const Choice taken =
        choose_family(graph, graph.nodes.front(), Math::fast, isa, blocking_of(fixed_topology(machine)));
    return taken.family == &families::winograd ? taken.granularity : 0;
  };
  EXPECT_EQ(tile("emerald-2", 14, 256, 256, {}), 2);
  EXPECT_EQ(tile("zen4-2", 14, 256, 256, {}), 4);
  EXPECT_EQ(tile("emerald-2", 56, 128, 128, {}), 4);
  EXPECT_EQ(tile("zen4-2", 56, 128, 128, {}), 6);
  EXPECT_EQ(tile("zen4-2", 256, 64, 64, {}), 4) << "the tiles would leave the cache";
  EXPECT_EQ(tile("zen4-2", 256, 64, 64, {}, kernels::Isa::avx2), 6) << "products take longer beside them";
  EXPECT_EQ(tile("emerald-2", 256, 64, 64, {}, kernels::Isa::avx2), 4);
  EXPECT_EQ(tile("zen4-2", 64, 256, 128, {}), 6) << "8 MiB of weights";
  EXPECT_EQ(tile("zen4-2", 33, 320, 256, {.dilation = 6}), 36) << "21 MB";
  EXPECT_NE(tile("zen4-2", 40, 512, 512, {}), 6) << "67 MB";
  EXPECT_EQ(tile("emerald-2", 80, 64, 128, {.kernel = 3, .stride = 2}), 0);
  EXPECT_EQ(tile("zen4-2", 80, 64, 128, {.kernel = 3, .stride = 2}), 5);
}

/// A layer reads the weights of all its groups, so many of them leave the cache as one large one does.
TEST(Plan, CountsTheTransformedWeightsOfAllGroups) {
  const auto tile = [](std::int64_t channels) {
    const Choice taken = choice(6, channels, channels, {.groups = channels / 8});
    return taken.family == &families::winograd ? taken.granularity : 0;
  };
  EXPECT_EQ(tile(128), 6) << "512 KiB";
  EXPECT_NE(tile(736), 6) << "2.9 MiB";
}

/// All that families offer is there, and the least of it is taken.
TEST(Plan, TakesTheLeastOfAllOffers) {
  Network net("one convolution");
  net.conv(net.input({1, 28, 28, 64}), 64, {});
  const Graph graph = net.finish();
  const auto offers = [&](kernels::Isa isa) {
    return alternatives(graph, graph.nodes.front(), Math::fast, isa, known_blocking());
  };
  EXPECT_EQ(offers(kernels::Isa::avx512).size(), 4u) << "three tiles and the direct sum";
  EXPECT_EQ(offers(kernels::Isa::amx).size(), 8u) << "and all of them in pieces";
  const std::vector<Choice> all = offers(kernels::Isa::avx512);
  const Choice taken = choose_family(graph, graph.nodes.front(), Math::fast, kernels::Isa::avx512, known_blocking());
  for (const Choice& choice : all) EXPECT_LE(taken.flop, choice.flop);
  EXPECT_EQ(taken.family, &families::winograd);
  PlanOptions options;
  for (const Choice& choice : all) {
    const Plan plan = make_plan(graph, fixed_topology("zen4-2"), options, {{choice}});
    EXPECT_EQ(plan.choices.front().family, choice.family);
    EXPECT_EQ(plan.choices.front().granularity, choice.granularity);
  }
}

/// Sums of many products for many outputs go to matrix units, where there are any and nobody asked for exact ones.
TEST(Plan, TakesMatrixUnitsForLongSums) {
  const auto pieces = [](std::int64_t in, std::int64_t out, ConvSpec spec, kernels::Isa isa, Math math, bool exact) {
    Network net("one convolution");
    net.conv(net.input({1, 28, 28, in}), out, spec);
    Graph graph = net.finish();
    std::get<Conv>(graph.nodes.front().op).exact = exact;
    return choose_family(graph, graph.nodes.front(), math, isa, known_blocking()).encoding == kernels::Encoding::bf16x3;
  };
  const ConvSpec pointwise{.kernel = 1};
  EXPECT_TRUE(pieces(256, 256, pointwise, kernels::Isa::amx, Math::fast, false));
  EXPECT_TRUE(pieces(128, 128, {.stride = 2}, kernels::Isa::amx, Math::fast, false));
  EXPECT_TRUE(pieces(64, 64, {}, kernels::Isa::amx, Math::fast, false)) << "Winograd";
  EXPECT_FALSE(pieces(256, 256, pointwise, kernels::Isa::avx512, Math::fast, false));
  EXPECT_FALSE(pieces(256, 256, pointwise, kernels::Isa::amx, Math::exact, false));
  EXPECT_FALSE(pieces(256, 256, pointwise, kernels::Isa::amx, Math::fast, true));
  EXPECT_FALSE(pieces(256, 16, pointwise, kernels::Isa::amx, Math::fast, false));
  EXPECT_FALSE(pieces(16, 256, pointwise, kernels::Isa::amx, Math::fast, false));
  EXPECT_FALSE(pieces(3, 64, {.kernel = 7, .stride = 2}, kernels::Isa::amx, Math::fast, false));
}

/// Pairs of bf16 where they were asked for and are sooner; Winograd's floats may still be.
TEST(Plan, TakesPairsOfBf16WhereTheyAreSooner) {
  const auto taken = [](std::int64_t in, std::int64_t out, ConvSpec spec, kernels::Isa isa, Math math, bool exact) {
    Network net("one convolution");
    net.conv(net.input({1, 28, 28, in}), out, spec);
    Graph graph = net.finish();
    std::get<Conv>(graph.nodes.front().op).exact = exact;
    return choose_family(graph, graph.nodes.front(), math, isa, blocking_of(fixed_topology("zen4-2")));
  };
  const auto pairs = [](const Choice& choice) { return choice.encoding == kernels::Encoding::bf16; };
  const ConvSpec pointwise{.kernel = 1};
  EXPECT_TRUE(pairs(taken(256, 256, pointwise, kernels::Isa::bf16, Math::bf16, false)));
  EXPECT_TRUE(pairs(taken(128, 128, {.kernel = 1, .stride = 2}, kernels::Isa::bf16, Math::bf16, false)));
  EXPECT_FALSE(pairs(taken(256, 256, pointwise, kernels::Isa::bf16, Math::fast, false)));
  EXPECT_FALSE(pairs(taken(256, 256, pointwise, kernels::Isa::bf16, Math::exact, false)));
  EXPECT_FALSE(pairs(taken(256, 256, pointwise, kernels::Isa::bf16, Math::bf16, true)));
  EXPECT_FALSE(pairs(taken(256, 256, pointwise, kernels::Isa::vnni, Math::bf16, false)));
}

Choice choice_of(Operator op, DType type, const std::vector<DType>& more = {}) {
  Network net("types");
  std::vector<ValueId> inputs{net.input({1, 8, 8, 4}, type)};
  for (const DType other : more) inputs.push_back(net.input({1, 8, 8, 4}, other));
  const Graph graph = net.finish(net.node(std::move(op), std::move(inputs)));
  return choose_family(graph, graph.nodes.front(), Math::fast, kernels::Isa::baseline, known_blocking());
}

/// A family runs the types that its row claims; others are looked for further down the table.
TEST(Choice, TypesAreClaimedByFamilies) {
  for (const DType type : {DType::f32, DType::bf16, DType::f16, DType::u8, DType::i8}) {
    EXPECT_EQ(choice_of(Concat{3}, type, {type}).family, &families::concat) << name_of(type);
    EXPECT_EQ(choice_of(SpaceToDepth{2, 3}, type).family, &families::space_to_depth) << name_of(type);
    EXPECT_EQ(choice_of(Cast{DType::bf16}, type).family, &families::convert) << name_of(type);
    EXPECT_EQ(choice_of(Cast{type}, DType::f32).family, &families::convert) << name_of(type);
  }
  EXPECT_EQ(choice_of(Concat{3}, DType::i64, {DType::i64}).family, &families::typed);
  EXPECT_EQ(choice_of(Cast{DType::f32}, DType::i64).family, &families::typed);
  EXPECT_EQ(choice_of(Cast{DType::i64}, DType::f32).family, &families::typed);
  for (const DType type : {DType::f32, DType::bf16, DType::f16})
    EXPECT_EQ(choice_of(Unary{UnaryKind::relu}, type).family, &families::unary) << name_of(type);
  const Choice island = choice_of(Pool{PoolKind::max, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}}, DType::bf16);
  EXPECT_EQ(island.family, &families::island);
  EXPECT_EQ(island.reason, "type has no kernel");
}

TEST(Choice, OperandsOfTwoTypesAreNotFloats) {
  const Choice choice = choice_of(Binary{BinaryKind::pow}, DType::f32, {DType::i32});
  EXPECT_EQ(choice.family, &families::island);
  EXPECT_EQ(choice.reason, "operands of two types");
}

}  // namespace
}  // namespace colonnade::test
