// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of a session that stay where they are from run to run.
#include <algorithm>
#include <cstring>

#include "frontends/onnxruntime/session.hpp"

namespace colonnade::ort {
namespace {

struct Bound {
  std::string name;
  std::shared_ptr<const OrtValue> value;  ///< null: made by each run
  bool is_given = false;                  ///< the program's, so that runs write into it
};

Bound& slot(std::vector<Bound>& bound, const char* name) {
  const auto at = std::find_if(bound.begin(), bound.end(), [&](const Bound& one) { return one.name == name; });
  return at != bound.end() ? *at : bound.emplace_back(Bound{name, nullptr, false});
}

std::vector<const char*> names_in(const std::vector<Bound>& bound) {
  std::vector<const char*> names;
  for (const Bound& one : bound) names.push_back(one.name.c_str());
  return names;
}

}  // namespace
}  // namespace colonnade::ort

struct OrtIoBinding {
  OrtSession* session;
  std::vector<colonnade::ort::Bound> inputs, outputs;
  [[no_unique_address]] colonnade::ort::Alive alive = {};
};

namespace colonnade::ort {
namespace {

void check_input(const OrtSession& session, const char* name) {
  const auto is_named = [&](const auto& info) { return info.name == name; };
  const auto infos = session.engine->model.inputs();
  if (std::none_of(infos.begin(), infos.end(), is_named) &&
      std::none_of(session.overridable.begin(), session.overridable.end(), is_named))
    throw Failure(ORT_FAIL, "there is no input '" + std::string(name) + "'");
}

void run_bound(OrtSession& session, const OrtRunOptions* options, OrtIoBinding& binding) {
  const std::vector<const char*> input_names = names_in(binding.inputs), output_names = names_in(binding.outputs);
  std::vector<const OrtValue*> inputs;
  std::vector<OrtValue*> outputs;
  for (const Bound& input : binding.inputs) inputs.push_back(input.value.get());
  for (const Bound& output : binding.outputs)
    outputs.push_back(output.is_given ? const_cast<OrtValue*>(output.value.get()) : nullptr);
  run(session, {options, input_names, inputs, output_names}, outputs);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (!binding.outputs[i].is_given) binding.outputs[i].value.reset(outputs[i]);
}

}  // namespace

OrtStatus* CreateIoBinding(OrtSession* session, OrtIoBinding** out) noexcept {
  return guarded([&] {
    need("session and out", session, out);
    *out = new OrtIoBinding{session, {}, {}};
  });
}
void ReleaseIoBinding(OrtIoBinding* binding) noexcept { release(binding); }

OrtStatus* BindInput(OrtIoBinding* binding, const char* name, const OrtValue* value) noexcept {
  return guarded([&] {
    need("binding, name and value", binding, name, value);
    check_input(*binding->session, name);
    slot(binding->inputs, name).value = std::make_shared<const OrtValue>(*value);
  });
}
OrtStatus* BindOutput(OrtIoBinding* binding, const char* name, const OrtValue* value) noexcept {
  return guarded([&] {
    need("binding, name and value", binding, name, value);
    outputs_named(binding->session->engine->model, {&name, 1});
    slot(binding->outputs, name) = {name, std::make_shared<const OrtValue>(*value), true};
  });
}
OrtStatus* BindOutputToDevice(OrtIoBinding* binding, const char* name, const OrtMemoryInfo* memory) noexcept {
  return guarded([&] {
    need("binding, name and memory info", binding, name, memory);
    outputs_named(binding->session->engine->model, {&name, 1});
    if (memory->device != OrtMemoryInfoDeviceType_CPU)
      throw Failure(ORT_INVALID_ARGUMENT, "there is no memory of '" + memory->name + "'");
    slot(binding->outputs, name) = {name, nullptr, false};
  });
}

OrtStatus* RunWithBinding(OrtSession* session, const OrtRunOptions* options, const OrtIoBinding* binding) noexcept {
  return guarded([&] {
    need("session and binding", session, binding);
    run_bound(*session, options, *const_cast<OrtIoBinding*>(binding));
  });
}

OrtStatus* GetBoundOutputNames(const OrtIoBinding* binding, OrtAllocator* allocator, char** out, std::size_t** lengths,
                               std::size_t* count) noexcept {
  return guarded([&] {
    need("binding, allocator, out, lengths and count", binding, allocator, out, lengths, count);
    *out = nullptr;
    *lengths = nullptr;
    *count = binding->outputs.size();
    if (binding->outputs.empty()) return;
    std::string all;
    for (const Bound& output : binding->outputs) all += output.name;
    *lengths = static_cast<std::size_t*>(allocated(*allocator, binding->outputs.size() * sizeof(std::size_t)));
    std::transform(binding->outputs.begin(), binding->outputs.end(), *lengths,
                   [](const Bound& output) { return output.name.size(); });
    *out = static_cast<char*>(allocated(*allocator, std::max<std::size_t>(1, all.size())));
    std::memcpy(*out, all.data(), all.size());
  });
}

OrtStatus* GetBoundOutputValues(const OrtIoBinding* binding, OrtAllocator* allocator, OrtValue*** out,
                                std::size_t* count) noexcept {
  return guarded([&] {
    need("binding, allocator, out and count", binding, allocator, out, count);
    *out = nullptr;
    *count = 0;
    if (binding->outputs.empty()) return;
    std::vector<std::unique_ptr<OrtValue>> values;
    for (const Bound& output : binding->outputs)
      values.push_back(output.value ? std::make_unique<OrtValue>(*output.value) : std::make_unique<OrtValue>());
    auto** const list = static_cast<OrtValue**>(allocated(*allocator, values.size() * sizeof(OrtValue*)));
    std::transform(values.begin(), values.end(), list, [](auto& value) { return value.release(); });
    *out = list;
    *count = binding->outputs.size();
  });
}

void ClearBoundInputs(OrtIoBinding* binding) noexcept {
  if (binding != nullptr) binding->inputs.clear();
}
void ClearBoundOutputs(OrtIoBinding* binding) noexcept {
  if (binding != nullptr) binding->outputs.clear();
}
// All memory is the CPU's: there is nothing to wait for.
OrtStatus* SynchronizeBoundInputs(OrtIoBinding* binding) noexcept {
  return guarded([&] { need("binding", binding); });
}
OrtStatus* SynchronizeBoundOutputs(OrtIoBinding* binding) noexcept {
  return guarded([&] { need("binding", binding); });
}

}  // namespace colonnade::ort
