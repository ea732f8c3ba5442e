// SPDX-License-Identifier: Apache-2.0
// What a call of Session::run takes above the kernels that it runs: the same operators are called in a bare loop, on
// the same memory, by one thread.
//   colonnade-call-overhead MODEL...   one JSON object a line, times in microseconds
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>

#include "api/impl.hpp"

namespace colonnade::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 200;
constexpr double kRoundMicroseconds = 2000;

/// A program's instructions in order, and nothing else.
class Kernels {
 public:
  Kernels(const Program& program, std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs)
      : program_(program), arena_(static_cast<std::size_t>(program.arena_bytes)), pointers_(program.pointer_count + 1) {
    bases_.push_back(arena_.data());
    for (const TensorView& view : inputs) bases_.push_back(static_cast<std::byte*>(const_cast<void*>(view.data)));
    for (const MutableTensorView& view : outputs) bases_.push_back(static_cast<std::byte*>(view.data));
    for (const std::byte* constant : program.constants) bases_.push_back(const_cast<std::byte*>(constant));
  }

  void run() {
    for (const ProgramSegment& segment : program_.segments) {
      const auto strips = static_cast<std::int64_t>(segment.strip_views.size());
      for (std::int64_t round = 0; round < segment.images * std::max<std::int64_t>(1, strips); ++round) {
        StepContext context;
        context.bases = bases_.data();
        context.views = views_of(program_, segment, 0, round, strip_views_);
        context.image = strips > 0 ? round / strips : round;
        context.pointers = pointers_.data();
        context.scratch = reinterpret_cast<float*>(arena_.data() + segment.scratch_offset);
        for (const Step& step : segment.lists.front()) {
          context.row_begin = step.row_begin;
          context.row_end = step.row_end;
          context.chunk = step.chunk;
          program_.ops[step.node]->run(context);
        }
      }
    }
  }

 private:
  const Program& program_;
  AlignedBuffer arena_;
  std::vector<const float*> pointers_;
  std::vector<std::byte*> bases_;
  std::vector<View> strip_views_;
};

/// The smallest mean of a round: what the call takes when nobody disturbs it.
template <class Call>
double microseconds(Call&& call) {
  const auto time_of = [&](int calls) {
    const auto begin = Clock::now();
    for (int i = 0; i < calls; ++i) call();
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / calls;
  };
  const int calls = std::max(1, static_cast<int>(kRoundMicroseconds / std::max(0.01, time_of(100))));
  double least = time_of(calls);
  for (int round = 0; round < kRounds; ++round) least = std::min(least, time_of(calls));
  return least;
}

/// Kernels expect the mode of a run: see FlushSubnormals in the executor.
void flush_subnormals() {
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
}

nlohmann::json measure(const std::string& path) {
  Options options;
  options.threads = 1;
  const Model model = Model::load(path, options);
  const std::vector<Shape> shapes = model.resolve_shapes();
  const auto prepared = model.impl()->prepare(shapes);
  if (prepared->rest) throw Error(ErrorCode::unsupported, "not all of it is planned");
  std::vector<Tensor> inputs, outputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) inputs.emplace_back(model.inputs()[i].dtype, shapes[i]);
  for (std::size_t i = 0; i < prepared->program->output_shapes.size(); ++i)
    outputs.emplace_back(prepared->program->output_types[i], prepared->program->output_shapes[i]);
  const std::vector<TensorView> from(inputs.begin(), inputs.end());
  const std::vector<MutableTensorView> to(outputs.begin(), outputs.end());
  Session session(model);
  Kernels kernels(*prepared->program, from, to);
  const double run = microseconds([&] { session.run(from, to); });
  const double fresh = microseconds([&] { session.run(from); });
  flush_subnormals();
  const double bare = microseconds([&] { kernels.run(); });
  return {{"model", path},   {"kernels_us", bare},        {"run_us", run},
          {"new_us", fresh}, {"overhead_us", run - bare}, {"new_overhead_us", fresh - bare}};
}

}  // namespace
}  // namespace colonnade::bench

int main(int argc, char** argv) {
  try {
    for (int i = 1; i < argc; ++i) std::printf("%s\n", colonnade::bench::measure(argv[i]).dump().c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "colonnade-call-overhead: %s\n", error.what());
    return 1;
  }
}
