// SPDX-License-Identifier: Apache-2.0
// The C interface: operators of the program.
#include <array>
#include <memory>

#include "api/c_api.hpp"
#include "colonnade/custom.hpp"
#include "colonnade/operators.h"
#include "kernels/base/copy.hpp"

struct colonnade_custom_node {
  colonnade::CustomNode node;
  std::vector<std::unique_ptr<colonnade_tensor>> constants;
};

namespace colonnade {
namespace {

/// A tensor of the library, lent to the program to be read.
std::unique_ptr<colonnade_tensor> lent(const Tensor* tensor) {
  if (tensor == nullptr) return nullptr;
  auto made = std::make_unique<colonnade_tensor>();
  if (tensor->dtype() == DType::string) made->owned = *tensor;
  made->view = {tensor->dtype(), tensor->shape(), const_cast<void*>(tensor->data())};
  return made;
}

/// A line that the program may write.
using Message = std::array<char, COLONNADE_MESSAGE_BYTES>;

void check(std::int32_t code, Message& message, const char* what) {
  if (code == COLONNADE_OK) return;
  message.back() = '\0';
  const bool is_code = code >= COLONNADE_INVALID_ARGUMENT && code <= COLONNADE_DEADLINE;
  throw Error(is_code ? static_cast<ErrorCode>(code - COLONNADE_INVALID_ARGUMENT) : ErrorCode::invalid_argument,
              message[0] == '\0' ? fmt::format("the program's {} answered {}", what, code) : message.data());
}

Tensor taken_tensor(colonnade_tensor& tensor) {
  if (tensor.owned.size() > 0 && tensor.owned.dtype() == tensor.view.dtype) return std::move(tensor.owned);
  if (!tensor.view.strides.empty()) fail(ErrorCode::invalid_argument, "an output of an operator must be dense");
  Tensor copy(tensor.view.dtype, tensor.view.shape);
  if (copy.byte_size() > 0) kernels::copy_memory(copy.data(), tensor.view.data, copy.byte_size());
  return copy;
}

/// The program's kernel of one node.
class CKernel final : public CustomKernel {
 public:
  CKernel(const colonnade_custom_operator& functions, const CustomNode& node) : functions_(functions), node_{node, {}} {
    for (const auto& constant : node.constants) node_.constants.push_back(lent(constant.get()));
    if (functions_.create == nullptr) return;
    Message message{};
    check(functions_.create(&node_, &kernel_, message.data(), functions_.user), message, "create");
    is_created_ = true;
  }
  CKernel(const CKernel&) = delete;
  CKernel& operator=(const CKernel&) = delete;
  ~CKernel() override {
    if (is_created_ && functions_.destroy != nullptr) functions_.destroy(kernel_, functions_.user);
  }

  std::vector<CustomType> infer(std::span<const CustomType> inputs) const override {
    const std::size_t count = node_.node.output_names.size();
    if (functions_.infer == nullptr)
      return std::vector<CustomType>(count, {inputs.empty() ? DType::undefined : inputs.front().dtype});
    std::vector<colonnade_custom_type> given, answered(count, {COLONNADE_UNDEFINED, -1, nullptr});
    for (const CustomType& type : inputs)
      given.push_back({static_cast<std::int32_t>(type.dtype),
                       type.shape ? static_cast<std::int64_t>(type.shape->size()) : -1,
                       type.shape ? type.shape->data() : nullptr});
    Message message{};
    check(functions_.infer(&node_, kernel_, given.data(), answered.data(), message.data(), functions_.user), message,
          "infer");
    std::vector<CustomType> types;
    for (const colonnade_custom_type& type : answered) types.push_back(type_of_answer(type));
    return types;
  }

  std::vector<Tensor> run(std::span<const Tensor* const> inputs) const override {
    std::vector<std::unique_ptr<colonnade_tensor>> owners;
    std::vector<const colonnade_tensor*> given;
    for (const Tensor* input : inputs) given.push_back(owners.emplace_back(lent(input)).get());
    std::vector<colonnade_tensor*> answered(node_.node.output_names.size(), nullptr);
    Message message{};
    const std::int32_t code =
        functions_.run(&node_, kernel_, given.data(), answered.data(), message.data(), functions_.user);
    std::vector<std::unique_ptr<colonnade_tensor>> results(answered.begin(), answered.end());
    check(code, message, "run");
    std::vector<Tensor> outputs;
    for (const auto& result : results) outputs.push_back(taken_tensor(c::required(result.get(), "an output")));
    return outputs;
  }

 private:
  static CustomType type_of_answer(const colonnade_custom_type& type) {
    if (type.dtype < COLONNADE_UNDEFINED || type.dtype > COLONNADE_FLOAT6E3M2)
      fail(ErrorCode::invalid_argument, "there is no element type {}", type.dtype);
    CustomType known{static_cast<DType>(type.dtype), std::nullopt};
    if (type.rank < 0) return known;
    const auto shape = c::array(type.shape, static_cast<std::size_t>(type.rank), "shape of an output");
    known.shape = Shape(shape.begin(), shape.end());
    return known;
  }

