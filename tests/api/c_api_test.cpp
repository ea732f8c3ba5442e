// SPDX-License-Identifier: Apache-2.0
// The C interface where a C program alone cannot look: clients of other versions, hooks, readers, strides, misuse.
#include <future>
#include <thread>

#include "c_handles.hpp"

namespace colonnade::test {
namespace {

using namespace c_interface;

/// Options as they were when the struct ended after `threads` and `schedule`, and as they may be one day.
struct OldOptions {
  std::size_t struct_size = sizeof(OldOptions);
  std::int32_t threads = 0, schedule = 0;
};
struct NewOptions {
  colonnade_options known{};
  std::int64_t unknown = 0;
  NewOptions() { known.struct_size = sizeof(NewOptions); }
};

TEST(CInterface, OptionsOfOldClientsAreTaken) {
  OldOptions options;
  options.threads = 1;
  const ModelHandle model = embedded("digits", &options);
  char* text = nullptr;
  expect_ok(colonnade_model_describe(model.get(), nullptr, 0, &text));
  EXPECT_NE(std::string(Text(text).get()).find("\"threads\":1"), std::string::npos);
  options.threads = -1;
  colonnade_model* none = nullptr;
  expect_status(COLONNADE_INVALID_ARGUMENT, "-1",
                colonnade_model_embedded("digits", reinterpret_cast<colonnade_options*>(&options), &none));
}

TEST(CInterface, OptionsOfNewClientsAreTakenUnlessTheyAskForMore) {
  NewOptions options;
  options.known.threads = 1;
  EXPECT_NE(embedded("digits", &options), nullptr);
  options.unknown = 1;
  colonnade_model* none = nullptr;
  expect_status(COLONNADE_UNSUPPORTED, "does not know", colonnade_model_embedded("digits", &options.known, &none));
  EXPECT_EQ(none, nullptr);
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{1} << 40}) {
    options.known.struct_size = size;
    expect_status(COLONNADE_INVALID_ARGUMENT, "struct_size", colonnade_model_embedded("digits", &options.known, &none));
  }
}

TEST(CInterface, AnswersGoIntoStructsOfAnySize) {
  const ModelHandle model = embedded("digits");
  struct {
    std::size_t struct_size;
    const char* name;
    std::int64_t behind;
  } old{2 * sizeof(void*), nullptr, 77};
  expect_ok(colonnade_model_input(model.get(), 0, reinterpret_cast<colonnade_value_info*>(&old)));
  EXPECT_GT(std::strlen(old.name), 0u);
  EXPECT_EQ(old.behind, 77) << "memory behind an old struct";
  struct {
    colonnade_value_info known;
    std::int64_t unknown;
  } later{{}, 77};
  later.known.struct_size = sizeof later;
  expect_ok(colonnade_model_output(model.get(), 0, &later.known));
  EXPECT_EQ(later.known.struct_size, sizeof later);
  EXPECT_EQ(later.known.rank, 2);
  EXPECT_EQ(later.unknown, 0);
}

TEST(CInterface, EveryOptionArrives) {
  ModelBuilder builder;
  builder.input("x", {-1, 4}).node("Relu", {"x"}, {"y"}).output("y");
  builder.proto.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("batch");
  const std::string bytes = builder.bytes();
  const colonnade_dimension dimension = {"batch", 5}, wrong = {"rows", 5}, nameless = {nullptr, 5};
  colonnade_options options{};
  options.struct_size = sizeof options;
  options.dimensions = &dimension;
  options.dimension_count = 1;
  colonnade_model* model = nullptr;
  expect_ok(colonnade_model_from_bytes(bytes.data(), bytes.size(), &options, &model));
  colonnade_value_info info{};
  info.struct_size = sizeof info;
  expect_ok(colonnade_model_input(model, 0, &info));
  EXPECT_EQ(info.shape[0], 5);
  colonnade_model_free(model);
  options.dimensions = &wrong;
  expect_status(COLONNADE_INVALID_ARGUMENT, "there are: batch",
                colonnade_model_from_bytes(bytes.data(), bytes.size(), &options, &model));
  options.dimensions = &nameless;
  expect_status(COLONNADE_INVALID_ARGUMENT, "symbol",
                colonnade_model_from_bytes(bytes.data(), bytes.size(), &options, &model));
  options = {};
  options.struct_size = sizeof options;
  options.isa = "sse9";
  expect_status(COLONNADE_INVALID_ARGUMENT, "sse9", colonnade_model_embedded("digits", &options, &model));
  options.isa = nullptr;
  options.blocking = "vast";
  expect_status(COLONNADE_INVALID_ARGUMENT, "vast", colonnade_model_embedded("digits", &options, &model));
  options.blocking = nullptr;
  options.memory_limit_bytes = 1;
  expect_ok(colonnade_model_embedded("digits", &options, &model));
  colonnade_session* session = nullptr;
  expect_ok(colonnade_session_create(model, &session));
  expect_status(COLONNADE_RESOURCE_LIMIT, "", colonnade_session_prepare(session, nullptr, 0));
  colonnade_session_free(session);
  colonnade_model_free(model);
}

