// SPDX-License-Identifier: Apache-2.0
#include "frontends/cli/text.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "frontends/cli/bench_result.hpp"
#include "frontends/cli/compare.hpp"
#include "frontends/cli/model_io.hpp"
#include "frontends/cli/numbers.hpp"

namespace colonnade::cli {
namespace {

TEST(Text, ParsesBytes) {
  EXPECT_EQ(parse_bytes("0"), 0u);
  EXPECT_EQ(parse_bytes("512"), 512u);
  EXPECT_EQ(parse_bytes("3K"), 3072u);
  EXPECT_EQ(parse_bytes("64m"), std::size_t{64} << 20);
  EXPECT_EQ(parse_bytes("2GiB"), std::size_t{2} << 30);
  for (const char* text : {"", "K", "-1", "1.5M", "1T", "12x", "9999999999999999", "999999999999999G"})
    EXPECT_THROW(parse_bytes(text), Error) << text;
}

TEST(Text, ParsesShapes) {
  EXPECT_EQ(parse_shape("7"), Shape{7});
  EXPECT_EQ(parse_shape("1x3x224x224"), (Shape{1, 3, 224, 224}));
  EXPECT_EQ(parse_shape("2,0,5"), (Shape{2, 0, 5}));
  for (const char* text : {"", "x", "1x", "x1", "1xx2", "-1x2", "1x2.5", "ax2", "99999999999999999999"})
    EXPECT_THROW(parse_shape(text), Error) << text;
}

TEST(Text, FormatsForPeople) {
  EXPECT_EQ(human_bytes(512), "512 B");
  EXPECT_EQ(human_bytes(1536), "1.50 KiB");
  EXPECT_EQ(human_ms(0.0421), "42.1 us");
  EXPECT_EQ(human_ms(3.5), "3.500 ms");
  EXPECT_EQ(human_ms(NAN), "-");
  EXPECT_EQ(human_count(3.47e9), "3.47 G");
  EXPECT_EQ(one_line("a\nb\t\x1b[31m\n"), "a b  [31m");
  EXPECT_EQ(shortened("abcdefghij", 6), "ab..ij");
  EXPECT_EQ(shape_text({1, -1, 3}), "1x?x3");
}

TEST(Text, JsonHoldsNoNan) {
  EXPECT_TRUE(finite(NAN).is_null());
  EXPECT_TRUE(finite(INFINITY).is_null());
  EXPECT_EQ(number_in(parse_json(R"({"a":"x"})"), "a", 7), 7);
  EXPECT_THROW(parse_json("{"), Error);
}

Tensor floats(const std::vector<double>& values, DType dtype = DType::f32) {
  return from_doubles(dtype, {static_cast<std::int64_t>(values.size())}, values);
}

TEST(Compare, ToleranceFollowsTheLargestExpectedElement) {
  const Tensor expected = floats({100, 0});
  const Tolerance tolerance = tolerance_of(DType::f32, Math::fast);
  EXPECT_TRUE(compare(floats({100, 0.009}), expected, tolerance).equal);
  const Comparison wrong = compare(floats({100, 0.02}), expected, tolerance);
  EXPECT_FALSE(wrong.equal);
  EXPECT_EQ(wrong.wrong_elements, 1);
  EXPECT_NEAR(wrong.largest_difference, 0.02, 1e-6);
  EXPECT_NE(wrong.mismatch.find("[1]"), std::string::npos);
  EXPECT_FALSE(compare(floats({100, 0.009}), expected, tolerance_of(DType::f32, Math::exact)).equal);
}

TEST(Compare, NanAndInfinityEqualThemselvesOnly) {
  const Tolerance tolerance = tolerance_of(DType::f32, Math::fast);
  EXPECT_TRUE(compare(floats({NAN, INFINITY, -INFINITY}), floats({NAN, INFINITY, -INFINITY}), tolerance).equal);
  EXPECT_FALSE(compare(floats({1}), floats({NAN}), tolerance).equal);
  EXPECT_FALSE(compare(floats({NAN}), floats({1}), tolerance).equal);
  EXPECT_FALSE(compare(floats({-INFINITY}), floats({INFINITY}), tolerance).equal);
  EXPECT_FALSE(compare(floats({1e30}), floats({INFINITY}), tolerance).equal);
}

TEST(Compare, OtherTypesAndShapesAreExact) {
  EXPECT_TRUE(compare(floats({1, 2}, DType::i64), floats({1, 2}, DType::i64), {}).equal);
  EXPECT_FALSE(compare(floats({1, 3}, DType::i64), floats({1, 2}, DType::i64), {}).equal);
  EXPECT_FALSE(compare(floats({1, 2}, DType::i32), floats({1, 2}, DType::i64), {}).equal);
  EXPECT_FALSE(compare(floats({1, 2}), floats({1, 2, 3}), {}).equal);
  Tensor text(DType::string, {1});
  Tensor other = text;
  other.strings()[0] = "x";
  EXPECT_TRUE(compare(text, text, {}).equal);
  EXPECT_FALSE(compare(text, other, {}).equal);
}

TEST(Bench, PercentilesInterpolate) {
  BenchResult result;
  result.latencies_ms = {1, 2, 3, 4, 5};
  result.elapsed_ms = 15;
  EXPECT_DOUBLE_EQ(result.percentile(0.5), 3);
  EXPECT_DOUBLE_EQ(result.percentile(0.9), 4.6);
  EXPECT_DOUBLE_EQ(result.percentile(1), 5);
  EXPECT_DOUBLE_EQ(result.mean_ms(), 3);
  EXPECT_NEAR(result.runs_per_s(), 333.333, 1e-3);
}

TEST(Bench, OperatorsAreSortedByTimeAndJoinedWithTheirFlop) {
  BenchResult result;
  result.latencies_ms = {1};
  result.description = parse_json(
      R"({"segments":[{"index":0,"flop":3e6,"operators":[{"node":"a","flop":1e6},{"node":"b","flop":2e6}]}]})");
  result.profile =
      parse_json(R"({"segments":[{"index":0,"ms":3}],"operators":[{"node":"a","op":"Conv","segment":0,"ms":1},
                                 {"node":"b","op":"Conv","segment":0,"ms":2}]})");
  const Json json = to_json(result);
  EXPECT_EQ(json["operators"][0]["node"], "b");
  EXPECT_DOUBLE_EQ(json["operators"][0]["gflops"].get<double>(), 1.0);
  EXPECT_DOUBLE_EQ(json["segments"][0]["gflops"].get<double>(), 1.0);
  EXPECT_EQ(dump(json).find("nan"), std::string::npos);
}

