// SPDX-License-Identifier: Apache-2.0
// Every call of the protocol, rightly used.
#include <bit>
#include <cstring>

#include "grpc_fixture.hpp"

namespace colonnade::test {
namespace {

using namespace inference;
using Stub = GRPCInferenceService::Stub;
using grpc::StatusCode;

class GrpcCalls : public GrpcTest {};

TEST_F(GrpcCalls, LiveAndReady) {
  const GrpcClient client(port());
  ServerLiveResponse live;
  ASSERT_TRUE(client(&Stub::ServerLive, ServerLiveRequest(), &live).ok());
  EXPECT_TRUE(live.live());
  ServerReadyResponse ready;
  ASSERT_TRUE(client(&Stub::ServerReady, ServerReadyRequest(), &ready).ok());
  EXPECT_TRUE(ready.ready());
  ModelReadyRequest request;
  request.set_name("pair");
  ModelReadyResponse model;
  ASSERT_TRUE(client(&Stub::ModelReady, request, &model).ok());
  EXPECT_TRUE(model.ready());
  request.set_version("1");
  ASSERT_TRUE(client(&Stub::ModelReady, request, &model).ok());
  EXPECT_TRUE(model.ready());
  request.set_version("7");
  ASSERT_TRUE(client(&Stub::ModelReady, request, &model).ok());
  EXPECT_FALSE(model.ready());
}

TEST_F(GrpcCalls, HealthProtocol) {
  using grpc::health::v1::HealthCheckRequest;
  using grpc::health::v1::HealthCheckResponse;
  const GrpcClient client(port());
  for (const char* name : {"", "inference.GRPCInferenceService", "pair"}) {
    grpc::ClientContext context;
    HealthCheckRequest request;
    request.set_service(name);
    HealthCheckResponse response;
    ASSERT_TRUE(client.health->Check(&context, request, &response).ok()) << name;
    EXPECT_EQ(response.status(), HealthCheckResponse::SERVING) << name;
  }
  grpc::ClientContext context;
  HealthCheckRequest request;
  request.set_service("nobody");
  HealthCheckResponse response;
  expect_status(client.health->Check(&context, request, &response), StatusCode::NOT_FOUND, "nobody");
}

TEST_F(GrpcCalls, HealthIsWatched) {
  using grpc::health::v1::HealthCheckRequest;
  using grpc::health::v1::HealthCheckResponse;
  auto served = std::make_unique<GrpcServed>(echo_service());
  const GrpcClient client(served->grpc.port());
  grpc::ClientContext context, unknown_context;
  HealthCheckRequest request;
  const auto watch = client.health->Watch(&context, request);
  HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  request.set_service("nobody");
  const auto unknown = client.health->Watch(&unknown_context, request);
  ASSERT_TRUE(unknown->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVICE_UNKNOWN);
  unknown_context.TryCancel();
  EXPECT_EQ(unknown->Finish().error_code(), StatusCode::CANCELLED);
  served->grpc.stop(std::chrono::seconds(30));
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_FALSE(watch->Read(&response));
  EXPECT_TRUE(watch->Finish().ok());
}

TEST_F(GrpcCalls, Metadata) {
  const GrpcClient client(port());
  ServerMetadataResponse server;
  ASSERT_TRUE(client(&Stub::ServerMetadata, ServerMetadataRequest(), &server).ok());
  EXPECT_EQ(server.name(), "colonnade");
  EXPECT_FALSE(server.version().empty());
  EXPECT_NE(std::find(server.extensions().begin(), server.extensions().end(), "model_repository"),
            server.extensions().end());
  ModelMetadataRequest request;
  request.set_name("pair");
  ModelMetadataResponse model;
  ASSERT_TRUE(client(&Stub::ModelMetadata, request, &model).ok());
  EXPECT_EQ(model.name(), "pair");
  ASSERT_EQ(model.versions_size(), 1);
  EXPECT_EQ(model.versions(0), "1");
  EXPECT_EQ(model.platform(), "onnxruntime_onnx");
  ASSERT_EQ(model.inputs_size(), 2);
  EXPECT_EQ(model.inputs(1).name(), "b");
  EXPECT_EQ(model.inputs(1).datatype(), "FP32");
  ASSERT_EQ(model.inputs(1).shape_size(), 2);
  EXPECT_EQ(model.inputs(1).shape(0), -1);
  EXPECT_EQ(model.inputs(1).shape(1), 2);
  EXPECT_EQ(model.outputs_size(), 2);
}

TEST_F(GrpcCalls, Config) {
  const GrpcClient client(port());
  ModelConfigRequest request;
  request.set_name("pair");
  ModelConfigResponse response;
  ASSERT_TRUE(client(&Stub::ModelConfig, request, &response).ok());
  EXPECT_EQ(response.config().name(), "pair");
  EXPECT_EQ(response.config().max_batch_size(), 0);
  ASSERT_EQ(response.config().input_size(), 2);
  EXPECT_EQ(response.config().input(0).data_type(), TYPE_BOOL);
}

TEST_F(GrpcCalls, StatisticsCountInferences) {
  const GrpcClient client(port());
  ModelInferResponse answer;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(client.infer(float_request(4), &answer).ok());
  ModelStatisticsRequest request;
  request.set_name("echo_FP32");
  ModelStatisticsResponse response;
  ASSERT_TRUE(client(&Stub::ModelStatistics, request, &response).ok());
  ASSERT_EQ(response.model_stats_size(), 1);
  EXPECT_GE(response.model_stats(0).inference_count(), 3u);
  EXPECT_GE(response.model_stats(0).inference_stats().success().count(), 3u);
  request.clear_name();
  ASSERT_TRUE(client(&Stub::ModelStatistics, request, &response).ok());
  EXPECT_GT(response.model_stats_size(), 10);
}

TEST_F(GrpcCalls, RepositoryIsListedLoadedUnloaded) {
  repository().add("other", echo_model({{"x", DType::f32, {2}}}));
  const GrpcClient client(port());
  const auto state = [&] {
    RepositoryIndexResponse index;
    EXPECT_TRUE(client(&Stub::RepositoryIndex, RepositoryIndexRequest(), &index).ok());
    for (const auto& model : index.models())
      if (model.name() == "other") return model.state();
    return std::string("absent");
  };
  EXPECT_NE(state(), "READY");
  RepositoryModelLoadRequest load;
  load.set_model_name("other");
  RepositoryModelLoadResponse loaded;
  ASSERT_TRUE(client(&Stub::RepositoryModelLoad, load, &loaded).ok());
  EXPECT_EQ(state(), "READY");
  ModelInferRequest request = float_request(2);
  request.set_model_name("other");
  ModelInferResponse response;
  EXPECT_TRUE(client.infer(request, &response).ok());
  RepositoryModelUnloadRequest unload;
  unload.set_model_name("other");
  (*unload.mutable_parameters())["unload_dependents"].set_bool_param(false);
  RepositoryModelUnloadResponse unloaded;
  ASSERT_TRUE(client(&Stub::RepositoryModelUnload, unload, &unloaded).ok());
  EXPECT_NE(state(), "READY");
  expect_status(client.infer(request, &response), StatusCode::UNAVAILABLE, "other");
}

TEST_F(GrpcCalls, AModelIsLoadedFromTheRequest) {
  const GrpcClient client(port());
  RepositoryModelLoadRequest load;
  load.set_model_name("sent");
  (*load.mutable_parameters())["config"].set_string_param(R"({"max_batch_size": 0})");
  (*load.mutable_parameters())["file:3/model.onnx"].set_bytes_param(echo_model({{"x", DType::f32, {2}}}));
  RepositoryModelLoadResponse loaded;
  const grpc::Status status = client(&Stub::RepositoryModelLoad, load, &loaded);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ModelInferRequest request = float_request(2);
  request.set_model_name("sent");
  request.set_model_version("3");
  ModelInferResponse response;
  ASSERT_TRUE(client.infer(request, &response).ok());
  EXPECT_EQ(response.model_version(), "3");
  EXPECT_EQ(response.raw_output_contents(0), request.raw_input_contents(0));
}

TEST_F(GrpcCalls, EveryTypeTravelsRaw) {
  const GrpcClient client(port());
  const std::pair<const char*, std::size_t> types[] = {
      {"BOOL", 1},  {"UINT8", 1}, {"UINT16", 2}, {"UINT32", 4}, {"UINT64", 8}, {"INT8", 1}, {"INT16", 2},
      {"INT32", 4}, {"INT64", 8}, {"FP16", 2},   {"BF16", 2},   {"FP32", 4},   {"FP64", 8}};
  for (const auto& [datatype, bytes] : types) {
    ModelInferRequest request = echo_request(datatype, 3);
    request.set_id("an id");
    std::string raw(3 * bytes, '\x01');
    if (std::string(datatype) == "BOOL") raw[1] = '\0';
    request.add_raw_input_contents(raw);
    ModelInferResponse response;
    const grpc::Status status = client.infer(request, &response);
    ASSERT_TRUE(status.ok()) << datatype << ": " << status.error_message();
    EXPECT_EQ(response.id(), "an id");
    EXPECT_EQ(response.model_name(), request.model_name());
    EXPECT_EQ(response.model_version(), "1");
    ASSERT_EQ(response.outputs_size(), 1);
    EXPECT_EQ(response.outputs(0).name(), "out_x");
    EXPECT_EQ(response.outputs(0).datatype(), datatype);
    ASSERT_EQ(response.outputs(0).shape_size(), 1);
    EXPECT_EQ(response.outputs(0).shape(0), 3);
    ASSERT_EQ(response.raw_output_contents_size(), 1);
    EXPECT_EQ(response.raw_output_contents(0), raw) << datatype;
  }
  ModelInferRequest request = echo_request("BYTES", 2);
  const std::string raw("\x02\0\0\0ab\0\0\0\0", 10);
  request.add_raw_input_contents(raw);
  ModelInferResponse response;
  ASSERT_TRUE(client.infer(request, &response).ok());
  EXPECT_EQ(response.raw_output_contents(0), raw);
}

/// Typed contents of each kind, and what they are as raw bytes.
TEST_F(GrpcCalls, EveryTypeButHalvesTravelsTyped) {
  const GrpcClient client(port());
  const auto check = [&](const char* datatype, auto fill, const std::string& raw) {
    ModelInferRequest request = echo_request(datatype, 2);
    fill(*request.mutable_inputs(0)->mutable_contents());
    ModelInferResponse response;
    const grpc::Status status = client.infer(request, &response);
    ASSERT_TRUE(status.ok()) << datatype << ": " << status.error_message();
    EXPECT_EQ(response.raw_output_contents(0), raw) << datatype;
  };
  const auto two = [](auto* field, auto a, auto b) {
    field->Add(a);
    field->Add(b);
  };
  using Contents = InferTensorContents;
  check(
      "BOOL", [&](Contents& c) { two(c.mutable_bool_contents(), true, false); }, std::string("\1\0", 2));
  check(
      "INT8", [&](Contents& c) { two(c.mutable_int_contents(), -128, 127); }, raw_of<std::int8_t>({-128, 127}));
  check(
      "INT16", [&](Contents& c) { two(c.mutable_int_contents(), -3, 4); }, raw_of<std::int16_t>({-3, 4}));
  check(
      "INT32", [&](Contents& c) { two(c.mutable_int_contents(), -3, 4); }, raw_of<std::int32_t>({-3, 4}));
  check(
      "INT64", [&](Contents& c) { two(c.mutable_int64_contents(), -3, 4); }, raw_of<std::int64_t>({-3, 4}));
  check(
      "UINT8", [&](Contents& c) { two(c.mutable_uint_contents(), 3, 255); }, raw_of<std::uint8_t>({3, 255}));
  check(
      "UINT16", [&](Contents& c) { two(c.mutable_uint_contents(), 3, 65535); }, raw_of<std::uint16_t>({3, 65535}));
  check(
      "UINT32", [&](Contents& c) { two(c.mutable_uint_contents(), 3, 4); }, raw_of<std::uint32_t>({3, 4}));
  check(
      "UINT64", [&](Contents& c) { two(c.mutable_uint64_contents(), 3, 4); }, raw_of<std::uint64_t>({3, 4}));
  check(
      "FP32", [&](Contents& c) { two(c.mutable_fp32_contents(), 1.5F, -2.F); }, raw_of<float>({1.5F, -2}));
  check(
      "FP64", [&](Contents& c) { two(c.mutable_fp64_contents(), 1.5, -2.); }, raw_of<double>({1.5, -2}));
  check(
      "BYTES", [&](Contents& c) { two(c.mutable_bytes_contents(), "ab", ""); }, std::string("\2\0\0\0ab\0\0\0\0", 10));
}

TEST_F(GrpcCalls, EmptyTensorsAndLargeOnes) {
  const GrpcClient client(port());
  for (const std::int64_t count : {0, 1, 1000, 1025, 200000}) {
    const ModelInferRequest request = float_request(count);
    ModelInferResponse response;
    const grpc::Status status = client.infer(request, &response);
    ASSERT_TRUE(status.ok()) << count << ": " << status.error_message();
    EXPECT_EQ(response.raw_output_contents(0), request.raw_input_contents(0)) << count;
  }
}

TEST_F(GrpcCalls, OutputsAreChosen) {
  const GrpcClient client(port());
  ModelInferRequest request;
  request.set_model_name("pair");
  auto* a = request.add_inputs();
  a->set_name("a");
  a->set_datatype("BOOL");
  a->add_shape(1);
  auto* b = request.add_inputs();
  b->set_name("b");
  b->set_datatype("FP32");
  b->add_shape(1);
  b->add_shape(2);
  request.add_raw_input_contents("\1");
  request.add_raw_input_contents(raw_of<float>({3, 4}));
  request.add_outputs()->set_name("out_b");
  ModelInferResponse response;
  ASSERT_TRUE(client.infer(request, &response).ok());
  ASSERT_EQ(response.outputs_size(), 1);
  EXPECT_EQ(response.outputs(0).name(), "out_b");
  EXPECT_EQ(response.raw_output_contents(0), raw_of<float>({3, 4}));
}

TEST_F(GrpcCalls, Classification) {
  const GrpcClient client(port());
  ModelInferRequest request = float_request(4);
  auto* output = request.add_outputs();
  output->set_name("out_x");
  (*output->mutable_parameters())["classification"].set_int64_param(1);
  ModelInferResponse response;
  const grpc::Status status = client.infer(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.outputs(0).datatype(), "BYTES");
  EXPECT_EQ(response.raw_output_contents(0).substr(4), "4.000000:3");
}

TEST_F(GrpcCalls, ParametersOfEveryKindAreTaken) {
  const GrpcClient client(port());
  ModelInferRequest request = float_request(1);
  auto& parameters = *request.mutable_parameters();
  parameters["priority"].set_uint64_param(0);
  parameters["timeout"].set_int64_param(30'000'000);
  parameters["flag"].set_bool_param(true);
  parameters["text"].set_string_param("t");
  parameters["number"].set_double_param(1.5);
  ModelInferResponse response;
  const grpc::Status status = client.infer(request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(GrpcCalls, StreamAnswersEveryRequestOnce) {
  constexpr int kRequests = 500;
  const GrpcClient client(port());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  const auto stream = client.inference->ModelStreamInfer(&context);
  std::thread writer([&] {
    for (int i = 0; i < kRequests; ++i) {
      ModelInferRequest request = float_request(i % 5 == 4 ? 2 : 1 + i);
      request.set_id(std::to_string(i));
      if (i % 5 == 4) request.set_model_name("nobody");
      EXPECT_TRUE(stream->Write(request));
    }
    stream->WritesDone();
  });
  std::set<std::string> ids;
  ModelStreamInferResponse response;
  while (stream->Read(&response)) {
    const int index = std::stoi(response.infer_response().id());
    EXPECT_TRUE(ids.insert(response.infer_response().id()).second) << index;
    EXPECT_EQ(response.error_message().empty(), index % 5 != 4) << response.error_message();
    if (index % 5 == 4) {
      EXPECT_NE(response.error_message().find("nobody"), std::string::npos);
    } else {
      EXPECT_EQ(response.infer_response().raw_output_contents(0).size(), 4u * static_cast<unsigned>(1 + index));
    }
  }
  writer.join();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(kRequests));
}

}  // namespace
}  // namespace colonnade::test
