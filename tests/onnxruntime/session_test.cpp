// SPDX-License-Identifier: Apache-2.0
// Sessions, and what they say of their models.
#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "onnxruntime/library.hpp"
#include "support/folder.hpp"

namespace colonnade::test::ort {
namespace {

using onnx_import::testing::float_tensor;
using onnx_import::testing::ModelBuilder;

const std::string kDigits = COLONNADE_SOURCE_DIR "/models/embedded/digits.onnx";

class OrtSessions : public Interface {};

TEST_P(OrtSessions, RunOfAFile) {
  const auto digits = session(kDigits);
  std::vector<float> picture(28 * 28);
  for (std::size_t row = 4; row < 24; ++row) picture[28 * row + 13] = picture[28 * row + 14] = 1;
  const auto input = tensor(picture, {1, 1, 28, 28});
  const auto outputs = run(digits.get(), {"image"}, {input.get()}, {"probabilities"});
  const auto scores = elements<float>(outputs[0].get());
  ASSERT_EQ(scores.size(), 10u);
  EXPECT_EQ(std::max_element(scores.begin(), scores.end()) - scores.begin(), 1);
  EXPECT_NEAR(scores[1], 0.8129f, 1e-3f);
}

TEST_P(OrtSessions, OptimisedModelsAreWritten) {
  const TemporaryFolder folder;
  ModelBuilder model;
  model.input("x", {1, 1, 4, 4}).output("y").constant(float_tensor("w", {1, 1, 1, 1}, {2}));
  model.constant(float_tensor("s", {1, 1, 1}, {3})).node("Conv", {"x", "w"}, {"c"}).node("Identity", {"c"}, {"i"});
  model.node("Mul", {"i", "s"}, {"m"}).node("Relu", {"m"}, {"y"});
  const std::string path = (folder.path() / "out.onnx").string();
  const auto chosen = options();
  ok(api().SetOptimizedModelFilePath(chosen.get(), path.c_str()));
  session(model.proto, chosen.get());
  onnx::ModelProto written;
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(written.ParseFromIstream(&file));
  EXPECT_LE(written.graph().node_size(), 3);
  if (is_ours()) {
    const auto again = session(path);
    std::vector<float> x(16, 1);
    const auto input = tensor(x, {1, 1, 4, 4});
    EXPECT_EQ(elements<float>(run(again.get(), {"x"}, {input.get()}, {"y"})[0].get()), std::vector<float>(16, 6));
  }
  const auto wrong = options();
  ok(api().SetOptimizedModelFilePath(wrong.get(), (folder.path() / "no/out.onnx").c_str()));
  const std::string bytes = model.bytes();
  OrtSession* made = nullptr;
  EXPECT_EQ(code(api().CreateSessionFromArray(env(), bytes.data(), bytes.size(), wrong.get(), &made)),
            ORT_INVALID_ARGUMENT);
}

TEST_P(OrtSessions, NamesTypesAndShapes) {
  const auto doubles = session(doubling());
  std::size_t count = 0;
  ok(api().SessionGetInputCount(doubles.get(), &count));
  EXPECT_EQ(count, 1u);
  ok(api().SessionGetOutputCount(doubles.get(), &count));
  EXPECT_EQ(count, 1u);
  ok(api().SessionGetOverridableInitializerCount(doubles.get(), &count));
  EXPECT_EQ(count, 0u);
  char* name = nullptr;
  ok(api().SessionGetInputName(doubles.get(), 0, allocator(), &name));
  EXPECT_EQ(taken(name), "x");
  ok(api().SessionGetOutputName(doubles.get(), 0, allocator(), &name));
  EXPECT_EQ(taken(name), "y");

  OrtTypeInfo* type = nullptr;
  ok(api().SessionGetInputTypeInfo(doubles.get(), 0, &type));
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  ok(api().GetOnnxTypeFromTypeInfo(type, &kind));
  EXPECT_EQ(kind, ONNX_TYPE_TENSOR);
  const OrtTensorTypeAndShapeInfo* info = nullptr;
  ok(api().CastTypeInfoToTensorInfo(type, &info));
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  ok(api().GetTensorElementType(info, &element));
  EXPECT_EQ(element, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  ok(api().GetDimensionsCount(info, &count));
  ASSERT_EQ(count, 2u);
  std::int64_t sizes[2] = {};
  ok(api().GetDimensions(info, sizes, 2));
  EXPECT_EQ(sizes[0], -1);
  EXPECT_EQ(sizes[1], 3);
  const char* symbols[2] = {};
  ok(api().GetSymbolicDimensions(info, symbols, 2));
  EXPECT_STREQ(symbols[0], "batch");
  EXPECT_STREQ(symbols[1], "");
  const OrtSequenceTypeInfo* sequence = nullptr;
  ok(api().CastTypeInfoToSequenceTypeInfo(type, &sequence));
  EXPECT_EQ(sequence, nullptr);
  api().ReleaseTypeInfo(type);
}

TEST_P(OrtSessions, Metadata) {
  ModelBuilder model;
  model.input("x", {3}).node("Relu", {"x"}, {"y"}).output("y");
  model.proto.set_producer_name("somebody");
  model.proto.set_domain("org.example");
  model.proto.set_doc_string("what it is");
  model.proto.mutable_graph()->set_doc_string("what the graph is");
  model.proto.set_model_version(7);
  auto* entry = model.proto.add_metadata_props();
  entry->set_key("author");
  entry->set_value("nobody");
  const auto made = session(model.proto);
  OrtModelMetadata* metadata = nullptr;
  ok(api().SessionGetModelMetadata(made.get(), &metadata));
  char* text = nullptr;
  ok(api().ModelMetadataGetProducerName(metadata, allocator(), &text));
  EXPECT_EQ(taken(text), "somebody");
  ok(api().ModelMetadataGetGraphName(metadata, allocator(), &text));
  EXPECT_EQ(taken(text), "test");
  ok(api().ModelMetadataGetDomain(metadata, allocator(), &text));
  EXPECT_EQ(taken(text), "org.example");
  ok(api().ModelMetadataGetDescription(metadata, allocator(), &text));
  EXPECT_EQ(taken(text), "what it is");
  ok(api().ModelMetadataGetGraphDescription(metadata, allocator(), &text));
  EXPECT_EQ(taken(text), "what the graph is");
  std::int64_t version = 0;
  ok(api().ModelMetadataGetVersion(metadata, &version));
  EXPECT_EQ(version, 7);
  ok(api().ModelMetadataLookupCustomMetadataMap(metadata, allocator(), "author", &text));
  EXPECT_EQ(taken(text), "nobody");
  ok(api().ModelMetadataLookupCustomMetadataMap(metadata, allocator(), "other", &text));
  EXPECT_EQ(text, nullptr);
  char** keys = nullptr;
  std::int64_t count = 0;
  ok(api().ModelMetadataGetCustomMetadataMapKeys(metadata, allocator(), &keys, &count));
  ASSERT_EQ(count, 1);
  EXPECT_EQ(taken(keys[0]), "author");
  ok(api().AllocatorFree(allocator(), keys));
  api().ReleaseModelMetadata(metadata);
}

TEST_P(OrtSessions, RunsIntoMemoryOfTheProgram) {
  const auto doubles = session(doubling());
  std::vector<float> x = {1, 2, 3}, y(3);
  const auto input = tensor(x, {1, 3});
  const auto output = tensor(y, {1, 3});
  const char* in = "x";
  const char* out = "y";
  const OrtValue* inputs[] = {input.get()};
  OrtValue* outputs[] = {output.get()};
  for (int i = 0; i < 3; ++i) {
    x[0] = static_cast<float>(i);
    ok(api().Run(doubles.get(), nullptr, &in, inputs, 1, &out, 1, outputs));
    EXPECT_EQ(outputs[0], output.get());
    EXPECT_EQ(y, (std::vector<float>{2.0f * static_cast<float>(i), 4, 6}));
  }
}

/// Programs give a vector of one element for a scalar.
TEST_P(OrtSessions, OneElementStandsForAScalar) {
  ModelBuilder model;
  model.input("x", {}).node("Neg", {"x"}, {"y"}).output("y");
  const auto made = session(model.proto);
  std::vector<float> x = {3};
  const auto input = tensor(x, {1});
  EXPECT_EQ(elements<float>(run(made.get(), {"x"}, {input.get()}, {"y"})[0].get()), std::vector<float>{-3});
}

TEST_P(OrtSessions, DimensionsOfOneNameMayDiffer) {
  ModelBuilder model;
  model.input("a", {-1, 2}).input("b", {-1, 2}).node("Add", {"a", "b"}, {"y"}).output("y");
  for (auto& input : *model.proto.mutable_graph()->mutable_input())
    input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("batch");
  const auto made = session(model.proto);
  std::vector<float> one = {1, 2}, two = {1, 1, 2, 2}, three = {1, 2, 3, 4, 5, 6};
  const auto a = tensor(one, {1, 2}), b = tensor(three, {3, 2}), wrong = tensor(two, {2, 2});
  EXPECT_EQ(elements<float>(run(made.get(), {"a", "b"}, {a.get(), b.get()}, {"y"})[0].get()),
            (std::vector<float>{2, 4, 4, 6, 6, 8}));
  const char* names[] = {"a", "b"};
  const char* out = "y";
  const OrtValue* inputs[] = {wrong.get(), b.get()};
  OrtValue* output = nullptr;
  EXPECT_EQ(code(api().Run(made.get(), nullptr, names, inputs, 2, &out, 1, &output)), ORT_FAIL);
}

TEST_P(OrtSessions, OverridableInitializers) {
  ModelBuilder model;
  model.input("x", {3}).input("scale", {3}).constant(float_tensor("scale", {3}, {1, 2, 3}));
  model.node("Mul", {"x", "scale"}, {"y"}).output("y");
  const auto made = session(model.proto);
  std::size_t count = 0;
  ok(api().SessionGetInputCount(made.get(), &count));
  EXPECT_EQ(count, 1u);
  ok(api().SessionGetOverridableInitializerCount(made.get(), &count));
  ASSERT_EQ(count, 1u);
  char* name = nullptr;
  ok(api().SessionGetOverridableInitializerName(made.get(), 0, allocator(), &name));
  EXPECT_EQ(taken(name), "scale");
  std::vector<float> x = {1, 1, 1}, scale = {5, 6, 7};
  const auto input = tensor(x, {3}), given = tensor(scale, {3});
  EXPECT_EQ(elements<float>(run(made.get(), {"x"}, {input.get()}, {"y"})[0].get()), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(elements<float>(run(made.get(), {"scale", "x"}, {given.get(), input.get()}, {"y"})[0].get()), scale);
}

TEST_P(OrtSessions, InitializersOfTheProgram) {
  ModelBuilder model;
  model.input("x", {3}).constant(float_tensor("scale", {3}, {1, 2, 3}));
  model.node("Mul", {"x", "scale"}, {"y"}).output("y");
  std::vector<float> x = {1, 1, 1}, scale = {5, 6, 7};
  const auto given = tensor(scale, {3}), input = tensor(x, {3});
  const auto chosen = options();
  ok(api().AddInitializer(chosen.get(), "scale", given.get()));
  const auto made = session(model.proto, chosen.get());
  EXPECT_EQ(elements<float>(run(made.get(), {"x"}, {input.get()}, {"y"})[0].get()), scale);
}

TEST_P(OrtSessions, ExternalDataOfTheProgram) {
  ModelBuilder model;
  model.input("x", {2}).constant(onnx_import::testing::external_tensor(
      "scale", {2}, {{"location", "weights.bin"}, {"offset", "4"}, {"length", "8"}}));
  model.node("Mul", {"x", "scale"}, {"y"}).output("y");
  std::vector<float> file = {9, 5, 6}, x = {1, 2};
  char* contents = reinterpret_cast<char*>(file.data());
  const char* name = "weights.bin";
  const std::size_t size = file.size() * sizeof(float);
  const auto chosen = options();
  ok(api().AddExternalInitializersFromFilesInMemory(chosen.get(), &name, &contents, &size, 1));
  const auto made = session(model.proto, chosen.get());
  const auto input = tensor(x, {2});
  EXPECT_EQ(elements<float>(run(made.get(), {"x"}, {input.get()}, {"y"})[0].get()), (std::vector<float>{5, 12}));
}

TEST_P(OrtSessions, FreeDimensionsAreSet) {
  const auto chosen = options();
  ok(api().AddFreeDimensionOverrideByName(chosen.get(), "batch", 2));
  const auto doubles = session(doubling(), chosen.get());
  OrtTypeInfo* type = nullptr;
  const OrtTensorTypeAndShapeInfo* info = nullptr;
  std::int64_t sizes[2] = {};
  ok(api().SessionGetInputTypeInfo(doubles.get(), 0, &type));
  ok(api().CastTypeInfoToTensorInfo(type, &info));
  ok(api().GetDimensions(info, sizes, 2));
  EXPECT_EQ(sizes[0], 2);
  api().ReleaseTypeInfo(type);
}

TEST_P(OrtSessions, ThreadsShareOne) {
  const auto digits = session(kDigits);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      std::vector<float> picture(28 * 28, 0.5f);
      const auto input = tensor(picture, {1, 1, 28, 28});
      const auto first = elements<float>(run(digits.get(), {"image"}, {input.get()}, {"probabilities"})[0].get());
      for (int i = 0; i < 20; ++i)
        wrong += elements<float>(run(digits.get(), {"image"}, {input.get()}, {"probabilities"})[0].get()) != first;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(OrtSessions, RunInTheBackground) {
  const auto chosen = options();
  ok(api().SetIntraOpNumThreads(chosen.get(), 2));  // the real one needs threads of its own for this
  const auto doubles = session(doubling(), chosen.get());
  std::vector<float> x = {1, 2, 3};
  const auto input = tensor(x, {1, 3});
  const char* in = "x";
  const char* out = "y";
  const OrtValue* inputs[] = {input.get()};
  OrtValue* outputs[] = {nullptr};
  std::promise<std::pair<std::size_t, OrtStatus*>> promise;
  const auto done = [](void* parameter, OrtValue** /*outputs*/, std::size_t count, OrtStatus* status) {
    static_cast<std::promise<std::pair<std::size_t, OrtStatus*>>*>(parameter)->set_value({count, status});
  };
  ok(api().RunAsync(doubles.get(), nullptr, &in, inputs, 1, &out, 1, outputs, done, &promise));
  const auto [count, status] = promise.get_future().get();
  ok(status);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(elements<float>(outputs[0]), (std::vector<float>{2, 4, 6}));
  api().ReleaseValue(outputs[0]);
}

TEST_P(OrtSessions, TerminatedRunFails) {
  const auto doubles = session(doubling());
  OrtRunOptions* run_options = nullptr;
  ok(api().CreateRunOptions(&run_options));
  ok(api().RunOptionsSetTerminate(run_options));
  std::vector<float> x = {1, 2, 3};
  const auto input = tensor(x, {1, 3});
  const char* in = "x";
  const char* out = "y";
  const OrtValue* inputs[] = {input.get()};
  OrtValue* outputs[] = {nullptr};
  EXPECT_EQ(code(api().Run(doubles.get(), run_options, &in, inputs, 1, &out, 1, outputs)), ORT_FAIL) << message();
  EXPECT_EQ(outputs[0], nullptr);
  ok(api().RunOptionsUnsetTerminate(run_options));
  ok(api().Run(doubles.get(), run_options, &in, inputs, 1, &out, 1, outputs));
  api().ReleaseValue(outputs[0]);
  api().ReleaseRunOptions(run_options);
}

TEST_P(OrtSessions, BoundInputsAndOutputs) {
  const auto doubles = session(doubling());
  OrtIoBinding* binding = nullptr;
  ok(api().CreateIoBinding(doubles.get(), &binding));
  std::vector<float> x = {1, 2, 3}, y(3);
  const auto input = tensor(x, {1, 3}), output = tensor(y, {1, 3});
  ok(api().BindInput(binding, "x", input.get()));
  ok(api().BindOutput(binding, "y", output.get()));
  ok(api().RunWithBinding(doubles.get(), nullptr, binding));
  EXPECT_EQ(y, (std::vector<float>{2, 4, 6}));
  api().ClearBoundOutputs(binding);
  ok(api().BindOutputToDevice(binding, "y", cpu().get()));
  for (int i = 0; i < 2; ++i) {
    x[0] = 5;
    ok(api().BindInput(binding, "x", input.get()));
    ok(api().RunWithBinding(doubles.get(), nullptr, binding));
    OrtValue** values = nullptr;
    std::size_t count = 0;
    ok(api().GetBoundOutputValues(binding, allocator(), &values, &count));
    ASSERT_EQ(count, 1u);
    EXPECT_EQ(elements<float>(values[0]), (std::vector<float>{10, 4, 6}));
    api().ReleaseValue(values[0]);
    ok(api().AllocatorFree(allocator(), values));
  }
  char* names = nullptr;
  std::size_t* lengths = nullptr;
  std::size_t count = 0;
  ok(api().GetBoundOutputNames(binding, allocator(), &names, &lengths, &count));
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(std::string(names, lengths[0]), "y");
  ok(api().AllocatorFree(allocator(), names));
  ok(api().AllocatorFree(allocator(), lengths));
  api().ReleaseIoBinding(binding);
}

TEST_P(OrtSessions, OptionsKeepEntries) {
  const auto chosen = options();
  ok(api().AddSessionConfigEntry(chosen.get(), "session.some_key", "value"));
  OrtSessionOptions* copy = nullptr;
  ok(api().CloneSessionOptions(chosen.get(), &copy));
  int has = 0;
  ok(api().HasSessionConfigEntry(copy, "session.some_key", &has));
  EXPECT_EQ(has, 1);
  ok(api().HasSessionConfigEntry(copy, "another", &has));
  EXPECT_EQ(has, 0);
  std::size_t size = 0;
  ok(api().GetSessionConfigEntry(copy, "session.some_key", nullptr, &size));
  EXPECT_EQ(size, 6u);
  char text[6] = {};
  ok(api().GetSessionConfigEntry(copy, "session.some_key", text, &size));
  EXPECT_STREQ(text, "value");
  api().ReleaseSessionOptions(copy);
}

TEST_P(OrtSessions, ProfileIsWritten) {
  const TemporaryFolder folder;
  const auto chosen = options();
  ok(api().EnableProfiling(chosen.get(), folder.file("times").c_str()));
  const auto digits = session(kDigits, chosen.get());
  std::vector<float> picture(28 * 28, 0.5f);
  const auto input = tensor(picture, {1, 1, 28, 28});
  run(digits.get(), {"image"}, {input.get()}, {"probabilities"});
  char* name = nullptr;
  ok(api().SessionEndProfiling(digits.get(), allocator(), &name));
  std::ifstream file(taken(name));
  const auto events = nlohmann::json::parse(file);
  const auto count = [&](const char* kind) {
    return std::count_if(events.begin(), events.end(), [&](const auto& event) { return event.at("cat") == kind; });
  };
  EXPECT_GE(count("Session"), 2);
  EXPECT_GE(count("Node"), 1);
}

COLONNADE_BOTH_LIBRARIES(OrtSessions);

}  // namespace
}  // namespace colonnade::test::ort
