// SPDX-License-Identifier: Apache-2.0
// The public API on the embedded models: errors that say what is wrong, sessions, limits, JSON.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "api/runs.hpp"
#include "colonnade/colonnade.hpp"
#include "kernels/base/isa.hpp"

namespace colonnade::test {
namespace {

using nlohmann::json;

constexpr double kTierTolerance = 1e-4;

double largest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  double largest = 0;
  for (std::size_t i = 0; i < a.values<float>().size(); ++i) {
    const double difference =
        std::abs(static_cast<double>(a.values<float>()[i]) - static_cast<double>(b.values<float>()[i]));
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

/// Expects an Error with this code whose message holds all of `words`; answers the message.
std::string expect_words(ErrorCode code, const std::vector<std::string>& words, const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    for (const std::string& word : words)
      EXPECT_NE(message.find(word), std::string::npos) << "no '" << word << "' in: " << message;
    return message;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

Shape image_shape(const Model& model, std::int64_t batch) {
  Shape shape = model.resolve_shapes().front();
  shape.front() = batch;
  return shape;
}

Options with_threads(int threads) {
  Options options;
  options.threads = threads;
  return options;
}

TEST(ModelErrors, GarbageIsAnInvalidModel) {
  const std::string text = "this is no ONNX model at all";
  expect_words(ErrorCode::invalid_model, {}, [&] { Model::from_bytes(std::as_bytes(std::span(text))); });
  expect_words(ErrorCode::invalid_model, {}, [&] { Model::from_bytes({}); });
}

TEST(ModelErrors, MissingFileIsNamed) {
  const std::string path = (std::filesystem::temp_directory_path() / "colonnade-no-such-model.onnx").string();
  expect_words(ErrorCode::io, {"colonnade-no-such-model.onnx"}, [&] { Model::load(path); });
}

TEST(ModelErrors, WithoutDescriptorsNoFileIsRead) {
#if defined(COLONNADE_ASAN)
  GTEST_SKIP() << "the sanitizer needs descriptors to look at exceptions";
#endif
  const auto file = std::filesystem::temp_directory_path() / ("colonnade-" + std::to_string(::getpid()) + ".onnx");
  std::ofstream(file) << "model";
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  expect_words(ErrorCode::io, {file.filename().string(), std::strerror(EMFILE)}, [&] { Model::load(file.string()); });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  std::filesystem::remove(file);
}

TEST(ModelErrors, UnknownEmbeddedNameListsTheOthers) {
  expect_words(ErrorCode::invalid_argument, {"'resnet'", "mobilenet", "digits", "unet"},
               [] { Model::embedded("resnet"); });
  EXPECT_EQ(Model::embedded_names().size(), 3u);
}

TEST(ModelErrors, UnknownIsaOrBlockingAndNegativeThreadsAreRefused) {
  Options options;
  options.isa = "sse9";
  expect_words(ErrorCode::invalid_argument, {"sse9"}, [&] { Model::embedded("digits", options); });
  options = {};
  options.blocking = "vast";
  expect_words(ErrorCode::invalid_argument, {"blocking", "'vast'", "2m-far"},
               [&] { Model::embedded("digits", options); });
  expect_words(ErrorCode::invalid_argument, {"-1"}, [] { Model::embedded("digits", with_threads(-1)); });
}

TEST(ResolveShapes, FillsChecksAndNames) {
  const Model model = Model::embedded("digits");
  const TensorInfo& input = model.inputs().front();
  ASSERT_EQ(input.shape.front(), -1);
  EXPECT_FALSE(input.dim_names.front().empty());
  const Shape one = image_shape(model, 1), five = image_shape(model, 5);
  EXPECT_EQ(model.resolve_shapes().front(), one);
  EXPECT_EQ(model.resolve_shapes({{input.name, five}}).front(), five);
  expect_words(ErrorCode::invalid_argument, {"'nobody'", input.name}, [&] {
    model.resolve_shapes({{"nobody", five}});
  });
  expect_words(ErrorCode::invalid_argument, {input.name, "4 dimensions", "found 2"}, [&] {
    model.resolve_shapes({{input.name, {1, 2}}});
  });
  Shape wrong = one;
  wrong.back() = 31;
  expect_words(ErrorCode::invalid_argument, {input.name, "must be 28", "found 31"}, [&] {
    model.resolve_shapes({{input.name, wrong}});
  });
  wrong = one;
  wrong.front() = -2;
  expect_words(ErrorCode::invalid_argument, {input.name, "found -2"}, [&] {
    model.resolve_shapes({{input.name, wrong}});
  });
}

TEST(SessionErrors, NameInputExpectedAndFound) {
  const Model model = Model::embedded("digits");
  const std::string name = model.inputs().front().name;
  Session session(model);
  const Shape shape = image_shape(model, 1);
  const Tensor doubles(DType::f64, shape), narrow(DType::f32, {1, 1, 28, 20}), flat(DType::f32, {28, 28});
  const Tensor good = random_tensor(shape, 1);
  expect_words(ErrorCode::invalid_input, {name, "float32", "float64"}, [&] { run_one(session, doubles); });
  expect_words(ErrorCode::invalid_input, {name, "28,28]", "[1,1,28,20]"}, [&] { run_one(session, narrow); });
  expect_words(ErrorCode::invalid_input, {name, "[28,28]"}, [&] { run_one(session, flat); });
  expect_words(ErrorCode::invalid_input, {name, "null"}, [&] {
    const TensorView view(DType::f32, shape, nullptr);
    session.run({&view, 1});
  });
  expect_words(ErrorCode::invalid_argument, {"expected 1", "found 0"}, [&] { session.run({}); });
  Session fresh(model);
  EXPECT_TRUE(same_bits(run_one(session, good), run_one(fresh, good)));
}

TEST(SessionRuns, IntoTheCallersMemory) {
  const Model model = Model::embedded("digits");
  Session session(model);
  const Tensor input = random_tensor(image_shape(model, 3), 2);
  const Tensor expected = run_one(session, input);
  const TensorView in = input;
  Tensor output(DType::f32, expected.shape());
  const MutableTensorView out = output;
  session.run({&in, 1}, {&out, 1});
  EXPECT_TRUE(same_bits(output, expected));
  const std::vector<Shape> shapes{input.shape()};
  EXPECT_EQ(session.output_shapes(shapes), std::vector<Shape>{expected.shape()});
}

TEST(SessionRuns, RefuseOutputsThatDoNotFit) {
  const Model model = Model::embedded("digits");
  Session session(model);
  const std::string name = model.outputs().front().name;
  const Tensor input = random_tensor(image_shape(model, 2), 2);
  const TensorView in = input;
  const Tensor expected = run_one(session, input);
  Shape wrong = expected.shape();
  wrong.front() += 1;
  Tensor larger(DType::f32, wrong), ints(DType::i32, expected.shape());
  const MutableTensorView large_view = larger, ints_view = ints;
  expect_words(ErrorCode::invalid_argument, {name, "[2,10]", "[3,10]"}, [&] {
    session.run({&in, 1}, {&large_view, 1});
  });
  expect_words(ErrorCode::invalid_argument, {name, "float32", "int32"}, [&] {
    session.run({&in, 1}, {&ints_view, 1});
  });
  expect_words(ErrorCode::invalid_argument, {"expected 1", "found 0"}, [&] {
    session.run({&in, 1}, std::span<const MutableTensorView>());
  });
}

TEST(SessionRuns, TwoSessionsInTwoThreadsAgree) {
  const Model model = Model::embedded("digits", with_threads(2));
  const Tensor input = random_tensor(image_shape(model, 4), 3);
  Session alone(model);
  const Tensor expected = run_one(alone, input);
  std::vector<int> wrong(2, 0);
  const auto work = [&](std::size_t slot) {
    Session session(model);
    for (int i = 0; i < 20; ++i) wrong[slot] += same_bits(run_one(session, input), expected) ? 0 : 1;
  };
  std::thread first(work, 0u), second(work, 1u);
  first.join();
  second.join();
  EXPECT_EQ(wrong, (std::vector<int>{0, 0}));
}

TEST(SessionRuns, PlanCacheStaysBounded) {
  const Model roomy = Model::embedded("digits");
  Session probe(roomy);
  run_one(probe, random_tensor(image_shape(roomy, 58), 1));
  const Session::MemoryStats of_largest = probe.memory_stats();
  Options options;
  options.plan_cache_bytes = of_largest.arena_bytes + 3 * of_largest.plan_bytes;
  const Model model = Model::embedded("digits", options);
  Session session(model);
  std::size_t most = 0;
  for (std::uint32_t i = 0; i < 50; ++i) {
    const Tensor input = random_tensor(image_shape(model, i % 2 == 0 ? 8 : 9 + i), i);
    const Tensor found = run_one(session, input);
    Session fresh(roomy);
    ASSERT_TRUE(same_bits(found, run_one(fresh, input))) << "run " << i;
    ASSERT_GE(session.stats().cached_plans, 1u);
    ASSERT_TRUE(session.stats().cached_plans == 1 || session.stats().cached_bytes <= options.plan_cache_bytes);
    most = std::max(most, session.stats().cached_plans);
  }
  EXPECT_GT(most, 1u);
  EXPECT_LT(most, 26u) << "of 26 shapes";
  options.plan_cache_bytes = 1;
  const Model tight = Model::embedded("digits", options);
  Session single(tight);
  for (std::int64_t batch = 1; batch <= 4; ++batch) {
    run_one(single, random_tensor(image_shape(tight, batch), 1));
    EXPECT_EQ(single.stats().cached_plans, 1u);
  }
}

TEST(SessionRuns, ThreadsGiveTheSameBits) {
  for (const std::string name : {"digits", "unet"}) {
    const Model one = Model::embedded(name, with_threads(1)), two = Model::embedded(name, with_threads(2));
    Session a(one), b(two);
    const Tensor input = random_tensor(image_shape(one, name == "digits" ? 3 : 1), 4);
    EXPECT_TRUE(same_bits(run_one(a, input), run_one(b, input))) << name;
    EXPECT_EQ(a.stats().threads, 1);
    EXPECT_GE(b.stats().threads, name == "digits" ? 1 : 2) << name;  // brief runs have a team where rates say so
  }
}

TEST(SessionOptions, StrictAcceptsTheEmbeddedModels) {
  Options options;
  options.strict = true;
  for (const std::string& name : Model::embedded_names()) {
    const Model model = Model::embedded(name, options);
    EXPECT_NO_THROW(Session(model).prepare()) << name;
    EXPECT_TRUE(json::parse(model.describe())["islands"].empty()) << name;
  }
}

TEST(SessionOptions, MemoryLimitNamesTheSmallestThatDoes) {
  Options options;
  options.memory_limit_bytes = 64;
  const Model model = Model::embedded("digits", options);
  const Tensor input = random_tensor(image_shape(model, 2), 5);
  Session refused(model);
  const std::string message =
      expect_words(ErrorCode::resource_limit, {"64 bytes", "at least "}, [&] { run_one(refused, input); });
  const std::size_t place = message.find("at least ");
  ASSERT_NE(place, std::string::npos);
  options.memory_limit_bytes = std::stoull(message.substr(place + std::strlen("at least ")));
  const Model limited = Model::embedded("digits", options), free = Model::embedded("digits");
  Session narrow(limited), wide(free);
  EXPECT_TRUE(same_bits(run_one(narrow, input), run_one(wide, input)));
  EXPECT_LE(narrow.stats().arena_bytes, options.memory_limit_bytes);
  --options.memory_limit_bytes;
  const Model below = Model::embedded("digits", options);
  Session too_small(below);
  expect_words(ErrorCode::resource_limit, {}, [&] { run_one(too_small, input); });
}

TEST(SessionOptions, TiersAgree) {
  for (const std::string name : {"digits", "unet"}) {
    Options options;
    options.isa = kernels::name_of(kernels::usable_features());
    const Model best = Model::embedded(name, options);
    const Tensor input = random_tensor(image_shape(best, 1), 6);
    Session session(best);
    const Tensor expected = run_one(session, input);
    for (const kernels::Isa isa : kernels::kAllIsas) {
      if (!kernels::usable_features().contains(isa)) continue;
      options.isa = kernels::name_of(isa);
      const Model model = Model::embedded(name, options);
      Session other(model);
      EXPECT_LE(largest_difference(run_one(other, input), expected), kTierTolerance) << name << " " << options.isa;
      EXPECT_EQ(json::parse(model.describe())["isa"], options.isa);
    }
  }
}

TEST(SessionOptions, ExactMathAgreesWithTheReference) {
  Options options;
  options.math = Math::exact;
  const Model model = Model::embedded("digits", options);
  const Tensor input = random_tensor(image_shape(model, 2), 7);
  const TensorView view = input;
  Session session(model);
  EXPECT_LE(largest_difference(run_one(session, input), model.evaluate_reference({&view, 1}).front()), kTierTolerance);
  EXPECT_EQ(json::parse(model.describe())["math"], "exact");
}

void expect_keys(const json& object, const std::vector<std::string>& keys) {
  for (const std::string& key : keys)
    EXPECT_TRUE(object.contains(key)) << key << " in " << object.dump().substr(0, 200);
}

TEST(Json, DescribeHasThePlan) {
  const Model model = Model::embedded("digits");
  const json plan = json::parse(model.describe({{model.inputs().front().name, image_shape(model, 3)}}));
  expect_keys(plan, {"inputs", "outputs", "segments", "islands", "weights_bytes", "arena_bytes", "flop", "threads",
                     "schedule"});
  EXPECT_EQ(plan["inputs"][0]["shape"], json(image_shape(model, 3)));
  EXPECT_EQ(plan["outputs"][0]["shape"], json(Shape{3, 10}));
  ASSERT_FALSE(plan["segments"].empty());
  expect_keys(plan["segments"][0], {"index", "kind", "operators", "columns", "level_bytes", "flop", "ends_because"});
  EXPECT_GT(plan["flop"], 0);
  EXPECT_GT(plan["weights_bytes"], 0);
}

TEST(Json, ProfileAndTraceCountTheRuns) {
  const Model model = Model::embedded("digits");
  Session session(model);
  expect_words(ErrorCode::invalid_argument, {}, [&] { session.profile(); });
  const Tensor input = random_tensor(image_shape(model, 1), 8);
  session.set_profiling(true);
  for (int i = 0; i < 3; ++i) run_one(session, input);
  const json profile = json::parse(session.profile());
  expect_keys(profile, {"segments", "operators"});
  ASSERT_FALSE(profile["operators"].empty());
  for (const json& op : profile["operators"]) {
    expect_keys(op, {"node", "op", "segment", "ms", "calls"});
    EXPECT_GE(op["calls"], 1);
    EXPECT_LT(op["segment"].get<std::size_t>(), profile["segments"].size());
  }
  const json trace = json::parse(session.trace());
  expect_keys(trace, {"traceEvents"});
  ASSERT_FALSE(trace["traceEvents"].empty());
  expect_keys(trace["traceEvents"].back(), {"name", "ph", "ts", "dur", "pid", "tid"});
}

TEST(Json, MachineWithoutMeasuring) {
  const json machine = json::parse(describe_machine(false));
  expect_keys(machine, {"cpu_model", "isa", "blocking", "cores", "physical_cores", "default_threads", "numa_nodes",
                        "nodes", "cpu_quota", "caches", "rates"});
  EXPECT_GE(machine["default_threads"], 1);
  expect_keys(machine["rates"], {"source", "fma_gflops", "l2_gbs", "barrier_us", "work"});
}

std::int64_t digit_of(const Tensor& picture) {
  const Model model = Model::embedded("digits");
  Session session(model);
  const Tensor scores = run_one(session, picture);
  const auto values = scores.values<float>();
  EXPECT_EQ(values.size(), 10u);
  return std::max_element(values.begin(), values.end()) - values.begin();
}

TEST(Digits, ReadsABarAsOne) {
  Tensor picture(DType::f32, {1, 1, 28, 28});
  for (std::size_t row = 4; row <= 24; ++row)
    for (std::size_t column = 13; column <= 15; ++column) picture.values<float>()[row * 28 + column] = 1;
  EXPECT_EQ(digit_of(picture), 1);
}

TEST(Digits, ReadsARingAsZero) {
  Tensor picture(DType::f32, {1, 1, 28, 28});
  for (int row = 0; row < 28; ++row)
    for (int column = 0; column < 28; ++column) {
      const double y = (row - 13.5) / 9.0, x = (column - 13.5) / 6.5, radius = std::sqrt(x * x + y * y);
      if (radius > 0.75 && radius < 1.1) picture.values<float>()[static_cast<std::size_t>(row * 28 + column)] = 1;
    }
  EXPECT_EQ(digit_of(picture), 0);
}

}  // namespace
}  // namespace colonnade::test
