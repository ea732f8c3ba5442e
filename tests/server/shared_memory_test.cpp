// SPDX-License-Identifier: Apache-2.0
// Tensors in system shared memory: names and sizes that lie, and objects that change under the server.
#include "frontends/server/shared_memory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "grpc_fixture.hpp"
#include "http_fixture.hpp"
#include "support/shared_object.hpp"

namespace colonnade::test {
namespace {

using inference::GRPCInferenceService;
using serve::Code;
using serve::SharedMemory;

constexpr std::uint64_t kMost64 = ~std::uint64_t{0};

void expect_refused(Code code, const std::string& part, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "not refused: " << part;
  } catch (const serve::Failure& failure) {
    EXPECT_EQ(failure.code(), code) << failure.what();
    EXPECT_NE(std::string(failure.what()).find(part), std::string::npos) << failure.what();
  }
}

TEST(SharedMemoryTest, IsOffUnlessTheOperatorNamesAPrefix) {
  SharedMemory memory("");
  const SharedObject object(64);
  expect_refused(Code::unsupported, "--shared-memory PREFIX", [&] { memory.add("r", object.name(), 0, 8); });
  expect_refused(Code::unsupported, "--shared-memory PREFIX", [&] { memory.remove("r"); });
  expect_refused(Code::unsupported, "--shared-memory PREFIX", [&] { (void)memory.regions(""); });
  for (const char* prefix : {"team", "/a/b", "//", "/..", "/\n"})
    expect_refused(Code::invalid_argument, "expected '/'", [&] { const SharedMemory wrong(prefix); });
}

TEST(SharedMemoryTest, NamesAndSizesAreChecked) {
  SharedMemory memory("/colonnade_test_");
  const SharedObject object(64);
  const std::string stranger = "/colonnade_other";
  expect_refused(Code::unauthorized, "begin with '/colonnade_test_'", [&] { memory.add("r", stranger, 0, 8); });
  for (const std::string key : {"", "/", "/.", "/..", "/a/b", "/../etc/passwd", "../shadow", "/colonnade_test_/../x"})
    expect_refused(Code::invalid_argument, "no name of shared memory", [&] { memory.add("r", key, 0, 8); });
  const std::string with_nul("/colonnade_test_\0x", 18);
  expect_refused(Code::invalid_argument, "no name of shared memory", [&] { memory.add("r", with_nul, 0, 8); });
  expect_refused(Code::invalid_argument, "no name of", [&] { memory.add("r", "/" + std::string(300, 'a'), 0, 8); });
  expect_refused(Code::invalid_argument, "expected a name", [&] { memory.add("", object.name(), 0, 8); });
  expect_refused(Code::invalid_argument, "expected a name",
                 [&] { memory.add(std::string(300, 'r'), object.name(), 0, 8); });
  expect_refused(Code::invalid_argument, "cannot be opened", [&] { memory.add("r", "/colonnade_test_none", 0, 8); });
  using Range = std::pair<std::uint64_t, std::uint64_t>;
  const auto adds = [&](const Range& range) {
    return [&] { memory.add("r", object.name(), range.first, range.second); };
  };
  for (const Range& range : {Range{0, 65}, {64, 1}, {60, 8}, {1 << 20, 1}})
    expect_refused(Code::invalid_argument, "does not hold", adds(range));
  for (const Range& range : {Range{0, 0}, {0, kMost64}, {kMost64, 1}, {kMost64, kMost64}, {8, kMost64 - 7}})
    expect_refused(Code::invalid_argument, "is no region", adds(range));
  EXPECT_TRUE(memory.regions("").empty());
  memory.add("r", object.name().substr(1), 8, 56);
  EXPECT_EQ(memory.regions("r").front()->key(), object.name());
  expect_refused(Code::invalid_argument, "registered already", [&] { memory.add("r", object.name(), 0, 8); });
  expect_refused(Code::not_found, "'q'", [&] { (void)memory.regions("q"); });
  memory.remove("q");
  memory.remove("r");
  EXPECT_TRUE(memory.regions("").empty());
}

/// A pipe, a link and a folder are no shared memory; opening a pipe would wait for ever.
TEST(SharedMemoryTest, OnlyFilesAreObjects) {
  const SharedObject object(64);
  SharedMemory memory("/colonnade_test_");
  const std::string base = fmt::format("/colonnade_test_{}_", ::getpid());
  const std::string pipe = "/dev/shm" + base + "pipe", link = "/dev/shm" + base + "link";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_EQ(::symlink(("/dev/shm" + object.name()).c_str(), link.c_str()), 0);
  expect_refused(Code::invalid_argument, "does not hold", [&] { memory.add("r", base + "pipe", 0, 8); });
  expect_refused(Code::invalid_argument, "cannot be opened", [&] { memory.add("r", base + "link", 0, 8); });
  ::unlink(pipe.c_str());
  ::unlink(link.c_str());
}

TEST(SharedMemoryTest, RegistrationsAreBounded) {
  SharedMemory memory("/");
  const SharedObject object(64);
  int registered = 0;
  for (int i = 0; i < 10'000; ++i) {
    try {
      memory.add(fmt::format("r{}", i), object.name(), 0, 8);
      ++registered;
    } catch (const serve::Failure& failure) {
      EXPECT_EQ(failure.code(), Code::resource_exhausted);
    }
  }
  EXPECT_EQ(registered, static_cast<int>(SharedMemory::kMostRegions));
  memory.remove_all();
  memory.add("r", object.name(), 0, 8);
}

std::string region_parameters(const std::string& region, std::int64_t bytes, std::int64_t offset = 0) {
  return fmt::format(R"("parameters":{{"shared_memory_region":"{}","shared_memory_byte_size":{},)"
                     R"("shared_memory_offset":{}}})",
                     region, bytes, offset);
}

class SharedTensors : public testing::Test {
 protected:
  SharedTensors() {
    repository_.add_echo_models();
    serve::ServiceOptions options;
    options.repositories = {repository_.path()};
    options.shared_memory = "/colonnade_test_";
    options.clients.total[2] = 64 << 20;
    served_ = std::make_unique<Served>(options);
    grpc_ = std::make_unique<serve::GrpcServer>(served_->service, on_free_port());
  }

