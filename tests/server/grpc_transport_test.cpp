// SPDX-License-Identifier: Apache-2.0
// What surrounds the calls: keys, TLS, deadlines, clients that leave, shutdown.
#include <fstream>
#include <future>
#include <iterator>

#include "grpc_fixture.hpp"
#include "support/folder.hpp"
#include "support/process.hpp"

namespace colonnade::test {
namespace {

using namespace inference;
using Stub = GRPCInferenceService::Stub;
using grpc::StatusCode;

class GrpcTransport : public GrpcTest {
 protected:
  static grpc::Status live(const GrpcClient& client, const std::string& header = "", const std::string& value = "") {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    if (!header.empty()) context.AddMetadata(header, value);
    ServerLiveResponse response;
    return client.inference->ServerLive(&context, {}, &response);
  }

  template <class Options>
  static std::string failure_of(const Options& options) {
    try {
      const serve::GrpcServer server(service(), options);
    } catch (const serve::Failure& failure) {
      return failure.what();
    }
    return "";
  }
};

TEST_F(GrpcTransport, CompressedRequestsAreRead) {
  for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    grpc::ChannelArguments arguments;
    arguments.SetCompressionAlgorithm(algorithm);
    const GrpcClient client(port(), arguments);
    ModelInferRequest request = echo_request("FP32", 10000);
    request.add_raw_input_contents(std::string(40000, '\0'));
    ModelInferResponse response;
    const grpc::Status status = client.infer(request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.raw_output_contents(0), request.raw_input_contents(0));
    EXPECT_TRUE(live(client).ok());
  }
}

TEST_F(GrpcTransport, RestrictedCallsNeedTheKey) {
  serve::GrpcOptions options = on_free_port();
  options.restricted = {{"health", "Admin-Key=secret"}, {"inference", "infer-key=other"}};
  const serve::GrpcServer server(service(), options);
  const GrpcClient client(server.port());
  expect_status(live(client), StatusCode::PERMISSION_DENIED, "health calls are restricted");
  expect_status(live(client, "admin-key", "secre"), StatusCode::PERMISSION_DENIED, "admin-key");
  expect_status(live(client, "other-key", "secret"), StatusCode::PERMISSION_DENIED, "admin-key");
  EXPECT_TRUE(live(client, "admin-key", "secret").ok());
  EXPECT_TRUE(live(client, "triton-grpc-protocol-admin-key", "secret").ok());
  ModelInferResponse response;
  expect_status(client.infer(float_request(1), &response), StatusCode::PERMISSION_DENIED, "inference");
  grpc::ClientContext context;
  const auto stream = client.inference->ModelStreamInfer(&context);
  ModelStreamInferResponse streamed;
  EXPECT_FALSE(stream->Read(&streamed));
  expect_status(stream->Finish(), StatusCode::PERMISSION_DENIED, "inference");
  ServerMetadataResponse metadata;
  EXPECT_TRUE(client(&Stub::ServerMetadata, ServerMetadataRequest(), &metadata).ok());
}

TEST_F(GrpcTransport, WrongOptionsAreRefused) {
  serve::GrpcOptions options = on_free_port();
  options.restricted = {{"everything", "a=b"}};
  EXPECT_NE(failure_of(options).find("'everything'"), std::string::npos);
  options.restricted = {{"health", "key"}};
  EXPECT_NE(failure_of(options).find("HEADER=KEY"), std::string::npos);
  options = on_free_port();
  options.certificate = "/nowhere/cert.pem";
  EXPECT_NE(failure_of(options).find("both a certificate and its key"), std::string::npos);
  options.key = "/nowhere/key.pem";
  EXPECT_NE(failure_of(options).find("'/nowhere/cert.pem' cannot be read"), std::string::npos);
  options = on_free_port();
  options.port = port();
  EXPECT_NE(failure_of(options).find("the port is taken"), std::string::npos);
  options.port = -1;
  EXPECT_EQ(serve::GrpcServer(service(), options).port(), -1);
}

/// Self-signed certificates in a folder that lives as long as this.
class Certificates {
 public:
  void make(const std::string& name) const {
    const auto result = run_process("openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=" + name +
                                    " -addext subjectAltName=DNS:" + name + " -keyout " +
                                    shell_word(path(name + ".key")) + " -out " + shell_word(path(name + ".pem")));
    ASSERT_EQ(result.status, 0) << result.output;
  }
  std::string path(const std::string& name) const { return folder_.file(name); }
  std::string read(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(GrpcTransport, Tls) {
  const Certificates certificates;
  certificates.make("server");
  certificates.make("client");
  serve::GrpcOptions options = on_free_port();
  options.certificate = certificates.path("server.pem");
  options.key = certificates.path("server.key");
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride("server");
  grpc::SslCredentialsOptions trusting;
  trusting.pem_root_certs = certificates.read("server.pem");
  {
    const serve::GrpcServer server(service(), options);
    EXPECT_TRUE(live(GrpcClient(server.port(), arguments, grpc::SslCredentials(trusting))).ok());
    EXPECT_EQ(live(GrpcClient(server.port())).error_code(), StatusCode::UNAVAILABLE) << "plain text";
  }
  options.client_authority = certificates.path("client.pem");
  const serve::GrpcServer server(service(), options);
  EXPECT_EQ(live(GrpcClient(server.port(), arguments, grpc::SslCredentials(trusting))).error_code(),
            StatusCode::UNAVAILABLE)
      << "no certificate";
  trusting.pem_cert_chain = certificates.read("client.pem");
  trusting.pem_private_key = certificates.read("client.key");
  EXPECT_TRUE(live(GrpcClient(server.port(), arguments, grpc::SslCredentials(trusting))).ok());
  options.key = certificates.path("client.key");
  EXPECT_NE(failure_of(options).find("does not fit"), std::string::npos);
}

/// A chain of matrix products that takes seconds.
std::string slow_model() { return product_chain(1024, 600); }

ModelInferRequest slow_request() {
  ModelInferRequest request;
  request.set_model_name("slow");
  auto* input = request.add_inputs();
  input->set_name("x");
  input->set_datatype("FP32");
  input->add_shape(1024);
  input->add_shape(1024);
  request.add_raw_input_contents(std::string(std::size_t{4} << 20, '\0'));
  return request;
}

class GrpcSlow : public testing::Test {
 protected:
  GrpcSlow() {
    repository_.add("slow", slow_model());
    serve::ServiceOptions options;
    options.repositories = {repository_.path()};
    options.warm_up = false;
    served_ = std::make_unique<GrpcServed>(options);
  }

  std::uint64_t failures() const {
    return served_->service.statistics("slow", "").model_stats(0).inference_stats().fail().count();
  }
  /// A run that ends of its own accord is none.
  void expect_failures(std::uint64_t count) const {
    for (int i = 0; i < 6000 && failures() < count; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(failures(), count);
  }

  Repository repository_;
  std::unique_ptr<GrpcServed> served_;
};

TEST_F(GrpcSlow, TheDeadlineOfTheCallEndsTheRun) {
  const GrpcClient client(served_->grpc.port());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(100));
  ModelInferResponse response;
  EXPECT_EQ(client.inference->ModelInfer(&context, slow_request(), &response).error_code(),
            StatusCode::DEADLINE_EXCEEDED);
  expect_failures(1);
}

TEST_F(GrpcSlow, TheTimeoutOfTheRequestEndsTheRun) {
  ModelInferRequest request = slow_request();
  (*request.mutable_parameters())["timeout"].set_int64_param(50'000);
  ModelInferResponse response;
  expect_status(GrpcClient(served_->grpc.port()).infer(request, &response), StatusCode::DEADLINE_EXCEEDED, "");
}

TEST_F(GrpcSlow, AClientThatLeavesEndsItsRuns) {
  const GrpcClient client(served_->grpc.port());
  grpc::ClientContext context, stream_context;
  std::thread leaver([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    context.TryCancel();
  });
  ModelInferResponse response;
  EXPECT_EQ(client.inference->ModelInfer(&context, slow_request(), &response).error_code(), StatusCode::CANCELLED);
  leaver.join();
  const auto stream = client.inference->ModelStreamInfer(&stream_context);
  ASSERT_TRUE(stream->Write(slow_request()));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  stream_context.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
  expect_failures(2);
}

TEST_F(GrpcSlow, StopWaitsThenCancels) {
  const GrpcClient client(served_->grpc.port());
  auto answer = std::async(std::launch::async, [&] {
    ModelInferResponse response;
    return client.infer(slow_request(), &response);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  served_->grpc.stop(std::chrono::milliseconds(100));
  EXPECT_FALSE(answer.get().ok());
}

TEST_F(GrpcTransport, StopAnswersWhatIsUnderWay) {
  GrpcServed served(echo_service());
  const GrpcClient client(served.grpc.port());
  std::vector<std::future<grpc::Status>> answers;
  std::atomic<int> done = 0;
  for (int i = 0; i < 8; ++i)
    answers.push_back(std::async(std::launch::async, [&] {
      ModelInferResponse response;
      grpc::Status status;
      for (int j = 0; j < 1000 && status.ok(); ++j) {
        status = client.infer(float_request(100), &response);
        if (status.ok()) ++done;
      }
      return status;
    }));
  while (done < 100) std::this_thread::yield();
  served.grpc.stop(std::chrono::seconds(30));
  for (auto& answer : answers) {
    const StatusCode code = answer.get().error_code();
    EXPECT_TRUE(code == StatusCode::UNAVAILABLE || code == StatusCode::CANCELLED) << code;
  }
  const auto statistics = served.service.statistics("echo_FP32", "").model_stats(0);
  EXPECT_EQ(statistics.inference_stats().success().count(), static_cast<std::uint64_t>(done)) << "an answer was lost";
}

}  // namespace
}  // namespace colonnade::test
