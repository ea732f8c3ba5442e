// SPDX-License-Identifier: Apache-2.0
// A server whose processors are taken and given back while it answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stop_token>
#include <thread>

#include "http_client.hpp"
#include "server_process.hpp"
#include "support/affinity.hpp"

namespace colonnade::test {
namespace {

/// A picture's worth of numbers for the embedded MobileNet, with outputs as bytes.
std::string mobilenet_request(std::string& fields) {
  constexpr std::size_t kBytes = std::size_t{3} * 224 * 224 * 4;
  const std::string head =
      R"({"inputs":[{"name":"image","datatype":"FP32","shape":[1,3,224,224],"parameters":{"binary_data_size":)" +
      std::to_string(kBytes) + R"(}}],"parameters":{"binary_data_output":true}})";
  fields = "Inference-Header-Content-Length: " + std::to_string(head.size()) + "\r\n";
  return head + std::string(kBytes, '\x3d');
}

/// Where threads of the process run, or wait to, at this moment.
ProcessorSet busy_processors_of(pid_t process) {
  ProcessorSet busy;
  for (const pid_t thread : threads_of(process)) {
    std::ifstream file("/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/stat");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
    std::string state, field;
    fields >> state;
    for (int i = 4; i <= 39; ++i) fields >> field;  // as proc(5) counts them
    if (state == "R") busy.insert(std::stoi(field));
  }
  return busy;
}

/// A client that asks again as soon as it was answered: alone, so that runs take workers.
class Asker {
 public:
  explicit Asker(int port) : body_(mobilenet_request(fields_)) {
    Client first(port);
    expected_ = ask(first).body;
    EXPECT_FALSE(expected_.empty());
    thread_ = std::jthread([this, port](const std::stop_token& stop) {
      Client client(port);
      while (!stop.stop_requested()) {
        const Answer answer = ask(client);
        wrong_ += answer.status != 200 || answer.body != expected_;
        ++answers_;
      }
    });
  }

  void wait_for_answers(int count) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const int before = answers_;
    while (answers_ < before + count && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_GE(answers_, before + count);
  }
  int wrong() const { return wrong_; }

 private:
  Answer ask(Client& client) const { return client.ask("POST", "/v2/models/mobilenet/infer", body_, fields_); }

  std::string fields_, body_, expected_;
  std::atomic<int> wrong_{0}, answers_{0};
  std::jthread thread_;
};

TEST(ServerProcessors, AreFollowedUnderLoad) {
  const ProcessorSet all = processors_of(0);
  if (all.size() < 2) GTEST_SKIP() << "needs two processors";
  ServerProcess server({"embedded:mobilenet"});
  const int port = server.http_port();
  ASSERT_GT(port, 0);
  wait_until_ready(port);
  {
    const Asker asker(port);
    for (const int kept : {*all.rbegin(), *all.begin()}) {
      asker.wait_for_answers(50);
      give_processors(server.process(), {kept});
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      asker.wait_for_answers(100);
      EXPECT_EQ(used_beside(server.process(), {kept}), ProcessorSet()) << "a thread went back to where it was";
      for (int look = 0; look < 20; ++look) {
        for (const int processor : busy_processors_of(server.process())) EXPECT_EQ(processor, kept);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      give_processors(server.process(), all);
    }
    asker.wait_for_answers(100);
    EXPECT_EQ(asker.wrong(), 0);
  }
  server.kill(SIGTERM);
  EXPECT_EQ(server.wait(), 0);
}

}  // namespace
}  // namespace colonnade::test
