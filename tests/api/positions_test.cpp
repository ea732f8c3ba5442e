// SPDX-License-Identifier: Apache-2.0
// Texts whose tokens know their positions as networks since BERT do: counted from ids, by how far tokens are apart, by
// rotation and within windows; masks are indexed as exporters write it since 2025.
#include <cmath>
#include <random>

#include "api/texts.hpp"

namespace colonnade::test {
namespace {

constexpr std::int64_t kPositionWidth = 32, kPositionHeads = 2, kPositionSize = kPositionWidth / kPositionHeads;

/// How positions are known, and how the mask finds the scores.
enum class Positions { counted, apart, rotated, windows };
enum class Masking { flat, pairs };

struct Written : ModelBuilder {
  int made = 0;
  std::string node1(const char* op, const std::vector<std::string>& inputs,
                    const std::vector<onnx::AttributeProto>& attributes = {}) {
    const std::string name = "v" + std::to_string(made++);
    node(op, inputs, {name}, attributes);
    return name;
  }
  std::string ints(const Ints& values) {
    const std::string name = "i" + std::to_string(made++);
    constant(int_tensor(name, {std::ssize(values)}, values));
    return name;
  }
  std::string one(std::int64_t value) {
    const std::string name = "s" + std::to_string(made++);
    constant(int_tensor(name, {}, {value}));
    return name;
  }
  std::string number(float value) {
    const std::string name = "f" + std::to_string(made++);
    constant(float_tensor(name, {}, {value}));
    return name;
  }
  std::string weights(const Ints& shape, float step) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    const std::string name = "w" + std::to_string(made++);
    constant(float_tensor(name, shape, waves(count, step)));
    return name;
  }
  std::string sizes(const std::string& of, std::int64_t axis) {
    return node1("Gather", {node1("Shape", {of}), one(axis)});
  }
  std::string range(const std::string& limit) { return node1("Range", {one(0), limit, one(1)}); }
  std::string unsqueezed(const std::string& value, const Ints& axes) { return node1("Unsqueeze", {value, ints(axes)}); }
  std::string cast(const std::string& value, int to) { return node1("Cast", {value}, {attribute("to", to)}); }
};

/// Whether a row may see a key [batch, 1, rows or 1, keys], found by numbers of texts and positions.
std::string seen(Written& net, Masking masking) {
  const std::string mask = net.cast("attention_mask", onnx::TensorProto::BOOL);
  const std::string texts = net.unsqueezed(net.range(net.sizes("input_ids", 0)), {1, 2, 3}),
                    keys = net.unsqueezed(net.range(net.sizes("input_ids", 1)), {0, 1, 2}),
                    rows = net.unsqueezed(net.range(net.sizes("input_ids", 1)), {0, 1, 3});
  const std::string all = net.node1("GreaterOrEqual", {rows, net.one(0)});
  if (masking == Masking::flat) {
    const std::string count = net.node1("Gather", {net.node1("Shape", {mask}), net.ints({1})});
    const std::string spots = net.node1("Add", {keys, net.node1("Mul", {texts, count})});
    const std::string flat = net.node1("Flatten", {mask}, {attribute("axis", 2)});
    const std::string found = net.node1("Reshape", {net.node1("Gather", {flat, spots}), net.ints({-1})});
    return net.node1("And", {all, net.node1("Reshape", {found, net.node1("Shape", {spots})})});
  }
  const std::string shape = net.node1("Shape", {net.node1("Max", {texts, keys})});
  const std::string pairs = net.node1("Concat",
                                      {net.unsqueezed(net.node1("Expand", {texts, shape}), {-1}),
                                       net.unsqueezed(net.node1("Expand", {keys, shape}), {-1})},
                                      {attribute("axis", -1)});
  return net.node1("And", {all, net.node1("GatherND", {mask, pairs})});
}

std::string near(Written& net) {
  const std::string count = net.sizes("input_ids", 1);
  const std::string keys = net.unsqueezed(net.range(count), {0, 1, 2}),
                    rows = net.unsqueezed(net.range(count), {0, 1, 3});
  return net.node1("LessOrEqual", {net.node1("Abs", {net.node1("Sub", {rows, keys})}), net.one(4)});
}

/// Buckets of distances, as T5's: a sign, single steps, then logarithms.
std::string bias(Written& net) {
  const std::string count = net.sizes("input_ids", 1);
  const std::string apart =
      net.node1("Sub", {net.unsqueezed(net.range(count), {0}), net.unsqueezed(net.range(count), {1})});
  const std::string sign =
      net.node1("Mul", {net.cast(net.node1("Greater", {apart, net.one(0)}), onnx::TensorProto::INT64), net.one(16)});
  const std::string far = net.node1("Abs", {apart});
  const std::string logs = net.node1(
      "Mul",
      {net.node1("Log", {net.node1("Div", {net.cast(far, onnx::TensorProto::FLOAT), net.number(8)})}), net.number(3)});
  const std::string large = net.node1("Add", {net.cast(logs, onnx::TensorProto::INT64), net.one(8)});
  const std::string most = net.node1("Expand", {net.one(15), net.node1("Shape", {large})});
  const std::string bucket =
      net.node1("Where", {net.node1("Less", {far, net.one(8)}), far, net.node1("Min", {large, most})});
  const std::string values =
      net.node1("Gather", {net.weights({32, kPositionHeads}, 1.7f), net.node1("Add", {sign, bucket})});
  return net.unsqueezed(net.node1("Transpose", {values}, {attribute("perm", Ints{2, 0, 1})}), {0});
}

std::string rotated(Written& net, const std::string& heads) {
  const std::string places = net.unsqueezed(net.range(net.sizes("input_ids", 1)), {0, 2});
  std::vector<float> steps;
  for (std::int64_t i = 0; i < kPositionSize / 2; ++i) steps.push_back(std::pow(10.0f, -0.4f * static_cast<float>(i)));
  const std::string name = "r" + std::to_string(net.made++);
  net.constant(float_tensor(name, {1, 1, kPositionSize / 2}, steps));
  const std::string half = net.node1("Mul", {net.cast(places, onnx::TensorProto::FLOAT), name});
  const std::string angles = net.node1("Concat", {half, half}, {attribute("axis", -1)});
  const auto part = [&](std::int64_t from, std::int64_t to) {
    return net.node1("Slice", {heads, net.ints({from}), net.ints({to}), net.ints({3})});
  };
  const std::string turned =
      net.node1("Concat", {net.node1("Neg", {part(kPositionSize / 2, kPositionSize)}), part(0, kPositionSize / 2)},
                {attribute("axis", -1)});
  return net.node1("Add", {net.node1("Mul", {heads, net.unsqueezed(net.node1("Cos", {angles}), {1})}),
                           net.node1("Mul", {turned, net.unsqueezed(net.node1("Sin", {angles}), {1})})});
}

std::string embedded(Written& net, Positions positions) {
  const std::string words = net.node1("Gather", {net.weights({kWords, kPositionWidth}, 0.7f), "input_ids"});
  if (positions != Positions::counted) return words;
  const std::string real =
      net.cast(net.node1("Not", {net.node1("Equal", {"input_ids", net.one(3)})}), onnx::TensorProto::INT32);
  const std::string counted = net.node1("Mul", {net.node1("CumSum", {real, net.one(1)}), real});
  const std::string places = net.node1("Add", {net.cast(counted, onnx::TensorProto::INT64), net.one(3)});
  return net.node1("Add", {words, net.node1("Gather", {net.weights({200, kPositionWidth}, 0.3f), places})});
}

/// One layer, whose softmax gives zeros where it would give none.
std::string encoder(Positions positions, Masking masking) {
  Written net;
  net.input("input_ids", {-1, -1}, onnx::TensorProto::INT64)
      .input("attention_mask", {-1, -1}, onnx::TensorProto::INT64);
  const std::string x = embedded(net, positions);
  std::vector<std::string> heads;
  for (const float step : {0.11f, 0.13f, 0.17f}) {
    const std::string all = net.node1("MatMul", {x, net.weights({kPositionWidth, kPositionWidth}, step)});
    const std::string split = net.node1("Reshape", {all, net.ints({0, 0, kPositionHeads, kPositionSize})});
    heads.push_back(net.node1("Transpose", {split}, {attribute("perm", Ints{0, 2, 1, 3})}));
    if (positions == Positions::rotated && heads.size() < 3) heads.back() = rotated(net, heads.back());
  }
  const std::string turned = net.node1("Transpose", {heads[1]}, {attribute("perm", Ints{0, 1, 3, 2})});
  std::string scores = net.node1("MatMul", {net.node1("Mul", {heads[0], net.number(0.5f)}), turned});
  if (positions == Positions::apart) scores = net.node1("Add", {scores, bias(net)});
  std::string open = seen(net, masking);
  if (positions == Positions::windows) open = net.node1("And", {near(net), open});
  scores = net.node1("Add", {scores, net.node1("Where", {open, net.number(0), net.number(-INFINITY)})});
  const std::string shares = net.node1("Softmax", {scores}, {attribute("axis", -1)});
  const std::string safe = net.node1("Where", {net.node1("IsNaN", {shares}), net.number(0), shares});
  const std::string mixed =
      net.node1("Transpose", {net.node1("MatMul", {safe, heads[2]})}, {attribute("perm", Ints{0, 2, 1, 3})});
  const std::string joined = net.node1("Reshape", {mixed, net.ints({0, 0, kPositionWidth})});
  net.node("Add", {x, net.node1("MatMul", {joined, net.weights({kPositionWidth, kPositionWidth}, 0.19f)})}, {"y"});
  return net.output("y").bytes();
}

class TextPositions : public testing::TestWithParam<std::tuple<Positions, Masking>> {
 protected:
  std::string bytes() const { return encoder(std::get<0>(GetParam()), std::get<1>(GetParam())); }
};

TEST_P(TextPositions, AreFollowed) {
  const Model model = model_of(bytes());
  ASSERT_NE(model.describe().find("left out"), std::string::npos) << model.describe();
  Session session(model);
  for (const bool left : {false, true})
    for (const Ints& lengths : {Ints{17, 1, 64, 33, 130, 5}, {9, 0, 4}, {1}}) {
      const Batch batch = batch_of(lengths, left);
      expect_near(session.run(batch.views())[0], tokens_expected(model, batch));
    }
}

TEST_P(TextPositions, GiveTheSameBitsInAnyBatch) {
  const Ints lengths{17, 1, 64, 33, 130, 5};
  std::vector<std::vector<float>> alone;
  for (const int threads : {1, 2, 3}) {
    Session session(model_of(bytes(), threads));
    for (const bool left : {false, true}) {
      if (left && std::get<0>(GetParam()) == Positions::rotated) continue;  // turned further
      const Tensor all = std::move(session.run(batch_of(lengths, left).views())[0]);
      for (std::size_t text = 0; text < lengths.size(); ++text) {
        const auto length = static_cast<std::size_t>(lengths[text]);
        if (alone.size() == text) {
          const Tensor one = std::move(session.run(batch_of({lengths[text]}).views())[0]);
          alone.emplace_back(one.values<float>().begin(), one.values<float>().end());
        }
        const float* begin = all.values<float>().data() + (text * 130 + (left ? 130 - length : 0)) * kPositionWidth;
        EXPECT_EQ(std::vector<float>(begin, begin + length * kPositionWidth), alone[text])
            << text << " " << threads << left;
      }
    }
  }
}

TEST_P(TextPositions, MayHaveTokensMissingAnywhere) {
  const Model model = model_of(bytes());
  Session session(model);
  std::mt19937 random(1);
  for (int round = 0; round < 5; ++round) {
    Batch batch = batch_of({40, 40, 40});
    for (std::int64_t& live : batch.mask.values<std::int64_t>()) live = static_cast<std::int64_t>(random() % 2);
    expect_near(session.run(batch.views())[0], tokens_expected(model, batch));
  }
}

INSTANTIATE_TEST_SUITE_P(All, TextPositions,
                         testing::Combine(testing::Values(Positions::counted, Positions::apart, Positions::rotated,
                                                          Positions::windows),
                                          testing::Values(Masking::flat, Masking::pairs)));

}  // namespace
}  // namespace colonnade::test
