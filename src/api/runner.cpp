// SPDX-License-Identifier: Apache-2.0
#include "api/runner.hpp"

#include <algorithm>
#include <numeric>

#include "base/interruption.hpp"
#include "base/tensor_memory.hpp"
#include "reference/reference.hpp"
#include "runtime/workers.hpp"

namespace colonnade {
namespace {

/// Data that are no tensors have no shape of their own.
TensorView view_of(const Datum& datum) { return datum.is_tensor() ? TensorView(datum.tensor()) : TensorView(); }

bool is_for(const Prepared& prepared, const Graph* source, std::span<const TensorView> inputs, int threads,
            const Layouts& layouts) {
  return prepared.source.get() == source && prepared.threads == threads && prepared.layouts == layouts &&
         std::equal(prepared.shapes.begin(), prepared.shapes.end(), inputs.begin(), inputs.end(),
                    [](const Shape& shape, const TensorView& view) { return shape == view.shape; });
}

}  // namespace

std::shared_ptr<Entry> Runner::use(const std::shared_ptr<const Graph>& source, std::span<const TensorView> inputs,
                                   const RunControl& control, const Layouts& layouts) {
  const int threads = model_->threads_of_run(control.threads());
  const int near = home();
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) {
    return is_for(*entry->prepared, source.get(), inputs, threads, layouts);
  });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    entries_.front()->follow_duel(control);
    return entries_.front();
  }
  std::vector<Shape> shapes;
  for (const TensorView& input : inputs) shapes.push_back(input.shape);
  const NumaPolicy& numa = model_->numa;
  auto prepared = model_->prepare({source, std::move(shapes), layouts, numa.weights_node(near), threads}, &control);
  const bool is_near = near != Workers::kAnyNode && prepared->plan.threads <= numa.cores;
  arena_->set_nodes(is_near ? NumaNodes{near} : NumaNodes());
  auto entry = std::make_shared<Entry>(std::move(prepared), arena_, is_near ? near : Workers::kAnyNode);
  entry->set_profiling(profiling_);
  entries_.push_front(entry);
  evict();
  return entry;
}

/// The node of its first caller; of another one, once all callers have been there for some time.
int Runner::home() {
  constexpr int kUsesBeforeAMove = 16;
  if (model_->numa.kind == NumaPolicy::Kind::off) return Workers::kAnyNode;
  const int here = model_->numa.home(Workers::process().node_of_caller());
  if (!home_) home_ = here;
  away_ = here == *home_ ? 0 : away_ + 1;
  if (away_ < kUsesBeforeAMove) return *home_;
  away_ = 0;
  entries_.clear();
  arena_->shrink_to(0);
  memory_.shrink();
  home_ = here;
  return here;
}

std::size_t Runner::cached_bytes() const {
  return std::accumulate(entries_.begin(), entries_.end(), arena_->bytes(),
                         [](std::size_t sum, const auto& entry) { return sum + entry->bytes(); });
}

void Runner::shrink() {
  entries_.clear();
  arena_->shrink_to(0);
  memory_.shrink();
  from_ = {};
  to_ = {};
}

/// Drops plans, the longest unused first, until the rest keep to the limit. The newest one stays.
void Runner::evict() {
  while (entries_.size() > 1 && cached_bytes() > model_->options.plan_cache_bytes) {
    entries_.pop_back();
    std::size_t needed = 0;
    for (const auto& entry : entries_) needed = std::max(needed, entry->arena_bytes());
    arena_->shrink_to(needed);
  }
}

void Runner::set_profiling(bool on) {
  profiling_ = on;
  for (auto& entry : entries_) entry->set_profiling(on);
}

void Runner::run(Entry& entry, std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs,
                 const RunControl& control) {
  from_.clear();
  to_.clear();
  for (const TensorView& view : inputs) from_.push_back(view.data);
  for (const MutableTensorView& view : outputs) to_.push_back(view.data);
  apart_.set(*entry.prepared->program, inputs, outputs, to_);
  entry.run(*model_, from_, to_, control);
  apart_.hand_over(outputs);
}

