// SPDX-License-Identifier: Apache-2.0
// A request for inference and its answer, whatever the protocol.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "colonnade/colonnade.hpp"
#include "frontends/server/status.hpp"

namespace colonnade::serve {

using Clock = std::chrono::steady_clock;
using Parameter = std::variant<bool, std::int64_t, double, std::string>;
using Parameters = std::map<std::string, Parameter>;

class SharedRegion;
struct SharedPlace;
using SharedRegionPtr = std::shared_ptr<const SharedRegion>;
using SharedPlacePtr = std::shared_ptr<const SharedPlace>;

/// A named tensor whose elements lie in memory that `owner` keeps alive: a message's body, a string, a Tensor.
struct InputTensor {
  std::string name;
  TensorView view;
  std::shared_ptr<const void> owner;
  bool is_lent = false;  ///< its memory is counted for the client
};

struct RequestedOutput {
  std::string name;
  std::int64_t classes = 0;   ///< not 0: the `classes` largest values as "value:index" strings instead of the tensor
  SharedPlacePtr place = {};  ///< null: in the answer
};

struct InferenceRequest {
  std::string model;
  std::int64_t version = 0;  ///< 0: the newest that the version policy serves
  std::string id;
  Parameters parameters;  ///< what the client sent, priority and timeout taken out
  std::vector<InputTensor> inputs;
  std::vector<RequestedOutput> outputs;                   ///< empty: all
  std::uint32_t priority = 0;                             ///< 1 is the highest; 0: the model's default
  std::chrono::microseconds timeout{0};                   ///< in the queue and in the run; 0: the model's default
  Clock::time_point deadline = Clock::time_point::max();  ///< when the client stops waiting, of its own accord
  std::stop_token stop;                                   ///< the client has gone
  Clock::time_point received = Clock::now();
  std::string traceparent;    ///< as the client sent it, "" when it did not
  const char* protocol = "";  ///< "http" or "grpc"
};

/// As an InputTensor: dense elements that `owner` keeps alive. Those of a batch lie in one Tensor, which its answers
/// share.
struct OutputTensor {
  std::string name;
  TensorView view;
  std::shared_ptr<const void> owner;
  SharedPlacePtr place = {};  ///< where its bytes go, instead of the answer
};

struct InferenceResponse {
  std::string model;
  std::int64_t version = 0;
  std::string id;
  std::vector<OutputTensor> outputs;
  Clock::time_point began{};             ///< of the run
  std::int64_t batch = 0;                ///< samples of the run; 0: there was none
  std::chrono::nanoseconds queued{0};    ///< from the queue's entrance to the start of the run
  std::chrono::nanoseconds computed{0};  ///< the run, batching included
};

/// An answer or why there is none.
using InferenceResult = std::variant<InferenceResponse, Status>;
/// Called once for every request, by any thread and perhaps before `infer` returns; must not block or throw.
using Done = std::function<void(InferenceResult)>;

}  // namespace colonnade::serve