  colonnade_custom_operator functions_;
  colonnade_custom_node node_;
  void* kernel_ = nullptr;
  bool is_created_ = false;
};

std::vector<CustomOperator> operators_of(const colonnade_custom_operator* const* operators, std::size_t count) {
  std::vector<CustomOperator> result;
  for (const colonnade_custom_operator* given : c::array(operators, count, "operators")) {
    const colonnade_custom_operator functions = c::taken(&c::required(given, "an operator"), "operator");
    c::required(functions.run, "the operator's run");
    CustomOperator made;
    made.domain = functions.domain == nullptr ? "" : functions.domain;
    made.type = &c::required(functions.type, "the operator's type");
    made.make = [functions](const CustomNode& node) { return std::make_shared<const CKernel>(functions, node); };
    result.push_back(std::move(made));
  }
  return result;
}

/// A list, or one as a list of one.
template <class T>
colonnade_status* give_list(const colonnade_custom_node* node, const char* name, const T** values, std::size_t* count) {
  return c::guarded([&] {
    const T*& result = c::result_in(values, "values");
    std::size_t& size = c::required(count, "count");
    size = 0;
    const auto& attributes = c::required(node, "node").node.attributes;
    const auto found = attributes.find(std::string_view(&c::required(name, "name")));
    const auto* one = found == attributes.end() ? nullptr : std::get_if<T>(&found->second);
    const auto* list = found == attributes.end() ? nullptr : std::get_if<std::vector<T>>(&found->second);
    if (one == nullptr && list == nullptr)
      fail(ErrorCode::invalid_argument, "node '{}' has no attribute '{}' of that type", node->node.name, name);
    result = one != nullptr ? one : list->data();
    size = one != nullptr ? 1 : list->size();
  });
}

}  // namespace
}  // namespace colonnade

const char* colonnade_custom_node_name(const colonnade_custom_node* node) {
  return node == nullptr ? "" : node->node.name.c_str();
}
std::size_t colonnade_custom_node_input_count(const colonnade_custom_node* node) {
  return node == nullptr ? 0 : node->node.inputs.size();
}
std::size_t colonnade_custom_node_output_count(const colonnade_custom_node* node) {
  return node == nullptr ? 0 : node->node.output_names.size();
}
const colonnade_tensor* colonnade_custom_node_constant(const colonnade_custom_node* node, std::size_t input) {
  return node == nullptr || input >= node->constants.size() ? nullptr : node->constants[input].get();
}

colonnade_status* colonnade_custom_node_ints(const colonnade_custom_node* node, const char* name,
                                             const std::int64_t** values, std::size_t* count) {
  return colonnade::give_list(node, name, values, count);
}
colonnade_status* colonnade_custom_node_floats(const colonnade_custom_node* node, const char* name,
                                               const float** values, std::size_t* count) {
  return colonnade::give_list(node, name, values, count);
}
colonnade_status* colonnade_custom_node_text(const colonnade_custom_node* node, const char* name, const char** text,
                                             std::size_t* length) {
  using colonnade::c::required;
  return colonnade::c::guarded([&] {
    const char*& result = colonnade::c::result_in(text, "text");
    const auto& attributes = required(node, "node").node.attributes;
    const auto found = attributes.find(std::string_view(&required(name, "name")));
    const auto* known = found == attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
    if (known == nullptr)
      colonnade::fail(colonnade::ErrorCode::invalid_argument, "node '{}' has no attribute '{}' of that type",
                      node->node.name, name);
    result = known->c_str();
    if (length != nullptr) *length = known->size();
  });
}

colonnade_status* colonnade_model_load_with(const colonnade_custom_operator* const* operators, std::size_t count,
                                            const char* path, const colonnade_options* options,
                                            colonnade_model** model) {
  return colonnade::c::guarded([&] {
    auto*& result = colonnade::c::result_in(model, "model");
    const auto known = colonnade::c::options_of(options);
    result = new colonnade_model(
        colonnade::load_with(colonnade::operators_of(operators, count), &colonnade::c::required(path, "path"), known));
  });
}

colonnade_status* colonnade_model_from_bytes_with(const colonnade_custom_operator* const* operators, std::size_t count,
                                                  const void* bytes, std::size_t size, const colonnade_options* options,
                                                  colonnade_model** model) {
  return colonnade::c::guarded([&] {
    auto*& result = colonnade::c::result_in(model, "model");
    const auto known = colonnade::c::options_of(options);
    const auto content = colonnade::c::array(static_cast<const std::byte*>(bytes), size, "bytes");
    result = new colonnade_model(colonnade::load_with(colonnade::operators_of(operators, count), content, known));
  });
}
