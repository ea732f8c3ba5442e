// SPDX-License-Identifier: Apache-2.0
// Traces of requests: whose they are, what they say, and that no collector can do harm.
#include "collector.hpp"
#include "frontends/server/trace_context.hpp"
#include "frontends/server/tracer.hpp"
#include "grpc_fixture.hpp"
#include "http_fixture.hpp"

namespace colonnade::test {
namespace {

using nlohmann::json;
using serve::parse_traceparent;

constexpr const char* kTrace = "0af7651916cd43dd8448eb211c80319c";
constexpr const char* kSpan = "b7ad6b7169203331";
const std::string kParent = std::string("00-") + kTrace + "-" + kSpan + "-01";

TEST(TraceContext, IsReadAsTheStandardSays) {
  const auto parent = parse_traceparent(kParent);
  ASSERT_TRUE(parent);
  EXPECT_EQ(parent->trace_id, kTrace);
  EXPECT_EQ(parent->span_id, kSpan);
  EXPECT_TRUE(parent->is_sampled);
  const std::string head = kParent.substr(0, 53);
  EXPECT_FALSE(parse_traceparent(head + "00")->is_sampled);
  EXPECT_TRUE(parse_traceparent(head + "0b")->is_sampled);
  EXPECT_TRUE(parse_traceparent("cc" + kParent.substr(2) + "-more")) << "a later version";
  std::string upper = kParent;
  upper[5] = 'A';
  for (const std::string& wrong :
       {std::string(), std::string("00"), kParent.substr(1), head, head + "0", head + "0g", kParent + "-",
        kParent + "x", "ff" + kParent.substr(2), "cc" + kParent.substr(2) + "x", upper, "0x" + kParent.substr(2),
        "00-" + std::string(32, '0') + kParent.substr(35), kParent.substr(0, 36) + std::string(16, '0') + "-01",
        std::string(55, '-'), std::string(100'000, '0'), std::string(55, '\0')})
    EXPECT_FALSE(parse_traceparent(wrong)) << wrong.substr(0, 80);
}

TEST(TraceContext, NumbersAreRandom) {
  EXPECT_NE(serve::random_id(32), serve::random_id(32));
  EXPECT_EQ(serve::random_id(16).size(), 16u);
  EXPECT_FALSE(serve::is_drawn(0));
  EXPECT_TRUE(serve::is_drawn(1));
}

TEST(TraceOptions, AddressesAreChecked) {
  const auto address = serve::collector_address("http://[::1]:99/a/b");
  EXPECT_EQ(address.host, "::1");
  EXPECT_EQ(address.port, "99");
  EXPECT_EQ(address.path, "/a/b");
  EXPECT_EQ(serve::collector_address("http://host").port, "4318");
  EXPECT_EQ(serve::collector_address("http://host/").path, "/v1/traces");
  for (const char* wrong : {"host:4318", "https://host", "http://", "http://:1", "http://h:x", "http://h:123456",
                            "http://h/a b", "http://h/\r\nX: y"})
    EXPECT_THROW(serve::collector_address(wrong), serve::Failure) << wrong;
  EXPECT_THROW(serve::Tracer({"http://host", 1.5}), serve::Failure);
}

class TraceTest : public testing::Test {
 protected:
  TraceTest() { repository_.add_echo_models(); }

  serve::ServiceOptions traced(const std::string& url, double rate = 1) const {
    serve::ServiceOptions options;
    options.repositories = {repository_.path()};
    options.trace = {url, rate};
    return options;
  }
  static Answer infer(int port, const std::string& fields = "", const std::string& model = "echo_FP32") {
    return Client(port).ask("POST", "/v2/models/" + model + "/infer",
                            R"({"inputs":[{"name":"x","datatype":"FP32","shape":[2],"data":[1,2]}]})", fields);
  }
  static json attribute(const json& span, const std::string& key) {
    for (const json& each : span["attributes"])
      if (each["key"] == key) return each["value"].begin().value();
    return nullptr;
  }
  static std::map<std::string, json> by_name(const std::vector<json>& spans) {
    std::map<std::string, json> named;
    for (const json& span : spans) named[span["name"]] = span;
    return named;
  }
  /// The counter's value once it is so large; less after ten seconds.
  static double counted(const serve::Service& service, const std::string& name, double wanted) {
    double value = 0;
    for (int i = 0; i < 1000 && value < wanted; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      const std::string text = service.metrics();
      value = std::stod(text.substr(text.find("\n" + name + " ") + name.size() + 2));
    }
    return value;
  }

 private:
  Repository repository_;
};

TEST_F(TraceTest, SpansOfARequest) {
  Collector collector;
  const Served served(traced(collector.url()));
  ASSERT_EQ(infer(served.port(), "traceparent: " + kParent + "\r\n").status, 200);
  auto spans = by_name(collector.spans(3));
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_TRUE(collector.head().starts_with("POST /v1/traces HTTP/1.1\r\n")) << collector.head();
  for (const auto& [name, span] : spans) {
    EXPECT_EQ(span["traceId"], kTrace);
    EXPECT_EQ(span["spanId"].get<std::string>().size(), 16u);
    EXPECT_LE(std::stoull(span["startTimeUnixNano"].get<std::string>()),
              std::stoull(span["endTimeUnixNano"].get<std::string>()));
  }
  EXPECT_EQ(spans["request"]["parentSpanId"], kSpan);
  EXPECT_EQ(spans["queue"]["parentSpanId"], spans["request"]["spanId"]);
  EXPECT_EQ(spans["compute"]["parentSpanId"], spans["request"]["spanId"]);
  EXPECT_EQ(spans["queue"]["endTimeUnixNano"], spans["compute"]["startTimeUnixNano"]);
  EXPECT_EQ(attribute(spans["request"], "model"), "echo_FP32");
  EXPECT_EQ(attribute(spans["request"], "version"), "1");
  EXPECT_EQ(attribute(spans["request"], "status"), "ok");
  EXPECT_EQ(attribute(spans["request"], "network.protocol.name"), "http");
  EXPECT_EQ(attribute(spans["compute"], "batch_size"), "1");
}

TEST_F(TraceTest, Failures) {
  Collector collector;
  const Served served(traced(collector.url()));
  infer(served.port(), "", "nobody");
  const auto spans = collector.spans(1);
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0]["status"]["code"], 2);
  EXPECT_NE(spans[0]["status"]["message"].get<std::string>().find("nobody"), std::string::npos);
  EXPECT_FALSE(spans[0].contains("parentSpanId"));
}

TEST_F(TraceTest, Grpc) {
  Collector collector;
  const GrpcServed served(traced(collector.url(), 0));
  const GrpcClient client(served.grpc.port());
  inference::ModelInferResponse response;
  ASSERT_TRUE(client.infer(float_request(3), &response).ok()) << "not drawn";
  grpc::ClientContext context;
  context.AddMetadata("traceparent", kParent);
  ASSERT_TRUE(client.inference->ModelInfer(&context, float_request(3), &response).ok());
  grpc::ClientContext of_stream;
  of_stream.AddMetadata("traceparent", kParent);
  const auto stream = client.inference->ModelStreamInfer(&of_stream);
  stream->Write(float_request(3));
  inference::ModelStreamInferResponse streamed;
  EXPECT_TRUE(stream->Read(&streamed));
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  const auto spans = collector.spans(6);
  ASSERT_EQ(spans.size(), 6u);
  for (const json& span : spans) EXPECT_EQ(span["traceId"], kTrace);
  EXPECT_EQ(attribute(by_name(spans)["request"], "network.protocol.name"), "grpc");
}

TEST_F(TraceTest, WhatIsNotSampledIsNotTold) {
  Collector collector;
  const Served served(traced(collector.url()));
  const std::string unsampled = kParent.substr(0, 53) + "00";
  for (int i = 0; i < 20; ++i) infer(served.port(), "traceparent: " + unsampled + "\r\n");
  infer(served.port(), "traceparent: nonsense\r\n");
  const auto spans = collector.spans(3);
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_NE(spans[0]["traceId"], kTrace);
}

/// Collectors that refuse, are away, or take for ever: requests go on, and what is lost is counted.
TEST_F(TraceTest, BadCollectors) {
  Collector refusing(503);
  for (const std::string& url : {refusing.url(), std::string("http://127.0.0.1:1")}) {
    const Served served(traced(url));
    for (int i = 0; i < 5; ++i) ASSERT_EQ(infer(served.port()).status, 200);
    EXPECT_EQ(counted(served.service, "colonnade_traces_dropped", 5), 5) << url;
  }
  Collector slow(200, std::chrono::seconds(30));
  std::optional<Served> served(std::in_place, traced(slow.url()));
  Client client(served->port());
  const std::string body = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[2],"data":[1,2]}]})";
  std::chrono::nanoseconds longest{0};
  for (int i = 0; i < 6000; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_EQ(client.ask("POST", "/v2/models/echo_FP32/infer", body).status, 200);
    longest = std::max<std::chrono::nanoseconds>(longest, std::chrono::steady_clock::now() - begin);
  }
  EXPECT_LT(longest, std::chrono::seconds(2)) << "a request waited for the collector";
  EXPECT_GE(counted(served->service, "colonnade_traces_dropped", 1), 1) << "what waits is bounded";
  const auto begin = std::chrono::steady_clock::now();
  served.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5)) << "the end waited for the collector";
}

}  // namespace
}  // namespace colonnade::test
