// SPDX-License-Identifier: Apache-2.0
// Requests and what becomes of them.
#include "service_fixture.hpp"

namespace colonnade::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST_F(ServiceTest, AnswersAsTheLibraryDoes) {
  serve::ServiceOptions options;
  options.repositories = {"embedded:digits"};
  start(options);
  const Model model = Model::embedded("digits");
  Session session(model);
  std::mt19937 generator(3);
  for (const std::int64_t samples : {1, 3}) {
    Tensor image(DType::f32, {samples, 1, 28, 28});
    for (float& value : image.values<float>()) value = static_cast<float>(generator() % 256) / 255.0F;
    const std::vector<TensorView> views = {image};
    const std::vector<Tensor> expected = session.run(views);
    const InferenceResponse response = answer(request_of("digits", {input_of("image", image)}));
    EXPECT_EQ(response.model, "digits");
    EXPECT_EQ(response.version, 1);
    ASSERT_EQ(response.outputs.size(), expected.size());
    EXPECT_EQ(response.outputs[0].view.shape, expected[0].shape());
    const auto wanted = expected[0].values<float>();
    EXPECT_EQ(values_of<float>(response.outputs[0]), std::vector<float>(wanted.begin(), wanted.end()));
  }
}

TEST_F(ServiceTest, RequestsThatWaitAreMergedAndEachGetsItsOwn) {
  add_lookup(
      "max_batch_size: 8 dynamic_batching { preferred_batch_size: [ 8 ] max_queue_delay_microseconds: 5000000 }");
  start();
  Inbox inbox;
  std::vector<std::int64_t> asked = {7, 1, 9, 4, 0, 2, 8, 3};
  for (const std::int64_t index : asked) service().infer(lookup(index), inbox.slot());
  inbox.wait(asked.size());
  ASSERT_EQ(inbox.answered(), asked.size()) << inbox.last_failure();
  const auto responses = inbox.responses();
  for (std::size_t i = 0; i < asked.size(); ++i) {
    EXPECT_EQ(responses[i].outputs[0].view.shape, (Shape{1, 1}));
    EXPECT_EQ(values_of<float>(responses[i].outputs[0]), std::vector<float>{10.0F * static_cast<float>(asked[i])});
  }
  const inference::ModelStatistics stats = statistics("lookup");
  EXPECT_EQ(stats.execution_count(), 1u);
  EXPECT_EQ(stats.inference_count(), 8u);
  ASSERT_EQ(stats.batch_stats_size(), 1);
  EXPECT_EQ(stats.batch_stats(0).batch_size(), 8u);
}

TEST_F(ServiceTest, AFewRequestsBeforeASilenceAreAllAnswered) {
  add_lookup(
      "max_batch_size: 8 dynamic_batching { preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 300000 }");
  start();
  Inbox inbox;
  for (const std::int64_t index : {7, 1, 9}) {
    service().infer(lookup(index), inbox.slot());
    std::this_thread::sleep_for(milliseconds(100));
  }
  inbox.wait(3);
  EXPECT_EQ(inbox.answered(), 3u) << inbox.last_failure();
}

TEST_F(ServiceTest, OneBadRequestOfABatchDoesNotHarmItsNeighbours) {
  add_lookup(
      "max_batch_size: 4 dynamic_batching { preferred_batch_size: [ 4 ] max_queue_delay_microseconds: 5000000 }");
  start();
  Inbox good, bad;
  service().infer(lookup(1), good.slot());
  service().infer(lookup(2), good.slot());
  service().infer(lookup(99), bad.slot());
  service().infer(lookup(3), good.slot());
  good.wait(3);
  bad.wait(1);
  EXPECT_EQ(good.answered(), 3u) << good.last_failure();
  EXPECT_EQ(bad.answered(), 0u);
  EXPECT_NE(bad.last_failure().find("99"), std::string::npos) << bad.last_failure();
  const inference::ModelStatistics stats = statistics("lookup");
  EXPECT_EQ(stats.inference_stats().success().count(), 3u);
  EXPECT_EQ(stats.inference_stats().fail().count(), 1u);
}

