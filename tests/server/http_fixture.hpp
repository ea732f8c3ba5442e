// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

#include "echo_models.hpp"
#include "frontends/server/http/server.hpp"
#include "http_client.hpp"

namespace colonnade::test {

/// A service and its HTTP server on free ports.
struct Served {
  explicit Served(const serve::ServiceOptions& service_options, serve::HttpOptions http_options = {})
      : service(service_options), http(service, on_free_ports(http_options)) {
    for (int i = 0; i < 1000 && !service.is_ready(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(service.is_ready());
  }

  static serve::HttpOptions on_free_ports(serve::HttpOptions options) {
    options.address = "127.0.0.1";
    options.port = options.metrics_port = 0;
    return options;
  }

  int port() const { return http.port(); }

  serve::Service service;
  serve::HttpServer http;
};

/// Serves the echo models and digits to all tests of a suite.
class HttpTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    repository_ = std::make_unique<Repository>();
    repository_->add_echo_models();
    serve::HttpOptions limits;
    limits.most_body_bytes = 1 << 20;
    limits.most_chunks = 1000;
    served_ = std::make_unique<Served>(echo_service(), limits);
  }
  static void TearDownTestSuite() {
    served_.reset();
    repository_.reset();
  }

  static serve::ServiceOptions echo_service() {
    serve::ServiceOptions options;
    options.repositories = {repository_->path(), "embedded:digits"};
    return options;
  }

  static int port() { return served_->port(); }
  static Served& served() { return *served_; }
  static const Repository& repository() { return *repository_; }

 private:
  static inline std::unique_ptr<Repository> repository_;
  static inline std::unique_ptr<Served> served_;
};

}  // namespace colonnade::test
