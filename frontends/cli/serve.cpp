// SPDX-License-Identifier: Apache-2.0
// The `serve` command: its command line, and the words that it shares with Triton's.
#ifdef COLONNADE_SERVER
#include "serve.hpp"

#include <algorithm>
#include <limits>

#include "frontends/server/memory.hpp"
#include "frontends/server/status.hpp"
#include "text.hpp"

namespace colonnade::cli {
namespace {

constexpr double kMostPort = 65535;
constexpr double kMostCount = 1e9;
/// Of what there is, for requests under way, where nobody says.
constexpr std::size_t kMostRequestBytes = std::size_t{1} << 30, kRequestPart = 8;

ErrorCode code_of(serve::Code code) {
  switch (code) {
    case serve::Code::invalid_argument: return ErrorCode::invalid_argument;
    case serve::Code::not_found:
    case serve::Code::unavailable: return ErrorCode::io;
    case serve::Code::unauthorized:
    case serve::Code::too_large:
    case serve::Code::resource_exhausted:
    case serve::Code::deadline_exceeded:
    case serve::Code::cancelled:
    case serve::Code::unsupported:
    case serve::Code::internal: break;
  }
  return ErrorCode::internal;
}

CLI::Validator within(double low, double high) { return CLI::Range(low, high).description(""); }

template <class Value>
CLI::Option* add_count(CLI::App& app, const char* name, Value& value, const char* help) {
  return app.add_option(name, value, help)->check(within(0.0, kMostCount))->type_name("N")->capture_default_str();
}

CLI::Option* add_port(CLI::App& app, const char* name, int& port, const char* help) {
  return app.add_option(name, port, help)
      ->check(within(-1.0, kMostPort))
      ->type_name("PORT")
      ->capture_default_str()
      ->group("Addresses");
}

void add_seconds(CLI::App& app, const char* name, std::chrono::seconds& value, const char* help) {
  app.add_option_function<std::int64_t>(
         name, [&value](std::int64_t seconds) { value = std::chrono::seconds(seconds); }, help)
      ->check(within(0.0, kMostCount))
      ->default_str(std::to_string(value.count()))
      ->type_name("SECONDS");
}

/// "health,metadata:NAME=KEY", as Triton writes it.
void restrict_to(std::map<std::string, std::string>& restricted, const std::string& text) {
  const std::size_t colon = text.find(':'), equals = text.find('=');
  if (colon == std::string::npos || equals == std::string::npos || equals < colon)
    throw CLI::ValidationError("expected CATEGORY[,CATEGORY]...:NAME=KEY, found '" + text + "'");
  for (const std::string& category : CLI::detail::split(text.substr(0, colon), ','))
    restricted[category] = text.substr(colon + 1);
}

void add_restricted(CLI::App& app, const char* name, std::map<std::string, std::string>& restricted, const char* help) {
  app.add_option_function<std::vector<std::string>>(
         name,
         [&restricted](const std::vector<std::string>& all) {
           for (const std::string& text : all) restrict_to(restricted, text);
         },
         help)
      ->type_name("CATEGORIES:NAME=KEY")
      ->take_all()
      ->allow_extra_args(false)
      ->group("Safety");
}

void add_addresses(CLI::App& app, ServeArguments& arguments) {
  serve::HttpOptions& http = arguments.options.http;
  add_port(app, "--http-port", http.port, "Port of HTTP; 0: any free one; -1: none");
  add_port(app, "--grpc-port", arguments.options.grpc.port, "Port of gRPC; 0: any free one; -1: none");
  add_port(app, "--metrics-port", http.metrics_port,
           "Port of /metrics alone; 0: any free one; -1: only on the port of HTTP");
  app.add_option("--http-address", http.address, "Address of HTTP and metrics")
      ->type_name("ADDRESS")
      ->capture_default_str()
      ->group("Addresses");
  app.add_option("--grpc-address", arguments.options.grpc.address, "Address of gRPC")
      ->type_name("ADDRESS")
      ->capture_default_str()
      ->group("Addresses");
}

void add_models(CLI::App& app, ServeArguments& arguments) {
  serve::ServiceOptions& service = arguments.options.service;
  app.add_option(
         "MODEL", service.repositories,
         "An ONNX file, a folder of them, a Triton model repository, or embedded:NAME; NAME=PATH to serve a single "
         "model by another name; repeatable. Without any, the embedded models are served")
      ->type_name("");
  app.add_option("--model-repository,--model-store", arguments.more_repositories, "The same")
      ->type_name("PATH")
      ->take_all()
      ->allow_extra_args(false)
      ->group("Models");
  const std::map<std::string, serve::ControlMode> modes = {{"none", serve::ControlMode::none},
                                                           {"poll", serve::ControlMode::poll},
                                                           {"explicit", serve::ControlMode::explicit_}};
  app.add_option("--model-control-mode", service.control,
                 "none (all models, once), poll (watches the repository) or explicit (clients load and unload)")
      ->transform(CLI::CheckedTransformer(modes, CLI::ignore_case).description(""))
      ->type_name("none|poll|explicit")
      ->default_str("none")
      ->group("Models");
  app.add_option("--load-model", service.load_models,
                 "Model to load at the start in explicit mode; * for all; repeatable")
      ->type_name("NAME")
      ->take_all()
      ->allow_extra_args(false)
      ->group("Models");
  add_seconds(app, "--repository-poll-secs", service.poll_every, "Time between two looks at the repository");
  app.add_option("--strict-readiness", service.strict_readiness, "Not ready while a model failed to load")
      ->type_name("BOOL")
      ->default_str("true")
      ->group("Models");
  add_count(app, "--default-max-batch-size", service.default_max_batch,
            "max_batch_size of models that can be batched and have no configuration")
      ->group("Models");
  app.add_option("--compiled-folder", service.compiled_folder,
                 "Folder that keeps packed weights and plans of models, so that they load faster the next time")
      ->check(CLI::ExistingDirectory)
      ->type_name("FOLDER")
      ->group("Models");
  app.add_option("--warm-up", service.warm_up, "Run each model before it is called ready")
      ->type_name("BOOL")
      ->default_str("true")
      ->group("Models");
}

void add_scheduling(CLI::App& app, serve::ServiceOptions& service) {
  add_count(app, "--streams", service.streams, "Runs at the same time; 0: one per physical core")->group("Scheduling");
  add_count(app, "--threads", service.model.threads, "Threads of a run; 0: as its size asks for")->group("Scheduling");
  app.add_option("--numa", service.model.numa,
                 "On several NUMA nodes: replicate (a copy of the weights a node), interleave, node=N or off (default: "
                 "replicate while memory allows); a model's parameter numa goes before it")
      ->type_name("POLICY")
      ->group("Scheduling");
  add_count(app, "--max-queue", service.max_queue, "Requests that may wait for a model that does not say otherwise")
      ->group("Scheduling");
  add_count(app, "--max-pending", service.most_pending, "Requests that may wait for all models together; 0: no limit")
      ->group("Scheduling");
}

CLI::Option* add_size(CLI::App& app, const char* name, std::size_t& value, const char* help) {
  return app.add_option(name, value, help)
      ->transform(CLI::AsSizeValue(false).description(""))
      ->type_name("BYTES")
      ->capture_default_str()
      ->group("Safety");
}

void add_memory(CLI::App& app, ServeArguments& arguments) {
  app.add_option("--memory-limit", arguments.memory_limit,
                 "What loaded models may need together, e.g. 4G; 0: no limit. By default what the container or the "
                 "machine has, less a reserve")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->type_name("BYTES")
      ->group("Models");
  add_size(app, "--response-cache", arguments.options.service.response_cache,
           "For answers that are given again to equal requests, of models whose config.pbtxt says response_cache { "
           "enable: true }; part of the memory limit; 0: none are kept")
      ->group("Models");
  const std::map<std::string, bool> choices = {{"never", false}, {"idle", true}};
  app.add_option(
         "--unload", arguments.options.service.unload_idle,
         "idle: where a model does not fit, those that nobody asked for the longest time are unloaded; a request "
         "loads them again")
      ->transform(CLI::CheckedTransformer(choices, CLI::ignore_case).description(""))
      ->type_name("never|idle")
      ->default_str("never")
      ->group("Models");
}

void add_limits(CLI::App& app, serve::ServiceOptions& service) {
  add_size(
      app, "--request-memory", service.limits.memory_bytes,
      "Memory of a run, and of each tensor that depends on data, e.g. 256M; a model's parameter request_memory may "
      "ask for less; 0: no limit");
  add_count(app, "--loop-limit", service.limits.loop_iterations,
            "Iterations of all loops in a run; a model's parameter loop_limit may ask for less; 0: no limit")
      ->group("Safety");
  app.add_option_function<double>(
         "--request-timeout",
         [&service](double seconds) {
           service.limits.timeout =
               std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
         },
         "Time from a request to its answer, planning included; a model's parameter request_timeout may ask for less; "
         "0: no limit")
      ->check(within(0.0, kMostCount))
      ->type_name("SECONDS")
      ->default_str("0")
      ->group("Safety");
  auto& [connections, requests, bytes] = service.clients.total;
  bytes = 0;
  auto& [client_connections, client_requests, client_bytes] = service.clients.each;
  add_count(app, "--max-requests", requests, "Requests under way for all models and protocols")->group("Safety");
  add_size(
      app, "--max-request-bytes", bytes,
      "Bytes of all requests under way, bodies that still arrive included; 0: an eighth of the memory, at most 1G");
  add_count(app, "--max-client-connections", client_connections,
            "HTTP connections of one address; 0: half of --http-max-connections")
      ->group("Safety");
  add_count(app, "--max-client-requests", client_requests, "Requests of one address under way; 0: half of all")
      ->group("Safety");
  add_size(app, "--max-client-bytes", client_bytes, "Bytes of requests of one address under way; 0: half of all");
}

void add_traces(CLI::App& app, serve::TraceOptions& trace) {
  app.add_option("--trace-otlp", trace.url,
                 "OpenTelemetry collector that is told of requests, their time in the queue and their run: "
                 "http://HOST[:PORT][/PATH] (port 4318, /v1/traces)")
      ->type_name("URL")
      ->group("Traces");
  app.add_option("--trace-rate", trace.rate,
                 "Part of the requests that are traced; those whose traceparent is sampled always are")
      ->check(within(0.0, 1.0))
      ->type_name("RATE")
      ->capture_default_str()
      ->group("Traces");
}

void add_safety(CLI::App& app, ServeArguments& arguments) {
  serve::HttpOptions& http = arguments.options.http;
  app.add_option("--http-max-input-size", http.most_body_bytes,
                 "Largest body of a request or gRPC message, decompressed, e.g. 64M (K, M, G)")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->check(CLI::Validator(CLI::PositiveNumber).description(""))
      ->type_name("BYTES")
      ->capture_default_str()
      ->group("Safety");
  add_count(app, "--http-thread-count", http.threads, "Threads that serve HTTP connections; 0: one per physical core")
      ->group("Safety");
  add_count(app, "--http-max-connections", http.most_connections, "HTTP connections at the same time")->group("Safety");
  add_restricted(app, "--http-restricted-api", http.restricted,
                 "Endpoints that need a header: health, metadata, inference, model-config, model-repository, "
                 "statistics, ...; repeatable");
  add_restricted(app, "--grpc-restricted-protocol", arguments.options.grpc.restricted, "The same for gRPC");
  app.add_option("--shared-memory", arguments.options.service.shared_memory,
                 "Clients of this host may have tensors in shared memory whose name begins so, e.g. /team_; / for any "
                 "name (default: none)")
      ->type_name("PREFIX")
      ->group("Safety");
  app.add_option("--tls-certificate", http.certificate, "PEM file: TLS for both protocols")
      ->type_name("FILE")
      ->group("Safety");
  app.add_option("--tls-key", http.key, "PEM file of the certificate's key")->type_name("FILE")->group("Safety");
  app.add_option("--tls-client-ca", http.client_authority, "PEM file: clients must show a certificate signed by it")
      ->type_name("FILE")
      ->group("Safety");
}

}  // namespace

void add_arguments(CLI::App& app, ServeArguments& arguments) {
  add_models(app, arguments);
  add_addresses(app, arguments);
  add_scheduling(app, arguments.options.service);
  add_safety(app, arguments);
  add_memory(app, arguments);
  add_traces(app, arguments.options.service.trace);
  add_limits(app, arguments.options.service);
  add_seconds(app, "--exit-timeout-secs", arguments.options.exit_timeout,
              "For requests under way at SIGTERM; then they are cancelled");
  app.add_option("--access-log", arguments.options.access_log, "File for a JSON line a request; - for standard output")
      ->type_name("FILE");
  app.add_flag("--verbose", arguments.options.verbose, "Log more");
  app.footer(
      "Examples:\n"
      "  colonnade serve                         the embedded models on ports 8000 (HTTP), 8001 (gRPC), 8002 "
      "(metrics)\n"
      "  colonnade serve model.onnx --http-port 8080\n"
      "  colonnade serve --model-repository models --model-control-mode explicit --load-model resnet");
}

int execute(const ServeArguments& arguments, std::string&) {
  serve::ServeOptions options = arguments.options;
  options.service.repositories.insert(options.service.repositories.end(), arguments.more_repositories.begin(),
                                      arguments.more_repositories.end());
  const std::size_t usable = serve::usable_memory();
  options.service.memory_limit = arguments.memory_limit.value_or(usable);
  std::size_t& request_bytes = options.service.clients.total[2];
  if (request_bytes == 0) request_bytes = std::min(kMostRequestBytes, usable / kRequestPart);
  options.service.clients.total[0] = options.http.most_connections;
  options.grpc.certificate = options.http.certificate;
  options.grpc.key = options.http.key;
  options.grpc.client_authority = options.http.client_authority;
  options.grpc.most_message_bytes = options.http.most_body_bytes;
  try {
    serve::serve(options);
  } catch (const serve::Failure& failure) {
    throw Error(code_of(failure.code()), failure.what());
  }
  return kGood;
}

}  // namespace colonnade::cli
#endif
