// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/config.hpp"

#include <gtest/gtest.h>

#include "server/failures.hpp"

namespace colonnade::serve {
namespace {

using inference::ModelConfig;

std::string checked(const std::string& text) {
  return failure_of([&] { (void)check_config(parse_config(text), "m"); });
}

TensorInfo info(const std::string& name, DType dtype, Shape shape, std::vector<std::string> names = {}) {
  names.resize(shape.size());
  return {name, dtype, std::move(shape), std::move(names)};
}

const std::vector<TensorInfo> kInputs = {info("x", DType::f32, {-1, 3, -1, 224}, {"batch", "", "height", ""})};
const std::vector<TensorInfo> kOutputs = {info("y", DType::f32, {-1, 10}, {"batch", ""})};

ModelConfig completed(const std::string& text, const std::vector<TensorInfo>& inputs = kInputs,
                      const std::vector<TensorInfo>& outputs = kOutputs) {
  ModelConfig config = parse_config(text);
  (void)check_config(config, "m");
  complete_config(config, "m", inputs, outputs);
  return config;
}

std::string completion_failure(const std::string& text) {
  return failure_of([&] { (void)completed(text); });
}

constexpr const char* kWhole = R"(
name: "m"
platform: "onnxruntime_onnx"
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 3, -1, 224 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 10 ] label_filename: "labels.txt" } ]
version_policy: { latest { num_versions: 2 } }
instance_group [ { count: 2 kind: KIND_CPU } ]
dynamic_batching {
  preferred_batch_size: [ 4, 8 ]
  max_queue_delay_microseconds: 500
  priority_levels: 3
  default_priority_level: 2
  default_queue_policy { timeout_action: REJECT default_timeout_microseconds: 1000 allow_timeout_override: true
                         max_queue_size: 16 }
  priority_queue_policy { key: 3 value { timeout_action: DELAY } }
}
parameters { key: "intra_op_thread_count" value { string_value: "3" } }
parameters { key: "colour" value { string_value: "red" } }
optimization { graph { level: 1 } }
response_cache { enable: true }
model_warmup [ {
  name: "zeros" batch_size: 2
  inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 3, 64, 224 ] zero_data: true } }
} ]
)";

TEST(Config, ReadsWhatTritonUsersWrite) {
  const ModelConfig config = completed(kWhole);
  EXPECT_EQ(config.max_batch_size(), 8);
  EXPECT_EQ(config.dynamic_batching().preferred_batch_size(1), 8);
  EXPECT_EQ(config.dynamic_batching().priority_queue_policy().at(3).timeout_action(),
            inference::ModelQueuePolicy::DELAY);
  EXPECT_EQ(config.instance_group(0).count(), 2);
  EXPECT_EQ(config.output(0).label_filename(), "labels.txt");
  EXPECT_EQ(model_options(config, {}).threads, 3);
  EXPECT_EQ(config.model_warmup(0).inputs().at("x").dims(1), 64);
}

TEST(Config, WarnsOfWhatItIgnores) {
  const std::vector<std::string> warnings = check_config(parse_config(kWhole), "m");
  ASSERT_EQ(warnings.size(), 2u);
  expect_contains(warnings[0], "optimization: graph");
  expect_contains(warnings[1], "parameter 'colour'");
}

TEST(Config, RefusesWhatItDoesNotDo) {
  const std::pair<const char*, const char*> cases[] = {
      {"sequence_batching { }", "sequence_batching is not supported"},
      {"ensemble_scheduling { step { model_name: 'a' } }", "ensemble_scheduling is not supported"},
      {"model_transaction_policy { decoupled: true }", "decoupled"},
      {"batch_input { kind: BATCH_ELEMENT_COUNT target_name: 'b' data_type: TYPE_FP32 source_input: 'x' }",
       "batch_input"},
      {"batch_output { target_name: 'b' }", "batch_output"},
      {"instance_group { kind: KIND_GPU }", "KIND_GPU"},
      {"instance_group { gpus: 0 }", "KIND_GPU"},
      {"instance_group { kind: KIND_MODEL }", "KIND_MODEL"},
      {"instance_group { passive: true }", "passive"},
      {"instance_group { count: -1 }", "count: expected 0 to 1024, found -1"},
      {"model_operations { op_library_filename: 'evil.so' }", "model_operations"},
      {"model_repository_agents { agents { name: 'a' } }", "model_repository_agents"},
      {"input { name: 'x' allow_ragged_batch: true }", "allow_ragged_batch"},
      {"input { name: 'x' optional: true }", "optional"},
      {"input { name: 'x' is_shape_tensor: true }", "is_shape_tensor"},
      {"platform: 'tensorflow_graphdef'", "expected 'onnxruntime_onnx', found 'tensorflow_graphdef'"},
      {"backend: 'pytorch'", "expected 'onnxruntime', found 'pytorch'"},
  };
  for (const auto& [text, part] : cases) expect_contains(checked(text), part);
}

