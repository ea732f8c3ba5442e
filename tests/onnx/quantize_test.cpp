// SPDX-License-Identifier: Apache-2.0
// Quantised operators against their definitions, bit by bit.
#include <bit>
#include <random>

#include "base/half.hpp"
#include "numbers.hpp"

namespace colonnade::onnx_import::testing {
namespace {

struct Argument {
  Tensor tensor;
  bool is_constant = false;
};

/// One node on these arguments; constants become initializers, others inputs.
std::vector<Tensor> outputs_of(const std::string& op, const std::vector<Argument>& arguments, DType result,
                               std::vector<onnx::AttributeProto> attributes = {}, std::int64_t opset = 25) {
  ModelBuilder model(opset);
  std::vector<Tensor> inputs;
  Names names;
  for (const Argument& argument : arguments) {
    names.push_back("x" + std::to_string(names.size()));
    const Tensor& given = argument.tensor;
    if (argument.is_constant) {
      onnx::TensorProto proto;
      EXPECT_TRUE(proto.ParseFromString(serialize_tensor(given, names.back())));
      model.constant(proto);
    } else {
      model.input(names.back(), given.shape(), data_type_of(given.dtype()));
      inputs.push_back(given);
    }
  }
  model.output("y", data_type_of(result)).node(op, names, {"y"}, attributes);
  return evaluate(model, inputs);
}

Tensor text_of_one() {
  Tensor text(DType::string, {});
  text.strings() = {"1"};
  return text;
}

template <class... Arguments>
Tensor run(const std::string& op, DType result, const Arguments&... arguments) {
  return std::move(outputs_of(op, {Argument{arguments}...}, result).front());
}

struct Range {
  DType dtype;
  int low, high;
};
constexpr Range kRanges[] = {{DType::i8, -128, 127}, {DType::u8, 0, 255}, {DType::i16, -32768, 32767},
                             {DType::u16, 0, 65535}, {DType::i4, -8, 7},  {DType::u4, 0, 15},
                             {DType::i2, -2, 1},     {DType::u2, 0, 3}};

/// Ties, numbers around them, both ends of the range, far beyond.
std::vector<float> interesting(float scale, int low, int high) {
  std::vector<float> values = {0.0f, -0.0f, 1e30f, -1e30f, 1e-30f};
  const int step = std::max(1, (high - low) / 300);
  for (int q = low - 3; q <= high + 3; q += step) {
    for (const float offset : {0.0f, 0.5f, 0.49999997f, 0.50000006f}) {
      values.push_back((static_cast<float>(q) + offset) * scale);
    }
  }
  return values;
}

TEST(QuantizeLinear, RoundsTiesToEvenAndSaturates) {
  for (const Range& range : kRanges) {
    for (const float scale : {1.0f, 0.5f, 0.1f, 3.7e-3f}) {
      for (const int zero : {0, 1, range.low, range.high}) {
        const std::vector<float> values = interesting(scale, range.low - zero, range.high - zero);
        const Tensor x = floats({static_cast<std::int64_t>(values.size())}, values);
        const Tensor zero_point = tensor(range.dtype, {}, {static_cast<double>(zero)});
        for (const bool constant : {false, true}) {
          const Tensor y = std::move(
              outputs_of("QuantizeLinear", {{x}, {floats({}, {scale}), true}, {zero_point, constant}}, range.dtype)
                  .front());
          const Numbers found = numbers(y);
          for (std::size_t i = 0; i < values.size(); ++i) {
            const double quotient = static_cast<double>(values[i] / scale);
            const double expected = std::clamp<double>(std::nearbyint(quotient) + zero, range.low, range.high);
            ASSERT_EQ(found[i], expected)
                << name_of(range.dtype) << ' ' << values[i] << " / " << scale << " + " << zero;
          }
        }
      }
    }
  }
}

TEST(DequantizeLinear, EveryByteWithEveryZeroPoint) {
  for (const DType dtype : {DType::i8, DType::u8}) {
    const int low = dtype == DType::i8 ? -128 : 0;
    Numbers all(256);
    std::iota(all.begin(), all.end(), low);
    const Tensor x = tensor(dtype, {256}, all);
    for (int zero = low; zero < low + 256; zero += 5) {
      for (const float scale : {1.0f, 0.1f, 7.3e-5f}) {
        const Tensor y =
            run("DequantizeLinear", DType::f32, x, floats({}, {scale}), tensor(dtype, {}, {static_cast<double>(zero)}));
        for (std::size_t i = 0; i < 256; ++i) {
          const float expected = static_cast<float>(all[i] - zero) * scale;
          ASSERT_EQ(std::bit_cast<std::uint32_t>(y.values<float>()[i]), std::bit_cast<std::uint32_t>(expected));
        }
      }
    }
  }
}

TEST(DequantizeLinear, EveryMinifloat) {
  for (const DType dtype : {DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz, DType::f4e2m1,
                            DType::f6e2m3, DType::f6e3m2}) {
    Tensor x(dtype, {256});
    for (unsigned i = 0; i < 256; ++i) x.values<std::uint8_t>()[i] = element_of_bits(dtype, i);
    const Numbers values = numbers(x);
    const Tensor y = run("DequantizeLinear", DType::f32, x, floats({}, {0.3f}));
    const Tensor back = run("QuantizeLinear", dtype, y, floats({}, {0.3f}), tensor(dtype, {}, {0}));
    const Numbers again = numbers(back);
    for (std::size_t i = 0; i < 256; ++i) {
      const float expected = static_cast<float>(values[i]) * 0.3f;
      const bool is_nan = std::isnan(expected);
      ASSERT_TRUE(y.values<float>()[i] == expected || (is_nan && std::isnan(y.values<float>()[i])));
      if (!std::isinf(expected)) {
        ASSERT_TRUE(again[i] == values[i] || (is_nan && std::isnan(again[i]))) << name_of(dtype) << ' ' << values[i];
      }
    }
  }
}

TEST(QuantizeLinear, ByAxisAndInBlocks) {
  const Tensor x = floats({2, 5}, {1, 2, 3, 4, 5, -1, -2, -3, -4, -5});
  const Numbers values = numbers(x);
  const Tensor by_row =
      std::move(outputs_of("QuantizeLinear", {{x}, {floats({2}, {0.5f, 0.3f})}, {tensor(DType::i8, {2}, {3, -2})}},
                           DType::i8, {attribute("axis", 0)})
                    .front());
  const Tensor blocked = std::move(outputs_of("QuantizeLinear",
                                              {{x},
                                               {floats({2, 3}, {0.5f, 0.3f, 0.7f, 0.1f, 0.2f, 0.9f})},
                                               {tensor(DType::u8, {2, 3}, {128, 7, 9, 200, 100, 50})}},
                                              DType::u8, {attribute("axis", -1), attribute("block_size", 2)})
                                       .front());
  const float row_scales[] = {0.5f, 0.3f}, scales[] = {0.5f, 0.3f, 0.7f, 0.1f, 0.2f, 0.9f};
  const double row_zeros[] = {3, -2}, zeros[] = {128, 7, 9, 200, 100, 50};
  for (std::size_t i = 0; i < 10; ++i) {
    const std::size_t row = i / 5, block = row * 3 + i % 5 / 2;
    const auto quotient = [&](float scale) { return static_cast<double>(static_cast<float>(values[i]) / scale); };
    EXPECT_EQ(numbers(by_row)[i],
              std::clamp(std::nearbyint(quotient(row_scales[row])) + row_zeros[row], -128.0, 127.0));
    EXPECT_EQ(numbers(blocked)[i], std::clamp(std::nearbyint(quotient(scales[block])) + zeros[block], 0.0, 255.0));
  }
}

TEST(DequantizeLinear, BlocksOfAnUnknownAxis) {
  ModelBuilder model(25);
  model.input("x", {2, -1}, onnx::TensorProto::INT8).input("s", {2, -1}).output("y");
  model.node("DequantizeLinear", {"x", "s"}, {"y"}, {attribute("axis", 1), attribute("block_size", 3)});
  const Tensor x = tensor(DType::i8, {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor y = std::move(evaluate(model, {x, floats({2, 2}, {1, 10, 100, 1000})}).front());
  expect_floats(y, {2, 4}, {1, 2, 3, 40, 500, 600, 700, 8000});
}

TEST(QuantizeLinear, DividesInThePrecisionOfTheScale) {
  // 2049 / 7 = 292.71 is a tie in no type; in float16, 2049 is 2048 and quotients have steps of 0.25
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-60, 60);
  std::vector<float> values(500);
  for (float& value : values) value = uniform(random);
  const Tensor x = floats({500}, values), scale = tensor(DType::f16, {}, {0.37});
  const Tensor zero = tensor(DType::i16, {}, {11});
  const Tensor narrow = run("QuantizeLinear", DType::i16, x, scale, zero);
  const Tensor wide = std::move(outputs_of("QuantizeLinear", {{x}, {scale}, {zero}}, DType::i16,
                                           {attribute("precision", static_cast<int>(onnx::TensorProto::FLOAT))})
                                    .front());
  const float held = f16_to_float(float_to_f16(0.37f));
  int different = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float half = f16_to_float(float_to_f16(values[i]));
    const float quotient = f16_to_float(float_to_f16(half / held));
    EXPECT_EQ(numbers(narrow)[i], std::nearbyint(quotient) + 11) << values[i];
    EXPECT_EQ(numbers(wide)[i], std::nearbyint(values[i] / held) + 11) << values[i];
    different += numbers(narrow)[i] != numbers(wide)[i] ? 1 : 0;
  }
  EXPECT_GT(different, 0);
}

TEST(QuantizeLinear, BadArgumentsAreRefused) {
  const Tensor x = floats({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto refused = [&](const Tensor& scale, const std::vector<onnx::AttributeProto>& attributes) {
    try {
      outputs_of("QuantizeLinear", {{x}, {scale}}, DType::u8, attributes);
    } catch (const Error& error) {
      return error.code() == ErrorCode::invalid_model || error.code() == ErrorCode::invalid_input;
    }
    return false;
  };
  EXPECT_FALSE(refused(floats({}, {1}), {}));
  EXPECT_TRUE(refused(floats({3}, {1, 2, 3}), {}));
  EXPECT_TRUE(refused(floats({4}, {1, 2, 3, 4}), {attribute("axis", 2)}));
  EXPECT_TRUE(refused(floats({2, 2}, {1, 2, 3, 4}), {}));
  EXPECT_TRUE(refused(floats({2, 2}, {1, 2, 3, 4}), {attribute("block_size", 3)}) == false);
  EXPECT_TRUE(refused(floats({2, 2}, {1, 2, 3, 4}), {attribute("block_size", 1)}));
  EXPECT_TRUE(refused(floats({2, 2}, {1, 2, 3, 4}), {attribute("block_size", std::int64_t{1} << 62)}));
  EXPECT_TRUE(refused(floats({2, 2}, {1, 2, 3, 4}), {attribute("block_size", -1)}));
  EXPECT_TRUE(refused(floats({}, {1}), {attribute("output_dtype", 7)}));
  EXPECT_TRUE(refused(floats({}, {1}), {attribute("precision", 2)}));
}

TEST(QuantisedOperators, TypesThatDisagreeAreRefused) {
  const Tensor bytes = tensor(DType::u8, {2, 2}, {1, 2, 3, 4}), one = floats({}, {1});
  const Tensor zero = tensor(DType::i8, {}, {0}), image = tensor(DType::u8, {1, 1, 2, 2}, {1, 2, 3, 4});
  const Tensor byte = tensor(DType::u8, {}, {0}), text = text_of_one();
  EXPECT_THROW(run("DequantizeLinear", DType::f32, bytes, one, zero), Error);
  EXPECT_THROW(run("DequantizeLinear", DType::f32, bytes, text), Error);
  EXPECT_THROW(run("QuantizeLinear", DType::u8, floats({1}, {1}), text), Error);
  EXPECT_THROW(run("QuantizeLinear", DType::u8, floats({1}, {1}), one, text), Error);
  EXPECT_THROW(run("QuantizeLinear", DType::u8, floats({1}, {1}), byte), Error);
  EXPECT_THROW(run("MatMulInteger", DType::i32, bytes, bytes, zero), Error);
  EXPECT_THROW(run("MatMulInteger", DType::i32, floats({1, 1}, {1}), bytes), Error);
  EXPECT_THROW(run("QLinearConv", DType::u8, image, one, byte, image, one, byte, one, byte, floats({1}, {1})), Error);
}

TEST(DynamicQuantizeLinear, FollowsItsDefinition) {
  for (const std::vector<float>& values : {std::vector<float>{0, 2, -3, -2.5f, 1.34f, 0.5f},
                                           {-1, -2.1f, -1.3f},
                                           {1, 2.1f, 1.3f},
                                           {0, 0},
                                           {0, 1, 0},
                                           {-4, 0}}) {
    ModelBuilder model(11);
    const auto count = static_cast<std::int64_t>(values.size());
    model.input("x", {count}).output("y", onnx::TensorProto::UINT8).output("s").output("z", onnx::TensorProto::UINT8);
    model.node("DynamicQuantizeLinear", {"x"}, {"y", "s", "z"});
    const std::vector<Tensor> found = evaluate(model, {floats({count}, values)});
    const float least = std::min(0.0f, *std::min_element(values.begin(), values.end()));
    const float most = std::max(0.0f, *std::max_element(values.begin(), values.end()));
    const float scale = most == least ? 1 : (most - least) / 255;
    const double zero = std::clamp<double>(std::nearbyint(-least / scale), 0, 255);
    EXPECT_EQ(found[1].values<float>()[0], scale);
    EXPECT_EQ(found[1].shape(), Shape{});
    EXPECT_EQ(numbers(found[2]), Numbers{zero});
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(numbers(found[0])[i], std::clamp<double>(std::nearbyint(values[i] / scale) + zero, 0, 255));
    }
  }
}

Tensor random_bytes(DType dtype, const Shape& shape, std::uint32_t seed) {
  std::mt19937 random(seed);
  Tensor result(dtype, shape);
  for (std::uint8_t& byte : result.values<std::uint8_t>()) byte = static_cast<std::uint8_t>(random());
  return result;
}

/// Sums over k of (a[m][k] - a_zero[m]) * (b[k][n] - b_zero[n]).
Ints product_of(const Tensor& a, const Numbers& a_zero, const Tensor& b, const Numbers& b_zero) {
  const auto rows = static_cast<std::size_t>(a.shape()[0]), depth = static_cast<std::size_t>(a.shape()[1]),
             columns = static_cast<std::size_t>(b.shape()[1]);
  const Numbers x = numbers(a), y = numbers(b);
  Ints sums;
  for (std::size_t m = 0; m < rows; ++m) {
    for (std::size_t n = 0; n < columns; ++n) {
      double sum = 0;
      for (std::size_t k = 0; k < depth; ++k) {
        sum += (x[m * depth + k] - a_zero[m % a_zero.size()]) * (y[k * columns + n] - b_zero[n % b_zero.size()]);
      }
      sums.push_back(static_cast<std::int64_t>(sum));
    }
  }
  return sums;
}

TEST(MatMulInteger, IsExactAtAnyDepth) {
  std::uint32_t seed = 1;
  for (const std::int64_t depth : {1, 7, 250, 1000}) {
    for (const DType left : {DType::u8, DType::i8}) {
      for (const bool constant : {false, true}) {
        const Tensor a = random_bytes(left, {3, depth}, seed++), b = random_bytes(DType::i8, {depth, 5}, seed++);
        const Numbers a_zero = left == DType::u8 ? Numbers{130, 1, 255} : Numbers{-3, 0, 127},
                      b_zero = {1, 2, 3, -4, 5};
        const Tensor y = std::move(
            outputs_of("MatMulInteger",
                       {{a}, {b, constant}, {tensor(left, {3}, a_zero), constant}, {tensor(DType::i8, {5}, b_zero)}},
                       DType::i32)
                .front());
        ASSERT_EQ(y.shape(), (Shape{3, 5}));
        EXPECT_EQ(reference::load_all<std::int64_t>(y), product_of(a, a_zero, b, b_zero)) << depth;
      }
    }
  }
}

TEST(MatMulInteger, TakesOneZeroPointOffEachMatrix) {
  for (const std::int64_t depth : {4, 255, 256, 257, 700}) {
    const Tensor a = random_bytes(DType::u8, {3, depth}, 50), b = random_bytes(DType::i8, {depth, 20}, 51);
    const Argument zero{tensor(DType::i8, {1}, {-77}), depth % 2 == 1};
    const Tensor y = run("MatMulInteger", DType::i32, a, b, tensor(DType::u8, {}, {130}), zero);
    EXPECT_EQ(reference::load_all<std::int64_t>(y), product_of(a, {130}, b, {-77})) << depth;
  }
}

/// A zero point that is not there was looked at where its value would lie.
TEST(MatMulInteger, NeedsNoZeroPoints) {
  for (const DType left : {DType::u8, DType::i8})
    for (const DType right : {DType::u8, DType::i8})
      for (const std::int64_t depth : {1, 6, 301}) {
        const Tensor a = random_bytes(left, {3, depth}, 7), b = random_bytes(right, {depth, 20}, 8);
        const Tensor y = run("MatMulInteger", DType::i32, a, b);
        ASSERT_EQ(y.shape(), (Shape{3, 20}));
        EXPECT_EQ(reference::load_all<std::int64_t>(y), product_of(a, {0}, b, {0})) << depth;
      }
}

TEST(QLinearMatMul, RoundsTheScaledSums) {
  for (const std::int64_t depth : {4, 64, 900}) {
    const Tensor a = random_bytes(DType::u8, {3, depth}, 5), b = random_bytes(DType::u8, {depth, 4}, 6);
    const Numbers a_zero = {113}, b_zero = {114};
    const float a_scale = 0.0066f, b_scale = 0.00705f, y_scale = 0.0107f * static_cast<float>(depth);
    const Tensor y =
        run("QLinearMatMul", DType::u8, a, floats({}, {a_scale}), tensor(DType::u8, {}, a_zero), b,
            floats({}, {b_scale}), tensor(DType::u8, {}, b_zero), floats({}, {y_scale}), tensor(DType::u8, {}, {118}));
    const Ints sums = product_of(a, a_zero, b, b_zero);
    const float scale = a_scale * b_scale / y_scale;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double expected = std::nearbyint(static_cast<float>(sums[i]) * scale) + 118;
      EXPECT_EQ(numbers(y)[i], std::clamp(expected, 0.0, 255.0)) << depth;
    }
  }
}

/// A 3x3 convolution of one image with padding 1, plainly.
Ints convolved(const Tensor& x, double x_zero, const Tensor& w, const Numbers& w_zero, const Ints& bias) {
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  const std::int64_t inputs = x.shape()[1], size = x.shape()[2], outputs = w.shape()[0];
  const Numbers pixels = numbers(x), weights = numbers(w);
  Ints sums;
  for (std::int64_t o = 0; o < outputs; ++o) {
    for (std::int64_t p = 0; p < size * size; ++p) {
      double sum = static_cast<double>(bias[at(o) % bias.size()]);
      for (std::int64_t c = 0; c < inputs; ++c) {
        for (std::int64_t k = 0; k < 9; ++k) {
          const std::int64_t i = p / size + k / 3 - 1, j = p % size + k % 3 - 1;
          if (i < 0 || j < 0 || i >= size || j >= size) continue;
          sum += (pixels[at((c * size + i) * size + j)] - x_zero) *
                 (weights[at((o * inputs + c) * 9 + k)] - w_zero[at(o) % w_zero.size()]);
        }
      }
      sums.push_back(static_cast<std::int64_t>(sum));
    }
  }
  return sums;
}

TEST(QLinearConv, IsExactInFloatAndInIntegers) {
  for (const std::int64_t channels : {2, 100}) {
    for (const bool constant : {false, true}) {
      const Tensor x = random_bytes(DType::u8, {1, channels, 6, 6}, 8);
      const Tensor w = random_bytes(DType::i8, {3, channels, 3, 3}, 9);
      const Ints bias = {1000, -70000, 123456};
      const Numbers w_zero = {1, -2, 3};
      const float scales[] = {0.001f, 0.002f, 0.0005f};
      const float y_scale = 0.3f * static_cast<float>(channels);
      const Tensor y = std::move(outputs_of("QLinearConv",
                                            {{x},
                                             {floats({}, {0.02f})},
                                             {tensor(DType::u8, {}, {121}), constant},
                                             {w, constant},
                                             {floats({3}, {scales, scales + 3})},
                                             {tensor(DType::i8, {3}, w_zero), constant},
                                             {floats({1}, {y_scale})},
                                             {tensor(DType::i8, {}, {-9})},
                                             {tensor(DType::i32, {3}, {bias.begin(), bias.end()}), constant}},
                                            DType::i8, {attribute("pads", Ints{1, 1, 1, 1})})
                                     .front());
      ASSERT_EQ(y.shape(), (Shape{1, 3, 6, 6}));
      const Ints sums = convolved(x, 121, w, w_zero, bias);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const float scale = 0.02f * scales[i / 36] / y_scale;
        const double expected = std::nearbyint(static_cast<float>(sums[i]) * scale) - 9;
        ASSERT_EQ(numbers(y)[i], std::clamp(expected, -128.0, 127.0)) << channels << " at " << i;
      }
    }
  }
}

TEST(ConvInteger, IsExact) {
  const Tensor x = random_bytes(DType::u8, {1, 2, 5, 5}, 8), w = random_bytes(DType::u8, {4, 2, 3, 3}, 9);
  const Tensor y = std::move(
      outputs_of("ConvInteger", {{x}, {w}, {tensor(DType::u8, {}, {7})}, {tensor(DType::u8, {4}, {1, 2, 3, 255})}},
                 DType::i32, {attribute("pads", Ints{1, 1, 1, 1})})
          .front());
  EXPECT_EQ(reference::load_all<std::int64_t>(y), convolved(x, 7, w, {1, 2, 3, 255}, {0}));
  EXPECT_THROW(run("ConvInteger", DType::i32, floats({1, 2, 5, 5}, std::vector<float>(50)), w), Error);
}

}  // namespace
}  // namespace colonnade::onnx_import::testing
