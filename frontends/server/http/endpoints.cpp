// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/http/endpoints.hpp"

#include <fmt/core.h>

#include <tuple>

#include "frontends/server/http/base64.hpp"
#include "frontends/server/http/compression.hpp"
#include "frontends/server/http/infer_request.hpp"
#include "frontends/server/http/infer_response.hpp"
#include "frontends/server/http/json.hpp"
#include "frontends/server/http/json_reader.hpp"
#include "frontends/server/http/message_json.hpp"
#include "frontends/server/http/page_file.hpp"
#include "frontends/server/http/shared_regions.hpp"

namespace colonnade::serve::http {
namespace {

std::string_view flag(bool value) { return value ? "true" : "false"; }

Response readiness(std::string_view what, bool is_ready) {
  return json_response(fmt::format("{{\"{}\":{}}}", what, flag(is_ready)), is_ready ? 200 : 503);
}

Response model_readiness(const Route& route, bool is_ready) {
  return json_response(fmt::format("{{\"name\":{},\"ready\":{}}}", json_text(route.model), flag(is_ready)),
                       is_ready ? 200 : 503);
}

/// A model's metadata, and beside them what it needs.
std::string with_memory(std::string metadata, std::size_t bytes) {
  metadata.pop_back();
  return metadata + fmt::format(",\"parameters\":{{\"memory_bytes\":\"{}\"}}}}", bytes);
}

Response page(const Route& route) {
  const auto file = page_file(route.path);
  if (!file) throw Problem(404, "no such path: " + json_text(route.path));
  Response response;
  response.type = file->type;
  response.parts.push_back(std::as_bytes(std::span(file->content)));
  response.fields.emplace_back("X-Content-Type-Options", "nosniff");
  response.fields.emplace_back(
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  return response;
}

Response metrics(const Service& service) {
  Response response;
  response.type = "text/plain; version=0.0.4; charset=utf-8";
  response.text = service.metrics();
  return response;
}

bool has_type(const Request& request, std::string_view type) {
  const std::string* given = request.field("Content-Type");
  return given && equal_ignoring_case(std::string_view(*given).substr(0, given->find_first_of("; ")), type);
}

/// Of JSON and of tensors that are copied: what threads that wait for sockets read and write themselves, 0.1 ms of
/// work.
constexpr std::size_t kSmallBytes = std::size_t{64} << 10;

bool is_image(const Request& request) { return has_type(request, "image/png") || has_type(request, "image/jpeg"); }

bool is_small(const Request& request) {
  const std::string* const coding = request.field("Content-Encoding");
  const bool is_plain = coding == nullptr || equal_ignoring_case(*coding, name_of(Coding::identity));
  return is_plain && !is_image(request) && request.body.size() <= kSmallBytes;
}

InferCall parse_call(const Body& body, const Request& request, const Route& route, Service& service,
                     const HttpOptions& options) {
  if (is_image(request))
    return parse_image_infer(body, service.metadata(route.model, route.version), options.most_body_bytes);
  const auto header_bytes = inference_header_length(request);
  if (header_bytes == std::size_t{0}) return parse_raw_infer(body, service.metadata(route.model, route.version));
  return parse_infer(body, header_bytes, options.deepest_json, service.shared_memory());
}

/// What was made of the body beside it is lent too, as long as it lives.
void lend(InferenceRequest& request, const Body& body) {
  for (InputTensor& input : request.inputs) {
    if (input.is_lent || input.owner == body.owner() || input.view.dtype == DType::string) continue;
    auto lent = std::make_shared<std::pair<Lease, std::shared_ptr<const void>>>(body.another_lease(), input.owner);
    lent->first.need(static_cast<std::size_t>(element_count(input.view.shape)) * size_of(input.view.dtype));
    input.owner = std::move(lent);
  }
}

/// Parameters of a load request: strings, of which files are in base64.
std::map<std::string, std::string> load_parameters(const Json& root) {
  std::map<std::string, std::string> parameters;
  for (const auto& [key, value] : object_of(root, "the request")) {
    if (key != "parameters") continue;
    for (const auto& [name, each] : object_of(value, "parameters")) {
      const std::string where = "parameters: " + json_text(name);
      std::string text(string_of(each, where));
      if (name.starts_with("file:")) {
        auto bytes = from_base64(text);
        if (!bytes) throw Problem(400, where + ": expected base64");
        text = std::move(*bytes);
      }
      if (!parameters.emplace(name, std::move(text)).second) throw Problem(400, where + " appears twice");
    }
  }
  return parameters;
}

std::string allowed_methods(const Route& route) {
  return route.method == "GET" ? "GET, HEAD, OPTIONS" : fmt::format("{}, OPTIONS", route.method);
}

}  // namespace

/// A request for inference on its way.
struct Endpoints::Inference {
  Request request;
  Route route;
  Asker asker;
  Respond respond;
  Clock::time_point received = Clock::now();
  Body body = {};  ///< decoded
  std::optional<InferCall> call = {};
  AnswerForm form = {};
  std::string id = {};
};

Endpoints::Endpoints(Service& service, const HttpOptions& options, Helpers helpers)
    : service_(service),
      options_(options),
      helpers_(std::move(helpers)),
      keys_(parse_restrictions(options.restricted, restrictable_categories())) {}

Route Endpoints::admit(const Request& head, std::string& allow) const {
  Route route = find_route(head.target);
  const auto key = keys_.find(route.category);
  if (key != keys_.end()) {
    const std::string* given = head.field(key->second.header);
    if (!given || !key->second.is(*given))
      throw Problem(403, fmt::format("{} endpoints are restricted: the header field {} does not hold the key",
                                     route.category, key->second.header));
  }
  const bool is_allowed = route.method.empty() || head.method == route.method || head.method == "OPTIONS" ||
                          (route.method == "GET" && head.method == "HEAD");
  if (is_allowed) return route;
  allow = allowed_methods(route);
  throw Problem(405, fmt::format("expected {}, found {}", route.method, json_text(head.method)));
}

Body Endpoints::decoded_body(Request& request) const {
  const std::string* name = request.field("Content-Encoding");
  const Coding coding = name ? coding_of(*name) : Coding::identity;
  if (coding == Coding::identity) return std::move(request.body);
  return decompress(coding, request.body.bytes(), options_.most_body_bytes,
                    inference_header_length(request).value_or(0), request.body.another_lease());
}

bool Endpoints::is_answered_at_once(const Route& route, const Request& request) {
  if (request.method == "OPTIONS") return true;
  switch (route.endpoint) {
    case Endpoint::page:
    case Endpoint::metrics:
    case Endpoint::live:
    case Endpoint::ready:
    case Endpoint::server_metadata:
    case Endpoint::model_metadata:
    case Endpoint::model_ready:
    case Endpoint::config:
    case Endpoint::statistics:
    case Endpoint::shared_status:
    case Endpoint::unsupported: return true;
    case Endpoint::index:
    case Endpoint::describe:
    case Endpoint::infer:
    case Endpoint::load:
    case Endpoint::unload:
    case Endpoint::shared_register:
    case Endpoint::shared_unregister: break;
  }
  return false;
}

Response Endpoints::answer(Request& request, const Route& route) const {
  const auto& [model, version] = std::tie(route.model, route.version);
  if (request.method == "OPTIONS") {
    Response response;
    response.status = 204;
    response.fields.emplace_back("Allow", route.method.empty() ? "OPTIONS" : allowed_methods(route));
    return response;
  }
  switch (route.endpoint) {
    case Endpoint::page: return page(route);
    case Endpoint::metrics: return metrics(service_);
    case Endpoint::live: return readiness("live", service_.is_live());
    case Endpoint::ready: return readiness("ready", service_.is_ready());
    case Endpoint::server_metadata: return json_response(json_of(service_.metadata()));
    case Endpoint::model_metadata:
      return json_response(
          with_memory(json_of(service_.metadata(model, version)), service_.needed_bytes(model, version)));
    case Endpoint::model_ready: return model_readiness(route, service_.is_ready(model, version));
    case Endpoint::config: return json_response(json_of(service_.config(model, version)));
    case Endpoint::statistics: return json_response(json_of(service_.statistics(model, version), Absent::written));
    case Endpoint::shared_status: return json_response(shared_regions_json(service_.shared_memory(), model));
    case Endpoint::index: return index(request);
    case Endpoint::describe: return json_response(service_.describe(model, version));
    case Endpoint::load: return load(request, route);
    case Endpoint::unload:
      service_.unload(model);
      return json_response(fmt::format("{{\"name\":{},\"unload\":true}}", json_text(model)));
    case Endpoint::shared_register:
    case Endpoint::shared_unregister: return change_shared(request, route);
    case Endpoint::infer:
    case Endpoint::unsupported: break;
  }
  throw Problem(501, "not supported: " + json_text(route.path));
}

void Endpoints::answer(Request request, const Route& route, const Asker& asker, Respond respond) const {
  if (route.endpoint == Endpoint::infer)
    return infer(std::make_shared<Inference>(Inference{std::move(request), route, asker, std::move(respond)}), false);
  helpers_.blocks([this, route, accepting = asker.accepting, respond = std::move(respond),
                   request = std::make_shared<Request>(std::move(request))] {
    Response response;
    try {
      response = answer(*request, route);
      encode(response, accepting);
    } catch (...) {
      response = error_response_of_exception();
    }
    respond(std::move(response));
  });
}

Response Endpoints::index(const Request& request) const {
  bool ready_only = false;
  if (request.body.size() > 0) {
    with_json(request.body.bytes(), options_.deepest_json, [&](const Json& root) {
      Keys keys("the request");
      for (const auto& [key, value] : object_of(root, "the request")) {
        if (key != "ready") continue;
        keys.meet(0, key);
        ready_only = bool_of(value, "ready");
      }
    });
  }
  const auto models = service_.index(ready_only);
  std::string text = "[";
  for (const auto& model : models.models()) {
    if (text.size() > 1) text += ',';
    append_json(text, model);
  }
  return json_response(text + "]");
}

Response Endpoints::change_shared(Request& request, const Route& route) const {
  SharedMemory& memory = service_.shared_memory();
  if (route.endpoint == Endpoint::shared_register)
    register_shared_region(memory, route.model, decoded_body(request).bytes(), options_.deepest_json);
  else if (route.model.empty())
    memory.remove_all();
  else
    memory.remove(route.model);
  return json_response("");
}

Response Endpoints::load(Request& request, const Route& route) const {
  const Body body = decoded_body(request);
  std::map<std::string, std::string> parameters;
  if (body.size() > 0)
    with_json(body.bytes(), options_.deepest_json, [&](const Json& root) { parameters = load_parameters(root); });
  service_.load(route.model, parameters);
  return json_response(fmt::format("{{\"name\":{},\"load\":true}}", json_text(route.model)));
}

/// Here, as far as that takes no time; a helper does the rest.
void Endpoints::infer(const InferencePtr& asked, bool is_helper) const {
  if (!is_helper && !is_small(asked->request)) return infer_by_helper(asked);
  if (!asked->call) read(*asked);
  if (!is_helper && shared_bytes(*asked->call) > kSmallBytes) return infer_by_helper(asked);
  read_shared(*asked->call, asked->body.another_lease());
  submit(asked);
}

void Endpoints::infer_by_helper(const InferencePtr& asked) const {
  helpers_.decodes([this, asked] {
    try {
      infer(asked, true);
    } catch (...) {
      asked->respond(error_response_of_exception());
    }
  });
}

void Endpoints::read(Inference& asked) const {
  asked.body = decoded_body(asked.request);
  asked.call = parse_call(asked.body, asked.request, asked.route, service_, options_);
  InferenceRequest& request = asked.call->request;
  request.model = asked.route.model;
  request.version = asked.route.version.empty() ? 0 : std::stoll(asked.route.version);
  request.stop = asked.asker.stop;
  request.received = asked.received;
  request.protocol = "http";
  if (const std::string* parent = asked.request.field("traceparent")) request.traceparent = *parent;
  asked.request = {};
}

void Endpoints::submit(const InferencePtr& asked) const {
  InferCall call = std::move(*asked->call);
  const Body body = std::move(asked->body);
  lend(call.request, body);
  asked->form = std::move(call.form);
  asked->id = call.request.id;
  service_.infer(std::move(call.request), [this, asked](InferenceResult result) { respond(asked, std::move(result)); });
}

void Endpoints::respond(const InferencePtr& asked, InferenceResult result) const {
  const auto make = [asked](const InferenceResult& made) {
    Response response;
    try {
      if (const Status* status = std::get_if<Status>(&made)) throw Failure(status->code, status->message);
      response = infer_response(std::get<InferenceResponse>(made), asked->form);
      encode(response, asked->asker.accepting);
    } catch (...) {
      response = error_response_of_exception();
      response.id = asked->id;
    }
    asked->respond(std::move(response));
  };
  const auto* const answer = std::get_if<InferenceResponse>(&result);
  const bool is_small = answer == nullptr || (asked->asker.accepting.coding == Coding::identity &&
                                              copied_bytes(*answer, asked->form) <= kSmallBytes);
  if (is_small) return make(result);
  helpers_.decodes([make, result = std::make_shared<InferenceResult>(std::move(result))] { make(*result); });
}

}  // namespace colonnade::serve::http
