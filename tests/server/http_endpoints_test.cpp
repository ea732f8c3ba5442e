// SPDX-License-Identifier: Apache-2.0
// What every endpoint answers when it is used as documented.
#include <fmt/format.h>
#include <zlib.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "frontends/server/http/base64.hpp"
#include "frontends/server/http/compression.hpp"
#include "http_fixture.hpp"

namespace colonnade {
namespace {

using nlohmann::json;
using test::Answer;
using test::Client;

class HttpEndpoints : public test::HttpTest {
 protected:
  Client client{port()};

  json get(const std::string& path) {
    const Answer answer = client.ask("GET", path);
    EXPECT_EQ(answer.status, 200) << path << ": " << answer.body;
    EXPECT_EQ(answer.fields.at("content-type"), "application/json") << path;
    return json::parse(answer.body, nullptr, false);
  }
  Answer infer(const std::string& model, const json& request, std::string_view fields = "") {
    return client.ask("POST", "/v2/models/" + model + "/infer", request.dump(), fields);
  }
};

std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

TEST_F(HttpEndpoints, HealthHasJsonBodies) {
  EXPECT_EQ(get("/v2/health/live"), json::parse(R"({"live":true})"));
  EXPECT_EQ(get("/v2/health/ready"), json::parse(R"({"ready":true})"));
  EXPECT_EQ(get("/v2/models/pair/ready"), json::parse(R"({"name":"pair","ready":true})"));
  EXPECT_EQ(get("/v2/models/pair/versions/1/ready"), json::parse(R"({"name":"pair","ready":true})"));
}

TEST_F(HttpEndpoints, MetadataOfServerAndModels) {
  const json server = get("/v2");
  EXPECT_TRUE(server.at("name").is_string());
  for (const char* extension : {"statistics", "model_configuration", "model_repository", "binary_tensor_data"})
    EXPECT_NE(std::find(server.at("extensions").begin(), server.at("extensions").end(), extension),
              server.at("extensions").end())
        << extension;
  const json model = get("/v2/models/pair");
  EXPECT_EQ(model.at("name"), "pair");
  EXPECT_EQ(model.at("versions"), json::array({"1"}));
  EXPECT_EQ(model.at("inputs"), json::parse(R"([{"name":"a","datatype":"BOOL","shape":[-1]},
                                                {"name":"b","datatype":"FP32","shape":[-1,2]}])"));
  EXPECT_EQ(get("/v2/models/pair/versions/1"), model);
  EXPECT_EQ(get("/v2/models/p%61ir?ignored=query"), model);
}

TEST_F(HttpEndpoints, ConfigurationHasNumbersAsNumbers) {
  const json config = get("/v2/models/pair/config");
  EXPECT_EQ(config.at("name"), "pair");
  EXPECT_EQ(config.at("max_batch_size"), 0);
  EXPECT_EQ(config.at("input").at(1).at("dims"), json::array({-1, 2}));
  EXPECT_EQ(config.at("input").at(1).at("data_type"), "TYPE_FP32");
  EXPECT_FALSE(config.contains("sequence_batching"));
}

TEST_F(HttpEndpoints, StatisticsHaveEveryKey) {
  infer("echo_FP32", {{"inputs", {{{"name", "x"}, {"shape", {1}}, {"datatype", "FP32"}, {"data", {1}}}}}});
  const json one = get("/v2/models/echo_FP32/versions/1/stats").at("model_stats").at(0);
  EXPECT_EQ(one.at("name"), "echo_FP32");
  EXPECT_EQ(one.at("version"), "1");
  EXPECT_GE(one.at("inference_count").get<int>(), 1);
  EXPECT_GT(one.at("last_inference").get<std::int64_t>(), 0);
  for (const char* key :
       {"success", "fail", "queue", "compute_input", "compute_infer", "compute_output", "cache_hit", "cache_miss"}) {
    EXPECT_TRUE(one.at("inference_stats").at(key).at("count").is_number_unsigned()) << key;
    EXPECT_TRUE(one.at("inference_stats").at(key).at("ns").is_number_unsigned()) << key;
  }
  EXPECT_EQ(one.at("batch_stats").at(0).at("batch_size"), 1);
  EXPECT_GE(get("/v2/models/stats").at("model_stats").size(), 15u);
}

TEST_F(HttpEndpoints, DescribesThePlan) { EXPECT_TRUE(get("/v2/models/digits/describe").contains("segments")); }

TEST_F(HttpEndpoints, IndexListsModels) {
  const Answer answer = client.ask("POST", "/v2/repository/index");
  const json models = json::parse(answer.body);
  ASSERT_EQ(answer.status, 200);
  EXPECT_GE(models.size(), 15u);
  for (const json& model : models) EXPECT_EQ(model.at("state"), "READY") << model;
  EXPECT_EQ(json::parse(client.ask("POST", "/v2/repository/index", R"({"ready":true})").body).size(), models.size());
}

TEST_F(HttpEndpoints, MetricsOnBothPorts) {
  infer("echo_FP32", {{"inputs", {{{"name", "x"}, {"shape", {1}}, {"datatype", "FP32"}, {"data", {1}}}}}});
  Client metrics(served().http.metrics_port());
  for (Client* each : {&client, &metrics}) {
    const Answer answer = each->ask("GET", "/metrics");
    EXPECT_EQ(answer.status, 200);
    EXPECT_NE(answer.body.find("nv_inference_request_success{"), std::string::npos);
  }
  EXPECT_EQ(metrics.ask("GET", "/v2").status, 404);
}

TEST_F(HttpEndpoints, InferGivesBackEveryTypeThroughJson) {
  const std::map<std::string, json> data = {{"FP32", {0.1, -1e20, 3, 1e-40}},
                                            {"FP64", {0.1, 1e300, -0.0}},
                                            {"FP16", {0.5, -2.0}},
                                            {"BF16", {0.5, -2.0}},
                                            {"INT8", {-128, 127}},
                                            {"INT16", {-32768, 32767}},
                                            {"INT32", {-2147483648, 2147483647}},
                                            {"UINT8", {0, 255}},
                                            {"UINT16", {0, 65535}},
                                            {"UINT32", {0, 4294967295}},
                                            {"BOOL", {true, false}},
                                            {"BYTES", {"", "a\"\\\n\t\u00e4\U0001F600"}},
                                            {"INT64", {INT64_MIN, INT64_MAX}},
                                            {"UINT64", {0u, UINT64_MAX}}};
  for (const auto& [datatype, values] : data) {
    const Answer answer =
        infer("echo_" + datatype,
              {{"id", "number 7"},
               {"inputs", {{{"name", "x"}, {"shape", {values.size()}}, {"datatype", datatype}, {"data", values}}}}});
    ASSERT_EQ(answer.status, 200) << datatype << answer.body;
    const json response = json::parse(answer.body);
    EXPECT_EQ(response.at("id"), "number 7");
    EXPECT_EQ(response.at("model_name"), "echo_" + datatype);
    EXPECT_EQ(response.at("model_version"), "1");
    const json& output = response.at("outputs").at(0);
    EXPECT_EQ(output.at("name"), "out_x");
    EXPECT_EQ(output.at("datatype"), datatype);
    EXPECT_EQ(output.at("shape"), json::array({values.size()}));
    if (datatype == "FP32") {
      for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT_EQ(output.at("data")[i].get<float>(), values[i].get<float>());
    } else {
      EXPECT_EQ(output.at("data"), values) << datatype;
    }
  }
}

TEST_F(HttpEndpoints, DataMayBeNestedAndOutputsChosen) {
  const json request = {{"inputs",
                         {{{"name", "b"}, {"data", {{1, 2}, {3, 4.5}}}, {"shape", {2, 2}}, {"datatype", "FP32"}},
                          {{"name", "a"}, {"shape", {0}}, {"datatype", "BOOL"}, {"data", json::array()}}}},
                        {"outputs", {{{"name", "out_b"}}}}};
  const json response = json::parse(infer("pair", request).body);
  ASSERT_EQ(response.at("outputs").size(), 1u) << response;
  EXPECT_EQ(response.at("outputs")[0].at("data"), json::parse("[1.0,2.0,3.0,4.5]"));
}

/// Three bytes before the floats: they cannot lie where floats may.
TEST_F(HttpEndpoints, BinaryBothWays) {
  const std::vector<float> floats = {1.5f, -2, 3, 4};
  const std::string head = R"({"inputs":[{"name":"a","shape":[3],"datatype":"BOOL","parameters":{"binary_data_size":3}},
      {"name":"b","shape":[2,2],"datatype":"FP32","parameters":{"binary_data_size":16}}],
      "outputs":[{"name":"out_b","parameters":{"binary_data":true}},{"name":"out_a"}]})";
  const std::string body = head + std::string("\1\0\1", 3) + bytes_of(floats);
  for (const bool chunked : {false, true}) {
    const std::string fields = fmt::format("Inference-Header-Content-Length: {}\r\n", head.size());
    std::string text = chunked ? test::chunked_text("/v2/models/pair/infer", body, 7)
                               : test::request_text("POST", "/v2/models/pair/infer", body, fields);
    if (chunked) text.insert(text.find("Transfer"), fields);
    client.send(text);
    Answer answer = client.receive();
    ASSERT_EQ(answer.status, 200) << answer.body;
    const std::size_t json_bytes = std::stoul(answer.fields.at("inference-header-content-length"));
    const json response = json::parse(answer.body.substr(0, json_bytes));
    ASSERT_EQ(response.at("outputs").size(), 2u);
    for (const json& output : response.at("outputs")) {
      if (output.at("name") == "out_a") {
        EXPECT_EQ(output.at("data"), json::array({true, false, true}));
      } else {
        EXPECT_EQ(output.at("parameters").at("binary_data_size"), 16);
      }
    }
    EXPECT_EQ(answer.body.substr(json_bytes), bytes_of(floats));
  }
}

