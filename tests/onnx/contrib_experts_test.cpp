// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts of com.microsoft against values worked out by hand.
#include <cmath>

#include "evaluate.hpp"

namespace colonnade::onnx_import::testing::experts {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Constants = std::vector<onnx::TensorProto>;
using Given = std::vector<onnx::AttributeProto>;

onnx::TensorProto bytes(const std::string& name, const Shape& shape, const Bytes& values) {
  return raw_tensor(name, onnx::TensorProto::UINT8, shape, values);
}

/// Of tokens x and a router's numbers; what follows are constants, absent ones named "".
Tensor mixed(const std::string& op, const Tensor& x, const Tensor& router, const Constants& rest, const Given& given) {
  ModelBuilder model(21);
  model.import("com.microsoft", 1).output("y", 0).input("x", x.shape()).input("r", router.shape());
  Names names{"x", "r"};
  for (const auto& constant : rest) {
    names.push_back(constant.name());
    if (!constant.name().empty()) model.constant(constant);
  }
  model.node(op, names, {"y"}, given, "com.microsoft");
  return std::move(evaluate(model, {x, router})[0]);
}

const onnx::TensorProto kAbsentInput;

/// Experts that multiply by 1, 10 and 100, and chances of 1, 3 and 6 tenths.
Tensor of_three(const Shape& shape, const std::vector<float>& x, Given given) {
  const auto tokens = static_cast<std::int64_t>(x.size());
  std::vector<float> chances;
  for (std::int64_t i = 0; i < tokens; ++i)
    for (const float chance : {0.1f, i == 1 ? 0.6f : 0.3f, i == 1 ? 0.3f : 0.6f}) chances.push_back(std::log(chance));
  given.push_back(attribute("activation_type", "identity"));
  return mixed("MoE", floats(shape, x), floats({tokens, 3}, chances),
               {float_tensor("a", {3, 1, 1}, {1, 10, 100}), kAbsentInput, float_tensor("b", {3, 1, 1}, {1, 1, 1})},
               given);
}

TEST(Experts, CountByTheirChances) {
  expect_floats(of_three({2, 1}, {2, 1}, {attribute("k", 2)}), {2, 1}, {126, 36}, 1e-4f);
  expect_floats(of_three({2, 1}, {2, 1}, {attribute("k", 2), attribute("normalize_routing_weights", 1)}), {2, 1},
                {140, 40}, 1e-4f);
  expect_floats(of_three({1, 2, 1}, {2, 1}, {}), {1, 2, 1}, {120, 6}, 1e-4f);
  expect_floats(of_three({2, 1}, {2, 1}, {attribute("k", 3)}), {2, 1}, {126.2f, 36.1f}, 1e-4f);
  expect_floats(of_three({0, 1}, {}, {attribute("k", 2)}), {0, 1}, {});
  EXPECT_THROW(of_three({1, 1}, {1}, {attribute("k", 4)}), Error);
  EXPECT_THROW(of_three({1, 1}, {1}, {attribute("k", 0)}), Error);
}

/// One expert of two outputs, whose second product adds them.
float of_one(const std::string& activation, const std::vector<float>& first, Given given,
             const std::vector<float>& gated = {}) {
  const auto outputs = static_cast<std::int64_t>(first.size());
  const std::int64_t inner = activation == "swiglu" && gated.empty() ? outputs / 2 : outputs;
  given.push_back(attribute("activation_type", activation.c_str()));
  Constants rest{float_tensor("a", {1, outputs, 1}, first),
                 float_tensor("ab", {1, outputs}, std::vector<float>(first.size(), 1)),
                 float_tensor("b", {1, 1, inner}, std::vector<float>(static_cast<std::size_t>(inner), 1)),
                 float_tensor("bb", {1, 1}, {1000})};
  if (!gated.empty()) rest.push_back(float_tensor("c", {1, outputs, 1}, gated));
  return mixed("MoE", floats({1, 1}, {1}), floats({1, 1}, {0}), rest, given).values<float>()[0] - 1000;
}

TEST(Experts, EveryActivation) {
  const auto sigmoid = [](float x) { return 1 / (1 + std::exp(-x)); };
  constexpr float kNear = 2e-4f;
  EXPECT_NEAR(of_one("relu", {3, -5}, {}), 4, kNear);
  EXPECT_NEAR(of_one("identity", {3, -5}, {}), 0, kNear);
  EXPECT_NEAR(of_one("silu", {1, -3}, {}), 2 * sigmoid(2) - 2 * sigmoid(-2), kNear);
  EXPECT_NEAR(of_one("gelu", {1, -1}, {}), 1.9546f, kNear);
  EXPECT_NEAR(of_one("silu", {1, 1}, {}, {3, 4}), 7 * 2 * sigmoid(2), kNear);
  // gates 2 and 4, others 3 and 5, interleaved or not
  const float plain = 2 * sigmoid(2) * 3 + 4 * sigmoid(4) * 5;
  EXPECT_NEAR(of_one("swiglu", {1, 2, 3, 4}, {attribute("swiglu_fusion", 1)}), plain, kNear);
  EXPECT_NEAR(of_one("swiglu", {1, 3, 2, 4}, {attribute("swiglu_fusion", 2)}), plain, kNear);
  EXPECT_NEAR(of_one("swiglu", {1, 3}, {}, {3, 5}), plain, kNear);
  const Given bounded{attribute("swiglu_fusion", 1), attribute("activation_alpha", 2.0f),
                      attribute("activation_beta", 1.0f), attribute("swiglu_limit", 3.5f)};
  EXPECT_NEAR(of_one("swiglu", {1, 2, 3, -9}, bounded), 2 * sigmoid(4) * 4 + 3.5f * sigmoid(7) * -2.5f, kNear);
  EXPECT_THROW(of_one("tanh", {1, 1}, {}), Error);
  EXPECT_THROW(of_one("swiglu", {1, 1}, {attribute("swiglu_fusion", 3)}), Error);
  EXPECT_THROW(of_one("swiglu", {1, 1, 1}, {attribute("swiglu_fusion", 1)}), Error);
}

/// Two experts that are identities, the second one times two; numbers of four bits, eight standing for zero.
Tensor of_few_bits(const Bytes& first, const Constants& behind, Given given) {
  given.push_back(attribute("activation_type", "identity"));
  given.push_back(attribute("normalize_routing_weights", 1));
  const auto ones = [](const std::string& name) { return float_tensor(name, {2, 2}, {1, 1, 1, 1}); };
  Constants rest{bytes("a", {2, 2, 1}, first),
                 float_tensor("as", {2, 2}, {1, 1, 2, 2}),
                 kAbsentInput,
                 bytes("b", {2, 2, 1}, {0x89, 0x98, 0x89, 0x98}),
                 ones("bs"),
                 float_tensor("bb", {2, 2}, {0, 0, 0, 100}),
                 kAbsentInput,
                 kAbsentInput,
                 kAbsentInput};
  rest.insert(rest.end(), behind.begin(), behind.end());
  return mixed("QMoE", floats({2, 2}, {3, 5, 7, 11}), floats({2, 2}, {0, 1, 1, 0}), rest, given);
}

TEST(Experts, WeightsOfFewBits) {
  const Bytes identities{0x89, 0x98, 0x89, 0x98};
  expect_floats(of_few_bits(identities, {}, {}), {2, 2}, {6, 110, 7, 11});
  // zeros of the second expert's outputs: 7 and 8
  expect_floats(of_few_bits(identities, {bytes("z", {2, 1}, {0x88, 0x87})}, {}), {2, 2}, {22, 110, 7, 11});
  // both experts are chosen, and count as other numbers say
  expect_floats(
      of_few_bits(identities, {kAbsentInput, kAbsentInput, kAbsentInput, float_tensor("w", {2, 2}, {3, 1, 1, 3})},
                  {attribute("k", 2)}),
      {2, 2}, {3.75f, 31.25f, 12.25f, 94.25f});
  EXPECT_THROW(of_few_bits(identities, {bytes("z", {2, 2}, {0x88, 0x88, 0x88, 0x88})}, {}), Error);
  EXPECT_THROW(of_few_bits(identities, {}, {attribute("expert_weight_bits", 3)}), Error);
  EXPECT_THROW(of_few_bits(identities, {}, {attribute("expert_weight_bits", 8)}), Error);
  EXPECT_THROW(of_few_bits(identities, {}, {attribute("block_size", 16)}), Error);
  EXPECT_THROW(of_few_bits(identities, {}, {attribute("quant_type", "fp8")}), Error);
  EXPECT_THROW(of_few_bits(identities, {}, {attribute("weights_prepacked", 1)}), Error);
}

/// Blocks of 16 of 32 inputs, each with a scale and a zero point: all numbers are one less than the middle of the
/// range, as are the zeros of second blocks.
TEST(Experts, WeightsInBlocks) {
  for (const int bits : {2, 4, 8}) {
    const int middle = 1 << (bits - 1), in_byte = 8 / bits;
    const auto byte = [](int value) { return static_cast<std::uint8_t>(value); };
    std::uint8_t numbers = 0;
    for (int i = 0; i < in_byte; ++i) numbers = byte(numbers | (middle - 1) << i * bits);
    Bytes zeros;
    for (int output = 0; output < 16; ++output) {
      zeros.push_back(byte(bits == 8 ? middle : middle | (middle - 1) << bits));
      if (bits == 8) zeros.push_back(byte(middle - 1));
    }
    const std::int64_t first = 32 / in_byte, second = 16 / in_byte, zero_bytes = bits == 8 ? 2 : 1;
    std::vector<float> scales;
    for (int i = 0; i < 16; ++i) scales.insert(scales.end(), {1, 7});
    const Constants rest{bytes("a", {1, 16, first}, Bytes(static_cast<std::size_t>(16 * first), numbers)),
                         float_tensor("as", {1, 16, 2}, scales),
                         kAbsentInput,
                         bytes("b", {1, 32, second}, Bytes(static_cast<std::size_t>(32 * second), numbers)),
                         float_tensor("bs", {1, 32, 1}, std::vector<float>(32, 2)),
                         kAbsentInput,
                         kAbsentInput,
                         kAbsentInput,
                         kAbsentInput,
                         bytes("z", {1, 16, zero_bytes}, zeros)};
    const Given given{attribute("expert_weight_bits", bits), attribute("block_size", 16),
                      attribute("activation_type", "identity")};
    expect_floats(mixed("QMoE", floats({1, 32}, std::vector<float>(32, 1)), floats({1, 1}, {0}), rest, given), {1, 32},
                  std::vector<float>(32, 512));
  }
}

TEST(Experts, WhatIsWrongIsSaid) {
  const auto refusal = [](const Constants& rest, const Given& given) {
    try {
      mixed("MoE", floats({1, 2}, {1, 1}), floats({1, 2}, {0, 0}), rest, given);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("MoE"), std::string::npos) << error.what();
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  const auto first = float_tensor("a", {2, 1, 2}, {1, 1, 1, 1}), second = float_tensor("b", {2, 2, 1}, {1, 1, 1, 1});
  EXPECT_EQ(refusal({first, kAbsentInput, second}, {}), "nothing");
  EXPECT_NE(refusal({first, kAbsentInput, float_tensor("b", {2, 2, 2}, std::vector<float>(8))}, {}).find("[2, 2, 1]"),
            std::string::npos);
  EXPECT_NE(refusal({first, float_tensor("ab", {1, 1}, {1}), second}, {}).find("[2, 1]"), std::string::npos);
  EXPECT_NE(refusal({first, kAbsentInput, second}, {attribute("k", 3)}).find("3 of 2 experts"), std::string::npos);
  EXPECT_NE(
      refusal({first, kAbsentInput, second}, {attribute("swiglu_limit_after_activation", 1)}).find("swiglu_limit"),
      std::string::npos);
}

}  // namespace
}  // namespace colonnade::onnx_import::testing::experts
