// SPDX-License-Identifier: Apache-2.0
// What services there are and how their messages are made, for tools that have no files of them. gRPC's own part for
// this lists services that are registered with its builder; ours takes calls by their paths.
#include <fmt/core.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpc_service.pb.h>
#include <health.pb.h>
#include <reflection.pb.h>

#include <array>
#include <set>
#include <string_view>

#include "frontends/server/grpc/call.hpp"
#include "frontends/server/grpc/message.hpp"
#include "frontends/server/grpc/status.hpp"

namespace colonnade::serve {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;
using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;

constexpr std::array kServices = {"grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
                                  "inference.GRPCInferenceService"};
/// Longer than any name that there is: the answer holds the question.
constexpr std::size_t kMostQuestionBytes = 4096;

const DescriptorPool& pool() { return *DescriptorPool::generated_pool(); }

/// The file, then those that it imports, each once.
void add_with_imports(const FileDescriptor& file, std::set<const FileDescriptor*>& added,
                      grpc::reflection::v1::FileDescriptorResponse& answer) {
  if (!added.insert(&file).second) return;
  google::protobuf::FileDescriptorProto proto;
  file.CopyTo(&proto);
  answer.add_file_descriptor_proto(proto.SerializeAsString());
  for (int k = 0; k < file.dependency_count(); ++k) add_with_imports(*file.dependency(k), added, answer);
}

/// Files that services are made of. The program has others, which are nobody's business.
bool is_served(const FileDescriptor* file) {
  static const std::set<const FileDescriptor*> served = [] {
    std::set<const FileDescriptor*> files;
    grpc::reflection::v1::FileDescriptorResponse unused;
    for (const char* name : kServices) add_with_imports(*pool().FindServiceByName(name)->file(), files, unused);
    return files;
  }();
  return served.count(file) != 0;
}

const FileDescriptor& checked(const FileDescriptor* file, std::string_view what, const std::string& name) {
  if (file == nullptr || !is_served(file))
    throw Failure(Code::not_found, fmt::format("there is no {} '{}'", what, name));
  return *file;
}

void tell(const ServerReflectionRequest& question, ServerReflectionResponse& answer) {
  const auto tell_file = [&](const FileDescriptor& file) {
    std::set<const FileDescriptor*> added;
    add_with_imports(file, added, *answer.mutable_file_descriptor_response());
  };
  switch (question.message_request_case()) {
    case ServerReflectionRequest::kFileByFilename: {
      const std::string& name = question.file_by_filename();
      return tell_file(checked(pool().FindFileByName(name), "file", name));
    }
    case ServerReflectionRequest::kFileContainingSymbol: {
      const std::string& name = question.file_containing_symbol();
      return tell_file(checked(pool().FindFileContainingSymbol(name), "symbol", name));
    }
    case ServerReflectionRequest::kFileContainingExtension: throw Failure(Code::not_found, "no message has extensions");
    case ServerReflectionRequest::kAllExtensionNumbersOfType: {
      const std::string& name = question.all_extension_numbers_of_type();
      const auto* message = pool().FindMessageTypeByName(name);
      checked(message == nullptr ? nullptr : message->file(), "message", name);
      answer.mutable_all_extension_numbers_response()->set_base_type_name(name);
      return;
    }
    case ServerReflectionRequest::kListServices:
      for (const char* name : kServices) answer.mutable_list_services_response()->add_service()->set_name(name);
      return;
    case ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET:
      throw Failure(Code::invalid_argument, "the request asks for nothing");
  }
}

ServerReflectionResponse answer_to(const ServerReflectionRequest& question) {
  ServerReflectionResponse answer;
  answer.set_valid_host(question.host());
  *answer.mutable_original_request() = question;
  try {
    tell(question, answer);
  } catch (const Failure& failure) {
    auto& error = *answer.mutable_error_response();
    const grpc::Status status = to_grpc(failure.status());
    error.set_error_code(status.error_code());
    error.set_error_message(status.error_message());
  }
  return answer;
}

/// One question after another: the next is read when an answer is sent.
class ReflectionCall final : public Call {
 public:
  explicit ReflectionCall(grpc::GenericCallbackServerContext& call) : Call(call) { StartRead(&message_); }

  void OnReadDone(bool ok) override {
    if (!ok) return finish(grpc::Status::OK);
    bytes_in_ += message_.Length();
    try {
      if (message_.Length() > kMostQuestionBytes)
        throw Failure(Code::too_large, fmt::format("expected a question of at most {} bytes", kMostQuestionBytes));
      ServerReflectionRequest question;
      read_message(message_, kMostQuestionBytes, question);
      message_.Clear();
      response_ = write_message(answer_to(question));
    } catch (...) {
      return finish(status_of_exception());
    }
    bytes_out_ += response_.Length();
    StartWrite(&response_);
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return finish(grpc::Status::CANCELLED);
    StartRead(&message_);
  }

 private:
  grpc::ByteBuffer message_, response_;
};

}  // namespace

Reactor* start_reflection(grpc::GenericCallbackServerContext& call) { return new ReflectionCall(call); }

}  // namespace colonnade::serve
