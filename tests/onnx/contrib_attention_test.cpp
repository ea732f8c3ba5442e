// SPDX-License-Identifier: Apache-2.0
// Attention operators of com.microsoft against attention written out in loops.
#include <cmath>
#include <functional>

#include "evaluate.hpp"

namespace colonnade::onnx_import::testing {
namespace {

const std::string kMicrosoft = "com.microsoft";

/// [B, N, S, H] in one vector.
struct Block {
  std::int64_t batch, heads, rows, size;
  std::vector<float> values;
  float& at(std::int64_t b, std::int64_t n, std::int64_t s, std::int64_t h) {
    return values[static_cast<std::size_t>(((b * heads + n) * rows + s) * size + h)];
  }
  float at(std::int64_t b, std::int64_t n, std::int64_t s, std::int64_t h) const {
    return const_cast<Block*>(this)->at(b, n, s, h);
  }
};

Block block(std::int64_t batch, std::int64_t heads, std::int64_t rows, std::int64_t size, float seed) {
  Block made{batch, heads, rows, size, std::vector<float>(static_cast<std::size_t>(batch * heads * rows * size))};
  for (std::size_t i = 0; i < made.values.size(); ++i) made.values[i] = std::sin(seed + 1.7f * static_cast<float>(i));
  return made;
}

Shape shape_of(const Block& x) { return {x.batch, x.heads, x.rows, x.size}; }
Tensor tensor_of(const Block& x) { return floats(shape_of(x), x.values); }

/// [B, S, N H] of the same numbers.
Tensor by_position(const Block& x) {
  std::vector<float> values;
  for (std::int64_t b = 0; b < x.batch; ++b)
    for (std::int64_t s = 0; s < x.rows; ++s)
      for (std::int64_t n = 0; n < x.heads; ++n)
        for (std::int64_t h = 0; h < x.size; ++h) values.push_back(x.at(b, n, s, h));
  return floats({x.batch, x.rows, x.heads * x.size}, values);
}

Block behind(const Block& past, const Block& x) {
  Block both = block(x.batch, x.heads, past.rows + x.rows, x.size, 0);
  for (std::int64_t b = 0; b < x.batch; ++b)
    for (std::int64_t n = 0; n < x.heads; ++n)
      for (std::int64_t s = 0; s < both.rows; ++s)
        for (std::int64_t h = 0; h < x.size; ++h)
          both.at(b, n, s, h) = s < past.rows ? past.at(b, n, s, h) : x.at(b, n, s - past.rows, h);
  return both;
}

/// Head n of the n-th block.
Block heads_of(const std::vector<Block>& blocks) {
  Block made = blocks[0];
  for (std::int64_t b = 0; b < made.batch; ++b)
    for (std::int64_t n = 0; n < made.heads; ++n)
      for (std::int64_t s = 0; s < made.rows; ++s)
        for (std::int64_t h = 0; h < made.size; ++h)
          made.at(b, n, s, h) = blocks[static_cast<std::size_t>(n)].at(b, n, s, h);
  return made;
}

/// What is added to the score of query s and key t in sentence b.
using Addition = std::function<float(std::int64_t b, std::int64_t s, std::int64_t t)>;
constexpr float kNever = -1e30f;

/// Heads of keys are shared by neighbouring heads of queries.
Block attend(const Block& q, const Block& k, const Block& v, const Addition& addition, float sink = kNever) {
  Block y = block(q.batch, q.heads, q.rows, v.size, 0);
  for (std::int64_t b = 0; b < q.batch; ++b)
    for (std::int64_t n = 0; n < q.heads; ++n)
      for (std::int64_t s = 0; s < q.rows; ++s) {
        const std::int64_t shared = n * k.heads / q.heads;
        std::vector<double> shares;
        double total = std::exp(static_cast<double>(sink));
        for (std::int64_t t = 0; t < k.rows; ++t) {
          double score = 0;
          for (std::int64_t h = 0; h < q.size; ++h) score += q.at(b, n, s, h) * k.at(b, shared, t, h);
          shares.push_back(std::exp(score / std::sqrt(static_cast<double>(q.size)) + addition(b, s, t)));
          total += shares.back();
        }
        for (std::int64_t h = 0; h < v.size; ++h) {
          double sum = 0;
          for (std::int64_t t = 0; t < k.rows; ++t)
            sum += shares[static_cast<std::size_t>(t)] / total * v.at(b, shared, t, h);
          y.at(b, n, s, h) = static_cast<float>(sum);
        }
      }
  return y;
}

void expect_equal(const Tensor& found, const Tensor& expected) {
  const auto values = expected.values<float>();
  expect_floats(found, expected.shape(), std::vector<float>(values.begin(), values.end()), 2e-5f);
}

const Addition kNothing = [](auto, auto, auto) { return 0.0f; };
float seen(bool allowed, float otherwise = kNever) { return allowed ? 0.0f : otherwise; }

Tensor integers_32(const Shape& shape, const std::vector<std::int32_t>& values) {
  Tensor tensor(DType::i32, shape);
  std::copy(values.begin(), values.end(), tensor.values<std::int32_t>().begin());
  return tensor;
}

int data_type(const Tensor& tensor) {
  if (tensor.dtype() == DType::i32) return onnx::TensorProto::INT32;
  return tensor.dtype() == DType::i64 ? onnx::TensorProto::INT64 : onnx::TensorProto::FLOAT;
}

/// One operator of com.microsoft on the tensors; one without elements and axes stands for an absent input. With open
/// dimensions only ranks are declared.
std::vector<Tensor> apply(const std::string& op, std::vector<Tensor> inputs, int outputs,
                          const std::vector<onnx::AttributeProto>& attributes, bool open) {
  ModelBuilder model(17);
  model.import(kMicrosoft, 1);
  Names names, results;
  std::vector<Tensor> given;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    names.push_back(inputs[i].dtype() == DType::undefined ? "" : "x" + std::to_string(i));
    if (names.back().empty()) continue;
    const Shape shape = open ? Shape(inputs[i].shape().size(), -1) : inputs[i].shape();
    model.input(names.back(), shape, data_type(inputs[i]));
    given.push_back(std::move(inputs[i]));
  }
  for (int i = 0; i < outputs; ++i) {
    results.push_back("y" + std::to_string(i));
    model.output(results.back(), 0);
  }
  model.node(op, names, results, attributes, kMicrosoft);
  return evaluate(model, given);
}

class ContribAttention : public ::testing::TestWithParam<bool> {
 protected:
  std::vector<Tensor> run(const std::string& op, std::vector<Tensor> inputs, int outputs,
                          std::vector<onnx::AttributeProto> attributes, std::int64_t heads = 2) {
    attributes.push_back(attribute("num_heads", heads));
    return apply(op, std::move(inputs), outputs, attributes, GetParam());
  }

