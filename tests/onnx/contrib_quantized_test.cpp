// SPDX-License-Identifier: Apache-2.0
// Quantised operators of com.microsoft against values worked out by hand.
#include "evaluate.hpp"

namespace colonnade::onnx_import::testing::quantized {
namespace {

const std::string kMicrosoft = "com.microsoft";
constexpr int kByte = onnx::TensorProto::UINT8;

using Bytes = std::vector<std::uint8_t>;

onnx::TensorProto bytes(const std::string& name, const Shape& shape, const Bytes& values) {
  return raw_tensor(name, kByte, shape, values);
}
onnx::TensorProto number(const std::string& name, float value) { return float_tensor(name, {}, {value}); }

/// An operator whose inputs are all constants; those named "" are absent.
Tensor applied(const std::string& op, const std::vector<onnx::TensorProto>& inputs,
               const std::vector<onnx::AttributeProto>& attributes = {}, int output = 0) {
  ModelBuilder model(17);
  model.import(kMicrosoft, 1).output("y", output);
  Names names;
  for (const auto& input : inputs) {
    names.push_back(input.name());
    if (!input.name().empty()) model.constant(input);
  }
  model.node(op, names, {"y"}, attributes, kMicrosoft);
  return std::move(evaluate(model, {})[0]);
}

void expect_bytes(const Tensor& found, const Shape& shape, const Bytes& expected) {
  ASSERT_EQ(found.dtype(), DType::u8);
  ASSERT_EQ(found.shape(), shape);
  EXPECT_EQ(Bytes(found.values<std::uint8_t>().begin(), found.values<std::uint8_t>().end()), expected);
}

TEST(ContribQuantized, SumsProductsAndSelections) {
  const std::vector<onnx::TensorProto> operands = {bytes("a", {3}, {10, 20, 255}),
                                                   number("as", 0.5f),
                                                   bytes("az", {}, {10}),
                                                   bytes("b", {3}, {4, 8, 255}),
                                                   number("bs", 2),
                                                   bytes("bz", {}, {4}),
                                                   number("ys", 1),
                                                   bytes("yz", {}, {3})};
  expect_bytes(applied("QLinearAdd", operands), {3}, {3, 16, 255});
  expect_bytes(applied("QLinearMul", operands), {3}, {3, 43, 255});
  std::vector<onnx::TensorProto> chosen = {raw_tensor<std::uint8_t>("c", onnx::TensorProto::BOOL, {3}, {1, 0, 1})};
  for (const std::size_t i : {0, 3}) {
    for (std::size_t j = 0; j < 3; ++j) chosen.push_back(operands[i + j]);
  }
  chosen.push_back(operands[6]);
  chosen.push_back(operands[7]);
  expect_bytes(applied("QLinearWhere", chosen), {3}, {3, 11, 125});
}

TEST(ContribQuantized, PartsOfAConcatenationHaveScalesOfTheirOwn) {
  expect_bytes(applied("QLinearConcat",
                       {number("ys", 0.5f), bytes("yz", {}, {1}), bytes("a", {1, 2}, {2, 4}), number("as", 1),
                        bytes("az", {}, {0}), bytes("b", {1, 1}, {9}), number("bs", 0.25f), bytes("bz", {}, {5})},
                       {attribute("axis", 1)}),
               {1, 3}, {5, 9, 3});
}

TEST(ContribQuantized, PoolsInEitherLayout) {
  const std::vector<onnx::TensorProto> scales = {number("xs", 1), bytes("xz", {}, {0}), number("ys", 0.5f),
                                                 bytes("yz", {}, {10})};
  std::vector<onnx::TensorProto> inputs = {bytes("x", {1, 2, 2, 1}, {1, 2, 3, 6})};
  inputs.insert(inputs.end(), scales.begin(), scales.end());
  expect_bytes(applied("QLinearGlobalAveragePool", inputs, {attribute("channels_last", 1)}), {1, 1, 1, 1}, {16});
  expect_bytes(applied("QLinearGlobalAveragePool", inputs), {1, 2, 1, 1}, {13, 19});
  expect_bytes(
      applied("QLinearAveragePool", inputs, {attribute("channels_last", 1), attribute("kernel_shape", Ints{1, 2})}),
      {1, 2, 1, 1}, {13, 19});
}

TEST(ContribQuantized, ConvolutionsWithChannelsLast) {
  const auto weight = raw_tensor<std::int8_t>("w", onnx::TensorProto::INT8, {1, 2, 1, 1}, {1, 2});
  const auto zero = raw_tensor<std::int8_t>("wz", onnx::TensorProto::INT8, {}, {0});
  expect_bytes(applied("QLinearConv",
                       {bytes("x", {1, 1, 1, 2}, {3, 5}), number("xs", 1), bytes("xz", {}, {1}), weight,
                        number("ws", 0.5f), zero, number("ys", 0.5f), bytes("yz", {}, {3})},
                       {attribute("channels_last", 1)}),
               {1, 1, 1, 1}, {13});
}

TEST(ContribQuantized, ProductsCountFromTheirZeroPoints) {
  const auto a = bytes("a", {1, 2}, {3, 5}), b = bytes("b", {2, 2}, {1, 2, 3, 4});
  const auto az = bytes("az", {}, {1}), bz = bytes("bz", {2}, {1, 2}), bs = float_tensor("bs", {2}, {2, 4});
  const auto bias = float_tensor("bias", {2}, {100, 200});
  expect_floats(applied("MatMulIntegerToFloat", {a, b, number("as", 0.5f), bs, az, bz, bias}), {1, 2}, {108, 216});
  const auto c = raw_tensor<std::int32_t>("c", onnx::TensorProto::INT32, {2}, {2, -8});
  expect_floats(applied("QGemm", {a, number("as", 0.5f), az, b, bs, bz, c}), {1, 2}, {10, 0});
  expect_bytes(applied("QGemm", {a, number("as", 0.5f), az, b, bs, bz, c, number("ys", 4), bytes("yz", {}, {7})}),
               {1, 2}, {9, 7});
  expect_floats(
      applied("DynamicQuantizeMatMul", {float_tensor("x", {1, 2}, {0, 255}), b, number("s", 1), bytes("z", {}, {0})}),
      {1, 2}, {765, 1020});
}

TEST(ContribQuantized, WeightsOfFewBitsAreUnpackedLowestFirst) {
  const std::vector<float> ones(16, 1);
  const auto x = float_tensor("x", {1, 16}, ones), scale = float_tensor("s", {2, 1}, {1, 0.5f});
  const std::vector<onnx::AttributeProto> sizes = {attribute("K", 16), attribute("N", 2), attribute("block_size", 16)};
  const auto with_bits = [&](int bits) {
    auto attributes = sizes;
    attributes.push_back(attribute("bits", bits));
    return attributes;
  };
  Bytes four(16, 0x88);
  four[0] = 0x9a;  // 10 and 9, of which 8 is taken
  four[15] = 0x80;
  expect_floats(applied("MatMulNBits", {x, bytes("w", {2, 1, 8}, four), scale}, with_bits(4)), {1, 2}, {3, -4});
  Bytes two(8, 0xaa);
  two[0] = 0xab;
  expect_floats(applied("MatMulNBits", {x, bytes("w", {2, 1, 4}, two), scale}, with_bits(2)), {1, 2}, {1, 0});
  Bytes eight(32, 3);
  eight[31] = 5;
  const auto zero_points = bytes("z", {2, 1}, {3, 3});
  expect_floats(applied("MatMulNBits", {x, bytes("w", {2, 1, 16}, eight), scale, zero_points}, with_bits(8)), {1, 2},
                {0, 1});
  std::vector<float> first(16, 0);
  first[1] = 1;
  expect_floats(
      applied("MatMulNBits", {float_tensor("x", {1, 16}, first), bytes("w", {2, 1, 8}, four), scale}, with_bits(4)),
      {1, 2}, {1, 0});
  EXPECT_THROW(applied("MatMulNBits", {x, bytes("w", {2, 1, 8}, four), scale}, with_bits(3)), Error);
  EXPECT_THROW(applied("MatMulNBits", {x, bytes("w", {2, 1, 8}, four), scale},
                       {attribute("K", std::int64_t{1} << 50), attribute("N", 2), attribute("block_size", 16)}),
               Error);
}

/// An accuracy_level of four lets products round their rows to bytes; others do not.
TEST(ContribQuantized, WeightsWhoseRowsMayBeBytes) {
  for (const int level : {0, 1, 4}) {
    ModelBuilder model(17);
    model.import(kMicrosoft, 1).output("y").input("x", {3, 16}).constant(bytes("w", {2, 1, 8}, Bytes(16, 0x88)));
    model.constant(float_tensor("s", {2, 1}, {1, 0.5f}));
    model.node("MatMulNBits", {"x", "w", "s"}, {"y"},
               {attribute("K", 16), attribute("N", 2), attribute("block_size", 16), attribute("accuracy_level", level)},
               kMicrosoft);
    const Graph graph = model.import_graph();
    int found = 0;
    for (const Node& node : graph.nodes)
      if (const auto* op = std::get_if<Dequantize>(&node.op)) {
        ++found;
        EXPECT_EQ(op->byte_rows, level == 4) << level;
      }
    EXPECT_EQ(found, 1);
  }
}

/// What is wrong with a MatMulNBits is said in one line that names it.
TEST(ContribQuantized, WeightsOfFewBitsThatAreWrong) {
  const auto x = float_tensor("x", {1, 20}, std::vector<float>(20, 1));
  const auto refusal = [&](const std::vector<onnx::TensorProto>& weights, std::int64_t bits, std::int64_t block) {
    std::vector<onnx::TensorProto> inputs{x};
    inputs.insert(inputs.end(), weights.begin(), weights.end());
    try {
      applied("MatMulNBits", inputs,
              {attribute("K", 20), attribute("N", 2), attribute("bits", bits), attribute("block_size", block)});
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("MatMulNBits"), std::string::npos) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  const auto four = bytes("w", {2, 2, 8}, Bytes(32, 0x88)), scales = float_tensor("s", {4}, {1, 1, 1, 1});
  EXPECT_EQ(refusal({four, scales}, 4, 16), "nothing");
  EXPECT_NE(refusal({four, scales}, 3, 16).find("3 bits"), std::string::npos);
  EXPECT_NE(refusal({four, scales}, 4, 24).find("found 24"), std::string::npos);
  EXPECT_NE(refusal({four, scales}, 4, 8).find("found 8"), std::string::npos);
  EXPECT_NE(refusal({four, float_tensor("s", {3}, {1, 1, 1})}, 4, 16).find("expected 4 scales, found 3"),
            std::string::npos);
  EXPECT_NE(refusal({bytes("w", {2, 3, 8}, Bytes(48, 0x88)), scales}, 4, 16).find("expected 2 blocks"),
            std::string::npos);
  EXPECT_NE(refusal({bytes("w", {31}, Bytes(31, 0x88)), scales}, 4, 16).find("expected 32 bytes of weights, found 31"),
            std::string::npos);
  EXPECT_NE(
      refusal({four, scales, bytes("z", {3}, Bytes(3, 0x88))}, 4, 16).find("expected 2 bytes of zero points, found 3"),
      std::string::npos);
  EXPECT_NE(refusal({four, scales, float_tensor("z", {2}, {8, 8})}, 4, 16).find("expected 4 zero points, found 2"),
            std::string::npos);
}

/// Three rows of six weights: fields 0 to 15 and then 15 and 15, in blocks of sixteen, those of the second twice as
/// large.
TEST(ContribQuantized, FloatsOfFourBits) {
  const auto scales = float_tensor("s", {2}, {1, 2});
  Bytes packed(9, 0xff);
  for (int i = 0; i < 8; ++i) packed[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(2 * i << 4 | (2 * i + 1));
  const auto times = [&](std::vector<float> x, const std::vector<onnx::AttributeProto>& more, std::int64_t type) {
    std::vector<onnx::AttributeProto> attributes{attribute("N", 3), attribute("K", 6), attribute("block_size", 16),
                                                 attribute("quant_type", type)};
    attributes.insert(attributes.end(), more.begin(), more.end());
    const auto size = static_cast<std::int64_t>(x.size());
    return applied("MatMulBnb4", {float_tensor("x", {1, size}, std::move(x)), bytes("w", {9}, packed), scales},
                   attributes);
  };
  expect_floats(times({0, 0, 0, 1, 0, 0}, {}, 0), {1, 3}, {1, -5.2083333e-03f, -0.25f}, 1e-6f);
  expect_floats(times({0, 0, 0, 0, 0, 1}, {}, 0), {1, 3}, {0.5f, -1, -0.5f}, 1e-6f);
  expect_floats(times({1, 0, 0, 0, 0, 1}, {}, 1), {1, 3}, {-1.18477343f, 0.24686520f, 2.44070983f}, 1e-6f);
  expect_floats(times({0, 1, 0}, {attribute("transB", 0)}, 1), {1, 6},
                {-0.09105004f, 0, 0.0795803f, 0.1609302f, 0.2461123f, 0.33791524f}, 1e-6f);
  EXPECT_THROW(times({0, 0, 0, 0, 0, 1}, {}, 2), Error);
  EXPECT_THROW(times({0, 0, 0, 0, 0, 1}, {attribute("block_size", 12)}, 1), Error);
  packed.pop_back();
  EXPECT_THROW(times({0, 0, 0, 0, 0, 1}, {}, 1), Error);
}

TEST(ContribQuantized, ZeroPointsOfFewBitsArePackedOrFloats) {
  std::vector<float> terms(20, 0);
  terms[0] = 1, terms[17] = 2;
  const auto x = float_tensor("x", {1, 20}, terms), scales = float_tensor("s", {2, 2}, {1, 10, 100, 1000});
  Bytes four(32, 0x00);
  four[0] = 0x0f;       // (0, 0) is 15
  four[8] = 0x30;       // (0, 17) is 3
  four[16 + 8] = 0xf0;  // (1, 17) is 15
  const std::vector<onnx::AttributeProto> sizes = {attribute("K", 20), attribute("N", 2), attribute("bits", 4),
                                                   attribute("block_size", 16)};
  const auto product = [&](const onnx::TensorProto& zeros) {
    return applied("MatMulNBits", {x, bytes("w", {2, 2, 8}, four), scales, zeros}, sizes);
  };
  // zeros 15 and 0 of the first row, 0 and 15 of the second
  expect_floats(product(bytes("z", {2}, {0x0f, 0xf0})), {1, 2}, {0 + 2 * 30, 0 + 0});
  expect_floats(product(float_tensor("z", {2, 2}, {14.5f, 0, 0, 15})), {1, 2}, {0.5f + 60, 0});
  const auto groups = raw_tensor<std::int32_t>("g", onnx::TensorProto::INT32, {20}, std::vector<std::int32_t>(20, 1));
  expect_floats(applied("MatMulNBits",
                        {x, bytes("w", {2, 2, 8}, four), scales, bytes("z", {2}, {0x0f, 0xf0}), groups,
                         float_tensor("b", {2}, {5, 7})},
                        sizes),
                {1, 2}, {150 + 60 + 5, -15000 + 7});
}

TEST(ContribQuantized, GatheredRowsAreDequantised) {
  Bytes table(16, 0x88);
  table[8] = 0xf8;
  const std::vector<onnx::TensorProto> inputs = {bytes("x", {2, 8}, table), int_tensor("i", {1}, {1}),
                                                 float_tensor("s", {2, 1}, {1, 2})};
  std::vector<float> expected(16, 0);
  expected[1] = 14;
  expect_floats(applied("GatherBlockQuantized", inputs, {attribute("block_size", 16)}), {1, 16}, expected);
  EXPECT_THROW(applied("GatherBlockQuantized", inputs, {attribute("block_size", 24)}), Error);
}

TEST(ContribQuantized, EmbeddingsAreDequantisedByTable) {
  const auto ids = raw_tensor<std::int32_t>("ids", onnx::TensorProto::INT32, {1, 1}, {0});
  onnx::TensorProto absent;
  std::vector<onnx::TensorProto> inputs = {ids,
                                           absent,
                                           bytes("words", {1, 2}, {3, 5}),
                                           bytes("places", {1, 2}, {1, 1}),
                                           absent,
                                           bytes("gamma", {2}, {2, 2}),
                                           bytes("beta", {2}, {0, 1}),
                                           absent};
  for (const char* name : {"ws", "ps", "", "gs", "bs"}) {
    inputs.push_back(*name == 0 ? absent : number(name, name[0] == 'p' ? 2 : 1));
  }
  for (const char* name : {"wz", "pz", "", "gz", "bz"}) {
    inputs.push_back(*name == 0 ? absent : bytes(name, {}, {static_cast<std::uint8_t>(name[0] == 'w' ? 1 : 0)}));
  }
  expect_floats(applied("QEmbedLayerNormalization", inputs), {1, 1, 2}, {-2, 3});
}

TEST(ContribQuantized, RecurrentWeightsAreTransposedAndScaled) {
  ModelBuilder plain(17);
  plain.import(kMicrosoft, 1).input("x", {2, 1, 1}).output("y").output("z");
  const Bytes weight = {1, 2, 3, 4}, recurrent = {5, 6, 7, 8};
  plain.constant(bytes("w", {1, 1, 4}, weight)).constant(bytes("r", {1, 1, 4}, recurrent));
  plain.constant(float_tensor("ws", {1}, {0.5f})).constant(bytes("wz", {1}, {2}));
  plain.constant(float_tensor("rs", {1, 4}, {0.1f, 0.2f, 0.3f, 0.4f})).constant(bytes("rz", {1, 4}, {5, 5, 5, 5}));
  plain.constant(float_tensor("wf", {1, 4, 1}, {-0.5f, 0, 0.5f, 1}));
  plain.constant(float_tensor("rf", {1, 4, 1}, {0, 0.2f, 0.6f, 1.2f}));
  plain.node("DynamicQuantizeLSTM", {"x", "w", "r", "", "", "", "", "", "ws", "wz", "rs", "rz"}, {"y"},
             {attribute("hidden_size", 1)}, kMicrosoft);
  plain.node("LSTM", {"x", "wf", "rf"}, {"z"}, {attribute("hidden_size", 1)});
  const auto found = evaluate(plain, {floats({2, 1, 1}, {1, -2})});
  const auto expected = found[1].values<float>();
  expect_floats(found[0], {2, 1, 1, 1}, std::vector<float>(expected.begin(), expected.end()));
}

}  // namespace
}  // namespace colonnade::onnx_import::testing::quantized
