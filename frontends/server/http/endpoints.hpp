// SPDX-License-Identifier: Apache-2.0
// What each endpoint answers, without sockets.
#pragma once

#include <functional>
#include <map>
#include <stop_token>

#include "frontends/server/http/message.hpp"
#include "frontends/server/http/route.hpp"
#include "frontends/server/http/write_head.hpp"
#include "frontends/server/restriction.hpp"
#include "frontends/server/service.hpp"

namespace colonnade::serve::http {

/// Makes an answer; may take long for large tensors and throw.
using Make = std::function<Response()>;
/// That answer, or what is said instead where it cannot be made; ready to be sent.
Response made_of(const Make& make, const Accepting& accepting);
/// Called once for every request, by any thread, perhaps before `answer` returns.
using Respond = std::function<void(Make)>;
/// Runs what blocks on a thread that may.
using Background = std::function<void(std::function<void()>)>;

/// Thread-safe.
class Endpoints {
 public:
  /// Throws Failure{invalid_argument} for restrictions of unknown categories or without a key.
  Endpoints(Service& service, const HttpOptions& options, Background background);

  /// Whether a request with this head may go on to its body. Throws Problem; `allow` then holds the methods there are
  /// if the method was wrong.
  Route admit(const Request& head, std::string& allow) const;
  /// Whether the answer takes no time: neither a model nor decoding nor a disk has a part in it.
  static bool is_answered_at_once(const Route& route, const Request& request);
  /// That answer. Throws what `error_response_of_exception` understands.
  Response answer(const Request& request, const Route& route) const;
  /// Answers any other request; throws the same if that fails before it waits for others.
  void answer(Request request, const Route& route, std::stop_token stop, Respond respond) const;

 private:
  void infer(Request request, const Route& route, std::stop_token stop, Respond respond) const;
  void load(Request request, const Route& route, Respond respond) const;
  void in_background(Respond respond, Make work) const;
  Response index(const Request& request) const;
  /// Registers or unregisters regions of shared memory.
  Response change_shared(Request& request, const Route& route) const;
  Body decoded_body(Request& request) const;

  Service& service_;
  HttpOptions options_;
  Background background_;
  std::map<std::string, RestrictionKey, std::less<>> keys_;  ///< by category
};

}  // namespace colonnade::serve::http
