// SPDX-License-Identifier: Apache-2.0
// The server as a process: how it starts, how it ends.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "echo_models.hpp"
#include "http_client.hpp"
#include "server_process.hpp"

namespace colonnade::test {
namespace {

using std::chrono::milliseconds;

TEST(ServerProcess, EndsWellWhenAsked) {
  for (const int signal : {SIGTERM, SIGINT}) {
    ServerProcess server({"embedded:digits"});
    const int port = server.http_port();
    ASSERT_GT(port, 0);
    wait_until_ready(port);
    server.kill(signal);
    EXPECT_EQ(server.event("draining")["signal"], signal);
    EXPECT_FALSE(server.event("stopped").is_null());
    EXPECT_EQ(server.wait(), 0);
  }
}

class SlowServer : public ::testing::Test {
 protected:
  static constexpr int kSize = 256;
  /// Products that take a while, and those that nobody waits for the end of. They are planned first, which does not
  /// end early.
#if defined(COLONNADE_ASAN) || defined(COLONNADE_TSAN)
  static constexpr int kSlow = 30, kEndless = 2000;
#else
  static constexpr int kSlow = 300, kEndless = 20000;
#endif

  /// A request that takes some seconds, on its way.
  void send_slow(Client& client) const {
    std::string body = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[256,256],"data":[0)";
    for (int i = 1; i < kSize * kSize; ++i) body += ",0";
    ASSERT_TRUE(client.send(request_text("POST", "/v2/models/slow/infer", body + "]}]}")));
  }

  static void wait_until_taken(int port) {
    Client client(port);
    const std::string none = "nv_inference_request_success{model=\"slow\",version=\"1\"} 0";
    ASSERT_NE(client.ask("GET", "/metrics").body.find(none), std::string::npos);
    std::this_thread::sleep_for(milliseconds(300));
  }

  Repository repository;
};

TEST_F(SlowServer, AnswersWhatIsUnderWayBeforeItEnds) {
  repository.add("slow", product_chain(kSize, kSlow));
  ServerProcess server({repository.path()});
  const int port = server.http_port();
  ASSERT_GT(port, 0);
  wait_until_ready(port);
  Client client(port);
  send_slow(client);
  wait_until_taken(port);
  server.kill(SIGTERM);
  EXPECT_EQ(client.receive("POST").status, 200);
  EXPECT_EQ(server.wait(), 0);
}

TEST_F(SlowServer, DoesNotWaitLongerThanItMay) {
  repository.add("slow", product_chain(kSize, kEndless));
  ServerProcess server({repository.path(), "--exit-timeout-secs", "1", "--warm-up", "false"});
  const int port = server.http_port();
  ASSERT_GT(port, 0);
  wait_until_ready(port);
  Client client(port);
  send_slow(client);
  wait_until_taken(port);
  const auto asked = std::chrono::steady_clock::now();
  server.kill(SIGTERM);
  const Answer answer = client.receive("POST");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.error(), "the server is shutting down");
  EXPECT_EQ(server.wait(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::seconds(4));
}

TEST_F(SlowServer, EndsAtOnceWhenAskedTwice) {
  repository.add("slow", product_chain(kSize, kEndless));
  ServerProcess server({repository.path(), "--warm-up", "false"});
  const int port = server.http_port();
  ASSERT_GT(port, 0);
  wait_until_ready(port);
  Client client(port);
  send_slow(client);
  wait_until_taken(port);
  server.kill(SIGTERM);
  EXPECT_FALSE(server.event("draining").is_null());
  server.kill(SIGTERM);
  EXPECT_EQ(server.wait(), 128 + SIGTERM);
}

/// Batches of 4 or 8 wait 300 ms for others; a model that takes no time, warm.
class BatchingServer : public ::testing::Test {
 protected:
  void SetUp() override {
    repository_.add("echo", echo_model({{"x", DType::f32, {-1, 1}}}));
    std::ofstream(repository_.path() + "/echo/config.pbtxt")
        << "max_batch_size: 8 "
           "dynamic_batching { preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 300000 }";
    server_ = std::make_unique<ServerProcess>(std::vector<std::string>{repository_.path()});
    port_ = server_->http_port();
    ASSERT_GT(port_, 0);
    wait_until_ready(port_);
  }

  /// Connections whose requests arrive 100 ms apart, then silence. The one at `leaver` is reset at the end.
  std::vector<std::unique_ptr<Client>> send_a_few(int count, int leaver = -1) const {
    const std::string body = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,1],"data":[5]}]})";
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < count; ++i) {
      if (i > 0) std::this_thread::sleep_for(milliseconds(100));
      clients.push_back(std::make_unique<Client>(port_));
      EXPECT_TRUE(clients.back()->send(request_text("POST", "/v2/models/echo/infer", body)));
    }
    if (leaver >= 0) clients[static_cast<std::size_t>(leaver)]->reset();
    return clients;
  }

  /// Nobody waits: the server ends at once, and not after the time that it gives to what is under way.
  void expect_to_end_at_once() const {
    const auto start = Clock::now();
    server_->kill(SIGTERM);
    EXPECT_EQ(server_->wait(), 0);
    EXPECT_LT(Clock::now() - start, kSoon);
  }

  using Clock = std::chrono::steady_clock;
  /// The delay and what a busy machine needs; whoever is forgotten waits longer than a client does.
  static constexpr std::chrono::seconds kSoon{3};

  Repository repository_;
  std::unique_ptr<ServerProcess> server_;
  int port_ = 0;
};

