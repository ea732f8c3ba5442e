// SPDX-License-Identifier: Apache-2.0
// Wrong use of every endpoint: the status, and what the message names.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "frontends/server/http/compression.hpp"
#include "http_fixture.hpp"

namespace colonnade {
namespace {

using test::Answer;
using test::Client;

class HttpMisuse : public test::HttpTest {};

struct Misuse {
  std::string method, path, body;
  int status;
  std::string names;  ///< part of the message
  std::string fields = {};
};

void check(int port, const std::vector<Misuse>& cases) {
  Client client(port);
  for (const Misuse& each : cases) {
    const Answer answer = client.ask(each.method, each.path, each.body, each.fields);
    EXPECT_EQ(answer.status, each.status) << each.method << " " << each.path << " " << each.body << "\n" << answer.body;
    if (each.method == "HEAD") continue;
    EXPECT_NE(answer.error().find(each.names), std::string::npos)
        << each.path << " " << each.body << "\nexpected: " << each.names << "\nfound: " << answer.body;
    EXPECT_EQ(answer.error().find('\n'), std::string::npos);
  }
  EXPECT_EQ(client.ask("GET", "/v2").status, 200) << "the connection survives";
}

TEST_F(HttpMisuse, Paths) {
  check(port(),
        {
            {"GET", "/v3", "", 404, "no such path: \"/v3\""},
            {"GET", "/v2/", "", 200, ""},
            {"GET", "/v2/health", "", 404, "/v2/health"},
            {"GET", "/v2/models", "", 404, "/v2/models"},
            {"GET", "/v2/models//config", "", 404, "no such path"},
            {"GET", "/v2/models/none", "", 404, "none"},
            {"GET", "/v2/models/none/config", "", 404, "none"},
            {"GET", "/v2/models/none/stats", "", 404, "none"},
            {"GET", "/v2/models/none/describe", "", 404, "none"},
            {"GET", "/v2/models/pair/versions/2", "", 404, "2"},
            {"GET", "/v2/models/pair/versions/0", "", 400, "expected a positive number, found \"0\""},
            {"GET", "/v2/models/pair/versions/-1", "", 400, "-1"},
            {"GET", "/v2/models/pair/versions/x", "", 400, "\"x\""},
            {"GET", "/v2/models/pair/versions/99999999999999999999", "", 400, "version"},
            {"GET", "/v2/models/pa%2Fir", "", 404, "pa/ir"},
            {"GET", "/v2/models/..%2F..%2Fetc%2Fpasswd", "", 404, "etc"},
            {"GET", "/v2/models/pair%00", "", 400, "control character"},
            {"GET", "/v2/models/pair%0a", "", 400, "control character"},
            {"GET", "/v2/models/pair%", "", 400, "'%'"},
            {"GET", "/v2/models/pair%zz", "", 400, "'%'"},
            {"GET", "/v2/models/%ff", "", 400, "UTF-8"},
            {"GET", "/../../etc/passwd", "", 404, "no such path"},
            {"POST", "/v2/systemsharedmemory/region/r/register", R"({"key":"/r","byte_size":8})", 501, "not supported"},
            {"GET", "/v2/systemsharedmemory/status", "", 501, "not supported"},
            {"GET", "/v2/trace/setting", "", 501, "not supported"},
            {"POST", "/v2/models/pair/generate", "{}", 501, "not supported"},
        });
}

/// The body that comes with a wrong method is not read: the connection ends.
TEST_F(HttpMisuse, Methods) {
  for (const char* path : {"/v2", "/v2/health/live", "/v2/models/pair", "/v2/models/pair/config", "/metrics"}) {
    const Answer answer = Client(port()).ask("POST", path, "{}");
    EXPECT_EQ(answer.status, 405) << path;
    EXPECT_EQ(answer.fields.at("allow"), "GET, HEAD, OPTIONS");
  }
  for (const char* path : {"/v2/models/pair/infer", "/v2/repository/index", "/v2/repository/models/pair/load"}) {
    for (const char* method : {"GET", "PUT", "DELETE", "PATCH", "BREW"}) {
      const Answer answer = Client(port()).ask(method, path);
      EXPECT_EQ(answer.status, 405) << method << path;
      EXPECT_EQ(answer.error(), fmt::format("expected POST, found \"{}\"", method));
    }
  }
}

/// An infer request of one input, of which everything is wrong once.
std::string with_input(const std::string& members) { return R"({"inputs":[{)" + members + "}]}"; }

TEST_F(HttpMisuse, JsonOfRequests) {
  const std::string path = "/v2/models/echo_FP32/infer";
  const std::string good = R"("name":"x","shape":[2],"datatype":"FP32","data":[1,2])";
  const auto refuses = [&](const std::string& body, const std::string& names) {
    return Misuse{"POST", path, body, 400, names};
  };
  check(port(), {
                    {"POST", path, with_input(good), 200, ""},
                    refuses("", "empty"),
                    refuses("{", "invalid JSON"),
                    refuses("[]", "the request: expected an object, found an array"),
                    refuses("null", "expected an object, found null"),
                    refuses("{} {}", "invalid JSON"),
                    refuses("{}", "\"inputs\" is missing"),
                    refuses(R"({"inputs":{}})", "inputs: expected an array, found an object"),
                    refuses(R"({"inputs":[1]})", "input: expected an object, found an integer"),
                    refuses(R"({"inputs":[],"inputs":[]})", "\"inputs\" appears twice"),
                    refuses(R"({"id":1,"inputs":[]})", "id: expected a string, found an integer"),
                    refuses(R"({"parameters":[],"inputs":[]})", "parameters: expected an object"),
                    refuses(R"({"parameters":{"a":[]},"inputs":[]})", "\"a\""),
                    refuses(R"({"parameters":{"a":1,"a":2},"inputs":[]})", "\"a\" appears twice"),
                    refuses(R"({"parameters":{"priority":-1},"inputs":[]})", "priority"),
                    refuses(R"({"parameters":{"priority":4294967296},"inputs":[]})", "priority"),
                    refuses(R"({"parameters":{"timeout":"1"},"inputs":[]})", "timeout"),
                    refuses(R"({"parameters":{"timeout":1.5},"inputs":[]})", "timeout"),
                    refuses(R"({"parameters":{"binary_data_output":1},"inputs":[]})", "binary_data_output"),
                    refuses(R"({"inputs":[]})", "x"),
                    refuses(std::string(101, '[') + std::string(101, ']'), "nested deeper than 100"),
                    refuses("{\"inputs\":[],\"id\":\"\xff\"}", "invalid JSON"),
                    refuses(with_input(good) + "x", "invalid JSON"),
                });
}

TEST_F(HttpMisuse, JsonOfInputs) {
  const auto refuses = [&](const std::string& members, const std::string& names, const std::string& type = "FP32") {
    return Misuse{"POST", "/v2/models/echo_" + type + "/infer", with_input(members), 400, names};
  };
  const std::string x = R"("name":"x",)", fp32 = R"("name":"x","datatype":"FP32",)";
  const auto typed = [&](const std::string& type, const std::string& data, const std::string& names) {
    return refuses(x + R"("datatype":")" + type + R"(","shape":[1],"data":)" + data, names, type);
  };
  check(
      port(),
      {
          refuses(R"("shape":[1],"datatype":"FP32","data":[1])", "\"name\" is missing"),
          refuses(R"("name":1,"shape":[1],"datatype":"FP32","data":[1])", "name: expected a string"),
          refuses(R"("name":"y","shape":[1],"datatype":"FP32","data":[1])", "y"),
          refuses(x + R"("shape":[1],"data":[1])", "\"datatype\" is missing"),
          refuses(x + R"("shape":[1],"datatype":"FP31","data":[1])", "FP31"),
          refuses(x + R"("shape":[1],"datatype":"INT32","data":[1])", "INT32"),
          refuses(x + R"("shape":[1],"datatype":32,"data":[1])", "datatype: expected a string"),
          refuses(fp32 + R"("data":[1])", "\"shape\" is missing"),
          refuses(fp32 + R"("shape":1,"data":[1])", "shape: expected an array"),
          refuses(fp32 + R"("shape":[1.0],"data":[1])", "shape: expected an integer"),
          refuses(fp32 + R"("shape":["1"],"data":[1])", "shape: expected an integer"),
          refuses(fp32 + R"("shape":[-1],"data":[1])", "found [-1]"),
          refuses(fp32 + R"("shape":[1,1],"data":[1])", "x"),
          refuses(fp32 + R"("shape":[4294967296,4294967296,4294967296],"data":[1])", "more elements than memory"),
          refuses(fp32 + R"("shape":[9223372036854775807],"data":[1])", "more elements than memory"),
          refuses(fp32 + R"("shape":[9223372036854775808],"data":[1])", "too large"),
          refuses(fp32 + R"("shape":[1000000],"data":[1])", "expected 1000000 elements"),
          refuses(fp32 + R"("shape":[2],"data":[1])", "expected 2 elements for shape [2], found 1"),
          refuses(fp32 + R"("shape":[2],"data":[1,2,3])", "found more"),
          refuses(fp32 + R"("shape":[2],"data":[[1],[2]])", "nested deeper"),
          refuses(fp32 + R"("shape":[2],"data":[1,[2]])", "element 1: expected a number of type FP32, found an array"),
          refuses(fp32 + R"("shape":[2],"data":1)", "nested as shape [2], found an integer"),
          refuses(fp32 + R"("shape":[1])", "expected \"data\" or the parameter binary_data_size"),
          refuses(fp32 + R"("shape":[1],"data":[1],"data":[2])", "\"data\" appears twice"),
          refuses(fp32 + R"("shape":[1],"data":[1],"parameters":{"binary_data_size":4})", "both"),
          refuses(fp32 + R"("shape":[1],"parameters":{"binary_data_size":4})", "0 bytes are left"),
          refuses(fp32 + R"("shape":[1],"parameters":{"binary_data_size":-4})", "0 or more"),
          refuses(
              x + R"("datatype":"FP32","shape":[1],"data":[1]},{"name":"x","datatype":"FP32","shape":[1],"data":[1])",
              "input \"x\" appears twice"),
          typed("FP32", "[1e39]", "does not fit FP32"),
          typed("FP32", "[1e999]", "out of range"),
          typed("FP32", "[NaN]", "invalid JSON: found 'NaN' at byte "),
          typed("FP32", "[1e1,-Infinity]", "invalid JSON: found 'Infinity' at byte "),
          typed("FP32", "[true]", "expected a number of type FP32, found a boolean"),
          typed("FP32", "[\"1\"]", "found a string"),
          typed("FP32", "[null]", "found null"),
          typed("INT8", "[128]", "does not fit INT8"),
          typed("INT8", "[1.0]", "found a number with a fraction"),
          typed("INT64", "[9223372036854775808]", "does not fit INT64"),
          typed("UINT8", "[-1]", "does not fit UINT8"),
          typed("UINT64", "[18446744073709551616]", "out of range"),
          typed("BOOL", "[1]", "expected true or false"),
          typed("BYTES", "[1]", "expected a string"),
      });
}

TEST_F(HttpMisuse, Outputs) {
  const auto refuses = [&](const std::string& outputs, const std::string& names, int status = 400) {
    return Misuse{"POST", "/v2/models/echo_FP32/infer",
                  R"({"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[1]}],"outputs":)" + outputs + "}",
                  status, names};
  };
  check(port(), {
                    refuses("1", "outputs: expected an array"),
                    refuses("[{}]", "\"name\" is missing"),
                    refuses(R"([{"name":"y"}])", "y"),
                    refuses(R"([{"name":"out_x"},{"name":"out_x"}])", "appears twice"),
                    refuses(R"([{"name":"out_x","parameters":{"binary_data":1}}])", "binary_data"),
                    refuses(R"([{"name":"out_x","parameters":{"classification":-1}}])", "classification"),
                    refuses(R"([{"name":"out_x","parameters":{"shared_memory_region":"r"}}])", "shared memory", 501),
                });
}

