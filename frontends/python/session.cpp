// SPDX-License-Identifier: Apache-2.0
#include "frontends/python/session.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <chrono>

#include "frontends/python/python.hpp"

namespace colonnade::python {
namespace {

/// Results from here on lie in memory of the session, which it uses again.
constexpr std::size_t kLargeBytes = std::size_t{1} << 20;

}  // namespace

RunOptions Limits::options() const {
  RunOptions options;
  if (stop != nullptr) options.stop = stop->get_token();
  if (timeout) {
    constexpr double kLongest = 1e9;  // seconds; the clock would overflow later
    if (!(*timeout >= 0)) throw Error(ErrorCode::invalid_argument, "timeout: expected seconds of at least 0");
    if (*timeout < kLongest)
      options.deadline = std::chrono::steady_clock::now() +
                         std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(*timeout));
  }
  if (loop_limit < 0) throw Error(ErrorCode::invalid_argument, "loop_limit: expected a number of at least 0");
  options.loop_limit = loop_limit;
  if (handles_signals()) options.poll = poll_signals;
  return options;
}

void SharedSession::close() {
  with_pool([](SessionPool& pool, const RunOptions& options) { pool.close(options); });
}

SharedSession::SharedSession(Model model) : model_(std::move(model)), pool_(model_) {
  const auto add = [&](std::vector<Port>& ports, const TensorInfo& info, const char* side) {
    PyObject* name = to_str(info.name).release().ptr();
    PyUnicode_InternInPlace(&name);
    ports.push_back({nb::steal(name), std::string(side) + " '" + info.name + "'", info});
    tensors_only_ = tensors_only_ && info.containers.empty();
  };
  for (const TensorInfo& info : model_.inputs()) add(inputs_, info, "input");
  for (const TensorInfo& info : model_.outputs()) add(outputs_, info, "output");
}

void SharedSession::Call::give_back() {
  for (Loan& loan : loans) loan.give_back();
  for (Loan& loan : memory) loan.give_back();
  results.clear();
}

std::unique_ptr<SharedSession::Call> SharedSession::take_call() {
  if (spare_) return std::move(spare_);
  auto call = std::make_unique<Call>();
  call->loans.resize(inputs_.size());
  call->inputs.resize(inputs_.size());
  call->memory.resize(outputs_.size());
  call->outputs.resize(outputs_.size());
  return call;
}

/// What was given for an input; invalid when nothing was. Counts in `named` what came by name.
nb::handle SharedSession::feed(const Feeds& feeds, std::size_t index, std::size_t& named) const {
  const auto place = static_cast<Py_ssize_t>(index);
  if (feeds.places.is_valid() && place < size_of_sequence(feeds.places.ptr()))
    return element_of_sequence(feeds.places.ptr(), place);
  if (!feeds.names.is_valid()) return {};
  PyObject* found = PyDict_GetItemWithError(feeds.names.ptr(), inputs_[index].name.ptr());
  if (found == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
  named += found != nullptr;
  return found;
}

void SharedSession::check_names(const Feeds& feeds, std::size_t named) const {
  const auto places = feeds.places.is_valid() ? static_cast<std::size_t>(size_of_sequence(feeds.places.ptr())) : 0;
  if (places > inputs_.size())
    throw Error(ErrorCode::invalid_argument,
                "expected " + std::to_string(inputs_.size()) + " inputs, found " + std::to_string(places));
  if (!feeds.names.is_valid() || named == static_cast<std::size_t>(PyDict_Size(feeds.names.ptr()))) return;
  std::string names;
  for (const Port& port : inputs_) names += (names.empty() ? "" : ", ") + port.info.name;
  for (const auto& [key, value] : nb::borrow<nb::dict>(feeds.names)) {
    const auto at =
        std::find_if(inputs_.begin(), inputs_.end(), [&](const Port& port) { return port.name.equal(key); });
    if (at == inputs_.end())
      throw Error(ErrorCode::invalid_argument,
                  "no input " + nb::cast<std::string>(nb::str(nb::repr(key))) + "; there are: " + names);
    if (static_cast<std::size_t>(at - inputs_.begin()) < places)
      throw Error(ErrorCode::invalid_argument, at->role + " is given by place and by name");
  }
}

void SharedSession::lend_inputs(const Feeds& feeds, Call& call) const {
  std::size_t named = 0;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const nb::handle value = feed(feeds, i, named);
    if (!value.is_valid()) {
      check_names(feeds, named);
      throw Error(ErrorCode::invalid_argument, inputs_[i].role + " is missing");
    }
    call.loans[i].read(value, inputs_[i].info.dtype, inputs_[i].role, call.inputs[i]);
  }
  check_names(feeds, named);
}

