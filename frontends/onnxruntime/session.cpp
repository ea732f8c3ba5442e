// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/session.hpp"

#include <algorithm>
#include <chrono>

#include "colonnade/optimize.hpp"
#include "frontends/onnxruntime/custom.hpp"
#include "frontends/onnxruntime/devices.hpp"
#include "frontends/onnxruntime/initializers.hpp"

namespace colonnade::ort {
namespace {

/// Whether the message names an operator that ONNX Runtime looks for among its own: of a domain of ONNX's, or of one
/// that the model does not import.
bool names_unknown_operator(const std::string& message) {
  const std::string before = " of domain ", between = " in opset ";
  const std::size_t domain = message.find(before), opset = message.find(between);
  if (message.find("operator ") == std::string::npos || domain == std::string::npos || opset == std::string::npos)
    return false;
  const std::string name = message.substr(domain + before.size(), opset - domain - before.size());
  return name == "ai.onnx" || name == "ai.onnx.ml" ||
         (name != "com.microsoft" && message.compare(opset, between.size() + 2, between + "0 ") == 0);
}

/// What ONNX Runtime calls a model that cannot be loaded, by what the library's message says.
OrtErrorCode code_of_load(const std::string& message) {
  const auto says = [&](auto... texts) { return (... && (message.find(texts) != std::string::npos)); };
  const bool is_argument = says("input '", "' is not defined") || says("output '", "of function '", "is not defined") ||
                           says("put '", "': has no element type") ||
                           says("put '", "': element type ", " does not exist");
  if (is_argument) return ORT_INVALID_ARGUMENT;
  const bool is_attribute = says("attribute '") && !says("expected a graph of") &&
                            (says("' is required") || says("' is given twice") || says("': expected "));
  const bool is_graph = names_unknown_operator(message) || is_attribute ||
                        (says("expected ", " inputs, found ") && !says("expected a graph of")) ||
                        says("expected ", " outputs, found ") || says(": input ", " is required") ||
                        says("has no operator") || says("it has no outputs") || says("expected another type") ||
                        says("captured value '", "' is not defined") || says("imports no opset of domain") ||
                        says("function '", "' calls itself");
  return is_graph ? ORT_INVALID_GRAPH : ORT_FAIL;
}

[[noreturn]] void throw_of_load(const Error& error) {
  const bool is_model = error.code() == ErrorCode::invalid_model || error.code() == ErrorCode::unsupported;
  if (is_model) throw Failure(code_of_load(error.what()), error.what());
  throw error;
}

/// Dimensions of one name may differ, as in ONNX Runtime.
constexpr std::int64_t kAnySize = -1;

/// Sizes of open dimensions, where they are given; those that the model has not are without effect.
std::map<std::string, std::int64_t> dimensions_of(const OrtSessionOptions& options, const ModelFile& file) {
  std::map<std::string, std::int64_t> sizes;
  for (const ModelInput& input : file.inputs) {
    for (std::size_t i = 0; i < input.denotations.size(); ++i) {
      const std::string& symbol = input.type.symbols[i];
      if (symbol.empty()) continue;
      const auto named = options.dimensions.find(symbol);
      const auto denoted = options.denotations.find(input.denotations[i]);
      if (named != options.dimensions.end())
        sizes[symbol] = named->second;
      else if (denoted != options.denotations.end())
        sizes[symbol] = denoted->second;
      else
        sizes.try_emplace(symbol, kAnySize);
    }
  }
  return sizes;
}

Model from_bytes(const OrtSession& session, const Options& options, ByteSpan bytes) {
  const bool lasts = !session.operators.empty() || !session.options.optimized_path.empty();
  return lasts ? load_with(session.operators, bytes, options) : Model::from_bytes(bytes, options);
}

std::shared_ptr<Engine> make_engine(const OrtSession& session, const Options& options, ByteSpan bytes,
                                    const std::set<std::string>& given) {
  const Changes changes{session.options.initializers, session.options.external, session.options.files,
                        folder_of(session), given};
  try {
    if (changes.any()) {
      const std::vector<std::byte> changed = changes.applied(bytes);
      return std::make_shared<Engine>(from_bytes(session, options, changed));
    }
    return std::make_shared<Engine>(session.path.empty()        ? from_bytes(session, options, bytes)
                                    : session.operators.empty() ? Model::load(session.path, options)
                                                                : load_with(session.operators, session.path, options));
  } catch (const Error& error) {
    throw_of_load(error);
  }
}

void check(const OrtSessionOptions& options) {
  if (options.is_cancelled) throw Failure(ORT_MODEL_LOAD_CANCELED, "the options' load cancellation flag is set");
}

/// The optimised model, where the options name a file for it.
void write_optimized(const OrtSession& session) {
  const OrtSessionOptions& options = session.options;
  if (options.optimized_path.empty()) return;
  const auto entry = [&](const std::string& name) {
    const auto found = options.entries.find("session.optimized_model_external_initializers_" + name);
    return found == options.entries.end() ? "" : found->second;
  };
  OptimizedFile file{entry("file_name")};
  if (const std::string least = entry("min_size_in_bytes"); !least.empty())
    file.least_bytes = static_cast<std::size_t>(
        number_in_entry("session.optimized_model_external_initializers_min_size_in_bytes", least));
  try {
    colonnade::write_optimized(session.engine->model, options.optimized_path, file);
  } catch (const Error& error) {
    throw Failure(error.code() == ErrorCode::io ? ORT_INVALID_ARGUMENT : ORT_FAIL, error.what());
  }
}

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

/// Of a file where there is a path, else of bytes.
std::unique_ptr<OrtSession> make_session(const OrtEnv& environment, std::string path, ByteSpan bytes,
                                         const OrtSessionOptions& options) {
  check(options);
  auto session = std::make_unique<OrtSession>();
  session->start_ns = now_ns();
  session->options = options;
  session->path = std::move(path);
  session->file = read_model(bytes);
  session->overridable = session->file.overridable();
  session->model_options = model_options(options, environment);
  session->model_options.dimensions = dimensions_of(options, session->file);
  session->operators = operators_of(options, environment);
  session->engine = make_engine(*session, session->model_options, bytes, {});
  write_optimized(*session);
  if (session->path.empty() && !session->overridable.empty()) session->bytes.assign(bytes.begin(), bytes.end());
  if (options.profiles) {
    session->engine->pool.limit(1, {});
    session->profile = std::make_unique<Profile>(session->start_ns, options.profile_prefix, !session->path.empty());
  }
  return session;
}

const OrtSessionOptions& or_default(const OrtSessionOptions* options) {
  static const OrtSessionOptions& defaults = *new OrtSessionOptions;
  return options == nullptr ? defaults : *options;
}

}  // namespace

std::string folder_of(const OrtSession& session) {
  const auto entry = session.options.entries.find("session.model_external_initializers_file_folder_path");
  if (entry != session.options.entries.end()) return entry->second;
  const std::size_t slash = session.path.rfind('/');
  return session.path.empty() ? "" : slash == std::string::npos ? "." : session.path.substr(0, slash + 1);
}

std::shared_ptr<Engine> engine_for(OrtSession& session, const std::set<std::string>& given) {
  if (given.empty()) return session.engine;
  const std::scoped_lock lock(session.mutex);
  std::shared_ptr<Engine>& engine = session.others[given];
  if (engine) return engine;
  if (session.path.empty()) {
    engine = make_engine(session, session.model_options, session.bytes, given);
  } else {
    const MappedFile file(session.path);
    engine = make_engine(session, session.model_options, file.bytes(), given);
  }
  return engine;
}

OrtStatus* CreateSession(const OrtEnv* environment, const char* path, const OrtSessionOptions* options,
                         OrtSession** out) noexcept {
  return guarded([&] {
    need("environment, path and out", environment, path, out);
    const MappedFile file(path);
    *out = make_session(*environment, path, file.bytes(), or_default(options)).release();
  });
}
OrtStatus* CreateSessionFromArray(const OrtEnv* environment, const void* bytes, std::size_t size,
                                  const OrtSessionOptions* options, OrtSession** out) noexcept {
  return guarded([&] {
    need("environment, model and out", environment, bytes, out);
    *out = make_session(*environment, "", {static_cast<const std::byte*>(bytes), size}, or_default(options)).release();
  });
}
OrtStatus* CreateSessionWithPrepackedWeightsContainer(const OrtEnv* environment, const char* path,
                                                      const OrtSessionOptions* options,
                                                      OrtPrepackedWeightsContainer* /*container*/,
                                                      OrtSession** out) noexcept {
  return CreateSession(environment, path, options, out);
}
OrtStatus* CreateSessionFromArrayWithPrepackedWeightsContainer(const OrtEnv* environment, const void* bytes,
                                                               std::size_t size, const OrtSessionOptions* options,
                                                               OrtPrepackedWeightsContainer* /*container*/,
                                                               OrtSession** out) noexcept {
  return CreateSessionFromArray(environment, bytes, size, options, out);
}
void ReleaseSession(OrtSession* session) noexcept { release(session); }

namespace {

/// An element of a list of the session, by the program's index.
template <class List>
const auto& at(const List& list, std::size_t index, const char* what) {
  if (index >= list.size())
    throw Failure(ORT_FAIL, std::string("there is no ") + what + " " + std::to_string(index) + " of " +
                                std::to_string(list.size()));
  return list[index];
}

std::span<const TensorInfo> inputs(const OrtSession* session) {
  return deref(session, "session").engine->model.inputs();
}
std::span<const TensorInfo> outputs(const OrtSession* session) {
  return deref(session, "session").engine->model.outputs();
}

OrtStatus* name_at(const std::string& name, OrtAllocator* allocator, char** out) {
  deref(out, "out") = copied(deref(allocator, "allocator"), name);
  return nullptr;
}

}  // namespace

OrtStatus* SessionGetInputCount(const OrtSession* session, std::size_t* out) noexcept {
  return guarded([&] { deref(out, "out") = inputs(session).size(); });
}
OrtStatus* SessionGetOutputCount(const OrtSession* session, std::size_t* out) noexcept {
  return guarded([&] { deref(out, "out") = outputs(session).size(); });
}
OrtStatus* SessionGetOverridableInitializerCount(const OrtSession* session, std::size_t* out) noexcept {
  return guarded([&] { deref(out, "out") = deref(session, "session").overridable.size(); });
}
OrtStatus* SessionGetInputTypeInfo(const OrtSession* session, std::size_t index, OrtTypeInfo** out) noexcept {
  return guarded([&] { hand_out(out, type_of(at(inputs(session), index, "input"))); });
}
OrtStatus* SessionGetOutputTypeInfo(const OrtSession* session, std::size_t index, OrtTypeInfo** out) noexcept {
  return guarded([&] { hand_out(out, type_of(at(outputs(session), index, "output"))); });
}
OrtStatus* SessionGetOverridableInitializerTypeInfo(const OrtSession* session, std::size_t index,
                                                    OrtTypeInfo** out) noexcept {
  return guarded([&] {
    auto type = std::make_unique<OrtTypeInfo>();
    type->type = ONNX_TYPE_TENSOR;
    type->tensor = at(deref(session, "session").overridable, index, "overridable initializer").type;
    deref(out, "out") = type.release();
  });
}
OrtStatus* SessionGetInputName(const OrtSession* session, std::size_t index, OrtAllocator* allocator,
                               char** out) noexcept {
  return guarded([&] { name_at(at(inputs(session), index, "input").name, allocator, out); });
}
OrtStatus* SessionGetOutputName(const OrtSession* session, std::size_t index, OrtAllocator* allocator,
                                char** out) noexcept {
  return guarded([&] { name_at(at(outputs(session), index, "output").name, allocator, out); });
}
OrtStatus* SessionGetOverridableInitializerName(const OrtSession* session, std::size_t index, OrtAllocator* allocator,
                                                char** out) noexcept {
  return guarded([&] {
    name_at(at(deref(session, "session").overridable, index, "overridable initializer").name, allocator, out);
  });
}

OrtStatus* SessionEndProfiling(OrtSession* session, OrtAllocator* allocator, char** out) noexcept {
  return guarded([&] {
    need("session, allocator and out", session, allocator, out);
    *out = copied(*allocator, session->profile ? session->profile->finish() : "");
  });
}
OrtStatus* SessionGetProfilingStartTimeNs(const OrtSession* session, std::uint64_t* out) noexcept {
  return guarded([&] { deref(out, "out") = deref(session, "session").start_ns; });
}
OrtStatus* SessionGetMemoryInfoForInputs(const OrtSession* session, const OrtMemoryInfo** out,
                                         std::size_t count) noexcept {
  return guarded([&] {
    need("out", out);
    if (count != inputs(session).size()) throw Failure(ORT_FAIL, "expected a place for each input");
    std::fill_n(out, count, &cpu_memory());
  });
}
OrtStatus* SessionGetMemoryInfoForOutputs(const OrtSession* session, const OrtMemoryInfo** out,
                                          std::size_t count) noexcept {
  return guarded([&] {
    need("out", out);
    if (count != outputs(session).size()) throw Failure(ORT_FAIL, "expected a place for each output");
    std::fill_n(out, count, &cpu_memory());
  });
}
OrtStatus* SessionGetEpDeviceForInputs(const OrtSession* session, const OrtEpDevice** out, std::size_t count) noexcept {
  return guarded([&] {
    need("out", out);
    if (count != inputs(session).size()) throw Failure(ORT_FAIL, "expected a place for each input");
    std::fill_n(out, count, &cpu_device());
  });
}
OrtStatus* SessionGetEpDeviceForOutputs(const OrtSession* session, const OrtEpDevice** out,
                                        std::size_t count) noexcept {
  return guarded([&] {
    need("out", out);
    if (count != outputs(session).size()) throw Failure(ORT_FAIL, "expected a place for each output");
    std::fill_n(out, count, &cpu_device());
  });
}
OrtStatus* SetEpDynamicOptions(OrtSession* session, const char* const* keys, const char* const* values,
                               std::size_t count) noexcept {
  return guarded([&] {
    need("session", session);
    if (count > 0) need("keys and values", keys, values);
  });
}
OrtStatus* SessionReleaseCapturedGraph(OrtSession* session, int /*annotation*/) noexcept {
  return guarded([&] { need("session", session); });
}

}  // namespace colonnade::ort