TEST_F(HttpMisuse, BinaryTensors) {
  const auto head_of = [](const std::string& datatype, const std::string& shape, std::size_t bytes) {
    return fmt::format(
        R"({{"inputs":[{{"name":"x","shape":{},"datatype":"{}","parameters":{{"binary_data_size":{}}}}}]}})", shape,
        datatype, bytes);
  };
  const auto refuses = [&](const std::string& datatype, const std::string& shape, const std::string& data,
                           const std::string& names) {
    const std::string head = head_of(datatype, shape, data.size());
    return Misuse{"POST",      "/v2/models/echo_" + datatype + "/infer",
                  head + data, 400,
                  names,       fmt::format("Inference-Header-Content-Length: {}\r\n", head.size())};
  };
  const std::string head = head_of("FP32", "[1]", 4), path = "/v2/models/echo_FP32/infer";
  const auto announced = [&](const std::string& length, const std::string& body, const std::string& names) {
    return Misuse{"POST", path, body, 400, names, "Inference-Header-Content-Length: " + length + "\r\n"};
  };
  check(port(),
        {
            refuses("FP32", "[1]", "123", "expected 4 bytes for FP32 [1], found 3"),
            refuses("FP32", "[2]", "1234", "expected 8 bytes"),
            refuses("FP32", "[4611686018427387904]", "1234", "more elements than memory"),
            refuses("BOOL", "[1]", "\x02", "expected bytes 0 and 1, found 2"),
            refuses("BYTES", "[1]", std::string("\4\0\0\0abc", 7), "element 0 claims 4 bytes, but only 3"),
            refuses("BYTES", "[1]", "\xff\xff\xff\xff", "claims 4294967295 bytes"),
            refuses("BYTES", "[2]", std::string("\0\0\0\0\0", 5), "2 elements of BYTES cannot be in 5 bytes"),
            refuses("BYTES", "[1]", std::string("\0\0\0\0x", 5), "behind the last"),
            refuses("BYTES", "[1000000000]", "1234", "cannot be in 4 bytes"),
            announced(std::to_string(head.size()), head + "12345", "1 bytes behind the last tensor"),
            announced(std::to_string(head.size()), head + "123", "3 bytes are left"),
            announced("9999", head, "the body has"),
            announced("0", "12345", "expected 4 bytes for FP32 [1], found 5"),
            {"POST", "/v2/models/pair/infer", "1234", 400, "2 inputs", "Inference-Header-Content-Length: 0\r\n"},
        });
  for (const char* length : {"-1", "abc", "", "1x", "0x10", "99999999999999999999"}) {
    Client client(port());
    const Answer answer =
        client.ask("POST", path, "{}", fmt::format("Inference-Header-Content-Length: {}\r\n", length));
    EXPECT_EQ(answer.status, 400) << length;
    EXPECT_NE(answer.error().find("expected a number of bytes"), std::string::npos) << answer.body;
  }
}

