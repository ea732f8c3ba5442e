// SPDX-License-Identifier: Apache-2.0
// Operators with definitions of their own, where ONNX's cases do not reach: empty tensors, older versions, hostile
// attributes and data.
#include "opaque.hpp"

namespace colonnade::onnx_import::testing {
namespace {

using namespace opaque;

TEST(Opaque, SuppressionOfNothing) {
  const Subject subject{"NonMaxSuppression", 11};
  expect_ints(subject.one({floats({1, 0, 4}, {}), floats({1, 1, 0}, {}), scalar_int(3)}), {0, 3}, {});
  expect_ints(subject.one({floats({1, 1, 4}, {0, 0, 1, 1}), floats({1, 1, 1}, {1})}), {0, 3}, {});
  subject.refuses({floats({1, 2, 4}, std::vector<float>(8)), floats({1, 1, 3}, {1, 2, 3}), scalar_int(3)}, "boxes");
  const Tensor odd = floats({1, 2, 4}, {0, 0, 1, 1, kNan, 0, 1, 1});
  expect_ints(subject.one({odd, floats({1, 1, 2}, {1, 2}), scalar_int(9)}), {2, 3}, {0, 0, 1, 0, 0, 0});
}

TEST(Opaque, RegionsOfAConstantImage) {
  const Tensor image = floats({1, 1, 4, 4}, std::vector<float>(16, 3)), batch = integers({1}, {0});
  for (const std::int64_t opset : {10, 16, 22}) {
    const Subject subject{"RoiAlign", opset, {attribute("output_height", 2), attribute("output_width", 1)}};
    expect_floats(subject.one({image, floats({1, 4}, {1, 1, 3, 3}), batch}), {1, 1, 2, 1}, {3, 3});
    expect_floats(subject.one({image, floats({0, 4}, {}), integers({0}, {})}), {0, 1, 2, 1}, {});
    subject.refuses({image, floats({1, 4}, {0, 0, 1e30f, 1}), batch}, "samples");
    subject.refuses({image, floats({1, 4}, {0, 0, 1, kNan}), batch}, "samples");
    subject.refuses({image, floats({1, 4}, {0, 0, 1, 1}), integers({1}, {1})}, "batch index 1");
  }
  const Subject hostile{"RoiAlign", 16, {attribute("output_height", std::int64_t{-1})}};
  hostile.refuses({image, floats({1, 4}, {0, 0, 1, 1}), batch}, "output size");
}

TEST(Opaque, LargestOfRegions) {
  const Subject subject{"MaxRoiPool", 13, {attribute("pooled_shape", Ints{2, 2})}};
  const Tensor image = counting({1, 1, 4, 4});
  expect_floats(subject.one({image, floats({1, 5}, {0, 0, 0, 3, 3})}), {1, 1, 2, 2}, {5, 7, 13, 15});
  expect_floats(subject.one({image, floats({1, 5}, {0, 9, 9, 9, 9})}), {1, 1, 2, 2}, {0, 0, 0, 0});
  expect_floats(subject.one({image, floats({0, 5}, {})}), {0, 1, 2, 2}, {});
  subject.refuses({image, floats({1, 5}, {1, 0, 0, 3, 3})}, "batch index");
  subject.refuses({image, floats({1, 5}, {kNan, 0, 0, 3, 3})}, "batch index");
  subject.refuses({image, floats({1, 5}, {0, 0, 0, 1e30f, 3})}, "reaches");
}

// Selections

TEST(Opaque, UniqueOfAnything) {
  const Subject all{"Unique", 11, {}, 4}, first{"Unique", 11, {attribute("sorted", 0)}, 4};
  auto y = all.run({floats({0}, {})});
  for (const Tensor& each : y) EXPECT_EQ(each.shape(), Shape{0});
  y = all.run({floats({5}, {kNan, 1, -0.0f, kNan, 0})});
  EXPECT_EQ(y[0].shape(), Shape{3});
  EXPECT_TRUE(std::isnan(numbers(y[0])[2]));
  expect_ints(y[2], {5}, {2, 1, 0, 2, 0});
  y = first.run({strings({2, 2}, {"b", "a", "b", "c"})});
  EXPECT_EQ(y[0].strings(), (std::vector<std::string>{"b", "a", "c"}));
  expect_ints(y[1], {3}, {0, 1, 3});
  expect_ints(y[3], {3}, {2, 1, 1});
  const Subject rows{"Unique", 11, {attribute("axis", 0)}, 4};
  EXPECT_EQ(rows.one({floats({3, 0}, {})}).shape(), (Shape{1, 0}));
  EXPECT_EQ(rows.one({floats({0, 3}, {})}).shape(), (Shape{0, 3}));
  rows.refuses({floats({}, {1})}, "axis");
}

TEST(Opaque, CompressTakesWhatIsTrue) {
  Tensor none(DType::boolean, {0}), flags(DType::boolean, {3});
  flags.values<std::uint8_t>()[2] = 1;
  const Subject rows{"Compress", 9, {attribute("axis", 0)}}, flat{"Compress", 11};
  expect_floats(rows.one({counting({3, 2}), flags}), {1, 2}, {4, 5});
  expect_floats(rows.one({counting({3, 2}), none}), {0, 2}, {});
  expect_floats(flat.one({counting({3, 2}), flags}), {1}, {2});
  EXPECT_THROW(rows.run({counting({2, 2}), flags}), Error);
}

// Matrices

TEST(Opaque, Determinants) {
  const Subject subject{"Det", 11};
  expect_floats(subject.one({floats({2, 2}, {0, 2, 3, 4})}), {}, {-6});
  expect_floats(subject.one({floats({2, 2}, {1, 2, 2, 4})}), {}, {0});
  expect_floats(subject.one({floats({2, 0, 0}, {})}), {2}, {1, 1});
  expect_floats(subject.one({floats({0, 3, 3}, {})}), {0}, {});
  subject.refuses({floats({2, 3}, std::vector<float>(6))}, "rows");
}

TEST(Opaque, UnpoolingPutsValuesBack) {
  const Subject subject{"MaxUnpool", 9, {attribute("kernel_shape", Ints{2}), attribute("strides", Ints{2})}};
  expect_floats(subject.one({floats({1, 1, 2}, {5, 7}), integers({1, 1, 2}, {1, 2})}), {1, 1, 4}, {0, 5, 7, 0});
  expect_floats(subject.one({floats({0, 1, 2}, {}), integers({0, 1, 2}, {})}), {0, 1, 4}, {});
  subject.refuses({floats({1, 1, 2}, {5, 7}), integers({1, 1, 2}, {1, 4})}, "index 4");
  subject.refuses({floats({1, 1, 2}, {5, 7}), integers({1, 1, 2}, {1, -1})}, "index -1");
  subject.refuses({floats({1, 1, 2}, {5, 7}), integers({1, 1, 2}, {1, 2}), integers({3}, {1, 1, 2})}, "outside");
  const Subject huge{
      "MaxUnpool", 9, {attribute("kernel_shape", Ints{2}), attribute("strides", Ints{std::int64_t{1} << 62})}};
  huge.refuses({floats({1, 1, 2}, {5, 7}), integers({1, 1, 2}, {1, 2})}, "strides");
}

TEST(Opaque, ColumnsOfImages) {
  const Subject subject{"Col2Im", 18};
  const Tensor image = integers({2}, {3, 3}), block = integers({2}, {2, 2});
  expect_floats(subject.one({floats({1, 4, 4}, std::vector<float>(16, 1)), image, block}), {1, 1, 3, 3},
                {1, 2, 1, 2, 4, 2, 1, 2, 1});
  expect_floats(subject.one({floats({0, 4, 4}, {}), image, block}), {0, 1, 3, 3}, {});
  subject.refuses({floats({1, 4, 5}, std::vector<float>(20)), image, block}, "positions");
  subject.refuses({floats({1, 5, 4}, std::vector<float>(20)), image, block}, "multiple");
  subject.refuses({floats({1, 4, 4}, std::vector<float>(16)), image, integers({2}, {0, 2})}, "block shape");
}

TEST(Opaque, DeformedWithoutOffsetsIsAConvolution) {
  const Tensor x = counting({1, 2, 4, 4}), weight = counting({2, 1, 2, 2});
  const Tensor y = Subject{"Conv", 19, {attribute("group", 2)}}.one({x, weight});
  const Subject subject{"DeformConv", 19, {attribute("group", 2)}};
  const Tensor offsets = floats({1, 8, 3, 3}, std::vector<float>(72, 0));
  const auto expected = numbers(y);
  expect_floats(subject.one({x, weight, offsets}), {1, 2, 3, 3}, {expected.begin(), expected.end()});
  expect_floats(subject.one({x, weight, floats({1, 8, 3, 3}, std::vector<float>(72, 1e30f))}), {1, 2, 3, 3},
                std::vector<float>(18, 0));
  expect_floats(subject.one({x, weight, floats({1, 8, 3, 3}, std::vector<float>(72, kNan))}), {1, 2, 3, 3},
                std::vector<float>(18, 0));
  subject.refuses({x, weight, floats({1, 8, 2, 3}, std::vector<float>(48, 0))}, "output");
  const Subject hostile{"DeformConv", 19, {attribute("group", std::int64_t{0})}};
  hostile.refuses({x, weight, offsets}, "groups");
}

// Signals

TEST(Opaque, SeedsFixTheNumbers) {
  const auto shape = attribute("shape", Ints{3});
  const Subject uniform{"RandomUniform", 17, {shape, attribute("seed", 0.0f)}};
  expect_floats(uniform.one({}), {3}, {0.5488135f, 0.71518937f, 0.60276338f});
  expect_floats(uniform.one({}), {3}, {0.5488135f, 0.71518937f, 0.60276338f});
  const Subject normal{"RandomNormal", 22, {shape, attribute("seed", 0.0f), attribute("mean", 1.0f)}};
  expect_floats(normal.one({}), {3}, {2.76405235f, 1.40015721f, 1.97873798f});
  const Subject free{"RandomUniform", 17, {attribute("shape", Ints{64})}};
  EXPECT_NE(numbers(free.one({})), numbers(free.one({})));
  for (const double value : numbers(free.one({}))) EXPECT_TRUE(value >= 0 && value < 1);
}

TEST(Opaque, DrawsFollowTheirChances) {
  const Tensor chances = floats({2000}, std::vector<float>(2000, 0.25f));
  const Subject coin{"Bernoulli", 15, {attribute("seed", 1.0f), attribute("dtype", onnx::TensorProto::INT64)}};
  const auto draws = numbers(coin.one({chances}));
  EXPECT_NEAR(std::accumulate(draws.begin(), draws.end(), 0.0), 500, 60);
  coin.refuses({floats({1}, {1.5f})}, "chance");
  coin.refuses({floats({1}, {kNan})}, "chance");
  const Subject dice{"Multinomial", 7, {attribute("seed", 1.0f), attribute("sample_size", 1000)}};
  const Tensor rolls = dice.one({floats({1, 3}, {std::log(0.5f), -1e30f, std::log(1.5f)})});
  const auto values = numbers(rolls);
  EXPECT_EQ(rolls.dtype(), DType::i32);
  EXPECT_NEAR(static_cast<double>(std::count(values.begin(), values.end(), 2)), 750, 60);
  EXPECT_EQ(std::count(values.begin(), values.end(), 1), 0);
  dice.refuses({floats({1, 0}, {})}, "no classes");
  dice.refuses({floats({1, 1}, {kNan})}, "not numbers");
  EXPECT_EQ(dice.one({floats({0, 3}, {})}).shape(), (Shape{0, 1000}));
  Subject{"RandomNormal", 17, {attribute("shape", Ints{-1})}}.refuses({}, "shape");
  Subject{"RandomNormal", 17, {attribute("shape", Ints{1}), attribute("dtype", 7)}}.refuses({}, "float");
  Subject{"RandomNormalLike", 17, {attribute("seed", "now")}}.refuses({floats({1}, {0})}, "seed");
}

TEST(Opaque, DropoutTrains) {
  Tensor trains(DType::boolean, {});
  trains.values<std::uint8_t>()[0] = 1;
  const Subject subject{"Dropout", 13, {attribute("seed", 7)}, 2};
  const auto y = subject.run({floats({4000}, std::vector<float>(4000, 3)), floats({}, {0.75f}), trains});
  const auto values = numbers(y[0]), kept = numbers(y[1]);
  EXPECT_NEAR(std::accumulate(kept.begin(), kept.end(), 0.0), 1000, 100);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], kept[i] * 12);
  subject.refuses({floats({1}, {3}), floats({}, {1}), trains}, "ratio");
}

