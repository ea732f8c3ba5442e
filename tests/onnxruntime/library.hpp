// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's C interface as programs see it: a library loaded at run time. The same tests ask ours and, where its
// wheel is installed, the real one.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frontends/onnxruntime/interface.h"
#include "onnx/builder.hpp"

namespace colonnade::test::ort {

inline const std::string kOurs = COLONNADE_ONNXRUNTIME_LIBRARY;

/// The library in the wheel of ONNX Runtime: COLONNADE_REAL_ONNXRUNTIME, else in the environment of `./dev test`; ""
/// where there is none.
inline std::string real_library() {
  if (const char* path = std::getenv("COLONNADE_REAL_ONNXRUNTIME")) return path;
  const std::filesystem::path packages = COLONNADE_SOURCE_DIR "/build/venv/lib";
  std::error_code none;
  for (const auto& python : std::filesystem::directory_iterator(packages, none))
    for (const auto& file : std::filesystem::directory_iterator(python.path() / "site-packages/onnxruntime/capi", none))
      if (file.path().filename().string().starts_with("libonnxruntime.so")) return file.path().string();
  return "";
}

template <class Type>
using Owned = std::unique_ptr<Type, void (*)(Type*)>;

/// The functions of a library, which stays loaded.
class Library {
 public:
  explicit Library(const std::string& path) {
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw std::runtime_error(dlerror());
    base_ = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(handle, "OrtGetApiBase"))();
    constexpr std::uint32_t kVersion = 22;
    api_ = base_->GetApi(kVersion);
  }
  const OrtApiBase& base() const { return *base_; }
  const OrtApi& api() const { return *api_; }

 private:
  const OrtApiBase* base_;
  const OrtApi* api_;
};