  Block q_ = block(2, 2, 3, 4, 1), k_ = block(2, 2, 5, 4, 2), v_ = block(2, 2, 5, 4, 3);
};
INSTANTIATE_TEST_SUITE_P(Dimensions, ContribAttention, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "Open" : "Known"; });

TEST_P(ContribAttention, QueriesMeetKeysAndValuesOfAnotherSequence) {
  const auto found = run("MultiHeadAttention", {by_position(q_), by_position(k_), by_position(v_)}, 3, {});
  expect_equal(found[0], by_position(attend(q_, k_, v_, kNothing)));
  expect_equal(found[1], tensor_of(k_));
  expect_equal(found[2], tensor_of(v_));
  const auto by_head = run("MultiHeadAttention", {by_position(q_), tensor_of(k_), tensor_of(v_)}, 1, {});
  expect_equal(by_head[0], found[0]);
}

TEST_P(ContribAttention, MasksByLengthByKeyAndByQuery) {
  const auto masked = [&](Tensor mask, const Addition& addition) {
    const auto found = run("MultiHeadAttention",
                           {by_position(q_), by_position(k_), by_position(v_), Tensor(), std::move(mask)}, 1, {});
    expect_equal(found[0], by_position(attend(q_, k_, v_, addition)));
  };
  masked(integers_32({2}, {3, 5}), [](auto b, auto, auto t) { return seen(t < (b == 0 ? 3 : 5), -10000); });
  masked(integers_32({2, 5}, {1, 0, 1, 0, 1, 0, 1, 1, 1, 1}),
         [](auto b, auto, auto t) { return seen(b == 0 ? t % 2 == 0 : t > 0, -10000); });
  std::vector<std::int32_t> each(30, 1);
  each[0] = each[29] = 0;
  masked(integers_32({2, 3, 5}, each), [](auto b, auto s, auto t) {
    return seen(!(b == 0 && s == 0 && t == 0) && !(b == 1 && s == 2 && t == 4), -10000);
  });
}

