// SPDX-License-Identifier: Apache-2.0
// Decoders whose caches grow from call to call: one plan for a class of lengths, and the bits of a plan for each.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "api/texts.hpp"

namespace colonnade::test {
namespace {

constexpr std::int64_t kEmbedded = 32, kHeads = 4, kSize = 8, kTable = 700;

/// The keys or values of new words: heads of a product with the normed words.
void heads(ModelBuilder& model, const std::string& name, std::int64_t count, float step) {
  model.constant(float_tensor(name + "_weight", {kEmbedded, count * kSize}, waves(kEmbedded * count * kSize, step)));
  model.constant(int_tensor(name + "_heads", {4}, {0, 0, count, kSize}));
  model.node("MatMul", {"x", name + "_weight"}, {name + "_rows"});
  model.node("Reshape", {name + "_rows", name + "_heads"}, {name + "_split"});
  model.node("Transpose", {name + "_split"}, {name}, {attribute("perm", Ints{0, 2, 1, 3})});
}

void words(ModelBuilder& model, std::int64_t table = kTable) {
  model.input("ids", {-1, -1}, onnx::TensorProto::INT64).input("mask", {-1, -1}, onnx::TensorProto::INT64);
  model.constant(float_tensor("words", {kWords, kEmbedded}, waves(kWords * kEmbedded, 0.7f)));
  model.constant(float_tensor("places", {table, kEmbedded}, waves(table * kEmbedded, 0.3f)));
  model.constant(int_tensor("zero", {}, {0})).constant(int_tensor("one", {}, {1})).constant(int_tensor("two", {}, {2}));
  model.constant(int_tensor("i0", {1}, {0}))
      .constant(int_tensor("i1", {1}, {1}))
      .constant(int_tensor("i12", {2}, {1, 2}));
  model.node("Gather", {"words", "ids"}, {"word"});
}

void output_words(ModelBuilder& model, const std::string& mixed) {
  model.constant(int_tensor("flat", {3}, {0, 0, kEmbedded}));
  model.constant(float_tensor("last", {kEmbedded, kWords}, waves(kEmbedded * kWords, 0.19f)));
  model.node("Transpose", {mixed}, {"back"}, {attribute("perm", Ints{0, 2, 1, 3})});
  model.node("Reshape", {"back", "flat"}, {"rows"}).node("MatMul", {"rows", "last"}, {"logits"});
  model.output("logits").output("present_key").output("present_value");
}

/// A layer as exports write it: positions and a causal mask counted from the sizes of inputs, a mask of padding.
/// With `counts_mask` places are those of words that the mask counts, as OPT has them.
std::string decoder(const std::function<void(ModelBuilder&)>& twist = {}, std::int64_t table = kTable,
                    bool counts_mask = false) {
  ModelBuilder model;
  words(model, table);
  model.input("past_key", {-1, kHeads, -1, kSize}).input("past_value", {-1, kHeads, -1, kSize});
  model.node("Shape", {"past_key"}, {"past_shape"}).node("Gather", {"past_shape", "two"}, {"past"});
  model.node("Shape", {"ids"}, {"ids_shape"}).node("Gather", {"ids_shape", "one"}, {"new"});
  model.node("Add", {"past", "new"}, {"all"}).node("Range", {"past", "all", "one"}, {"positions"});
  model.node("CumSum", {"mask", "one"}, {"counts"}).node("Sub", {"counts", "one"}, {"before"});
  model.node("Max", {"before", "zero"}, {"counted"}).node("Unsqueeze", {"past", "i0"}, {"begin"});
  model.node("Unsqueeze", {"all", "i0"}, {"end"}).node("Slice", {"counted", "begin", "end", "i1"}, {"own_counts"});
  model.node("Gather", {"places", counts_mask ? "own_counts" : "positions"}, {"place"});
  model.node("Add", {"word", "place"}, {"x"});
  heads(model, "query", kHeads, 0.11f), heads(model, "key", kHeads, 0.13f), heads(model, "value", kHeads, 0.17f);
  model.node("Concat", {"past_key", "key"}, {"present_key"}, {attribute("axis", 2)});
  model.node("Concat", {"past_value", "value"}, {"present_value"}, {attribute("axis", -2)});
  model.node("Range", {"zero", "all", "one"}, {"columns"}).node("Unsqueeze", {"positions", "i1"}, {"own"});
  model.node("LessOrEqual", {"columns", "own"}, {"seen"});
  model.node("Unsqueeze", {"mask", "i12"}, {"wide"}).node("Cast", {"wide"}, {"live"}, {attribute("to", 9)});
  model.node("And", {"seen", "live"}, {"open"});
  model.constant(float_tensor("none", {}, {0})).constant(float_tensor("far", {}, {-3e38f}));
  model.node("Where", {"open", "none", "far"}, {"bias"});
  model.constant(float_tensor("root", {}, {0.6f}));
  model.node("Transpose", {"present_key"}, {"turned"}, {attribute("perm", Ints{0, 1, 3, 2})});
  model.node("Mul", {"query", "root"}, {"q"}).node("Mul", {"turned", "root"}, {"k"});
  model.node("MatMul", {"q", "k"}, {"products"}).node("Add", {"products", "bias"}, {"scores"});
  model.node("Softmax", {"scores"}, {"shares"}, {attribute("axis", -1)});
  model.node("MatMul", {"shares", "present_value"}, {"mixed"});
  output_words(model, "mixed");
  if (twist) twist(model);
  return model.bytes();
}

/// The same with com.microsoft's operator, whose caches are of another length than its mask where they are shared.
std::string grouped_decoder(bool past_counts, bool has_sinks = false) {
  ModelBuilder model;
  model.import("com.microsoft", 1);
  words(model);
  model.input("past_key", {-1, 2, -1, kSize}).input("past_value", {-1, 2, -1, kSize});
  model.node("Identity", {"word"}, {"x"});
  for (const auto& [name, count, step] :
       {std::tuple("query", kHeads, 0.11f), {"key", std::int64_t{2}, 0.13f}, {"value", std::int64_t{2}, 0.17f}}) {
    model.constant(float_tensor(std::string(name) + "_weight", {kEmbedded, count * kSize},
                                waves(kEmbedded * count * kSize, step)));
    model.node("MatMul", {"x", std::string(name) + "_weight"}, {name});
  }
  model.node("ReduceSum", {"mask", "i1"}, {"counts"}, {attribute("keepdims", 0)})
      .node("Sub", {"counts", "one"}, {"before"});
  model.node("Cast", {"before"}, {"lengths"}, {attribute("to", 6)});
  model.node("Shape", {"mask"}, {"mask_shape"}).node("Gather", {"mask_shape", "one"}, {"longest"});
  model.node("Cast", {"longest"}, {"total"}, {attribute("to", 6)});
  const auto table = [&](const std::string& name, float step) {
    model.constant(float_tensor(name, {kTable, kSize / 2}, waves(kTable * kSize / 2, step)));
  };
  table("cosines", 0.3f), table("sines", 0.4f);
  model.constant(float_tensor("sinks", {kHeads}, waves(kHeads, 0.9f)));
  model.node("GroupQueryAttention",
             {"query", "key", "value", "past_key", "past_value", "lengths", "total", "cosines", "sines", "", "",
              has_sinks ? "sinks" : ""},
             {"seen", "present_key", "present_value"},
             {attribute("num_heads", kHeads), attribute("kv_num_heads", 2), attribute("do_rotary", 1),
              attribute("local_window_size", past_counts ? -1 : 7)},
             "com.microsoft");
  model.constant(float_tensor("last", {kEmbedded, kWords}, waves(kEmbedded * kWords, 0.19f)));
  model.node("MatMul", {"seen", "last"}, {"logits"});
  return model.output("logits").output("present_key").output("present_value").bytes();
}

struct Call {
  Tensor ids, mask, key, value;
  std::vector<TensorView> views() const { return {ids, mask, key, value}; }
};

Tensor ones(std::int64_t batch, std::int64_t count) {
  Tensor mask(DType::i64, {batch, count});
  std::ranges::fill(mask.values<std::int64_t>(), 1);
  return mask;
}

Call call_of(std::int64_t batch, std::int64_t count, Tensor key, Tensor value) {
  const std::int64_t past = key.shape()[2];
  Call call{Tensor(DType::i64, {batch, count}), ones(batch, past + count), std::move(key), std::move(value)};
  for (std::size_t i = 0; i < call.ids.values<std::int64_t>().size(); ++i)
    call.ids.values<std::int64_t>()[i] = (past * 5 + static_cast<std::int64_t>(i) * 7) % kWords;
  return call;
}

/// A prompt, then words one by one; `look` sees every call and what it gave.
void decode(Session& session, std::int64_t batch, std::int64_t prompt, std::int64_t steps,
            const std::function<void(std::int64_t, const Call&, const std::vector<Tensor>&)>& look) {
  const Tensor nothing(DType::f32, {batch, kHeads, 0, kSize});
  Call call = call_of(batch, prompt, nothing, nothing);
  for (std::int64_t step = 0; step <= steps; ++step) {
    std::vector<Tensor> outputs = session.run(call.views());
    look(step, call, outputs);
    call = call_of(batch, 1, std::move(outputs[1]), std::move(outputs[2]));
  }
}

void expect_bits_of_own_plans(std::int64_t batch, std::int64_t prompt, std::int64_t steps, std::size_t plans) {
  const std::string bytes = decoder();
  Session session(model_of(bytes));
  decode(session, batch, prompt, steps, [&](std::int64_t step, const Call& call, const std::vector<Tensor>& found) {
    ASSERT_EQ(found[1].shape(), (Shape{batch, kHeads, prompt + step, kSize}));
    if (step > 3 && step % 41 != 0) return;
    const std::vector<Tensor> alone = Session(model_of(bytes)).run(call.views());
    for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_TRUE(same_bits(alone[i], found[i])) << step << " " << i;
  });
  EXPECT_EQ(session.memory_stats().plans, plans);
}

TEST(Growing, AClassOfLengthsHasOnePlanAndTheBitsOfPlansOfTheirOwn) { expect_bits_of_own_plans(1, 3, 330, 4); }

TEST(Growing, PlacesAreCountedByTheMask) {
  const std::string bytes = decoder({}, kTable, true);
  Session session(model_of(bytes));
  for (std::int64_t past = 20; past < 40; ++past) {
    const Tensor cache(DType::f32, {2, kHeads, past, kSize});
    Call call = call_of(2, 1, cache, cache);
    for (std::int64_t i = 0; i < past / 3; ++i) call.mask.values<std::int64_t>()[static_cast<std::size_t>(i)] = 0;
    const std::vector<Tensor> found = session.run(call.views()), alone = Session(model_of(bytes)).run(call.views());
    for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_TRUE(same_bits(alone[i], found[i])) << past << " " << i;
  }
  EXPECT_EQ(session.memory_stats().plans, 2u);
}

TEST(Growing, BatchesGrowAsWell) { expect_bits_of_own_plans(3, 5, 60, 3); }

/// Caches of `room` rows that stay, or of as many as there are, and words of `batch` texts one by one.
void expect_bits_of_own_plans_grouped(std::int64_t batch, std::int64_t room, bool windowed, bool has_sinks = false) {
  const std::string bytes = grouped_decoder(!windowed, has_sinks);
  Session session(model_of(bytes));
  Tensor key(DType::f32, {batch, 2, room, kSize}), value = key;
  std::ranges::fill(key.values<float>(), 0.0f), std::ranges::fill(value.values<float>(), 0.0f);
  std::int64_t all = 0;
  for (std::int64_t step = 0; step < 30; ++step) {
    const std::int64_t count = step == 0 ? 4 : 1;
    Call call = call_of(batch, count, std::move(key), std::move(value));
    call.mask = ones(batch, all += count);
    std::vector<Tensor> found = session.run(call.views());
    const std::vector<Tensor> alone = Session(model_of(bytes)).run(call.views());
    for (std::size_t i = 0; i < alone.size(); ++i) ASSERT_TRUE(same_bits(alone[i], found[i])) << step << " " << i;
    EXPECT_EQ(found[1].shape()[2], std::max(room, all));
    key = std::move(found[1]), value = std::move(found[2]);
  }
  EXPECT_EQ(session.memory_stats().plans, 3u);
}

TEST(Growing, GroupedQueriesWithCachesThatGrow) { expect_bits_of_own_plans_grouped(1, 0, false); }

TEST(Growing, GroupedQueriesOfSeveralTextsInAWindow) { expect_bits_of_own_plans_grouped(3, 0, true); }

TEST(Growing, GroupedQueriesWithCachesOfRoomForAll) { expect_bits_of_own_plans_grouped(2, 48, false); }

TEST(Growing, GroupedQueriesWithSinks) {
  expect_bits_of_own_plans_grouped(1, 0, true, true);
  expect_bits_of_own_plans_grouped(2, 48, false, true);
}

/// As programs bind them that have one buffer for past and present: only new rows are written there.
TEST(Growing, CachesLieWhereTheyWere) {
  constexpr std::int64_t kRoom = 40;
  Tensor key(DType::f32, {2, 2, kRoom, kSize}), value = key;
  std::ranges::fill(key.values<float>(), 7.0f), std::ranges::fill(value.values<float>(), 7.0f);
  Tensor own_key = key, own_value = value;
  const std::string bytes = grouped_decoder(true);
  Session session(model_of(bytes)), apart(model_of(bytes));
  for (std::int64_t past = 0; past < 20; ++past) {
    Call call = call_of(2, 1, own_key, own_value);
    call.mask = ones(2, past + 1);
    const std::vector<Tensor> expected = apart.run(call.views());
    Tensor logits(DType::f32, expected[0].shape());
    std::vector<TensorView> inputs = call.views();
    inputs[2] = key, inputs[3] = value;
    session.run(inputs, std::vector<MutableTensorView>{logits, key, value});
    EXPECT_TRUE(same_bits(logits, expected[0])) << past;
    for (const auto& [mine, all] : {std::pair(&key, &expected[1]), {&value, &expected[2]}})
      for (std::size_t i = 0; i < mine->values<float>().size(); ++i) {
        const bool is_new = static_cast<std::int64_t>(i) / kSize % kRoom <= past;
        ASSERT_EQ(mine->values<float>()[i], is_new ? all->values<float>()[i] : 7.0f) << past << " " << i;
      }
    own_key = expected[1], own_value = expected[2];
  }
}

TEST(Growing, AnotherPromptStartsInTheClassThatIsThere) {
  Session session(model_of(decoder()));
  const auto nothing = [](std::int64_t, const Call&, const std::vector<Tensor>&) {};
  decode(session, 1, 3, 10, nothing);
  const std::size_t plans = session.memory_stats().plans;
  decode(session, 1, 9, 10, nothing);
  EXPECT_EQ(session.memory_stats().plans, plans + 1) << "the prompt's";
}

TEST(Growing, IntoTheCallersMemory) {
  const std::string bytes = decoder();
  Session session(model_of(bytes));
  decode(session, 1, 2, 8, [&](std::int64_t, const Call& call, const std::vector<Tensor>& found) {
    Session other(model_of(bytes));
    std::vector<Tensor> outputs;
    std::vector<MutableTensorView> views;
    const std::vector<Shape> shapes =
        session.output_shapes({{call.ids.shape(), call.mask.shape(), call.key.shape(), call.value.shape()}});
    for (const Shape& shape : shapes) outputs.emplace_back(DType::f32, shape);
    for (Tensor& tensor : outputs) views.emplace_back(tensor);
    session.run(call.views(), views);
    for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_TRUE(same_bits(outputs[i], found[i])) << i;
  });
  EXPECT_EQ(session.memory_stats().plans, 3u);
}

TEST(Growing, PaddingInFrontIsBarredAsEver) {
  const std::string bytes = decoder();
  Session session(model_of(bytes));
  decode(session, 2, 4, 20, [&](std::int64_t step, const Call& given, const std::vector<Tensor>&) {
    if (step == 0) return;
    Call call = given;
    call.mask.values<std::int64_t>()[0] = call.mask.values<std::int64_t>()[1] = 0;
    const auto found = session.run(call.views()), alone = Session(model_of(bytes)).run(call.views());
    for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_TRUE(same_bits(alone[i], found[i])) << step << " " << i;
  });
}

TEST(Growing, BehindTheTableOfPositionsIsOneLine) {
  Session session(model_of(decoder()));
  const auto at = [&](std::int64_t past) {
    const Tensor cache(DType::f32, {1, kHeads, past, kSize});
    return session.run(call_of(1, 1, cache, cache).views());
  };
  for (const std::int64_t past : {kTable - 3, kTable - 2, kTable - 1}) at(past);
  try {
    at(kTable);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("700"), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

/// Of a class whose last positions are none, a part that the table holds has one plan.
TEST(Growing, ATableOfPositionsMayEndWithinAClass) {
  for (const std::int64_t table : {140, 448}) {
    const std::string bytes = decoder({}, table);
    Session session(model_of(bytes));
    const std::int64_t first = table * 6 / 7;
    for (std::int64_t past = first; past < first + 12; ++past) {
      const Tensor cache(DType::f32, {1, kHeads, past, kSize});
      const Call call = call_of(1, 1, cache, cache);
      const std::vector<Tensor> found = session.run(call.views()), alone = Session(model_of(bytes)).run(call.views());
      for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_TRUE(same_bits(alone[i], found[i])) << past << " " << i;
    }
    EXPECT_EQ(session.memory_stats().plans, 2u) << table;
  }
}

TEST(Growing, WhatCannotBeFollowedIsNamed) {
  const std::string bytes = decoder([](ModelBuilder& model) {
    model.node("ReduceMean", {"present_key"}, {"average"}, {attribute("axes", Ints{2})});
    model.output("average");
  });
  const Model model = model_of(bytes);
  EXPECT_NE(
      model.describe({{"past_key", {1, kHeads, 4, kSize}}, {"past_value", {1, kHeads, 4, kSize}}, {"mask", {1, 5}}})
          .find("a plan each length: node"),
      std::string::npos);
  Session session(model);
  decode(session, 1, 3, 6, [](std::int64_t, const Call&, const std::vector<Tensor>&) {});
  EXPECT_EQ(session.memory_stats().plans, 7u);
}

}  // namespace
}  // namespace colonnade::test
