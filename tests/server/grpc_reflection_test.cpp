// SPDX-License-Identifier: Apache-2.0
// What tools such as grpcurl do: they ask for services and messages, then call by what they were told.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <grpcpp/generic/generic_stub.h>
#include <reflection.grpc.pb.h>

#include "grpc_fixture.hpp"

namespace colonnade::test {
namespace {

using grpc::StatusCode;
using grpc::reflection::v1::ServerReflection;
using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;

class GrpcReflection : public GrpcTest {
 protected:
  /// A stream of questions.
  struct Dialogue {
    explicit Dialogue(int port) : client(port), stub(ServerReflection::NewStub(client.channel)) {
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
      stream = stub->ServerReflectionInfo(&context);
    }
    ServerReflectionResponse ask(const ServerReflectionRequest& question) {
      ServerReflectionResponse answer;
      EXPECT_TRUE(stream->Write(question));
      EXPECT_TRUE(stream->Read(&answer));
      EXPECT_EQ(answer.original_request().SerializeAsString(), question.SerializeAsString());
      return answer;
    }
    ServerReflectionResponse symbol(const std::string& name) {
      ServerReflectionRequest question;
      question.set_file_containing_symbol(name);
      return ask(question);
    }
    grpc::Status end() {
      stream->WritesDone();
      return stream->Finish();
    }

    GrpcClient client;
    std::unique_ptr<ServerReflection::Stub> stub;
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<ServerReflectionRequest, ServerReflectionResponse>> stream;
  };

