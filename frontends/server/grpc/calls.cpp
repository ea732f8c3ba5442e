// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/grpc/calls.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "frontends/server/grpc/call.hpp"
#include "frontends/server/grpc/infer.hpp"
#include "frontends/server/grpc/message.hpp"

namespace colonnade::serve {
namespace {

using grpc::ByteBuffer;
using grpc::GenericCallbackServerContext;

/// The call's deadline as our clock has it.
Clock::time_point deadline_of(const GenericCallbackServerContext& call) {
  const auto deadline = call.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return Clock::time_point::max();
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(deadline - std::chrono::system_clock::now());
}

/// Messages of more bytes are read by other threads than the network's.
constexpr std::size_t kSmallMessageBytes = std::size_t{64} << 10;

/// Reads and asks, by this thread of the network's where that takes no time and leaves another one; false when too much
/// waits for those that read else.
bool decode(CallContext& shared, std::size_t bytes, std::function<void()> task) {
  if (bytes <= kSmallMessageBytes && shared.work.run_at_once(task)) return true;
  return shared.decoders.post(std::move(task));
}

void add_trace(InferenceRequest& request, const GenericCallbackServerContext& call) {
  request.protocol = "grpc";
  const auto found = call.client_metadata().find("traceparent");
  if (found != call.client_metadata().end()) request.traceparent.assign(found->second.data(), found->second.size());
}

const Status kTooMuchToRead{Code::resource_exhausted, "too many requests wait to be read"};

/// "ipv4:127.0.0.1:5000", "ipv6:%5B::1%5D:5000": without scheme, brackets and port.
std::string host_of(const std::string& peer) {
  std::string host = peer.substr(peer.find(':') + 1);
  host = host.substr(0, host.rfind(':'));
  for (const std::string_view bracket : {"%5B", "%5D", "[", "]"})
    if (const auto at = host.find(bracket); at != std::string::npos) host.erase(at, bracket.size());
  return host;
}

/// What a request is lent: its place, and bytes for its message as it came and as it is read. Throws Failure.
struct Loan {
  Loan(CallContext& shared, const GenericCallbackServerContext& call, std::size_t message_bytes) {
    const ClientPtr client = shared.service.clients().client(host_of(call.peer()));
    place = Clients::lease(client, Holding::requests);
    bytes = Clients::lease(client, Holding::bytes);
    place.need(1);
    bytes.need(2 * message_bytes);
  }
  Lease place, bytes;
};

class UnaryCall final : public OneMessageCall {
 public:
  UnaryCall(CallContext& shared, GenericCallbackServerContext& call, const Method& method)
      : OneMessageCall(call), shared_(shared), method_(method) {}

 private:
  void take() override {
    if (method_.pace == Pace::at_once) return respond();
    if (!shared_.workers.post([this] { respond(); }))
      finish(Status{Code::resource_exhausted, "too many loads, unloads and listings are waiting"});
  }

  void respond() {
    try {
      response_ = method_.answer(shared_.service, message_, shared_.most_message_bytes);
    } catch (...) {
      return finish(status_of_exception());
    }
    answer(response_);
  }

  CallContext& shared_;
  const Method& method_;
  ByteBuffer response_;
};

class InferCall final : public OneMessageCall {
 public:
  InferCall(CallContext& shared, GenericCallbackServerContext& call) : OneMessageCall(call), shared_(shared) {}

  void OnCancel() override { stop_.request_stop(); }

 private:
  void take() override {
    try {
      loan_.emplace(shared_, call(), message_.Length());
    } catch (...) {
      return finish(status_of_exception());
    }
    if (!decode(shared_, message_.Length(), [this] { ask(); })) finish(kTooMuchToRead);
  }

  void ask() {
    InferenceRequest request;
    try {
      auto message = std::make_shared<inference::ModelInferRequest>();
      read_message(message_, shared_.most_message_bytes, *message);
      message_.Clear();
      id_ = message->id();
      request = to_request(std::move(message), shared_.service.shared_memory(), loan_->bytes);
    } catch (...) {
      return finish(status_of_exception());
    }
    add_trace(request, call());
    request.deadline = deadline_of(call());
    request.stop = stop_.get_token();
    shared_.service.infer(std::move(request), [this](InferenceResult result) { respond(std::move(result)); });
  }

  void respond(InferenceResult result) {
    if (const Status* status = std::get_if<Status>(&result)) return finish(*status);
    try {
      response_ = write_response(std::get<InferenceResponse>(result));
    } catch (...) {
      return finish(status_of_exception());
    }
    answer(response_);
  }

