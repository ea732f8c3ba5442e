// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/grpc/methods.hpp"

#include <grpc_service.pb.h>
#include <health.pb.h>

#include <algorithm>
#include <map>
#include <set>

#include "frontends/server/grpc/message.hpp"

namespace colonnade::serve {
namespace {

using namespace inference;  // the messages
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

constexpr std::string_view kHealth = "health", kMetadata = "metadata", kInference = "inference",
                           kConfig = "model-config", kRepository = "model-repository", kStatistics = "statistics",
                           kSharedMemory = "shared-memory", kTrace = "trace", kLogging = "logging";

ServerLiveResponse live(Service& service, const ServerLiveRequest&) {
  ServerLiveResponse response;
  response.set_live(service.is_live());
  return response;
}

ServerReadyResponse ready(Service& service, const ServerReadyRequest&) {
  ServerReadyResponse response;
  response.set_ready(service.is_ready());
  return response;
}

ModelReadyResponse model_ready(Service& service, const ModelReadyRequest& request) {
  ModelReadyResponse response;
  response.set_ready(service.is_ready(request.name(), request.version()));
  return response;
}

ServerMetadataResponse metadata(Service& service, const ServerMetadataRequest&) { return service.metadata(); }

ModelMetadataResponse model_metadata(Service& service, const ModelMetadataRequest& request) {
  return service.metadata(request.name(), request.version());
}

ModelConfigResponse config(Service& service, const ModelConfigRequest& request) {
  ModelConfigResponse response;
  *response.mutable_config() = service.config(request.name(), request.version());
  return response;
}

ModelStatisticsResponse statistics(Service& service, const ModelStatisticsRequest& request) {
  return service.statistics(request.name(), request.version());
}

/// There is one repository to clients; its name is "".
void check_repository(const std::string& name) {
  if (!name.empty()) throw Failure(Code::not_found, "no repository has a name: leave repository_name empty");
}

RepositoryIndexResponse index(Service& service, const RepositoryIndexRequest& request) {
  check_repository(request.repository_name());
  return service.index(request.ready());
}

std::string text_of(const std::string& name, const ModelRepositoryParameter& parameter) {
  if (parameter.has_string_param()) return parameter.string_param();
  if (parameter.has_bytes_param()) return parameter.bytes_param();
  throw Failure(Code::invalid_argument, "parameter '" + name + "': expected string_param or bytes_param");
}

RepositoryModelLoadResponse load(Service& service, const RepositoryModelLoadRequest& request) {
  check_repository(request.repository_name());
  std::map<std::string, std::string> parameters;
  for (const auto& [name, value] : request.parameters()) parameters.emplace(name, text_of(name, value));
  service.load(request.model_name(), parameters);
  return {};
}

RepositoryModelUnloadResponse unload(Service& service, const RepositoryModelUnloadRequest& request) {
  check_repository(request.repository_name());
  for (const auto& [name, value] : request.parameters()) {
    if (name != "unload_dependents")
      throw Failure(Code::invalid_argument, "an unload takes the parameter unload_dependents, no other");
  }
  service.unload(request.model_name());
  return {};
}

SystemSharedMemoryStatusResponse shared_status(Service& service, const SystemSharedMemoryStatusRequest& request) {
  SystemSharedMemoryStatusResponse response;
  for (const SharedRegionPtr& region : service.shared_memory().regions(request.name())) {
    auto& status = (*response.mutable_regions())[region->name()];
    status.set_name(region->name());
    status.set_key(region->key());
    status.set_offset(region->offset());
    status.set_byte_size(region->size());
  }
  return response;
}

SystemSharedMemoryRegisterResponse shared_register(Service& service, const SystemSharedMemoryRegisterRequest& request) {
  service.shared_memory().add(request.name(), request.key(), request.offset(), request.byte_size());
  return {};
}

SystemSharedMemoryUnregisterResponse shared_unregister(Service& service,
                                                       const SystemSharedMemoryUnregisterRequest& request) {
  if (request.name().empty())
    service.shared_memory().remove_all();
  else
    service.shared_memory().remove(request.name());
  return {};
}

HealthCheckResponse check_health(Service& service, const HealthCheckRequest& request) {
  HealthCheckResponse response;
  const bool serving = is_serving(service, request.service());
  response.set_status(serving ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING);
  return response;
}

template <class Request, class Response>
Method method(std::string_view path, std::string_view category, Pace pace, Response (*call)(Service&, const Request&)) {
  return {path, category, pace, [call](Service& service, const grpc::ByteBuffer& bytes, std::size_t most_bytes) {
            Request request;
            read_message(bytes, most_bytes, request);
            return write_message(call(service, request));
          }};
}

Method refused(std::string_view path, std::string_view category, const char* what) {
  return {path, category, Pace::at_once, [what](Service&, const grpc::ByteBuffer&, std::size_t) -> grpc::ByteBuffer {
            throw Failure(Code::unsupported, std::string(what) + " is not supported");
          }};
}

#define COLONNADE_INFERENCE "/inference.GRPCInferenceService/"
const std::vector<Method>& methods() {
  static const std::vector<Method> table = {
      method(COLONNADE_INFERENCE "ServerLive", kHealth, Pace::at_once, live),
      method(COLONNADE_INFERENCE "ServerReady", kHealth, Pace::at_once, ready),
      method(COLONNADE_INFERENCE "ModelReady", kHealth, Pace::at_once, model_ready),
      method("/grpc.health.v1.Health/Check", kHealth, Pace::at_once, check_health),
      method(COLONNADE_INFERENCE "ServerMetadata", kMetadata, Pace::at_once, metadata),
      method(COLONNADE_INFERENCE "ModelMetadata", kMetadata, Pace::at_once, model_metadata),
      method(COLONNADE_INFERENCE "ModelConfig", kConfig, Pace::at_once, config),
      method(COLONNADE_INFERENCE "ModelStatistics", kStatistics, Pace::at_once, statistics),
      method(COLONNADE_INFERENCE "RepositoryIndex", kRepository, Pace::slow, index),
      method(COLONNADE_INFERENCE "RepositoryModelLoad", kRepository, Pace::slow, load),
      method(COLONNADE_INFERENCE "RepositoryModelUnload", kRepository, Pace::slow, unload),
      method(COLONNADE_INFERENCE "SystemSharedMemoryStatus", kSharedMemory, Pace::at_once, shared_status),
      method(COLONNADE_INFERENCE "SystemSharedMemoryRegister", kSharedMemory, Pace::slow, shared_register),
      method(COLONNADE_INFERENCE "SystemSharedMemoryUnregister", kSharedMemory, Pace::slow, shared_unregister),
      refused(COLONNADE_INFERENCE "CudaSharedMemoryStatus", kSharedMemory, "CUDA shared memory"),
      refused(COLONNADE_INFERENCE "CudaSharedMemoryRegister", kSharedMemory, "CUDA shared memory"),
      refused(COLONNADE_INFERENCE "CudaSharedMemoryUnregister", kSharedMemory, "CUDA shared memory"),
      refused(COLONNADE_INFERENCE "TraceSetting", kTrace, "tracing by clients"),
      refused(COLONNADE_INFERENCE "LogSettings", kLogging, "changing the log by clients"),
  };
  return table;
}
#undef COLONNADE_INFERENCE

}  // namespace

const Method* find_method(std::string_view path) {
  const auto found =
      std::find_if(methods().begin(), methods().end(), [&](const auto& row) { return row.path == path; });
  return found == methods().end() ? nullptr : &*found;
}

std::string_view category_of(std::string_view path) {
  if (path == kInferPath || path == kStreamPath) return kInference;
  if (path == kWatchPath) return kHealth;
  if (path == kReflectionPath || path == kAlphaReflectionPath) return kMetadata;
  const Method* method = find_method(path);
  return method == nullptr ? std::string_view() : method->category;
}

std::vector<std::string_view> grpc_categories() {
  std::set<std::string_view> categories = {kInference};
  for (const Method& method : methods()) categories.insert(method.category);
  return {categories.begin(), categories.end()};
}

bool is_serving(const Service& service, const std::string& name) {
  if (name.empty() || name == "inference.GRPCInferenceService") return service.is_ready();
  if (service.is_ready(name, "")) return true;
  try {
    (void)service.metadata(name, "");
  } catch (const Failure& failure) {
    if (failure.code() == Code::not_found) throw;
  }
  return false;
}

}  // namespace colonnade::serve
