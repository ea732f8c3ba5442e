// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "api/session_impl.hpp"
#include "base/log.hpp"
#include "base/tensor_memory.hpp"
#include "passes/permutation.hpp"
#include "reference/reference.hpp"

namespace colonnade {
namespace {

template <class View>
bool have_strides(std::span<const View> views) {
  return std::any_of(views.begin(), views.end(), [](const View& view) { return !view.strides.empty(); });
}

bool has_elements(const Shape& shape) { return std::find(shape.begin(), shape.end(), 0) == shape.end(); }

std::string type_text(const TensorInfo& info) {
  return to_text(ValueType{info.dtype, info.has_rank ? std::optional(info.shape) : std::nullopt, info.containers});
}

void check_shape(const TensorInfo& info, const Shape& shape) {
  const bool fits = !info.has_rank || (shape.size() == info.shape.size() &&
                                       std::equal(shape.begin(), shape.end(), info.shape.begin(),
                                                  [](std::int64_t found, std::int64_t expected) {
                                                    return found >= 0 && (expected < 0 || found == expected);
                                                  }));
  if (!fits)
    fail(ErrorCode::invalid_input, "input '{}': expected shape [{}], found [{}]", info.name, fmt::join(info.shape, ","),
         fmt::join(shape, ","));
}

void check_input(const TensorInfo& info, const TensorView& view) {
  if (!info.containers.empty()) {
    if (view.data != nullptr)
      fail(ErrorCode::invalid_input, "input '{}': expected {}, found a tensor", info.name, type_text(info));
    return;
  }
  if (view.dtype != info.dtype)
    fail(ErrorCode::invalid_input, "input '{}': expected {}, found {}", info.name, name_of(info.dtype),
         name_of(view.dtype));
  check_shape(info, view.shape);
  if (view.data == nullptr && has_elements(view.shape))
    fail(ErrorCode::invalid_input, "input '{}': its data is null", info.name);
}

/// The strides alone; shapes are checked when they are known.
template <class View>
void check_strides(const char* what, const TensorInfo& info, const View& view, ErrorCode code) {
  try {
    colonnade::check_strides(view.shape, view.strides);
  } catch (const Error& error) {
    fail(code, "{} '{}': {}", what, info.name, error.what());
  }
}

}  // namespace

Entry& Session::Impl::current() const {
  if (!entry) fail(ErrorCode::invalid_argument, "nothing was run or prepared yet");
  return *entry;
}

Entry& Session::Impl::use(std::span<const TensorView> inputs, const RunControl& control, const Layouts& layouts) {
  entry = runner.use(model->optimized, inputs, control, layouts);
  return *entry;
}

Entry& Session::Impl::use(std::span<const Shape> shapes, const RunControl& control) {
  return use(model->optimized, shapes, control);
}

Entry& Session::Impl::use(const std::shared_ptr<const Graph>& source, std::span<const Shape> shapes,
                          const RunControl& control) {
  views.clear();
  for (const Shape& shape : shapes) views.emplace_back(DType::undefined, shape, nullptr);
  entry = runner.use(source, views, control);
  return *entry;
}

void Session::Impl::check_count(std::size_t found) const {
  if (found != model->inputs.size())
    fail(ErrorCode::invalid_argument, "expected {} inputs, found {}", model->inputs.size(), found);
}

void Session::Impl::check_inputs(std::span<const TensorView> inputs) const {
  check_count(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_input(model->inputs[i], inputs[i]);
    if (!inputs[i].strides.empty()) check_strides("input", model->inputs[i], inputs[i], ErrorCode::invalid_input);
  }
}

void Session::Impl::check_output_views(std::span<const MutableTensorView> outputs) const {
  if (outputs.size() != model->outputs.size())
    fail(ErrorCode::invalid_argument, "expected {} outputs, found {}", model->outputs.size(), outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorInfo& info = model->outputs[i];
    if (outputs[i].data == nullptr && has_elements(outputs[i].shape))
      fail(ErrorCode::invalid_argument, "output '{}': its data is null", info.name);
    if (outputs[i].strides.empty()) continue;
    check_strides("output", info, outputs[i], ErrorCode::invalid_argument);
    if (may_overlap(outputs[i].shape, outputs[i].strides))
      fail(ErrorCode::invalid_argument, "output '{}': its elements overlap: shape [{}], strides [{}]", info.name,
           fmt::join(outputs[i].shape, ","), fmt::join(outputs[i].strides, ","));
  }
}

/// Checks one output that there is memory for; the view and the shape are in the order of the layouts.
void Session::Impl::check_output(std::size_t index, const MutableTensorView& view, DType dtype, const Shape& shape,
                                 const Layouts& layouts) const {
  const TensorInfo& info = model->outputs[index];
  if (view.dtype != dtype)
    fail(ErrorCode::invalid_argument, "output '{}': expected {}, found {}", info.name, name_of(dtype),
         name_of(view.dtype));
  if (view.shape == shape) return;
  const Ints back = layouts.outputs.empty() ? Ints{} : rewrite::inverse(layouts.outputs[index]);
  fail(ErrorCode::invalid_argument, "output '{}': expected shape [{}], found [{}]", info.name,
       fmt::join(in_order(shape, back), ","), fmt::join(in_order(view.shape, back), ","));
}

std::vector<Datum> Session::Impl::run_dense(Entry& plan, std::span<const TensorView> inputs, RunControl& control) {
  return runner.run(plan, {inputs, [&](std::size_t i) { return Datum(TensorMemory::borrow(inputs[i])); }}, control);
}

void Session::Impl::run_dense(Entry& plan, std::span<const TensorView> inputs,
                              std::span<const MutableTensorView> outputs, RunControl& control) {
  const Layouts& layouts = plan.prepared->layouts;
  if (!plan.prepared->rest) {
    const Program& program = *plan.prepared->program;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      check_output(i, outputs[i], program.output_types[i], program.output_shapes[i], layouts);
    return runner.run(plan, inputs, outputs, control);
  }
  const std::vector<Datum> data = run_dense(plan, inputs, control);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& tensor = data[i].tensor();
    check_output(i, outputs[i], tensor.dtype(), tensor.shape(), layouts);
    copy_to(tensor, outputs[i]);
  }
}

