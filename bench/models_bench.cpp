// SPDX-License-Identifier: Apache-2.0
// The embedded models through the public API, by schedule and threads.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "colonnade/colonnade.hpp"

namespace colonnade {
namespace {

void run(benchmark::State& state, const std::string& name, const Options& options) {
  const Model model = Model::embedded(name, options);
  Session session(model);
  std::vector<Tensor> inputs;
  const std::vector<Shape> shapes = model.resolve_shapes();
  for (std::size_t i = 0; i < shapes.size(); ++i) inputs.emplace_back(model.inputs()[i].dtype, shapes[i]);
  const std::vector<TensorView> views(inputs.begin(), inputs.end());
  std::vector<Tensor> outputs = session.run(views);
  const std::vector<MutableTensorView> results(outputs.begin(), outputs.end());
  for (auto _ : state) session.run(views, results);
  state.counters["arena_MiB"] = static_cast<double>(session.stats().arena_bytes) / (1 << 20);
  state.counters["threads"] = session.stats().threads;
}

const bool registered = [] {
  for (const std::string& name : Model::embedded_names())
    for (const Schedule schedule : {Schedule::automatic, Schedule::layers})
      for (const int threads : {1, 0}) {
        Options options;
        options.schedule = schedule;
        options.threads = threads;
        const std::string words = schedule == Schedule::layers ? "layers" : "auto";
        const std::string label = "models/" + name + "/" + words + (threads == 1 ? "/1_thread" : "/all_threads");
        benchmark::RegisterBenchmark(label.c_str(), [=](benchmark::State& state) { run(state, name, options); })
            ->Unit(benchmark::kMicrosecond)
            ->UseRealTime();
      }
  return true;
}();

}  // namespace
}  // namespace colonnade