TEST(Config, RefusesValuesThatMakeNoSense) {
  const std::pair<const char*, const char*> cases[] = {
      {"name: 'other'", "expected 'm', as the model's folder is called, found 'other'"},
      {"max_batch_size: -1", "max_batch_size: expected 0 or more, found -1"},
      {"max_batch_size: 4 dynamic_batching { preferred_batch_size: 8 }",
       "preferred_batch_size: expected 1 to 4, found 8"},
      {"dynamic_batching { preferred_batch_size: 0 }", "found 0"},
      {"dynamic_batching { priority_levels: 18446744073709551615 }", "priority_levels: expected at most 65536"},
      {"dynamic_batching { priority_levels: 2 }", "default_priority_level: expected 1 to 2"},
      {"dynamic_batching { priority_levels: 2 default_priority_level: 3 }", "found 3"},
      {"dynamic_batching { default_priority_level: 1 }", "found 1"},
      {"dynamic_batching { priority_queue_policy { key: 1 value { } } }", "expected keys from 1 to 0, found 1"},
      {"version_policy { latest { num_versions: 0 } }", "num_versions"},
      {"version_policy { specific { } }", "specific"},
      {"default_model_filename: '../../etc/passwd'", "default_model_filename"},
      {"default_model_filename: '..'", "default_model_filename"},
      {"output { name: 'y' label_filename: '/etc/passwd' }", "label_filename"},
      {"input { name: 'x' dims: 0 }", "found 0"},
      {"input { name: 'x' dims: -2 }", "found -2"},
      {"input { dims: 1 }", "has no name"},
      {"input { name: 'x' } input { name: 'x' }", "appears twice"},
      {"input { name: 'x' dims: 4 reshape { shape: [ 2, 3 ] } }", "reshape: expected as many elements"},
      {"input { name: 'x' dims: [ -1, 4 ] reshape { shape: 4 } }", "reshape: expected as many elements"},
      {"input { name: 'x' dims: [ 9223372036854775807, 9223372036854775807 ] reshape { shape: 1 } }", "counted"},
      {"parameters { key: 'intra_op_thread_count' value { string_value: 'many' } }", "found 'many'"},
      {"parameters { key: 'intra_op_thread_count' value { string_value: '-1' } }", "found '-1'"},
      {"parameters { key: 'math' value { string_value: 'half' } }", "expected fast, exact or bf16, found 'half'"},
      {"model_warmup { name: 'w' }", "expected inputs"},
      {"max_batch_size: 1 model_warmup { name: 'w' batch_size: 2 inputs { key: 'x' value { data_type: TYPE_FP32 "
       "zero_data: true } } }",
       "batch_size: expected at most 1, found 2"},
      {"model_warmup { name: 'w' inputs { key: 'x' value { data_type: TYPE_FP32 dims: -1 zero_data: true } } }",
       "found -1"},
      {"model_warmup { name: 'w' inputs { key: 'x' value { data_type: TYPE_FP32 dims: 1 } } }", "expected zero_data"},
      {"model_warmup { name: 'w' inputs { key: 'x' value { zero_data: true } } }", "expected a data_type"},
      {"model_warmup { name: 'w' inputs { key: 'x' value { data_type: TYPE_FP32 input_data_file: 'a/b' } } }",
       "input_data_file"},
  };
  for (const auto& [text, part] : cases) expect_contains(checked(text), part);
}

TEST(Config, RefusesPaddingThatIsNone) {
  expect_contains(checked("parameters { key: 'padding' value { string_value: 'none' } }"), "expected zeros or compute");
}

TEST(Config, RefusesDynamicScalesThatAreNone) {
  expect_contains(checked("parameters { key: 'dynamic_scale' value { string_value: 'text' } }"),
                  "expected tensor, sequence or row, found 'text'");
}

