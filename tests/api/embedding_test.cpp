// SPDX-License-Identifier: Apache-2.0
// What programs that embed the library hook into: reading, sizes of dimensions, log lines, memory.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "api/runs.hpp"
#include "colonnade/colonnade.hpp"
#include "onnx/builder.hpp"

namespace colonnade::test {
namespace {

using onnx_import::testing::as_bytes;
using onnx_import::testing::float_tensor;
using onnx_import::testing::ModelBuilder;
using onnx_import::testing::raw_tensor;

/// y = x w, with weights too large to be parsed.
std::string product_model() {
  std::vector<float> weights(64 * 128);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 19) * 0.1f - 0.9f;
  ModelBuilder model;
  model.input("x", {-1, 64}).constant(raw_tensor("w", onnx::TensorProto::FLOAT, {64, 128}, weights));
  model.node("MatMul", {"x", "w"}, {"y"}).output("y");
  return model.bytes();
}

Tensor ones(Shape shape) {
  Tensor tensor(DType::f32, std::move(shape));
  for (float& x : tensor.values<float>()) x = 1;
  return tensor;
}

Tensor run_fresh(const Model& model, const Tensor& input) {
  Session session(model);
  const TensorView view = input;
  return std::move(session.run({&view, 1}).front());
}

TEST(FromReader, ReadsWhatIsNeededWhenItIsNeeded) {
  const std::string bytes = product_model();
  auto alive = std::make_shared<int>(0);
  std::weak_ptr<int> watch = alive;
  std::atomic<std::size_t> read{0}, most{0};
  {
    const Model model = Model::from_reader(
        [&bytes, &read, &most, alive = std::move(alive)](std::uint64_t offset, std::span<std::byte> into) {
          ASSERT_LE(offset + into.size(), bytes.size());
          std::memcpy(into.data(), bytes.data() + offset, into.size());
          read += into.size();
          most = std::max(most.load(), into.size());
        },
        bytes.size());
    const std::size_t at_load = read;
    EXPECT_LT(at_load, bytes.size()) << "the weights stay where they are";
    const Tensor input = ones({3, 64});
    const Tensor expected = run_fresh(Model::from_bytes(as_bytes(bytes)), input);
    const Tensor found = run_fresh(model, input);
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), expected.byte_size()), 0);
    EXPECT_GE(read - at_load, 64u * 128 * 4);
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired()) << "nothing reads any more";
}

TEST(FromReader, ItsFailuresAreErrors) {
  const std::string bytes = product_model();
  const auto throwing = [](std::uint64_t, std::span<std::byte>) { throw std::runtime_error("no key\nfor it"); };
  expect_error(ErrorCode::io, "no key", [&] { Model::from_reader(throwing, bytes.size()); });
  expect_error(ErrorCode::io, "cannot read",
               [&] { Model::from_reader([](std::uint64_t, std::span<std::byte>) { throw 7; }, bytes.size()); });
  expect_error(ErrorCode::invalid_argument, "no reader", [&] { Model::from_reader({}, bytes.size()); });
  expect_error(ErrorCode::invalid_model, "no bytes", [&] { Model::from_reader(throwing, 0); });
  expect_error(ErrorCode::invalid_model, "2 GiB", [&] { Model::from_reader(throwing, ~std::uint64_t{0}); });
  bool broken = false;
  const Model model = Model::from_reader(
      [&](std::uint64_t offset, std::span<std::byte> into) {
        if (broken) throw std::runtime_error("gone");
        std::memcpy(into.data(), bytes.data() + offset, into.size());
      },
      bytes.size());
  broken = true;
  expect_error(ErrorCode::io, "gone", [&] { run_fresh(model, ones({3, 64})); });
  broken = false;
  EXPECT_EQ(run_fresh(model, ones({3, 64})).shape(), (Shape{3, 128}));
}

/// Two inputs that share a symbol.
std::string pair_model() {
  ModelBuilder model;
  model.input("a", {-1, 4}).input("b", {-1, 4}).node("Add", {"a", "b"}, {"y"}).output("y");
  onnx::ModelProto& proto = model.proto;
  for (auto& input : *proto.mutable_graph()->mutable_input())
    input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("batch");
  return model.bytes();
}