std::vector<TensorInfo> two_sequences() {
  return {{"ids", DType::i64, {-1, -1}, {"batch", "sequence"}}, {"mask", DType::i64, {-1, -1}, {"batch", "sequence"}}};
}

TEST(Shapes, OneSymbolHasOneSize) {
  const ShapeMap map = shape_overrides(two_sequences(), {.shapes = {"ids:2x128"}});
  EXPECT_EQ(map.at("ids"), (Shape{2, 128}));
  EXPECT_EQ(map.at("mask"), (Shape{2, 128}));
}

TEST(Shapes, AQuestionMarkIsNoSymbol) {
  const std::vector<TensorInfo> inputs{{"x", DType::f32, {-1, 3, -1}, {"?", "", "?"}}, {"y", DType::f32, {-1}, {"?"}}};
  const ShapeMap map = shape_overrides(inputs, {.shapes = {"x:2x3x64"}});
  EXPECT_EQ(map.at("x"), (Shape{2, 3, 64}));
  EXPECT_EQ(map.at("y"), (Shape{1}));
}

TEST(Shapes, BatchFillsOpenFirstDimensions) {
  const ShapeMap map = shape_overrides(two_sequences(), {.shapes = {}, .batch = 4});
  EXPECT_EQ(map.at("mask"), (Shape{4, 1}));
  const std::vector<TensorInfo> fixed{{"x", DType::f32, {1, 8}, {}}};
  EXPECT_THROW(shape_overrides(fixed, {.shapes = {}, .batch = 4}), Error);
  EXPECT_TRUE(shape_overrides(fixed, ShapeOptions{}).empty());
}

TEST(Shapes, RefusesUnknownNamesAndRanks) {
  EXPECT_THROW(shape_overrides(two_sequences(), {.shapes = {"words:1x2"}}), Error);
  EXPECT_THROW(shape_overrides(two_sequences(), {.shapes = {"ids:1x2x3"}}), Error);
  EXPECT_THROW(shape_overrides(two_sequences(), {.shapes = {"1x2"}}), Error);
}

}  // namespace
}  // namespace colonnade::cli
