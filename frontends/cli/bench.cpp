// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "bench_lengths.hpp"
#include "bench_result.hpp"
#include "files.hpp"
#include "model_io.hpp"
#include "process.hpp"

namespace colonnade::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// What all streams of one benchmark share.
struct Shared {
  const BenchOptions& options;
  const Model& model;
  const std::vector<Shape>& shapes;
  const ShapeMap& overrides;
  std::barrier<> together;
  std::mutex setup;
  std::atomic<std::int64_t> finished_runs{0};
  std::atomic<bool> failed{false};
};

/// What one stream found out.
struct StreamResult {
  double first_run_ms = 0;
  std::vector<double> latencies_ms;
  Clock::time_point begin;
  Clock::time_point end;
  std::size_t peak_rss_bytes = 0;
  Session::Stats stats;
  std::string profile;
  std::string trace;
  std::exception_ptr error;
};

/// A session with its inputs and, where shapes are known beforehand, its outputs.
class Stream {
 public:
  Stream(const Model& model, std::span<const Shape> shapes, const ShapeMap& overrides, std::uint64_t seed)
      : session_(model), inputs_(random_inputs(model, shapes, seed)), input_views_(views_of(inputs_)) {
    session_.prepare(overrides);
    allocate_outputs(model, session_.output_shapes(shapes));
  }

  void run() {
    if (preallocated_) return session_.run(input_views_, output_views_);
    outputs_ = session_.run(input_views_);
  }
  Session& session() { return session_; }

 private:
  void allocate_outputs(const Model& model, const std::vector<Shape>& shapes) {
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const bool open = std::any_of(shapes[i].begin(), shapes[i].end(), [](std::int64_t d) { return d < 0; });
      if (open || size_of(model.outputs()[i].dtype) == 0) return;
    }
    for (std::size_t i = 0; i < shapes.size(); ++i) outputs_.emplace_back(model.outputs()[i].dtype, shapes[i]);
    output_views_.assign(outputs_.begin(), outputs_.end());
    preallocated_ = true;
  }

  Session session_;
  std::vector<Tensor> inputs_;
  std::vector<TensorView> input_views_;
  std::vector<Tensor> outputs_;
  std::vector<MutableTensorView> output_views_;
  bool preallocated_ = false;
};

void time_runs(Shared& shared, Stream& stream, StreamResult& result) {
  const BenchOptions& options = shared.options;
  const double limit_ms = options.duration_seconds * 1000;
  const auto wanted = static_cast<std::size_t>(options.iterations);
  result.begin = Clock::now();
  while (!shared.failed.load(std::memory_order_relaxed)) {
    const auto start = Clock::now();
    stream.run();
    result.latencies_ms.push_back(milliseconds_since(start));
    shared.finished_runs.fetch_add(1, std::memory_order_relaxed);
    if (wanted > 0 ? result.latencies_ms.size() >= wanted : milliseconds_since(result.begin) >= limit_ms) break;
  }
  result.end = Clock::now();
}

void profile_runs(const BenchOptions& options, Stream& stream, StreamResult& result) {
  stream.session().set_profiling(true);
  for (int i = 0; i < kProfiledRuns; ++i) stream.run();
  result.profile = stream.session().profile();
  if (!options.trace.empty()) result.trace = stream.session().trace();
}

std::optional<Stream> prepare_stream(Shared& shared, std::uint64_t seed, StreamResult& result) {
  const std::lock_guard<std::mutex> one_at_a_time(shared.setup);
  std::optional<Stream> stream(std::in_place, shared.model, shared.shapes, shared.overrides, seed);
  const auto start = Clock::now();
  stream->run();
  result.first_run_ms = milliseconds_since(start);
  for (int i = 0; i < shared.options.warmup; ++i) stream->run();
  result.stats = stream->session().stats();
  constexpr std::size_t kExpectedRuns = 1 << 16;
  result.latencies_ms.reserve(kExpectedRuns);
  return stream;
}

/// The life of one stream's thread; the first one also profiles, when the others are done.
void run_stream(Shared& shared, std::size_t index, StreamResult& result) {
  const auto guarded = [&](auto&& step) {
    if (shared.failed.load()) return;
    try {
      step();
    } catch (...) {
      result.error = std::current_exception();
      shared.failed = true;
    }
  };
  std::optional<Stream> stream;
  guarded([&] { stream = prepare_stream(shared, shared.options.seed + index, result); });
  shared.together.arrive_and_wait();
  guarded([&] { time_runs(shared, *stream, result); });
  shared.together.arrive_and_wait();
  result.peak_rss_bytes = peak_resident_bytes();
  if (index == 0) guarded([&] { profile_runs(shared.options, *stream, result); });
}