TEST(Dimensions, AreSetBySymbol) {
  Options options;
  options.dimensions = {{"batch", 6}};
  const std::string bytes = pair_model();
  EXPECT_EQ(Model::from_bytes(as_bytes(bytes)).inputs()[0].dim_names[0], "batch");
  const Model model = Model::from_bytes(as_bytes(bytes), options);
  for (const TensorInfo& info : model.inputs()) {
    EXPECT_EQ(info.shape, (Shape{6, 4}));
    EXPECT_EQ(info.dim_names[0], "");
  }
  EXPECT_EQ(model.outputs()[0].shape, (Shape{6, 4}));
  EXPECT_EQ(model.resolve_shapes().front(), (Shape{6, 4}));
  Session session(model);
  const Tensor six = ones({6, 4}), two = ones({2, 4});
  const std::vector<TensorView> right = {six, six}, wrong = {two, two};
  EXPECT_EQ(session.run(right).front().shape(), (Shape{6, 4}));
  expect_error(ErrorCode::invalid_input, "expected shape [6,4], found [2,4]", [&] { session.run(wrong); });
}

TEST(Dimensions, OfOneSymbolAreOfOneSizeUnlessAnyIsAskedFor) {
  const std::string bytes = pair_model();
  const Tensor one = ones({1, 4}), three = ones({3, 4}), two = ones({2, 4});
  const std::vector<TensorView> apart = {one, three}, wrong = {two, three};
  const Model strict = Model::from_bytes(as_bytes(bytes));
  expect_error(ErrorCode::invalid_input, "input 'b': dimension 'batch' is 3 at axis 0, another input has 1",
               [&] { Session(strict).run(apart); });
  Options options;
  options.dimensions = {{"batch", -1}};
  const Model model = Model::from_bytes(as_bytes(bytes), options);
  EXPECT_EQ(model.inputs()[1].dim_names[0], "batch");
  EXPECT_EQ(model.resolve_shapes({{"a", {1, 4}}, {"b", {3, 4}}})[1], (Shape{3, 4}));
  Session session(model);
  EXPECT_EQ(session.run(apart).front().shape(), (Shape{3, 4}));
  EXPECT_EQ(session.run(apart).front().values<float>()[11], 2);
  EXPECT_EQ(model.evaluate_reference(std::vector<Datum>{one, three}).front().tensor().shape(), (Shape{3, 4}));
  expect_error(ErrorCode::invalid_model, "Add", [&] { session.run(wrong); });
}

TEST(Dimensions, WrongOnesAreRefused) {
  const std::string bytes = pair_model();
  const auto load = [&](const std::map<std::string, std::int64_t>& dimensions) {
    Options options;
    options.dimensions = dimensions;
    Model::from_bytes(as_bytes(bytes), options);
  };
  expect_error(ErrorCode::invalid_argument, "no open dimension 'width'; there are: batch", [&] {
    load({{"width", 3}});
  });
  expect_error(ErrorCode::invalid_argument, "'batch' must be at least 0, found -2", [&] { load({{"batch", -2}}); });
  expect_error(ErrorCode::invalid_argument, "no open dimension ''", [&] { load({{"", 1}}); });
}

/// Restores the default when a test ends.
struct LogOfTest {
  LogOfTest() {
    set_log_handler([this](LogLevel level, std::string_view line) { lines.emplace_back(level, line); });
  }
  ~LogOfTest() { set_log_handler({}); }
  std::vector<std::pair<LogLevel, std::string>> lines;
};

TEST(Log, LoadingAndPlanningAreTold) {
  const std::string bytes = product_model();
  LogOfTest log;
  const Model model = Model::from_bytes(as_bytes(bytes));
  run_fresh(model, ones({2, 64}));
  ASSERT_GE(log.lines.size(), 2u);
  EXPECT_EQ(log.lines[0].first, LogLevel::info);
  EXPECT_NE(log.lines[0].second.find("loaded"), std::string::npos);
  EXPECT_EQ(log.lines[1].first, LogLevel::debug);
  for (const auto& [level, line] : log.lines) EXPECT_EQ(line.find('\n'), std::string::npos);
}

TEST(Log, WithoutAHandlerNothingButTroubleIsWritten) {
  testing::internal::CaptureStderr();
  run_fresh(Model::embedded("digits"), ones({1, 1, 28, 28}));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Log, AHandlerMayLoadModelsAndThrow) {
  int lines = 0;
  set_log_handler([&](LogLevel level, std::string_view) {
    if (level == LogLevel::info && ++lines == 1) Model::embedded("digits");
    throw std::runtime_error("a handler's trouble");
  });
  EXPECT_EQ(run_fresh(Model::embedded("digits"), ones({1, 1, 28, 28})).size(), 10);
  set_log_handler({});
  EXPECT_EQ(lines, 2);
}

