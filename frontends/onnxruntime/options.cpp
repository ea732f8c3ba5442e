// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/options.hpp"

#include <algorithm>
#include <charconv>

#include "frontends/onnxruntime/lists.hpp"

namespace colonnade::ort {
namespace {

constexpr std::string_view kPrefix = "colonnade.";

template <class Type>
Type one_of(const std::string& key, const std::string& text, const std::map<std::string, Type>& known) {
  const auto at = known.find(text);
  if (at != known.end()) return at->second;
  throw Failure(ORT_INVALID_ARGUMENT, "entry '" + key + "': there is no '" + text + "'");
}

void apply_entry(const std::string& key, const std::string& text, Options& options) {
  const std::string name = key.substr(kPrefix.size());
  if (name == "threads") {
    options.threads = static_cast<int>(number_in_entry(key, text));
  } else if (name == "schedule") {
    options.schedule = one_of<Schedule>(
        key, text, {{"automatic", Schedule::automatic}, {"columns", Schedule::columns}, {"layers", Schedule::layers}});
  } else if (name == "math") {
    options.math = one_of<Math>(key, text, {{"fast", Math::fast}, {"exact", Math::exact}, {"bf16", Math::bf16}});
  } else if (name == "memory_limit_bytes") {
    options.memory_limit_bytes = static_cast<std::size_t>(number_in_entry(key, text));
  } else if (name == "compiled") {
    options.compiled = text;
  } else if (name == "isa") {
    options.isa = text;
  } else if (name == "dynamic_scale") {
    options.dynamic_scale = one_of<DynamicScale>(
        key, text,
        {{"tensor", DynamicScale::tensor}, {"sequence", DynamicScale::sequence}, {"row", DynamicScale::row}});
  } else if (name == "padding") {
    options.padding = one_of<Padding>(key, text, {{"zeros", Padding::zeros}, {"compute", Padding::compute}});
  } else if (name == "blocking") {
    options.blocking = text;
  } else if (name == "schema") {
    options.schema = number_in_entry(key, text) != 0;
  } else {
    throw Failure(ORT_INVALID_ARGUMENT, "there is no entry '" + key + "'");
  }
}

OrtStatus* changed(OrtSessionOptions* options) noexcept {
  return guarded([&] { need("options", options); });
}

}  // namespace

std::int64_t number_in_entry(const std::string& key, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    throw Failure(ORT_INVALID_ARGUMENT, "entry '" + key + "': expected a number, found '" + text + "'");
  return value;
}

Options model_options(const OrtSessionOptions& options, const OrtEnv& environment) {
  Options result;
  result.padding = Padding::compute;
  result.schema = true;
  result.threads = options.own_threads ? options.threads : environment.threading.threads;
  for (const auto& [key, text] : options.entries)
    if (key.starts_with(kPrefix)) apply_entry(key, text, result);
  return result;
}

OrtStatus* CreateSessionOptions(OrtSessionOptions** out) noexcept {
  return guarded([&] { hand_out(out); });
}
OrtStatus* CloneSessionOptions(const OrtSessionOptions* options, OrtSessionOptions** out) noexcept {
  return guarded([&] { hand_out(out, deref(options, "options")); });
}
void ReleaseSessionOptions(OrtSessionOptions* options) noexcept { release(options); }

OrtStatus* SetOptimizedModelFilePath(OrtSessionOptions* options, const char* path) noexcept {
  return guarded([&] {
    need("path", path);
    deref(options, "options").optimized_path = path;
  });
}
OrtStatus* SetSessionExecutionMode(OrtSessionOptions* options, ExecutionMode mode) noexcept {
  return guarded([&] {
    if (mode != ORT_SEQUENTIAL && mode != ORT_PARALLEL)
      throw Failure(ORT_INVALID_ARGUMENT, "there is no execution mode " + std::to_string(static_cast<int>(mode)));
    deref(options, "options").execution = mode;
  });
}
OrtStatus* GetSessionExecutionMode(const OrtSessionOptions* options, ExecutionMode* out) noexcept {
  return guarded([&] { deref(out, "out") = deref(options, "options").execution; });
}
OrtStatus* EnableProfiling(OrtSessionOptions* options, const char* prefix) noexcept {
  return guarded([&] {
    need("prefix", prefix);
    deref(options, "options").profiles = true;
    options->profile_prefix = prefix;
  });
}
OrtStatus* DisableProfiling(OrtSessionOptions* options) noexcept {
  return guarded([&] { deref(options, "options").profiles = false; });
}
OrtStatus* EnableMemPattern(OrtSessionOptions* options) noexcept {
  return guarded([&] { deref(options, "options").memory_pattern = true; });
}
OrtStatus* DisableMemPattern(OrtSessionOptions* options) noexcept {
  return guarded([&] { deref(options, "options").memory_pattern = false; });
}
OrtStatus* GetMemPatternEnabled(const OrtSessionOptions* options, int* out) noexcept {
  return guarded([&] { deref(out, "out") = deref(options, "options").memory_pattern ? 1 : 0; });
}
OrtStatus* EnableCpuMemArena(OrtSessionOptions* options) noexcept { return changed(options); }
OrtStatus* DisableCpuMemArena(OrtSessionOptions* options) noexcept { return changed(options); }
OrtStatus* SetDeterministicCompute(OrtSessionOptions* options, bool /*value*/) noexcept { return changed(options); }
OrtStatus* EnableOrtCustomOps(OrtSessionOptions* options) noexcept {
  return guarded([&] {
    need("options", options);
    throw Failure(ORT_FAIL, "the operators of onnxruntime-extensions are no part of this library");
  });
}
OrtStatus* SetSessionLogId(OrtSessionOptions* options, const char* name) noexcept {
  return guarded([&] { deref(options, "options").log_name = name == nullptr ? "" : name; });
}
OrtStatus* SetSessionLogVerbosityLevel(OrtSessionOptions* options, int /*level*/) noexcept { return changed(options); }
OrtStatus* SetSessionLogSeverityLevel(OrtSessionOptions* options, int level) noexcept {
  return guarded([&] { deref(options, "options").log_level = level; });
}
OrtStatus* SetUserLoggingFunction(OrtSessionOptions* options, OrtLoggingFunction function, void* parameter) noexcept {
  return guarded([&] {
    deref(options, "options").log_function = function;
    options->log_parameter = parameter;
  });
}
OrtStatus* SetSessionGraphOptimizationLevel(OrtSessionOptions* options, GraphOptimizationLevel level) noexcept {
  return guarded([&] {
    need("options", options);
    if (level != ORT_ENABLE_ALL && (level < ORT_DISABLE_ALL || level > ORT_ENABLE_LAYOUT))
      throw Failure(ORT_INVALID_ARGUMENT, "there is no optimisation level " + std::to_string(static_cast<int>(level)));
  });
}
OrtStatus* SetIntraOpNumThreads(OrtSessionOptions* options, int threads) noexcept {
  return guarded([&] { deref(options, "options").threads = std::max(0, threads); });
}
OrtStatus* SetInterOpNumThreads(OrtSessionOptions* options, int /*threads*/) noexcept { return changed(options); }
OrtStatus* DisablePerSessionThreads(OrtSessionOptions* options) noexcept {
  return guarded([&] { deref(options, "options").own_threads = false; });
}
// All sessions share the library's threads, which it makes itself.
OrtStatus* SessionOptionsSetCustomCreateThreadFn(OrtSessionOptions* options,
                                                 OrtCustomCreateThreadFn /*create*/) noexcept {
  return changed(options);
}
OrtStatus* SessionOptionsSetCustomThreadCreationOptions(OrtSessionOptions* options, void* /*creation*/) noexcept {
  return changed(options);
}
OrtStatus* SessionOptionsSetCustomJoinThreadFn(OrtSessionOptions* options, OrtCustomJoinThreadFn /*join*/) noexcept {
  return changed(options);
}
OrtStatus* SessionOptionsSetLoadCancellationFlag(OrtSessionOptions* options, bool value) noexcept {
  return guarded([&] { deref(options, "options").is_cancelled = value; });
}

OrtStatus* AddFreeDimensionOverride(OrtSessionOptions* options, const char* denotation, std::int64_t size) noexcept {
  return guarded([&] {
    need("denotation", denotation);
    deref(options, "options").denotations[denotation] = size;
  });
}
OrtStatus* AddFreeDimensionOverrideByName(OrtSessionOptions* options, const char* name, std::int64_t size) noexcept {
  return guarded([&] {
    need("name", name);
    deref(options, "options").dimensions[name] = size;
  });
}

OrtStatus* AddSessionConfigEntry(OrtSessionOptions* options, const char* key, const char* value) noexcept {
  return guarded([&] {
    need("key and value", key, value);
    if (*key == '\0') throw Failure(ORT_INVALID_ARGUMENT, "the key of an entry must not be empty");
    deref(options, "options").entries[key] = value;
  });
}
OrtStatus* HasSessionConfigEntry(const OrtSessionOptions* options, const char* key, int* out) noexcept {
  return guarded([&] {
    need("key and out", key, out);
    *out = deref(options, "options").entries.contains(key) ? 1 : 0;
  });
}
OrtStatus* GetSessionConfigEntry(const OrtSessionOptions* options, const char* key, char* value,
                                 std::size_t* size) noexcept {
  return guarded([&] {
    need("key and size", key, size);
    const auto at = deref(options, "options").entries.find(key);
    if (at == options->entries.end())
      throw Failure(ORT_INVALID_ARGUMENT, "the options have no entry '" + std::string(key) + "'");
    copy_text(at->second, value, *size);
  });
}
OrtStatus* GetSessionOptionsConfigEntries(const OrtSessionOptions* options, OrtKeyValuePairs** out) noexcept {
  return guarded([&] {
    need("options and out", options, out);
    auto pairs = std::make_unique<OrtKeyValuePairs>();
    pairs->entries = options->entries;
    pairs->refresh();
    *out = pairs.release();
  });
}

OrtStatus* AddInitializer(OrtSessionOptions* options, const char* name, const OrtValue* value) noexcept {
  return guarded([&] {
    need("name", name);
    if (*name == '\0') throw Failure(ORT_INVALID_ARGUMENT, "the name of an initializer must not be empty");
    if (!deref(options, "options").initializers.emplace(name, &tensor_in(value)).second)
      throw Failure(ORT_INVALID_ARGUMENT, "initializer '" + std::string(name) + "' was added before");
  });
}
OrtStatus* AddExternalInitializers(OrtSessionOptions* options, const char* const* names, const OrtValue* const* values,
                                   std::size_t count) noexcept {
  return guarded([&] {
    need("options", options);
    if (count > 0) need("names and values", names, values);
    for (std::size_t i = 0; i < count; ++i) {
      need("names", names[i]);
      if (!options->external.emplace(names[i], &tensor_in(values[i])).second)
        throw Failure(ORT_INVALID_ARGUMENT, "initializer '" + std::string(names[i]) + "' was added before");
    }
  });
}
OrtStatus* AddExternalInitializersFromFilesInMemory(OrtSessionOptions* options, const char* const* names,
                                                    char* const* contents, const std::size_t* sizes,
                                                    std::size_t count) noexcept {
  return guarded([&] {
    need("options", options);
    if (count > 0) need("names, contents and sizes", names, contents, sizes);
    for (std::size_t i = 0; i < count; ++i) {
      need("names and contents", names[i], contents[i]);
      options->files[names[i]] = {reinterpret_cast<const std::byte*>(contents[i]), sizes[i]};
    }
  });
}

}  // namespace colonnade::ort