TEST(Config, NamesThePlaceOfASyntaxError) {
  expect_contains(checked("name: 'm'\nmax_batch_sise: 3"), "config.pbtxt, line 2, column 15");
  expect_contains(checked("max_batch_size: 99999999999"), "out of range");
  expect_contains(checked("max_batch_size: [ 1"), "line 1");
  expect_contains(checked(std::string("name: \"a\0b", 10)), "line 1");
  expect_contains(checked("input { name: \"\xff\" }"), "UTF-8");
  expect_contains(checked("input { name: \"\\xff\" }"), "UTF-8");
}

TEST(Config, BoundsSizeAndDepth) {
  expect_contains(checked(std::string(2 << 20, ' ')), "at most 1048576 bytes");
  std::string deep;
  for (int i = 0; i < 10000; ++i) deep += "a {";
  EXPECT_NE(checked(deep), "");
  std::string nested = "[";
  for (int i = 0; i < 10000; ++i) nested += "{\"a\":[";
  EXPECT_NE(failure_of([&] { (void)parse_config_json(nested); }), "");
}

TEST(Config, ReadsJson) {
  const ModelConfig config = parse_config_json(
      R"({"max_batch_size": 4, "input": [{"name": "x", "data_type": "TYPE_INT64", "dims": ["3", 4]}],
          "dynamicBatching": {"maxQueueDelayMicroseconds": "100"}})");
  EXPECT_EQ(config.max_batch_size(), 4);
  EXPECT_EQ(config.input(0).dims(0), 3);
  EXPECT_EQ(config.dynamic_batching().max_queue_delay_microseconds(), 100u);
  for (const char* json : {"", "[]", "{", "{\"max_batch_size\": 1.5}", "{\"max_batch_size\": 1e99}",
                           "{\"nonsense\": 1}", "{\"input\": 3}", "{\"platform\": \"\xff\"}"})
    EXPECT_NE(failure_of([&] { (void)parse_config_json(json); }), "") << json;
}

TEST(Config, IsCompletedFromTheModel) {
  const ModelConfig config = completed("");
  EXPECT_EQ(config.name(), "m");
  EXPECT_EQ(config.platform(), "onnxruntime_onnx");
  EXPECT_GT(config.max_batch_size(), 1);
  EXPECT_TRUE(config.has_dynamic_batching());
  ASSERT_EQ(config.input_size(), 1);
  EXPECT_EQ(config.input(0).data_type(), inference::TYPE_FP32);
  ASSERT_EQ(config.input(0).dims_size(), 3);
  EXPECT_EQ(config.input(0).dims(1), -1);
  ASSERT_EQ(config.output_size(), 1);
  EXPECT_EQ(config.output(0).dims(0), 10);
}

TEST(Config, BatchesOnlyAlongWhatIsCalledABatch) {
  const auto most = [](const char* in, const char* out, const char* text = "") {
    return completed(text, {info("x", DType::f32, {-1, 3}, {in})}, {info("y", DType::f32, {-1, 3}, {out})})
        .max_batch_size();
  };
  EXPECT_GT(most("batch_size", "batch_size"), 0);
  EXPECT_GT(most("N", "N"), 0);
  EXPECT_EQ(most("batch", "boxes"), 0);
  EXPECT_EQ(most("sequence", "sequence"), 0);
  EXPECT_EQ(most("", ""), 0);
  EXPECT_EQ(most("batch", "batch", "max_batch_size: 0"), 0);
  EXPECT_EQ(completed("", {info("x", DType::f32, {1, 3})}, {info("y", DType::f32, {1, 3})}).max_batch_size(), 0);
  EXPECT_EQ(completed("", {info("x", DType::f32, {})}, {info("y", DType::f32, {-1}, {"batch"})}).max_batch_size(), 0);
}

