// SPDX-License-Identifier: Apache-2.0
// Models that come, change and go while they are asked.
#include "frontends/server/log.hpp"
#include "service_fixture.hpp"

namespace colonnade::test {
namespace {

using std::chrono::milliseconds;

class LifecycleTest : public ServiceTest {
 protected:
  serve::ServiceOptions explicitly(std::vector<std::string> models) const {
    serve::ServiceOptions options;
    options.repositories = {repository.path()};
    options.control = serve::ControlMode::explicit_;
    options.load_models = std::move(models);
    return options;
  }

  /// "READY", or "UNAVAILABLE: why"
  std::string state_of(const std::string& model, const std::string& version = "1") {
    const inference::RepositoryIndexResponse index = service().index(false);
    for (const auto& row : index.models())
      if (row.name() == model && row.version() == version)
        return row.reason().empty() ? row.state() : row.state() + ": " + row.reason();
    return "absent";
  }
};

TEST_F(LifecycleTest, TheNewestVersionIsServedUnlessThePolicySaysMore) {
  repository.add("echo", echo_model({{"x", DType::f32, {-1}}}), 1);
  repository.add("echo", echo_model({{"x", DType::f32, {-1}}}), 3);
  repository.add("all", echo_model({{"x", DType::f32, {-1}}}), 1);
  repository.add("all", echo_model({{"x", DType::f32, {-1}}}), 2);
  add_config("all", "version_policy: { all { } }");
  start();
  EXPECT_EQ(state_of("echo", "3"), "READY");
  EXPECT_EQ(state_of("echo", "1"), "absent");
  EXPECT_EQ(service().metadata("all", "").versions_size(), 2);
  InferenceRequest request = request_of("all", {input_of("x", Tensor(DType::f32, {2}))});
  EXPECT_EQ(answer(request).version, 2);
  request.version = 1;
  EXPECT_EQ(answer(request).version, 1);
  EXPECT_EQ(service().statistics("all", "1").model_stats_size(), 1);
  EXPECT_EQ(service().statistics("", "").model_stats_size(), 3);
}

TEST_F(LifecycleTest, ModelsThatWereCompiledAreLoadedFromTheirFiles) {
  add_lookup();
  const Repository compiled;
  serve::ServiceOptions options;
  options.compiled_folder = compiled.path();
  const std::filesystem::path file = options.compiled_folder / "lookup.1.compiled";
  start(options);
  EXPECT_EQ(values_of<float>(answer(lookup(4)).outputs[0]), std::vector<float>{40});
  ASSERT_TRUE(std::filesystem::exists(file));
  const auto written = std::filesystem::last_write_time(file);
  start(options);
  EXPECT_EQ(values_of<float>(answer(lookup(4)).outputs[0]), std::vector<float>{40});
  EXPECT_EQ(std::filesystem::last_write_time(file), written);
  std::ofstream(file) << "damaged";
  start(options);
  EXPECT_EQ(values_of<float>(answer(lookup(4)).outputs[0]), std::vector<float>{40});
  EXPECT_GT(std::filesystem::file_size(file), 100u);
}

TEST_F(LifecycleTest, AModelWithoutVersionsIsListedWithTheReason) {
  add_lookup();
  std::filesystem::create_directory(repository.path() + "/flat");
  std::ofstream(repository.path() + "/flat/model.onnx") << "model";
  serve::ServiceOptions options;
  options.strict_readiness = false;
  ::testing::internal::CaptureStderr();
  start(options);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find(R"("event":"model cannot be loaded","model":"flat")"), std::string::npos) << log;
  EXPECT_TRUE(state_of("flat", "").starts_with("UNAVAILABLE: expected folders of versions")) << state_of("flat", "");
  EXPECT_EQ(state_of("lookup"), "READY");
  start(explicitly({"lookup"}));
  EXPECT_TRUE(state_of("flat", "").starts_with("UNAVAILABLE: expected folders of versions")) << state_of("flat", "");
}

TEST_F(LifecycleTest, LinesOfTheLibraryNameTheModel) {
  add_lookup();
  const Repository compiled;
  serve::ServiceOptions options;
  options.compiled_folder = compiled.path();
  std::ofstream(options.compiled_folder / "lookup.1.compiled") << "damaged";
  set_log_handler([](LogLevel level, std::string_view line) { serve::log(level, "library", {{"message", line}}); });
  ::testing::internal::CaptureStderr();
  start(options);
  const std::string log = ::testing::internal::GetCapturedStderr();
  set_log_handler({});
  EXPECT_NE(log.find(R"("event":"library","model":"lookup","version":1,"message":)"), std::string::npos) << log;
}

TEST_F(LifecycleTest, ABrokenModelHarmsNoOther) {
  add_lookup();
  repository.add("broken", "no model");
  serve::ServiceOptions options;
  options.strict_readiness = false;
  start(options);
  EXPECT_TRUE(state_of("broken").starts_with("UNAVAILABLE: ")) << state_of("broken");
  EXPECT_EQ(state_of("broken").find(repository.path()), std::string::npos) << state_of("broken");
  EXPECT_EQ(refusal(request_of("broken", {})).code, Code::unavailable);
  EXPECT_EQ(values_of<float>(answer(lookup(4)).outputs[0]), std::vector<float>{40});
}

TEST_F(LifecycleTest, StrictlyNothingIsReadyBeforeEverythingIs) {
  add_lookup();
  repository.add("broken", "no model");
  serve::ServiceOptions options;
  options.repositories = {repository.path()};
  serve::Service strict(options);
  for (int i = 0; i < 1000 && !strict.is_ready("lookup", ""); ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(strict.is_ready("lookup", ""));
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_FALSE(strict.is_ready());
}

TEST_F(LifecycleTest, ClientsLoadAndUnload) {
  add_lookup();
  repository.add("echo", echo_model({{"x", DType::f32, {-1}}}));
  start(explicitly({"lookup"}));
  EXPECT_EQ(state_of("echo", ""), "UNAVAILABLE");
  EXPECT_EQ(refusal(request_of("echo", {})).code, Code::not_found);
  service().load("echo", {});
  EXPECT_EQ(state_of("echo"), "READY");
  service().unload("lookup");
  EXPECT_EQ(state_of("lookup"), "UNAVAILABLE: unloaded");
  EXPECT_EQ(refusal(lookup(1)).code, Code::unavailable);
  EXPECT_TRUE(service().is_ready());
  EXPECT_THROW(service().load("missing", {}), serve::Failure);
  EXPECT_THROW(service().load("../lookup", {}), serve::Failure);
  EXPECT_THROW(service().unload("missing"), serve::Failure);
  service().load("lookup", {});
  EXPECT_EQ(values_of<float>(answer(lookup(4)).outputs[0]), std::vector<float>{40});
}

TEST_F(LifecycleTest, OnlyExplicitModeLetsClientsLoad) {
  add_lookup();
  start();
  EXPECT_THROW(service().load("lookup", {}), serve::Failure);
  EXPECT_THROW(service().unload("lookup"), serve::Failure);
}

TEST_F(LifecycleTest, ALoadMayBringConfigurationAndFile) {
  add_lookup();
  start(explicitly({"lookup"}));
  service().load("lookup", {{"config", R"({"max_batch_size": 2, "dynamic_batching": {}})"}});
  EXPECT_EQ(service().config("lookup", "").max_batch_size(), 2);
  service().load(
      "new", {{"config", R"({"max_batch_size": 0})"}, {"file:5/model.onnx", echo_model({{"x", DType::f32, {-1}}})}});
  EXPECT_EQ(answer(request_of("new", {input_of("x", Tensor(DType::f32, {3}))})).version, 5);
  EXPECT_THROW(service().load("lookup", {{"config", "{"}}), serve::Failure);
  EXPECT_EQ(values_of<float>(answer(lookup(4)).outputs[0]), std::vector<float>{40});
}

TEST_F(LifecycleTest, AFailedReloadKeepsWhatServes) {
  add_lookup();
  start(explicitly({"lookup"}));
  repository.add("lookup", "no model any more");
  EXPECT_THROW(service().load("lookup", {}), serve::Failure);
  EXPECT_TRUE(state_of("lookup").starts_with("READY: ")) << state_of("lookup");
  EXPECT_EQ(values_of<float>(answer(lookup(4)).outputs[0]), std::vector<float>{40});
  EXPECT_TRUE(service().is_ready());
}

TEST_F(LifecycleTest, ReloadsUnderLoadLoseNothing) {
  add_lookup();
  start(explicitly({"lookup"}));
  Inbox inbox;
  std::atomic<bool> over{false};
  std::atomic<std::size_t> sent{0};
  std::vector<std::thread> clients;
  for (int client = 0; client < 3; ++client)
    clients.emplace_back([&] {
      while (!over) {
        const std::size_t mine = ++sent;
        service().infer(lookup(static_cast<std::int64_t>(mine % 10)), inbox.slot());
        if (mine % 16 == 0) inbox.wait(mine > 64 ? mine - 64 : 0);
      }
    });
  for (int i = 0; i < 5; ++i)
    service().load("lookup", {{"config", i % 2 == 0 ? R"({"max_batch_size": 4, "dynamic_batching": {}})" : "{}"}});
  over = true;
  for (std::thread& client : clients) client.join();
  inbox.wait(sent);
  EXPECT_EQ(inbox.answered(), sent.load()) << inbox.last_failure();
  // What was counted survives a reload.
  EXPECT_EQ(statistics("lookup").inference_stats().success().count(), sent.load());
}

TEST_F(LifecycleTest, UnloadingAnswersWhatIsUnderWay) {
  add_slow(20);
  start(explicitly({"slow"}));
  Inbox inbox;
  for (int i = 0; i < 10; ++i) service().infer(slow(), inbox.slot());
  service().unload("slow");
  EXPECT_EQ(inbox.answered(), 10u) << inbox.last_failure();
}

TEST_F(LifecycleTest, PollingSeesNewChangedAndMissingModels) {
  const auto age = [&](const std::string& name) {  // files that are just being written are left alone
    const auto past = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
    for (const auto& file : std::filesystem::recursive_directory_iterator(repository.path() + "/" + name))
      std::filesystem::last_write_time(file.path(), past);
  };
  const auto eventually = [](const auto& condition) {
    for (int i = 0; i < 1000 && !condition(); ++i) std::this_thread::sleep_for(milliseconds(10));
    return condition();
  };
  add_lookup();
  repository.add("echo", echo_model({{"x", DType::f32, {-1}}}));
  serve::ServiceOptions options;
  options.repositories = {repository.path()};
  options.control = serve::ControlMode::poll;
  options.poll_every = std::chrono::seconds(1);
  start(options);
  repository.add("late", echo_model({{"x", DType::f32, {-1}}}));
  age("late");
  std::filesystem::remove_all(repository.path() + "/echo");
  add_config("lookup", "max_batch_size: 16");
  age("lookup");
  EXPECT_TRUE(eventually([&] { return service().is_ready("late", ""); }));
  EXPECT_TRUE(eventually([&] { return !service().is_ready("echo", ""); }));
  EXPECT_TRUE(eventually([&] { return service().config("lookup", "").max_batch_size() == 16; }));
}

TEST_F(LifecycleTest, WarmUpRunsWhatTheConfigurationAsksFor) {
  add_lookup(
      "model_warmup { name: 'first' batch_size: 2 inputs { key: 'i' value { data_type: TYPE_INT64 dims: 1 random_data: "
      "true } } }");
  repository.add("bad", lookup_model());
  add_config("bad",
             "model_warmup { name: 'wrong' batch_size: 1 inputs { key: 'i' value { data_type: TYPE_INT64 dims: 1 "
             "input_data_file: 'absent' } } }");
  serve::ServiceOptions options;
  options.strict_readiness = false;
  start(options);
  EXPECT_EQ(state_of("lookup"), "READY");
  EXPECT_EQ(statistics("lookup").execution_count(), 0u);
  EXPECT_NE(state_of("bad").find("warm-up sample 'wrong'"), std::string::npos) << state_of("bad");
}

}  // namespace
}  // namespace colonnade::test