/// Memory for outputs that the caller brings; views of the others are left without data.
void SharedSession::lend_outputs(nb::handle out, Call& call) const {
  for (MutableTensorView& view : call.outputs) view.data = nullptr;
  call.results.assign(outputs_.size(), nb::object());
  if (!out.is_valid() || out.is_none()) return;
  const auto lend = [&](std::size_t index, nb::handle array) {
    call.memory[index].write(array, outputs_[index].info.dtype, outputs_[index].role, call.outputs[index]);
    call.results[index] = nb::borrow(array);
  };
  if (PyDict_Check(out.ptr())) {
    for (const auto& [name, array] : nb::borrow<nb::dict>(out)) lend(output_named(name), array);
    return;
  }
  const nb::object arrays = nb::steal(PySequence_Fast(out.ptr(), "out: expected a dict or a sequence of arrays"));
  if (!arrays.is_valid()) throw nb::python_error();
  const Py_ssize_t count = size_of_sequence(arrays.ptr());
  if (static_cast<std::size_t>(count) != outputs_.size())
    throw Error(ErrorCode::invalid_argument,
                "out: expected " + std::to_string(outputs_.size()) + " arrays, found " + std::to_string(count));
  for (Py_ssize_t i = 0; i < count; ++i) lend(static_cast<std::size_t>(i), element_of_sequence(arrays.ptr(), i));
}

namespace {

bool fits(const TensorView& view, const TensorInfo& info) {
  if (view.dtype != info.dtype) return false;
  return !info.has_rank ||
         std::equal(view.shape.begin(), view.shape.end(), info.shape.begin(), info.shape.end(),
                    [](std::int64_t found, std::int64_t expected) { return expected < 0 || found == expected; });
}

}  // namespace

bool SharedSession::are_known(const Call& call) const {
  const auto same = [](const TensorView& view, const Shape& shape) { return view.shape == shape; };
  return known_ &&
         std::equal(call.inputs.begin(), call.inputs.end(), known_->inputs.begin(), known_->inputs.end(), same);
}

/// Asks the engine when the shapes are not those of the last run.
std::shared_ptr<const SharedSession::Known> SharedSession::shapes_of(const Call& call, const RunOptions& options) {
  if (are_known(call)) return known_;
  auto known = std::make_shared<Known>();
  for (const TensorView& view : call.inputs) known->inputs.push_back(view.shape);
  known->complete = true;
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    known->complete = known->complete && fits(call.inputs[i], inputs_[i].info);
  if (known->complete)
    known->outputs = with(
        options, [&](Session& session, const RunOptions& own) { return session.output_shapes(known->inputs, own); });
  for (std::size_t i = 0; i < known->outputs.size(); ++i) {
    const Shape& shape = known->outputs[i];
    const DType dtype = outputs_[i].info.dtype;
    known->complete = known->complete && dtype != DType::string && dtype != DType::undefined &&
                      std::none_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 0; });
    known->tuples.push_back(shape_tuple(shape));
    if (known->complete)
      known->are_large |= static_cast<std::size_t>(element_count(shape)) * size_of(dtype) >= kLargeBytes;
  }
  if (known->complete) known_ = known;
  return known;
}

/// New arrays for the outputs that the caller brought no memory for.
void SharedSession::allocate_outputs(const Known& known, Call& call) const {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    MutableTensorView& view = call.outputs[i];
    if (call.results[i].is_valid()) continue;
    view.dtype = outputs_[i].info.dtype;
    view.shape = known.outputs[i];
    view.strides.clear();
    call.results[i] = new_array(view.dtype, known.tuples[i], view.data);
  }
}

void SharedSession::run_tensors(Call& call, const RunOptions& options) {
  std::vector<Tensor> tensors =
      with(options, [&](Session& session, const RunOptions& own) { return session.run(call.inputs, own); });
  for (std::size_t i = 0; i < tensors.size(); ++i) call.results[i] = to_array(std::move(tensors[i]));
}

