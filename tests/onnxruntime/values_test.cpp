// SPDX-License-Identifier: Apache-2.0
// Tensors, strings, sequences and maps.
#include "onnxruntime/library.hpp"

namespace colonnade::test::ort {
namespace {

using onnx_import::testing::attribute;
using onnx_import::testing::ModelBuilder;

class OrtValues : public Interface {
 protected:
  /// The parts of a sequence or map.
  std::vector<Owned<OrtValue>> parts(const OrtValue* value) const {
    std::size_t count = 0;
    ok(api().GetValueCount(value, &count));
    std::vector<Owned<OrtValue>> found;
    for (std::size_t i = 0; i < count; ++i) {
      OrtValue* part = nullptr;
      ok(api().GetValue(value, static_cast<int>(i), allocator(), &part));
      found.emplace_back(part, api().ReleaseValue);
    }
    return found;
  }
  ONNXType kind(const OrtValue* value) const {
    ONNXType type = ONNX_TYPE_UNKNOWN;
    ok(api().GetValueType(value, &type));
    return type;
  }
};

TEST_P(OrtValues, TensorWithMemoryOfAnAllocator) {
  const std::int64_t sizes[] = {2, 3};
  OrtValue* made = nullptr;
  ok(api().CreateTensorAsOrtValue(allocator(), sizes, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, &made));
  const Owned<OrtValue> value(made, api().ReleaseValue);
  EXPECT_EQ(shape(value.get()), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(kind(value.get()), ONNX_TYPE_TENSOR);
  int is = 0;
  ok(api().IsTensor(value.get(), &is));
  EXPECT_EQ(is, 1);
  ok(api().IsSparseTensor(value.get(), &is));
  EXPECT_EQ(is, 0);
  ok(api().HasValue(value.get(), &is));
  EXPECT_EQ(is, 1);
  void* data = nullptr;
  void* last = nullptr;
  const std::int64_t at[] = {1, 2};
  ok(api().GetTensorMutableData(value.get(), &data));
  ok(api().TensorAt(value.get(), at, 2, &last));
  EXPECT_EQ(static_cast<std::int64_t*>(last) - static_cast<std::int64_t*>(data), 5);
}

TEST_P(OrtValues, EmptyAndScalarTensors) {
  std::vector<float> none(1), one = {4};
  EXPECT_TRUE(elements<float>(tensor(none, {0, 3}).get()).empty());
  const auto scalar = tensor(one, {});
  EXPECT_TRUE(shape(scalar.get()).empty());
  EXPECT_EQ(elements<float>(scalar.get()), one);
}

TEST_P(OrtValues, MemoryOfTheProgramIsFreedByItsAllocator) {
  struct Counting : OrtAllocator {
    int freed = 0;
  };
  Counting counting{};
  counting.version = 14;
  counting.Alloc = [](OrtAllocator*, std::size_t bytes) { return std::malloc(bytes); };
  counting.Free = [](OrtAllocator* self, void* memory) {
    ++static_cast<Counting*>(self)->freed;
    std::free(memory);
  };
  static const OrtMemoryInfo* info = nullptr;
  const auto memory = cpu();
  info = memory.get();
  counting.Info = [](const OrtAllocator*) { return info; };
  const std::int64_t size = 4;
  OrtValue* value = nullptr;
  ok(api().CreateTensorAsOrtValue(&counting, &size, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  EXPECT_EQ(counting.freed, 0);
  api().ReleaseValue(value);
  EXPECT_EQ(counting.freed, 1);
}

/// Elements of less than a byte, packed: those of `bytes`.
TEST_P(OrtValues, ElementsOfLessThanAByte) {
  ModelBuilder model(21);
  model.input("x", {5}, onnx::TensorProto::INT8).output("y", onnx::TensorProto::INT8);
  model.output("packed", onnx::TensorProto::INT32);  // INT4, which this header may not name
  model.proto.mutable_graph()->mutable_output(1)->mutable_type()->mutable_tensor_type()->set_elem_type(22);
  model.node("Cast", {"x"}, {"packed"}, {attribute("to", 22)});
  model.node("Cast", {"packed"}, {"y"}, {attribute("to", onnx::TensorProto::INT8)});
  const auto made = session(model.proto);
  std::vector<std::int8_t> x = {1, -2, 7, -8, 3};
  const auto input = tensor(x, {5}, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8);
  const auto output = run(made.get(), {"x"}, {input.get()}, {"y", "packed"});
  EXPECT_EQ(elements<std::int8_t>(output[0].get()), x);
  std::size_t size = 0;
  ok(api().GetTensorSizeInBytes(output[1].get(), &size));
  EXPECT_EQ(size, 3u);
  void* data = nullptr;
  ok(api().GetTensorMutableData(output[1].get(), &data));
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  EXPECT_EQ(bytes[0], 0xe1);
  EXPECT_EQ(bytes[1], 0x87);
  EXPECT_EQ(bytes[2] & 0xf, 0x3);
  EXPECT_EQ(shape(output[1].get()), (std::vector<std::int64_t>{5}));
}

TEST_P(OrtValues, PackedMemoryOfTheProgram) {
  ModelBuilder model(21);
  model.input("x", {3}, 21).output("y", onnx::TensorProto::UINT8);
  model.node("Cast", {"x"}, {"y"}, {attribute("to", onnx::TensorProto::UINT8)});
  const auto made = session(model.proto);
  std::uint8_t memory[2] = {0xf2, 0x09};
  const std::int64_t three = 3;
  const auto info = cpu();
  OrtValue* value = nullptr;
  ok(api().CreateTensorWithDataAsOrtValue(info.get(), memory, 2, &three, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4,
                                          &value));
  const Owned<OrtValue> input(value, api().ReleaseValue);
  const auto output = run(made.get(), {"x"}, {input.get()}, {"y"});
  EXPECT_EQ(elements<std::uint8_t>(output[0].get()), (std::vector<std::uint8_t>{2, 15, 9}));
  EXPECT_EQ(code(api().CreateTensorWithDataAsOrtValue(info.get(), memory, 1, &three, 1,
                                                      ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4, &value)),
            ORT_INVALID_ARGUMENT);
  ok(api().CreateTensorAsOrtValue(allocator(), &three, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4, &value));
  const Owned<OrtValue> fresh(value, api().ReleaseValue);
  std::size_t size = 0;
  ok(api().GetTensorSizeInBytes(fresh.get(), &size));
  EXPECT_EQ(size, 2u);
}

TEST_P(OrtValues, Strings) {
  const auto value = strings({"one", "", "three"});
  std::size_t length = 0;
  ok(api().GetStringTensorDataLength(value.get(), &length));
  EXPECT_EQ(length, 8u);
  std::string all(length, ' ');
  std::size_t offsets[3] = {};
  ok(api().GetStringTensorContent(value.get(), all.data(), all.size(), offsets, 3));
  EXPECT_EQ(all, "onethree");
  EXPECT_EQ(offsets[1], 3u);
  EXPECT_EQ(offsets[2], 3u);
  ok(api().FillStringTensorElement(value.get(), "second", 1));
  ok(api().GetStringTensorElementLength(value.get(), 1, &length));
  EXPECT_EQ(length, 6u);
  std::string text(length, ' ');
  ok(api().GetStringTensorElement(value.get(), text.size(), 1, text.data()));
  EXPECT_EQ(text, "second");
  char* buffer = nullptr;
  ok(api().GetResizedStringTensorElementBuffer(value.get(), 0, 2, &buffer));
  buffer[0] = 'u';
  buffer[1] = 'n';
  ok(api().GetStringTensorElementLength(value.get(), 0, &length));
  EXPECT_EQ(length, 2u);
}

TEST_P(OrtValues, StringsGoThroughAModel) {
  ModelBuilder model;
  model.input("x", {-1}, onnx::TensorProto::STRING);
  model.node("Identity", {"x"}, {"y"}).output("y", onnx::TensorProto::STRING);
  const auto made = session(model.proto);
  const auto input = strings({"a", "bc"});
  const auto output = run(made.get(), {"x"}, {input.get()}, {"y"});
  std::size_t length = 0;
  ok(api().GetStringTensorDataLength(output[0].get(), &length));
  EXPECT_EQ(length, 3u);
}

TEST_P(OrtValues, Sequences) {
  std::vector<float> a = {1, 2}, b = {3};
  const auto first = tensor(a, {2}), second = tensor(b, {1});
  const OrtValue* both[] = {first.get(), second.get()};
  OrtValue* made = nullptr;
  ok(api().CreateValue(both, 2, ONNX_TYPE_SEQUENCE, &made));
  const Owned<OrtValue> sequence(made, api().ReleaseValue);
  EXPECT_EQ(kind(sequence.get()), ONNX_TYPE_SEQUENCE);
  const auto elements_of = parts(sequence.get());
  ASSERT_EQ(elements_of.size(), 2u);
  EXPECT_EQ(elements<float>(elements_of[0].get()), a);
  EXPECT_EQ(elements<float>(elements_of[1].get()), b);
}

TEST_P(OrtValues, SequenceOfAModel) {
  ModelBuilder model;
  model.input("x", {4}).node("SplitToSequence", {"x"}, {"y"});
  auto* output = model.proto.mutable_graph()->add_output();
  output->set_name("y");
  output->mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::FLOAT);
  const auto made = session(model.proto);
  std::vector<float> x = {1, 2, 3, 4};
  const auto input = tensor(x, {4});
  const auto results = run(made.get(), {"x"}, {input.get()}, {"y"});
  const auto pieces = parts(results[0].get());
  ASSERT_EQ(pieces.size(), 4u);
  EXPECT_EQ(elements<float>(pieces[2].get()), std::vector<float>{3});

  OrtTypeInfo* type = nullptr;
  ok(api().SessionGetOutputTypeInfo(made.get(), 0, &type));
  const OrtSequenceTypeInfo* sequence = nullptr;
  ok(api().CastTypeInfoToSequenceTypeInfo(type, &sequence));
  ASSERT_NE(sequence, nullptr);
  OrtTypeInfo* element = nullptr;
  ok(api().GetSequenceElementType(sequence, &element));
  ONNXType element_kind = ONNX_TYPE_UNKNOWN;
  ok(api().GetOnnxTypeFromTypeInfo(element, &element_kind));
  EXPECT_EQ(element_kind, ONNX_TYPE_TENSOR);
  api().ReleaseTypeInfo(element);
  api().ReleaseTypeInfo(type);
}

TEST_P(OrtValues, MapsOfAModel) {
  ModelBuilder model(17, 1);
  model.input("x", {1, 2});
  model.node("ZipMap", {"x"}, {"y"}, {attribute("classlabels_int64s", Ints{4, 7})}, "ai.onnx.ml");
  auto* output = model.proto.mutable_graph()->add_output();
  output->set_name("y");
  auto* map = output->mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_map_type();
  map->set_key_type(onnx::TensorProto::INT64);
  map->mutable_value_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  const auto made = session(model.proto);
  std::vector<float> x = {0.25f, 0.75f};
  const auto input = tensor(x, {1, 2});
  const auto results = run(made.get(), {"x"}, {input.get()}, {"y"});
  const auto rows = parts(results[0].get());
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(kind(rows[0].get()), ONNX_TYPE_MAP);
  const auto pairs = parts(rows[0].get());
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(elements<std::int64_t>(pairs[0].get()), (std::vector<std::int64_t>{4, 7}));
  EXPECT_EQ(elements<float>(pairs[1].get()), x);
}

TEST_P(OrtValues, MemoryInfos) {
  const auto memory = cpu();
  const char* name = nullptr;
  ok(api().MemoryInfoGetName(memory.get(), &name));
  EXPECT_STREQ(name, "Cpu");
  OrtMemoryInfo* other = nullptr;
  ok(api().CreateMemoryInfo("Cpu", OrtArenaAllocator, 0, OrtMemTypeDefault, &other));
  int differs = 1;
  ok(api().CompareMemoryInfo(memory.get(), other, &differs));
  EXPECT_EQ(differs, 0);
  api().ReleaseMemoryInfo(other);
  void* data = nullptr;
  ok(api().AllocatorAlloc(allocator(), 100, &data));
  ASSERT_NE(data, nullptr);
  ok(api().AllocatorFree(allocator(), data));
}

COLONNADE_BOTH_LIBRARIES(OrtValues);

}  // namespace
}  // namespace colonnade::test::ort
