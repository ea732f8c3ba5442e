// SPDX-License-Identifier: Apache-2.0
// What clients do to the connection itself.
#include <fmt/format.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "http_fixture.hpp"

namespace colonnade {
namespace {

using test::Answer;
using test::Client;
using test::request_text;

class HttpFraming : public test::HttpTest {
 protected:
  /// A server of the same models with other limits.
  static serve::HttpServer other_server(serve::HttpOptions options) {
    return serve::HttpServer(served().service, test::Served::on_free_ports(std::move(options)));
  }
};

const std::string kInfer = "/v2/models/echo_FP32/infer";
const std::string kBody = R"({"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[1]}]})";

/// Sends text that is no good request and expects this status and a closed connection.
void refuses(int port, const std::string& text, int status, const std::string& names = "") {
  Client client(port);
  client.send(text);
  Answer answer = client.receive();
  EXPECT_EQ(answer.status, status) << text.substr(0, 200) << "\n" << answer.body;
  EXPECT_NE(answer.error().find(names), std::string::npos) << answer.body;
  EXPECT_EQ(answer.fields["connection"], "close") << text.substr(0, 200);
  EXPECT_TRUE(client.is_closed()) << text.substr(0, 200);
}

TEST_F(HttpFraming, MalformedHeads) {
  const std::string host = "Host: t\r\n";
  refuses(port(), "nonsense\r\n\r\n", 400, "malformed HTTP");
  refuses(port(), "GET /v2\r\n\r\n", 400);
  refuses(port(), "GET /v2 HTTP/2.0\r\n" + host + "\r\n", 505);
  refuses(port(), "GET /v2 HTTP/1.1\r\n\r\n", 400, "one Host");
  refuses(port(), "GET /v2 HTTP/1.1\r\n" + host + host + "\r\n", 400, "one Host");
  refuses(port(), "GET /v2 HTTP/1.1\r\n" + host + "bad field\r\n\r\n", 400);
  refuses(port(), "GET /v2 HTTP/1.1\r\n" + host + "X: " + std::string(20000, 'a') + "\r\n\r\n", 431);
  refuses(port(), "GET /" + std::string(20000, 'a') + " HTTP/1.1\r\n" + host + "\r\n", 431);
  std::string many;
  for (int i = 0; i < 200; ++i) many += fmt::format("X{}: 1\r\n", i);
  refuses(port(), "GET /v2 HTTP/1.1\r\n" + host + many + "\r\n", 431, "more than 100 header fields");
  refuses(port(), std::string("GET /v2\0 HTTP/1.1\r\nHost: t\r\n\r\n", 31), 400);
}