TEST_F(HttpEndpoints, BytesTravelBinaryWithTheirLengths) {
  const std::string data("\3\0\0\0a\0c\0\0\0\0", 11);
  const std::string head =
      R"({"parameters":{"binary_data_output":true},)"
      R"("inputs":[{"name":"x","shape":[2],"datatype":"BYTES","parameters":{"binary_data_size":11}}]})";
  const Answer answer = client.ask("POST", "/v2/models/echo_BYTES/infer", head + data,
                                   fmt::format("Inference-Header-Content-Length: {}\r\n", head.size()));
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.body.substr(std::stoul(answer.fields.at("inference-header-content-length"))), data);
}

TEST_F(HttpEndpoints, WhatJsonCannotCarryIsRefusedByName) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::string head =
      R"({"inputs":[{"name":"x","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":4}}]})";
  const Answer answer = client.ask("POST", "/v2/models/echo_FP32/infer", head + bytes_of({nan}),
                                   fmt::format("Inference-Header-Content-Length: {}\r\n", head.size()));
  EXPECT_EQ(answer.status, 501);
  EXPECT_EQ(answer.error(), "output 'out_x' holds NaN, which JSON cannot carry: ask for binary data");
}

TEST_F(HttpEndpoints, RawBodyIsTheOnlyInput) {
  const Answer answer = client.ask("POST", "/v2/models/echo_FP32/infer", bytes_of({1, 2, 3}),
                                   "Inference-Header-Content-Length: 0\r\nContent-Type: application/octet-stream\r\n");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.body.substr(std::stoul(answer.fields.at("inference-header-content-length"))), bytes_of({1, 2, 3}));
  const Answer text =
      client.ask("POST", "/v2/models/echo_BYTES/infer", "hello", "Inference-Header-Content-Length: 0\r\n");
  EXPECT_EQ(text.body.substr(text.body.size() - 9), std::string("\5\0\0\0hello", 9));
}