TEST_F(HttpMisuse, Codings) {
  const std::string path = "/v2/models/echo_FP32/infer", body = "{}";
  const std::span<const std::byte> piece = std::as_bytes(std::span(body));
  const std::string gzip = serve::http::compress(serve::http::Coding::gzip, std::span(&piece, 1));
  const std::string zeros(8 << 20, '\0');
  const std::span<const std::byte> many = std::as_bytes(std::span(zeros));
  const std::string bomb = serve::http::compress(serve::http::Coding::gzip, std::span(&many, 1));
  ASSERT_LT(bomb.size(), 100'000u);
  const std::string is_gzip = "Content-Encoding: gzip\r\n";
  check(port(), {
                    {"POST", path, gzip, 400, "\"inputs\" is missing", is_gzip},
                    {"POST", path, body, 400, "no gzip data", is_gzip},
                    {"POST", path, gzip.substr(0, gzip.size() - 3), 400, "ends too early", is_gzip},
                    {"POST", path, gzip + "x", 400, "behind the end", is_gzip},
                    {"POST", path, gzip, 400, "no deflate data", "Content-Encoding: deflate\r\n"},
                    {"POST", path, gzip, 415, "expected gzip or deflate, found \"br\"", "Content-Encoding: br\r\n"},
                    {"POST", path, bomb, 413, "exceeds the limit of 1048576", is_gzip},
                });
}

TEST_F(HttpMisuse, Images) {
  const auto png = "Content-Type: image/png\r\n";
  check(port(), {
                    {"POST", "/v2/models/digits/infer", "no image", 400, "neither PNG nor JPEG", png},
                    {"POST", "/v2/models/digits/infer", "", 400, "image", png},
                    {"POST", "/v2/models/pair/infer", "no image", 400, "2 inputs", png},
                    {"POST", "/v2/models/echo_BOOL/infer", "no image", 400, "cannot take an image", png},
                });
}

TEST_F(HttpMisuse, Repository) {
  check(port(), {
                    {"POST", "/v2/repository/index", R"({"ready":1})", 400, "ready: expected true or false"},
                    {"POST", "/v2/repository/index", "{", 400, "invalid JSON"},
                    {"POST", "/v2/repository/models/new/load", R"({"parameters":{"file:1/model.onnx":"a?=="}})", 400,
                     "\"file:1/model.onnx\": expected base64"},
                    {"POST", "/v2/repository/models/new/load", R"({"parameters":{"config":{}}})", 400,
                     "\"config\": expected a string, found an object"},
                });
}

TEST_F(HttpMisuse, RestrictedEndpointsNeedTheirKey) {
  serve::HttpOptions options = test::Served::on_free_ports({});
  options.restricted = {{"model-repository", "x-key=secret"}, {"metadata", "x-key=other"}};
  serve::HttpServer restricted(served().service, options);
  Client client(restricted.port());
  EXPECT_EQ(client.ask("POST", "/v2/repository/index").status, 403);
  EXPECT_EQ(client.ask("POST", "/v2/repository/index", "", "X-Key: secre\r\n").status, 403);
  EXPECT_EQ(client.ask("POST", "/v2/repository/index", "", "X-Key: secret\r\n").status, 200);
  EXPECT_EQ(client.ask("GET", "/v2", "", "X-Key: secret\r\n").status, 403);
  EXPECT_EQ(client.ask("GET", "/v2/health/live").status, 200);
  EXPECT_EQ(client.ask("GET", "/v2").error(),
            "metadata endpoints are restricted: the header field x-key does not hold the key");
  for (const auto& [category, key] :
       {std::pair("nothing", "a=b"), std::pair("metadata", "a"), std::pair("health", "=b")}) {
    options.restricted = {{category, key}};
    EXPECT_THROW(serve::HttpServer(served().service, options), serve::Failure) << category;
  }
}

}  // namespace
}  // namespace colonnade
