// SPDX-License-Identifier: Apache-2.0
// Operators of the program and models written anew, by the C interface.
#include <filesystem>

#include "c_handles.hpp"
#include "colonnade/operators.h"

namespace colonnade::test {
namespace {

using namespace c_interface;

struct Repeating {
  int created = 0, destroyed = 0;
};

std::int32_t create(const colonnade_custom_node* node, void** kernel, char* message, void* user) {
  ++static_cast<Repeating*>(user)->created;
  const std::int64_t* times = nullptr;
  std::size_t count = 0;
  colonnade_status* status = colonnade_custom_node_ints(node, "times", &times, &count);
  if (status != nullptr) {
    std::strncpy(message, colonnade_status_message(status), COLONNADE_MESSAGE_BYTES - 1);
    const std::int32_t code = colonnade_status_code(status);
    colonnade_status_free(status);
    return code;
  }
  *kernel = new std::int64_t(*times);
  return COLONNADE_OK;
}

void destroy(void* kernel, void* user) {
  ++static_cast<Repeating*>(user)->destroyed;
  delete static_cast<std::int64_t*>(kernel);
}

std::int32_t infer(const colonnade_custom_node*, void* kernel, const colonnade_custom_type* inputs,
                   colonnade_custom_type* outputs, char*, void*) {
  static thread_local std::int64_t size;
  outputs[0].dtype = inputs[0].dtype;
  if (inputs[0].rank != 1) return COLONNADE_OK;
  size = inputs[0].shape[0] < 0 ? -1 : inputs[0].shape[0] * *static_cast<std::int64_t*>(kernel);
  outputs[0].rank = 1;
  outputs[0].shape = &size;
  return COLONNADE_OK;
}

std::int32_t run(const colonnade_custom_node*, void* kernel, const colonnade_tensor* const* inputs,
                 colonnade_tensor** outputs, char* message, void*) {
  auto* const input = const_cast<colonnade_tensor*>(inputs[0]);
  const auto* x = static_cast<const float*>(colonnade_tensor_data(input));
  const std::int64_t count = colonnade_tensor_size(input), times = *static_cast<std::int64_t*>(kernel);
  if (x[0] > 5) {
    std::strcpy(message, "too much");
    return COLONNADE_INVALID_INPUT;
  }
  const std::int64_t size = count * times;
  colonnade_status_free(colonnade_tensor_create(COLONNADE_FLOAT32, &size, 1, &outputs[0]));
  auto* y = static_cast<float*>(colonnade_tensor_data(outputs[0]));
  for (std::int64_t i = 0; i < size; ++i) y[i] = x[i % count];
  return COLONNADE_OK;
}

std::string repeating(bool has_times = true) {
  ModelBuilder model;
  model.import("own", 1).input("x", {-1}).node("Neg", {"x"}, {"n"}).node("Identity", {"n"}, {"m"});
  std::vector<onnx::AttributeProto> attributes;
  if (has_times) attributes.push_back(attribute("times", 2));
  model.node("Repeat", {"m"}, {"r"}, attributes, "own").node("Neg", {"r"}, {"y"}).output("y");
  return model.bytes();
}

colonnade_custom_operator repeat_operator(Repeating& counts) {
  colonnade_custom_operator functions{};
  functions.struct_size = sizeof functions;
  functions.domain = "own";
  functions.type = "Repeat";
  functions.create = create;
  functions.destroy = destroy;
  functions.infer = infer;
  functions.run = run;
  functions.user = &counts;
  return functions;
}

TEST(CInterface, RunsOperatorsOfTheProgram) {
  Repeating counts;
  {
    const colonnade_custom_operator functions = repeat_operator(counts);
    const colonnade_custom_operator* const list[] = {&functions};
    const std::string bytes = repeating();
    colonnade_model* made = nullptr;
    expect_ok(colonnade_model_from_bytes_with(list, 1, bytes.data(), bytes.size(), nullptr, &made));
    const ModelHandle model(made);
    const SessionHandle session = session_of(model);
    std::vector<float> x = {1, -2}, y(4);
    const TensorHandle input = borrowed({2}, x), output = borrowed({4}, y);
    colonnade_tensor *from = input.get(), *to = output.get();
    expect_ok(colonnade_session_run(session.get(), &from, 1, &to, 1, nullptr));
    EXPECT_EQ(y, (std::vector<float>{1, -2, 1, -2}));
    x[0] = -6;
    expect_status(COLONNADE_INVALID_INPUT, "too much", colonnade_session_run(session.get(), &from, 1, &to, 1, nullptr));

    const std::string path = (std::filesystem::temp_directory_path() / "colonnade-c-custom.onnx").string();
    expect_ok(colonnade_model_write_optimized(model.get(), path.c_str(), nullptr));
    expect_ok(colonnade_model_load_with(list, 1, path.c_str(), nullptr, &made));
    const ModelHandle again(made);
    x[0] = 3;
    const SessionHandle second = session_of(again);
    expect_ok(colonnade_session_run(second.get(), &from, 1, &to, 1, nullptr));
    EXPECT_EQ(y, (std::vector<float>{3, -2, 3, -2}));
    std::filesystem::remove(path);
  }
  EXPECT_GT(counts.created, 0);
  EXPECT_EQ(counts.created, counts.destroyed);
}

TEST(CInterface, SaysWhatIsWrongWithOperatorsOfTheProgram) {
  Repeating counts;
  colonnade_custom_operator functions = repeat_operator(counts);
  const colonnade_custom_operator* const list[] = {&functions};
  const std::string bytes = repeating(false);
  colonnade_model* made = nullptr;
  expect_status(COLONNADE_INVALID_ARGUMENT, "no attribute 'times'",
                colonnade_model_from_bytes_with(list, 1, bytes.data(), bytes.size(), nullptr, &made));
  EXPECT_EQ(made, nullptr);
  functions.run = nullptr;
  expect_status(COLONNADE_INVALID_ARGUMENT, "run is null",
                colonnade_model_from_bytes_with(list, 1, bytes.data(), bytes.size(), nullptr, &made));
  expect_status(COLONNADE_INVALID_ARGUMENT, "operators is null",
                colonnade_model_from_bytes_with(nullptr, 1, bytes.data(), bytes.size(), nullptr, &made));
  expect_status(COLONNADE_INVALID_ARGUMENT, "model is null", colonnade_model_write_optimized(nullptr, "x", nullptr));
  const ModelHandle model = loaded(ModelBuilder().input("x", {2}).output("y").node("Neg", {"x"}, {"y"}).bytes());
  expect_status(COLONNADE_INVALID_ARGUMENT, "not kept", colonnade_model_write_optimized(model.get(), "x", nullptr));
  expect_status(COLONNADE_INVALID_ARGUMENT, "path is null",
                colonnade_model_write_optimized(model.get(), nullptr, nullptr));
}

}  // namespace
}  // namespace colonnade::test
