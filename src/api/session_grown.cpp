// SPDX-License-Identifier: Apache-2.0
// Runs of a class of lengths, where inputs grow from call to call.
#include <algorithm>

#include "api/session_impl.hpp"
#include "base/log.hpp"
#include "base/tensor_memory.hpp"

namespace colonnade {
namespace {

template <class View>
bool are_dense(std::span<const View> views) {
  return std::all_of(views.begin(), views.end(), [](const View& view) { return view.strides.empty(); });
}

}  // namespace

Entry* Session::Impl::use_grown(const GrownCall& call, std::span<const TensorView> inputs, const RunControl& control) {
  if (!call.grown) return nullptr;
  entry = runner.use(call.grown->network.graph, grown.set(call, inputs), control);
  if (!entry->prepared->rest) return entry.get();
  call.grown->is_split = true;
  log_line(LogLevel::debug, "model '{}': lengths have plans of their own: shapes depend on data", model->name);
  return nullptr;
}

std::optional<std::vector<Tensor>> Session::Impl::run_grown(std::span<const TensorView> inputs, RunControl& control) {
  if (!are_dense(inputs)) return std::nullopt;
  const GrownCall call = model->growing.find(inputs);
  Entry* plan = use_grown(call, inputs, control);
  if (plan == nullptr) return std::nullopt;
  const std::vector<Shape> shapes = call.output_shapes();
  std::vector<Tensor> outputs;
  std::vector<MutableTensorView> targets;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    outputs.push_back(TensorMemory::unset(plan->prepared->program->output_types[i], shapes[i]));
  for (Tensor& tensor : outputs) targets.emplace_back(tensor);
  runner.run(*plan, grown.views(), targets, control);
  return outputs;
}

bool Session::Impl::run_grown(std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs,
                              RunControl& control) {
  if (!are_dense(inputs) || !are_dense(outputs)) return false;
  const GrownCall call = model->growing.find(inputs);
  Entry* plan = use_grown(call, inputs, control);
  if (plan == nullptr) return false;
  const std::vector<Shape> shapes = call.output_shapes();
  for (std::size_t i = 0; i < outputs.size(); ++i)
    check_output(i, outputs[i], plan->prepared->program->output_types[i], shapes[i], {});
  runner.run(*plan, grown.views(), outputs, control);
  return true;
}

}  // namespace colonnade