// Text

TEST(Opaque, NormalizesUnicode) {
  const Subject lower{"StringNormalizer",
                      10,
                      {attribute("case_change_action", "LOWER"), attribute("stopwords", Names{"und", "\xc3\x84"})}};
  EXPECT_EQ(lower
                .one({strings({4}, {"\xc3\x96"
                                    "L",
                                    "UND", "\xc3\xa4",
                                    "\xff"
                                    "A"})})
                .strings(),
            (std::vector<std::string>{"\xc3\xb6"
                                      "l",
                                      "\xff"
                                      "a"}));
  EXPECT_EQ(lower.one({strings({1, 0}, {})}).strings(), std::vector<std::string>{""});
  lower.refuses({strings({2, 1}, {"a", "b"})}, "[1,n]");
  const Subject wrong{"StringNormalizer", 10, {attribute("case_change_action", "TITLE")}};
  wrong.refuses({strings({1}, {"a"})}, "TITLE");
}

TEST(Opaque, SplitsAndMatches) {
  const Subject words{"StringSplit", 20, {attribute("maxsplit", 1)}, 2};
  const auto y = words.run({strings({2}, {"  a b  c ", ""})});
  EXPECT_EQ(y[0].strings(), (std::vector<std::string>{"a", "b  c ", "", ""}));
  expect_ints(y[1], {2}, {2, 0});
  EXPECT_EQ(words.one({strings({0, 2}, {})}).shape(), (Shape{0, 2, 0}));
  const Subject greedy{"RegexFullMatch", 20, {attribute("pattern", "(a*)*(a|aa)+c")}};
  EXPECT_EQ(numbers(greedy.one({strings({2}, {std::string(100000, 'a'), "aac"})})), (std::vector<double>{0, 1}));
  Subject{"RegexFullMatch", 20, {attribute("pattern", "(")}}.refuses({strings({1}, {"a"})}, "regular expression");
  const Subject join{"StringConcat", 20};
  EXPECT_EQ(join.one({strings({2, 1}, {"a", "b"}), strings({2}, {"x", "y"})}).strings(),
            (std::vector<std::string>{"ax", "ay", "bx", "by"}));
  EXPECT_EQ(join.one({strings({0, 1}, {}), strings({2}, {"x", "y"})}).shape(), (Shape{0, 2}));
}