/// Memory of hooks: counted, and nothing may be left.
struct Pool {
  std::mutex mutex;
  std::size_t held = 0, most = 0, calls = 0, limit = ~std::size_t{0};

  static void* allocate(std::size_t bytes, std::size_t alignment, void* user) {
    auto& pool = *static_cast<Pool*>(user);
    const std::scoped_lock lock(pool.mutex);
    if (pool.held + bytes > pool.limit) return nullptr;
    pool.held += bytes;
    pool.most = std::max(pool.most, pool.held);
    ++pool.calls;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  static void release(void* memory, std::size_t bytes, void* user) {
    auto& pool = *static_cast<Pool*>(user);
    const std::scoped_lock lock(pool.mutex);
    pool.held -= bytes;
    std::free(memory);
  }
  AllocationHooks hooks() { return {allocate, release, this}; }
};

TEST(AllocationHooks, HoldArenasTensorsAndWeights) {
  const Tensor before = ones({1, 1, 28, 28});
  Tensor late;
  Pool pool;
  set_allocation_hooks(pool.hooks());
  {
    const Model model = Model::embedded("digits");
    Session session(model);
    const TensorView view = before;
    late = std::move(session.run({&view, 1}).front());
    const Session::MemoryStats stats = session.memory_stats();
    EXPECT_GE(pool.held, stats.weights_bytes + stats.arena_bytes);
    EXPECT_GT(stats.weights_bytes, 0u);
    EXPECT_GT(pool.calls, 3u);
  }
  set_allocation_hooks({});
  EXPECT_EQ(pool.held, late.byte_size()) << "the answer alone is left";
  const std::size_t calls = pool.calls;
  const Tensor other = run_fresh(Model::embedded("digits"), before);
  EXPECT_EQ(pool.calls, calls);
  EXPECT_EQ(std::memcmp(other.data(), late.data(), late.byte_size()), 0);
  late = Tensor();
  EXPECT_EQ(pool.held, 0u) << "memory goes back to where it came from";
}

TEST(AllocationHooks, WithoutMemoryThereIsAnError) {
  const Tensor input = ones({1, 1, 28, 28});
  Pool pool;
  pool.limit = 1 << 12;
  set_allocation_hooks(pool.hooks());
  expect_error(ErrorCode::resource_limit, "cannot allocate", [&] { run_fresh(Model::embedded("digits"), input); });
  set_allocation_hooks({});
  EXPECT_EQ(pool.held, 0u);
}

TEST(AllocationHooks, HalvesAndCrookedMemoryAreRefused) {
  Pool pool;
  AllocationHooks half = pool.hooks();
  half.release = nullptr;
  expect_error(ErrorCode::invalid_argument, "null", [&] { set_allocation_hooks(half); });
  alignas(64) static std::byte memory[256];
  static int released = 0;
  set_allocation_hooks({[](std::size_t, std::size_t, void*) -> void* { return memory + 8; },
                        [](void*, std::size_t, void*) { ++released; }, nullptr});
  expect_error(ErrorCode::invalid_argument, "aligned", [] { Tensor(DType::u8, {100}); });
  set_allocation_hooks({});
  EXPECT_EQ(released, 1);
}

TEST(LargeResults, LieWhereFreedOnesLay) {
  const Model model = Model::from_bytes(as_bytes(product_model()));
  const Tensor large = ones({4096, 64}), other = ones({9000, 64});
  const TensorView view = large, other_view = other;
  Session session(model);
  const void* const first = session.run({&view, 1}).front().data();
  Tensor kept = std::move(session.run({&view, 1}).front());
#if !defined(COLONNADE_ASAN)  // there freed memory is not used again
  EXPECT_EQ(kept.data(), first);
#endif
  const Tensor next = std::move(session.run({&other_view, 1}).front());
  EXPECT_NE(next.data(), kept.data());
  session.shrink();
  session = Session(model);
  EXPECT_EQ(kept.values<float>()[4095 * 128], next.values<float>()[0]);
}

}  // namespace
}  // namespace colonnade::test
