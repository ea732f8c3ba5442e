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

/// Called once for every request, by any thread, perhaps before `answer` returns.
using Respond = std::function<void(Response)>;
/// Hands a task, which does not throw, to a thread that it may occupy.
using Post = std::function<void(std::function<void()>)>;

/// Who does what the threads that wait for sockets must not do.
struct Helpers {
  Post blocks;   ///< waits for disks and loads
  Post decodes;  ///< reads and writes large bodies, and pictures
};

/// What is known of the client that asked.
struct Asker {
  Accepting accepting;
  std::stop_token stop;  ///< it has gone
};

/// Thread-safe.
class Endpoints {
 public:
  /// Throws Failure{invalid_argument} for restrictions of unknown categories or without a key.
  Endpoints(Service& service, const HttpOptions& options, Helpers helpers);

  /// Whether a request with this head may go on to its body. Throws Problem; `allow` then holds the methods there are
  /// if the method was wrong.
  Route admit(const Request& head, std::string& allow) const;
  /// Whether the answer takes no time: neither a model nor decoding nor a disk has a part in it.
  static bool is_answered_at_once(const Route& route, const Request& request);
  /// That answer, or another but an inference's, which may wait for disks and loads. Takes the body. Throws what
  /// `error_response_of_exception` understands.
  Response answer(Request& request, const Route& route) const;
  /// Answers what is not answered at once, without occupying this thread: what waits or is large is left to `Helpers`.
  /// Throws the same if that fails before it waits for others.
  void answer(Request request, const Route& route, const Asker& asker, Respond respond) const;

 private:
  struct Inference;
  using InferencePtr = std::shared_ptr<Inference>;
  void infer(const InferencePtr& asked, bool is_helper) const;
  void infer_by_helper(const InferencePtr& asked) const;
  void read(Inference& asked) const;
  void submit(const InferencePtr& asked) const;
  void respond(const InferencePtr& asked, InferenceResult result) const;
  Response load(Request& request, const Route& route) const;
  Response index(const Request& request) const;
  /// Registers or unregisters regions of shared memory.
  Response change_shared(Request& request, const Route& route) const;
  Body decoded_body(Request& request) const;

  Service& service_;
  HttpOptions options_;
  Helpers helpers_;
  std::map<std::string, RestrictionKey, std::less<>> keys_;  ///< by category
};

}  // namespace colonnade::serve::http