  CallContext& shared_;
  std::optional<Loan> loan_;
  std::stop_source stop_;
  ByteBuffer response_;
};

/// Requests run side by side and are answered as they are done; what is wrong with one is answered in the stream. A
/// client that sends faster than it is answered is not read.
class StreamCall final : public Call {
 public:
  StreamCall(CallContext& shared, GenericCallbackServerContext& call) : Call(call), shared_(shared) {
    StartRead(&message_);
  }

  void OnCancel() override { stop_.request_stop(); }

  void OnReadDone(bool ok) override {
    if (!ok) return change([this] { reading_ = ended_ = true; });
    bytes_in_ += message_.Length();
    change([this] { ++running_; });
    const bool is_read = decode(shared_, message_.Length(), [this] {
      start();
      change([this] { reading_ = false; });
    });
    if (is_read) return;
    respond("", kTooMuchToRead);
    change([this] { reading_ = false; });
  }

  void OnWriteDone(bool ok) override {
    change([&] {
      answers_.pop_front();
      writing_ = false;
      if (!ok) answers_.clear();
    });
  }

 private:
  static constexpr std::size_t kMostUnderWay = 128;

  void start() {
    std::string id;
    try {
      auto loan = std::make_shared<Loan>(shared_, call(), message_.Length());
      auto message = std::make_shared<inference::ModelInferRequest>();
      read_message(message_, shared_.most_message_bytes, *message);
      message_.Clear();
      id = message->id();
      InferenceRequest request = to_request(std::move(message), shared_.service.shared_memory(), loan->bytes);
      add_trace(request, call());
      request.deadline = deadline_of(call());
      request.stop = stop_.get_token();
      shared_.service.infer(std::move(request), [this, id, loan = std::move(loan)](InferenceResult result) {
        loan->place = Lease();
        respond(id, result);
      });
    } catch (...) {
      respond(id, status_of_exception());
    }
  }

  void respond(const std::string& id, const InferenceResult& result) {
    ByteBuffer answer = answer_of(id, result);
    change([&] {
      bytes_out_ += answer.Length();
      answers_.push_back(std::move(answer));
      --running_;
    });
  }

  static ByteBuffer answer_of(const std::string& id, const InferenceResult& result) {
    if (const Status* status = std::get_if<Status>(&result)) return write_stream_error(id, *status);
    try {
      return write_stream_response(std::get<InferenceResponse>(result));
    } catch (...) {
      return write_stream_error(id, status_of_exception());
    }
  }

  /// Applies a change and starts what it allows: the next read, the next write, the end.
  template <class Change>
  void change(Change apply) {
    bool read = false, end = false;
    const ByteBuffer* write = nullptr;
    {
      const std::lock_guard lock(mutex_);
      apply();
      if (!reading_ && !ended_ && running_ + answers_.size() < kMostUnderWay) reading_ = read = true;
      if (!writing_ && !answers_.empty()) {
        writing_ = true;
        write = &answers_.front();
      }
      end = ended_ && running_ == 0 && answers_.empty() && !writing_ && !finished_;
      finished_ = finished_ || end;
    }
    // Nobody ends the call before what is started here is done: a read or write is under way until its reaction.
    if (read) StartRead(&message_);
    if (write != nullptr) StartWrite(write);
    if (end) finish(grpc::Status::OK);
  }

  CallContext& shared_;
  std::stop_source stop_;
  ByteBuffer message_;
  std::mutex mutex_;  ///< of what follows
  std::deque<ByteBuffer> answers_;
  std::size_t running_ = 0;
  bool reading_ = true, writing_ = false;
  bool ended_ = false;  ///< the client says no more
  bool finished_ = false;
};

class RefusedCall final : public Call {
 public:
  RefusedCall(GenericCallbackServerContext& call, const Status& status) : Call(call) { finish(status); }
};

}  // namespace

Reactor* start_unary(CallContext& shared, GenericCallbackServerContext& call, const Method& method) {
  return new UnaryCall(shared, call, method);
}
Reactor* start_infer(CallContext& shared, GenericCallbackServerContext& call) { return new InferCall(shared, call); }
Reactor* start_stream(CallContext& shared, GenericCallbackServerContext& call) { return new StreamCall(shared, call); }
Reactor* start_refused(GenericCallbackServerContext& call, const Status& status) {
  return new RefusedCall(call, status);
}

}  // namespace colonnade::serve