TEST_P(ContribAttention, BiasFilterValueScaleAndScoresAsOutput) {
  std::vector<float> bias(15);
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = 0.1f * static_cast<float>(i);
  const auto found = run("MultiHeadAttention",
                         {by_position(q_), by_position(k_), by_position(v_), Tensor(), integers_32({2}, {4, 5}),
                          floats({1, 1, 3, 5}, bias)},
                         1, {attribute("mask_filter_value", -2.0f), attribute("scale", 0.5f)});
  expect_equal(found[0], by_position(attend(q_, k_, v_, [&](auto b, auto s, auto t) {
                 return bias[static_cast<std::size_t>(s * 5 + t)] + seen(t < 4 + b, -2.0f);
               })));
}

TEST_P(ContribAttention, PastComesFirstAndCausalQueriesCountItIn) {
  const Block x = block(2, 2, 3, 4, 4), past_key = block(2, 2, 2, 4, 5), past_value = block(2, 2, 2, 4, 6);
  const Block keys = behind(past_key, x), values = behind(past_value, x);
  const auto found = run("MultiHeadAttention",
                         {by_position(q_), by_position(x), by_position(x), Tensor(), Tensor(), Tensor(),
                          tensor_of(past_key), tensor_of(past_value)},
                         3, {attribute("unidirectional", 1)});
  expect_equal(found[0], by_position(attend(q_, keys, values, [](auto, auto s, auto t) { return seen(t <= s + 2); })));
  expect_equal(found[1], tensor_of(keys));
  expect_equal(found[2], tensor_of(values));
}

TEST_P(ContribAttention, SharedBufferIsFilledBehindItsUsedPart) {
  const Block q = block(2, 2, 1, 4, 1), x = block(2, 2, 1, 4, 4), buffer = block(2, 2, 6, 4, 5);
  Block used = block(2, 2, 3, 4, 0), present = buffer;
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t n = 0; n < 2; ++n)
      for (std::int64_t h = 0; h < 4; ++h) {
        present.at(b, n, 2, h) = x.at(b, n, 0, h);
        for (std::int64_t s = 0; s < 3; ++s) used.at(b, n, s, h) = present.at(b, n, s, h);
      }
  const auto found = run("DecoderMaskedMultiHeadAttention",
                         {by_position(q), by_position(x), by_position(x), Tensor(), Tensor(), tensor_of(buffer),
                          tensor_of(buffer), integers_32({1}, {2})},
                         3, {attribute("past_present_share_buffer", 1)});
  expect_equal(found[0], by_position(attend(q, used, used, kNothing)));
  expect_equal(found[1], tensor_of(present));
}

/// The weight is three identities: queries, keys and values are all the input.
TEST_P(ContribAttention, ProjectsMasksByBoundsAndStacksThePresent) {
  const Block x = block(2, 2, 3, 4, 7), past = block(4, 2, 2, 4, 8);
  std::vector<float> weight(8 * 24, 0);
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t part = 0; part < 3; ++part) weight[i * 24 + part * 8 + i] = 1;
  const Tensor pasts = floats({2, 2, 2, 2, 4}, past.values);
  const Block past_key{2, 2, 2, 4, {past.values.begin(), past.values.begin() + 32}};
  const Block past_value{2, 2, 2, 4, {past.values.begin() + 32, past.values.end()}};
  const Block keys = behind(past_key, x), values = behind(past_value, x);
  const auto found = run("Attention",
                         {by_position(x), floats({8, 24}, weight), floats({24}, std::vector<float>(24, 0)),
                          integers_32({4}, {4, 5, 1, 0}), pasts},
                         2, {attribute("unidirectional", 1)});
  expect_equal(found[0], by_position(attend(x, keys, values, [](auto b, auto s, auto t) {
                 return seen(t <= s + 2) + seen(t < 4 + b && t >= 1 - b, -10000);
               })));
  std::vector<float> present = keys.values;
  present.insert(present.end(), values.values.begin(), values.values.end());
  expect_equal(found[1], floats({2, 2, 2, 5, 4}, present));
  const auto alone = run("Attention", {by_position(x), floats({8, 24}, weight)}, 1, {});
  expect_equal(alone[0], by_position(attend(x, x, x, kNothing)));
}

