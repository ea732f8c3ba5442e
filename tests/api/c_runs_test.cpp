// SPDX-License-Identifier: Apache-2.0
// Runs by the C interface: how they end, hooks, profiles.
#include <future>
#include <thread>

#include "c_handles.hpp"

namespace colonnade::test {
namespace {

using namespace c_interface;

/// A session of the embedded digits, memory for its tensors, and options.
struct DigitRun {
  ModelHandle model = embedded("digits");
  SessionHandle session = session_of(model);
  std::vector<float> picture = std::vector<float>(784), scores = std::vector<float>(10);
  TensorHandle input = borrowed({1, 1, 28, 28}, picture), output = borrowed({1, 10}, scores);
  colonnade_run_options options{};

  DigitRun() { options.struct_size = sizeof options; }
  colonnade_status* run() const {
    colonnade_tensor *from = input.get(), *to = output.get();
    return colonnade_session_run(session.get(), &from, 1, &to, 1, &options);
  }
};

TEST(CInterface, RunsEndInTime) {
  DigitRun digits;
  digits.options.timeout_ns = 1;
  expect_status(COLONNADE_DEADLINE, "", digits.run());
  digits.options.timeout_ns = INT64_MAX;
  expect_ok(digits.run());
  digits.options.timeout_ns = -1;
  expect_status(COLONNADE_INVALID_ARGUMENT, "timeout_ns", digits.run());
}

TEST(CInterface, RunsMayHaveFewerThreads) {
  DigitRun digits;
  digits.options.threads = 1;
  expect_ok(digits.run());
  digits.options.threads = -1;
  expect_status(COLONNADE_INVALID_ARGUMENT, "threads", digits.run());
}

TEST(CInterface, ErrorsOfRunsThatWereStartedComeToTheCallback) {
  const ModelHandle model = embedded("digits");
  const SessionHandle session = session_of(model);
  std::vector<float> picture(784), scores(9);
  const TensorHandle input = borrowed({1, 1, 28, 28}, picture), output = borrowed({1, 9}, scores);
  colonnade_tensor *from = input.get(), *to = output.get();
  std::promise<std::string> message;
  const colonnade_done done = [](const colonnade_status* status, void* user) {
    static_cast<std::promise<std::string>*>(user)->set_value(colonnade_status_message(status));
  };
  expect_ok(colonnade_session_run_async(session.get(), &from, 1, &to, 1, nullptr, done, &message));
  EXPECT_NE(message.get_future().get().find("expected shape [1,10], found [1,9]"), std::string::npos);
  expect_status(COLONNADE_INVALID_ARGUMENT, "done is null",
                colonnade_session_run_async(session.get(), &from, 1, &to, 1, nullptr, nullptr, nullptr));
}

TEST(CInterface, HooksAreCalledWithTheirUser) {
  int lines = 0;
  colonnade_set_log_handler(
      [](std::int32_t, const char* line, void* user) { *static_cast<int*>(user) += line[0] != 0; }, &lines);
  static std::size_t held = 0;
  held = 0;
  colonnade_allocation_hooks hooks{};
  hooks.struct_size = sizeof hooks;
  hooks.user = &held;
  hooks.allocate = [](std::size_t bytes, std::size_t alignment, void* user) {
    *static_cast<std::size_t*>(user) += bytes;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  };
  hooks.release = [](void* memory, std::size_t bytes, void* user) {
    *static_cast<std::size_t*>(user) -= bytes;
    std::free(memory);
  };
  expect_ok(colonnade_set_allocation_hooks(&hooks));
  colonnade_tensor* tensor = nullptr;
  const std::int64_t shape[] = {1000};
  expect_ok(colonnade_tensor_create(COLONNADE_FLOAT32, shape, 1, &tensor));
  EXPECT_EQ(held, 4000u);
  expect_ok(colonnade_set_allocation_hooks(nullptr));
  colonnade_tensor_free(tensor);
  EXPECT_EQ(held, 0u);
  embedded("digits");
  colonnade_set_log_handler(nullptr, nullptr);
  EXPECT_EQ(lines, 1);
}

TEST(CInterface, ProfilesAreJson) {
  const ModelHandle model = embedded("digits");
  const SessionHandle session = session_of(model);
  char* text = nullptr;
  expect_status(COLONNADE_INVALID_ARGUMENT, "nothing was run", colonnade_session_profile(session.get(), &text));
  expect_ok(colonnade_session_set_profiling(session.get(), 1));
  std::vector<float> picture(784), scores(10);
  const TensorHandle input = borrowed({1, 1, 28, 28}, picture), output = borrowed({1, 10}, scores);
  colonnade_tensor *from = input.get(), *to = output.get();
  expect_ok(colonnade_session_run(session.get(), &from, 1, &to, 1, nullptr));
  expect_ok(colonnade_session_profile(session.get(), &text));
  EXPECT_NE(std::string(Text(text).get()).find("\"operators\""), std::string::npos);
  expect_ok(colonnade_session_trace(session.get(), &text));
  EXPECT_NE(std::string(Text(text).get()).find("\"traceEvents\""), std::string::npos);
  expect_ok(colonnade_describe_machine(&text));
  EXPECT_NE(std::string(Text(text).get()).find("\"isa\""), std::string::npos);
}

}  // namespace
}  // namespace colonnade::test
