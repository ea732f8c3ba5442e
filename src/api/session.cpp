// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/impl.hpp"

namespace colonnade {
namespace {

constexpr double kNanosecondsPerMillisecond = 1e6;

struct Entry {
  explicit Entry(std::shared_ptr<const Prepared> plan) : prepared(std::move(plan)), executor(prepared->program) {}

  std::shared_ptr<const Prepared> prepared;
  Executor executor;
  std::size_t bytes() const { return executor.bytes(); }
};

bool same_shapes(const std::vector<Shape>& shapes, std::span<const TensorView> inputs) {
  return std::equal(shapes.begin(), shapes.end(), inputs.begin(), inputs.end(),
                    [](const Shape& shape, const TensorView& view) { return shape == view.shape; });
}

}  // namespace

/// Plans, most recently used first.
struct Session::Impl {
  std::shared_ptr<const Model::Impl> model;
  std::list<std::unique_ptr<Entry>> entries;
  bool profiling = false;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;

  Entry& current() const {
    if (entries.empty()) fail(ErrorCode::invalid_argument, "nothing was run or prepared yet");
    return *entries.front();
  }

  /// Makes the plan for `shapes` the current one.
  Entry& use(const std::vector<Shape>& shapes) {
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const auto& entry) { return entry->prepared->shapes == shapes; });
    if (found != entries.end()) {
      entries.splice(entries.begin(), entries, found);
      return *entries.front();
    }
    auto prepared = model->prepare(shapes);
    evict(static_cast<std::size_t>(prepared->program->arena_bytes));
    entries.push_front(std::make_unique<Entry>(std::move(prepared)));
    entries.front()->executor.set_profiling(profiling);
    return *entries.front();
  }

  /// Drops plans, the longest unused first, until `bytes` more fit.
  void evict(std::size_t bytes) {
    std::size_t total = bytes;
    for (const auto& entry : entries) total += entry->bytes();
    while (!entries.empty() && total > model->options.plan_cache_bytes) {
      total -= entries.back()->bytes();
      entries.pop_back();
    }
  }

  Entry& check(std::span<const TensorView> views) {
    if (views.size() != model->inputs.size())
      fail(ErrorCode::invalid_argument, "expected {} inputs, found {}", model->inputs.size(), views.size());
    for (std::size_t i = 0; i < views.size(); ++i) {
      const TensorInfo& info = model->inputs[i];
      if (views[i].dtype != info.dtype)
        fail(ErrorCode::invalid_input, "input '{}': expected {}, found {}", info.name, name_of(info.dtype),
             name_of(views[i].dtype));
      if (views[i].data == nullptr &&
          std::find(views[i].shape.begin(), views[i].shape.end(), 0) == views[i].shape.end())
        fail(ErrorCode::invalid_input, "input '{}': its data is null", info.name);
    }
    if (!entries.empty() && same_shapes(entries.front()->prepared->shapes, views)) return *entries.front();
    std::vector<Shape> shapes;
    for (std::size_t i = 0; i < views.size(); ++i) {
      check_shape(model->inputs[i], views[i].shape);
      shapes.push_back(views[i].shape);
    }
    return use(shapes);
  }

  static void check_shape(const TensorInfo& info, const Shape& shape) {
    const bool fits =
        shape.size() == info.shape.size() &&
        std::equal(shape.begin(), shape.end(), info.shape.begin(), [](std::int64_t found, std::int64_t expected) {
          return found >= 0 && (expected < 0 || found == expected);
        });
    if (!fits)
      fail(ErrorCode::invalid_input, "input '{}': expected shape [{}], found [{}]", info.name,
           fmt::join(info.shape, ","), fmt::join(shape, ","));
  }

  void run(Entry& entry, std::span<const TensorView> input_views, std::span<const MutableTensorView> output_views) {
    inputs.clear();
    outputs.clear();
    for (const TensorView& view : input_views) inputs.push_back(view.data);
    for (const MutableTensorView& view : output_views) outputs.push_back(view.data);
    entry.executor.run(inputs, outputs);
  }
};

Session::Session(const Model& model) : impl_(std::make_unique<Impl>()) { impl_->model = model.impl(); }
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

void Session::prepare(const ShapeMap& overrides) { impl_->use(Model(impl_->model).resolve_shapes(overrides)); }

std::vector<Shape> Session::output_shapes(std::span<const Shape> input_shapes) {
  return impl_->use({input_shapes.begin(), input_shapes.end()}).prepared->program->output_shapes;
}

