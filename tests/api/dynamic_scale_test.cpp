// SPDX-License-Identifier: Apache-2.0
// Dynamic quantisation whose scale is taken a sequence or a row at a time: answers that neither neighbours nor padding
// change.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "colonnade/colonnade.hpp"
#include "kernels/base/isa.hpp"
#include "onnx/builder.hpp"
#include "support/execute.hpp"

namespace colonnade::test {
namespace {

using onnx_import::testing::attribute;
using onnx_import::testing::float_tensor;
using onnx_import::testing::ModelBuilder;
using onnx_import::testing::raw_tensor;

constexpr std::int64_t kTexts = 4, kSteps = 6, kWidth = 36;

/// Layers as quantisers write them: a range, sums of bytes, two scales and a bias.
class Layers {
 public:
  explicit Layers(const Shape& input) : model_(17) { model_.input("x", input); }

  /// Of rows by a matrix, signed or unsigned with a zero point.
  std::string product(const std::string& x, std::int64_t in, std::int64_t out, bool is_signed) {
    const std::string w = stored({in, out}, is_signed), zero = fresh();
    model_.constant(is_signed ? raw_tensor(zero, onnx::TensorProto::INT8, {}, std::vector<std::int8_t>{0})
                              : raw_tensor(zero, onnx::TensorProto::UINT8, {}, std::vector<std::uint8_t>{119}));
    return finished("MatMulInteger", x, w, zero, {out});
  }
  std::string conv(const std::string& x, std::int64_t in, std::int64_t out) {
    const std::string zero = fresh();
    model_.constant(raw_tensor(zero, onnx::TensorProto::INT8, {}, std::vector<std::int8_t>{0}));
    return finished("ConvInteger", x, stored({out, in, 3, 3}, true), zero, {1, out, 1, 1});
  }
  std::string node(const std::string& op, const std::string& x) {
    const std::string y = fresh();
    model_.node(op, {x}, {y});
    return y;
  }
  Model load(const std::string& result, const Options& options) {
    if (!is_done_) model_.output(result);
    is_done_ = true;
    return Model::from_bytes(onnx_import::testing::as_bytes(model_.bytes()), options);
  }

 private:
  std::string fresh() { return "v" + std::to_string(++count_); }
  std::string stored(const Shape& shape, bool is_signed) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(element_count(shape)));
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random_());
    const std::string name = fresh();
    model_.constant(raw_tensor(name, is_signed ? onnx::TensorProto::INT8 : onnx::TensorProto::UINT8, shape, bytes));
    return name;
  }
  std::string finished(const std::string& op, const std::string& x, const std::string& w, const std::string& w_zero,
                       const Shape& channels) {
    const std::string bytes = fresh(), scale = fresh(), zero = fresh(), sums = fresh(), numbers = fresh(),
                      scales = fresh(), scaled = fresh(), y = fresh(), w_scale = fresh(), bias = fresh();
    std::vector<float> factors(static_cast<std::size_t>(element_count(channels))), shifts = factors;
    for (float& factor : factors) factor = 0.0003f * static_cast<float>(1 + random_() % 9);
    for (float& shift : shifts) shift = 0.1f * static_cast<float>(random_() % 9);
    model_.constant(float_tensor(w_scale, channels, factors)).constant(float_tensor(bias, channels, shifts));
    model_.node("DynamicQuantizeLinear", {x}, {bytes, scale, zero});
    model_.node(op, {bytes, w, zero, w_zero}, {sums}).node("Cast", {sums}, {numbers}, {attribute("to", 1)});
    model_.node("Mul", {scale, w_scale}, {scales}).node("Mul", {numbers, scales}, {scaled});
    model_.node("Add", {scaled, bias}, {y});
    return y;
  }

  ModelBuilder model_;
  std::mt19937 random_{3};
  int count_ = 0;
  bool is_done_ = false;
};

/// Samples of ever larger numbers, so that they have scales that differ.
Tensor samples(Shape shape) {
  Tensor tensor(DType::f32, std::move(shape));
  const std::int64_t each = tensor.size() / tensor.shape()[0];
  std::mt19937 random(7);
  std::uniform_real_distribution<float> element(-0.7f, 1);
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    tensor.values<float>()[static_cast<std::size_t>(i)] = element(random) * static_cast<float>(1 + i / each);
  return tensor;
}