std::vector<Tensor> Session::Impl::run_tensors(std::span<const TensorView> inputs, RunControl& control) {
  std::vector<Datum> data;
  if (have_strides(inputs)) {
    staging.set(inputs, {}, {});
    Entry& plan = use(inputs, control, staging.layouts());
    data = run_dense(plan, staging.gather(), control);
  } else {
    data = run_dense(use(inputs, control), inputs, control);
  }
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (!data[i].is_tensor())
      fail(ErrorCode::invalid_argument, "output '{}' is {}, which only run_data gives", model->outputs[i].name,
           to_text(reference::type_of(data[i])));
    outputs.push_back(std::move(data[i]).take_tensor());
  }
  return outputs;
}

std::vector<Tensor> Session::Impl::run(std::span<const TensorView> inputs, RunControl& control) {
  const Turn mine(turn);
  const RunMemory::Use memory(runner.memory());
  check_inputs(inputs);
  if (const Way way = way_of(inputs); way != Way::dense) return run_texts(way, inputs, control);
  if (auto outputs = run_grown(inputs, control)) return *std::move(outputs);
  return run_tensors(inputs, control);
}

void Session::Impl::run(std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs,
                        RunControl& control) {
  const Turn mine(turn);
  const RunMemory::Use memory(runner.memory());
  check_inputs(inputs);
  check_output_views(outputs);
  if (const Way way = way_of(inputs); way != Way::dense) {
    if (!may_overlap(inputs, outputs)) return run_texts(way, inputs, outputs, control);
    const std::vector<Tensor> apart = run_texts(way, inputs, control);
    for (std::size_t i = 0; i < apart.size(); ++i) {
      check_output(i, outputs[i], apart[i].dtype(), apart[i].shape(), {});
      copy_to(apart[i], outputs[i]);
    }
    return;
  }
  if (run_grown(inputs, outputs, control)) return;
  if (!have_strides(inputs) && !have_strides(outputs)) return run_dense(use(inputs, control), inputs, outputs, control);
  staging.set(inputs, outputs, model->outputs);
  Entry& plan = use(inputs, control, staging.layouts());
  run_dense(plan, staging.gather(), staging.outputs(), control);
  staging.scatter();
}

std::vector<Datum> Session::Impl::run_data(std::span<const Datum> inputs, RunControl& control) {
  const Turn mine(turn);
  const RunMemory::Use memory(runner.memory());
  check_count(inputs.size());
  std::vector<TensorView> tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorInfo& info = model->inputs[i];
    tensors.push_back(inputs[i].is_tensor() ? TensorView(inputs[i].tensor()) : TensorView());
    const ValueType found = reference::type_of(inputs[i]);
    if (found.containers != info.containers)
      fail(ErrorCode::invalid_input, "input '{}': expected {}, found {}", info.name, type_text(info), to_text(found));
  }
  check_inputs(tensors);
  if (const Way way = way_of(tensors); way != Way::dense) {
    std::vector<Tensor> outputs = run_texts(way, tensors, control);
    return {std::make_move_iterator(outputs.begin()), std::make_move_iterator(outputs.end())};
  }
  if (auto outputs = run_grown(tensors, control))
    return {std::make_move_iterator(outputs->begin()), std::make_move_iterator(outputs->end())};
  return runner.run(use(tensors, control), {tensors, [&](std::size_t i) { return inputs[i]; }}, control);
}

Session::Session() noexcept = default;
Session::Session(const Model& model) : impl_(std::make_unique<Impl>(known(model))) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Session::Impl& Session::impl() const {
  if (!impl_) fail(ErrorCode::invalid_argument, "the session is empty: it was made of nothing or moved from");
  return *impl_;
}

void Session::prepare(const ShapeMap& overrides, int threads) {
  RunOptions options;
  options.threads = threads;
  prepare(overrides, options);
}

