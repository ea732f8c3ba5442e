// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/descriptor.h>
#include <grpc_service.grpc.pb.h>
#include <gtest/gtest.h>

#include <map>

#include "frontends/server/grpc/status.hpp"

namespace colonnade::serve {
namespace {

TEST(Protocol, CallsAreThoseThatClientsKnow) {
  const auto* file = inference::ModelInferRequest::descriptor()->file();
  const auto* service = file->FindServiceByName("GRPCInferenceService");
  ASSERT_NE(service, nullptr);
  EXPECT_EQ(service->full_name(), "inference.GRPCInferenceService");
  for (const char* name : {"ServerLive", "ServerReady", "ModelReady", "ServerMetadata", "ModelMetadata", "ModelInfer",
                           "ModelStreamInfer", "ModelConfig", "ModelStatistics", "RepositoryIndex",
                           "RepositoryModelLoad", "RepositoryModelUnload", "TraceSetting", "LogSettings"}) {
    EXPECT_NE(service->FindMethodByName(name), nullptr) << name;
  }
}

/// A message as the specification's numbers spell it: 1 model_name, 3 id, 5 inputs {1 name, 2 datatype, 3 shape}, 7
/// raw.
TEST(Protocol, NumbersAreThoseOfTheSpecification) {
  const std::string wire =
      "\x0a\x01m"
      "\x1a\x02id"
      "\x2a\x0e\x0a\x01x\x12\x04"
      "FP32\x1a\x03\x01\x80\x01"
      "\x3a\x02\x08\x09";
  inference::ModelInferRequest request;
  ASSERT_TRUE(request.ParseFromString(wire));
  EXPECT_EQ(request.model_name(), "m");
  EXPECT_EQ(request.id(), "id");
  ASSERT_EQ(request.inputs_size(), 1);
  EXPECT_EQ(request.inputs(0).name(), "x");
  EXPECT_EQ(request.inputs(0).datatype(), "FP32");
  ASSERT_EQ(request.inputs(0).shape_size(), 2);
  EXPECT_EQ(request.inputs(0).shape(1), 128);
  ASSERT_EQ(request.raw_input_contents_size(), 1);
  EXPECT_EQ(request.raw_input_contents(0), "\x08\x09");
}

TEST(Protocol, EveryCodeHasAGrpcStatus) {
  const std::map<Code, grpc::StatusCode> expected = {
      {Code::invalid_argument, grpc::StatusCode::INVALID_ARGUMENT},
      {Code::not_found, grpc::StatusCode::NOT_FOUND},
      {Code::unauthorized, grpc::StatusCode::PERMISSION_DENIED},
      {Code::too_large, grpc::StatusCode::RESOURCE_EXHAUSTED},
      {Code::resource_exhausted, grpc::StatusCode::RESOURCE_EXHAUSTED},
      {Code::unavailable, grpc::StatusCode::UNAVAILABLE},
      {Code::deadline_exceeded, grpc::StatusCode::DEADLINE_EXCEEDED},
      {Code::cancelled, grpc::StatusCode::CANCELLED},
      {Code::unsupported, grpc::StatusCode::UNIMPLEMENTED},
      {Code::internal, grpc::StatusCode::INTERNAL},
  };
  for (const auto& [code, grpc_code] : expected) {
    const grpc::Status status = to_grpc({code, "why"});
    EXPECT_EQ(status.error_code(), grpc_code);
    EXPECT_EQ(status.error_message(), "why");
  }
}

}  // namespace
}  // namespace colonnade::serve