TEST_F(HttpEndpoints, ClassificationGivesTheLargest) {
  const json request = {{"inputs", {{{"name", "x"}, {"shape", {4}}, {"datatype", "FP32"}, {"data", {0.5, 4, -1, 3}}}}},
                        {"outputs", {{{"name", "out_x"}, {"parameters", {{"classification", 2}}}}}}};
  const json response = json::parse(infer("echo_FP32", request).body);
  ASSERT_TRUE(response.contains("outputs")) << response;
  EXPECT_EQ(response.at("outputs")[0].at("datatype"), "BYTES");
  EXPECT_EQ(response.at("outputs")[0].at("data").size(), 2u);
  EXPECT_NE(response.at("outputs")[0].at("data")[0].get<std::string>().find(":1"), std::string::npos) << response;
}

TEST_F(HttpEndpoints, CompressionBothWays) {
  json request = {{"inputs", {{{"name", "x"}, {"shape", {1000}}, {"datatype", "FP32"}}}}};
  for (int i = 0; i < 1000; ++i) request["inputs"][0]["data"].push_back(i);
  const std::string text = request.dump();
  const std::span<const std::byte> piece = std::as_bytes(std::span(text));
  for (const auto coding : {serve::http::Coding::gzip, serve::http::Coding::deflate}) {
    const std::string name(serve::http::name_of(coding));
    const std::string body = serve::http::compress(coding, std::span(&piece, 1));
    const Answer answer = client.ask("POST", "/v2/models/echo_FP32/infer", body,
                                     fmt::format("Content-Encoding: {0}\r\nAccept-Encoding: br, {0};q=0.5\r\n", name));
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.fields.at("content-encoding"), name);
    const auto plain = serve::http::decompress(coding, std::as_bytes(std::span(answer.body)), 1 << 20, 0);
    const json response =
        json::parse(std::string_view(reinterpret_cast<const char*>(plain.bytes().data()), plain.size()));
    EXPECT_EQ(response.at("outputs")[0].at("data"), request["inputs"][0]["data"]);
  }
  EXPECT_FALSE(infer("echo_FP32", request, "Accept-Encoding: gzip;q=0\r\n").fields.contains("content-encoding"));
}

