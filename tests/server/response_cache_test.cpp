// SPDX-License-Identifier: Apache-2.0
// Answers that are kept: what is equal and what is not, bounds, reloads, models that must run each time.
#include "frontends/server/response_cache.hpp"

#include <fmt/format.h>

#include "frontends/onnx/proto.hpp"
#include "frontends/server/raw_tensor.hpp"
#include "server_process.hpp"
#include "service_fixture.hpp"

namespace colonnade::test {
namespace {

using serve::Job;
using serve::ResponseCache;

constexpr const char* kKept = "response_cache { enable: true }";

class ResponseCacheTest : public ServiceTest {
 protected:
  static serve::ServiceOptions with_cache(std::size_t bytes = 1 << 20) {
    serve::ServiceOptions options;
    options.response_cache = bytes;
    return options;
  }
  std::pair<std::uint64_t, std::uint64_t> hits_and_misses(const std::string& model) {
    const auto stats = statistics(model).inference_stats();
    return {stats.cache_hit().count(), stats.cache_miss().count()};
  }
  /// The value of a metric without labels.
  double metric(const std::string& name) {
    const std::string text = service().metrics(), start = "\n" + name + " ";
    const std::size_t at = text.find(start);
    EXPECT_NE(at, std::string::npos) << name;
    return std::stod(text.substr(at + start.size()));
  }
};

TEST_F(ResponseCacheTest, EqualRequestsRunOnce) {
  add_lookup(kKept);
  start(with_cache());
  for (int round = 0; round < 3; ++round) {
    for (const std::int64_t index : {2, 7}) {
      InferenceRequest request = lookup(index);
      request.id = fmt::format("{}-{}", round, index);
      const InferenceResponse response = answer(std::move(request));
      EXPECT_EQ(response.id, fmt::format("{}-{}", round, index));
      EXPECT_EQ(values_of<float>(response.outputs.at(0)), std::vector<float>{static_cast<float>(10 * index)});
    }
  }
  EXPECT_EQ(hits_and_misses("lookup"), std::pair(std::uint64_t{4}, std::uint64_t{2}));
  EXPECT_EQ(statistics("lookup").inference_count(), 2u);
  EXPECT_EQ(statistics("lookup").inference_stats().success().count(), 6u);
  EXPECT_NE(service().metrics().find("nv_cache_num_hits_per_model{model=\"lookup\",version=\"1\"} 4"),
            std::string::npos);
  EXPECT_EQ(metric("colonnade_cache_entries"), 2);
  EXPECT_GT(metric("colonnade_cache_bytes"), 0);
}

TEST_F(ResponseCacheTest, OtherShapesAndOutputsAreOtherRequests) {
  add_lookup(kKept);
  start(with_cache());
  EXPECT_EQ(answer(lookup(3, 1)).outputs[0].view.shape, (Shape{1, 1}));
  EXPECT_EQ(answer(lookup(3, 2)).outputs[0].view.shape, (Shape{2, 1}));
  InferenceRequest classified = lookup(3, 1);
  classified.outputs.push_back({"y", 1});
  EXPECT_EQ(answer(classified).outputs[0].view.dtype, DType::string);
  EXPECT_EQ(answer(lookup(3, 1)).outputs[0].view.dtype, DType::f32);
  EXPECT_EQ(hits_and_misses("lookup"), std::pair(std::uint64_t{1}, std::uint64_t{3}));
}

TEST_F(ResponseCacheTest, IsOffWithoutBytesOrConfiguration) {
  add_lookup(kKept);
  repository.add("plain", lookup_model());
  start();
  for (int i = 0; i < 2; ++i) answer(lookup(1));
  EXPECT_EQ(hits_and_misses("lookup"), std::pair(std::uint64_t{0}, std::uint64_t{0}));
  start(with_cache());
  for (int i = 0; i < 2; ++i) {
    InferenceRequest request = lookup(1);
    request.model = "plain";
    answer(std::move(request));
  }
  EXPECT_EQ(hits_and_misses("plain"), std::pair(std::uint64_t{0}, std::uint64_t{0}));
}

TEST_F(ResponseCacheTest, FailuresAreNotKept) {
  add_lookup(kKept);
  start(with_cache());
  for (int i = 0; i < 2; ++i) refusal(lookup(99));
  EXPECT_EQ(hits_and_misses("lookup"), std::pair(std::uint64_t{0}, std::uint64_t{2}));
  EXPECT_EQ(metric("colonnade_cache_entries"), 0);
}

TEST_F(ResponseCacheTest, AReloadForgets) {
  add_lookup(kKept);
  serve::ServiceOptions options = with_cache();
  options.control = serve::ControlMode::explicit_;
  options.load_models = {"lookup"};
  start(options);
  EXPECT_EQ(values_of<float>(answer(lookup(4)).outputs[0]), std::vector<float>{40});
  std::string other = lookup_model();
  const float before = 40, after = 41;
  const std::string from(reinterpret_cast<const char*>(&before), 4), to(reinterpret_cast<const char*>(&after), 4);
  ASSERT_NE(other.find(from), std::string::npos);
  other.replace(other.find(from), 4, to);
  service().load("lookup", {{"config", "{\"response_cache\":{\"enable\":true}}"}, {"file:1/model.onnx", other}});
  EXPECT_EQ(values_of<float>(answer(lookup(4)).outputs[0]), std::vector<float>{41});
  EXPECT_EQ(metric("colonnade_cache_entries"), 1) << "those of the old load are gone";
  service().unload("lookup");
  EXPECT_EQ(metric("colonnade_cache_entries"), 0);
}

/// ONNX bytes: "y" is "x" [1] and a random number.
std::string random_model() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto& graph = *model.mutable_graph();
  graph.set_name("random");
  const auto describe = [](onnx::ValueInfoProto& info, const char* name) {
    info.set_name(name);
    auto* type = info.mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx_import::data_type_of(DType::f32));
    type->mutable_shape()->add_dim()->set_dim_value(1);
  };
  describe(*graph.add_input(), "x");
  describe(*graph.add_output(), "y");
  const auto node = [&graph](const char* type, std::vector<std::string> inputs, const char* output) {
    auto& made = *graph.add_node();
    made.set_op_type(type);
    for (const std::string& input : inputs) made.add_input(input);
    made.add_output(output);
  };
  node("RandomNormalLike", {"x"}, "noise");
  node("Add", {"x", "noise"}, "y");
  return model.SerializeAsString();
}

