// SPDX-License-Identifier: Apache-2.0
// Convolutions and matrix products of bytes by their families: the bits of the reference under every tier, schedule,
// number of threads and cut into strips.
#include <gtest/gtest.h>

#include "families/table.hpp"
#include "graph/byte_weights.hpp"
#include "reference/reference.hpp"
#include "support/execute.hpp"
#include "support/network.hpp"

namespace colonnade::test::byte_contraction {
namespace {

class ByteNetwork : public Network {
 public:
  using Network::Network;

  template <class T>
  ValueId integers(Shape shape, int low, int high) {
    constexpr DType kType = sizeof(T) == 4        ? DType::i32
                            : sizeof(T) == 2      ? DType::i16
                            : std::is_signed_v<T> ? DType::i8
                                                  : DType::u8;
    Tensor tensor(kType, std::move(shape));
    std::uniform_int_distribution<int> element(low, high);
    auto* to = static_cast<T*>(tensor.data());
    for (std::int64_t i = 0; i < tensor.size(); ++i) to[i] = static_cast<T>(element(random()));
    return graph().add_constant("b", std::move(tensor));
  }
  /// x, weight, zero point, offset, factor, shift and, every other time, slope of so many outputs with sums of `terms`
  /// products.
  std::vector<ValueId> operands(ValueId x, ValueId weight, std::int64_t outputs, std::int64_t terms, DType to) {
    std::vector<ValueId> inputs{x, weight, integers<std::uint8_t>({1}, 0, 255),
                                integers<std::int32_t>({outputs}, -3000, 3000)};
    if (to == DType::i32) return inputs;
    std::vector<float> factor(static_cast<std::size_t>(outputs));
    std::uniform_real_distribution<float> element(0.005f, 0.02f);
    for (float& value : factor) value = element(random()) / std::sqrt(static_cast<float>(terms));
    inputs.push_back(floats(factor));
    inputs.push_back(weights({outputs}, 20));
    if (++made_ % 2 == 0) inputs.push_back(weights({outputs}, 1));
    return inputs;
  }
  /// Weights of signed bytes, or of bytes less a zero point that each output has for itself, which lie along `axis`.
  ValueId byte_weights(Shape shape, std::size_t axis) {
    if (is_narrow) return integers<std::int8_t>(std::move(shape), -64, 64);
    if (!is_wide) return integers<std::int8_t>(std::move(shape), -128, 127);
    Tensor bytes(DType::u8, shape);
    for (std::uint8_t& x : bytes.values<std::uint8_t>()) x = static_cast<std::uint8_t>(random()());
    std::vector<std::int64_t> zeros(static_cast<std::size_t>(shape[axis]));
    for (std::int64_t& zero : zeros) zero = static_cast<std::int64_t>(random()() % 256);
    return graph().add_constant("b", centred_weights(bytes, zeros, axis, ByteWidth::two).value());
  }
  ValueId byte_conv(ValueId x, std::int64_t outputs, ConvSpec spec = {},
                    Rescale out = {.zero = 100, .low = -100, .high = 155}) {
    const std::int64_t inputs = shape(x).back() / spec.groups, pad = spec.kernel / 2 * spec.dilation;
    Conv window;
    window.kernel = {spec.kernel, spec.kernel};
    window.strides = {spec.stride, spec.stride};
    window.dilations = {spec.dilation, spec.dilation};
    window.pads = {pad, pad, pad, pad};
    window.groups = spec.groups;
    const ValueId weight = byte_weights({outputs, inputs, spec.kernel, spec.kernel}, 0);
    return node(ByteConv{window, out}, operands(x, weight, outputs, inputs * spec.kernel * spec.kernel, out.to));
  }
  ValueId byte_matmul(ValueId x, std::int64_t outputs, Rescale out) {
    const std::int64_t terms = shape(x).back();
    const ValueId weight = byte_weights({terms, outputs}, 1);
    return node(ByteMatMul{out}, operands(x, weight, outputs, terms, out.to));
  }

  bool is_wide = false, is_narrow = false;