std::span<const float> sample(const Tensor& all, std::int64_t index) {
  const std::int64_t each = all.size() / all.shape()[0];
  return all.values<float>().subspan(static_cast<std::size_t>(index * each), static_cast<std::size_t>(each));
}

Tensor alone(const Tensor& all, std::int64_t index) {
  Shape shape = all.shape();
  shape[0] = 1;
  Tensor one(DType::f32, shape);
  std::ranges::copy(sample(all, index), one.values<float>().begin());
  return one;
}

Tensor run(Session& session, const Tensor& input) {
  const TensorView view(input);
  return std::move(session.run({&view, 1})[0]);
}

bool same(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

/// Samples whose answers in the batch are not those that they have alone.
std::int64_t differing(Layers& net, const std::string& result, const Tensor& batch, const Options& options) {
  Session session(net.load(result, options));
  const Tensor together = run(session, batch);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < batch.shape()[0]; ++i)
    count += same(sample(together, i), run(session, alone(batch, i)).values<float>()) ? 0 : 1;
  return count;
}

TEST(DynamicScale, OfASequenceNeedsNoNeighbours) {
  Layers net({-1, -1, kWidth});
  const std::string y = net.product(net.node("Relu", net.product("x", kWidth, 50, true)), 50, 17, false);
  const Tensor batch = samples({kTexts, kSteps, kWidth});
  for (const kernels::Isa isa : host_isas())
    for (const int threads : {1, 3}) {
      Options options;
      options.isa = kernels::name_of(isa);
      options.threads = threads;
      EXPECT_GT(differing(net, y, batch, options), 0) << options.isa;
      for (const DynamicScale scale : {DynamicScale::sequence, DynamicScale::row}) {
        options.dynamic_scale = scale;
        EXPECT_EQ(differing(net, y, batch, options), 0) << options.isa << ", " << threads << " threads";
      }
    }
}

TEST(DynamicScale, OfAnImageNeedsNoNeighbours) {
  Layers net({-1, 5, 9, 8});
  const std::string y = net.conv(net.node("Relu", net.conv("x", 5, 8)), 8, 6);
  const Tensor batch = samples({kTexts, 5, 9, 8});
  Options options;
  EXPECT_GT(differing(net, y, batch, options), 0);
  for (const DynamicScale scale : {DynamicScale::sequence, DynamicScale::row}) {
    options.dynamic_scale = scale;
    EXPECT_EQ(differing(net, y, batch, options), 0);
  }
}

/// A sequence alone is the whole tensor.
TEST(DynamicScale, OfASequenceAloneIsThatOfTheTensor) {
  Layers net({-1, -1, kWidth});
  const std::string y = net.product(net.product("x", kWidth, 50, false), 50, 17, true);
  const Tensor one = alone(samples({kTexts, kSteps, kWidth}), 2);
  Options options;
  Session tensor(net.load(y, options));
  options.dynamic_scale = DynamicScale::sequence;
  Session sequence(net.load(y, options));
  const Tensor expected = run(tensor, one), found = run(sequence, one);
  ASSERT_EQ(found.shape(), expected.shape());
  for (std::size_t i = 0; i < expected.values<float>().size(); ++i)
    EXPECT_NEAR(found.values<float>()[i], expected.values<float>()[i], 2e-5) << i;
}

/// Another row of the same text changes a row's answer where the scale is the sequence's, and not where it is its own.
TEST(DynamicScale, OfARowNeedsNoOtherRow) {
  Layers net({-1, -1, kWidth});
  const std::string y = net.product("x", kWidth, 20, true);
  Tensor text = samples({1, kSteps, kWidth});
  for (const DynamicScale scale : {DynamicScale::sequence, DynamicScale::row}) {
    Options options;
    options.dynamic_scale = scale;
    Session session(net.load(y, options));
    const Tensor before = run(session, text);
    text.values<float>().back() += 40;
    const Tensor after = run(session, text);
    text.values<float>().back() -= 40;
    const std::size_t others = before.values<float>().size() - 20;
    EXPECT_EQ(same(before.values<float>().first(others), after.values<float>().first(others)),
              scale == DynamicScale::row);
  }
}

}  // namespace
}  // namespace colonnade::test