TEST_F(ResponseCacheTest, WhatIsRandomRunsEachTime) {
  repository.add("random", random_model());
  add_config("random", kKept);
  start(with_cache());
  const auto ask_once = [&] {
    return values_of<float>(answer(request_of("random", {input_of("x", Tensor(DType::f32, {1}))})).outputs[0]).at(0);
  };
  const float first = ask_once(), second = ask_once();
  EXPECT_NE(first, second);
  EXPECT_EQ(hits_and_misses("random"), std::pair(std::uint64_t{0}, std::uint64_t{0}));
}

TEST_F(ResponseCacheTest, OrderIsKeptRatherThanAnswers) {
  add_lookup("max_batch_size: 8 dynamic_batching { preserve_ordering: true } response_cache { enable: true }");
  start(with_cache());
  for (int i = 0; i < 2; ++i) answer(lookup(1));
  EXPECT_EQ(hits_and_misses("lookup"), std::pair(std::uint64_t{0}, std::uint64_t{0}));
}

TEST_F(ResponseCacheTest, TakesItsBytesOfTheMemoryLimit) {
  add_lookup(kKept);
  serve::ServiceOptions options = with_cache(2 << 20);
  options.repositories = {repository.path()};
  options.memory_limit = 1 << 20;
  EXPECT_THROW(serve::Service{options}, serve::Failure);
  options.memory_limit = 64 << 20;
  start(options);
  EXPECT_GE(metric("colonnade_memory_taken_bytes"), 2 << 20);
}

Job job_of(std::vector<TensorView> inputs) {
  Job job;
  job.inputs = std::move(inputs);
  job.outputs.push_back({0});
  return job;
}

