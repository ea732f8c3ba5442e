// SPDX-License-Identifier: Apache-2.0
// The calls that take one message and answer one, as rows of a table.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <string_view>
#include <vector>

#include "frontends/server/service.hpp"

namespace colonnade::serve {

enum class Pace {
  at_once,  ///< answered by the thread that reads the network
  slow,     ///< reads files or loads models: answered by another thread
};

struct Method {
  std::string_view path;      ///< "/inference.GRPCInferenceService/ServerLive"
  std::string_view category;  ///< by which access is restricted
  Pace pace = Pace::at_once;
  /// Throws Failure. The message may have so many bytes when it is decompressed.
  std::function<grpc::ByteBuffer(Service&, const grpc::ByteBuffer&, std::size_t most_bytes)> answer;
};

/// Null when there is no such method among them.
const Method* find_method(std::string_view path);

/// Those with more than one message, or with callbacks.
inline constexpr std::string_view kInferPath = "/inference.GRPCInferenceService/ModelInfer";
inline constexpr std::string_view kStreamPath = "/inference.GRPCInferenceService/ModelStreamInfer";
inline constexpr std::string_view kWatchPath = "/grpc.health.v1.Health/Watch";
inline constexpr std::string_view kReflectionPath = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
/// As older clients ask; the messages are the same.
inline constexpr std::string_view kAlphaReflectionPath =
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

/// Of any path; "" when nothing has it.
std::string_view category_of(std::string_view path);
std::vector<std::string_view> grpc_categories();

/// Whether the server (service "" or that of inference) or a model is ready. Throws Failure{not_found}.
bool is_serving(const Service& service, const std::string& name);

}  // namespace colonnade::serve