TEST_F(ServiceTest, BadRequestsAreNamedAndNeverQueued) {
  add_lookup("max_batch_size: 4");
  start();
  const auto complains = [&](InferenceRequest request, const std::string& text, Code code = Code::invalid_argument) {
    const Status status = refusal(std::move(request));
    EXPECT_EQ(status.code, code) << status.message;
    EXPECT_NE(status.message.find(text), std::string::npos) << status.message;
  };
  const Tensor index(DType::i64, {1, 1});
  complains(request_of("other", {}), "Request for unknown model: 'other' is not found", Code::not_found);
  InferenceRequest request = lookup(1);
  request.version = 7;
  complains(std::move(request), "'lookup' version 7 is not found", Code::not_found);
  complains(request_of("lookup", {}), "expected 1 inputs but got 0 inputs for model 'lookup'");
  complains(request_of("lookup", {input_of("j", index)}), "unexpected inference input 'j' for model 'lookup'");
  complains(request_of("lookup", {input_of("i", index), input_of("i", index)}), "input 'i' already exists");
  complains(request_of("lookup", {input_of("i", Tensor(DType::f32, {1, 1}))}),
            "data-type is 'FP32', but model 'lookup' expects 'INT64'");
  complains(request_of("lookup", {input_of("i", Tensor(DType::i64, {1, 2}))}), "Expected [-1,1], got [1,2]");
  complains(request_of("lookup", {input_of("i", Tensor(DType::i64, {1}))}), "Expected [-1,1], got [1]");
  complains(request_of("lookup", {input_of("i", Tensor(DType::i64, Shape{}))}), "requires batch dimension");
  complains(lookup(1, 5), "batch-size must be <= 4 for 'lookup', got 5");
  complains(lookup(1, 0), "batch-size must be >= 1");
  request = lookup(1);
  request.outputs = {{"z", 0}};
  complains(std::move(request), "unexpected inference output 'z' for model 'lookup'");
  request = lookup(1);
  request.outputs = {{"y", 0}, {"y", 0}};
  complains(std::move(request), "output 'y' already requested");
  request = lookup(1);
  request.inputs[0].view.shape = {-1, 1};
  complains(std::move(request), "batch-size");
  request = lookup(1);
  request.inputs[0].view.data = nullptr;
  complains(std::move(request), "input 'i' has no data");
  EXPECT_EQ(statistics("lookup").execution_count(), 0u);
  EXPECT_GT(statistics("lookup").inference_stats().fail().count(), 10u);
}

TEST_F(ServiceTest, ClassesAreNamed) {
  repository.add("scores", echo_model({{"x", DType::f32, {-1, 4}}}));
  add_config("scores",
             "max_batch_size: 2 input { name: 'x' data_type: TYPE_FP32 dims: 4 } "
             "output { name: 'out_x' data_type: TYPE_FP32 dims: 4 label_filename: 'labels.txt' }");
  std::ofstream(repository.path() + "/scores/labels.txt") << "cat\ndog\ncow\n";
  start();
  Tensor scores(DType::f32, {1, 4});
  const std::vector<float> values = {0.5F, -1, 0.75F, 0.5F};
  std::copy(values.begin(), values.end(), scores.values<float>().begin());
  InferenceRequest request = request_of("scores", {input_of("x", std::move(scores))});
  request.outputs = {{"out_x", 3}};
  const InferenceResponse response = answer(std::move(request));
  ASSERT_EQ(response.outputs.size(), 1u);
  EXPECT_EQ(response.outputs[0].view.shape, (Shape{1, 3}));
  EXPECT_EQ(values_of<std::string>(response.outputs[0]),
            (std::vector<std::string>{"0.750000:2:cow", "0.500000:0:cat", "0.500000:3"}));
}

TEST_F(ServiceTest, AFullQueueRefusesAtOnce) {
  add_slow(200, "instance_group { count: 1 kind: KIND_CPU }");
  serve::ServiceOptions options;
  options.streams = 1;
  options.max_queue = 3;
  start(options);
  Inbox inbox;
  constexpr int kRequests = 12;
  for (int i = 0; i < kRequests; ++i) service().infer(slow(), inbox.slot());
  inbox.wait(kRequests);
  const int refused = inbox.failed(Code::resource_exhausted);
  EXPECT_GE(refused, 1);
  EXPECT_GE(inbox.answered(), 3u);
  EXPECT_EQ(static_cast<std::size_t>(refused) + inbox.answered(), std::size_t{kRequests});
  EXPECT_NE(inbox.last_failure().find("Exceeds maximum queue size"), std::string::npos);
}

TEST_F(ServiceTest, TimeoutsEndRequestsInTheQueueAndRuns) {
  add_slow(8000, "instance_group { count: 1 kind: KIND_CPU }");  // takes far longer than it may
  start();
  Inbox inbox;
  InferenceRequest running = slow(), waiting = slow();
  running.timeout = milliseconds(60);  // on a busy machine too the other one goes first
  waiting.timeout = milliseconds(10);
  service().infer(std::move(running), inbox.slot("running"));
  service().infer(std::move(waiting), inbox.slot("waiting"));
  inbox.wait(2);
  EXPECT_EQ(inbox.failed(Code::deadline_exceeded), 2);
  EXPECT_EQ(inbox.order(), (std::vector<std::string>{"waiting", "running"}));
  EXPECT_NE(
      service().metrics().find("nv_inference_request_failure{model=\"slow\",version=\"1\",reason=\"REJECTED\"} 2"),
      std::string::npos);
}

