// SPDX-License-Identifier: Apache-2.0
// Calls as programs write them: lists in place, strides, names; and what a model says of itself.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "colonnade/colonnade.h"
#include "colonnade/colonnade.hpp"
#include "onnx/builder.hpp"

namespace colonnade::test {
namespace {

using onnx_import::testing::as_bytes;
using onnx_import::testing::ModelBuilder;

ModelBuilder difference() {
  ModelBuilder model;
  model.input("a", {2, 3}).input("b", {2, 3}).node("Sub", {"a", "b"}, {"y"}).node("Add", {"a", "b"}, {"z"});
  model.output("y").output("z");
  return model;
}

std::vector<float> numbers_of(const Tensor& tensor) {
  return {tensor.values<float>().begin(), tensor.values<float>().end()};
}

TEST(Calls, TakeListsInPlaceStridesAndNames) {
  const std::string bytes = difference().bytes();
  Session session;
  session = Session(Model::from_bytes(as_bytes(bytes)));
  const float a[] = {1, 2, 3, 4, 5, 6}, columns[] = {10, 40, 20, 50, 30, 60};
  const TensorView first(DType::f32, {2, 3}, a), second(DType::f32, {2, 3}, columns, {1, 2});
  const std::vector<float> expected = {-9, -18, -27, -36, -45, -54};
  EXPECT_EQ(numbers_of(session.run({first, second})[0]), expected);
  EXPECT_EQ(numbers_of(session.run({{DType::f32, {2, 3}, a}, {DType::f32, {2, 3}, columns, {1, 2}}})[0]), expected);

  Tensor y(DType::f32, {2, 3}), z(DType::f32, {2, 3});
  session.run({first, second}, {MutableTensorView(y), MutableTensorView(z)});
  EXPECT_EQ(numbers_of(y), expected);
  session.run({first, second}, {y, z});
  EXPECT_EQ(numbers_of(z), (std::vector<float>{11, 22, 33, 44, 55, 66}));

  const NamedOutputs outputs = session.run_named({{"b", second}, {"a", first}});
  EXPECT_EQ(numbers_of(outputs.at("y")), expected);
  EXPECT_EQ(outputs.size(), 2u);
  for (const NamedInputs& wrong : {NamedInputs{{"a", first}}, NamedInputs{{"a", first}, {"b", second}, {"c", first}}}) {
    try {
      session.run_named(wrong);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string(error.what()).find(wrong.size() == 1 ? "'b' is missing" : "no input 'c'"),
                std::string::npos)
          << error.what();
    }
  }
}

std::string described() {
  ModelBuilder model = difference();
  model.import("ai.onnx.ml", 3);
  model.proto.set_producer_name("loom");
  model.proto.set_producer_version("4.2");
  model.proto.set_domain("org.example");
  model.proto.set_doc_string("weaves");
  model.proto.set_model_version(7);
  model.proto.mutable_graph()->set_doc_string("warp and weft");
  auto* entry = model.proto.add_metadata_props();
  entry->set_key("threads");
  entry->set_value("many");
  return model.bytes();
}

void expect_described(const Model& model) {
  const ModelMetadata& found = model.metadata();
  EXPECT_EQ(found.producer_name, "loom");
  EXPECT_EQ(found.producer_version, "4.2");
  EXPECT_EQ(found.domain, "org.example");
  EXPECT_EQ(found.description, "weaves");
  EXPECT_EQ(found.model_version, 7);
  EXPECT_EQ(found.ir_version, 8);
  EXPECT_EQ(found.graph_name, "test");
  EXPECT_EQ(found.graph_description, "warp and weft");
  EXPECT_EQ(found.opsets, (std::map<std::string, std::int64_t>{{"ai.onnx", 17}, {"ai.onnx.ml", 3}}));
  EXPECT_EQ(found.custom, (std::map<std::string, std::string>{{"threads", "many"}}));
}

TEST(Metadata, IsWhatTheFileSays) {
  const std::string bytes = described();
  const Model model = Model::from_bytes(as_bytes(bytes));
  expect_described(model);
  EXPECT_EQ(model.name(), "model");
  EXPECT_EQ(Model::embedded("digits").name(), "digits");
}

TEST(Metadata, StaysInACompiledFile) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("colonnade-metadata-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "net.onnx", std::ios::binary) << described();
  Options options;
  options.compiled = (folder / "net.compiled").string();
  for (int load = 0; load < 2; ++load) {
    const Model model = Model::load((folder / "net.onnx").string(), options);
    expect_described(model);
    EXPECT_EQ(model.name(), "net.onnx");
    Session(model).prepare();
    EXPECT_TRUE(std::filesystem::exists(options.compiled));
  }
  std::filesystem::remove_all(folder);
}

TEST(Metadata, ReachesC) {
  const std::string bytes = described();
  colonnade_model* model = nullptr;
  ASSERT_EQ(colonnade_model_from_bytes(bytes.data(), bytes.size(), nullptr, &model), nullptr);
  colonnade_metadata found{};
  found.struct_size = sizeof found;
  ASSERT_EQ(colonnade_model_metadata(model, &found), nullptr);
  EXPECT_STREQ(found.name, "model");
  EXPECT_STREQ(found.producer_name, "loom");
  EXPECT_STREQ(found.producer_version, "4.2");
  EXPECT_STREQ(found.domain, "org.example");
  EXPECT_STREQ(found.description, "weaves");
  EXPECT_EQ(found.model_version, 7);
  EXPECT_EQ(found.ir_version, 8);
  EXPECT_STREQ(found.graph_name, "test");
  EXPECT_STREQ(found.graph_description, "warp and weft");
  ASSERT_EQ(found.opset_count, 2u);
  EXPECT_STREQ(found.opsets[0].domain, "ai.onnx");
  EXPECT_EQ(found.opsets[0].version, 17);
  ASSERT_EQ(found.custom_count, 1u);
  EXPECT_STREQ(found.custom[0].key, "threads");
  EXPECT_STREQ(found.custom[0].value, "many");
  colonnade_model_free(model);
  colonnade_status* status = colonnade_model_metadata(nullptr, &found);
  EXPECT_EQ(colonnade_status_code(status), COLONNADE_INVALID_ARGUMENT);
  colonnade_status_free(status);
}

}  // namespace
}  // namespace colonnade::test
