// SPDX-License-Identifier: Apache-2.0
// Every call of the protocol, wrongly used: status and text name what is wrong.
#include <grpcpp/generic/generic_stub.h>
#include <zlib.h>

#include <functional>

#include "grpc_fixture.hpp"

namespace colonnade::test {
namespace {

using namespace inference;
using Stub = GRPCInferenceService::Stub;
using grpc::StatusCode;

class GrpcMisuse : public GrpcTest {};

grpc::Status infer(const ModelInferRequest& request, int port) {
  ModelInferResponse response;
  return GrpcClient(port).infer(request, &response);
}

struct Wrong {
  const char* what;
  std::function<void(ModelInferRequest&)> change;
  StatusCode code;
  const char* part;
};

ModelInferRequest::InferInputTensor& x(ModelInferRequest& request) { return *request.mutable_inputs(0); }
InferParameter& parameter(ModelInferRequest& request, const char* name) {
  return (*request.mutable_parameters())[name];
}

TEST_F(GrpcMisuse, WrongInferences) {
  constexpr StatusCode kInvalid = StatusCode::INVALID_ARGUMENT;
  const Wrong cases[] = {
      {"model", [](auto& r) { r.set_model_name("nobody"); }, StatusCode::NOT_FOUND, "nobody"},
      {"no model", [](auto& r) { r.clear_model_name(); }, StatusCode::NOT_FOUND, "''"},
      {"version", [](auto& r) { r.set_model_version("9"); }, StatusCode::NOT_FOUND, "version 9"},
      {"version text", [](auto& r) { r.set_model_version("new"); }, kInvalid, "version"},
      {"version overflow", [](auto& r) { r.set_model_version("99999999999999999999"); }, kInvalid, "version"},
      {"input name", [](auto& r) { x(r).set_name("z"); }, kInvalid, "'z'"},
      {"extra input",
       [](auto& r) {
         *r.add_inputs() = x(r);
         r.mutable_inputs(1)->set_name("z");
         r.add_raw_input_contents(r.raw_input_contents(0));
       },
       kInvalid, "'z'"},
      {"input twice",
       [](auto& r) {
         *r.add_inputs() = x(r);
         r.add_raw_input_contents(r.raw_input_contents(0));
       },
       kInvalid, "'x'"},
      {"missing input",
       [](auto& r) {
         r.clear_inputs();
         r.clear_raw_input_contents();
       },
       kInvalid, "'x'"},
      {"datatype", [](auto& r) { x(r).set_datatype("INT32"); }, kInvalid, "'FP32'"},
      {"datatype text", [](auto& r) { x(r).set_datatype("FLOAT"); }, kInvalid, "unknown datatype 'FLOAT'"},
      {"no datatype", [](auto& r) { x(r).clear_datatype(); }, kInvalid, "unknown datatype ''"},
      {"shape", [](auto& r) { x(r).set_shape(0, 3); }, kInvalid, "expected 12 bytes for FP32 [3], found 8"},
      {"rank", [](auto& r) { x(r).add_shape(1); }, kInvalid, "shape"},
      {"no shape", [](auto& r) { x(r).clear_shape(); }, kInvalid, "expected 4 bytes for FP32 [], found 8"},
      {"negative shape", [](auto& r) { x(r).set_shape(0, -2); }, kInvalid, "shape"},
      {"huge shape", [](auto& r) { x(r).set_shape(0, std::int64_t{1} << 62); }, kInvalid, "shape"},
      {"overflowing shape",
       [](auto& r) {
         for (int i = 0; i < 8; ++i) x(r).add_shape(std::int64_t{1} << 60);
       },
       kInvalid, "shape"},
      {"long raw", [](auto& r) { r.set_raw_input_contents(0, std::string(9, 'a')); }, kInvalid, "found 9"},
      {"more raws", [](auto& r) { r.add_raw_input_contents("abcd"); }, kInvalid,
       "raw_input_contents as inputs outside of shared memory, 1, found 2"},
      {"raw and typed", [](auto& r) { x(r).mutable_contents()->add_fp32_contents(1); }, kInvalid, "one or the other"},
      {"nothing", [](auto& r) { r.clear_raw_input_contents(); }, kInvalid,
       "expected 2 elements in fp32_contents, found 0"},
      {"wrong contents",
       [](auto& r) {
         r.clear_raw_input_contents();
         x(r).mutable_contents()->add_fp64_contents(1);
         x(r).mutable_contents()->add_fp64_contents(2);
       },
       kInvalid, "found 0 there and 2 in other fields"},
      {"typed halves",
       [](auto& r) {
         r.set_model_name("echo_FP16");
         r.clear_raw_input_contents();
         x(r).set_datatype("FP16");
         x(r).mutable_contents()->add_fp32_contents(1);
       },
       kInvalid, "FP16 travels in raw_input_contents only"},
      {"narrow",
       [](auto& r) {
         r.set_model_name("echo_INT8");
         r.clear_raw_input_contents();
         x(r).set_datatype("INT8");
         x(r).mutable_contents()->add_int_contents(1);
         x(r).mutable_contents()->add_int_contents(128);
       },
       kInvalid, "element 1 is 128, which INT8 cannot hold"},
      {"boolean",
       [](auto& r) {
         r.set_model_name("echo_BOOL");
         x(r).set_datatype("BOOL");
         r.set_raw_input_contents(0, "\1\2");
       },
       kInvalid, "found 2"},
      {"lying strings",
       [](auto& r) {
         r.set_model_name("echo_BYTES");
         x(r).set_datatype("BYTES");
         r.set_raw_input_contents(0, std::string("\xff\xff\xff\xff\0\0\0\0", 8));
       },
       kInvalid, "element 0 claims 4294967295 bytes"},
      {"short strings",
       [](auto& r) {
         r.set_model_name("echo_BYTES");
         x(r).set_datatype("BYTES");
         r.set_raw_input_contents(0, std::string("\0\0\0\0", 4));
       },
       kInvalid, "2 elements of BYTES cannot be in 4 bytes"},
      {"output name", [](auto& r) { r.add_outputs()->set_name("z"); }, kInvalid, "'z'"},
      {"output twice",
       [](auto& r) {
         r.add_outputs()->set_name("out_x");
         r.add_outputs()->set_name("out_x");
       },
       kInvalid, "out_x"},
      {"classification",
       [](auto& r) {
         r.add_outputs()->set_name("out_x");
         (*r.mutable_outputs(0)->mutable_parameters())["classification"].set_string_param("many");
       },
       kInvalid, "classification"},
      {"negative classification",
       [](auto& r) {
         r.add_outputs()->set_name("out_x");
         (*r.mutable_outputs(0)->mutable_parameters())["classification"].set_int64_param(-1);
       },
       kInvalid, "classification"},
      {"shared memory in", [](auto& r) { (*x(r).mutable_parameters())["shared_memory_region"].set_string_param("s"); },
       StatusCode::UNIMPLEMENTED, "shared memory"},
      {"shared memory out",
       [](auto& r) {
         r.add_outputs()->set_name("out_x");
         (*r.mutable_outputs(0)->mutable_parameters())["shared_memory_region"].set_string_param("s");
       },
       StatusCode::UNIMPLEMENTED, "shared memory"},
      {"priority text", [](auto& r) { parameter(r, "priority").set_string_param("high"); }, kInvalid, "priority"},
      {"priority", [](auto& r) { parameter(r, "priority").set_int64_param(-1); }, kInvalid, "priority"},
      {"huge priority", [](auto& r) { parameter(r, "priority").set_uint64_param(~std::uint64_t{0}); }, kInvalid,
       "18446744073709551615 is too large"},
      {"timeout", [](auto& r) { parameter(r, "timeout").set_double_param(1); }, kInvalid, "timeout"},
      {"negative timeout", [](auto& r) { parameter(r, "timeout").set_int64_param(-5); }, kInvalid, "timeout"},
      {"empty parameter", [](auto& r) { (void)parameter(r, "thing"); }, kInvalid, "'thing' has no value"},
  };
  for (const Wrong& wrong : cases) {
    SCOPED_TRACE(wrong.what);
    ModelInferRequest request = float_request(2);
    wrong.change(request);
    expect_status(infer(request, port()), wrong.code, wrong.part);
  }
  EXPECT_TRUE(infer(float_request(2), port()).ok());
}

TEST_F(GrpcMisuse, UnknownModelsElsewhere) {
  const GrpcClient client(port());
  ModelMetadataRequest metadata;
  metadata.set_name("nobody");
  ModelMetadataResponse metadata_response;
  expect_status(client(&Stub::ModelMetadata, metadata, &metadata_response), StatusCode::NOT_FOUND, "nobody");
  metadata.set_name("pair");
  metadata.set_version("x");
  expect_status(client(&Stub::ModelMetadata, metadata, &metadata_response), StatusCode::INVALID_ARGUMENT, "'x'");
  ModelConfigRequest config;
  config.set_name("nobody");
  ModelConfigResponse config_response;
  expect_status(client(&Stub::ModelConfig, config, &config_response), StatusCode::NOT_FOUND, "nobody");
  ModelStatisticsRequest statistics;
  statistics.set_name("nobody");
  ModelStatisticsResponse statistics_response;
  expect_status(client(&Stub::ModelStatistics, statistics, &statistics_response), StatusCode::NOT_FOUND, "nobody");
}

TEST_F(GrpcMisuse, RepositoryCalls) {
  const GrpcClient client(port());
  RepositoryIndexRequest index;
  index.set_repository_name("other");
  RepositoryIndexResponse index_response;
  expect_status(client(&Stub::RepositoryIndex, index, &index_response), StatusCode::NOT_FOUND, "repository");
  const auto load = [&](const std::string& name, const std::string& key, const std::string& value) {
    RepositoryModelLoadRequest request;
    request.set_model_name(name);
    if (!key.empty()) (*request.mutable_parameters())[key].set_bytes_param(value);
    RepositoryModelLoadResponse response;
    return client(&Stub::RepositoryModelLoad, request, &response);
  };
  expect_status(load("nobody", "", ""), StatusCode::NOT_FOUND, "nobody");
  expect_status(load("", "", ""), StatusCode::NOT_FOUND, "''");
  expect_status(load("../etc", "", ""), StatusCode::NOT_FOUND, "no such model");
  expect_status(load("../etc", "file:1/model.onnx", "x"), StatusCode::NOT_FOUND, "no such model");
  expect_status(load("pair", "other", "x"), StatusCode::INVALID_ARGUMENT, "config and file");
  expect_status(load("pair", "config", "{"), StatusCode::INVALID_ARGUMENT, "JSON");
  expect_status(load("pair", "config", "{\"sequence_batching\": {}}"), StatusCode::UNIMPLEMENTED, "sequence_batching");
  expect_status(load("pair", "file:1/../../model.onnx", "x"), StatusCode::INVALID_ARGUMENT, "file");
  expect_status(load("pair", "file:1/model.onnx", "no model"), StatusCode::INVALID_ARGUMENT, "pair");
  RepositoryModelLoadRequest number;
  number.set_model_name("pair");
  (*number.mutable_parameters())["config"].set_int64_param(1);
  RepositoryModelLoadResponse response;
  expect_status(client(&Stub::RepositoryModelLoad, number, &response), StatusCode::INVALID_ARGUMENT, "string_param");
  RepositoryModelUnloadRequest unload;
  unload.set_model_name("nobody");
  RepositoryModelUnloadResponse unloaded;
  expect_status(client(&Stub::RepositoryModelUnload, unload, &unloaded), StatusCode::NOT_FOUND, "nobody");
  unload.set_model_name("pair");
  (*unload.mutable_parameters())["other"].set_bool_param(true);
  expect_status(client(&Stub::RepositoryModelUnload, unload, &unloaded), StatusCode::INVALID_ARGUMENT,
                "unload_dependents");
  EXPECT_TRUE(service().is_ready("pair", "1")) << "the loaded version serves on";
}

TEST_F(GrpcMisuse, WhatIsNotSupportedSaysSo) {
  const GrpcClient client(port());
  SystemSharedMemoryStatusResponse status;
  expect_status(client(&Stub::SystemSharedMemoryStatus, SystemSharedMemoryStatusRequest(), &status),
                StatusCode::UNIMPLEMENTED, "shared memory is off");
  SystemSharedMemoryRegisterResponse registered;
  expect_status(client(&Stub::SystemSharedMemoryRegister, SystemSharedMemoryRegisterRequest(), &registered),
                StatusCode::UNIMPLEMENTED, "shared memory is off");
  CudaSharedMemoryRegisterResponse cuda;
  expect_status(client(&Stub::CudaSharedMemoryRegister, CudaSharedMemoryRegisterRequest(), &cuda),
                StatusCode::UNIMPLEMENTED, "CUDA shared memory is not supported");
  TraceSettingResponse trace;
  expect_status(client(&Stub::TraceSetting, TraceSettingRequest(), &trace), StatusCode::UNIMPLEMENTED, "tracing");
  LogSettingsResponse log;
  expect_status(client(&Stub::LogSettings, LogSettingsRequest(), &log), StatusCode::UNIMPLEMENTED, "log");
}

/// Sends bytes as they are.
grpc::Status send(const GrpcClient& client, const std::string& method, const std::vector<std::string>& messages) {
  grpc::GenericStub stub(client.channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(&context, method, &queue);
  void* tag = nullptr;
  bool ok = false;
  const auto wait = [&] { return queue.Next(&tag, &ok) && ok; };
  call->StartCall(nullptr);
  wait();
  for (const std::string& text : messages) {
    const grpc::Slice slice(text);
    call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    wait();
  }
  call->WritesDone(nullptr);
  wait();
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  queue.Next(&tag, &ok);  // not ok when the answer is a status only
  grpc::Status status;
  call->Finish(&status, nullptr);
  wait();
  return status;
}

constexpr const char* kInfer = "/inference.GRPCInferenceService/ModelInfer";

std::string compressed(const std::string& text, int window_bits) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST_F(GrpcMisuse, BytesThatAreNoMessage) {
  const GrpcClient client(port());
  expect_status(send(client, kInfer, {"\xff\xff\xff\xff"}), StatusCode::INVALID_ARGUMENT, "no ModelInferRequest");
  expect_status(send(client, kInfer,
                     {"\x0a\x05"
                      "ab"}),
                StatusCode::INVALID_ARGUMENT, "no ModelInferRequest");
  expect_status(send(client, kInfer, {"\x0a\x01\xff"}), StatusCode::INVALID_ARGUMENT, "no ModelInferRequest");
  expect_status(send(client, kInfer, {}), StatusCode::INVALID_ARGUMENT, "expected a message");
  expect_status(send(client, kInfer, {""}), StatusCode::NOT_FOUND, "''");
  expect_status(send(client, "/inference.GRPCInferenceService/ServerLive", {"\x0a\xff"}), StatusCode::INVALID_ARGUMENT,
                "no ServerLiveRequest");
  expect_status(send(client, "/inference.GRPCInferenceService/Nothing", {""}), StatusCode::UNIMPLEMENTED,
                "no such method");
  expect_status(send(client, "/x.Y/Z", {""}), StatusCode::UNIMPLEMENTED, "no such method");
}

TEST_F(GrpcMisuse, DamagedCompression) {
  const GrpcClient client(port());
  constexpr int kGzip = 15 + 16;
  const std::string text = compressed(float_request(100).SerializeAsString(), kGzip);
  EXPECT_TRUE(send(client, kInfer, {text}).ok());
  EXPECT_TRUE(send(client, kInfer, {compressed(float_request(100).SerializeAsString(), 15)}).ok());
  expect_status(send(client, kInfer, {text.substr(0, text.size() / 2)}), StatusCode::INVALID_ARGUMENT, "damaged");
  expect_status(send(client, kInfer, {text + "more"}), StatusCode::INVALID_ARGUMENT, "damaged");
  std::string flipped = text;
  flipped[text.size() / 2] = static_cast<char>(~flipped[text.size() / 2]);
  expect_status(send(client, kInfer, {flipped}), StatusCode::INVALID_ARGUMENT, "damaged");
}

TEST_F(GrpcMisuse, SizesAreBounded) {
  const GrpcClient client(port());
  expect_status(infer(float_request(kMostBytes / 4), port()), StatusCode::RESOURCE_EXHAUSTED, "larger than max");
  const std::string bomb = compressed(std::string(64 << 20, '\0'), 15 + 16);
  ASSERT_LT(bomb.size(), kMostBytes);
  expect_status(send(client, kInfer, {bomb}), StatusCode::RESOURCE_EXHAUSTED, "at most 1048576 bytes");
}

/// Each would take a hundred times the message's memory.
TEST_F(GrpcMisuse, FieldsAreBounded) {
  const GrpcClient client(port());
  const auto repeated = [](const std::string& text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  const std::string inputs = repeated(std::string("\x2a\0", 2), 100000),
                    outputs = repeated(std::string("\x32\0", 2), 100000);
  expect_status(send(client, kInfer, {inputs}), StatusCode::RESOURCE_EXHAUSTED, "at most 65536 fields");
  expect_status(send(client, kInfer, {outputs}), StatusCode::RESOURCE_EXHAUSTED, "at most 65536 fields");
  const auto within_input = [](const std::string& inner) {
    ModelInferRequest::InferInputTensor input;
    EXPECT_TRUE(input.ParseFromString(inner));
    ModelInferRequest request;
    *request.add_inputs() = input;
    return request.SerializeAsString();
  };
  ModelInferRequest::InferInputTensor many;
  for (int i = 0; i < 70000; ++i) (*many.mutable_parameters())[std::to_string(i)];
  expect_status(send(client, kInfer, {within_input(many.SerializeAsString())}), StatusCode::RESOURCE_EXHAUSTED,
                "fields");
  ModelInferRequest::InferInputTensor long_shape;
  for (int i = 0; i < 10000; ++i) long_shape.add_shape(1);
  expect_status(send(client, kInfer, {within_input(long_shape.SerializeAsString())}), StatusCode::RESOURCE_EXHAUSTED,
                "shape");
}

TEST_F(GrpcMisuse, StreamsOutliveWhatIsWrong) {
  const GrpcClient client(port());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  const auto stream = client.inference->ModelStreamInfer(&context);
  ModelInferRequest wrong = float_request(2);
  wrong.set_id("wrong");
  wrong.mutable_inputs(0)->set_datatype("FLOAT");
  ASSERT_TRUE(stream->Write(wrong));
  ModelStreamInferResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_NE(response.error_message().find("unknown datatype"), std::string::npos);
  EXPECT_EQ(response.infer_response().id(), "wrong");
  ASSERT_TRUE(stream->Write(float_request(2)));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.error_message(), "");
  stream->WritesDone();
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(stream->Finish().ok());
}

}  // namespace
}  // namespace colonnade::test