TEST_F(BatchingServer, AFewRequestsBeforeASilenceAreAllAnswered) {
  const auto clients = send_a_few(3);
  const auto silence = Clock::now();
  for (const auto& client : clients) EXPECT_EQ(client->receive("POST").status, 200);
  EXPECT_LT(Clock::now() - silence, kSoon);
  expect_to_end_at_once();
}

TEST_F(BatchingServer, AClientThatLeavesHoldsNobodyUp) {
  for (const int leaver : {0, 1, 2}) {
    const auto clients = send_a_few(3, leaver);
    const auto silence = Clock::now();
    for (int i = 0; i < 3; ++i) {
      if (i == leaver) continue;
      EXPECT_EQ(clients[static_cast<std::size_t>(i)]->receive("POST").status, 200) << leaver;
    }
    EXPECT_LT(Clock::now() - silence, kSoon);
  }
  send_a_few(1, 0);
  expect_to_end_at_once();
}

TEST(ServerProcess, WaitsForDescriptorsWhenItHasNone) {
  ServerProcess server({"embedded:digits"});
  const int port = server.http_port();
  ASSERT_GT(port, 0);
  wait_until_ready(port);
  server.limit_descriptors(4);
  {
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 16; ++i) clients.push_back(std::make_unique<Client>(port));
    EXPECT_EQ(clients[0]->ask("GET", "/v2/health/ready").status, 200);
    std::this_thread::sleep_for(milliseconds(200));
  }
  EXPECT_EQ(Client(port).ask("GET", "/v2/health/ready").status, 200);
  server.kill(SIGTERM);
  EXPECT_NE(server.event("http_accept_failed")["reason"], nullptr);
  EXPECT_EQ(server.wait(), 0);
}

TEST(ServerProcess, ClientsCannotForgeLinesOfItsLogs) {
  const Repository folder;
  const std::string file = folder.path() + "/access.log", id = "x\"}\n{\"status\":200}";
  ServerProcess server({"embedded:digits", "--access-log", file});
  const int port = server.http_port();
  ASSERT_GT(port, 0);
  Client client(port);
  for (int i = 0; i < 3000 && client.ask("GET", "/v2/health/ready").status != 200; ++i)
    std::this_thread::sleep_for(milliseconds(10));
  const nlohmann::json pixels(std::vector<int>(784, 0));
  const nlohmann::json input = {{"name", "image"}, {"datatype", "FP32"}, {"shape", {1, 1, 28, 28}}, {"data", pixels}};
  const nlohmann::json request = {{"id", id}, {"inputs", nlohmann::json::array({input})}};
  EXPECT_EQ(client.ask("POST", "/v2/models/digits/infer", request.dump()).status, 200);
  EXPECT_EQ(client.ask("GET", "/v2/models/a%22%0A%7B%7D").status, 400);
  server.kill(SIGTERM);
  EXPECT_EQ(server.wait(), 0);
  std::vector<std::string> ids;
  std::ifstream log(file);
  for (std::string line; std::getline(log, line);) {
    const auto parsed = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(parsed.is_object() && parsed.contains("path")) << line;
    if (parsed.contains("id")) ids.push_back(parsed["id"]);
  }
  EXPECT_EQ(ids, std::vector<std::string>{id});
}

TEST(ServerProcess, SaysWhyItCannotStart) {
  ServerProcess missing({"/no/such/repository"});
  std::string last;
  for (std::string line = missing.line(); !line.empty(); line = missing.line()) last = line;
  EXPECT_TRUE(last.starts_with("colonnade: error: ")) << last;
  EXPECT_NE(last.find("/no/such/repository"), std::string::npos) << last;
  EXPECT_NE(missing.wait(), 0);

  ServerProcess closed({"embedded:digits", "--http-max-input-size", "0"});
  EXPECT_NE(closed.line().find("--http-max-input-size"), std::string::npos);
  EXPECT_NE(closed.wait(), 0);

  ServerProcess first({"embedded:digits"});
  const int port = first.http_port();
  ASSERT_GT(port, 0);
  ServerProcess second({"embedded:digits"}, port);
  EXPECT_TRUE(second.line().starts_with("colonnade: error: "));
  EXPECT_NE(second.wait(), 0);
}

}  // namespace
}  // namespace colonnade::test
