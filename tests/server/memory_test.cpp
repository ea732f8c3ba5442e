// SPDX-License-Identifier: Apache-2.0
// What models need is known before they are loaded, and bounded.
#include "colonnade/memory.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "echo_models.hpp"
#include "frontends/onnx/proto.hpp"
#include "frontends/server/memory.hpp"
#include "http_client.hpp"
#include "server_process.hpp"

namespace colonnade::test {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kWidth = 1024;
constexpr double kMiB = 1 << 20;

/// ONNX bytes: "y" is "x" [1,kWidth], or [batch,kWidth], times matrices, of which each is 4 MiB.
std::string matrices(int count, bool is_open = false) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto& graph = *model.mutable_graph();
  graph.set_name("matrices");
  const auto describe = [is_open](onnx::ValueInfoProto& info, const char* name) {
    info.set_name(name);
    auto* type = info.mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx_import::data_type_of(DType::f32));
    auto& first = *type->mutable_shape()->add_dim();
    is_open ? first.set_dim_param("batch") : first.set_dim_value(1);
    type->mutable_shape()->add_dim()->set_dim_value(kWidth);
  };
  describe(*graph.add_input(), "x");
  describe(*graph.add_output(), "y");
  std::vector<float> elements(static_cast<std::size_t>(kWidth * kWidth), 0.001F);
  for (int i = 0; i < count; ++i) {
    const std::string name = "w" + std::to_string(i);
    elements[0] = static_cast<float>(i);
    auto& weights = *graph.add_initializer();
    weights.set_name(name);
    weights.set_data_type(onnx_import::data_type_of(DType::f32));
    for (int axis = 0; axis < 2; ++axis) weights.add_dims(kWidth);
    weights.set_raw_data(elements.data(), elements.size() * sizeof(float));
    auto& node = *graph.add_node();
    node.set_op_type("MatMul");
    node.add_input(i == 0 ? "x" : "h" + std::to_string(i - 1));
    node.add_input(name);
    node.add_output(i + 1 == count ? "y" : "h" + std::to_string(i));
  }
  return model.SerializeAsString();
}

TEST(MemoryNeed, IsWhatASessionThenTakes) {
  for (const std::string& name : Model::embedded_names()) {
    const Model model = Model::embedded(name);
    const MemoryNeed need = memory_need(model);
    Session session(model);
    session.prepare();
    const Session::MemoryStats taken = session.memory_stats();
    EXPECT_NEAR(static_cast<double>(need.weights), static_cast<double>(taken.weights_bytes),
                0.05 * static_cast<double>(taken.weights_bytes))
        << name;
    EXPECT_EQ(need.arena, session.stats().arena_bytes) << name;
    EXPECT_TRUE(need.is_known && need.is_steady) << name;
  }
}

TEST(Memory, SharesStayWithinTheLimit) {
  serve::Memory memory(100);
  serve::MemoryShare first(memory), second(memory);
  EXPECT_TRUE(first.set(60));
  EXPECT_FALSE(second.set(41));
  EXPECT_TRUE(second.set(40));
  EXPECT_EQ(memory.left(), 0u);
  EXPECT_TRUE(first.set(10));
  EXPECT_EQ(memory.taken(), 50u);
  EXPECT_GT(serve::usable_memory(), std::size_t{64} << 20);
}

class MemoryOfServer : public ::testing::Test {
 protected:
  void start(const std::vector<std::string>& more, int models, int matrices_each) {
    const std::string model = matrices(matrices_each);
    for (int i = 0; i < models; ++i) repository_.add("m" + std::to_string(i), model);
    std::vector<std::string> arguments = {repository_.path(), "--streams", "1", "--strict-readiness", "false"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    server_ = std::make_unique<ServerProcess>(arguments);
    port_ = server_->http_port();
    ASSERT_GT(port_, 0);
    wait_until_ready(port_);
  }

  double resident_mib() const {
    std::ifstream file("/proc/" + std::to_string(server_->process()) + "/statm");
    double all = 0, resident = 0;
    file >> all >> resident;
    return resident * 4096 / kMiB;
  }

  Answer ask(int model) const {
    std::string body = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,1024],"data":[1)";
    for (int i = 1; i < kWidth; ++i) body += ",1";
    return Client(port_).ask("POST", "/v2/models/m" + std::to_string(model) + "/infer", body + "]}]}");
  }

  /// As the index has it.
  std::string state_of(const std::string& model) const {
    const auto index = nlohmann::json::parse(Client(port_).ask("POST", "/v2/repository/index", "{}").body);
    for (const auto& row : index)
      if (row["name"] == model) return row["state"];
    return "";
  }

  double needed_mib(int model) const {
    const Answer answer = Client(port_).ask("GET", "/v2/models/m" + std::to_string(model));
    if (answer.status != 200) return -1;
    const auto metadata = nlohmann::json::parse(answer.body);
    return std::stod(metadata["parameters"]["memory_bytes"].get<std::string>()) / kMiB;
  }