  /// A pool with nothing but what was told; what is imported comes last.
  static void build(const ServerReflectionResponse& answer, google::protobuf::DescriptorPool& pool) {
    const auto& files = answer.file_descriptor_response().file_descriptor_proto();
    for (int k = files.size() - 1; k >= 0; --k) {
      google::protobuf::FileDescriptorProto file;
      ASSERT_TRUE(file.ParseFromString(files[k]));
      ASSERT_NE(pool.BuildFile(file), nullptr) << file.name();
    }
  }
};

TEST_F(GrpcReflection, ListsServices) {
  Dialogue dialogue(port());
  ServerReflectionRequest question;
  question.set_list_services("*");
  const ServerReflectionResponse answer = dialogue.ask(question);
  std::vector<std::string> names;
  for (const auto& service : answer.list_services_response().service()) names.push_back(service.name());
  EXPECT_EQ(names, (std::vector<std::string>{"grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
                                             "inference.GRPCInferenceService"}));
  EXPECT_TRUE(dialogue.end().ok());
}

TEST_F(GrpcReflection, WhatIsToldSufficesForACall) {
  Dialogue dialogue(port());
  google::protobuf::DescriptorPool pool;
  build(dialogue.symbol("inference.GRPCInferenceService.ServerMetadata"), pool);
  EXPECT_TRUE(dialogue.end().ok());
  const auto* method = pool.FindMethodByName("inference.GRPCInferenceService.ServerMetadata");
  ASSERT_NE(method, nullptr);
  google::protobuf::DynamicMessageFactory factory(&pool);
  const std::unique_ptr<google::protobuf::Message> request(factory.GetPrototype(method->input_type())->New());
  const std::unique_ptr<google::protobuf::Message> response(factory.GetPrototype(method->output_type())->New());
  const grpc::Slice slice(request->SerializeAsString());
  const grpc::ByteBuffer bytes(&slice, 1);
  grpc::ClientContext context;
  grpc::ByteBuffer answered;
  grpc::GenericStub stub(dialogue.client.channel);
  grpc::CompletionQueue queue;
  const auto call =
      stub.PrepareUnaryCall(&context, "/" + method->service()->full_name() + "/" + method->name(), bytes, &queue);
  call->StartCall();
  grpc::Status status;
  call->Finish(&answered, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  ASSERT_TRUE(status.ok()) << status.error_message();
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(answered.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& part : slices) text.append(reinterpret_cast<const char*>(part.begin()), part.size());
  ASSERT_TRUE(response->ParseFromString(text));
  const auto* name = method->output_type()->FindFieldByName("name");
  ASSERT_NE(name, nullptr);
  EXPECT_EQ(response->GetReflection()->GetString(*response, name), "colonnade");
}

TEST_F(GrpcReflection, FilesAreFoundByName) {
  Dialogue dialogue(port());
  ServerReflectionRequest question;
  question.set_file_by_filename("model_config.proto");
  google::protobuf::DescriptorPool pool;
  build(dialogue.ask(question), pool);
  EXPECT_NE(pool.FindMessageTypeByName("inference.ModelConfig"), nullptr);
}

TEST_F(GrpcReflection, WhatIsNotThereIsSaidAndMoreIsAnswered) {
  Dialogue dialogue(port());
  ServerReflectionRequest file, extension, numbers, nothing;
  file.set_file_by_filename("nobody.proto");
  extension.mutable_file_containing_extension()->set_containing_type("inference.ModelConfig");
  numbers.set_all_extension_numbers_of_type("inference.Nobody");
  const auto expect = [](const ServerReflectionResponse& answer, StatusCode code, const std::string& part) {
    EXPECT_EQ(answer.error_response().error_code(), static_cast<int>(code));
    EXPECT_NE(answer.error_response().error_message().find(part), std::string::npos)
        << answer.error_response().error_message();
  };
  expect(dialogue.symbol("inference.Nobody"), StatusCode::NOT_FOUND, "symbol 'inference.Nobody'");
  expect(dialogue.symbol("onnx.ModelProto"), StatusCode::NOT_FOUND, "symbol 'onnx.ModelProto'");
  expect(dialogue.ask(file), StatusCode::NOT_FOUND, "file 'nobody.proto'");
  expect(dialogue.ask(extension), StatusCode::NOT_FOUND, "extensions");
  expect(dialogue.ask(numbers), StatusCode::NOT_FOUND, "message 'inference.Nobody'");
  expect(dialogue.ask(nothing), StatusCode::INVALID_ARGUMENT, "nothing");
  numbers.set_all_extension_numbers_of_type("inference.ModelConfig");
  const ServerReflectionResponse none = dialogue.ask(numbers);
  EXPECT_EQ(none.all_extension_numbers_response().base_type_name(), "inference.ModelConfig");
  EXPECT_EQ(none.all_extension_numbers_response().extension_number_size(), 0);
  EXPECT_TRUE(dialogue.end().ok());
}

TEST_F(GrpcReflection, LongQuestionsEndTheCall) {
  Dialogue dialogue(port());
  ServerReflectionRequest question;
  question.set_file_containing_symbol(std::string(100'000, 'x'));
  ServerReflectionResponse answer;
  EXPECT_TRUE(dialogue.stream->Write(question));
  EXPECT_FALSE(dialogue.stream->Read(&answer));
  expect_status(dialogue.stream->Finish(), StatusCode::RESOURCE_EXHAUSTED, "at most 4096 bytes");
}

TEST_F(GrpcReflection, OlderClientsAskByTheOlderName) {
  const GrpcClient client(port());
  grpc::GenericStub stub(client.channel);
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  void* tag = nullptr;
  bool ok = false;
  const auto call =
      stub.PrepareCall(&context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  const auto wait = [&] { return queue.Next(&tag, &ok) && ok; };
  call->StartCall(nullptr);
  ASSERT_TRUE(wait());
  ServerReflectionRequest question;
  question.set_list_services("");
  const grpc::Slice slice(question.SerializeAsString());
  call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
  ASSERT_TRUE(wait());
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  ASSERT_TRUE(wait());
  EXPECT_GT(answer.Length(), 60U);
  grpc::Status status;
  call->WritesDone(nullptr);
  ASSERT_TRUE(wait());
  call->Finish(&status, nullptr);
  ASSERT_TRUE(wait());
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(GrpcReflection, IsRestrictedWithMetadata) {
  serve::GrpcOptions options;
  options.restricted = {{"metadata", "key=secret"}};
  const GrpcServed served(echo_service(), options);
  Dialogue dialogue(served.grpc.port());
  ServerReflectionResponse answer;
  EXPECT_FALSE(dialogue.stream->Read(&answer));
  expect_status(dialogue.stream->Finish(), StatusCode::PERMISSION_DENIED, "metadata calls are restricted");
}

}  // namespace
}  // namespace colonnade::test
