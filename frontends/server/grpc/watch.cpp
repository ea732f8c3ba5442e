// SPDX-License-Identifier: Apache-2.0
// Health as it changes.
#include <grpcpp/alarm.h>
#include <health.pb.h>

#include <memory>
#include <optional>

#include "frontends/server/grpc/call.hpp"
#include "frontends/server/grpc/message.hpp"

namespace colonnade::serve {
namespace {

using grpc::ByteBuffer;
using grpc::GenericCallbackServerContext;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

/// Tells whenever the health changes. Either a write or the alarm is under way at any time until the end.
class WatchCall final : public OneMessageCall {
 public:
  WatchCall(CallContext& shared, GenericCallbackServerContext& call) : OneMessageCall(call), shared_(shared) {}

  void OnWriteDone(bool ok) override {
    if (!ok) return finish(grpc::Status::CANCELLED);
    sleep();
  }

 private:
  static constexpr std::chrono::milliseconds kPeriod{200};

  void take() override {
    HealthCheckRequest request;
    try {
      read_message(message_, shared_.most_message_bytes, request);
    } catch (...) {
      return finish(status_of_exception());
    }
    name_ = request.service();
    look();
  }

  HealthCheckResponse::ServingStatus now() const {
    try {
      const bool serving = !shared_.stopping && is_serving(shared_.service, name_);
      return serving ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
    } catch (const Failure&) {
      return HealthCheckResponse::SERVICE_UNKNOWN;
    }
  }

  void look() {
    if (call().IsCancelled()) return finish(grpc::Status::CANCELLED);
    const bool is_last = shared_.stopping;
    const HealthCheckResponse::ServingStatus status = now();
    if (status == told_) return is_last ? finish(grpc::Status::OK) : sleep();
    told_ = status;
    HealthCheckResponse response;
    response.set_status(status);
    response_ = write_message(response);
    bytes_out_ += response_.Length();
    StartWrite(&response_);
  }

  void sleep() {
    alarm_ = std::make_unique<grpc::Alarm>();
    alarm_->Set(std::chrono::system_clock::now() + kPeriod, [this](bool) { look(); });
  }

  CallContext& shared_;
  std::string name_;
  std::optional<HealthCheckResponse::ServingStatus> told_;
  ByteBuffer response_;
  std::unique_ptr<grpc::Alarm> alarm_;  ///< a new one each time: this one may be calling
};

}  // namespace

Reactor* start_watch(CallContext& shared, GenericCallbackServerContext& call) { return new WatchCall(shared, call); }

}  // namespace colonnade::serve
