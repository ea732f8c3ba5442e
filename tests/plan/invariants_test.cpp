// SPDX-License-Identifier: Apache-2.0
// What must hold of plans however the cost model is tuned.
#include <gtest/gtest.h>

#include <algorithm>

#include "families/table.hpp"
#include "plan/cost.hpp"
#include "plan/plan.hpp"
#include "support/known_blocking.hpp"
#include "support/known_networks.hpp"

namespace colonnade::test {
namespace {

Plan plan_of(const Graph& graph, Schedule schedule, int threads, const char* topology = "zen4-2") {
  const Plan plan = make_plan(graph, fixed_topology(topology), {schedule, Math::fast, threads, 0});
  verify(plan, graph);
  return plan;
}

TEST(Rates, TotalsOfFewerThreadsAreNotSharedByMore) {
  Topology topology = fixed_topology("server-16");
  constexpr std::int64_t kBeyondL3 = std::int64_t{1} << 30;
  const auto seconds = [&](int threads) { return CacheReach(topology, threads).seconds_beyond_l2(kBeyondL3); };
  topology.rates.dram_total_gbs = 2 * topology.rates.dram_gbs;
  EXPECT_GT(seconds(8), 1.5 * seconds(2)) << "16 threads reached twice a thread's rate";
  topology.rates.total_threads = 2;  // measured where only two could run
  EXPECT_NEAR(seconds(8), seconds(2), 0.05 * seconds(2));
  topology.rates.dram_total_gbs = topology.rates.dram_gbs;
  topology.rates.total_threads = 1;
  EXPECT_NEAR(seconds(8), seconds(1), 0.05 * seconds(1));
}

TEST(Columns, SixLayersTakeATenthOfTheMemory) {
  const Graph graph = six_layers(1080, 1920, 16);
  for (const char* topology : {"zen4-2", "emerald-2"}) {
    const Plan columns = plan_of(graph, Schedule::columns, 2, topology);
    const Plan layers = plan_of(graph, Schedule::layers, 2, topology);
    EXPECT_EQ(layers.segments.size(), 6u) << topology;
    EXPECT_LE(columns.arena_bytes, layers.arena_bytes / 10) << topology << "\n" << to_text(columns, graph);
  }
}

TEST(Columns, HeadsAreTheWindowsOverlapAtEachBoundary) {
  Network net("exact windows");
  ValueId x = net.input({1, 200, 64, 13});
  for (int i = 0; i < 4; ++i)  // over 7 or 9 rows
    x = net.conv(x, 13, i % 2 == 0 ? ConvSpec{.kernel = 3, .dilation = 3} : ConvSpec{.kernel = 5, .dilation = 2});
  const Graph graph = net.finish(x);
  const Plan plan = make_plan(graph, fixed_topology("zen4-2"), {Schedule::columns, Math::exact, 2, 0});  // no tiles
  ASSERT_EQ(plan.segments.size(), 1u);
  const SegmentPlan& segment = plan.segments.front();
  ASSERT_EQ(segment.sharing, Sharing::bands) << to_text(plan, graph);
  EXPECT_EQ(segment.halo_rows, 8 + 6 + 8) << to_text(plan, graph);  // of the three layers that read a ring
  for (const Ring& ring : segment.rings) EXPECT_GT(ring.head_rows, 0);
}

TEST(Columns, FirstBandKeepsNoHead) {
  const Graph graph = six_layers(270, 480, 16);
  const Plan plan = plan_of(graph, Schedule::columns, 2);
  ASSERT_EQ(plan.segments.size(), 1u);
  const SegmentPlan& segment = plan.segments.front();
  ASSERT_EQ(segment.sharing, Sharing::bands) << to_text(plan, graph);
  std::int64_t bytes = 2 * segment.scratch_bytes;
  for (const Ring& ring : segment.rings) {
    ASSERT_GT(ring.head_rows, 0);
    ASSERT_EQ(ring.row_bytes % 64, 0);
    EXPECT_GE(ring.offset, 0);
    EXPECT_LE(ring.offset + 2 * ring.thread_stride - ring.head_bytes(), plan.arena_bytes);
    bytes += (2 * ring.rows + ring.head_rows) * ring.row_bytes;
  }
  EXPECT_EQ(plan.arena_bytes, bytes) << to_text(plan, graph);
}

/// An encoder and a decoder of four levels whose skips, kept whole, add up.
Graph deep_encoder_decoder(std::int64_t height, std::int64_t width) {
  Network net("deep encoder-decoder");
  const auto twice = [&](ValueId x, std::int64_t channels) {
    return net.conv(net.conv(x, channels, {.activation = UnaryKind::relu}), channels, {.activation = UnaryKind::relu});
  };
  std::vector<ValueId> skips;
  ValueId x = twice(net.input({1, height, width, 3}), 16);
  for (const std::int64_t channels : {32, 64, 128}) {
    skips.push_back(x);
    x = twice(net.pool(x, PoolKind::max, 2, 2), channels);
  }
  for (const std::int64_t channels : {64, 32, 16}) {
    x = twice(net.concat(net.resize2(x, ResizeMode::nearest), skips.back()), channels);
    skips.pop_back();
  }
  return net.finish(x);
}

TEST(Automatic, LongColumnsWhereWholeTensorsAreMoreThanCachesHold) {
  const Graph graph = deep_encoder_decoder(720, 1280);
  for (const char* topology : {"zen4-2", "emerald-2"}) {
    const Plan chosen = plan_of(graph, Schedule::automatic, 2, topology);
    const std::int64_t layers = plan_of(graph, Schedule::layers, 2, topology).arena_bytes;
    EXPECT_LT(2 * chosen.arena_bytes, layers) << topology << "\n" << to_text(chosen, graph);
  }
}

/// As deep_encoder_decoder, with transposed convolutions upwards.
Graph unet(std::int64_t height, std::int64_t width) {
  Network net("unet");
  const auto twice = [&](ValueId x, std::int64_t channels) {
    return net.conv(net.conv(x, channels, {.activation = UnaryKind::relu}), channels, {.activation = UnaryKind::relu});
  };
  std::vector<ValueId> skips;
  ValueId x = net.input({1, height, width, 3});
  for (const std::int64_t channels : {16, 32, 64}) {
    skips.push_back(twice(x, channels));
    x = net.pool(skips.back(), PoolKind::max, 2, 2);
  }
  x = twice(x, 128);
  for (const std::int64_t channels : {64, 32, 16}) {
    ConvTranspose up;
    up.kernel = up.strides = {2, 2};
    up.dilations = {1, 1};
    up.pads = {0, 0, 0, 0};
    up.output_padding = {0, 0};
    x = net.node(up, {x, net.weights({2 * channels, channels, 2, 2})});
    x = twice(net.concat(skips.back(), x), channels);
    skips.pop_back();
  }
  return net.finish(net.conv(x, 1, {.kernel = 1}));
}

TEST(Automatic, SkipsOfLargePicturesLieInRings) {
  Topology topology = fixed_topology("zen4-2");
  topology.rates.dram_gbs = topology.rates.dram_total_gbs = 16;
  const Graph graph = unet(720, 1280);
  const Plan chosen = make_plan(graph, topology, {Schedule::automatic, Math::fast, 1, 0});
  EXPECT_EQ(chosen.segments.size(), 1u) << to_text(chosen, graph);
  EXPECT_LT(chosen.arena_bytes, 45e6);
}

/// Under a limit, bands compute rows twice before a thread is given up.
TEST(MemoryLimit, ManyRowsAreComputedTwiceRatherThanKept) {
  const Graph graph = unet(720, 1280);
  const Topology topology = fixed_topology("zen4-2");
  const std::int64_t shared = plan_of(graph, Schedule::columns, 2).arena_bytes;
  const Plan plan = make_plan(graph, topology, {Schedule::automatic, Math::fast, 2, shared * 9 / 10});
  verify(plan, graph);
  EXPECT_EQ(plan.threads, 2) << to_text(plan, graph);
  EXPECT_LE(plan.arena_bytes, shared * 9 / 10);
  const SegmentPlan& segment = plan.segments.front();
  ASSERT_EQ(segment.steps.size(), 2u);
  ASSERT_TRUE(segment.strips.empty());
  const auto rows_of_first = [&](std::size_t band) {
    Interval rows{};
    for (const Step& step : segment.steps[band])
      if (step.kind == Step::Kind::run && step.node == segment.nodes.front())
        rows = hull(rows, {step.row_begin, step.row_end});
    return rows;
  };
  EXPECT_GT(rows_of_first(0).end, rows_of_first(1).begin + 50) << "of 720 rows";
}

TEST(Columns, RowByRowWindowsKeepTheirHeight) {
  Network net("row by row");
  ValueId x = net.input({1, 64, 8, 4});
  for (int i = 0; i < 3; ++i) x = net.conv(x, 4, {.kernel = 3});
  const Graph graph = net.finish(x);
  const Plan plan = plan_of(graph, Schedule::columns, 1);
  ASSERT_EQ(plan.segments.size(), 1u);
  for (const Ring& ring : plan.segments.front().rings) {
    EXPECT_GE(ring.rows, 3);
    EXPECT_LE(ring.rows, plan.segments.front().rows_per_step + 2 + 2) << to_text(plan, graph);
    EXPECT_EQ(ring.head_rows, 0);
  }
}

TEST(Columns, InvertedResidualRunsInChunks) {
  for (const Graph& graph : {inverted_residual(56, 56), inverted_residual(180, 320)}) {
    const Plan plan = plan_of(graph, Schedule::columns, 1);
    ASSERT_EQ(plan.segments.size(), 1u) << to_text(plan, graph);
    ASSERT_EQ(plan.segments.front().chunk_groups.size(), 1u);
    EXPECT_EQ(plan.segments.front().chunk_groups.front().channels, 192);
    EXPECT_EQ(plan.segments.front().chunk_groups.front().nodes.size(), 3u);
  }
}

TEST(Columns, BatchIsSharedByImages) {
  const Graph graph = residual_stage(4);
  const Plan plan = plan_of(graph, Schedule::columns, 2);
  for (const SegmentPlan& segment : plan.segments) {
    EXPECT_EQ(segment.sharing, Sharing::rounds);
    EXPECT_EQ(segment.images, 4);
    EXPECT_EQ(segment.halo_rows, 0);
  }
}

TEST(Columns, ABatchThatThreadsDoNotDivideIsSharedByBands) {
  const Graph graph = residual_stage(3);
  for (const SegmentPlan& segment : plan_of(graph, Schedule::columns, 2).segments)
    EXPECT_EQ(segment.sharing, Sharing::bands);
}

/// An image of one row has no bands: its threads take columns, and none writes another's.
TEST(Columns, OneRowIsSharedByStrips) {
  Network net("one row");
  ValueId x = net.input({1, 1, 1024, 32});
  for (int i = 0; i < 3; ++i) x = net.conv(x, 32, {.kernel = 5, .groups = i == 1 ? 32 : 1});
  const Graph graph = net.finish(x);
  for (const Schedule schedule : {Schedule::columns, Schedule::layers})
    for (const int threads : {2, 4})
      for (const SegmentPlan& segment : plan_of(graph, schedule, threads, "server-16").segments) {
        ASSERT_EQ(segment.sharing, Sharing::rounds) << threads;
        EXPECT_GE(std::ssize(segment.strips), threads);
        for (std::size_t strip = 1; strip < segment.strips.size(); ++strip)
          EXPECT_EQ(segment.strips[strip].items.back().begin, segment.strips[strip - 1].items.back().end);
      }
}

TEST(Layers, EveryOperatorIsItsOwnSegment) {
  const Graph graph = encoder_decoder();
  const Plan plan = plan_of(graph, Schedule::layers, 2);
  EXPECT_EQ(plan.segments.size(), graph.nodes.size());
  for (const SegmentPlan& segment : plan.segments) {
    EXPECT_EQ(segment.kind, SegmentPlan::Kind::layer);
    EXPECT_TRUE(segment.rings.empty());
  }
}

TEST(Columns, TakeLessMemoryThanLayersOnEveryDeepNetwork) {
  for (const Graph& graph : {six_layers(270, 480, 16), encoder_decoder(), inverted_residual(180, 320)}) {
    const std::int64_t columns = plan_of(graph, Schedule::columns, 2).arena_bytes;
    EXPECT_LT(columns, plan_of(graph, Schedule::layers, 2).arena_bytes) << graph.name;
  }
}

TEST(Segments, GlobalPoolingEndsOne) {
  const Graph graph = pooling_net();
  const Plan plan = plan_of(graph, Schedule::columns, 2);
  ASSERT_GE(plan.segments.size(), 3u) << to_text(plan, graph);
  const auto ends = [](const SegmentPlan& segment) {
    return segment.ends_because == "the next operator needs all rows";
  };
  EXPECT_TRUE(std::any_of(plan.segments.begin(), plan.segments.end(), ends)) << to_text(plan, graph);
}

TEST(Plan, ComputesRowsOfAnOutputThatNoOtherOperatorReads) {
  Network net("unread rows");
  const ValueId x = net.conv(net.input({1, 8, 40, 4}), 4, {.kernel = 3});
  net.output(x);
  const Graph graph = net.finish(net.conv(x, 4, {.kernel = 1, .stride = 2}));
  for (const int threads : {1, 2, 3}) {
    const Plan plan = plan_of(graph, Schedule::columns, threads);
    ASSERT_EQ(plan.segments.size(), 1u);
    std::int64_t rows = 0;
    for (const auto& steps : plan.segments.front().steps)
      for (const Step& step : steps)
        if (step.kind == Step::Kind::run && step.node == NodeIndex{0}) rows += step.row_end - step.row_begin;
    EXPECT_EQ(rows, 8) << "threads " << threads;
  }
}

TEST(Hosts, PartsOfAConcatLieInIt) {
  const Graph graph = dense_block();
  for (const Schedule schedule : {Schedule::columns, Schedule::layers})
    for (const int threads : {1, 2}) {
      const Plan plan = plan_of(graph, schedule, threads);
      int copied = 0;
      for (const Node& node : graph.nodes) {
        if (!std::holds_alternative<Concat>(node.op)) continue;
        for (const ValueId id : node.inputs) {
          const Storage& storage = plan.storage[id];
          bool placed = storage.host != kAbsent;
          for (const SegmentPlan& segment : plan.segments)
            for (const Ring& ring : segment.rings) placed |= ring.value == id && ring.host != kAbsent;
          copied += placed || std::count(graph.inputs.begin(), graph.inputs.end(), id) > 0 ? 0 : 1;
        }
      }
      EXPECT_EQ(copied, 0) << to_text(plan, graph);
    }
}

TEST(Hosts, SkipConnectionsAreCopied) {
  const Graph graph = encoder_decoder();
  const Plan plan = plan_of(graph, Schedule::layers, 1);
  for (const Node& node : graph.nodes) {
    if (!std::holds_alternative<Concat>(node.op)) continue;
    EXPECT_EQ(plan.storage[node.inputs[0]].host, node.outputs[0]) << to_text(plan, graph);
    EXPECT_EQ(plan.storage[node.inputs[1]].host, kAbsent) << to_text(plan, graph);
  }
}

/// Steps count rows one by one, kernels columns: what has more of them is an island.
TEST(Plan, CountsNeitherRowsNorColumnsBeyondALimit) {
  constexpr std::int64_t kMostRows = std::int64_t{1} << 22, kMostColumns = std::int64_t{1} << 26;
  const auto family_of = [](const Shape& shape) {
    Graph graph;
    const ValueId x = graph.add_value("x", {DType::f32, shape}), y = graph.add_value("y");
    graph.inputs = {x}, graph.outputs = {y};
    graph.nodes.push_back({Unary{UnaryKind::relu, 0, 0}, {x}, {y}, "relu", "Relu"});
    infer_types(graph);
    return choose_family(graph, graph.nodes.front(), Math::fast, kernels::Isa::avx512, known_blocking()).family;
  };
  EXPECT_EQ(family_of({1, kMostRows, 2, 1}), &families::unary);
  EXPECT_EQ(family_of({1, kMostRows + 1, 2, 1}), &families::island);
  EXPECT_EQ(family_of({1, 2, kMostColumns, 1}), &families::unary);
  EXPECT_EQ(family_of({1, 2, kMostColumns + 1, 1}), &families::island);
}

TEST(Plan, IsAPureFunction) {
  const Graph graph = encoder_decoder();
  const Plan once = plan_of(graph, Schedule::automatic, 2), again = plan_of(graph, Schedule::automatic, 2);
  EXPECT_EQ(to_text(once, graph), to_text(again, graph));
}

}  // namespace
}  // namespace colonnade::test
