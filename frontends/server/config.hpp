// SPDX-License-Identifier: Apache-2.0
// A model's configuration: config.pbtxt, or the JSON that a client sends with a load.
#pragma once

#include <model_config.pb.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/colonnade.hpp"
#include "frontends/server/options.hpp"

namespace colonnade::serve {

/// As Triton's and ONNX's type names pair up; TYPE_INVALID or none where they do not.
inference::DataType data_type_of(DType dtype) noexcept;
std::optional<DType> dtype_of(inference::DataType type) noexcept;

/// Printable characters only, and not too many: messages quote what configurations say.
std::string one_line(std::string text);

/// The text of a config.pbtxt. Throws Failure{invalid_argument} that names line and column.
inference::ModelConfig parse_config(std::string_view text);
inference::ModelConfig parse_config_json(std::string_view json);

/// Throws Failure for what this server does not do (sequence batching, ensembles, GPUs, ...) and for values that make
/// no sense. Returns what is ignored, one line each. `model` is the name that the repository gives.
std::vector<std::string> check_config(const inference::ModelConfig& config, const std::string& model);

/// Fills in what the configuration leaves open, from the model itself; throws Failure where they contradict each other.
/// Without a word about batches and tensors, a model whose tensors all begin with one dimension that is called a batch
/// gets `max_batch_size` `default_max_batch` and dynamic batching.
void complete_config(inference::ModelConfig& config, const std::string& model, std::span<const TensorInfo> inputs,
                     std::span<const TensorInfo> outputs, std::int32_t default_max_batch = 64);

/// `base` with what the configuration's `parameters` ask for (intra_op_thread_count, math, numa).
Options model_options(const inference::ModelConfig& config, Options base);
/// The server's limits, or less where `parameters` ask for it: request_memory (bytes), loop_limit (iterations),
/// request_timeout (seconds).
RequestLimits request_limits(const inference::ModelConfig& config, const RequestLimits& server);

/// Those of `available` that the version policy serves, ascending: the newest where it says nothing.
std::vector<std::int64_t> served_versions(const inference::ModelConfig& config, std::vector<std::int64_t> available);

/// Whether a model may have this name: letters, digits and "_-.+@:", at most 200, not beginning with a dot.
bool is_model_name(std::string_view name) noexcept;
/// 1, 2, ... without leading zeros; none for anything else.
std::optional<std::int64_t> parse_version(std::string_view text) noexcept;

}  // namespace colonnade::serve