TEST_F(ServiceTest, WhoLeavesIsNotServed) {
  add_slow(2000, "instance_group { count: 1 kind: KIND_CPU }");
  start();
  std::stop_source client;
  Inbox inbox;
  for (int i = 0; i < 3; ++i) {
    InferenceRequest request = slow();
    request.stop = client.get_token();
    service().infer(std::move(request), inbox.slot());
  }
  std::this_thread::sleep_for(milliseconds(5));
  client.request_stop();
  inbox.wait(3);
  EXPECT_EQ(inbox.failed(Code::cancelled), 3);
  EXPECT_EQ(statistics("slow").execution_count(), 0u);
}

TEST_F(ServiceTest, AnswersKeepTheirOrderWhenAsked) {
  add_lookup("max_batch_size: 4 dynamic_batching { preserve_ordering: true }");
  start();
  Inbox inbox;
  std::vector<std::string> sent;
  for (int i = 0; i < 200; ++i) {
    sent.push_back(std::to_string(i));
    service().infer(lookup(i % 12), inbox.slot(sent.back()));  // some fail
  }
  inbox.wait(sent.size());
  EXPECT_EQ(inbox.order(), sent);
  EXPECT_GT(inbox.failed(Code::invalid_argument), 0);
}

TEST_F(ServiceTest, StatisticsAddUp) {
  add_lookup();
  start();
  EXPECT_EQ(service().config("lookup", "").max_batch_size(), 64);
  Inbox inbox;
  constexpr int kClients = 4, kEach = 50;
  std::vector<std::thread> clients;
  for (int client = 0; client < kClients; ++client)
    clients.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) service().infer(lookup(i % 10, 1 + i % 2), inbox.slot());
    });
  for (std::thread& client : clients) client.join();
  inbox.wait(std::size_t{kClients} * kEach);
  const inference::ModelStatistics stats = statistics("lookup");
  EXPECT_EQ(stats.inference_stats().success().count(), std::uint64_t{kClients} * kEach);
  EXPECT_EQ(stats.inference_count(), std::uint64_t{kClients} * kEach * 3 / 2);
  std::uint64_t runs = 0, samples = 0;
  for (const auto& batch : stats.batch_stats()) {
    runs += batch.compute_infer().count();
    samples += batch.compute_infer().count() * batch.batch_size();
  }
  EXPECT_EQ(runs, stats.execution_count());
  EXPECT_EQ(samples, stats.inference_count());
  const auto& times = stats.inference_stats();
  EXPECT_GE(times.success().ns(), times.queue().ns() + times.compute_infer().ns());
  EXPECT_GT(stats.last_inference(), 0u);
  const std::string metrics = service().metrics();
  EXPECT_NE(metrics.find("nv_inference_request_success{model=\"lookup\",version=\"1\"} 200"), std::string::npos);
  EXPECT_NE(metrics.find("nv_inference_count{model=\"lookup\",version=\"1\"} 300"), std::string::npos);
  EXPECT_NE(metrics.find("nv_inference_request_histogram_ms_count{model=\"lookup\",version=\"1\"} 200"),
            std::string::npos);
  EXPECT_NE(metrics.find("nv_inference_pending_request_count{model=\"lookup\",version=\"1\"} 0"), std::string::npos);
  for (const char* name : {"nv_cpu_utilization", "nv_cpu_memory_total_bytes", "nv_cpu_memory_used_bytes"})
    EXPECT_NE(metrics.find(name), std::string::npos) << name;
}

TEST_F(ServiceTest, DrainingAnswersWhatWasAcceptedAndRefusesTheRest) {
  add_lookup();
  start();
  Inbox inbox;
  std::atomic<int> sent{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> clients;
  for (int client = 0; client < 3; ++client)
    clients.emplace_back([&] {
      while (!over) {
        ++sent;
        service().infer(lookup(1), inbox.slot());
        std::this_thread::sleep_for(microseconds(100));
      }
    });
  inbox.wait(100);
  service().drain(std::chrono::seconds(30));
  EXPECT_FALSE(service().is_ready());
  EXPECT_TRUE(service().is_live());
  EXPECT_FALSE(service().is_ready("lookup", ""));
  const std::size_t answered = inbox.answered();
  std::this_thread::sleep_for(milliseconds(20));
  over = true;
  for (std::thread& client : clients) client.join();
  inbox.wait(static_cast<std::size_t>(sent));
  EXPECT_EQ(inbox.answered(), answered);
  EXPECT_EQ(inbox.answered() + static_cast<std::size_t>(inbox.failed(Code::unavailable)),
            static_cast<std::size_t>(sent));
}

}  // namespace
}  // namespace colonnade::test
