// SPDX-License-Identifier: Apache-2.0
// How much memory loading and running a model takes.
#include <gtest/gtest.h>

#include <fstream>

#include "onnx/builder.hpp"
#include "shell.hpp"

namespace colonnade::test {
namespace {

using namespace onnx_import::testing;

#if defined(COLONNADE_ASAN) || defined(COLONNADE_TSAN)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr double kMebibyte = 1 << 20;

/// Writes a tensor's data beside the model, where `external` says so.
class WeightsModel {
 public:
  WeightsModel(const TemporaryFolder& folder, bool external) : folder_(folder), external_(external) {}

  /// A product by the weights as they are, one by them transposed, and a convolution whose weights are scaled.
  std::string write() {
    model_.input("x", {1, 1024}).output("y");
    add("first", {1024, 4096});
    add("second", {4096, 4096});
    add("filters", {1024, 4096, 1, 1});
    for (const char* name : {"scale", "shift", "mean", "variance"}) add(name, {1024});
    model_.constant(int_tensor("image", {4}, {1, 4096, 1, 1}));
    model_.node("Gemm", {"x", "first"}, {"a"});
    model_.node("Gemm", {"a", "second"}, {"b"}, {attribute("transB", 1)});
    model_.node("Reshape", {"b", "image"}, {"c"});
    model_.node("Conv", {"c", "filters"}, {"d"});
    model_.node("BatchNormalization", {"d", "scale", "shift", "mean", "variance"}, {"y"});
    const std::string path = folder_.file("net.onnx");
    std::ofstream(path, std::ios::binary) << model_.bytes();
    return path;
  }
  double bytes() const { return bytes_; }

 private:
  void add(const std::string& name, const Shape& shape) {
    const std::vector<float> values(static_cast<std::size_t>(element_count(shape)), 0.01f);
    bytes_ += static_cast<double>(values.size() * sizeof(float));
    if (!external_) {
      model_.constant(raw_tensor<float>(name, onnx::TensorProto::FLOAT, shape, values));
      return;
    }
    std::ofstream(folder_.file(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(float)));
    model_.constant(external_tensor(name, shape, {{"location", name}}));
  }

  const TemporaryFolder& folder_;
  bool external_;
  double bytes_ = 0;
  ModelBuilder model_;
};

TEST(Memory, WeightsAreInMemoryOnce) {
  if (kSanitized) GTEST_SKIP() << "sanitizers keep freed memory";
  for (const bool external : {false, true}) {
    const TemporaryFolder folder;
    WeightsModel model(folder, external);
    const std::string path = model.write();
    const CliResult result = run_cli({"bench", path, "--threads", "1", "--iterations", "1", "--warmup", "0", "--json"});
    ASSERT_EQ(result.status, 0) << result.err;
    const auto json = nlohmann::json::parse(result.out);
    const double above_idle = json["peak_rss_bytes"].get<double>() - json["idle_rss_bytes"].get<double>();
    EXPECT_GE(json["weights_bytes"].get<double>(), 0.99 * model.bytes());
    EXPECT_LT(above_idle, 1.1 * model.bytes() + 16 * kMebibyte) << (external ? "external data" : "inline data");
  }
}

TEST(Memory, BenchHoldsAnInputOnce) {
  if (kSanitized) GTEST_SKIP() << "sanitizers keep freed memory";
  constexpr double kInput = 64 * kMebibyte;
  const TemporaryFolder folder;
  ModelBuilder model;
  model.input("x", {1, 16, 1024, 1024}).output("y").node("GlobalMaxPool", {"x"}, {"y"});
  const std::string path = folder.file("net.onnx");
  std::ofstream(path, std::ios::binary) << model.bytes();
  const CliResult result = run_cli({"bench", path, "--threads", "1", "--iterations", "1", "--warmup", "0", "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  const double above_idle = json["peak_rss_bytes"].get<double>() - json["idle_rss_bytes"].get<double>();
  EXPECT_GE(above_idle, kInput);
  EXPECT_LT(above_idle - json["arena_bytes"].get<double>(), 1.1 * kInput + 16 * kMebibyte);
}

}  // namespace
}  // namespace colonnade::test
