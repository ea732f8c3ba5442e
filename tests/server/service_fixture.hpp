// SPDX-License-Identifier: Apache-2.0
// A service over a repository of its own, and clients without a protocol.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "echo_models.hpp"
#include "frontends/server/service.hpp"

namespace colonnade::test {

using serve::Code;
using serve::InferenceRequest;
using serve::InferenceResponse;
using serve::InferenceResult;
using serve::Status;

inline serve::InputTensor input_of(const std::string& name, Tensor tensor) {
  auto owner = std::make_shared<Tensor>(std::move(tensor));
  const TensorView view = *owner;
  return {name, view, owner};
}

/// Collects answers in the order of their arrival.
class Inbox {
  template <class Work>
  auto locked(const Work& work) const {
    const std::lock_guard lock(mutex_);
    return work();
  }

 public:
  serve::Done slot(const std::string& id = "") {
    return [this, id](InferenceResult result) {
      const std::lock_guard lock(mutex_);
      order_.push_back(id);
      if (const auto* status = std::get_if<Status>(&result)) {
        ++failures_[status->code];
        last_failure_ = status->message;
      } else {
        responses_.push_back(std::get<InferenceResponse>(std::move(result)));
      }
      changed_.notify_all();
    };
  }

  /// Fails the test when they do not come within a minute.
  void wait(std::size_t count) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, std::chrono::minutes(1), [&] { return order_.size() >= count; }))
        << order_.size() << " of " << count << " answers";
  }

  std::size_t size() const {
    return locked([&] { return order_.size(); });
  }
  std::size_t answered() const {
    return locked([&] { return responses_.size(); });
  }
  int failed(Code code) const {
    return locked([&] { return failures_.contains(code) ? failures_.at(code) : 0; });
  }
  std::string last_failure() const {
    return locked([&] { return last_failure_; });
  }
  std::vector<std::string> order() const {
    return locked([&] { return order_; });
  }
  std::vector<InferenceResponse> responses() const {
    return locked([&] { return responses_; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> order_;
  std::vector<InferenceResponse> responses_;
  std::map<Code, int> failures_;
  std::string last_failure_;
};

/// ONNX bytes: "y" is what the table 0, 10, 20, ... 90 has at "i" [batch,1]; other indices make a run fail.
std::string lookup_model();

class ServiceTest : public ::testing::Test {
 protected:
  void add_config(const std::string& model, const std::string& text) const {
    std::ofstream(repository.path() + "/" + model + "/config.pbtxt") << text;
  }

  serve::Service& start(serve::ServiceOptions options = {}) {
    if (options.repositories.empty()) options.repositories = {repository.path()};
    service_.emplace(options);
    for (int i = 0; i < 3000 && !service_->is_ready(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(service_->is_ready());
    return *service_;
  }

  serve::Service& service() { return *service_; }

  static InferenceRequest request_of(const std::string& model, std::vector<serve::InputTensor> inputs) {
    InferenceRequest request;
    request.model = model;
    request.inputs = std::move(inputs);
    return request;
  }

  static InferenceRequest lookup(std::int64_t index, std::int64_t samples = 1) {
    Tensor tensor(DType::i64, {samples, 1});
    std::fill(tensor.values<std::int64_t>().begin(), tensor.values<std::int64_t>().end(), index);
    return request_of("lookup", {input_of("i", std::move(tensor))});
  }

  /// A run of some milliseconds.
  static InferenceRequest slow() {
    return request_of("slow", {input_of("x", Tensor(DType::f32, {kSlowSize, kSlowSize}))});
  }

  void add_lookup(const std::string& config = "") {
    repository.add("lookup", lookup_model());
    if (!config.empty()) add_config("lookup", config);
  }

  void add_slow(int products, const std::string& config = "") {
    repository.add("slow", product_chain(kSlowSize, products));
    if (!config.empty()) add_config("slow", config);
  }

  InferenceResult ask(InferenceRequest request) {
    std::promise<InferenceResult> promise;
    service_->infer(std::move(request), [&](InferenceResult result) { promise.set_value(std::move(result)); });
    return promise.get_future().get();
  }

  Status refusal(InferenceRequest request) {
    const InferenceResult result = ask(std::move(request));
    if (const auto* status = std::get_if<Status>(&result)) return *status;
    ADD_FAILURE() << "was answered";
    return {};
  }

  InferenceResponse answer(InferenceRequest request) {
    InferenceResult result = ask(std::move(request));
    if (auto* response = std::get_if<InferenceResponse>(&result)) return std::move(*response);
    ADD_FAILURE() << std::get<Status>(result).message;
    return {};
  }

  inference::ModelStatistics statistics(const std::string& model) {
    return service_->statistics(model, "").model_stats(0);
  }

  static constexpr std::int64_t kSlowSize = 128;
  Repository repository;

 private:
  std::optional<serve::Service> service_;
};

template <class T>
std::vector<T> values_of(const serve::OutputTensor& output) {
  const auto* first = static_cast<const T*>(output.view.data);
  return {first, first + element_count(output.view.shape)};
}

}  // namespace colonnade::test
