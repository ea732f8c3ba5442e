// SPDX-License-Identifier: Apache-2.0
// A sample's bits are those that it has alone: in batches of every size, at every place, under every schedule, number
// of threads and tier.
#include "api/samples.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "colonnade/colonnade.hpp"
#include "kernels/base/isa.hpp"
#include "support/execute.hpp"

namespace colonnade::test {
namespace {

constexpr std::int64_t kMostSamples = 9;

Tensor some(const Shape& sample, std::int64_t count) {
  Shape shape{count};
  shape.insert(shape.end(), sample.begin(), sample.end());
  Tensor tensor(DType::f32, shape);
  std::mt19937 random(7);
  std::uniform_real_distribution<float> element(-1, 1);
  for (float& value : tensor.values<float>()) value = element(random);
  return tensor;
}

/// Samples [first, first + count).
TensorView part(const Tensor& all, std::int64_t first, std::int64_t count) {
  Shape shape = all.shape();
  const std::size_t bytes = all.byte_size() / static_cast<std::size_t>(shape[0]);
  shape[0] = count;
  return {all.dtype(), shape, static_cast<const std::byte*>(all.data()) + static_cast<std::size_t>(first) * bytes};
}

bool same(const TensorView& a, const TensorView& b) {
  return a.shape == b.shape &&
         std::memcmp(a.data, b.data, static_cast<std::size_t>(element_count(a.shape)) * size_of(a.dtype)) == 0;
}

/// The batch sizes in which a sample has other bits than alone, under these options.
std::vector<std::int64_t> differing(const Samples& net, const Options& options,
                                    const std::vector<std::vector<Tensor>>& alone) {
  const Model model = Model::from_bytes(onnx_import::testing::as_bytes(net.bytes()), options);
  Session session(model);
  const Tensor x = some(net.sample(), kMostSamples);
  std::vector<std::int64_t> found;
  for (std::int64_t count = 1; count <= kMostSamples; ++count) {
    const std::int64_t first = kMostSamples - count;
    const TensorView input = part(x, first, count);
    const std::vector<Tensor> outputs = session.run({&input, 1});
    bool equal = true;
    for (std::size_t o = 0; o < outputs.size(); ++o)
      for (std::int64_t i = 0; i < count; ++i)
        equal = equal && same(part(outputs[o], i, 1), alone[static_cast<std::size_t>(first + i)][o]);
    if (!equal) found.push_back(count);
  }
  return found;
}

std::vector<std::vector<Tensor>> each_alone(const Samples& net, const Options& options) {
  const Model model = Model::from_bytes(onnx_import::testing::as_bytes(net.bytes()), options);
  Session session(model);
  const Tensor x = some(net.sample(), kMostSamples);
  std::vector<std::vector<Tensor>> alone;
  for (std::int64_t i = 0; i < kMostSamples; ++i) {
    const TensorView input = part(x, i, 1);
    alone.push_back(session.run({&input, 1}));
  }
  return alone;
}

void check(const Samples& net, const std::string& label) {
  for (const kernels::Isa isa : host_isas())
    for (const Math math : {Math::fast, Math::exact, Math::bf16}) {
      Options options;
      options.isa = kernels::name_of(isa);
      options.math = math;
      options.threads = 1;
      const auto alone = each_alone(net, options);
      for (const Schedule schedule : {Schedule::automatic, Schedule::columns, Schedule::layers})
        for (const int threads : {1, 2, 4}) {
          if (math != Math::fast && (threads != 2 || schedule != Schedule::automatic)) continue;
          options.schedule = schedule;
          options.threads = threads;
          EXPECT_EQ(differing(net, options, alone), std::vector<std::int64_t>{})
              << label << ", " << options.isa << ", math " << static_cast<int>(math) << ", schedule "
              << static_cast<int>(schedule) << ", threads " << threads;
        }
    }
}

TEST(Samples, OfOneRow) {
  Samples net({96});
  std::string x = net.node("Relu", {net.gemm("x", 96, 130)});
  x = net.node("Sigmoid", {net.gemm(x, 130, 24)});
  net.output(net.node("Softmax", {net.gemm(x, 24, 1000)}));
  net.output(net.node("LayerNormalization", {x, net.weights({24}), net.weights({24})}));
  check(net, "rows");
}

/// A gate and a classifier see one pixel an image.
TEST(Samples, OfImagesWithGates) {
  Samples net({3, 17, 13});
  std::string x = net.node("Relu", {net.conv("x", 3, 16, 3, 2)});
  x = net.node("HardSwish", {net.conv(x, 16, 16, 3, 1, 16)});
  const std::string mean = net.node("GlobalAveragePool", {x});
  const std::string gate = net.node("Sigmoid", {net.conv(net.node("Relu", {net.conv(mean, 16, 8, 1)}), 8, 16, 1)});
  x = net.conv(net.node("Mul", {x, gate}), 16, 40, 1);
  x = net.node("Relu", {net.conv(x, 40, 32, 3)});
  x = net.node("Flatten", {net.node("GlobalAveragePool", {x})});
  net.output(net.gemm(x, 32, 50));
  check(net, "images");
}

TEST(Samples, OfFewPositions) {
  for (const std::int64_t side : {1, 2, 3, 5}) {
    Samples net({24, side, side});
    std::string x = net.node("Relu", {net.conv("x", 24, 64, 1)});
    x = net.conv(x, 64, 64, 3);
    net.output(net.conv(x, 64, 33, 1));
    check(net, "positions " + std::to_string(side));
  }
}

TEST(Samples, WithNormalisedImages) {
  Samples net({8, 12, 10});
  std::string x = net.conv("x", 8, 16, 3);
  x = net.node("InstanceNormalization", {x, net.weights({16}), net.weights({16})});
  x = net.conv(net.node("Relu", {x}), 16, 16, 3);
  net.output(net.node("InstanceNormalization", {x, net.weights({16}), net.weights({16})}));
  check(net, "norms");
}

TEST(Samples, OfTexts) {
  for (const std::int64_t steps : {1, 2, 7, 20}) {
    Samples net({steps, 48});
    const std::string mixed = net.node("Add", {"x", net.attention("x", steps, 48, 4)});
    const std::string normal =
        net.node("LayerNormalization", {mixed, net.weights({48}), net.weights({48})}, {attribute("axis", -1)});
    const std::string deep = net.matmul(net.node("Relu", {net.matmul(normal, 48, 100)}), 100, 48);
    net.output(net.node("Add", {normal, deep}));
    net.output(net.gemm(net.node("ReduceMean", {deep}, {attribute("axes", Ints{1}), attribute("keepdims", 0)}), 48, 9));
    check(net, "steps " + std::to_string(steps));
  }
}

TEST(Samples, OfSequences) {
  for (const char* op : {"LSTM", "GRU", "RNN"})
    for (const std::int64_t steps : {1, 6}) {
      Samples net({steps, 20});
      net.output(net.recurrent(op, net.recurrent(op, "x", 20, 36), 36, 17));
      check(net, std::string(op) + " steps " + std::to_string(steps));
    }
}

TEST(Samples, ThatAreReduced) {
  for (const Shape& sample : {Shape{70000}, Shape{3, 40, 50}, Shape{1, 1, 9}}) {
    Samples net(sample);
    Ints axes;
    for (std::int64_t axis = 1; axis <= std::ssize(sample); ++axis) axes.push_back(axis);
    for (const char* op : {"ReduceMean", "ReduceL2", "ReduceLogSumExp", "ReduceProd"})
      net.output(net.node(op, {"x"}, {attribute("axes", axes)}));
    net.output(net.node("ReduceMean", {"x"}, {attribute("axes", Ints{1})}));
    net.output(net.node("Softmax", {"x"}, {attribute("axis", -1)}));
    check(net, "reduced");
  }
}

TEST(Samples, MultipliedWithEachOther) {
  for (const std::int64_t rows : {1, 3, 6, 40}) {
    Samples net({rows, 32});
    const std::string a = net.matmul("x", 32, 24), b = net.matmul("x", 32, 24);
    const std::string scores = net.node("MatMul", {a, net.transpose(b, {0, 2, 1})});
    net.output(scores);
    net.output(net.node("MatMul", {scores, a}));
    net.output(net.node("Einsum", {"x", net.weights({32, 5, 7})}, {attribute("equation", "nrk,kab->nrab")}));
    net.output(net.node("Einsum", {a, b}, {attribute("equation", "nrk,nrk->nr")}));
    check(net, "products " + std::to_string(rows));
  }
}

TEST(Samples, OfOtherRanks) {
  Samples line({6, 50});
  std::string x = line.node("Conv", {"x", line.weights({12, 6, 5})}, {attribute("pads", Ints{2, 2})});
  x = line.node("ConvTranspose", {line.node("Relu", {x}), line.weights({12, 4, 4})}, {attribute("strides", Ints{2})});
  line.output(line.node("AveragePool", {x}, {attribute("kernel_shape", Ints{3})}));
  check(line, "lines");
  Samples volume({2, 6, 7, 8});
  x = volume.node("Conv", {"x", volume.weights({5, 2, 3, 3, 3})}, {attribute("pads", Ints{1, 1, 1, 1, 1, 1})});
  x = volume.node("MaxPool", {volume.node("Relu", {x})}, {attribute("kernel_shape", Ints{2, 2, 2})});
  volume.output(volume.node("GlobalAveragePool", {x}));
  check(volume, "volumes");
}

/// Factors that are the same for all samples, which may be multiplied first.
TEST(Samples, ThatMeetSeveralFactors) {
  Samples net({64});
  net.output(
      net.node("Einsum", {"x", net.weights({64, 60}), net.weights({60, 2})}, {attribute("equation", "na,ab,bc->nc")}));
  net.output(
      net.node("Einsum", {"x", net.weights({64, 3}), net.weights({64, 3})}, {attribute("equation", "na,ab,ab->nb")}));
  check(net, "factors");
}

TEST(Samples, OfOtherOperators) {
  Samples net({8, 9, 11});
  net.output(net.node("ConvTranspose", {"x", net.weights({8, 5, 3, 3}), net.weights({5})},
                      {attribute("strides", Ints{2, 2})}));
  net.output(net.node("Softmax", {"x"}, {attribute("axis", 1)}));
  net.output(net.node("LRN", {"x"}, {attribute("size", 3)}));
  net.output(net.node("LayerNormalization", {"x", net.weights({9, 11})}, {attribute("axis", 2)}));
  net.output(net.node("ReduceSum", {"x", net.ints({1, 3})}));
  net.output(net.node("CumSum", {"x", net.ints({2})}));
  const std::string groups =
      net.node("InstanceNormalization", {net.reshape("x", {0, 4, -1}), net.weights({4}), net.weights({4})});
  net.output(net.reshape(groups, {0, 8, 9, 11}));
  const std::string wide = net.node("Cast", {net.reshape("x", {-1, 792})}, {attribute("to", 11)});
  net.output(net.node("MatMul", {wide, net.node("Cast", {net.weights({792, 7})}, {attribute("to", 11)})}),
             onnx::TensorProto::DOUBLE);
  net.output(net.node("ReduceMean", {wide}, {attribute("axes", Ints{1})}), onnx::TensorProto::DOUBLE);
  check(net, "others");
}

/// Weights that stay at 8 bits.
TEST(Samples, TimesNarrowWeights) {
  for (const std::int64_t rows : {1, 3}) {
    Samples net({rows, 96});
    const std::string wide = net.narrow("x", 96, 512);
    net.output(net.narrow(net.node("Relu", {wide}), 512, 130));
    check(net, "narrow rows " + std::to_string(rows));
  }
}

/// Rows as bytes: each has a scale of its own.
TEST(Samples, AsBytesTimesNarrowWeights) {
  for (const std::int64_t rows : {1, 3}) {
    Samples net({rows, 96});
    const std::string wide = net.by_bytes("x", 96, 512);
    net.output(net.by_bytes(net.node("Relu", {wide}), 512, 130));
    check(net, "bytes, rows " + std::to_string(rows));
  }
}

/// Others of the batch are sent to the same experts.
TEST(Samples, SentToExperts) {
  for (const std::int64_t rows : {1, 3})
    for (const int accuracy_level : {-1, 0, 4}) {
      Samples net({rows, 96});
      net.output(net.experts("x", 96, accuracy_level));
      check(net, "experts, rows " + std::to_string(rows) + ", level " + std::to_string(accuracy_level));
    }
}

/// Layers in random order on images, whose last output is classified.
TEST(Samples, OfRandomNetworks) {
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    Samples size({1}, seed);
    std::int64_t channels = std::array{3, 8, 16}[size.pick(3)], side = 1 + static_cast<std::int64_t>(size.pick(20));
    Samples net({channels, side, side}, seed);
    std::string x = "x";
    for (std::uint32_t layer = 0; layer < 6; ++layer) {
      const std::int64_t wanted = std::array{5, 16, 32, 48}[net.pick(4)];
      switch (net.pick(7)) {
        case 0: x = net.conv(x, channels, wanted, 1), channels = wanted; break;
        case 1: x = net.conv(x, channels, wanted, 3), channels = wanted; break;
        case 2: x = net.conv(x, channels, channels, 5, 1, channels); break;
        case 3: x = net.conv(x, channels, wanted, 3, 2), channels = wanted, side = (side + 1) / 2; break;
        case 4: x = net.node("Sigmoid", {x}); break;
        case 5: {
          const std::string mean = net.node("GlobalAveragePool", {x});
          x = net.node("Mul", {x, net.node("Sigmoid", {net.conv(mean, channels, channels, 1)})});
          break;
        }
        default: x = net.node("Add", {x, net.conv(x, channels, channels, 3)});
      }
    }
    net.output(x);
    net.output(net.gemm(net.node("Flatten", {x}), channels * side * side, 10));
    check(net, "seed " + std::to_string(seed));
  }
}

}  // namespace
}  // namespace colonnade::test
