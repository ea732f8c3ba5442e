// SPDX-License-Identifier: Apache-2.0
// Damaged config.pbtxt files and JSON configurations. What is understood says the same when it is printed and read
// again, and a complete configuration is complete; everything else is a refusal of one line.
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include "frontends/server/config.hpp"
#include "frontends/server/repository.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/mutate.hpp"

namespace colonnade::fuzz {
namespace {

using inference::ModelConfig;

constexpr const char* kWhole = R"(
name: "m" platform: "onnxruntime_onnx" max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 3, -1 ] },
        { name: "s" data_type: TYPE_STRING dims: 1 reshape { shape: [ ] } } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 10 ] label_filename: "labels.txt" } ]
version_policy: { specific { versions: [ 1, 3 ] } }
instance_group [ { count: 2 kind: KIND_CPU } ]
dynamic_batching { preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 500 priority_levels: 3
  default_priority_level: 2 default_queue_policy { timeout_action: DELAY max_queue_size: 16 }
  priority_queue_policy { key: 3 value { default_timeout_microseconds: 1000 } } }
parameters { key: "intra_op_thread_count" value { string_value: "3" } }
optimization { graph { level: 1 } }
model_warmup [ { name: "w" batch_size: 2 count: 3
  inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 3, 64 ] zero_data: true } }
  inputs { key: "s" value { data_type: TYPE_STRING dims: [ 1 ] input_data_file: "s.bin" } } } ]
)";
constexpr const char* kOther =
    "max_batch_size: 0 sequence_batching { direct { } } instance_group { kind: KIND_GPU gpus: [ 0, 1 ] } "
    "version_policy { all { } } batch_input { kind: BATCH_ITEM_SHAPE } default_model_filename: '../x' "
    "cc_model_filenames { }";

const std::vector<TensorInfo>& inputs() {
  static const std::vector<TensorInfo> infos = {{"x", DType::f32, {-1, 3, -1}, {"batch", "", ""}},
                                                {"s", DType::string, {-1}, {"batch"}}};
  return infos;
}
const std::vector<TensorInfo>& outputs() {
  static const std::vector<TensorInfo> infos = {{"y", DType::f32, {-1, 10}, {"batch", ""}}};
  return infos;
}

std::string text_of(const ModelConfig& config) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(config, &text);
  return text;
}

/// As text, in which a NaN is equal to itself.
bool equal(const ModelConfig& a, const ModelConfig& b) { return text_of(a) == text_of(b); }

std::string json_of(const ModelConfig& config) {
  std::string json;
  (void)google::protobuf::util::MessageToJsonString(config, &json);
  return json;
}

void check_message(const serve::Failure& failure) {
  const std::string message = failure.what();
  if (failure.code() == serve::Code::internal) throw Failure("internal: " + message);
  const bool is_line = std::all_of(message.begin(), message.end(), [](char c) { return c >= ' '; });
  if (message.empty() || !is_line || message.size() > 2000) throw Failure("not one line: " + message);
}

void check_meaning(const ModelConfig& parsed) {
  if (!equal(serve::parse_config(text_of(parsed)), parsed)) throw Failure("another configuration after text");
  (void)serve::served_versions(parsed, {3, 1, 2});
  (void)serve::check_config(parsed, "m");
  ModelConfig complete = parsed;
  serve::complete_config(complete, "m", inputs(), outputs());
  (void)serve::check_config(complete, "m");
  ModelConfig again = complete;
  serve::complete_config(again, "m", inputs(), outputs());
  if (!equal(again, complete)) throw Failure("not complete: " + text_of(complete));
  if (complete.input_size() != 2 || complete.output_size() != 1) throw Failure("ports are missing");
}

template <class Parse>
void check_with(Parse parse) {
  ModelConfig config;
  try {
    config = parse();
    check_meaning(config);
  } catch (const serve::Failure& failure) {
    check_message(failure);
  }
}

void check(std::string_view bytes) {
  check_with([&] { return serve::parse_config(bytes); });
  check_with([&] { return serve::parse_config_json(bytes); });
  try {
    const std::string text(bytes);
    const auto parameters =
        serve::parse_load_parameters({{text.substr(0, 40), text}, {"file:" + text.substr(0, 30), text}});
    for (const auto& [version, file] : parameters.files)
      if (version < 1) throw Failure("a version below 1");
  } catch (const serve::Failure& failure) {
    check_message(failure);
  }
}

ModelConfig random_config(Random& random) {
  ModelConfig config = serve::parse_config(random.one_in(4) ? kOther : kWhole);
  const ModelConfig donor = serve::parse_config(random.one_in(2) ? kOther : kWhole);
  const Words words = {"x", "y", "s", "m", "..", "a/b", "onnxruntime", "\xff", ""};
  for (std::size_t count = random.below(4); count > 0; --count) mutate(config, donor, words, random);
  return config;
}

std::string printed(Random& random) {
  google::protobuf::LogSilencer quiet;  // of strings that are no UTF-8
  const ModelConfig config = random_config(random);
  return random.one_in(3) ? json_of(config) : text_of(config);
}

}  // namespace

Target config_target() {
  return {"config",
          [](Random& random) {
            std::string text = printed(random);
            return random.one_in(2) ? damage(std::move(text), printed(random), random) : text;
          },
          check};
}

}  // namespace colonnade::fuzz