void SharedSession::run_arrays(Call& call, nb::handle out, const Limits& limits) {
  const RunOptions options = limits.options();
  lend_outputs(out, call);
  const auto given = [](const nb::object& result) { return result.is_valid(); };
  const bool any_given = std::any_of(call.results.begin(), call.results.end(), given);
  const bool all_given = std::all_of(call.results.begin(), call.results.end(), given);
  const bool have_strides =
      std::any_of(call.inputs.begin(), call.inputs.end(), [](const TensorView& view) { return !view.strides.empty(); });
  // The plan of another layout is not the one that shapes alone would be asked of.
  if (have_strides && !any_given) return run_tensors(call, options);
  if (!all_given) {
    const std::shared_ptr<const Known> known = shapes_of(call, options);
    if (!any_given && (!known->complete || known->are_large)) return run_tensors(call, options);
    if (!known->complete)
      throw Error(ErrorCode::invalid_argument, "out: shapes of outputs depend on data; give memory for all or none");
    allocate_outputs(*known, call);
  }
  with(options, [&](Session& session, const RunOptions& own) { session.run(call.inputs, call.outputs, own); });
}

void SharedSession::run_data(const Feeds& feeds, Call& call, const Limits& limits) {
  std::size_t named = 0;
  std::deque<Loan> loans;
  std::vector<Datum> inputs;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const TensorInfo& info = inputs_[i].info;
    const nb::handle value = feed(feeds, i, named);
    const bool may_be_absent = !info.containers.empty() && info.containers.front() == Container::optional;
    if (value.is_valid()) {
      inputs.push_back(to_datum(value, info, loans));
    } else if (may_be_absent) {
      inputs.push_back(Datum::absent(info.dtype));
    } else {
      check_names(feeds, named);
      throw Error(ErrorCode::invalid_argument, inputs_[i].role + " is missing");
    }
  }
  check_names(feeds, named);
  const RunOptions options = limits.options();
  std::vector<Datum> outputs =
      with(options, [&](Session& session, const RunOptions& own) { return session.run_data(inputs, own); });
  call.results.clear();
  for (Datum& output : outputs) call.results.push_back(to_python(std::move(output)));
}

std::size_t SharedSession::output_named(nb::handle name) const {
  std::string names;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i].name.is(name) || outputs_[i].name.equal(name)) return i;
    names += (names.empty() ? "" : ", ") + outputs_[i].info.name;
  }
  throw Error(ErrorCode::invalid_argument,
              "no output " + nb::cast<std::string>(nb::str(nb::repr(name))) + "; there are: " + names);
}

std::vector<std::size_t> SharedSession::outputs_chosen(nb::handle chosen) const {
  std::vector<std::size_t> indices;
  if (!chosen.is_valid() || chosen.is_none()) {
    for (std::size_t i = 0; i < outputs_.size(); ++i) indices.push_back(i);
  } else if (PyUnicode_Check(chosen.ptr())) {
    indices.push_back(output_named(chosen));
  } else {
    for (const nb::handle name : chosen) indices.push_back(output_named(name));
  }
  return indices;
}

nb::object SharedSession::collect(Call& call, const std::vector<std::size_t>& chosen, Form form) const {
  if (form == Form::single && chosen.size() == 1) return std::move(call.results[chosen.front()]);
  if (form == Form::dict) {
    nb::dict dict;
    for (const std::size_t i : chosen) dict[outputs_[i].name] = call.results[i];
    return dict;
  }
  nb::list list;
  for (const std::size_t i : chosen) list.append(call.results[i]);
  if (form == Form::single) return nb::tuple(list);
  return list;
}

nb::object SharedSession::run(const Feeds& feeds, nb::handle chosen, nb::handle out, const Limits& limits, Form form) {
  const std::vector<std::size_t> indices = outputs_chosen(chosen);
  std::unique_ptr<Call> call = take_call();
  if (tensors_only_) {
    lend_inputs(feeds, *call);
    run_arrays(*call, out, limits);
  } else {
    if (out.is_valid() && !out.is_none())
      throw Error(ErrorCode::invalid_argument, "out: the model has inputs or outputs that are no tensors");
    run_data(feeds, *call, limits);
  }
  nb::object result = collect(*call, indices, form);
  call->give_back();
  spare_ = std::move(call);
  return result;
}

}  // namespace colonnade::python