Attributes grams(const Ints& counts, const Ints& columns, const Ints& pool, const char* mode = "TF") {
  return {attribute("mode", mode),        attribute("min_gram_length", 1),   attribute("max_gram_length", 2),
          attribute("max_skip_count", 1), attribute("ngram_counts", counts), attribute("ngram_indexes", columns),
          attribute("pool_int64s", pool)};
}

TEST(Opaque, CountsGrams) {
  const Subject subject{"TfIdfVectorizer", 9, grams({0, 2}, {0, 1, 2}, {5, 6, 5, 7})};
  expect_floats(subject.one({integers({4}, {5, 6, 7, 5})}), {3}, {2, 1, 1});
  expect_floats(subject.one({integers({2, 0}, {})}), {2, 3}, std::vector<float>(6, 0));
  auto weighted = grams({0, 2}, {0, 1, 2}, {5, 6, 5, 7}, "IDF");
  weighted.push_back(attribute("weights", std::vector<float>{2, 3, 4}));
  expect_floats(Subject{"TfIdfVectorizer", 9, weighted}.one({integers({4}, {5, 5, 5, 6})}), {3}, {2, 3, 0});
  const Tensor x = integers({1}, {5});
  Subject{"TfIdfVectorizer", 9, grams({0, 9}, {0}, {5})}.refuses({x}, "ngram_counts");
  Subject{"TfIdfVectorizer", 9, grams({0, 1}, {0, 1}, {5, 6})}.refuses({x}, "grams of 2");
  Subject{"TfIdfVectorizer", 9, grams({0}, {std::int64_t{1} << 50}, {5})}.refuses({x}, "ngram_indexes");
  Subject{"TfIdfVectorizer", 9, grams({0}, {0, 1}, {5})}.refuses({x}, "ngram_indexes");
}