  Answer http(const std::string& method, const std::string& path, const std::string& body = "") {
    return Client(served_->port()).ask(method, path, body);
  }
  void add(const std::string& name, const std::string& key, std::size_t bytes) {
    const Answer answer = http("POST", "/v2/systemsharedmemory/region/" + name + "/register",
                               fmt::format(R"({{"key":"{}","offset":0,"byte_size":{}}})", key, bytes));
    EXPECT_EQ(answer.status, 200) << answer.body;
  }
  Answer infer(std::int64_t count, const std::string& input, const std::string& output) {
    return http(
        "POST", "/v2/models/echo_FP32/infer",
        fmt::format(
            R"({{"inputs":[{{"name":"x","datatype":"FP32","shape":[{}],{}}}],"outputs":[{{"name":"out_x",{}}}]}})",
            count, input, output));
  }
  void expect_lives() { EXPECT_EQ(http("GET", "/v2/health/live").status, 200); }

  static inference::ModelInferRequest shared_request(std::int64_t count, const std::string& region,
                                                     std::int64_t out_offset) {
    inference::ModelInferRequest request = echo_request("FP32", count);
    const auto point = [&](auto& parameters, std::int64_t offset) {
      parameters["shared_memory_region"].set_string_param(region);
      parameters["shared_memory_byte_size"].set_int64_param(count * 4);
      parameters["shared_memory_offset"].set_int64_param(offset);
    };
    point(*request.mutable_inputs(0)->mutable_parameters(), 0);
    auto& output = *request.add_outputs();
    output.set_name("out_x");
    point(*output.mutable_parameters(), out_offset);
    return request;
  }
  GrpcClient grpc_client() const { return GrpcClient(grpc_->port()); }
  serve::Service& service() { return served_->service; }

