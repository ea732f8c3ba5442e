// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <thread>

#include "frontends/onnxruntime/element_types.hpp"
#include "frontends/onnxruntime/session.hpp"

namespace colonnade::ort {
namespace {

constexpr const char* kShrink = "memory.enable_memory_arena_shrinkage";

/// One run of an engine: values of the program in the model's order.
struct Call {
  OrtSession& session;
  Engine& engine;
  RunOptions options;
  std::vector<const OrtValue*> inputs;  ///< null: an optional that is absent
  std::vector<std::size_t> wanted;      ///< outputs, in the order of the results
};

using Results = std::vector<std::unique_ptr<OrtValue>>;

std::string names_of(std::span<const TensorInfo> infos) {
  std::string names;
  for (const TensorInfo& info : infos) names += (names.empty() ? "" : ", ") + info.name;
  return names;
}

/// Where the name is; most programs give names in the model's order, so `hint` is tried first.
std::size_t index_of(std::span<const TensorInfo> infos, const char* name, std::size_t hint, const char* side) {
  if (name == nullptr || *name == '\0')
    throw Failure(ORT_INVALID_ARGUMENT, std::string(side) + " name must not be empty");
  if (hint < infos.size() && infos[hint].name == name) return hint;
  for (std::size_t i = 0; i < infos.size(); ++i)
    if (infos[i].name == name) return i;
  throw Failure(ORT_INVALID_ARGUMENT,
                "there is no " + std::string(side) + " '" + name + "'; there are: " + names_of(infos));
}

bool is_optional(const TensorInfo& info) {
  return !info.containers.empty() && info.containers.front() == Container::optional;
}

/// Calls `work` with a session that nobody else has and with the options for its run.
template <class Work>
void with_session(const Call& call, Work work) {
  const SessionPool::Lease lease = call.engine.pool.take(call.options);
  const RunOptions options = lease.is_alone() ? call.options : lease.shared(call.options);
  if (call.session.profile)
    call.session.profile->run(lease.session(), [&] { work(lease.session(), options); });
  else
    work(lease.session(), options);
}

/// ONNX Runtime takes one element of any rank where the model declares a scalar, and programs rely on it.
bool stands_for_scalar(const TensorInfo& info, const Shape& shape) {
  return info.containers.empty() && info.has_rank && info.shape.empty() && !shape.empty() && element_count(shape) == 1;
}

/// `wide` keeps elements that the program packs.
std::vector<TensorView> views_of(const Call& call, std::vector<Tensor>& wide) {
  const auto infos = call.engine.model.inputs();
  std::vector<TensorView> views;
  views.reserve(call.inputs.size());
  wide.reserve(call.inputs.size());
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    views.push_back(call.inputs[i]->reading());
    if (is_packed(views[i].dtype)) views[i] = TensorView(wide.emplace_back(unpacked(views[i])));
    if (stands_for_scalar(infos[i], views[i].shape)) views[i].shape.clear();
  }
  return views;
}

bool is_tensors_only(const Call& call) {
  const auto is_tensor = [](const TensorInfo& info) { return info.containers.empty(); };
  const auto inputs = call.engine.model.inputs();
  const auto outputs = call.engine.model.outputs();
  return std::all_of(inputs.begin(), inputs.end(), is_tensor) && std::all_of(outputs.begin(), outputs.end(), is_tensor);
}

/// Shapes of the outputs, if they follow from those of the inputs; else null.
std::shared_ptr<const KnownShapes> known_shapes(const Call& call, const std::vector<TensorView>& views) {
  const auto same = [](const TensorView& view, const Shape& shape) { return view.shape == shape; };
  {
    const std::scoped_lock lock(call.engine.mutex);
    const auto& known = call.engine.known;
    if (known && std::equal(views.begin(), views.end(), known->inputs.begin(), known->inputs.end(), same)) return known;
  }
  auto known = std::make_shared<KnownShapes>();
  for (const TensorView& view : views) known->inputs.push_back(view.shape);
  const SessionPool::Lease lease = call.engine.pool.take(call.options);
  known->outputs = lease.session().output_shapes(known->inputs, lease.shared(call.options));
  for (const Shape& shape : known->outputs)
    if (std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 0; })) return nullptr;
  const std::scoped_lock lock(call.engine.mutex);
  call.engine.known = known;
  return known;
}

void check_target(const OrtValue& target, DType dtype, const Shape& shape, const std::string& name) {
  if (!target.is_tensor() || target.view.dtype != dtype || target.view.shape != shape)
    throw Failure(ORT_INVALID_ARGUMENT, "output '" + name + "': the value that is there is of another type or shape");
}