// Images

TEST(Opaque, DecodesTextAndBits) {
  const Subject gray{"ImageDecoder", 20, {attribute("pixel_format", "Grayscale")}}, color{"ImageDecoder", 20};
  EXPECT_EQ(numbers(gray.one({bytes_tensor("P2 # three\n3 1 100\n0 50 100")})), (std::vector<double>{0, 128, 255}));
  EXPECT_EQ(numbers(gray.one({bytes_tensor("P1\n2 1\n01")})), (std::vector<double>{255, 0}));
  EXPECT_EQ(color.one({bytes_tensor("P3 1 1 255 1 2 3")}).shape(), (Shape{1, 1, 3}));
  const Subject reversed{"ImageDecoder", 20, {attribute("pixel_format", "BGR")}};
  EXPECT_EQ(numbers(reversed.one({bytes_tensor("P3 1 1 255 1 2 3")})), (std::vector<double>{3, 2, 1}));
  for (const char* broken :
       {"", "P5 9", "P6 2 2 255 abc", "P2 0 1 255", "P2 99999999 99999999 255 1", "BM", "\xff\xd8\xff"})
    color.refuses({bytes_tensor(broken)}, "not usable");
  Subject{"ImageDecoder", 20, {attribute("pixel_format", "CMYK")}}.refuses({bytes_tensor("P1")}, "CMYK");
}

