// SPDX-License-Identifier: Apache-2.0
// A configuration and the model that it describes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "frontends/server/config.hpp"
#include "frontends/server/status.hpp"

namespace colonnade::serve {
namespace {

using inference::ModelConfig;
using Infos = std::span<const TensorInfo>;

void check_carried(const char* kind, const TensorInfo& info) {
  if (!info.containers.empty())
    throw Failure(Code::unsupported,
                  fmt::format("{} '{}' is no tensor, and the protocol carries nothing else", kind, info.name));
  if (data_type_of(info.dtype) == inference::TYPE_INVALID)
    throw Failure(Code::unsupported, fmt::format("{} '{}' has elements of type {}, which the protocol cannot carry",
                                                 kind, info.name, name_of(info.dtype)));
}

bool is_called_batch(std::string symbol) {
  std::transform(symbol.begin(), symbol.end(), symbol.begin(), [](unsigned char c) { return std::tolower(c); });
  return symbol == "n" || symbol == "bs" || symbol.find("batch") != std::string::npos;
}

/// Whether all tensors begin with the same open dimension, by a name that says what it is. An open dimension of another
/// name may be a sequence, and requests must not be put one behind the other along that.
bool has_batch_axis(Infos inputs, Infos outputs) {
  std::set<std::string> symbols;
  for (const Infos infos : {inputs, outputs}) {
    for (const TensorInfo& info : infos) {
      if (!info.has_rank || info.shape.empty() || info.shape[0] != -1 || info.dim_names.empty()) return false;
      symbols.insert(info.dim_names[0]);
    }
  }
  return symbols.size() == 1 && is_called_batch(*symbols.begin());
}

void complete_batching(ModelConfig& config, Infos inputs, Infos outputs, std::int32_t default_max_batch) {
  const bool is_silent = !config.has_max_batch_size() && config.input_size() == 0 && config.output_size() == 0;
  const bool is_batched = is_silent && default_max_batch > 0 && has_batch_axis(inputs, outputs);
  if (!config.has_max_batch_size()) config.set_max_batch_size(is_batched ? default_max_batch : 0);
  const bool has_scheduling = config.scheduling_choice_case() != ModelConfig::SCHEDULING_CHOICE_NOT_SET;
  if (is_batched && !has_scheduling) config.mutable_dynamic_batching();
}

std::string names_of(Infos infos) {
  std::vector<std::string_view> names;
  for (const TensorInfo& info : infos) names.push_back(info.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The model's dimensions without the batch axis.
Shape sample_dims(const char* kind, const TensorInfo& info, bool is_batched) {
  if (!is_batched) return info.shape;
  if (info.shape.empty() || info.shape[0] != -1)
    reject(fmt::format("max_batch_size: expected 0, since {} '{}' of the model has no open first dimension: [{}]", kind,
                       info.name, fmt::join(info.shape, ",")));
  return Shape(info.shape.begin() + 1, info.shape.end());
}

template <class Port>
void complete_port(const char* kind, Port& port, const TensorInfo& info, bool is_batched) {
  const inference::DataType type = data_type_of(info.dtype);
  if (port.data_type() == inference::TYPE_INVALID) port.set_data_type(type);
  if (port.data_type() != type)
    reject(fmt::format("{} '{}': data_type: expected {}, as the model has it, found {}", kind, info.name,
                       inference::DataType_Name(type), inference::DataType_Name(port.data_type())));
  if (!info.has_rank) return;
  const Shape expected = sample_dims(kind, info, is_batched);
  if (port.dims_size() == 0 && !port.has_reshape()) port.mutable_dims()->Add(expected.begin(), expected.end());
  const auto& dims = port.has_reshape() ? port.reshape().shape() : port.dims();
  const bool fits = std::equal(expected.begin(), expected.end(), dims.begin(), dims.end(),
                               [](std::int64_t has, std::int64_t says) { return has == -1 || has == says; });
  if (!fits)
    reject(fmt::format("{} '{}': dims: expected [{}], as the model has them{}, found [{}]", kind, info.name,
                       fmt::join(expected, ","), is_batched ? " behind the batch" : "", fmt::join(dims, ",")));
}

template <class Ports>
void complete_ports(const char* kind, Ports& ports, Infos infos, bool is_batched) {
  for (const TensorInfo& info : infos) check_carried(kind, info);
  for (const auto& port : ports) {
    const bool known =
        std::any_of(infos.begin(), infos.end(), [&](const auto& info) { return info.name == port.name(); });
    if (!known)
      reject(fmt::format("{} '{}': the model has no such {}; it has {}", kind, port.name(), kind, names_of(infos)));
  }
  for (const TensorInfo& info : infos) {
    auto port = std::find_if(ports.begin(), ports.end(), [&](const auto& p) { return p.name() == info.name; });
    if (port == ports.end()) {
      ports.Add()->set_name(info.name);
      port = ports.end() - 1;
    }
    complete_port(kind, *port, info, is_batched);
  }
}

void check_samples(const ModelConfig& config) {
  for (const auto& sample : config.model_warmup()) {
    const std::string where = fmt::format("model_warmup '{}'", sample.name());
    for (const auto& input : config.input()) {
      const auto found = sample.inputs().find(input.name());
      if (found == sample.inputs().end()) reject(fmt::format("{}: expected input '{}'", where, input.name()));
      const auto& dims = found->second.dims();
      const bool fits = std::equal(input.dims().begin(), input.dims().end(), dims.begin(), dims.end(),
                                   [](std::int64_t has, std::int64_t says) { return has == -1 || has == says; });
      if (!fits || found->second.data_type() != input.data_type())
        reject(fmt::format("{}: input '{}': expected {} [{}], found {} [{}]", where, input.name(),
                           inference::DataType_Name(input.data_type()), fmt::join(input.dims(), ","),
                           inference::DataType_Name(found->second.data_type()), fmt::join(dims, ",")));
    }
    if (sample.inputs().size() != static_cast<std::size_t>(config.input_size()))
      reject(fmt::format("{}: expected {} inputs, found {}", where, config.input_size(), sample.inputs().size()));
  }
}

}  // namespace

void complete_config(ModelConfig& config, const std::string& model, Infos inputs, Infos outputs,
                     std::int32_t default_max_batch) {
  config.set_name(model);
  if (config.platform().empty()) config.set_platform("onnxruntime_onnx");
  if (config.backend().empty()) config.set_backend("onnxruntime");
  if (config.default_model_filename().empty()) config.set_default_model_filename("model.onnx");
  if (!config.version_policy().policy_choice_case())
    config.mutable_version_policy()->mutable_latest()->set_num_versions(1);
  try {
    complete_batching(config, inputs, outputs, default_max_batch);
    const bool is_batched = config.max_batch_size() > 0;
    complete_ports("input", *config.mutable_input(), inputs, is_batched);
    complete_ports("output", *config.mutable_output(), outputs, is_batched);
    check_samples(config);
  } catch (const Failure& failure) {
    throw Failure(failure.code(), fmt::format("configuration of model '{}': {}", model, one_line(failure.what())));
  }
  (void)check_config(config, model);  // what was filled in bounds what was not
}

}  // namespace colonnade::serve
