// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "api/runner.hpp"
#include "reference/reference.hpp"

namespace colonnade {
namespace {

constexpr double kNanosecondsPerMillisecond = 1e6;

/// A tensor of its own with the view's elements.
Tensor copy_of(const TensorView& view) {
  Tensor tensor(view.dtype, view.shape);
  if (view.dtype == DType::string) {
    std::copy_n(static_cast<const std::string*>(view.data), tensor.size(), tensor.strings().begin());
  } else if (tensor.byte_size() > 0) {
    std::memcpy(tensor.data(), view.data, tensor.byte_size());
  }
  return tensor;
}

void copy_to(const Tensor& tensor, const MutableTensorView& view) {
  if (tensor.dtype() == DType::string) {
    std::copy(tensor.strings().begin(), tensor.strings().end(), static_cast<std::string*>(view.data));
  } else if (tensor.byte_size() > 0) {
    std::memcpy(view.data, tensor.data(), tensor.byte_size());
  }
}

}  // namespace

struct Session::Impl {
  explicit Impl(std::shared_ptr<const Model::Impl> shared) : model(std::move(shared)), runner(model) {}

  std::shared_ptr<const Model::Impl> model;
  Runner runner;
  std::shared_ptr<Entry> entry;  ///< of the model itself, for the last shapes
  std::vector<TensorView> views;

  Entry& current() const {
    if (!entry) fail(ErrorCode::invalid_argument, "nothing was run or prepared yet");
    return *entry;
  }

  Entry& use(std::span<const TensorView> inputs) {
    entry = runner.use(model->optimized, inputs);
    return *entry;
  }

  Entry& use(std::span<const Shape> shapes) {
    views.clear();
    for (const Shape& shape : shapes) views.emplace_back(DType::undefined, shape, nullptr);
    return use(views);
  }

  void check_count(std::size_t found) const {
    if (found != model->inputs.size())
      fail(ErrorCode::invalid_argument, "expected {} inputs, found {}", model->inputs.size(), found);
  }

  Entry& check(std::span<const TensorView> inputs) {
    check_count(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) check_input(model->inputs[i], inputs[i]);
    return use(inputs);
  }

  static void check_input(const TensorInfo& info, const TensorView& view) {
    if (!info.containers.empty()) {
      if (view.data != nullptr)
        fail(ErrorCode::invalid_input, "input '{}': expected {}, found a tensor", info.name, type_text(info));
      return;
    }
    if (view.dtype != info.dtype)
      fail(ErrorCode::invalid_input, "input '{}': expected {}, found {}", info.name, name_of(info.dtype),
           name_of(view.dtype));
    check_shape(info, view.shape);
    if (view.data == nullptr && std::find(view.shape.begin(), view.shape.end(), 0) == view.shape.end())
      fail(ErrorCode::invalid_input, "input '{}': its data is null", info.name);
  }

  static std::string type_text(const TensorInfo& info) {
    return to_text(ValueType{info.dtype, info.has_rank ? std::optional(info.shape) : std::nullopt, info.containers});
  }

  static void check_shape(const TensorInfo& info, const Shape& shape) {
    const bool fits = !info.has_rank || (shape.size() == info.shape.size() &&
                                         std::equal(shape.begin(), shape.end(), info.shape.begin(),
                                                    [](std::int64_t found, std::int64_t expected) {
                                                      return found >= 0 && (expected < 0 || found == expected);
                                                    }));
    if (!fits)
      fail(ErrorCode::invalid_input, "input '{}': expected shape [{}], found [{}]", info.name,
           fmt::join(info.shape, ","), fmt::join(shape, ","));
  }

  /// Checks one output that the caller has memory for.
  void check_output(std::size_t index, const MutableTensorView& view, DType dtype, const Shape& shape) const {
    const TensorInfo& info = model->outputs[index];
    if (view.dtype != dtype)
      fail(ErrorCode::invalid_argument, "output '{}': expected {}, found {}", info.name, name_of(dtype),
           name_of(view.dtype));
    if (view.shape != shape)
      fail(ErrorCode::invalid_argument, "output '{}': expected shape [{}], found [{}]", info.name,
           fmt::join(shape, ","), fmt::join(view.shape, ","));
  }

  std::vector<Datum> run(std::span<const TensorView> inputs) {
    Entry& plan = check(inputs);
    return runner.run(plan, {inputs, [&](std::size_t i) { return Datum(copy_of(inputs[i])); }});
  }
};

Session::Session(const Model& model) : impl_(std::make_unique<Impl>(model.impl())) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

void Session::prepare(const ShapeMap& overrides) {
  impl_->use(std::span<const Shape>(Model(impl_->model).resolve_shapes(overrides)));
}

std::vector<Shape> Session::output_shapes(std::span<const Shape> input_shapes) {
  impl_->check_count(input_shapes.size());
  const Prepared& prepared = *impl_->use(input_shapes).prepared;
  if (!prepared.rest) return prepared.program->output_shapes;
  return prepared.rest->output_shapes;
}

std::vector<Tensor> Session::run(std::span<const TensorView> inputs, const RunOptions&) {
  std::vector<Datum> data = impl_->run(inputs);
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (!data[i].is_tensor())
      fail(ErrorCode::invalid_argument, "output '{}' is {}, which only run_data gives", impl_->model->outputs[i].name,
           to_text(reference::type_of(data[i])));
    outputs.push_back(std::move(data[i]).take_tensor());
  }
  return outputs;
}

void Session::run(std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs, const RunOptions&) {
  if (outputs.size() != impl_->model->outputs.size())
    fail(ErrorCode::invalid_argument, "expected {} outputs, found {}", impl_->model->outputs.size(), outputs.size());
  Entry& entry = impl_->check(inputs);
  if (!entry.prepared->rest) {
    const Program& program = *entry.prepared->program;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      impl_->check_output(i, outputs[i], program.output_types[i], program.output_shapes[i]);
    return impl_->runner.run(entry, inputs, outputs);
  }
  const std::vector<Datum> data = impl_->run(inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& tensor = data[i].tensor();
    impl_->check_output(i, outputs[i], tensor.dtype(), tensor.shape());
    copy_to(tensor, outputs[i]);
  }
}

std::vector<Datum> Session::run_data(std::span<const Datum> inputs, const RunOptions&) {
  impl_->check_count(inputs.size());
  std::vector<TensorView> views;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorInfo& info = impl_->model->inputs[i];
    views.push_back(inputs[i].is_tensor() ? TensorView(inputs[i].tensor()) : TensorView());
    const ValueType found = reference::type_of(inputs[i]);
    if (found.containers != info.containers)
      fail(ErrorCode::invalid_input, "input '{}': expected {}, found {}", info.name, Impl::type_text(info),
           to_text(found));
  }
  Entry& entry = impl_->check(views);
  return impl_->runner.run(entry, {views, [&](std::size_t i) { return inputs[i]; }});
}

Session::Stats Session::stats() const {
  const Entry& entry = impl_->current();
  const Program& program = *entry.prepared->program;
  return {entry.prepared->milliseconds,
          static_cast<std::size_t>(program.weights_bytes),
          static_cast<std::size_t>(program.arena_bytes),
          impl_->runner.cached_plans(),
          impl_->runner.cached_bytes(),
          program.threads};
}

void Session::set_profiling(bool on) { impl_->runner.set_profiling(on); }

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