void copy_into(OrtValue& target, const Tensor& result, const std::string& name) {
  check_target(target, result.dtype(), result.shape(), name);
  if (result.dtype() == DType::string)
    std::copy(result.strings().begin(), result.strings().end(), static_cast<std::string*>(target.view.data));
  else if (is_packed(result.dtype()))
    pack(result, target.view.data);
  else if (result.byte_size() > 0)
    std::memcpy(target.view.data, result.data(), result.byte_size());
}

bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const auto from_a = reinterpret_cast<std::uintptr_t>(a), from_b = reinterpret_cast<std::uintptr_t>(b);
  return from_a < from_b + b_bytes && from_b < from_a + a_bytes;
}

/// Whether no two results are written to the same place.
bool are_apart(const std::vector<MutableTensorView>& outputs) {
  const auto bytes = [](const MutableTensorView& view) {
    return static_cast<std::size_t>(element_count(view.shape)) * size_of(view.dtype);
  };
  for (std::size_t o = 0; o < outputs.size(); ++o)
    for (std::size_t other = 0; other < o; ++other)
      if (overlap(outputs[o].data, bytes(outputs[o]), outputs[other].data, bytes(outputs[other]))) return false;
  return true;
}

/// Runs into memory of the program, where it gave any. False, and nothing is run, where the shapes are not known
/// before or the memory is of no use.
bool run_in_place(const Call& call, const std::vector<TensorView>& views, std::span<OrtValue* const> given,
                  Results& results) {
  const auto infos = call.engine.model.outputs();
  const auto is_copied = [](const TensorInfo& info) { return info.dtype == DType::string || is_packed(info.dtype); };
  if (std::any_of(infos.begin(), infos.end(), is_copied)) return false;
  const auto known = known_shapes(call, views);
  if (!known) return false;
  std::vector<MutableTensorView> targets(infos.size());
  for (std::size_t i = 0; i < call.wanted.size(); ++i) {
    const std::size_t o = call.wanted[i];
    if (given[i] == nullptr) {
      results[i] = value_of(Tensor(infos[o].dtype, known->outputs[o]));
      targets[o] = results[i]->view;
    } else {
      check_target(*given[i], infos[o].dtype, known->outputs[o], infos[o].name);
      targets[o] = given[i]->view;
    }
  }
  std::vector<Tensor> unwanted;
  unwanted.reserve(infos.size());
  for (std::size_t o = 0; o < infos.size(); ++o)
    if (targets[o].dtype == DType::undefined)
      targets[o] = MutableTensorView(unwanted.emplace_back(infos[o].dtype, known->outputs[o]));
  if (!are_apart(targets)) return false;
  with_session(call, [&](Session& session, const RunOptions& options) { session.run(views, targets, options); });
  return true;
}

/// Hands results over, or copies them where the program wants them.
void hand_over(const Call& call, std::vector<Datum> data, std::span<OrtValue* const> given, Results& results) {
  const auto infos = call.engine.model.outputs();
  for (std::size_t i = 0; i < call.wanted.size(); ++i) {
    Datum& datum = data[call.wanted[i]];
    if (given[i] == nullptr)
      results[i] = value_of(Datum(datum));  // a name may be asked for twice
    else if (datum.is_tensor())
      copy_into(*given[i], datum.tensor(), infos[call.wanted[i]].name);
    else
      throw Failure(ORT_INVALID_ARGUMENT, "output '" + infos[call.wanted[i]].name + "' is no tensor to be written to");
  }
}

void run_tensors(const Call& call, std::span<OrtValue* const> given, Results& results) {
  std::vector<Tensor> wide;
  const std::vector<TensorView> views = views_of(call, wide);
  const bool any_given =
      std::any_of(given.begin(), given.end(), [](const OrtValue* value) { return value != nullptr; });
  if (any_given && run_in_place(call, views, given, results)) return;
  std::vector<Tensor> tensors;
  with_session(call, [&](Session& session, const RunOptions& options) { tensors = session.run(views, options); });
  const auto infos = call.engine.model.outputs();
  for (std::size_t i = 0; i < call.wanted.size(); ++i) {
    Tensor& tensor = tensors[call.wanted[i]];
    const bool again =
        std::count(call.wanted.begin() + static_cast<std::ptrdiff_t>(i) + 1, call.wanted.end(), call.wanted[i]) > 0;
    if (given[i] != nullptr)
      copy_into(*given[i], tensor, infos[call.wanted[i]].name);
    else
      results[i] = value_of(again ? Tensor(tensor) : std::move(tensor));
  }
}

