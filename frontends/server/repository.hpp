// SPDX-License-Identifier: Apache-2.0
// What lies in a repository: a model.onnx, a folder of .onnx files, or <model>/[config.pbtxt]/<version>/model.onnx.
#pragma once

#include <model_config.pb.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/server/status.hpp"

namespace colonnade::serve {

/// A model as it lies on disk. Nothing of it is loaded.
struct FoundModel {
  std::string name;
  std::filesystem::path folder;   ///< of config.pbtxt, labels and warm-up data; "" for a bare file
  inference::ModelConfig config;  ///< as written; empty when there is none
  std::vector<std::string> warnings;
  std::map<std::int64_t, std::filesystem::path> versions;  ///< the file to load for each
  /// Differs when anything that was read for this model was changed: sizes and times of all its files.
  std::map<std::int64_t, std::string> stamps;
  std::string config_stamp;
  std::filesystem::file_time_type changed;  ///< when the youngest of its files was written
  std::optional<Status> problem;            ///< why it cannot be loaded; names no path of the host
};

/// Every model of these repositories, by name; NAME=PATH gives a single model another name. A model that is broken, or
/// found twice, has a `problem` and harms no other. Throws Failure{not_found} when a repository cannot be read at all.
std::vector<FoundModel> scan_repositories(const std::vector<std::string>& paths);
/// The same for one model; none when there is no such model.
std::optional<FoundModel> find_model(const std::vector<std::string>& paths, const std::string& name);

/// A file of the model's folder (labels, warm-up data), at most `most_bytes`. Throws Failure when it is not below the
/// folder or cannot be read.
std::string read_model_file(const FoundModel& model, const std::filesystem::path& relative, std::size_t most_bytes);

/// What a load request brings instead of what lies on disk.
struct LoadParameters {
  std::optional<inference::ModelConfig> config;
  std::map<std::int64_t, std::string> files;  ///< content of the model's file for each version
};
/// Of `config` and `file:<version>/<name>`. Throws Failure for anything else.
LoadParameters parse_load_parameters(const std::map<std::string, std::string>& parameters);

}  // namespace colonnade::serve
