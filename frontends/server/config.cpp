// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/config.hpp"

#include <fmt/core.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "frontends/server/status.hpp"

namespace colonnade::serve {
namespace {

constexpr double kLongestTimeoutSeconds = 1e9;

using google::protobuf::TextFormat;

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr int kDeepest = 32;
constexpr std::size_t kLongestName = 200;

constexpr std::array<std::pair<DType, inference::DataType>, 14> kTypes = {{{DType::boolean, inference::TYPE_BOOL},
                                                                           {DType::u8, inference::TYPE_UINT8},
                                                                           {DType::u16, inference::TYPE_UINT16},
                                                                           {DType::u32, inference::TYPE_UINT32},
                                                                           {DType::u64, inference::TYPE_UINT64},
                                                                           {DType::i8, inference::TYPE_INT8},
                                                                           {DType::i16, inference::TYPE_INT16},
                                                                           {DType::i32, inference::TYPE_INT32},
                                                                           {DType::i64, inference::TYPE_INT64},
                                                                           {DType::f16, inference::TYPE_FP16},
                                                                           {DType::f32, inference::TYPE_FP32},
                                                                           {DType::f64, inference::TYPE_FP64},
                                                                           {DType::string, inference::TYPE_STRING},
                                                                           {DType::bf16, inference::TYPE_BF16}}};

/// Keeps the first error.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    if (text_.empty()) text_ = fmt::format("line {}, column {}: {}", line + 1, column + 1, message);
  }
  void AddWarning(int, google::protobuf::io::ColumnNumber, const std::string&) override {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void check_size(std::string_view text) {
  if (text.size() > kMostBytes)
    reject(fmt::format("a configuration has at most {} bytes, found {}", kMostBytes, text.size()));
}

/// Strings that are no UTF-8 could be sent to no client.
void check_strings(const inference::ModelConfig& config) {
  inference::ModelConfig copy;
  google::protobuf::LogSilencer quiet;
  if (!copy.ParseFromString(config.SerializeAsString())) reject("the strings of a configuration must be UTF-8");
}

/// A parameter that is a number of 0 or more; 0 where it is not there.
template <class Number>
Number number_parameter(const inference::ModelConfig& config, const char* name, const char* expected) {
  const auto found = config.parameters().find(name);
  if (found == config.parameters().end()) return 0;
  const std::string& text = found->second.string_value();
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(static_cast<double>(number) >= 0))
    reject(fmt::format("parameter {}: expected {}, found '{}'", name, expected, one_line(text)));
  return number;
}

}  // namespace

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  constexpr std::size_t kLongest = 400;
  if (text.size() > kLongest) text.resize(kLongest);
  return text;
}

inference::DataType data_type_of(DType dtype) noexcept {
  const auto* found = std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& row) { return row.first == dtype; });
  return found == kTypes.end() ? inference::TYPE_INVALID : found->second;
}

std::optional<DType> dtype_of(inference::DataType type) noexcept {
  const auto* found = std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& row) { return row.second == type; });
  return found == kTypes.end() ? std::nullopt : std::optional(found->first);
}

inference::ModelConfig parse_config(std::string_view text) {
  check_size(text);
  FirstError error;
  TextFormat::Parser parser;
  parser.SetRecursionLimit(kDeepest);
  parser.RecordErrorsTo(&error);
  inference::ModelConfig config;
  if (!parser.ParseFromString(std::string(text), &config)) reject("config.pbtxt, " + one_line(error.text()));
  check_strings(config);
  return config;
}

inference::ModelConfig parse_config_json(std::string_view json) {
  check_size(json);
  inference::ModelConfig config;
  const auto status = google::protobuf::util::JsonStringToMessage(std::string(json), &config);
  if (!status.ok()) reject("configuration, as JSON: " + one_line(std::string(status.message())));
  check_strings(config);
  return config;
}

static Math math_named(const std::string& text) {
  if (text == "fast") return Math::fast;
  if (text == "exact") return Math::exact;
  if (text == "bf16") return Math::bf16;
  reject(fmt::format("parameter math: expected fast, exact or bf16, found '{}'", one_line(text)));
}

static Padding padding_named(const std::string& text) {
  if (text == "zeros") return Padding::zeros;
  if (text == "compute") return Padding::compute;
  reject(fmt::format("parameter padding: expected zeros or compute, found '{}'", one_line(text)));
}

static DynamicScale dynamic_scale_named(const std::string& text) {
  if (text == "tensor") return DynamicScale::tensor;
  if (text == "sequence") return DynamicScale::sequence;
  if (text == "row") return DynamicScale::row;
  reject(fmt::format("parameter dynamic_scale: expected tensor, sequence or row, found '{}'", one_line(text)));
}

Options model_options(const inference::ModelConfig& config, Options base) {
  const auto threads = number_parameter<int>(config, "intra_op_thread_count", "a number of threads");
  if (const auto math = config.parameters().find("math"); math != config.parameters().end())
    base.math = math_named(math->second.string_value());
  if (const auto padding = config.parameters().find("padding"); padding != config.parameters().end())
    base.padding = padding_named(padding->second.string_value());
  if (const auto scale = config.parameters().find("dynamic_scale"); scale != config.parameters().end())
    base.dynamic_scale = dynamic_scale_named(scale->second.string_value());
  if (const auto numa = config.parameters().find("numa"); numa != config.parameters().end())
    base.numa = numa->second.string_value();
  if (threads > 0) base.threads = threads;
  return base;
}

RequestLimits request_limits(const inference::ModelConfig& config, const RequestLimits& server) {
  RequestLimits limits = server;
  const auto lower = [](auto& limit, auto asked) {
    if (asked > decltype(asked){}) limit = limit > decltype(asked){} ? std::min(limit, asked) : asked;
  };
  lower(limits.memory_bytes, number_parameter<std::size_t>(config, "request_memory", "a number of bytes"));
  lower(limits.loop_iterations, number_parameter<std::int64_t>(config, "loop_limit", "a number of iterations"));
  const auto seconds = number_parameter<double>(config, "request_timeout", "a number of seconds");
  lower(limits.timeout, std::chrono::ceil<std::chrono::milliseconds>(
                            std::chrono::duration<double>(std::min(seconds, kLongestTimeoutSeconds))));
  return limits;
}

std::vector<std::int64_t> served_versions(const inference::ModelConfig& config, std::vector<std::int64_t> available) {
  std::sort(available.begin(), available.end());
  const inference::ModelVersionPolicy& policy = config.version_policy();
  if (policy.has_all()) return available;
  if (policy.has_specific()) {
    const auto& wanted = policy.specific().versions();
    std::erase_if(available, [&](std::int64_t version) {
      return std::find(wanted.begin(), wanted.end(), version) == wanted.end();
    });
    return available;
  }
  const std::size_t count = policy.has_latest() ? policy.latest().num_versions() : 1;
  if (available.size() > count)
    available.erase(available.begin(), available.end() - static_cast<std::ptrdiff_t>(count));
  return available;
}

bool is_model_name(std::string_view name) noexcept {
  constexpr std::string_view kOthers = "_-.+@:";
  if (name.empty() || name.size() > kLongestName || name.front() == '.') return false;
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kOthers.find(c) != std::string_view::npos;
  });
}

std::optional<std::int64_t> parse_version(std::string_view text) noexcept {
  std::int64_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (error != std::errc() || end != text.data() + text.size() || version < 1 || text.front() == '0')
    return std::nullopt;
  return version;
}

}  // namespace colonnade::serve