  Repository repository_;
  std::unique_ptr<ServerProcess> server_;
  int port_ = 0;
};

TEST_F(MemoryOfServer, AModelTakesWhatItWasSaidToNeed) {
  start({"--model-control-mode", "explicit"}, 2, 20);
  // The first one brings what all share.
  ASSERT_EQ(Client(port_).ask("POST", "/v2/repository/models/m0/load").status, 200);
  ASSERT_EQ(ask(0).status, 200);
  const double before = resident_mib();
  ASSERT_EQ(Client(port_).ask("POST", "/v2/repository/models/m1/load").status, 200);
  ASSERT_EQ(ask(1).status, 200);
  const double taken = resident_mib() - before;
  EXPECT_NEAR(needed_mib(1), taken, 0.05 * taken);
}

TEST_F(MemoryOfServer, WhatDoesNotFitIsRefusedWithTheSum) {
  start({"--model-control-mode", "explicit", "--memory-limit", "100M"}, 3, 10);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(Client(port_).ask("POST", "/v2/repository/models/m" + std::to_string(i) + "/load").status, 200) << i;
  const Answer refused = Client(port_).ask("POST", "/v2/repository/models/m2/load");
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.error().find("it needs 40"), std::string::npos) << refused.error();
  EXPECT_NE(refused.error().find("of 100.0 MiB"), std::string::npos) << refused.error();
  ASSERT_EQ(Client(port_).ask("POST", "/v2/repository/models/m0/unload").status, 200);
  EXPECT_EQ(Client(port_).ask("POST", "/v2/repository/models/m2/load").status, 200);
}

TEST_F(MemoryOfServer, LargerBatchesAreCountedWhenTheyRun) {
  repository_.add("open", matrices(4, true));
  start({"--memory-limit", "200M"}, 1, 1);
  const auto taken = [&] {
    const std::string text = Client(port_).ask("GET", "/metrics").body;
    const std::string name = "\ncolonnade_memory_taken_bytes ";
    return std::stod(text.substr(text.find(name) + name.size())) / kMiB;
  };
  const double before = taken();
  constexpr int kBatch = 64;
  const std::string bytes(std::size_t{kBatch} * kWidth * sizeof(float), '\0');
  const std::string head = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[64,1024],)"
                           R"("parameters":{"binary_data_size":)" +
                           std::to_string(bytes.size()) + "}}]}";
  const Answer answer = Client(port_).ask("POST", "/v2/models/open/infer", head + bytes,
                                          "Inference-Header-Content-Length: " + std::to_string(head.size()) + "\r\n");
  EXPECT_EQ(answer.status, 200) << answer.body;
  // At least one tensor between two products.
  EXPECT_GT(taken(), before + static_cast<double>(bytes.size()) / kMiB);
}

TEST_F(MemoryOfServer, IdleModelsMakeRoomAndComeBack) {
  start({"--memory-limit", "100M", "--unload", "idle"}, 8, 10);
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < 8; ++i) {
      const Answer answer = ask(i);
      ASSERT_EQ(answer.status, 200) << answer.body;
    }
  // Two fit; the rest is the program and what requests take.
  EXPECT_LT(resident_mib(), 100 + 60);
  // Who was asked for last is there, and the others are ready because a request loads them.
  EXPECT_EQ(state_of("m7"), "READY");
  EXPECT_EQ(state_of("m0"), "UNAVAILABLE");
  EXPECT_EQ(Client(port_).ask("GET", "/v2/models/m0/ready").status, 200);
}

TEST_F(MemoryOfServer, WhoSleepsIsDescribedAndWokenByAnyRequest) {
  start({"--memory-limit", "100M", "--unload", "idle"}, 4, 10);
  ASSERT_EQ(ask(0).status, 200);
  for (int i = 1; i < 4; ++i) ASSERT_EQ(ask(i).status, 200) << i;
  ASSERT_EQ(state_of("m0"), "UNAVAILABLE");
  EXPECT_GT(needed_mib(0), 40);
  for (const char* what : {"", "/config", "/stats", "/versions/1"})
    EXPECT_EQ(Client(port_).ask("GET", std::string("/v2/models/m0") + what).status, 200) << what;
  const std::string metrics = Client(port_).ask("GET", "/metrics").body;
  EXPECT_NE(metrics.find("nv_inference_count{model=\"m0\",version=\"1\"} 1"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("colonnade_model_memory_bytes{model=\"m0\",version=\"1\"} 0"), std::string::npos);
  EXPECT_EQ(state_of("m0"), "UNAVAILABLE") << "questions load nothing";
  // A body without a head: its shapes are those of the model.
  const std::string bytes(std::size_t{kWidth} * sizeof(float), '\0');
  const Answer answer =
      Client(port_).ask("POST", "/v2/models/m0/infer", bytes, "Inference-Header-Content-Length: 0\r\n");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(state_of("m0"), "READY");
}

}  // namespace
}  // namespace colonnade::test