TEST(CInterface, ReadersAreReleasedOnce) {
  struct Source {
    std::string bytes;
    int releases = 0;
    int answer = 0;
  } source;
  ModelBuilder builder;
  builder.input("x", {1, 4}).node("Relu", {"x"}, {"y"}).output("y");
  source.bytes = builder.bytes();
  colonnade_reader reader{};
  reader.struct_size = sizeof reader;
  reader.size = source.bytes.size();
  reader.user = &source;
  reader.read = [](std::uint64_t offset, void* into, std::size_t bytes, void* user) {
    const auto& from = *static_cast<Source*>(user);
    std::memcpy(into, from.bytes.data() + offset, bytes);
    return from.answer;
  };
  reader.release = [](void* user) { ++static_cast<Source*>(user)->releases; };
  colonnade_model* model = nullptr;
  expect_ok(colonnade_model_from_reader(&reader, nullptr, &model));
  colonnade_session* session = nullptr;
  expect_ok(colonnade_session_create(model, &session));
  colonnade_model_free(model);
  colonnade_session_free(session);
  EXPECT_EQ(source.releases, 1);
  source.answer = 42;
  expect_status(COLONNADE_IO, "42", colonnade_model_from_reader(&reader, nullptr, &model));
  EXPECT_EQ(source.releases, 2);
  EXPECT_EQ(model, nullptr);
  reader.read = nullptr;
  expect_status(COLONNADE_INVALID_ARGUMENT, "read is null", colonnade_model_from_reader(&reader, nullptr, &model));
  EXPECT_EQ(source.releases, 3);
}

TEST(CInterface, TensorsKeepToTheirMemory) {
  std::vector<float> memory(20);
  const std::int64_t shape[] = {4, 5}, negative[] = {4, -5}, huge[] = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  const std::int64_t gaps[] = {6, 1}, backwards[] = {-5, 1};
  const std::size_t bytes = memory.size() * sizeof(float);
  colonnade_tensor* tensor = nullptr;
  const auto borrow = [&](std::int32_t dtype, const std::int64_t* sizes, const std::int64_t* strides, const void* data,
                          std::size_t room) {
    return colonnade_tensor_borrow(dtype, sizes, 2, strides, data, room, &tensor);
  };
  expect_status(COLONNADE_INVALID_ARGUMENT, "80 bytes", borrow(COLONNADE_FLOAT32, shape, nullptr, memory.data(), 79));
  expect_status(COLONNADE_INVALID_ARGUMENT, "92 bytes", borrow(COLONNADE_FLOAT32, shape, gaps, memory.data(), bytes));
  expect_status(COLONNADE_INVALID_ARGUMENT, "null", borrow(COLONNADE_FLOAT32, shape, nullptr, nullptr, bytes));
  expect_status(COLONNADE_INVALID_ARGUMENT, "-5", borrow(COLONNADE_FLOAT32, negative, nullptr, memory.data(), bytes));
  expect_status(COLONNADE_RESOURCE_LIMIT, "overflow", borrow(COLONNADE_FLOAT32, huge, nullptr, memory.data(), bytes));
  expect_status(COLONNADE_INVALID_ARGUMENT, "type 99", borrow(99, shape, nullptr, memory.data(), bytes));
  expect_status(COLONNADE_INVALID_ARGUMENT, "strings", borrow(COLONNADE_STRING, shape, nullptr, memory.data(), bytes));
  expect_status(COLONNADE_INVALID_ARGUMENT, "shape is null",
                borrow(COLONNADE_FLOAT32, nullptr, nullptr, memory.data(), bytes));
  expect_ok(borrow(COLONNADE_FLOAT32, shape, backwards, memory.data() + 15, 5 * sizeof(float)));
  EXPECT_EQ(colonnade_tensor_data(tensor), memory.data() + 15);
  colonnade_tensor_free(tensor);
  expect_status(COLONNADE_INVALID_ARGUMENT, "type 0", colonnade_tensor_create(COLONNADE_UNDEFINED, shape, 2, &tensor));
  expect_status(COLONNADE_INVALID_ARGUMENT, "tensor is null",
                colonnade_tensor_create(COLONNADE_FLOAT32, shape, 2, nullptr));
  EXPECT_EQ(colonnade_dtype_size(COLONNADE_BFLOAT16), 2u);
  EXPECT_STREQ(colonnade_dtype_name(COLONNADE_BFLOAT16), "bfloat16");
  EXPECT_STREQ(colonnade_dtype_name(1000), "undefined");
}