TEST(Config, MustAgreeWithTheModel) {
  expect_contains(completion_failure("input { name: 'z' }"), "input 'z': the model has no such input; it has x");
  expect_contains(completion_failure("output { name: 'z' }"), "output 'z': the model has no such output; it has y");
  expect_contains(completion_failure("input { name: 'x' data_type: TYPE_INT8 dims: [ -1, 3, -1, 224 ] }"),
                  "expected TYPE_FP32, as the model has it, found TYPE_INT8");
  expect_contains(completion_failure("max_batch_size: 2 input { name: 'x' data_type: TYPE_FP32 dims: [ 3, -1, 225 ] }"),
                  "expected [3,-1,224], as the model has them behind the batch, found [3,-1,225]");
  expect_contains(completion_failure("input { name: 'x' data_type: TYPE_FP32 dims: [ 3, -1, 224 ] }"),
                  "expected [-1,3,-1,224], as the model has them, found [3,-1,224]");
  const auto fixed = [] {
    (void)completed("max_batch_size: 2", {info("x", DType::f32, {1, 3})}, {info("y", DType::f32, {1, 3})});
  };
  expect_contains(failure_of(fixed), "max_batch_size: expected 0, since input 'x' of the model has no open first");
  expect_contains(completion_failure("model_warmup { name: 'w' inputs { key: 'z' value { data_type: TYPE_FP32 dims: 1 "
                                     "zero_data: true } } }"),
                  "expected input 'x'");
  expect_contains(completion_failure("max_batch_size: 0 model_warmup { name: 'w' inputs { key: 'x' value { data_type: "
                                     "TYPE_FP32 dims: 1 zero_data: true } } }"),
                  "expected TYPE_FP32 [-1,3,-1,224], found TYPE_FP32 [1]");
}

TEST(Config, WhatIsFilledInBoundsTheRest) {
  expect_contains(completion_failure("dynamic_batching { preferred_batch_size: 4000 }"),
                  "expected 1 to 64, found 4000");
  EXPECT_EQ(completion_failure("dynamic_batching { preferred_batch_size: 8 }"), "");
}

TEST(Config, ReshapesAreComparedWithTheModel) {
  const std::vector<TensorInfo> inputs = {info("x", DType::f32, {-1}, {"n"})};
  const std::vector<TensorInfo> outputs = {info("y", DType::f32, {-1}, {"n"})};
  const ModelConfig config = completed(
      "max_batch_size: 4 input { name: 'x' data_type: TYPE_FP32 dims: 1 reshape { shape: [ ] } } "
      "output { name: 'y' data_type: TYPE_FP32 dims: 1 reshape { shape: [ ] } }",
      inputs, outputs);
  EXPECT_EQ(config.input(0).dims(0), 1);
}

TEST(Config, RefusesTensorsThatTheProtocolCannotCarry) {
  TensorInfo map = info("p", DType::f32, {});
  map.containers = {Container::sequence};
  expect_contains(failure_of([&] { (void)completed("", kInputs, {map}); }), "output 'p' is no tensor");
  expect_contains(failure_of([&] { (void)completed("", {info("x", DType::c64, {1})}); }), "complex64");
}

TEST(Config, VersionPolicies) {
  const auto served = [](const std::string& text, std::vector<std::int64_t> available) {
    return served_versions(parse_config(text), std::move(available));
  };
  using Versions = std::vector<std::int64_t>;
  EXPECT_EQ(served("", {3, 1, 10}), (Versions{10}));
  EXPECT_EQ(served("version_policy { latest { num_versions: 2 } }", {3, 1, 10}), (Versions{3, 10}));
  EXPECT_EQ(served("version_policy { latest { num_versions: 9 } }", {3, 1}), (Versions{1, 3}));
  EXPECT_EQ(served("version_policy { all { } }", {3, 1, 10}), (Versions{1, 3, 10}));
  EXPECT_EQ(served("version_policy { specific { versions: [ 1, 7 ] } }", {3, 1, 10}), (Versions{1}));
}

TEST(Config, TypesPairUp) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::boolean, DType::string, DType::u64})
    EXPECT_EQ(dtype_of(data_type_of(dtype)), dtype);
  EXPECT_EQ(data_type_of(DType::c64), inference::TYPE_INVALID);
  EXPECT_FALSE(dtype_of(inference::TYPE_INVALID));
}

TEST(Config, NamesAndVersions) {
  for (const char* name : {"m", "resnet-50_v1.5", "a:b@c+d", "1"}) EXPECT_TRUE(is_model_name(name)) << name;
  for (const char* name : {"", ".", "..", ".hidden", "a/b", "a\\b", "a b", "a\nb", "../x", "\xc3\xa4"})
    EXPECT_FALSE(is_model_name(name)) << name;
  EXPECT_FALSE(is_model_name(std::string(201, 'a')));
  EXPECT_FALSE(is_model_name(std::string_view("a\0b", 3)));
  EXPECT_EQ(parse_version("12"), 12);
  for (const char* text : {"", "0", "-1", "01", "1.5", "1 ", "x", "+1", "99999999999999999999"})
    EXPECT_FALSE(parse_version(text)) << text;
}

}  // namespace
}  // namespace colonnade::serve
