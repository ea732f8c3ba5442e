// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/http/infer_response.hpp"

#include <fmt/format.h>

#include <functional>
#include <numeric>

#include "frontends/server/datatype.hpp"
#include "frontends/server/http/json.hpp"
#include "frontends/server/raw_tensor.hpp"
#include "frontends/server/shared_memory.hpp"

namespace colonnade::serve::http {
namespace {

/// Adds the tensor's bytes to the answer's parts and returns how many they are.
std::size_t add_binary(Response& response, const OutputTensor& output) {
  if (output.view.dtype != DType::string) {
    std::string unused;
    response.parts.push_back(raw_bytes(output.view, unused));
    response.owners.push_back(output.owner);
  } else {
    auto bytes = std::make_shared<std::string>();
    response.parts.push_back(raw_bytes(output.view, *bytes));
    response.owners.push_back(std::move(bytes));
  }
  return response.parts.back().size();
}

void append_output(Response& response, const OutputTensor& output, bool binary) {
  const std::string_view datatype = datatype_of(output.view.dtype);
  if (datatype.empty())
    throw Failure(Code::unsupported, fmt::format("output '{}' of type {} has no form in this protocol", output.name,
                                                 name_of(output.view.dtype)));
  std::string& text = response.text;
  text += "{\"name\":";
  append_json(text, output.name);
  fmt::format_to(std::back_inserter(text), ",\"datatype\":\"{}\",\"shape\":{}", datatype,
                 shape_text(output.view.shape));
  if (output.place) {
    write_shared(output);  // no parameters: Triton's clients look for a size of binary data in those
  } else if (binary) {
    fmt::format_to(std::back_inserter(text), ",\"parameters\":{{\"binary_data_size\":{}}}",
                   add_binary(response, output));
  } else {
    text += ",\"data\":";
    append_json_elements(text, output.view, output.name);
  }
  text += '}';
}

/// Of JSON, that are read in the time in which a tensor's byte becomes text.
constexpr std::size_t kTextBytes = 8;

std::size_t size_of_elements(const TensorView& tensor) {
  const auto count = static_cast<std::size_t>(element_count(tensor.shape));
  if (tensor.dtype != DType::string) return count * size_of(tensor.dtype);
  const std::span<const std::string> strings(static_cast<const std::string*>(tensor.data), count);
  return std::transform_reduce(strings.begin(), strings.end(), count * sizeof(std::string), std::plus<>(),
                               [](const std::string& text) { return text.size(); });
}

}  // namespace

std::size_t copied_bytes(const InferenceResponse& answer, const AnswerForm& form) {
  std::size_t bytes = 0;
  for (const OutputTensor& output : answer.outputs) {
    const bool is_text = !output.place && !form.is_binary(output.name);
    const bool is_sent_as_it_is = !output.place && !is_text && output.view.dtype != DType::string;
    if (!is_sent_as_it_is) bytes += size_of_elements(output.view) * (is_text ? kTextBytes : 1);
  }
  return bytes;
}

Response infer_response(const InferenceResponse& answer, const AnswerForm& form) {
  Response response;
  response.id = answer.id;
  std::string& text = response.text;
  text += '{';
  if (!answer.id.empty()) {
    text += "\"id\":";
    append_json(text, answer.id);
    text += ',';
  }
  text += "\"model_name\":";
  append_json(text, answer.model);
  fmt::format_to(std::back_inserter(text), ",\"model_version\":\"{}\",\"outputs\":[", answer.version);
  for (std::size_t i = 0; i < answer.outputs.size(); ++i) {
    if (i > 0) text += ',';
    append_output(response, answer.outputs[i], form.is_binary(answer.outputs[i].name));
  }
  text += "]}";
  if (response.parts.empty()) return response;
  response.type = "application/octet-stream";
  response.fields.emplace_back("Inference-Header-Content-Length", std::to_string(text.size()));
  return response;
}

}  // namespace colonnade::serve::http
