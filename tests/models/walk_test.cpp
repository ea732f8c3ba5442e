// SPDX-License-Identifier: Apache-2.0
// Real models, where they exist beside the checkout: each loads, plans and runs through the command line, matches its
// stored outputs or else the reference, and gives the same bits under every schedule and number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kLargestMacs = 3e8;  // sanitizers slow the reference too much for more
#else
constexpr double kLargestMacs = 1e12;
#endif

fs::path shared_folder() {
  if (const char* given = std::getenv("COLONNADE_SHARED")) return given;
  return fs::path(COLONNADE_SOURCE_DIR) / ".." / "shared";
}

struct Outcome {
  int status = 0;
  std::string text;
};

Outcome run(const std::string& arguments) {
  Outcome outcome;
  FILE* pipe = popen((std::string(COLONNADE_CLI) + " " + arguments + " 2>&1").c_str(), "r");
  char buffer[4096];
  while (std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) outcome.text.append(buffer, n);
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

std::string shell_quoted(const fs::path& path) { return "'" + path.string() + "'"; }

json manifest() {
  std::ifstream file(shared_folder() / "models" / "manifest.json");
  return file ? json::parse(file) : json::array();
}

std::vector<std::string> model_files() {
  std::vector<std::string> files;
  for (const json& entry : manifest()) {
    const std::string file = entry["file"];
    if (file.starts_with("vision/") || file.starts_with("tabular/")) files.push_back(file);
  }
  return files;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = fs::path(info.param).stem().string();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

/// --shape options for the inputs whose dimensions the file leaves open.
std::string shape_options(const json& entry) {
  std::string options;
  if (!entry.contains("suggested_input_shapes") || !entry["suggested_input_shapes"].is_object()) return options;
  for (const auto& [name, shape] : entry["suggested_input_shapes"].items()) {
    if (!shape.is_array() || shape.empty()) continue;
    std::string text;
    for (const json& dim : shape) text += (text.empty() ? "" : "x") + dim.dump();
    options += " --shape " + shell_quoted(name + ":" + text);
  }
  return options;
}

/// Writes a float32 .npy whose element i is value(i).
template <class Value>
void write_npy(const fs::path& path, const std::vector<std::int64_t>& shape, Value value) {
  const std::int64_t count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  std::string dims;
  for (const std::int64_t dim : shape) dims += std::to_string(dim) + ", ";
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + dims + "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  const auto length = static_cast<unsigned>(header.size());
  file << "\x93NUMPY" << '\x01' << '\0' << static_cast<char>(length & 255) << static_cast<char>(length >> 8) << header;
  for (std::int64_t i = 0; i < count; ++i) {
    const float element = value(i);
    file.write(reinterpret_cast<const char*>(&element), sizeof element);
  }
}

fs::path temporary(const std::string& name) {
  return fs::temp_directory_path() / ("colonnade_" + std::to_string(getpid()) + "_" + name);
}

/// What to feed a model: its stored tensors, pixels from 0 to 255 where it takes those (its normalisation is
/// ill-conditioned on anything smaller), else random numbers.
std::string input_options(const json& entry, const fs::path& model, const fs::path& stored) {
  if (fs::exists(stored / "io.npz")) {
    std::string options = " --input " + shell_quoted(stored / "io.npz");
    for (const json& output : entry["outputs"])
      if (output[0] == "probabilities")
        options += " --expect " + shell_quoted("probabilities=" + (stored / "io.npz").string());
    return options;
  }
  if (fs::exists(stored)) return " --data " + shell_quoted(stored);
  if (model.stem() != "fns_candy_720") return shape_options(entry);
  const fs::path pixels = temporary("pixels.npy");
  std::uint32_t state = 1;
  write_npy(pixels, {1, 3, 720, 720}, [&](std::int64_t) {
    state = state * 1664525 + 1013904223;
    return static_cast<float>(state >> 24);
  });
  return " --input " + shell_quoted(pixels);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

class SharedModel : public testing::TestWithParam<std::string> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SharedModel);

TEST_P(SharedModel, MatchesAndIsTheSameForEverySchedule) {
  const fs::path model = shared_folder() / "models" / GetParam();
  json entry;
  for (const json& candidate : manifest())
    if (candidate["file"] == GetParam()) entry = candidate;
  if (entry["macs"].is_number() && entry["macs"].get<double>() > kLargestMacs)
    GTEST_SKIP() << "too slow under a sanitizer";
  fs::path stored = model;
  stored.replace_filename(model.stem().string() + "_io");
  const Outcome outcome = run("check " + shell_quoted(model) + input_options(entry, model, stored) + " --schedules");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  std::printf("%-40s %s%s\n", GetParam().c_str(), first_line(outcome.text).c_str(),
              fs::exists(stored) ? " (stored outputs)" : "");
}

INSTANTIATE_TEST_SUITE_P(Walk, SharedModel, testing::ValuesIn(model_files()), test_name);

struct LightModel {
  std::string name, input;
  double macs;
};

class Light : public testing::TestWithParam<LightModel> {};

TEST_P(Light, MatchesItsStoredOutput) {
  const fs::path archive = shared_folder() / "onnx-backend-tests.tar.xz";
  if (!fs::exists(archive)) GTEST_SKIP() << "no " << archive;
  if (GetParam().macs > kLargestMacs) GTEST_SKIP() << "too slow under a sanitizer";
  const fs::path folder = temporary(GetParam().name);
  fs::create_directories(folder);
  const std::string inside = "onnx/backend/test/data/light/";
  const std::string stem = inside + "light_" + GetParam().name;
  ASSERT_EQ(std::system(("tar xf " + shell_quoted(archive) + " -C " + shell_quoted(folder) + " " + stem + ".onnx " +
                         stem + "_output_0.pb")
                            .c_str()),
            0);
  constexpr std::int64_t kPixels = 3 * 224 * 224;
  write_npy(folder / "input.npy", {1, 3, 224, 224},
            [](std::int64_t i) { return static_cast<float>(static_cast<double>(i) / kPixels); });
  const Outcome outcome = run("check " + shell_quoted(folder / (stem + ".onnx")) + " --input " +
                              shell_quoted(GetParam().input + "=" + (folder / "input.npy").string()) + " --expect " +
                              shell_quoted(folder / (stem + "_output_0.pb")) + " --schedules");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  std::printf("%-40s %s\n", GetParam().name.c_str(), first_line(outcome.text).c_str());
  fs::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, Light,
    testing::Values(LightModel{"bvlc_alexnet", "data_0", 6.6e8}, LightModel{"densenet121", "data_0", 2.9e9},
                    LightModel{"inception_v1", "data_0", 1.6e9}, LightModel{"inception_v2", "data_0", 2e9},
                    LightModel{"resnet50", "gpu_0/data_0", 4.1e9}, LightModel{"shufflenet", "gpu_0/data_0", 1.5e8},
                    LightModel{"squeezenet", "data_0", 3.5e8}, LightModel{"vgg19", "data_0", 2e10},
                    LightModel{"zfnet512", "gpu_0/data_0", 2e9}),
    [](const testing::TestParamInfo<LightModel>& parameter) { return parameter.param.name; });

}  // namespace