 private:
  int made_ = 0;
};

std::vector<Tensor> byte_inputs(const Graph& graph) {
  std::vector<Tensor> inputs = random_inputs(graph, 5);
  std::mt19937 random(9);
  for (Tensor& input : inputs)
    if (input.dtype() == DType::u8)
      for (std::uint8_t& x : input.values<std::uint8_t>()) x = static_cast<std::uint8_t>(random());
  return inputs;
}

void check(const Graph& graph, const Family& family) {
  const std::vector<Tensor> inputs = byte_inputs(graph);
  const std::vector<Tensor> expected = reference::evaluate(graph, views_of(inputs));
  for (const Choice& choice : choose_families(graph, Math::fast, kernels::Isa::avx2, known_blocking()))
    EXPECT_EQ(choice.family->name, family.name);
  for (const kernels::Isa isa : host_isas())
    for (const Schedule schedule : {Schedule::columns, Schedule::layers, Schedule::automatic})
      for (const int threads : {1, 2, 3, 8}) {
        const PlanOptions options{schedule, Math::fast, threads, 0};
        Executor executor(program_of(graph, options, isa));
        EXPECT_TRUE(same_bits(run(executor, inputs), expected))
            << graph.name << " " << kernels::name_of(isa) << ", schedule " << static_cast<int>(schedule) << ", "
            << threads << " threads\n"
            << to_text(make_plan(graph, topology_of(isa), options), graph);
      }
}

TEST(ByteContraction, OfConvolutions) {
  ByteNetwork net("convolutions");
  ValueId x = net.input({2, 29, 31, 3}, DType::u8);
  x = net.byte_conv(x, 24, {.kernel = 3, .stride = 2});
  x = net.byte_conv(x, 64, {.kernel = 1});
  x = net.byte_conv(x, 33, {.kernel = 5}, {.zero = 0, .low = 0, .high = 255});
  x = net.byte_conv(x, 40, {.kernel = 1}, {.zero = 3, .low = 0, .high = 6});
  x = net.byte_conv(x, 16, {.kernel = 3, .dilation = 2});
  check(net.finish(net.byte_conv(x, 20, {.kernel = 1}, {.to = DType::f32})), families::byte_conv);
}

/// Groups of few channels share panels of outputs, as many as divide their number.
TEST(ByteContraction, OfGroups) {
  ByteNetwork net("groups");
  ValueId x = net.input({1, 17, 19, 48}, DType::u8);
  x = net.byte_conv(x, 48, {.kernel = 3, .groups = 12});
  x = net.byte_conv(x, 36, {.kernel = 3, .stride = 2, .groups = 6});
  x = net.byte_conv(x, 36, {.kernel = 1, .groups = 9});
  check(net.finish(net.byte_conv(x, 80, {.kernel = 3, .groups = 2}, {.to = DType::i32})), families::byte_conv);
}

/// Weights of seven bits, which kernels without instructions for bytes multiply two by two: the same bits.
TEST(ByteContraction, OfNarrowWeights) {
  ByteNetwork net("narrow weights");
  net.is_narrow = true;
  ValueId x = net.input({2, 29, 31, 3}, DType::u8);
  x = net.byte_conv(x, 40, {.kernel = 3, .stride = 2});
  x = net.byte_conv(x, 64, {.kernel = 1});
  x = net.byte_conv(x, 36, {.kernel = 3, .dilation = 2, .groups = 2}, {.zero = 0, .low = 0, .high = 255});
  const Graph graph = net.finish(net.byte_conv(x, 33, {.kernel = 5}, {.to = DType::i32}));
  check(graph, families::byte_conv);
#if defined(__x86_64__)
  if (!kernels::host_features().contains(kernels::Isa::avx2)) GTEST_SKIP() << "no AVX2";
  const auto program = program_of(graph, {Schedule::layers, Math::fast, 1, 0}, kernels::Isa::avx2);
  for (const auto& op : program->ops) {
    if (op == nullptr) continue;
    EXPECT_TRUE(op->kernel().starts_with("byte_product_split_")) << op->kernel();
  }
#endif
}

/// What weights are more than signed bytes is added for sums over rows of taps, of groups, in padding.
TEST(ByteContraction, OfWideWeights) {
  ByteNetwork net("wide weights");
  net.is_wide = true;
  ValueId x = net.input({2, 19, 23, 5}, DType::u8);
  x = net.byte_conv(x, 24, {.kernel = 3, .stride = 2});
  x = net.byte_conv(x, 48, {.kernel = 1});
  x = net.byte_conv(x, 36, {.kernel = 3, .groups = 6}, {.zero = 0, .low = 0, .high = 255});
  x = net.byte_conv(x, 33, {.kernel = 5, .dilation = 2});
  check(net.finish(net.byte_conv(x, 20, {.kernel = 2}, {.to = DType::i32})), families::byte_conv);
}

TEST(ByteContraction, OfWideMatrices) {
  ByteNetwork net("wide matrices");
  net.is_wide = true;
  ValueId x = net.input({2, 37, 99}, DType::u8);
  x = net.byte_matmul(x, 65, {.zero = 128, .low = -128, .high = 127});
  x = net.byte_matmul(x, 600, {.zero = 7, .low = -7, .high = 248});
  check(net.finish(net.byte_matmul(x, 48, {.to = DType::f32})), families::byte_matmul);
}

/// All weights at one end of what bytes less a zero point are.
TEST(ByteContraction, OfTheWidestWeights) {
  for (const int end : {-255, 255}) {
    ByteNetwork net("widest weights");
    const ValueId x = net.input({1, 21, 64}, DType::u8), zero = net.integers<std::uint8_t>({1}, 255, 255);
    const ValueId weight = net.integers<std::int16_t>({64, 17}, end, end);
    check(net.finish(net.node(ByteMatMul{{.to = DType::i32}}, {x, weight, zero})), families::byte_matmul);
  }
}

/// The least memory in which the graph runs, in strips that are cut ever smaller.
void check_strips(const Graph& graph) {
  const std::vector<Tensor> inputs = byte_inputs(graph);
  const std::vector<Tensor> expected = reference::evaluate(graph, views_of(inputs));
  const Topology topology = topology_of(kernels::usable_features());
  std::size_t most_strips = 0;
  std::int64_t limit = make_plan(graph, topology, {Schedule::columns, Math::fast, 2, 0}).arena_bytes;
  for (; limit > 0; limit = limit * 3 / 4) {
    const PlanOptions options{Schedule::automatic, Math::fast, 2, limit};
    try {
      for (const SegmentPlan& segment : make_plan(graph, topology, options).segments)
        if (segment.nodes.size() > 1) most_strips = std::max(most_strips, segment.strips.size());
      EXPECT_TRUE(same_bits(run(graph, options, kernels::usable_features(), inputs), expected)) << limit;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::resource_limit) << error.what();
      break;
    }
  }
  EXPECT_GE(most_strips, 2u);
}

TEST(ByteContraction, OfStrips) {
  ByteNetwork net("strips");
  ValueId x = net.input({1, 24, 900, 16}, DType::u8);
  x = net.byte_conv(x, 48, {.kernel = 3, .dilation = 2});
  x = net.byte_conv(x, 32, {.kernel = 1});
  const Graph graph = net.finish(net.byte_conv(x, 40, {.kernel = 5}));
  check(graph, families::byte_conv);
  check_strips(graph);
}

/// Images of sizes that tiles do not divide, groups, wide weights, weights whose sums are added up in parts.
TEST(ByteContraction, OfTiles) {
  for (const bool wide : {false, true}) {
    ByteNetwork net("tiles");
    net.is_wide = wide;
    ValueId x = net.input({2, 27, 31, 24}, DType::u8);
    x = net.byte_conv(x, 130, {.kernel = 3});
    x = net.byte_conv(x, 72, {.kernel = 3}, {.zero = 0, .low = 0, .high = 255});
    x = net.byte_conv(x, 48, {.kernel = 3, .groups = 2}, {.to = DType::u8, .zero = 3, .low = 0, .high = 6});
    check(net.finish(net.byte_conv(x, 33, {.kernel = 3}, {.to = wide ? DType::i32 : DType::f32})),
          families::byte_winograd);
  }
}

TEST(ByteContraction, OfStripsOfTiles) {
  ByteNetwork net("strips of tiles");
  ValueId x = net.input({1, 24, 901, 16}, DType::u8);
  for (const std::int64_t outputs : {48, 32, 40}) x = net.byte_conv(x, outputs, {.kernel = 3});
  const Graph graph = net.finish(x);
  check(graph, families::byte_winograd);
  check_strips(graph);
}

TEST(ByteContraction, OfMatrices) {
  ByteNetwork net("matrices");
  ValueId x = net.input({2, 37, 100}, DType::u8);
  x = net.byte_matmul(x, 65, {.zero = 128, .low = -128, .high = 127});
  x = net.byte_matmul(x, 200, {.zero = 7, .low = -7, .high = 248});
  check(net.finish(net.byte_matmul(x, 48, {.to = DType::f32})), families::byte_matmul);
}

/// Threads share the outputs of a single row.
TEST(ByteContraction, OfOneRow) {
  ByteNetwork net("one row");
  const ValueId x = net.byte_matmul(net.input({1, 512}, DType::u8), 1000, {.zero = 128, .low = -128, .high = 127});
  const Graph graph = net.finish(net.byte_matmul(x, 2000, {.to = DType::f32}));
  check(graph, families::byte_matmul);
}

/// Zero point and scale that are known only when they were computed, as in dynamic quantisation.
TEST(ByteContraction, OfComputedParameters) {
  for (const std::int64_t factors : {1, 50}) {
    ByteNetwork net("computed");
    const ValueId x = net.input({1, 23, 64}, DType::u8), zero = net.input({1}, DType::u8),
                  factor = net.input({factors});
    const ValueId weight = net.integers<std::int8_t>({64, 50}, -128, 127);
    const Rescale out{.to = DType::f32};
    check(net.finish(net.node(ByteMatMul{out}, {x, weight, zero, kAbsent, factor})), families::byte_matmul);
  }
}

}  // namespace
}  // namespace colonnade::test::byte_contraction