/// One pixel in every format that needs no library's writer.
TEST(Opaque, DamagedPicturesAreRefusedOrRead) {
  const std::string bitmap(
      "BM\x3a\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\1\0\0\0\1\0\0\0\1\0\x18\0\0\0\0\0\4\0\0\0"
      "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\2\3\0",
      58);
  const Subject subject{"ImageDecoder", 20};
  EXPECT_EQ(numbers(subject.one({bytes_tensor(bitmap)})), (std::vector<double>{3, 2, 1}));
  std::mt19937 random(11);
  const std::string tiff("II*\0\x08\0\0\0\1\0\0\1\3\0\1\0\0\0\1\0\0\0\0\0\0\0", 26);
  const std::string jp2(
      "\0\0\0\x0cjP  \r\n\x87\n\0\0\0\x14"
      "ftypjp2 \0\0\0\0jp2 \0\0\0\x2djp2h",
      40);
  for (const std::string& whole : {bitmap, tiff, jp2, std::string("P4 9 9\n0123456789012345678"),
                                   std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0", 29),
                                   std::string("RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f\0\0\0\x10\7\x10\x11\x11", 29)}) {
    for (int i = 0; i < 300; ++i) {
      std::string bytes = whole.substr(0, 12 + random() % (whole.size() - 11));
      for (std::size_t at = 12; at < bytes.size(); ++at) {
        if (random() % 8 == 0) bytes[at] = static_cast<char>(random());
      }
      try {
        EXPECT_EQ(subject.one({bytes_tensor(bytes)}).shape().size(), 3u);
      } catch (const Error& error) {
        EXPECT_NE(error.code(), ErrorCode::internal) << error.what();
      }
    }
  }
}

// Optimisers

TEST(Opaque, OptimisersRefuseMiscounts) {
  const Tensor rate = floats({}, {0.1f}), count = scalar_int(0), x = floats({1}, {1});
  const std::string domain = "ai.onnx.preview.training";
  const Attributes momentum = {attribute("alpha", 0.5f), attribute("beta", 0.5f), attribute("mode", "standard")};
  const auto y = Subject{"Momentum", 1, momentum, 2, domain}.run({rate, count, x, x, x});
  expect_floats(y[0], {1}, {0.85f});
  expect_floats(y[1], {1}, {1.5f});
  Subject{"Momentum", 1, momentum, 2, domain}.refuses({rate, count, x, x}, "inputs a tensor");
  Subject{"Momentum", 1, momentum, 1, domain}.refuses({rate, count, x, x, x}, "outputs");
  Subject{"Momentum", 1, {attribute("alpha", 0.5f)}, 2, domain}.refuses({rate, count, x, x, x}, "beta");
}

}  // namespace
}  // namespace colonnade::onnx_import::testing
