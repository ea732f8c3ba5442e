// SPDX-License-Identifier: Apache-2.0
// Bad use is answered by the status code of ONNX Runtime: the same expectations hold for both libraries.
#include "onnxruntime/library.hpp"

namespace colonnade::test::ort {
namespace {

using onnx_import::testing::ModelBuilder;

class OrtMisuse : public Interface {
 protected:
  OrtErrorCode of_bytes(const std::string& bytes) const {
    OrtSession* made = nullptr;
    const auto chosen = options();
    const OrtErrorCode result =
        code(api().CreateSessionFromArray(env(), bytes.data(), bytes.size(), chosen.get(), &made));
    EXPECT_EQ(made, nullptr);
    return result;
  }
  /// Of a run of the model that doubles.
  OrtErrorCode of_run(const char* in, const OrtValue* input, const char* out) const {
    const auto doubles = session(doubling());
    OrtValue* output = nullptr;
    const OrtErrorCode result = code(api().Run(doubles.get(), nullptr, &in, &input, 1, &out, 1, &output));
    EXPECT_EQ(output, nullptr);
    return result;
  }
};

TEST_P(OrtMisuse, ModelsThatAreNone) {
  OrtSession* made = nullptr;
  const auto chosen = options();
  EXPECT_EQ(code(api().CreateSession(env(), "/no/such/model.onnx", chosen.get(), &made)), ORT_NO_SUCHFILE) << message();
  EXPECT_EQ(of_bytes("this is no model"), ORT_INVALID_PROTOBUF) << message();
  EXPECT_NE(of_bytes(""), ORT_OK);
  ModelBuilder unknown;
  unknown.input("x", {3}).node("NoSuchOperator", {"x"}, {"y"}).output("y");
  EXPECT_EQ(of_bytes(unknown.bytes()), ORT_INVALID_GRAPH) << message();
  ModelBuilder wrong;
  wrong.input("x", {3}).node("Relu", {"nothing"}, {"y"}).output("y");
  EXPECT_EQ(of_bytes(wrong.bytes()), ORT_INVALID_ARGUMENT) << message();
  ModelBuilder cycle;
  cycle.input("x", {3}).node("Add", {"x", "y"}, {"z"}).node("Neg", {"z"}, {"y"}).output("y");
  EXPECT_EQ(of_bytes(cycle.bytes()), ORT_FAIL) << message();
  ModelBuilder twice;
  twice.input("x", {3}).node("Neg", {"x"}, {"y"}).node("Abs", {"x"}, {"y"}).output("y");
  EXPECT_EQ(of_bytes(twice.bytes()), ORT_FAIL) << message();
  ModelBuilder few;
  few.input("x", {3}).node("Add", {"x"}, {"y"}).output("y");
  EXPECT_EQ(of_bytes(few.bytes()), ORT_INVALID_GRAPH) << message();
  ModelBuilder attribute;
  attribute.input("x", {3}).node("Concat", {"x", "x"}, {"y"}).output("y");
  EXPECT_EQ(of_bytes(attribute.bytes()), ORT_INVALID_GRAPH) << message();
  ModelBuilder domain;
  domain.import("own", 1).input("x", {3}).node("Nope", {"x"}, {"y"}, {}, "own").output("y");
  EXPECT_EQ(of_bytes(domain.bytes()), ORT_FAIL) << message();
  EXPECT_EQ(of_bytes(ModelBuilder(99).input("x", {3}).node("Neg", {"x"}, {"y"}).output("y").bytes()), ORT_FAIL);
}

#if !defined(NDEBUG)
/// Where handles are known while they live; in other builds, and in ONNX Runtime, this is the program's to avoid.
TEST_P(OrtMisuse, ReleasedHandles) {
  if (!is_ours()) GTEST_SKIP();
  std::vector<float> x = {1, 2, 3};
  OrtValue* const value = tensor(x, {3}).release();
  api().ReleaseValue(value);
  void* data = nullptr;
  EXPECT_EQ(code(api().GetTensorMutableData(value, &data)), ORT_INVALID_ARGUMENT);
  EXPECT_NE(message().find("was released"), std::string::npos) << message();
  api().ReleaseValue(value);
  OrtSession* const doubles = session(doubling()).release();
  api().ReleaseSession(doubles);
  std::size_t count = 0;
  EXPECT_EQ(code(api().SessionGetInputCount(doubles, &count)), ORT_INVALID_ARGUMENT);
  OrtSessionOptions* const made = options().release();
  api().ReleaseSessionOptions(made);
  EXPECT_EQ(code(api().SetIntraOpNumThreads(made, 1)), ORT_INVALID_ARGUMENT);
}
#endif

TEST_P(OrtMisuse, Runs) {
  std::vector<float> x = {1, 2, 3, 4};
  std::vector<std::int64_t> ints = {1, 2, 3};
  const auto good = tensor(x, {1, 3});
  EXPECT_EQ(of_run("z", good.get(), "y"), ORT_INVALID_ARGUMENT) << message();
  EXPECT_EQ(of_run("x", good.get(), "z"), ORT_INVALID_ARGUMENT) << message();
  EXPECT_EQ(of_run("", good.get(), "y"), ORT_INVALID_ARGUMENT) << message();
  EXPECT_EQ(of_run("x", good.get(), ""), ORT_INVALID_ARGUMENT) << message();
  EXPECT_EQ(of_run("x", tensor(x, {3}).get(), "y"), ORT_INVALID_ARGUMENT) << message();
  EXPECT_EQ(of_run("x", tensor(x, {1, 4}).get(), "y"), ORT_INVALID_ARGUMENT) << message();
  EXPECT_EQ(of_run("x", tensor(ints, {1, 3}, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64).get(), "y"), ORT_INVALID_ARGUMENT)
      << message();
  const auto doubles = session(doubling());
  const char* name = "y";
  OrtValue* output = nullptr;
  EXPECT_EQ(code(api().Run(doubles.get(), nullptr, nullptr, nullptr, 0, &name, 1, &output)), ORT_FAIL) << message();
  EXPECT_EQ(code(api().Run(doubles.get(), nullptr, nullptr, nullptr, 0, nullptr, 0, nullptr)), ORT_INVALID_ARGUMENT)
      << message();
}

TEST_P(OrtMisuse, OutputsOfAnotherShape) {
  const auto doubles = session(doubling());
  std::vector<float> x = {1, 2, 3}, y(6);
  const auto input = tensor(x, {1, 3}), output = tensor(y, {2, 3});
  const char* in = "x";
  const char* out = "y";
  const OrtValue* inputs[] = {input.get()};
  OrtValue* outputs[] = {output.get()};
  EXPECT_NE(code(api().Run(doubles.get(), nullptr, &in, inputs, 1, &out, 1, outputs)), ORT_OK) << message();
}

TEST_P(OrtMisuse, Tensors) {
  std::vector<float> x(4);
  OrtValue* made = nullptr;
  const auto memory = cpu();
  const std::int64_t sizes[] = {2, 3}, negative[] = {-1, 3};
  const auto bytes = x.size() * sizeof(float);
  const auto type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  EXPECT_EQ(code(api().CreateTensorWithDataAsOrtValue(memory.get(), x.data(), bytes, sizes, 2, type, &made)),
            ORT_INVALID_ARGUMENT)
      << message();
  EXPECT_NE(code(api().CreateTensorWithDataAsOrtValue(memory.get(), x.data(), bytes, negative, 2, type, &made)),
            ORT_OK);
  const auto undefined = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  EXPECT_NE(code(api().CreateTensorWithDataAsOrtValue(memory.get(), x.data(), bytes, sizes, 1, undefined, &made)),
            ORT_OK);
  const auto strings_value = strings({"a"});
  const auto numbers = tensor(x, {4});
  std::size_t length = 0;
  EXPECT_NE(code(api().GetStringTensorDataLength(numbers.get(), &length)), ORT_OK);
  EXPECT_NE(code(api().GetStringTensorElementLength(strings_value.get(), 5, &length)), ORT_OK);
  const char* two[] = {"a", "b"};
  EXPECT_NE(code(api().FillStringTensor(strings_value.get(), two, 2)), ORT_OK);
  void* place = nullptr;
  const std::int64_t outside[] = {4};
  EXPECT_EQ(code(api().TensorAt(numbers.get(), outside, 1, &place)), ORT_INVALID_ARGUMENT) << message();
  EXPECT_EQ(code(api().TensorAt(numbers.get(), sizes, 2, &place)), ORT_INVALID_ARGUMENT) << message();
}

TEST_P(OrtMisuse, OptionsAndProviders) {
  const auto chosen = options();
  EXPECT_EQ(code(api().SetSessionGraphOptimizationLevel(chosen.get(), static_cast<GraphOptimizationLevel>(50))),
            ORT_INVALID_ARGUMENT)
      << message();
  EXPECT_EQ(code(api().AddSessionConfigEntry(chosen.get(), "", "value")), ORT_INVALID_ARGUMENT) << message();
  std::size_t size = 0;
  EXPECT_NE(code(api().GetSessionConfigEntry(chosen.get(), "nothing", nullptr, &size)), ORT_OK);
  EXPECT_EQ(code(api().SessionOptionsAppendExecutionProvider(chosen.get(), "NoSuch", nullptr, nullptr, 0)),
            ORT_INVALID_ARGUMENT)
      << message();
  EXPECT_EQ(code(api().SessionOptionsAppendExecutionProvider(chosen.get(), "QNN", nullptr, nullptr, 0)),
            ORT_INVALID_ARGUMENT)
      << message();
  alignas(std::max_align_t) std::byte zeros[512] = {};  // the real one reads them
  const auto* const gpu = reinterpret_cast<const OrtCUDAProviderOptions*>(zeros);
  EXPECT_EQ(code(api().SessionOptionsAppendExecutionProvider_CUDA(chosen.get(), gpu)), ORT_FAIL) << message();
  const auto* const trt = reinterpret_cast<const OrtTensorRTProviderOptions*>(zeros);
  EXPECT_EQ(code(api().SessionOptionsAppendExecutionProvider_TensorRT(chosen.get(), trt)), ORT_FAIL) << message();
  OrtCUDAProviderOptionsV2* cuda = nullptr;
  EXPECT_EQ(code(api().CreateCUDAProviderOptions(&cuda)), ORT_FAIL) << message();
  OrtMemoryInfo* memory = nullptr;
  EXPECT_EQ(code(api().CreateMemoryInfo("NoSuch", OrtDeviceAllocator, 0, OrtMemTypeDefault, &memory)),
            ORT_INVALID_ARGUMENT)
      << message();
  char** names = nullptr;
  int count = 0;
  ok(api().GetAvailableProviders(&names, &count));
  EXPECT_EQ(
      std::count_if(names, names + count, [](const char* name) { return std::string(name) == "CPUExecutionProvider"; }),
      1);
  ok(api().ReleaseAvailableProviders(names, count));
}

TEST_P(OrtMisuse, IndicesOfSessions) {
  const auto doubles = session(doubling());
  OrtTypeInfo* type = nullptr;
  char* name = nullptr;
  EXPECT_EQ(code(api().SessionGetInputTypeInfo(doubles.get(), 1, &type)), ORT_FAIL) << message();
  EXPECT_EQ(code(api().SessionGetOutputTypeInfo(doubles.get(), 1, &type)), ORT_FAIL) << message();
  EXPECT_EQ(code(api().SessionGetInputName(doubles.get(), 1, allocator(), &name)), ORT_FAIL) << message();
}

TEST_P(OrtMisuse, Bindings) {
  const auto doubles = session(doubling());
  OrtIoBinding* binding = nullptr;
  ok(api().CreateIoBinding(doubles.get(), &binding));
  std::vector<float> x = {1, 2, 3};
  const auto input = tensor(x, {1, 3});
  EXPECT_EQ(code(api().BindInput(binding, "nothing", input.get())), ORT_FAIL) << message();
  EXPECT_EQ(code(api().RunWithBinding(doubles.get(), nullptr, binding)), ORT_INVALID_ARGUMENT) << message();
  api().ReleaseIoBinding(binding);
}

TEST_P(OrtMisuse, Sequences) {
  std::vector<float> x = {1};
  std::vector<std::int64_t> n = {1};
  const auto floats = tensor(x, {1}), ints = tensor(n, {1}, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64);
  const OrtValue* both[] = {floats.get(), ints.get()};
  OrtValue* made = nullptr;
  EXPECT_EQ(code(api().CreateValue(both, 2, ONNX_TYPE_SEQUENCE, &made)), ORT_FAIL) << message();
  EXPECT_EQ(code(api().CreateValue(both, 0, ONNX_TYPE_SEQUENCE, &made)), ORT_FAIL) << message();
  EXPECT_EQ(code(api().CreateValue(both, 1, ONNX_TYPE_MAP, &made)), ORT_FAIL) << message();
}

COLONNADE_BOTH_LIBRARIES(OrtMisuse);

/// Where ONNX Runtime would read a null pointer, ours says so.
TEST(OrtNullPointers, AreAnsweredByAStatus) {
  const Library library(kOurs);
  const OrtApi& api = library.api();
  std::size_t count = 0;
  OrtValue* value = nullptr;
  OrtSession* session = nullptr;
  for (OrtStatus* const status :
       {api.CreateEnv(ORT_LOGGING_LEVEL_ERROR, "x", nullptr), api.CreateSessionOptions(nullptr),
        api.CreateSession(nullptr, "model.onnx", nullptr, &session), api.SessionGetInputCount(nullptr, &count),
        api.Run(nullptr, nullptr, nullptr, nullptr, 0, nullptr, 0, nullptr), api.IsTensor(nullptr, nullptr),
        api.GetTensorMutableData(nullptr, nullptr), api.GetValueCount(nullptr, &count),
        api.CreateValue(nullptr, 2, ONNX_TYPE_SEQUENCE, &value), api.GetDimensionsCount(nullptr, &count),
        api.AllocatorFree(nullptr, nullptr), api.CreateIoBinding(nullptr, nullptr),
        api.AddSessionConfigEntry(nullptr, "key", "value"), api.RunOptionsSetTerminate(nullptr)}) {
    ASSERT_NE(status, nullptr);
    EXPECT_EQ(api.GetErrorCode(status), ORT_INVALID_ARGUMENT) << api.GetErrorMessage(status);
    api.ReleaseStatus(status);
  }
  api.ReleaseSession(nullptr);
  api.ReleaseValue(nullptr);
  api.ReleaseEnv(nullptr);
  api.ReleaseStatus(nullptr);
}

}  // namespace
}  // namespace colonnade::test::ort