void show_progress(const BenchOptions& options, Shared& shared, const std::atomic<int>& living) {
  Progress progress("bench", !options.quiet && !options.json);
  const auto start = Clock::now();
  while (living.load() > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const double runs = static_cast<double>(shared.finished_runs.load());
    if (runs == 0) continue;
    progress.update(options.iterations > 0 ? runs / (static_cast<double>(options.iterations) * options.streams)
                                           : milliseconds_since(start) / (1000 * options.duration_seconds));
  }
}

std::vector<StreamResult> run_streams(const BenchOptions& options, const Model& model, const std::vector<Shape>& shapes,
                                      const ShapeMap& overrides) {
  Shared shared{options, model, shapes, overrides, std::barrier<>(options.streams), {}, {}, {}};
  std::vector<StreamResult> results(static_cast<std::size_t>(options.streams));
  std::atomic<int> living{options.streams};
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < results.size(); ++i)
      threads.emplace_back([&, i] {
        run_stream(shared, i, results[i]);
        --living;
      });
    show_progress(options, shared, living);
  }
  for (const StreamResult& result : results)
    if (result.error) std::rethrow_exception(result.error);
  return results;
}

int total_threads(const BenchOptions& options, const Json& machine) {
  if (options.engine.threads > 0 && options.engine.threads < options.streams)
    throw Error(ErrorCode::invalid_argument, fmt::format("{} streams need at least {} threads, --threads is {}",
                                                         options.streams, options.streams, options.engine.threads));
  if (options.engine.threads > 0) return options.engine.threads;
  const double by_machine = number_in(machine, "default_threads", std::max(1u, std::thread::hardware_concurrency()));
  return std::max(static_cast<int>(by_machine), options.streams);
}

void collect(const std::vector<StreamResult>& streams, BenchResult& result) {
  Clock::time_point begin = streams[0].begin;
  Clock::time_point end = streams[0].end;
  for (const StreamResult& stream : streams) {
    begin = std::min(begin, stream.begin);
    end = std::max(end, stream.end);
    result.latencies_ms.insert(result.latencies_ms.end(), stream.latencies_ms.begin(), stream.latencies_ms.end());
    result.arena_bytes += stream.stats.arena_bytes;
    result.peak_rss_bytes = std::max(result.peak_rss_bytes, stream.peak_rss_bytes);
  }
  std::sort(result.latencies_ms.begin(), result.latencies_ms.end());
  result.elapsed_ms = std::chrono::duration<double, std::milli>(end - begin).count();
  result.threads = streams[0].stats.threads * static_cast<int>(streams.size());
  result.plan_ms = streams[0].stats.plan_ms;
  result.first_run_ms = streams[0].first_run_ms;
  result.weights_bytes = streams[0].stats.weights_bytes;
  result.profile = parse_json(streams[0].profile);
}

}  // namespace

int execute(const BenchOptions& options, std::string& out) {
  if (!options.lengths.empty()) return bench_lengths(options, out);
  BenchResult result;
  result.model = options.engine.model;
  result.streams = options.streams;
  result.batch = std::max<std::int64_t>(options.shape.batch, 1);
  result.machine = parse_json(describe_machine(false));
  const int threads = total_threads(options, result.machine) / options.streams;
  const Options library = library_options(options.engine, threads);
  result.idle_rss_bytes = resident_bytes();
  const auto start = Clock::now();
  const Model model = open_model(options.engine, library);
  result.load_ms = milliseconds_since(start);
  const ShapeMap overrides = shape_overrides(model.inputs(), options.shape);
  const std::vector<Shape> shapes = model.resolve_shapes(overrides);
  const std::vector<StreamResult> streams = run_streams(options, model, shapes, overrides);
  collect(streams, result);
  result.description = parse_json(model.describe(overrides));
  result.peak_gflops = measure_fma_peak(result.threads, options.engine.isa);
  if (!options.trace.empty()) write_file(options.trace, streams[0].trace);
  out += options.json ? dump(to_json(result)) : to_text(result, options.quiet);
  return kGood;
}

}  // namespace colonnade::cli