TEST_P(ContribAttention, GroupsOfQueriesShareKeysAndSentencesHaveLengthsOfTheirOwn) {
  const Block q = block(2, 4, 1, 4, 1), x = block(2, 2, 1, 4, 2), past = block(2, 2, 4, 4, 3);
  Block keys = block(2, 2, 5, 4, 0);
  const std::int64_t used[] = {4, 2};
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t n = 0; n < 2; ++n)
      for (std::int64_t s = 0; s < 5; ++s)
        for (std::int64_t h = 0; h < 4; ++h) {
          keys.at(b, n, s, h) = s < used[b] ? past.at(b, n, s, h) : s == used[b] ? x.at(b, n, 0, h) : 0;
        }
  const auto grouped = [&](std::vector<onnx::AttributeProto> attributes, std::vector<Tensor> more = {}) {
    attributes.push_back(attribute("kv_num_heads", 2));
    std::vector<Tensor> inputs = {by_position(q),  by_position(x),           by_position(x),      tensor_of(past),
                                  tensor_of(past), integers_32({2}, {4, 2}), integers_32({}, {5})};
    for (Tensor& tensor : more) inputs.push_back(std::move(tensor));
    return run("GroupQueryAttention", std::move(inputs), 3, attributes, 4);
  };
  const auto found = grouped({});
  expect_equal(found[0], by_position(attend(q, keys, keys, [&](auto b, auto, auto t) { return seen(t <= used[b]); })));
  expect_equal(found[1], tensor_of(keys));
  const auto window = grouped({attribute("local_window_size", 2)});
  expect_equal(
      window[0],
      by_position(attend(q, keys, keys, [&](auto b, auto, auto t) { return seen(t <= used[b] && t > used[b] - 2); })));
  const auto smooth = grouped({attribute("smooth_softmax", 1)});
  expect_equal(smooth[0], by_position(attend(
                              q, keys, keys, [&](auto b, auto, auto t) { return seen(t <= used[b]); }, 0)));
  for (const std::int64_t heads : {1, 4}) {
    std::vector<float> bias;
    for (std::int64_t n = 0; n < heads; ++n) bias.insert(bias.end(), {0.5f, -1, 0.25f, 2, -0.75f});
    const auto biased = grouped({}, {Tensor(), Tensor(), Tensor(), floats({1, heads, 1, 5}, bias)});
    expect_equal(biased[0], by_position(attend(q, keys, keys, [&](auto b, auto, auto t) {
                   return seen(t <= used[b]) + bias[static_cast<std::size_t>(t)];
                 })));
  }
}

/// A score a head more, whose share goes nowhere.
TEST_P(ContribAttention, GroupsOfQueriesHaveSinks) {
  const Block q = block(1, 4, 3, 4, 0.3f), k = block(1, 2, 3, 4, 0.9f), v = block(1, 2, 3, 4, 0.1f);
  const std::vector<float> sinks{0.5f, -1, 2, 0.25f};
  std::vector<Tensor> inputs{by_position(q), by_position(k),        by_position(v),      Tensor(),
                             Tensor(),       integers_32({1}, {2}), integers_32({}, {3})};
  for (int absent = 7; absent < 11; ++absent) inputs.emplace_back();
  inputs.push_back(floats({4}, sinks));
  const auto found = run("GroupQueryAttention", std::move(inputs), 1, {attribute("kv_num_heads", 2)}, 4);
  std::vector<Block> heads;
  for (const float sink : sinks)
    heads.push_back(attend(
        q, k, v, [&](auto, auto s, auto t) { return seen(t <= s); }, sink));
  expect_equal(found[0], by_position(heads_of(heads)));
}

TEST_P(ContribAttention, RotatesPairsOfHalvesOrOfNeighbours) {
  const Tensor x = floats({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor cosine = floats({3, 2}, {1, 1, 0, 0, -1, -1}), sine = floats({3, 2}, {0, 0, 1, 1, 0, 0});
  const auto rotated = [&](Tensor positions, int interleaved) {
    return std::move(apply("RotaryEmbedding", {x, std::move(positions), cosine, sine}, 1,
                           {attribute("interleaved", interleaved), attribute("num_heads", 1)}, false)[0]);
  };
  expect_floats(rotated(integers({1, 2}, {1, 2}), 0), {1, 2, 4}, {-3, -4, 1, 2, -5, -6, -7, -8});
  expect_floats(rotated(integers({1}, {0}), 0), {1, 2, 4}, {1, 2, 3, 4, -7, -8, 5, 6});
  expect_floats(rotated(integers({1, 2}, {1, 1}), 1), {1, 2, 4}, {-2, 1, -4, 3, -6, 5, -8, 7});
}

TEST_P(ContribAttention, RefusesWhatDoesNotFit) {
  const auto refused = [&](std::vector<onnx::AttributeProto> attributes, std::int64_t heads) {
    EXPECT_THROW(run("MultiHeadAttention", {by_position(q_), by_position(k_), by_position(v_)}, 1, attributes, heads),
                 Error);
  };
  refused({}, 0);
  refused({}, -2);
  refused({}, 3);
  refused({}, std::int64_t{1} << 40);
}

}  // namespace
}  // namespace colonnade::onnx_import::testing