/// Asks one library after the other.
class Interface : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string path = GetParam() == std::string("ours") ? kOurs : real_library();
    if (path.empty()) GTEST_SKIP() << "ONNX Runtime is not installed: its own answers are not compared";
    static std::map<std::string, std::unique_ptr<Library>> loaded;
    auto& library = loaded[path];
    if (!library) library = std::make_unique<Library>(path);
    library_ = library.get();
    ok(api().CreateEnv(ORT_LOGGING_LEVEL_FATAL, "test", &env_));
  }
  void TearDown() override {
    if (library_ != nullptr) api().ReleaseEnv(env_);
  }

  const Library& library() const { return *library_; }
  const OrtApi& api() const { return library_->api(); }
  OrtEnv* env() const { return env_; }
  bool is_ours() const { return GetParam() == std::string("ours"); }

  /// The code of a status, which is released.
  OrtErrorCode code(OrtStatus* status) const {
    if (status == nullptr) return ORT_OK;
    const OrtErrorCode code = api().GetErrorCode(status);
    message_ = api().GetErrorMessage(status);
    api().ReleaseStatus(status);
    return code;
  }
  void ok(OrtStatus* status) const { ASSERT_EQ(code(status), ORT_OK) << message_; }
  /// Of the last status that was none.
  const std::string& message() const { return message_; }

  Owned<OrtSessionOptions> options() const {
    OrtSessionOptions* made = nullptr;
    ok(api().CreateSessionOptions(&made));
    return {made, api().ReleaseSessionOptions};
  }
  Owned<OrtSession> session(const std::string& path, const OrtSessionOptions* options = nullptr) const {
    OrtSession* made = nullptr;
    const auto defaults = this->options();
    ok(api().CreateSession(env(), path.c_str(), options == nullptr ? defaults.get() : options, &made));
    return {made, api().ReleaseSession};
  }
  Owned<OrtSession> session(const onnx::ModelProto& model, const OrtSessionOptions* options = nullptr) const {
    const std::string bytes = model.SerializeAsString();
    OrtSession* made = nullptr;
    const auto defaults = this->options();
    ok(api().CreateSessionFromArray(env(), bytes.data(), bytes.size(), options == nullptr ? defaults.get() : options,
                                    &made));
    return {made, api().ReleaseSession};
  }
  Owned<OrtMemoryInfo> cpu() const {
    OrtMemoryInfo* made = nullptr;
    ok(api().CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &made));
    return {made, api().ReleaseMemoryInfo};
  }
  OrtAllocator* allocator() const {
    OrtAllocator* found = nullptr;
    ok(api().GetAllocatorWithDefaultOptions(&found));
    return found;
  }
  /// A text that the library allocated.
  std::string taken(char* text) const {
    const std::string copy = text;
    ok(api().AllocatorFree(allocator(), text));
    return copy;
  }
  template <class Element>
  Owned<OrtValue> tensor(std::vector<Element>& elements, const std::vector<std::int64_t>& shape,
                         ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) const {
    OrtValue* made = nullptr;
    ok(api().CreateTensorWithDataAsOrtValue(cpu().get(), elements.data(), elements.size() * sizeof(Element),
                                            shape.data(), shape.size(), type, &made));
    return {made, api().ReleaseValue};
  }
  Owned<OrtValue> strings(const std::vector<const char*>& texts) const {
    OrtValue* made = nullptr;
    const auto count = static_cast<std::int64_t>(texts.size());
    ok(api().CreateTensorAsOrtValue(allocator(), &count, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &made));
    ok(api().FillStringTensor(made, texts.data(), texts.size()));
    return {made, api().ReleaseValue};
  }
  /// The outputs of a run.
  std::vector<Owned<OrtValue>> run(OrtSession* session, const std::vector<const char*>& input_names,
                                   const std::vector<const OrtValue*>& inputs,
                                   const std::vector<const char*>& output_names) const {
    std::vector<OrtValue*> outputs(output_names.size());
    ok(api().Run(session, nullptr, input_names.data(), inputs.data(), inputs.size(), output_names.data(),
                 output_names.size(), outputs.data()));
    std::vector<Owned<OrtValue>> owned;
    for (OrtValue* output : outputs) owned.emplace_back(output, api().ReleaseValue);
    return owned;
  }
  template <class Element>
  std::vector<Element> elements(const OrtValue* value) const {
    void* data = nullptr;
    OrtTensorTypeAndShapeInfo* info = nullptr;
    std::size_t count = 0;
    ok(api().GetTensorMutableData(const_cast<OrtValue*>(value), &data));
    ok(api().GetTensorTypeAndShape(value, &info));
    ok(api().GetTensorShapeElementCount(info, &count));
    api().ReleaseTensorTypeAndShapeInfo(info);
    return {static_cast<const Element*>(data), static_cast<const Element*>(data) + count};
  }
  std::vector<std::int64_t> shape(const OrtValue* value) const {
    OrtTensorTypeAndShapeInfo* info = nullptr;
    std::size_t rank = 0;
    ok(api().GetTensorTypeAndShape(value, &info));
    ok(api().GetDimensionsCount(info, &rank));
    std::vector<std::int64_t> sizes(rank);
    ok(api().GetDimensions(info, sizes.data(), rank));
    api().ReleaseTensorTypeAndShapeInfo(info);
    return sizes;
  }

 private:
  Library* library_ = nullptr;
  OrtEnv* env_ = nullptr;
  mutable std::string message_;
};

#define COLONNADE_BOTH_LIBRARIES(suite)                                       \
  INSTANTIATE_TEST_SUITE_P(Libraries, suite, testing::Values("ours", "real"), \
                           [](const auto& parameter) { return std::string(parameter.param); })

/// y = x + x of x [batch, 3], float32.
inline onnx::ModelProto doubling() {
  onnx_import::testing::ModelBuilder model;
  model.input("x", {-1, 3}).node("Add", {"x", "x"}, {"y"}).output("y");
  auto* type = model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  type->mutable_shape()->mutable_dim(0)->set_dim_param("batch");
  return model.proto;
}

}  // namespace colonnade::test::ort
