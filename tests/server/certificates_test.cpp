// SPDX-License-Identifier: Apache-2.0
// Certificates of a server that runs are replaced: by good ones, by broken ones, by halves.
#include <fstream>

#include "grpc_fixture.hpp"
#include "server_process.hpp"
#include "support/folder.hpp"
#include "support/process.hpp"

namespace colonnade::test {
namespace {

class CertificatesTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.file(name); }

  std::string read(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  void make(const std::string& name) const {
    const auto result = run_process(
        "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=server"
        " -addext subjectAltName=DNS:server -keyout " +
        shell_word(path(name + ".key")) + " -out " + shell_word(path(name + ".pem")));
    ASSERT_EQ(result.status, 0) << result.output;
  }

  /// Puts a text in the place of what the server uses, as a whole.
  void put(const std::string& text, const std::string& name) const {
    std::ofstream(path("next")) << text;
    std::filesystem::rename(path("next"), path(name));
  }
  void use(const std::string& name) const {
    put(read(name + ".key"), "used.key");
    put(read(name + ".pem"), "used.pem");
  }

  GrpcClient client(int port, const std::string& trusted) const {
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride("server");
    grpc::SslCredentialsOptions trusting;
    trusting.pem_root_certs = read(trusted + ".pem");
    return GrpcClient(port, arguments, grpc::SslCredentials(trusting));
  }

  static bool is_live(const GrpcClient& client) {
    inference::ServerLiveResponse response;
    return client(&inference::GRPCInferenceService::Stub::ServerLive, inference::ServerLiveRequest(), &response).ok();
  }
  /// By HTTP or on the port of metrics.
  bool is_trusted(int port, const std::string& trusted) const {
    return run_process("openssl s_client -verify_return_error -connect 127.0.0.1:" + std::to_string(port) +
                       " -CAfile " + shell_word(path(trusted + ".pem")))
               .status == 0;
  }
  template <class Condition>
  static bool comes_true(const Condition& condition) {
    for (int i = 0; i < 100; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }

 private:
  TemporaryFolder folder_;
};

int port_in(const nlohmann::json& listening, const char* what) {
  const std::string address = listening[what];
  return std::stoi(address.substr(address.rfind(':') + 1));
}

TEST_F(CertificatesTest, AreReadAgainByAllPorts) {
  make("old");
  make("new");
  use("old");
  ServerProcess server({"embedded:digits", "--tls-certificate", path("used.pem"), "--tls-key", path("used.key"),
                        "--grpc-address", "127.0.0.1", "--metrics-port", "0"});
  const nlohmann::json listening = server.event("listening");
  ASSERT_FALSE(listening.is_null());
  const int grpc = port_in(listening, "grpc"), ports[] = {port_in(listening, "http"), port_in(listening, "metrics")};
  const GrpcClient first = client(grpc, "old");
  ASSERT_TRUE(is_live(first));
  for (const int port : ports) EXPECT_TRUE(is_trusted(port, "old"));

  // What cannot be used changes nothing: no certificate, and a key that does not fit.
  put("no certificate", "used.pem");
  EXPECT_FALSE(server.event("certificates cannot be read again").is_null());
  EXPECT_TRUE(is_live(client(grpc, "old")));
  put(read("new.pem"), "used.pem");
  EXPECT_TRUE(is_live(client(grpc, "old")));
  for (const int port : ports) EXPECT_TRUE(is_trusted(port, "old"));

  use("new");
  EXPECT_TRUE(is_live(client(grpc, "new")));
  EXPECT_FALSE(is_live(client(grpc, "old")));
  for (const int port : ports) {
    EXPECT_TRUE(comes_true([&] { return is_trusted(port, "new"); }));
    EXPECT_FALSE(is_trusted(port, "old"));
  }
  EXPECT_TRUE(is_live(first)) << "who is connected stays so";
  server.kill(SIGTERM);
  EXPECT_EQ(server.wait(), 0);
}

}  // namespace
}  // namespace colonnade::test