TEST(ResponseCacheKey, TellsApartWhatJoinsToTheSameBytes) {
  const float one[] = {1, 2, 3, 4};
  const std::string a[] = {"ab", "c"}, b[] = {"a", "bc"};
  const std::vector<Job> jobs = [&] {
    std::vector<Job> all;
    all.push_back(job_of({{DType::f32, {4}, one}}));
    all.push_back(job_of({{DType::f32, {2, 2}, one}}));
    all.push_back(job_of({{DType::i32, {4}, one}}));
    all.push_back(job_of({{DType::f32, {2}, one}, {DType::f32, {2}, one + 2}}));
    all.push_back(job_of({{DType::f32, {1}, one}, {DType::f32, {3}, one + 1}}));
    all.push_back(job_of({{DType::string, {2}, a}}));
    all.push_back(job_of({{DType::string, {2}, b}}));
    return all;
  }();
  std::set<std::string> keys;
  for (const Job& job : jobs) keys.insert(ResponseCache::key_of(1, job));
  keys.insert(ResponseCache::key_of(2, jobs[0]));
  EXPECT_EQ(keys.size(), jobs.size() + 1);
  EXPECT_EQ(ResponseCache::key_of(1, jobs[0]), ResponseCache::key_of(1, jobs[0]));
}

TEST(ResponseCacheBounds, WhatWasNotAskedForTheLongestTimeGoesFirst) {
  serve::Memory memory(0);
  ResponseCache cache(40'000, memory);
  const auto outputs = [](std::size_t bytes) {
    auto tensor = std::make_shared<Tensor>(DType::u8, Shape{static_cast<std::int64_t>(bytes)});
    const TensorView view = *tensor;
    return std::vector<serve::OutputTensor>{{"y", view, tensor}};
  };
  for (const char* key : {"a", "b", "c"}) cache.add(1, key, outputs(10'000));
  EXPECT_NE(cache.find("a"), nullptr);
  cache.add(1, "d", outputs(10'000));
  EXPECT_EQ(cache.find("b"), nullptr);
  for (const char* key : {"a", "c", "d"}) EXPECT_NE(cache.find(key), nullptr) << key;
  cache.add(1, "huge", outputs(41'000));
  EXPECT_EQ(cache.find("huge"), nullptr);
  for (int i = 0; i < 10'000; ++i) {
    cache.add(2, fmt::format("{}", i), outputs(static_cast<std::size_t>(i) % 3000));
    const auto counts = cache.counts();
    ASSERT_LE(counts.bytes, 40'000u);
    ASSERT_LE(counts.entries, 40u);
  }
  EXPECT_GT(cache.counts().evictions, 9000u);
  const auto held = cache.find("9999");
  cache.forget(2);
  EXPECT_EQ(cache.counts().entries, 0u);
  EXPECT_EQ(cache.counts().bytes, 0u);
  EXPECT_EQ(held->at(0).view.shape, Shape{9999 % 3000}) << "who has an answer keeps it";
}

TEST(ResponseCacheProcess, IsAnOption) {
  Repository repository;
  repository.add("lookup", lookup_model());
  std::ofstream(repository.path() + "/lookup/config.pbtxt") << kKept;
  ServerProcess server({repository.path(), "--response-cache", "1M"});
  const int port = server.http_port();
  ASSERT_GT(port, 0);
  wait_until_ready(port);
  Client client(port);
  for (int i = 0; i < 3; ++i) {
    const Answer answer = client.ask("POST", "/v2/models/lookup/infer",
                                     R"({"inputs":[{"name":"i","datatype":"INT64","shape":[1,1],"data":[5]}]})");
    EXPECT_EQ(answer.status, 200);
    EXPECT_NE(answer.body.find("\"data\":[50"), std::string::npos) << answer.body;
  }
  const std::string metrics = client.ask("GET", "/metrics").body;
  EXPECT_NE(metrics.find("nv_cache_num_hits_per_model{model=\"lookup\",version=\"1\"} 2"), std::string::npos);
  EXPECT_NE(metrics.find("colonnade_cache_limit_bytes 1048576"), std::string::npos) << metrics;
}

}  // namespace
}  // namespace colonnade::test
