// SPDX-License-Identifier: Apache-2.0
// What every call has: its end, and its line in the access log.
#pragma once

#include <string>

#include "frontends/server/grpc/calls.hpp"

namespace colonnade::serve {

/// Of whatever is being thrown.
Status status_of_exception();

/// Deletes itself when gRPC is done with it.
class Call : public Reactor {
 public:
  explicit Call(grpc::GenericCallbackServerContext& call) : call_(call) {}

  void OnDone() final;

 protected:
  grpc::GenericCallbackServerContext& call() const { return call_; }
  void finish(const grpc::Status& status) {
    status_ = status.error_code();
    Finish(status);
  }
  void finish(const Status& status);
  /// The answer and the end; `buffer` stays as it is until OnDone.
  void answer(const grpc::ByteBuffer& buffer) {
    bytes_out_ += buffer.Length();
    StartWriteAndFinish(&buffer, grpc::WriteOptions(), grpc::Status::OK);
  }

  std::string id_;
  std::uint64_t bytes_in_ = 0, bytes_out_ = 0;

 private:
  void write_access() const;

  grpc::GenericCallbackServerContext& call_;
  const Clock::time_point started_ = Clock::now();
  int status_ = 0;
};

/// A call whose first message is all that the client says.
class OneMessageCall : public Call {
 public:
  explicit OneMessageCall(grpc::GenericCallbackServerContext& call) : Call(call) { StartRead(&message_); }

  void OnReadDone(bool ok) final;

 protected:
  virtual void take() = 0;
  grpc::ByteBuffer message_;
};

}  // namespace colonnade::serve
