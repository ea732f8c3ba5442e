// SPDX-License-Identifier: Apache-2.0
// If, Loop and Scan: what runs when. Whoever evaluates the node runs the bodies; states pass from one iteration to the
// next without copies.
#include <algorithm>
#include <cstring>

#include "reference/families.hpp"
#include "reference/indexing.hpp"
#include "reference/reference.hpp"

namespace colonnade::reference {
namespace {

using Inputs = std::vector<const Datum*>;

bool truth(const Call& call, const Datum& datum) {
  if (!datum.is_tensor() || datum.dtype() != DType::boolean || datum.tensor().size() != 1) {
    call.invalid("its condition is {}, expected one boolean", to_text(type_of(datum)));
  }
  return datum.tensor().values<bool>().front();
}

/// One element in the shape of a body's input: a scalar or a vector.
template <class T>
Datum single(const Body& body, std::size_t input, T value) {
  const ValueType& type = body->value(body->inputs[input]).type;
  Tensor tensor(type.dtype, type.static_shape());
  tensor.values<T>().front() = value;
  return tensor;
}

void append_captures(const Call& call, std::size_t first, Inputs& inputs) {
  inputs.insert(inputs.end(), call.inputs.begin() + static_cast<std::ptrdiff_t>(std::min(first, call.inputs.size())),
                call.inputs.end());
}

/// Copies `count` runs of `run` elements; positions are in elements.
void copy_runs(const Tensor& from, std::int64_t from_offset, std::int64_t from_step, Tensor& to, std::int64_t to_offset,
               std::int64_t to_step, std::int64_t count, std::int64_t run) {
  const auto size = static_cast<std::int64_t>(size_of(from.dtype()));
  for (std::int64_t i = 0; i < count; ++i, from_offset += from_step, to_offset += to_step) {
    if (from.dtype() == DType::string) {
      std::copy_n(from.strings().begin() + from_offset, run, to.strings().begin() + to_offset);
    } else if (run > 0) {
      std::memcpy(static_cast<std::byte*>(to.data()) + to_offset * size,
                  static_cast<const std::byte*>(from.data()) + from_offset * size,
                  static_cast<std::size_t>(run * size));
    }
  }
}

/// The slices along a new axis; without any, an empty tensor of the type that the shape rule knows.
Tensor stack(const Call& call, std::size_t output, const Data& slices, std::int64_t axis, bool reversed) {
  const ValueType& type = call.types[output];
  const auto count = static_cast<std::int64_t>(slices.size());
  if (slices.empty()) {
    Shape shape = type.shape.value_or(Shape{0});
    for (std::int64_t& dim : shape) dim = std::max<std::int64_t>(dim, 0);
    if (!shape.empty())
      shape[static_cast<std::size_t>(normalize_axis(axis, static_cast<std::int64_t>(shape.size()), call.node))] = 0;
    return {type.dtype, std::move(shape)};
  }
  Shape shape = slices.front().tensor().shape();
  axis = normalize_axis(axis, static_cast<std::int64_t>(shape.size()) + 1, call.node);
  const Shape slice_shape = shape;
  shape.insert(shape.begin() + axis, count);
  Tensor result(slices.front().dtype(), shape);
  const std::int64_t outer = product(shape, 0, static_cast<std::size_t>(axis));
  const std::int64_t inner = product(shape, static_cast<std::size_t>(axis) + 1, shape.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const Tensor& slice = slices[static_cast<std::size_t>(reversed ? count - 1 - i : i)].tensor();
    if (slice.shape() != slice_shape || slice.dtype() != result.dtype()) {
      call.invalid("output {}: iteration {} gives {}, the first one {}", output, i,
                   to_text({slice.dtype(), slice.shape()}), to_text({result.dtype(), slice_shape}));
    }
    copy_runs(slice, 0, inner, result, i * inner, count * inner, outer, inner);
  }
  return result;
}

Tensor slice_of(const Tensor& tensor, std::int64_t axis, std::int64_t index) {
  const AxisView view = axis_view(tensor.shape(), axis);
  Shape shape = tensor.shape();
  shape.erase(shape.begin() + axis);
  Tensor slice(tensor.dtype(), std::move(shape));
  copy_runs(tensor, index * view.inner, view.size * view.inner, slice, 0, view.inner, view.outer, view.inner);
  return slice;
}

/// States after an iteration, and its slices put to those of the iterations before.
void take_results(const Call& call, Data results, std::size_t first, Data& states, std::vector<Data>& slices) {
  if (results.size() != first + states.size() + slices.size()) {
    call.invalid("its body gives {} outputs, expected {}", results.size(), first + states.size() + slices.size());
  }
  for (Datum& state : states) state = std::move(results[first++]);
  for (Data& output : slices) output.push_back(std::move(results[first++]));
}

std::int64_t at_or_zero(const Ints& values, std::size_t index) { return index < values.size() ? values[index] : 0; }

}  // namespace

Data apply(const If& op, const Call& call) {
  Inputs captures;
  append_captures(call, 1, captures);
  return call.run_body(truth(call, call.datum(0)) ? op.then_branch : op.else_branch, captures);
}

Data apply(const Loop& op, const Call& call) {
  const auto count = static_cast<std::size_t>(op.states);
  const bool has_trips = call.optional(0) != nullptr;
  const Ints trips = call.ints(0);
  if (has_trips && trips.size() != 1) call.invalid("its trip count has {} elements, expected 1", trips.size());
  bool goes_on = call.optional(1) == nullptr || truth(call, call.datum(1));
  Data states;
  for (std::size_t i = 0; i < count; ++i) states.push_back(call.datum(i + 2));
  std::vector<Data> slices(op.body->outputs.size() - count - 1);
  for (std::int64_t i = 0; goes_on && (!has_trips || i < trips.front()); ++i) {
    const Datum number = single(op.body, 0, i), condition = single(op.body, 1, goes_on);
    Inputs inputs = {&number, &condition};
    for (const Datum& state : states) inputs.push_back(&state);
    append_captures(call, count + 2, inputs);
    Data results = call.run_body(op.body, inputs);
    goes_on = truth(call, results.at(0));
    take_results(call, std::move(results), 1, states, slices);
  }
  Data outputs = std::move(states);
  for (const Data& output : slices) outputs.emplace_back(stack(call, outputs.size(), output, 0, false));
  return outputs;
}

Data apply(const Scan& op, const Call& call) {
  const auto count = static_cast<std::size_t>(op.states), scans = static_cast<std::size_t>(op.scans);
  Data states;
  for (std::size_t i = 0; i < count; ++i) states.push_back(call.datum(i));
  Ints axes;
  std::int64_t length = scans == 0 ? 0 : -1;
  for (std::size_t i = 0; i < scans; ++i) {
    const Tensor& tensor = call.input(count + i);
    axes.push_back(call.axis(at_or_zero(op.input_axes, i), tensor));
    const std::int64_t size = tensor.shape()[static_cast<std::size_t>(axes.back())];
    if (length >= 0 && size != length) call.invalid("input {} has {} slices, another has {}", count + i, size, length);
    length = size;
  }
  std::vector<Data> slices(op.body->outputs.size() - count);
  for (std::int64_t i = 0; i < length; ++i) {
    Data parts;
    for (std::size_t k = 0; k < scans; ++k) {
      const bool reversed = at_or_zero(op.input_reversed, k) != 0;
      parts.emplace_back(slice_of(call.input(count + k), axes[k], reversed ? length - 1 - i : i));
    }
    Inputs inputs;
    for (const Datum& state : states) inputs.push_back(&state);
    for (const Datum& part : parts) inputs.push_back(&part);
    append_captures(call, count + scans, inputs);
    take_results(call, call.run_body(op.body, inputs), 0, states, slices);
  }
  Data outputs = std::move(states);
  for (std::size_t k = 0; k < slices.size(); ++k) {
    const bool reversed = at_or_zero(op.output_reversed, k) != 0;
    outputs.emplace_back(stack(call, outputs.size(), slices[k], at_or_zero(op.output_axes, k), reversed));
  }
  return outputs;
}

}  // namespace colonnade::reference
