// SPDX-License-Identifier: Apache-2.0
// The commands: what each is told, and the function that obeys. A command appends to `out` what belongs on stdout and
// returns the exit status; failures are Errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "frontends/image/image.hpp"

namespace colonnade::cli {

inline constexpr int kGood = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongUse = 2;
inline constexpr int kInvalidModelOrInput = 3;
inline constexpr int kUnsupported = 4;

struct EngineOptions {
  std::string model;  ///< a path, or embedded:NAME
  int threads = 0;
  std::string schedule = "auto";
  std::string math = "fast";
  std::string memory_limit;
  std::string isa;
  std::string blocking;
  std::string numa;
  bool strict = false;
  std::string duel = "on";
  std::string padding = "zeros";
  std::string dynamic_scale = "tensor";
  std::string compiled;  ///< file of packed weights and plans; "": none
};

struct ShapeOptions {
  std::vector<std::string> shapes;  ///< NAME:1x3x224x224
  std::int64_t batch = 0;           ///< 0: as the model says
};

struct InputOptions {
  std::vector<std::string> files;  ///< NAME=FILE
  images::ImageOptions image;
  bool cast = false;
  std::uint64_t seed = 1;
};

struct BenchOptions {
  EngineOptions engine;
  ShapeOptions shape;
  int streams = 1;
  int warmup = 5;
  int iterations = 0;  ///< 0: by duration
  double duration_seconds = 3;
  std::uint64_t seed = 1;
  bool json = false;
  bool quiet = false;
  std::string trace;
  std::string lengths;  ///< of texts, a file or a distribution; "": one shape
};

struct RunOptions {
  EngineOptions engine;
  ShapeOptions shape;
  InputOptions input;
  std::vector<std::string> outputs;  ///< NAME=FILE
  std::string output_folder;
  std::string saved_inputs_folder;
  std::string labels;
  int top_k = -1;  ///< -1: 5 for outputs of a classifier
  bool quiet = false;
};

struct ExplainOptions {
  EngineOptions engine;
  ShapeOptions shape;
  std::string stage;
  std::string html;
  bool measure = false;
  bool memory = false;
  bool json = false;
};

struct CheckOptions {
  EngineOptions engine;
  ShapeOptions shape;
  InputOptions input;
  std::vector<std::string> expected;  ///< NAME=FILE
  std::string data;
  double relative_tolerance = -1;  ///< negative: by type
  double absolute_tolerance = -1;
  bool schedules = false;
  bool layers = false;
  bool quiet = false;
};

struct MachineOptions {
  bool json = false;
  bool no_measure = false;
};

struct QuantizeOptions {
  std::string model, output;
  std::vector<std::string> data;  ///< files and folders
  int samples = 100;              ///< at most
  std::string method = "percentile";
  std::string weights_only;         ///< "int8" or "int4"; "": activations too
  std::int64_t accuracy_level = 0;  ///< of MatMulNBits
  std::vector<std::string> keep;    ///< nodes
  double least_sqnr = 20;           ///< dB, of the last layers' outputs
  bool random = false;
  bool cast = false;
  ShapeOptions shape;
  images::ImageOptions image;
  int threads = 0;
  bool quiet = false;
};

struct SimulateArguments {
  EngineOptions engine;
  ShapeOptions shape;
  std::string machine;       ///< file; "": this machine
  std::vector<int> threads;  ///< empty: 1, 2, 4 and so on, and all cores
  std::string trace;
  bool json = false;
};

struct OptimizeOptions {
  std::string model, output;
  std::string weights;                  ///< name of a file for large constants; "": within the model
  std::vector<std::string> dimensions;  ///< SYMBOL=SIZE
};

int execute(const BenchOptions& options, std::string& out);
int execute(const RunOptions& options, std::string& out);
int execute(const ExplainOptions& options, std::string& out);
int execute(const CheckOptions& options, std::string& out);
int execute(const MachineOptions& options, std::string& out);
int execute(const QuantizeOptions& options, std::string& out);
int execute(const OptimizeOptions& options, std::string& out);
int execute(const SimulateArguments& arguments, std::string& out);

}  // namespace colonnade::cli
