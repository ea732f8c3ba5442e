// SPDX-License-Identifier: Apache-2.0
// What of a configuration this server does, ignores or refuses.
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <set>

#include "frontends/server/config.hpp"
#include "frontends/server/status.hpp"

namespace colonnade::serve {
namespace {

using inference::ModelConfig;
using Warnings = std::vector<std::string>;

constexpr std::uint64_t kMostPriorities = 65536;
constexpr int kMostInstances = 1024;

[[noreturn]] void refuse_feature(const std::string& what) {
  throw Failure(Code::unsupported, what + " is not supported");
}

bool is_file_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
}

void check_unsupported(const ModelConfig& config) {
  if (config.has_sequence_batching()) refuse_feature("sequence_batching");
  if (config.has_ensemble_scheduling()) refuse_feature("ensemble_scheduling");
  if (config.model_transaction_policy().decoupled()) refuse_feature("model_transaction_policy: decoupled");
  if (config.batch_input_size() > 0) refuse_feature("batch_input");
  if (config.batch_output_size() > 0) refuse_feature("batch_output");
  if (config.model_operations().op_library_filename_size() > 0) refuse_feature("model_operations");
  if (config.model_repository_agents().agents_size() > 0) refuse_feature("model_repository_agents");
}

void check_engine(const ModelConfig& config, const std::string& model) {
  if (!config.name().empty() && config.name() != model)
    reject(fmt::format("name: expected '{}', as the model's folder is called, found '{}'", model, config.name()));
  const std::string& platform = config.platform();
  if (!platform.empty() && platform != "onnxruntime_onnx" && platform != "onnx_onnxv1")
    reject(fmt::format("platform: expected 'onnxruntime_onnx', found '{}'", platform));
  const std::string& backend = config.backend();
  if (!backend.empty() && backend != "onnxruntime" && backend != "colonnade")
    reject(fmt::format("backend: expected 'onnxruntime', found '{}'", backend));
  if (!config.default_model_filename().empty() && !is_file_name(config.default_model_filename()))
    reject("default_model_filename: expected the name of a file without folders");
}

void check_instances(const ModelConfig& config, Warnings& warnings) {
  for (const auto& group : config.instance_group()) {
    using Group = inference::ModelInstanceGroup;
    if (group.kind() == Group::KIND_GPU || group.gpus_size() > 0) refuse_feature("instance_group: KIND_GPU");
    if (group.kind() == Group::KIND_MODEL) refuse_feature("instance_group: KIND_MODEL");
    if (group.secondary_devices_size() > 0) refuse_feature("instance_group: secondary_devices");
    if (group.passive()) refuse_feature("instance_group: passive");
    if (group.count() < 0 || group.count() > kMostInstances)
      reject(fmt::format("instance_group: count: expected 0 to {}, found {}", kMostInstances, group.count()));
    if (group.has_rate_limiter()) warnings.push_back("instance_group: rate_limiter is ignored");
    if (group.profile_size() > 0) warnings.push_back("instance_group: profile is ignored");
    if (!group.host_policy().empty()) warnings.push_back("instance_group: host_policy is ignored");
  }
}

void check_batching(const ModelConfig& config) {
  if (config.max_batch_size() < 0)
    reject(fmt::format("max_batch_size: expected 0 or more, found {}", config.max_batch_size()));
  const auto& batching = config.dynamic_batching();
  const std::int32_t most = std::max(1, config.max_batch_size());
  for (const std::int32_t size : batching.preferred_batch_size()) {
    if (size < 1 || (config.has_max_batch_size() && size > most))
      reject(fmt::format("dynamic_batching: preferred_batch_size: expected 1 to {}, found {}", most, size));
  }
  const std::uint64_t levels = batching.priority_levels();
  if (levels > kMostPriorities)
    reject(fmt::format("dynamic_batching: priority_levels: expected at most {}, found {}", kMostPriorities, levels));
  const std::uint64_t level = batching.default_priority_level();
  if (levels > 0 ? level < 1 || level > levels : level > 0)
    reject(fmt::format("dynamic_batching: default_priority_level: expected 1 to {} (priority_levels), found {}", levels,
                       level));
  for (const auto& [key, policy] : batching.priority_queue_policy()) {
    if (key < 1 || key > levels)
      reject(fmt::format("dynamic_batching: priority_queue_policy: expected keys from 1 to {}, found {}", levels, key));
  }
}

void check_versions(const ModelConfig& config) {
  const auto& policy = config.version_policy();
  if (policy.has_latest() && policy.latest().num_versions() == 0)
    reject("version_policy: latest: num_versions: expected 1 or more, found 0");
  if (policy.has_specific() && policy.specific().versions_size() == 0)
    reject("version_policy: specific: expected versions, found none");
}

template <class Dims>
void check_dims(const std::string& where, const Dims& dims) {
  for (const std::int64_t dim : dims) {
    if (dim < -1 || dim == 0) reject(fmt::format("{}: expected dimensions of at least 1, or -1, found {}", where, dim));
  }
}

template <class Port>
void check_reshape(const std::string& where, const Port& port) {
  if (!port.has_reshape()) return;
  check_dims(where + ": reshape", port.reshape().shape());
  const auto measure = [&](const auto& dims) {
    std::int64_t fixed = 1;
    std::ptrdiff_t open = 0;
    for (const std::int64_t dim : dims) {
      if (dim == -1) {
        ++open;
      } else if (fixed > std::numeric_limits<std::int64_t>::max() / dim) {
        reject(where + ": dims: more elements than can be counted");
      } else {
        fixed *= dim;
      }
    }
    return std::pair(fixed, open);
  };
  if (measure(port.dims()) != measure(port.reshape().shape()))
    reject(where + ": reshape: expected as many elements and open dimensions as dims has");
}

template <class Ports>
void check_ports(const char* kind, const Ports& ports) {
  std::set<std::string> names;
  for (const auto& port : ports) {
    const std::string where = fmt::format("{} '{}'", kind, port.name());
    if (port.name().empty()) reject(fmt::format("an {} has no name", kind));
    if (!names.insert(port.name()).second) reject(where + " appears twice");
    check_dims(where + ": dims", port.dims());
    check_reshape(where, port);
    if (port.is_shape_tensor()) refuse_feature(where + ": is_shape_tensor");
    if (port.is_non_linear_format_io()) refuse_feature(where + ": is_non_linear_format_io");
  }
}

void check_tensors(const ModelConfig& config) {
  check_ports("input", config.input());
  check_ports("output", config.output());
  for (const auto& input : config.input()) {
    if (input.allow_ragged_batch()) refuse_feature(fmt::format("input '{}': allow_ragged_batch", input.name()));
    if (input.optional()) refuse_feature(fmt::format("input '{}': optional", input.name()));
  }
  for (const auto& output : config.output()) {
    if (!output.label_filename().empty() && !is_file_name(output.label_filename()))
      reject(fmt::format("output '{}': label_filename: expected the name of a file without folders", output.name()));
  }
}

void check_warmup(const ModelConfig& config) {
  for (const auto& sample : config.model_warmup()) {
    const std::string where = fmt::format("model_warmup '{}'", sample.name());
    if (sample.inputs().empty()) reject(where + ": expected inputs, found none");
    if (config.has_max_batch_size() &&
        sample.batch_size() > static_cast<std::uint32_t>(std::max(1, config.max_batch_size())))
      reject(fmt::format("{}: batch_size: expected at most {}, found {}", where, std::max(1, config.max_batch_size()),
                         sample.batch_size()));
    for (const auto& [name, input] : sample.inputs()) {
      const std::string place = fmt::format("{}: input '{}'", where, name);
      for (const std::int64_t dim : input.dims()) {
        if (dim < 1) reject(fmt::format("{}: dims: expected at least 1, found {}", place, dim));
      }
      if (!dtype_of(input.data_type())) reject(place + ": expected a data_type");
      using Input = inference::ModelWarmup::Input;
      if (input.input_data_type_case() == Input::INPUT_DATA_TYPE_NOT_SET)
        reject(place + ": expected zero_data, random_data or input_data_file");
      if (input.has_input_data_file() && !is_file_name(input.input_data_file()))
        reject(place + ": input_data_file: expected the name of a file without folders");
    }
  }
}

/// What only changes how other engines run, or what other servers show.
void warn_of_ignored(const ModelConfig& config, Warnings& warnings) {
  const auto warn = [&](bool is_there, const char* what) {
    if (is_there) warnings.push_back(fmt::format("{} is ignored", what));
  };
  const auto& optimization = config.optimization();
  warn(optimization.has_graph(), "optimization: graph");
  warn(optimization.has_cuda(), "optimization: cuda");
  warn(optimization.has_execution_accelerators(), "optimization: execution_accelerators");
  warn(optimization.priority() != inference::ModelOptimizationPolicy::PRIORITY_DEFAULT, "optimization: priority");
  warn(!config.cc_model_filenames().empty(), "cc_model_filenames");
  warn(!config.metric_tags().empty(), "metric_tags");
  warn(config.has_model_metrics(), "model_metrics");
  warn(!config.runtime().empty(), "runtime");
  static const std::set<std::string> silent = {"math",
                                               "padding",
                                               "dynamic_scale",
                                               "numa",
                                               "intra_op_thread_count",
                                               "inter_op_thread_count",
                                               "execution_mode",
                                               "enable_mem_arena",
                                               "enable_mem_pattern",
                                               "memory.enable_memory_arena_shrinkage",
                                               "request_memory",
                                               "loop_limit",
                                               "request_timeout"};
  for (const auto& [name, value] : config.parameters()) {
    if (!silent.contains(name)) warnings.push_back(fmt::format("parameter '{}' is unknown and ignored", name));
  }
}

}  // namespace

std::vector<std::string> check_config(const ModelConfig& config, const std::string& model) {
  Warnings warnings;
  try {
    check_unsupported(config);
    check_engine(config, model);
    check_versions(config);
    check_tensors(config);
    check_batching(config);
    check_instances(config, warnings);
    check_warmup(config);
    (void)model_options(config, {});
    (void)request_limits(config, {});
  } catch (const Failure& failure) {
    throw Failure(failure.code(), fmt::format("configuration of model '{}': {}", model, one_line(failure.what())));
  }
  warn_of_ignored(config, warnings);
  std::sort(warnings.begin(), warnings.end());
  return warnings;
}

}  // namespace colonnade::serve
