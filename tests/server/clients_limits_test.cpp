// SPDX-License-Identifier: Apache-2.0
// What one client, and all together, may have under way.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "echo_models.hpp"
#include "frontends/server/clients.hpp"
#include "frontends/server/status.hpp"
#include "http_client.hpp"
#include "server_process.hpp"

namespace colonnade::test {
namespace {

using serve::ClientLimits;
using serve::Clients;
using serve::Holding;
using serve::Lease;
using std::chrono::milliseconds;

TEST(Clients, OneMayHaveHalfAndAllTogetherNoMoreThanTheTotal) {
  ClientLimits limits;
  limits.total = {4, 5, 100};
  Clients clients(limits);
  const auto first = clients.client("10.0.0.1"), second = clients.client("10.0.0.2"),
             third = clients.client("10.0.0.3");
  EXPECT_EQ(clients.client("10.0.0.1"), first);
  Lease a = Clients::lease(first, Holding::bytes), b = Clients::lease(second, Holding::bytes),
        c = Clients::lease(third, Holding::bytes);
  EXPECT_TRUE(a.grow_to(50));
  EXPECT_FALSE(a.grow_to(51));
  EXPECT_FALSE(a.another().grow_to(1));
  EXPECT_TRUE(b.grow_to(40));
  EXPECT_FALSE(c.grow_to(11));
  EXPECT_TRUE(c.grow_to(10));
  EXPECT_EQ(clients.held(Holding::bytes), 100u);
  EXPECT_THROW(b.need(41), serve::Failure);
  a = Lease();
  EXPECT_EQ(clients.held(Holding::bytes), 50u);
  EXPECT_TRUE(b.grow_to(50));
  EXPECT_TRUE(Lease().grow_to(1'000'000)) << "of nobody";
}

TEST(Clients, NetworksOfCustomersAreOneClient) {
  Clients clients({});
  EXPECT_EQ(clients.client("2001:db8:1:2::3"), clients.client("2001:db8:1:2:ffff::4"));
  EXPECT_NE(clients.client("2001:db8:1:2::3"), clients.client("2001:db8:1:3::3"));
  EXPECT_EQ(clients.client("::ffff:10.0.0.1"), clients.client("10.0.0.1"));
}

class ClientLimitsOfServer : public ::testing::Test {
 protected:
  void start(std::vector<std::string> arguments) {
    repository_.add_echo_models();
    arguments.push_back(repository_.path());
    server_ = std::make_unique<ServerProcess>(arguments);
    port_ = server_->http_port();
    ASSERT_GT(port_, 0);
    wait_until_ready(port_);
  }

  std::size_t resident_bytes() const {
    std::ifstream file("/proc/" + std::to_string(server_->process()) + "/statm");
    std::size_t all = 0, resident = 0;
    file >> all >> resident;
    return resident * 4096;
  }

  /// A body that stops before its end.
  std::unique_ptr<Client> stalled(std::size_t bytes) const {
    auto client = std::make_unique<Client>(port_);
    client->send("POST /v2/models/echo_FP32/infer HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(bytes) +
                 "\r\n\r\n" + std::string(bytes - 1, ' '));
    return client;
  }

  Repository repository_;
  std::unique_ptr<ServerProcess> server_;
  int port_ = 0;
};

TEST_F(ClientLimitsOfServer, BodiesThatNeverEndAreBoundedTogether) {
  start({"--max-request-bytes", "64M"});
  const std::size_t before = resident_bytes();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 16; ++i) clients.push_back(stalled(std::size_t{12} << 20));
  std::this_thread::sleep_for(milliseconds(300));
  // What came on its way into sockets is the kernel's.
  EXPECT_LT(resident_bytes() - before, std::size_t{80} << 20);
  int refused = 0;
  for (std::size_t i = 4; i < clients.size(); ++i) refused += clients[i]->receive("POST").status == 503 ? 1 : 0;
  EXPECT_GT(refused, 8);
  // Others are served, and who had too much is again when it lets go.
  EXPECT_EQ(Client(port_).ask("GET", "/v2/health/ready").status, 200);
  clients.clear();
  std::this_thread::sleep_for(milliseconds(100));
  const std::string body = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}]})";
  EXPECT_EQ(Client(port_).ask("POST", "/v2/models/echo_FP32/infer", body).status, 200);
}

TEST_F(ClientLimitsOfServer, OneAddressTakesNoMoreConnectionsThanItMay) {
  start({"--max-client-connections", "4"});
  std::vector<std::unique_ptr<Client>> clients;
  const auto is_served = [&] {
    clients.push_back(std::make_unique<Client>(port_));
    return clients.back()->ask("GET", "/v2/health/live").status == 200;
  };
  // Connections that were closed a moment ago may still count.
  const auto is_served_soon = [&] {
    for (int i = 0; i < 200; ++i) {
      if (is_served()) return true;
      clients.pop_back();
      std::this_thread::sleep_for(milliseconds(10));
    }
    return false;
  };
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(is_served_soon()) << i;
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(is_served()) << i;
  clients.clear();
  EXPECT_TRUE(is_served_soon());
}

}  // namespace
}  // namespace colonnade::test
