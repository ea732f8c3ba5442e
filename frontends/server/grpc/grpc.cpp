// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/grpc/grpc.hpp"

#include <fmt/core.h>
#include <grpc/support/log.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "frontends/server/grpc/calls.hpp"
#include "frontends/server/grpc/credentials.hpp"
#include "frontends/server/log.hpp"
#include "frontends/server/restriction.hpp"

namespace colonnade::serve {
namespace {

constexpr int kWorkers = 2;
constexpr std::size_t kMostWaiting = 256;
constexpr std::size_t kMostToRead = 4096;
/// gRPC answers callbacks by half as many threads as there are processors, at least by these.
constexpr unsigned kLeastNetworkThreads = 2, kMostNetworkThreads = 16;

std::size_t network_threads() {
  return std::clamp(std::thread::hardware_concurrency() / 2, kLeastNetworkThreads, kMostNetworkThreads);
}
/// Dead clients are noticed, and those that ping all the time are sent away.
constexpr int kKeepaliveMs = 60'000, kKeepaliveTimeoutMs = 20'000, kShortestPingMs = 5'000;
/// In the client's metadata a restriction's header may have this in front, as Triton wants it.
constexpr std::string_view kTritonPrefix = "triton-grpc-protocol-";

/// gRPC tells of every handshake that fails: one more line like ours, for who asks for them.
void log_line(gpr_log_func_args* line) {
  log(LogLevel::debug, "grpc", {{"severity", gpr_log_severity_string(line->severity)}, {"text", line->message}});
}

/// Starts a call by its path, if the client may make it.
class Dispatcher final : public grpc::CallbackGenericService {
 public:
  Dispatcher(CallContext& shared, const GrpcOptions& options)
      : shared_(shared), keys_(parse_restrictions(options.restricted, grpc_categories())) {}

  Reactor* CreateReactor(grpc::GenericCallbackServerContext* call) override {
    const std::string& path = call->method();
    if (const auto key = keys_.find(category_of(path)); key != keys_.end() && !has_key(*call, key->second))
      return start_refused(*call, {Code::unauthorized, fmt::format("{} calls are restricted: the metadata {} does not "
                                                                   "hold the key",
                                                                   key->first, key->second.header)});
    if (path == kInferPath) return start_infer(shared_, *call);
    if (path == kStreamPath) return start_stream(shared_, *call);
    if (path == kWatchPath) return start_watch(shared_, *call);
    if (path == kReflectionPath || path == kAlphaReflectionPath) return start_reflection(*call);
    if (const Method* method = find_method(path)) return start_unary(shared_, *call, *method);
    return start_refused(*call, {Code::unsupported, "no such method"});
  }

 private:
  static bool has_key(const grpc::GenericCallbackServerContext& call, const RestrictionKey& key) {
    const auto& metadata = call.client_metadata();
    return std::any_of(metadata.begin(), metadata.end(), [&](const auto& entry) {
      std::string_view name(entry.first.data(), entry.first.size());
      if (name.starts_with(kTritonPrefix) && !key.header.starts_with(kTritonPrefix))
        name.remove_prefix(kTritonPrefix.size());
      return name == key.header && key.is({entry.second.data(), entry.second.size()});
    });
  }

  CallContext& shared_;
  const std::map<std::string, RestrictionKey, std::less<>> keys_;
};

void set_limits(grpc::ServerBuilder& builder, const GrpcOptions& options, std::size_t most_bytes) {
  builder.SetResourceQuota(grpc::ResourceQuota("requests").Resize(most_bytes + options.most_message_bytes));
  constexpr std::size_t kLargest = std::numeric_limits<int>::max();
  builder.SetMaxReceiveMessageSize(static_cast<int>(std::min(options.most_message_bytes, kLargest)));
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);  // read_message does it, within the limit
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.most_streams);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kShortestPingMs);
}

std::string address_of(const GrpcOptions& options) {
  const bool is_v6 = options.address.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", options.address, is_v6 ? "]" : "", options.port);
}

}  // namespace

struct GrpcServer::Impl {
  Impl(Service& service, const GrpcOptions& options)
      : workers(kWorkers, kMostWaiting),
        decoders(std::max(2, default_threads()), kMostToRead),
        work(network_threads() - 1),
        shared{service, options.most_message_bytes, workers, decoders, work},
        dispatcher(shared, options),
        certificates({options.certificate, options.key, options.client_authority}) {
    if (options.port < 0) return;
    gpr_set_log_function(log_line);
    grpc::ServerBuilder builder;
    set_limits(builder, options, service.clients().limit(Holding::bytes));
    builder.AddListeningPort(address_of(options), credentials, &port);
    builder.RegisterCallbackGenericService(&dispatcher);
    server = builder.BuildAndStart();
    if (!server || port == 0)
      throw Failure(Code::invalid_argument,
                    fmt::format("gRPC cannot listen at {}: the port is taken", address_of(options)));
  }

  void stop(std::chrono::milliseconds limit) {
    if (!server) return;
    shared.stopping = true;
    server->Shutdown(std::chrono::system_clock::now() + limit);
    server.reset();
  }

  Workers workers, decoders;
  Work work;
  CallContext shared;
  Dispatcher dispatcher;
  Certificates certificates;
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc_credentials(certificates);
  int port = -1;
  std::unique_ptr<grpc::Server> server;
};

GrpcServer::GrpcServer(Service& service, const GrpcOptions& options)
    : impl_(std::make_unique<Impl>(service, options)) {}
GrpcServer::~GrpcServer() { stop(std::chrono::milliseconds(0)); }
int GrpcServer::port() const { return impl_->port; }
void GrpcServer::stop(std::chrono::milliseconds limit) { impl_->stop(limit); }

}  // namespace colonnade::serve