TEST(CInterface, StringsAreSetAndRead) {
  ModelBuilder builder;
  builder.input("s", {-1}, onnx::TensorProto::STRING).node("Identity", {"s"}, {"t"});
  builder.output("t", onnx::TensorProto::STRING);
  const ModelHandle model = loaded(builder.bytes());
  const SessionHandle session = session_of(model);
  const std::int64_t shape[] = {2};
  colonnade_tensor* words = nullptr;
  expect_ok(colonnade_tensor_create(COLONNADE_STRING, shape, 1, &words));
  const TensorHandle input(words);
  expect_ok(colonnade_tensor_set_string(words, 0, "row", 3));
  expect_ok(colonnade_tensor_set_string(words, 1, "a\0b", 3));
  EXPECT_EQ(colonnade_tensor_data(words), nullptr);
  expect_status(COLONNADE_INVALID_ARGUMENT, "string 2 of 2", colonnade_tensor_set_string(words, 2, "x", 1));
  colonnade_tensor* answer = nullptr;
  expect_ok(colonnade_session_run(session.get(), &words, 1, &answer, 1, nullptr));
  const TensorHandle output(answer);
  const char* text = nullptr;
  std::size_t length = 0;
  expect_ok(colonnade_tensor_get_string(answer, 1, &text, &length));
  EXPECT_EQ(std::string(text, length), std::string("a\0b", 3));
  expect_status(COLONNADE_INVALID_ARGUMENT, "string -1", colonnade_tensor_get_string(answer, -1, &text, &length));
  EXPECT_EQ(text, nullptr);
}

TEST(CInterface, StridesAndShapesOfOutputs) {
  ModelBuilder builder;
  builder.input("x", {-1, -1}).node("Relu", {"x"}, {"y"}).output("y");
  const ModelHandle model = loaded(builder.bytes());
  const SessionHandle session = session_of(model);
  std::vector<float> columns = {1, 4, -2, 5, 3, -6}, answer(6);
  const TensorHandle input = borrowed({2, 3}, columns, {1, 2}), output = borrowed({2, 3}, answer);
  colonnade_tensor *from = input.get(), *to = output.get();
  expect_ok(colonnade_session_run(session.get(), &from, 1, &to, 1, nullptr));
  EXPECT_EQ(answer, (std::vector<float>{1, 0, 3, 4, 5, 0}));
  const std::int64_t sizes[] = {7, 9};
  const colonnade_shape shape = {"x", sizes, 2};
  std::int64_t found[2];
  std::size_t rank = 0;
  expect_ok(colonnade_session_output_shape(session.get(), &shape, 1, 0, found, 2, &rank));
  EXPECT_EQ(rank, 2u);
  EXPECT_EQ(found[1], 9);
  rank = 0;
  expect_status(COLONNADE_INVALID_ARGUMENT, "room for 1",
                colonnade_session_output_shape(session.get(), &shape, 1, 0, found, 1, &rank));
  EXPECT_EQ(rank, 2u);
  expect_status(COLONNADE_INVALID_ARGUMENT, "output 3 of 1",
                colonnade_session_output_shape(session.get(), &shape, 1, 3, found, 2, &rank));
}

TEST(CInterface, OutputsAreAllGivenOrNone) {
  ModelBuilder builder;
  builder.input("x", {2}).node("Relu", {"x"}, {"y"}).node("Neg", {"x"}, {"z"}).output("y").output("z");
  const ModelHandle model = loaded(builder.bytes());
  const SessionHandle session = session_of(model);
  std::vector<float> numbers = {1, -2}, answer(2);
  const TensorHandle input = borrowed({2}, numbers), output = borrowed({2}, answer);
  colonnade_tensor* from = input.get();
  colonnade_tensor* outputs[] = {output.get(), nullptr};
  expect_status(COLONNADE_INVALID_ARGUMENT, "1 of 2 outputs are null",
                colonnade_session_run(session.get(), &from, 1, outputs, 2, nullptr));
  outputs[0] = nullptr;
  expect_status(COLONNADE_INVALID_ARGUMENT, "expected 2 outputs, found 1",
                colonnade_session_run(session.get(), &from, 1, outputs, 1, nullptr));
  expect_status(COLONNADE_INVALID_ARGUMENT, "outputs is null",
                colonnade_session_run(session.get(), &from, 1, nullptr, 2, nullptr));
  expect_ok(colonnade_session_run(session.get(), &from, 1, outputs, 2, nullptr));
  EXPECT_EQ(static_cast<float*>(colonnade_tensor_data(outputs[1]))[1], 2);
  for (colonnade_tensor* made : outputs) colonnade_tensor_free(made);
}

TEST(CInterface, SequencesAreForCxx) {
  ModelBuilder builder;
  builder.input("x", {2}).node("SequenceConstruct", {"x"}, {"s"});
  auto* output = builder.proto.mutable_graph()->add_output();
  output->set_name("s");
  output->mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::FLOAT);
  const ModelHandle model = loaded(builder.bytes());
  colonnade_value_info info{};
  info.struct_size = sizeof info;
  expect_ok(colonnade_model_output(model.get(), 0, &info));
  EXPECT_EQ(info.kind, COLONNADE_KIND_SEQUENCE);
  const SessionHandle session = session_of(model);
  std::vector<float> numbers = {1, 2};
  const TensorHandle input = borrowed({2}, numbers);
  colonnade_tensor *from = input.get(), *made = nullptr;
  expect_status(COLONNADE_INVALID_ARGUMENT, "run_data",
                colonnade_session_run(session.get(), &from, 1, &made, 1, nullptr));
}

}  // namespace
}  // namespace colonnade::test
