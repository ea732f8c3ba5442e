// SPDX-License-Identifier: Apache-2.0
// A service behind gRPC on a free port, and a client.
#pragma once

#include <grpc_service.grpc.pb.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <health.grpc.pb.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <thread>

#include "echo_models.hpp"
#include "frontends/server/grpc/grpc.hpp"

namespace colonnade::test {

inline void wait_until_ready(const serve::Service& service) {
  for (int i = 0; i < 1000 && !service.is_ready(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_TRUE(service.is_ready());
}

inline serve::GrpcOptions on_free_port(serve::GrpcOptions options = {}) {
  options.address = "127.0.0.1";
  options.port = 0;
  return options;
}

/// A channel of its own to a port of this machine.
struct GrpcClient {
  explicit GrpcClient(
      int port, grpc::ChannelArguments arguments = {},
      const std::shared_ptr<grpc::ChannelCredentials>& credentials = grpc::InsecureChannelCredentials()) {
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetMaxReceiveMessageSize(-1);
    channel = grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port), credentials, arguments);
    inference = inference::GRPCInferenceService::NewStub(channel);
    health = grpc::health::v1::Health::NewStub(channel);
  }

  /// One call of the inference service, with a deadline so that no test hangs.
  template <class Request, class Response>
  grpc::Status operator()(grpc::Status (inference::GRPCInferenceService::Stub::*method)(grpc::ClientContext*,
                                                                                        const Request&, Response*),
                          const Request& request, Response* response) const {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    return (inference.get()->*method)(&context, request, response);
  }

  grpc::Status infer(const inference::ModelInferRequest& request, inference::ModelInferResponse* response) const {
    return (*this)(&inference::GRPCInferenceService::Stub::ModelInfer, request, response);
  }

  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<inference::GRPCInferenceService::Stub> inference;
  std::unique_ptr<grpc::health::v1::Health::Stub> health;
};

/// A service of its own and its gRPC server.
struct GrpcServed {
  explicit GrpcServed(const serve::ServiceOptions& service_options, const serve::GrpcOptions& grpc_options = {})
      : service(service_options), grpc(service, on_free_port(grpc_options)) {
    wait_until_ready(service);
  }

  serve::Service service;
  serve::GrpcServer grpc;
};

/// Serves the echo models to all tests of a suite.
class GrpcTest : public testing::Test {
 protected:
  static constexpr std::size_t kMostBytes = 1 << 20;

  static void SetUpTestSuite() {
    repository_ = std::make_unique<Repository>();
    repository_->add_echo_models();
    serve::GrpcOptions options;
    options.most_message_bytes = kMostBytes;
    served_ = std::make_unique<GrpcServed>(echo_service(), options);
  }
  static void TearDownTestSuite() {
    served_.reset();
    repository_.reset();
  }

  static serve::ServiceOptions echo_service() {
    serve::ServiceOptions options;
    options.repositories = {repository_->path()};
    options.control = serve::ControlMode::explicit_;
    options.load_models = {"*"};
    return options;
  }

  static int port() { return served_->grpc.port(); }
  static serve::Service& service() { return served_->service; }
  static Repository& repository() { return *repository_; }

 private:
  static inline std::unique_ptr<Repository> repository_;
  static inline std::unique_ptr<GrpcServed> served_;
};

/// A request with the input "x" and no elements yet.
inline inference::ModelInferRequest echo_request(const std::string& datatype, std::int64_t count) {
  inference::ModelInferRequest request;
  request.set_model_name("echo_" + datatype);
  auto* input = request.add_inputs();
  input->set_name("x");
  input->set_datatype(datatype);
  input->add_shape(count);
  return request;
}

template <class T>
std::string raw_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// With raw elements 1, 2, 3, ...
inline inference::ModelInferRequest float_request(std::int64_t count) {
  inference::ModelInferRequest request = echo_request("FP32", count);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
  request.add_raw_input_contents(raw_of(values));
  return request;
}

inline void expect_status(const grpc::Status& status, grpc::StatusCode code, const std::string& part) {
  EXPECT_EQ(status.error_code(), code) << status.error_message();
  EXPECT_NE(status.error_message().find(part), std::string::npos)
      << "'" << status.error_message() << "' lacks '" << part << "'";
  EXPECT_EQ(status.error_message().find('\n'), std::string::npos) << status.error_message();
}

}  // namespace colonnade::test