void run_data(const Call& call, std::span<OrtValue* const> given, Results& results) {
  const auto infos = call.engine.model.inputs();
  std::vector<Datum> inputs;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.inputs[i] == nullptr) {
      inputs.push_back(Datum::absent(infos[i].dtype));
      continue;
    }
    Datum datum = datum_of(*call.inputs[i]);
    if (datum.is_tensor() && stands_for_scalar(infos[i], datum.tensor().shape()))
      datum = Datum(Tensor(datum.tensor()).reshaped({}));
    const bool wraps = is_optional(infos[i]) && datum.kind() != Datum::Kind::optional;
    inputs.push_back(wraps ? Datum::optional(std::move(datum)) : std::move(datum));
  }
  std::vector<Datum> data;
  with_session(call, [&](Session& session, const RunOptions& options) { data = session.run_data(inputs, options); });
  hand_over(call, std::move(data), given, results);
}

std::set<std::string> overridden(const OrtSession& session, std::span<const char* const> names) {
  std::set<std::string> given;
  if (session.overridable.empty()) return given;
  for (const char* name : names)
    for (const ModelInput& input : session.overridable)
      if (name != nullptr && input.name == name) given.insert(name);
  return given;
}

/// Puts the program's values into the model's order.
void order_inputs(const RunArguments& arguments, Call& call) {
  const auto infos = call.engine.model.inputs();
  call.inputs.resize(infos.size());
  for (std::size_t i = 0; i < arguments.inputs.size(); ++i) {
    const std::size_t at = index_of(infos, arguments.input_names[i], i, "input");
    call.inputs[at] = &deref(arguments.inputs[i], "input value");
  }
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (call.inputs[i] != nullptr || is_optional(infos[i])) continue;
    throw Failure(ORT_FAIL, "input '" + infos[i].name + "' is missing");
  }
  for (std::size_t i = 0; i < infos.size(); ++i)
    if (infos[i].containers.empty() && !call.inputs[i]->is_tensor())
      throw Failure(ORT_INVALID_ARGUMENT, "input '" + infos[i].name + "': expected a tensor");
}

}  // namespace

std::vector<std::size_t> outputs_named(const Model& model, std::span<const char* const> names) {
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < names.size(); ++i) wanted.push_back(index_of(model.outputs(), names[i], i, "output"));
  return wanted;
}

void run(OrtSession& session, const RunArguments& arguments, std::span<OrtValue*> outputs) {
  if (arguments.output_names.empty()) throw Failure(ORT_INVALID_ARGUMENT, "expected at least one name of an output");
  const std::shared_ptr<Engine> engine = engine_for(session, overridden(session, arguments.input_names));
  Call call{session, *engine, {}, {}, outputs_named(engine->model, arguments.output_names)};
  if (arguments.options != nullptr) call.options.stop = arguments.options->stop.get_token();
  order_inputs(arguments, call);
  Results results(outputs.size());
  if (is_tensors_only(call))
    run_tensors(call, outputs, results);
  else
    run_data(call, outputs, results);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (results[i]) outputs[i] = results[i].release();
  if (arguments.options != nullptr && arguments.options->entries.contains(kShrink)) engine->pool.trim({});
}

namespace {

/// Checks what a program passes to a run.
RunArguments arguments_of(const OrtSession* session, const OrtRunOptions* options, const char* const* input_names,
                          const OrtValue* const* inputs, std::size_t input_count, const char* const* output_names,
                          std::size_t output_count, OrtValue** outputs) {
  need("session", session);
  if (input_count > 0) need("names and values of inputs", input_names, inputs);
  if (output_count > 0) need("names and values of outputs", output_names, outputs);
  return {options, {input_names, input_count}, {inputs, input_count}, {output_names, output_count}};
}

}  // namespace

OrtStatus* Run(OrtSession* session, const OrtRunOptions* options, const char* const* input_names,
               const OrtValue* const* inputs, std::size_t input_count, const char* const* output_names,
               std::size_t output_count, OrtValue** outputs) noexcept {
  return guarded([&] {
    const RunArguments arguments =
        arguments_of(session, options, input_names, inputs, input_count, output_names, output_count, outputs);
    run(*session, arguments, {outputs, output_count});
  });
}

OrtStatus* RunAsync(OrtSession* session, const OrtRunOptions* options, const char* const* input_names,
                    const OrtValue* const* inputs, std::size_t input_count, const char* const* output_names,
                    std::size_t output_count, OrtValue** outputs, RunAsyncCallbackFn done, void* parameter) noexcept {
  return guarded([&] {
    need("callback", reinterpret_cast<const void*>(done));
    const RunArguments arguments =
        arguments_of(session, options, input_names, inputs, input_count, output_names, output_count, outputs);
    std::thread([=] {
      OrtStatus* const status = guarded([&] { run(*session, arguments, {outputs, output_count}); });
      done(parameter, status == nullptr ? outputs : nullptr, status == nullptr ? output_count : 0, status);
    }).detach();
  });
}

}  // namespace colonnade::ort