std::vector<Datum> Runner::run_program(Entry& entry, std::span<const void* const> inputs, const RunControl& control,
                                       Spares* spares) {
  const Program& program = *entry.prepared->program;
  std::vector<Datum> outputs;
  std::vector<void*> memory;
  for (std::size_t i = 0; i < program.output_shapes.size(); ++i) {
    if (spares != nullptr) {
      auto tensor = spares->take(program.output_types[i], program.output_shapes[i]);
      memory.push_back(tensor->data());
      outputs.emplace_back(std::shared_ptr<const Tensor>(std::move(tensor)));
    } else {
      Tensor tensor = TensorMemory::unset(program.output_types[i], program.output_shapes[i]);
      memory.push_back(tensor.data());
      outputs.emplace_back(std::move(tensor));
    }
  }
  entry.run(*model_, inputs, memory, control);
  return outputs;
}

std::vector<Datum> Runner::run(Entry& entry, const Inputs& inputs, RunControl& control) {
  if (entry.prepared->rest) return run_rest(entry, inputs, control);
  std::vector<const void*> memory;
  for (const TensorView& view : inputs.views) memory.push_back(view.data);
  return run_program(entry, memory, control);
}

std::vector<Datum> Runner::run_data(const std::shared_ptr<const Graph>& source, std::span<const Datum* const> inputs,
                                    RunControl& control, Spares* spares) {
  std::vector<TensorView> views;
  for (const Datum* input : inputs) views.push_back(input == nullptr ? TensorView() : view_of(*input));
  const auto entry = use(source, views, control);
  if (!entry->prepared->rest) {
    std::vector<const void*> memory;
    for (const TensorView& view : views) memory.push_back(view.data);
    return run_program(*entry, memory, control, spares);
  }
  return run(*entry, {views, [&](std::size_t i) { return inputs[i] == nullptr ? Datum() : *inputs[i]; }}, control);
}

std::vector<Datum> Runner::run_rest(Entry& entry, const Inputs& inputs, RunControl& control) {
  const Rest& rest = *entry.prepared->rest;
  std::vector<Datum> slots(static_cast<std::size_t>(rest.slots));
  const auto at = [&](Slot slot) -> Datum& { return slots[static_cast<std::size_t>(slot)]; };
  for (const auto& [slot, tensor] : rest.constants) at(slot) = Datum(tensor);
  for (std::size_t i = 0; i < rest.inputs.size(); ++i) {
    if (rest.is_held[i]) at(rest.inputs[i]) = inputs.datum(i);
  }
  std::vector<const void*> memory;
  for (const Slot input : rest.program_inputs) memory.push_back(inputs.views[static_cast<std::size_t>(input)].data);
  std::vector<Datum> made = run_program(entry, memory, control);
  for (std::size_t i = 0; i < made.size(); ++i) at(rest.program_outputs[i]) = std::move(made[i]);

  const auto operands = [&](const std::vector<Slot>& list) {
    std::vector<const Datum*> data;
    for (const Slot slot : list) data.push_back(slot == kNoSlot ? nullptr : &at(slot));
    return data;
  };
  const std::function<void()> ask = [&control] {
    control.check();
    control.poll();
  };
  const Interruptible scope(ask);
  for (const ApartNode& apart : rest.apart) {
    control.check();
    control.poll();
    const bool is_loop = !std::holds_alternative<If>(apart.node.op);
    Spares spares;
    const reference::RunBody run_body = [&](const Body& body, std::span<const Datum* const> data) {
      if (is_loop) control.count_iteration();
      return run_data(body, data, control, is_loop ? &spares : nullptr);
    };
    std::vector<Datum> results =
        reference::evaluate(apart.node, operands(apart.inputs), run_body, model_->options.memory_limit_bytes);
    for (std::size_t i = 0; i < apart.outputs.size(); ++i) {
      if (apart.outputs[i] != kNoSlot) at(apart.outputs[i]) = std::move(results[i]);
    }
  }
  if (rest.tail) {
    std::vector<Datum> results = run_data(rest.tail, operands(rest.tail_inputs), control);
    for (std::size_t i = 0; i < results.size(); ++i) at(rest.tail_outputs[i]) = std::move(results[i]);
  }
  std::vector<Datum> outputs;
  for (std::size_t i = 0; i < rest.outputs.size(); ++i) {
    const auto later = rest.outputs.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    const bool is_last = std::find(later, rest.outputs.end(), rest.outputs[i]) == rest.outputs.end();
    outputs.push_back(is_last ? std::move(at(rest.outputs[i])) : at(rest.outputs[i]));
  }
  return outputs;
}

}  // namespace colonnade