void Session::prepare(const ShapeMap& overrides, const RunOptions& options) {
  const RunControl control(options);
  Impl& known = impl().idle(&control);
  const Turn mine(known.turn);
  const std::vector<Shape> shapes = Model(known.model).resolve_shapes(overrides);
  const Packing& packing = known.model->packing;
  if (!shapes_of_texts(packing, shapes)) return static_cast<void>(known.use(shapes, control));
  const Shape& mask = shapes[packing.mask];
  known.use(packing.graph, packed_shapes(packing, {mask[0] * mask[1], mask[0], mask[1]}), control);
}

std::vector<Shape> Session::output_shapes(std::span<const Shape> input_shapes, const RunOptions& options) {
  const RunControl control(options);
  Impl& known = impl().idle(&control);
  const Turn mine(known.turn);
  known.check_count(input_shapes.size());
  if (auto shapes = shapes_of_texts(known.model->packing, input_shapes)) return *std::move(shapes);
  known.views.clear();
  for (const Shape& shape : input_shapes) known.views.emplace_back(DType::undefined, shape, nullptr);
  if (const GrownCall call = known.model->growing.find(known.views); call.grown) return call.output_shapes();
  const Prepared& prepared = *known.use(input_shapes, control).prepared;
  if (!prepared.rest) return prepared.program->output_shapes;
  return prepared.rest->output_shapes;
}

std::vector<Tensor> Session::run(std::span<const TensorView> inputs, const RunOptions& options) {
  RunControl control(options);
  return impl().idle(&control).run(inputs, control);
}

void Session::run(std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs,
                  const RunOptions& options) {
  RunControl control(options);
  impl().idle(&control).run(inputs, outputs, control);
}

std::vector<Datum> Session::run_data(std::span<const Datum> inputs, const RunOptions& options) {
  RunControl control(options);
  return impl().idle(&control).run_data(inputs, control);
}

NamedOutputs Session::run_named(const NamedInputs& inputs, const RunOptions& options) {
  const Model::Impl& model = *impl().model;
  std::vector<TensorView> views;
  for (const TensorInfo& info : model.inputs) {
    const auto given = inputs.find(info.name);
    if (given == inputs.end()) fail(ErrorCode::invalid_argument, "input '{}' is missing", info.name);
    views.push_back(given->second);
  }
  for (const auto& [name, view] : inputs) input_named(model.inputs, name);
  std::vector<Tensor> results = run(views, options);
  NamedOutputs outputs;
  for (std::size_t i = 0; i < results.size(); ++i) outputs[model.outputs[i].name] = std::move(results[i]);
  return outputs;
}

std::future<std::vector<Tensor>> Session::run_async(std::vector<TensorView> inputs, RunOptions options) {
  auto promise = std::make_shared<std::promise<std::vector<Tensor>>>();
  auto future = promise->get_future();
  impl().queue.post(
      [impl = impl_.get(), promise = std::move(promise), inputs = std::move(inputs), options = std::move(options)] {
        try {
          RunControl control(options);
          promise->set_value(impl->run(inputs, control));
        } catch (...) {
          promise->set_exception(std::current_exception());
        }
      });
  return future;
}

void Session::run_async(std::vector<TensorView> inputs, std::vector<MutableTensorView> outputs,
                        std::function<void(std::exception_ptr)> done, RunOptions options) {
  if (!done) fail(ErrorCode::invalid_argument, "run_async: there is no function to call when it is done");
  impl().queue.post([impl = impl_.get(), inputs = std::move(inputs), outputs = std::move(outputs),
                     done = std::move(done), options = std::move(options)] {
    std::exception_ptr error;
    try {
      RunControl control(options);
      impl->run(inputs, outputs, control);
    } catch (...) {
      error = std::current_exception();
    }
    try {
      done(error);
    } catch (...) {
      log_line(LogLevel::error, "the function that a run was to call when done threw an exception");
    }
  });
}

void Session::shrink() {
  Impl& known = impl().idle();
  const Turn mine(known.turn);
  known.entry.reset();
  known.views = {};
  known.staging = {};
  known.texts = {};
  known.grown = {};
  known.runner.shrink();
}

Session::MemoryStats Session::memory_stats() const {
  const Impl& known = impl().idle();
  const Turn mine(known.turn);
  const std::size_t arenas = known.runner.arena().bytes();
  return {known.model->weights.bytes(), arenas,
          known.runner.cached_bytes() - arenas + known.staging.bytes() + known.texts.bytes() + known.grown.bytes(),
          known.runner.cached_plans()};
}

Session::Stats Session::stats() const {
  const Impl& known = impl().idle();
  const Turn mine(known.turn);
  const Entry& entry = known.current();
  const Program& program = *entry.prepared->program;
  return {entry.prepared->milliseconds,
          static_cast<std::size_t>(program.weights_bytes),
          static_cast<std::size_t>(program.arena_bytes),
          known.runner.cached_plans(),
          known.runner.cached_bytes(),
          program.threads};
}

void Session::set_profiling(bool on) {
  Impl& known = impl().idle();
  const Turn mine(known.turn);
  known.runner.set_profiling(on);
}

}  // namespace colonnade