TEST_F(HttpFraming, AmbiguousLengths) {
  const auto post = [](const std::string& fields, const std::string& rest) {
    return "POST " + kInfer + " HTTP/1.1\r\nHost: t\r\n" + fields + "\r\n" + rest;
  };
  refuses(port(), post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400);
  refuses(port(), post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"), 400);
  refuses(port(), post("Content-Length: 2\r\nContent-Length: 2\r\n", "{}"), 400);
  refuses(port(), post("Content-Length: 2, 2\r\n", "{}"), 400);
  refuses(port(), post("Content-Length: -1\r\n", ""), 400);
  refuses(port(), post("Content-Length: 99999999999999999999\r\n", ""), 400);
  refuses(port(), post("Content-Length: 0x10\r\n", ""), 400);
  refuses(port(), post("Content-Length: 1048577\r\n", ""), 413, "1048577 bytes exceeds the limit of 1048576");
  refuses(port(), post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 501, "chunked");
  refuses(port(), post("Transfer-Encoding: identity\r\n", ""), 501, "chunked");
  refuses(port(), "POST " + kInfer + " HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400);
  refuses(port(), post("Expect: a miracle\r\nContent-Length: 2\r\n", "{}"), 417);
}

TEST_F(HttpFraming, Chunks) {
  const std::string head = "POST " + kInfer + " HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n";
  refuses(port(), head + "zz\r\n\r\n", 400);
  refuses(port(), head + "1\r\nab\r\n0\r\n\r\n", 400);
  refuses(port(), head + "ffffffffffffffffff\r\n", 400);
  refuses(port(), head + "7fffffffffffffff\r\n", 413, "exceeds the limit");
  refuses(port(), head + "1;" + std::string(100'000, 'x'), 400, "chunk");
  refuses(port(), test::chunked_text(kInfer, std::string(2000, ' '), 1), 413, "more than 1000 chunks");
  refuses(port(), test::chunked_text(kInfer, std::string(2 << 20, ' '), 1 << 16), 413, "exceeds the limit");
  Client client(port());
  for (const char c : test::chunked_text(kInfer, "", 1)) client.send(std::string_view(&c, 1));
  EXPECT_EQ(client.receive().status, 400) << "an empty body in many pieces";
  client.send(test::chunked_text(kInfer, kBody, 3));
  EXPECT_EQ(client.receive().status, 200);
  client.send(head + fmt::format("{:X};name=value\r\n{}\r\n0\r\nTrailer: t\r\n\r\n", kBody.size(), kBody));
  EXPECT_EQ(client.receive().status, 200);
}

TEST_F(HttpFraming, ByteByByteAndPipelined) {
  Client client(port());
  for (const char c : request_text("POST", kInfer, kBody)) client.send(std::string_view(&c, 1));
  EXPECT_EQ(client.receive().status, 200);
  std::string text;
  for (int i = 0; i < 50; ++i) text += request_text("POST", kInfer, kBody) + request_text("GET", "/v2/health/live");
  client.send(text);
  for (int i = 0; i < 50; ++i) {
    EXPECT_NE(client.receive().body.find("outputs"), std::string::npos);
    EXPECT_EQ(client.receive().body, R"({"live":true})");
  }
}

TEST_F(HttpFraming, ConnectionsStayOrClose) {
  Client old(port());
  old.send("GET /v2/health/live HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.receive().status, 200);
  EXPECT_TRUE(old.is_closed());
  Client kept(port());
  for (int i = 0; i < 2; ++i) {
    kept.send("GET /v2/health/live HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(kept.receive().fields.at("connection"), "keep-alive");
  }
  Client closing(port());
  EXPECT_EQ(closing.ask("GET", "/v2/health/live", "", "Connection: close\r\n").status, 200);
  EXPECT_TRUE(closing.is_closed());
}

TEST_F(HttpFraming, ContinuesOnlyWhereTheBodyIsWanted) {
  Client client(port());
  const std::string expect = "Expect: 100-continue\r\nContent-Length: ";
  client.send("POST " + kInfer + " HTTP/1.1\r\nHost: t\r\n" + expect + std::to_string(kBody.size()) + "\r\n\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  client.send(kBody);
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_EQ(client.continues(), 1);
  client.send("POST /v2/nothing HTTP/1.1\r\nHost: t\r\n" + expect + "5\r\n\r\n");
  EXPECT_EQ(client.receive().status, 404);
  EXPECT_EQ(client.continues(), 1);
  EXPECT_TRUE(client.is_closed());
}

TEST_F(HttpFraming, RefusesBodiesBeforeTheyCome) {
  refuses(port(), request_text("POST", "/v2/nothing", std::string(500'000, ' ')), 404);
  refuses(port(), request_text("PUT", kInfer, std::string(500'000, ' ')), 405);
}

TEST_F(HttpFraming, SlowClientsAreCutOff) {
  serve::HttpOptions options;
  options.header_timeout = options.body_timeout = options.idle_timeout = std::chrono::seconds(1);
  const serve::HttpServer server = other_server(options);
  Client head(server.port()), body(server.port()), idle(server.port());
  head.send("GET /v2 HTT");
  body.send("POST " + kInfer + " HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\n{");
  EXPECT_EQ(head.receive().status, 408);
  EXPECT_EQ(body.receive().status, 408);
  EXPECT_TRUE(head.is_closed());
  EXPECT_TRUE(idle.is_closed());
}

TEST_F(HttpFraming, ConnectionsAreLimited) {
  serve::HttpOptions options;
  options.most_connections = 2;
  const serve::HttpServer server = other_server(options);
  Client first(server.port()), second(server.port());
  EXPECT_EQ(first.ask("GET", "/v2/health/live").status, 200);
  EXPECT_EQ(second.ask("GET", "/v2/health/live").status, 200);
  {
    Client third(server.port());
    const Answer answer = third.receive();
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.error(), "too many connections");
  }
  first.reset();
  for (int i = 0; i < 100; ++i) {
    Client again(server.port());
    if (again.ask("GET", "/v2/health/live").status == 200) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  FAIL() << "the place of a connection that was reset is not free again";
}

TEST_F(HttpFraming, ClientsThatLeaveDoNoHarm) {
  for (int i = 0; i < 20; ++i) {
    Client gone(port()), half(port());
    gone.send(request_text("POST", kInfer, kBody));
    gone.reset();
    half.send("POST " + kInfer + " HTTP/1.1\r\nHost: t\r\nContent-Length: 100\r\n\r\n{");
    half.end();
  }
  EXPECT_EQ(Client(port()).ask("POST", kInfer, kBody).status, 200);
}

/// Sends requests and reads no answer until nothing more fits into any buffer.
TEST_F(HttpFraming, SlowReadersAreCutOff) {
  serve::HttpOptions options;
  options.body_timeout = std::chrono::seconds(1);
  const serve::HttpServer server = other_server(options);
  const std::string head = R"({"parameters":{"binary_data_output":true},"inputs":[{"name":"x","shape":[1000000],)"
                           R"("datatype":"FP32","parameters":{"binary_data_size":4000000}}]})";
  const std::string text = request_text("POST", kInfer, head + std::string(4'000'000, '\0'),
                                        fmt::format("Inference-Header-Content-Length: {}\r\n", head.size()));
  Client client(server.port());
  int sent = 0;
  while (sent < 100 && client.send(text)) ++sent;
  EXPECT_LT(sent, 100);
  EXPECT_EQ(Client(server.port()).ask("GET", "/v2/health/live").status, 200);
}

TEST(HttpDisconnect, CancelsTheRequest) {
  serve::ServiceOptions options;
  options.repositories = {"embedded:mobilenet"};
  options.model.threads = 1;
  test::Served served(options);
  const auto cancelled = [&] {
    const std::string metrics = served.service.metrics();
    const std::size_t at = metrics.find("reason=\"CANCELED\"");
    return at != std::string::npos && metrics.substr(metrics.find("} ", at) + 2, 1) != "0";
  };
  ASSERT_FALSE(cancelled());
  const std::string images(std::size_t{16} * 3 * 224 * 224 * 4, '\0');
  {
    Client client(served.port());
    client.send(request_text("POST", "/v2/models/mobilenet/infer", images, "Inference-Header-Content-Length: 0\r\n"));
    client.end();
  }
  for (int i = 0; i < 500 && !cancelled(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(cancelled()) << served.service.metrics();
}

TEST_F(HttpFraming, StopAnswersWhatHasBegun) {
  serve::HttpServer server = other_server({});
  Client idle(server.port()), busy(server.port());
  busy.send("POST " + kInfer + " HTTP/1.1\r\nHost: t\r\n" + fmt::format("Content-Length: {}\r\n\r\n", kBody.size()));
  EXPECT_EQ(idle.ask("GET", "/v2/health/live").status, 200);
  std::thread stopper([&] { server.stop(std::chrono::seconds(5)); });
  EXPECT_TRUE(idle.is_closed());
  busy.send(kBody);
  const Answer answer = busy.receive();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.fields.at("connection"), "close");
  stopper.join();
}

/// Who is connected when the server is to stop is answered, accepted or not.
TEST_F(HttpFraming, StopAnswersWhoWaitsToBeAccepted) {
  for (int round = 0; round < 20; ++round) {
    serve::HttpServer server = other_server({});
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 8; ++i) {
      clients.push_back(std::make_unique<Client>(server.port()));
      clients.back()->send("GET /v2/health/live HTTP/1.1\r\nHost: t\r\n\r\n");
    }
    std::thread stopper([&] { server.stop(std::chrono::seconds(5)); });
    for (const auto& client : clients) EXPECT_EQ(client->receive().status, 200) << "round " << round;
    clients.clear();
    stopper.join();
  }
}

TEST_F(HttpFraming, ConnectionsThatWereToldToStayAreAnsweredOnceMore) {
  serve::HttpServer server = other_server({});
  Client client(server.port());
  // An answer that no socket's buffer holds: it is under way until it is read.
  constexpr std::size_t kBytes = std::size_t{32} << 20;
  const std::string head = fmt::format(
      R"({{"inputs":[{{"name":"x","shape":[{}],"datatype":"FP32","parameters":{{"binary_data_size":{}}}}}],)"
      R"("parameters":{{"binary_data_output":true}}}})",
      kBytes / 4, kBytes);
  client.send(request_text("POST", kInfer, head + std::string(kBytes, '\0'),
                           fmt::format("Inference-Header-Content-Length: {}\r\n", head.size())));
  std::this_thread::sleep_for(std::chrono::seconds(1));
  std::thread stopper([&] { server.stop(std::chrono::seconds(20)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  Answer answer = client.receive();
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.fields["connection"], "close") << "made after the server was to stop: this test showed nothing";
  answer = client.ask("GET", "/v2/health/live");
  EXPECT_NE(answer.status, 0);
  EXPECT_EQ(answer.fields["connection"], "close");
  stopper.join();
}

TEST_F(HttpFraming, PortInUseIsNamed) {
  serve::HttpOptions options = test::Served::on_free_ports({});
  options.port = port();
  try {
    const serve::HttpServer second(served().service, options);
    FAIL() << "two servers on one port";
  } catch (const serve::Failure& failure) {
    EXPECT_NE(std::string(failure.what()).find(std::to_string(port())), std::string::npos) << failure.what();
  }
}

/// A certificate for a minute, signed by itself, and its key.
void write_certificate(const std::string& certificate, const std::string& key) {
  EVP_PKEY* pair = EVP_EC_gen("P-256");
  X509* x509 = X509_new();
  ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
  X509_gmtime_adj(X509_getm_notBefore(x509), -60);
  X509_gmtime_adj(X509_getm_notAfter(x509), 60);
  X509_set_pubkey(x509, pair);
  X509_NAME* name = X509_get_subject_name(x509);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
  X509_set_issuer_name(x509, name);
  X509_sign(x509, pair, EVP_sha256());
  BIO* file = BIO_new_file(certificate.c_str(), "w");
  PEM_write_bio_X509(file, x509);
  BIO_free(file);
  file = BIO_new_file(key.c_str(), "w");
  PEM_write_bio_PrivateKey(file, pair, nullptr, nullptr, 0, nullptr, nullptr);
  BIO_free(file);
  X509_free(x509);
  EVP_PKEY_free(pair);
}

/// A connection that takes no other certificate than one in a file.
class TlsClient {
 public:
  TlsClient(int port, const std::string& certificate) : context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_load_verify_locations(context_, certificate.c_str(), nullptr);
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
    connection_ = BIO_new_ssl_connect(context_);
    BIO_set_conn_hostname(connection_, fmt::format("127.0.0.1:{}", port).c_str());
  }
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;
  ~TlsClient() {
    BIO_free_all(connection_);
    SSL_CTX_free(context_);
  }

  bool connect() { return BIO_do_connect(connection_) == 1; }
  /// The first line of the answer.
  std::string ask(const std::string& text) {
    BIO_write(connection_, text.data(), static_cast<int>(text.size()));
    char answer[4096] = {};
    EXPECT_GT(BIO_read(connection_, answer, sizeof(answer) - 1), 0);
    return std::string(answer).substr(0, 15);
  }

 private:
  SSL_CTX* context_;
  BIO* connection_ = nullptr;
};

TEST_F(HttpFraming, TlsByFiles) {
  test::Repository folder;
  serve::HttpOptions options;
  options.certificate = folder.path() + "/certificate.pem";
  options.key = folder.path() + "/key.pem";
  EXPECT_THROW(other_server(options), serve::Failure);
  write_certificate(options.certificate, options.key);
  const serve::HttpServer server = other_server(options);
  const std::string old = folder.path() + "/old.pem";
  std::filesystem::copy(options.certificate, old);

  TlsClient client(server.port(), old);
  ASSERT_TRUE(client.connect());
  const std::string text = request_text("POST", kInfer, kBody);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(client.ask(text), "HTTP/1.1 200 OK");
  for (const int port : {server.port(), server.metrics_port()}) {
    Client plain(port);
    plain.send(request_text("GET", "/metrics"));
    EXPECT_TRUE(plain.is_closed() || plain.receive().status == 0);
  }
  TlsClient metrics(server.metrics_port(), old);
  ASSERT_TRUE(metrics.connect());
  EXPECT_EQ(metrics.ask(request_text("GET", "/metrics")), "HTTP/1.1 200 OK");

  // Who has changed the certificate need not start the server again, and who is connected stays so.
  write_certificate(options.certificate, options.key);
  bool is_fresh = false;
  for (int i = 0; i < 100 && !is_fresh; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    is_fresh = TlsClient(server.port(), options.certificate).connect();
  }
  EXPECT_TRUE(is_fresh);
  EXPECT_FALSE(TlsClient(server.port(), old).connect());
  EXPECT_EQ(client.ask(text), "HTTP/1.1 200 OK");
}

}  // namespace
}  // namespace colonnade
