// SPDX-License-Identifier: Apache-2.0
// A session of the interface: a model, and sessions of the library that threads take in turns.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "colonnade/custom.hpp"
#include "frontends/onnxruntime/model_file.hpp"
#include "frontends/onnxruntime/options.hpp"
#include "frontends/onnxruntime/profile.hpp"
#include "frontends/pool/pool.hpp"

namespace colonnade::ort {

/// Shapes of the outputs that follow from shapes of the inputs; not where some depend on data.
struct KnownShapes {
  std::vector<Shape> inputs, outputs;
};

/// A model of the library with sessions that threads share. Some of its initializers may be inputs.
struct Engine {
  explicit Engine(Model loaded) : model(std::move(loaded)), pool(model) {}

  Model model;
  SessionPool pool;
  std::mutex mutex;
  std::shared_ptr<const KnownShapes> known;  ///< of the last run that asked; with the mutex
};

}  // namespace colonnade::ort

struct OrtSession {
  [[no_unique_address]] colonnade::ort::Alive alive;
  OrtSessionOptions options;  ///< values that it points at are not read after the session was made
  colonnade::ort::ModelFile file;
  colonnade::Options model_options;
  std::vector<colonnade::CustomOperator> operators;  ///< of the program
  std::string path;                                  ///< "" for a model of the program's bytes
  std::vector<std::byte> bytes;                      ///< those, where other models are made of them
  std::shared_ptr<colonnade::ort::Engine> engine;
  std::vector<colonnade::ort::ModelInput> overridable;
  std::mutex mutex;
  std::map<std::set<std::string>, std::shared_ptr<colonnade::ort::Engine>> others;  ///< by initializers that runs give
  std::uint64_t start_ns = 0;
  std::unique_ptr<colonnade::ort::Profile> profile;
};

namespace colonnade::ort {

/// The engine in which these initializers are inputs; made when it is asked for first.
std::shared_ptr<Engine> engine_for(OrtSession& session, const std::set<std::string>& given);

/// What a run reads and writes: values by name.
struct RunArguments {
  const OrtRunOptions* options = nullptr;
  std::span<const char* const> input_names;
  std::span<const OrtValue* const> inputs;
  std::span<const char* const> output_names;
};
/// Puts results into `outputs`: those that are there are written to, others made. Throws Failure or Error; then
/// nothing was made.
void run(OrtSession& session, const RunArguments& arguments, std::span<OrtValue*> outputs);

/// Where external data of the model lie: the folder of its file, or what the options say.
std::string folder_of(const OrtSession& session);

/// The outputs of the model that have these names.
std::vector<std::size_t> outputs_named(const Model& model, std::span<const char* const> names);

}  // namespace colonnade::ort