std::vector<Tensor> Session::run(std::span<const TensorView> inputs) {
  Entry& entry = impl_->check(inputs);
  const Program& program = *entry.prepared->program;
  std::vector<Tensor> outputs;
  std::vector<MutableTensorView> views;
  for (std::size_t i = 0; i < program.output_shapes.size(); ++i)
    outputs.emplace_back(program.output_types[i], program.output_shapes[i]);
  for (Tensor& output : outputs) views.emplace_back(output);
  impl_->run(entry, inputs, views);
  return outputs;
}

void Session::run(std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs) {
  Entry& entry = impl_->check(inputs);
  const Program& program = *entry.prepared->program;
  if (outputs.size() != program.output_shapes.size())
    fail(ErrorCode::invalid_argument, "expected {} outputs, found {}", program.output_shapes.size(), outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorInfo& info = impl_->model->outputs[i];
    if (outputs[i].dtype != program.output_types[i])
      fail(ErrorCode::invalid_argument, "output '{}': expected {}, found {}", info.name,
           name_of(program.output_types[i]), name_of(outputs[i].dtype));
    if (outputs[i].shape != program.output_shapes[i])
      fail(ErrorCode::invalid_argument, "output '{}': expected shape [{}], found [{}]", info.name,
           fmt::join(program.output_shapes[i], ","), fmt::join(outputs[i].shape, ","));
  }
  impl_->run(entry, inputs, outputs);
}

Session::Stats Session::stats() const {
  const Entry& entry = impl_->current();
  const Program& program = *entry.prepared->program;
  return {entry.prepared->milliseconds, static_cast<std::size_t>(program.weights_bytes),
          static_cast<std::size_t>(program.arena_bytes), impl_->entries.size(), program.threads};
}

void Session::set_profiling(bool on) {
  impl_->profiling = on;
  for (auto& entry : impl_->entries) entry->executor.set_profiling(on);
}

std::string Session::profile() const {
  const Executor& executor = impl_->current().executor;
  const Program& program = executor.program();
  const double runs = std::max(1, executor.profiled_runs());
  struct Total {
    double ms = 0;
    std::int64_t calls = 0;
    std::int32_t segment = 0;
  };
  std::vector<Total> operators(program.ops.size());
  std::vector<double> segment_ms(program.segments.size(), 0);
  for (const auto& events : executor.events()) {
    std::vector<double> thread_ms(program.segments.size(), 0);
    for (const TraceEvent& event : events) {
      const double ms = static_cast<double>(event.end_ns - event.begin_ns) / kNanosecondsPerMillisecond / runs;
      Total& total = operators[static_cast<std::size_t>(event.op)];
      total.ms += ms;
      total.segment = event.segment;
      ++total.calls;
      thread_ms[static_cast<std::size_t>(event.segment)] += ms;
    }
    for (std::size_t i = 0; i < segment_ms.size(); ++i) segment_ms[i] = std::max(segment_ms[i], thread_ms[i]);
  }
  nlohmann::json json = {{"segments", nlohmann::json::array()}, {"operators", nlohmann::json::array()}};
  for (std::size_t i = 0; i < segment_ms.size(); ++i) json["segments"].push_back({{"index", i}, {"ms", segment_ms[i]}});
  for (std::size_t i = 0; i < operators.size(); ++i) {
    if (operators[i].calls == 0) continue;
    json["operators"].push_back({{"node", program.op_names[i]},
                                 {"op", program.op_kinds[i]},
                                 {"kernel", program.ops[i]->kernel()},
                                 {"segment", operators[i].segment},
                                 {"ms", operators[i].ms},
                                 {"calls", static_cast<double>(operators[i].calls) / runs}});
  }
  return json.dump();
}

std::string Session::trace() const {
  const Executor& executor = impl_->current().executor;
  const Program& program = executor.program();
  nlohmann::json events = nlohmann::json::array();
  for (std::size_t thread = 0; thread < executor.events().size(); ++thread)
    for (const TraceEvent& event : executor.events()[thread])
      events.push_back({{"name", program.op_names[static_cast<std::size_t>(event.op)]},
                        {"cat", program.op_kinds[static_cast<std::size_t>(event.op)]},
                        {"ph", "X"},
                        {"ts", static_cast<double>(event.begin_ns) / 1e3},
                        {"dur", static_cast<double>(event.end_ns - event.begin_ns) / 1e3},
                        {"pid", 1},
                        {"tid", thread},
                        {"args", {{"segment", event.segment}}}});
  return nlohmann::json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump();
}

}  // namespace colonnade