 private:
  Repository repository_;
  std::unique_ptr<Served> served_;
  std::unique_ptr<serve::GrpcServer> grpc_;
};

TEST_F(SharedTensors, Http) {
  const SharedObject object(4096);
  object.put(16, {1, 2, 3});
  add("r", object.name(), 4096);
  const auto status = nlohmann::json::parse(http("GET", "/v2/systemsharedmemory/status").body);
  EXPECT_EQ(status, nlohmann::json::parse(
                        fmt::format(R"([{{"name":"r","key":"{}","offset":0,"byte_size":4096}}])", object.name())));
  EXPECT_EQ(nlohmann::json::parse(http("GET", "/v2/systemsharedmemory/region/r/status").body), status);
  EXPECT_EQ(http("GET", "/v2/systemsharedmemory/region/q/status").status, 404);
  const Answer answer = infer(3, region_parameters("r", 12, 16), region_parameters("r", 64, 1024));
  ASSERT_EQ(answer.status, 200) << answer.body;
  const auto output = nlohmann::json::parse(answer.body)["outputs"][0];
  EXPECT_EQ(output, nlohmann::json::parse(R"({"name":"out_x","datatype":"FP32","shape":[3]})"));
  EXPECT_EQ(object.get(1024, 3), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(http("POST", "/v2/systemsharedmemory/unregister").status, 200);
  EXPECT_EQ(infer(3, region_parameters("r", 12), region_parameters("r", 12)).status, 404);
}

TEST_F(SharedTensors, Grpc) {
  using Calls = GRPCInferenceService::Stub;
  const SharedObject object(4096);
  object.put(0, {4, 5});
  const GrpcClient client = grpc_client();
  inference::SystemSharedMemoryRegisterRequest wanted;
  wanted.set_name("r");
  wanted.set_key(object.name());
  wanted.set_byte_size(4096);
  inference::SystemSharedMemoryRegisterResponse registered;
  ASSERT_TRUE(client(&Calls::SystemSharedMemoryRegister, wanted, &registered).ok());
  inference::SystemSharedMemoryStatusResponse status;
  ASSERT_TRUE(client(&Calls::SystemSharedMemoryStatus, {}, &status).ok());
  EXPECT_EQ(status.regions().at("r").byte_size(), 4096u);
  inference::ModelInferResponse response;
  const grpc::Status answered = client.infer(shared_request(2, "r", 512), &response);
  ASSERT_TRUE(answered.ok()) << answered.error_message();
  EXPECT_EQ(response.outputs(0).parameters().at("shared_memory_byte_size").int64_param(), 8);
  EXPECT_EQ(response.raw_output_contents(0), "");
  EXPECT_EQ(object.get(512, 2), (std::vector<float>{4, 5}));
  inference::ModelInferRequest both = shared_request(2, "r", 512);
  both.add_raw_input_contents("12345678");
  expect_status(client.infer(both, &response), grpc::StatusCode::INVALID_ARGUMENT, "raw_input_contents");
  inference::SystemSharedMemoryUnregisterRequest all;
  inference::SystemSharedMemoryUnregisterResponse gone;
  ASSERT_TRUE(client(&Calls::SystemSharedMemoryUnregister, all, &gone).ok());
  expect_status(client.infer(shared_request(2, "r", 512), &response), grpc::StatusCode::NOT_FOUND, "'r'");
}

/// A mapping would end the server here.
TEST_F(SharedTensors, AnObjectMayShrink) {
  const SharedObject object(1 << 20);
  add("r", object.name(), 1 << 20);
  const std::int64_t half = 1 << 17;
  ASSERT_EQ(infer(half, region_parameters("r", half * 4), region_parameters("r", half * 4, half * 4)).status, 200);
  object.resize(half * 4);
  Answer answer = infer(half, region_parameters("r", half * 4), region_parameters("r", half * 4, half * 4));
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.error().find("not there any more"), std::string::npos) << answer.body;
  EXPECT_EQ(object.size(), static_cast<std::size_t>(half * 4)) << "the server must not make it longer";
  object.resize(0);
  answer = infer(half, region_parameters("r", half * 4), R"("parameters":{})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.error().find("not there any more"), std::string::npos) << answer.body;
  inference::ModelInferResponse response;
  expect_status(grpc_client().infer(shared_request(2, "r", 512), &response), grpc::StatusCode::INVALID_ARGUMENT,
                "not there any more");
  expect_lives();
}

TEST_F(SharedTensors, WhatLiesOutsideIsRefused) {
  const SharedObject object(4096);
  add("r", object.name(), 4096);
  const std::string plain = R"("parameters":{})";
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::pair<std::int64_t, std::int64_t> ranges[] = {{8, 4089},      {4097, 0}, {8, kMost}, {kMost, 8},
                                                          {kMost, kMost}, {8, -1},   {-8, 0}};
  for (const auto& [bytes, offset] : ranges) {
    for (const bool is_input : {true, false}) {
      const std::string there = region_parameters("r", bytes, offset), given = R"("data":[1,2])";
      const Answer answer = is_input ? infer(2, there, plain) : infer(2, given, there);
      EXPECT_EQ(answer.status, 400) << bytes << " at " << offset << answer.body;
    }
  }
  const auto refused = [&](std::int64_t count, const std::string& input, const std::string& output,
                           const std::string& part, int status = 400) {
    const Answer answer = infer(count, input, output);
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_NE(answer.error().find(part), std::string::npos) << answer.body;
  };
  refused(2, region_parameters("q", 8), plain, "'q'", 404);
  refused(3, region_parameters("r", 8), plain, "do not hold its shape");
  refused(2, R"("data":[1,2],)" + region_parameters("r", 8), plain, "both");
  refused(2, R"("data":[1,2])", region_parameters("r", 4), "do not fit");
  refused(2, R"("parameters":{"shared_memory_region":"r"})", plain, "shared_memory_byte_size is missing");
  refused(2, R"("parameters":{"shared_memory_region":7,"shared_memory_byte_size":8})", plain, "a region's name");
  expect_lives();
}

/// A few bytes of a request must not make the server hold more than a client may have under way.
TEST_F(SharedTensors, CopiesAreLent) {
  const std::size_t bytes = 48 << 20;
  const SharedObject object(bytes);
  add("r", object.name(), bytes);
  const Answer answer =
      infer(bytes / 4, region_parameters("r", static_cast<std::int64_t>(bytes)), R"("parameters":{})");
  EXPECT_EQ(answer.status, 503) << answer.body.substr(0, 200);
  EXPECT_EQ(service().clients().held(serve::Holding::bytes), 0u);
}

TEST_F(SharedTensors, ARegionInUseStays) {
  const SharedObject object(64);
  object.put(0, {7, 8});
  SharedMemory& memory = service().shared_memory();
  memory.add("r", object.name(), 0, 64);
  serve::Parameters parameters = {{"shared_memory_region", std::string("r")},
                                  {"shared_memory_byte_size", std::int64_t{8}}};
  const serve::SharedPlacePtr place = memory.take_place(parameters, "input 'x'");
  EXPECT_TRUE(parameters.empty());
  memory.remove("r");
  std::array<float, 2> values{};
  place->region->read(place->offset, std::as_writable_bytes(std::span(values)));
  EXPECT_EQ(values, (std::array<float, 2>{7, 8}));
}

TEST_F(SharedTensors, StringsAreReadAsTheyTravel) {
  const SharedObject object(64);
  add("r", object.name(), 64);
  const auto ask = [&](int count, int bytes) {
    return http("POST", "/v2/models/echo_BYTES/infer",
                fmt::format(R"({{"inputs":[{{"name":"x","datatype":"BYTES","shape":[{}],{}}}]}})", count,
                            region_parameters("r", bytes)));
  };
  const Answer answer = ask(2, 8);  // two empty ones
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(ask(3, 8).status, 400);
  EXPECT_EQ(ask(1 << 30, 64).status, 400);
  object.put(0, {3e38F});
  EXPECT_EQ(ask(1, 64).status, 400);
}

TEST_F(SharedTensors, WrongRegistrations) {
  const auto refused = [&](const std::string& body, const std::string& part) {
    const Answer answer = http("POST", "/v2/systemsharedmemory/region/r/register", body);
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_NE(answer.error().find(part), std::string::npos) << answer.body;
  };
  refused("", "JSON");
  refused("{}", "\"key\" is missing");
  refused(R"({"key":"/colonnade_test_a"})", "\"byte_size\" is missing");
  refused(R"({"key":1,"byte_size":8})", "key");
  refused(R"({"key":"/colonnade_test_a","byte_size":-8})", "byte_size");
  refused(R"({"key":"/colonnade_test_a","offset":1.5,"byte_size":8})", "offset");
  refused(R"({"key":"/colonnade_test_a","byte_size":8,"byte_size":9})", "byte_size");
  EXPECT_EQ(http("POST", "/v2/cudasharedmemory/region/r/register", "{}").status, 501);
}

}  // namespace
}  // namespace colonnade::test