TEST_F(HttpEndpoints, HeadAndOptions) {
  const Answer get = client.ask("GET", "/v2");
  const Answer head = client.ask("HEAD", "/v2");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.fields.at("content-length"), get.fields.at("content-length"));
  const Answer options = client.ask("OPTIONS", "/v2/models/pair/infer");
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options.fields.at("allow"), "POST, OPTIONS");
  EXPECT_EQ(client.ask("GET", "/v2").status, 200);
}

TEST(HttpRepository, ModelsComeAndGo) {
  test::Repository repository;
  repository.add("here", test::echo_model({{"x", DType::f32, {-1}}}));
  serve::ServiceOptions options;
  options.repositories = {repository.path()};
  options.control = serve::ControlMode::explicit_;
  test::Served served(options);
  Client client(served.port());

  EXPECT_EQ(client.ask("GET", "/v2/models/here").status, 404);
  const Answer loaded = client.ask("POST", "/v2/repository/models/here/load");
  EXPECT_EQ(loaded.status, 200) << loaded.body;
  EXPECT_EQ(client.ask("GET", "/v2/models/here").status, 200);
  EXPECT_EQ(
      client.ask("POST", "/v2/repository/models/here/unload", R"({"parameters":{"unload_dependents":true}})").status,
      200);
  EXPECT_NE(client.ask("GET", "/v2/models/here").status, 200);

  const std::string model = serve::http::to_base64(test::echo_model({{"y", DType::i32, {3}}}));
  const json request = {{"parameters", {{"config", R"({"max_batch_size":0})"}, {"file:1/model.onnx", model}}}};
  const Answer sent = client.ask("POST", "/v2/repository/models/new/load", request.dump());
  EXPECT_EQ(sent.status, 200) << sent.body;
  EXPECT_EQ(json::parse(client.ask("GET", "/v2/models/new").body).at("inputs")[0].at("name"), "y");
  EXPECT_EQ(client.ask("POST", "/v2/repository/models/none/load").status, 404);
  EXPECT_EQ(client.ask("POST", "/v2/repository/models/..%2Fhere/load").status, 404);
}

}  // namespace
}  // namespace colonnade
