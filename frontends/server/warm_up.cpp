// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/warm_up.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

#include "frontends/server/config.hpp"
#include "frontends/server/log.hpp"

namespace colonnade::serve {
namespace {

constexpr std::size_t kMostFileBytes = std::size_t{1} << 30;

InputTensor input_of(const std::string& name, Tensor tensor) {
  auto owner = std::make_shared<Tensor>(std::move(tensor));
  const TensorView view = *owner;
  return {name, view, std::move(owner)};
}

/// Numbers in [0, 1); integers 0 or 1, which are valid indices of most tables.
Tensor random_tensor(DType dtype, const Shape& shape) {
  if (dtype == DType::string) return {dtype, shape};
  std::mt19937 generator(1);
  const bool is_real = dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
  Tensor numbers(DType::f32, shape);
  std::uniform_real_distribution<float> real(0, 1);
  for (float& value : numbers.values<float>()) value = is_real ? real(generator) : static_cast<float>(generator() % 2);
  return numbers.converted(dtype);
}

/// Strings as they are sent: four bytes of length, then the characters.
void fill_strings(Tensor& tensor, std::string_view bytes) {
  for (std::string& text : tensor.strings()) {
    std::uint32_t length = 0;
    if (bytes.size() < sizeof(length)) throw Failure(Code::invalid_argument, "its file is too short");
    std::memcpy(&length, bytes.data(), sizeof(length));
    bytes.remove_prefix(sizeof(length));
    if (bytes.size() < length) throw Failure(Code::invalid_argument, "its file is too short");
    text = bytes.substr(0, length);
    bytes.remove_prefix(length);
  }
}

Tensor tensor_from_file(DType dtype, const Shape& shape, const std::string& bytes) {
  Tensor tensor(dtype, shape);
  if (dtype == DType::string) {
    fill_strings(tensor, bytes);
  } else if (bytes.size() != tensor.byte_size()) {
    throw Failure(Code::invalid_argument,
                  fmt::format("its file has {} bytes, expected {}", bytes.size(), tensor.byte_size()));
  } else if (!bytes.empty()) {
    std::memcpy(tensor.data(), bytes.data(), bytes.size());
  }
  return tensor;
}

Tensor tensor_of(const inference::ModelWarmup::Input& input, Shape shape, const FoundModel& found) {
  const std::optional<DType> dtype = dtype_of(input.data_type());
  if (!dtype) throw Failure(Code::invalid_argument, "its data type is unknown");
  if (input.has_zero_data()) return {*dtype, shape};
  if (input.has_random_data()) return random_tensor(*dtype, shape);
  return tensor_from_file(
      *dtype, shape, read_model_file(found, std::filesystem::path("warmup") / input.input_data_file(), kMostFileBytes));
}

InferenceRequest request_of(const inference::ModelWarmup& sample, const FoundModel& found, bool is_batched) {
  InferenceRequest request;
  for (const auto& [name, input] : sample.inputs()) {
    Shape shape(input.dims().begin(), input.dims().end());
    if (is_batched) shape.insert(shape.begin(), std::max<std::uint32_t>(1, sample.batch_size()));
    try {
      request.inputs.push_back(input_of(name, tensor_of(input, shape, found)));
    } catch (const Failure& failure) {
      throw Failure(failure.code(), fmt::format("input '{}': {}", name, failure.what()));
    }
  }
  return request;
}

std::optional<InferenceRequest> request_of_zeros(const Signature& signature) {
  InferenceRequest request;
  for (const Port& port : signature.inputs) {
    Shape shape = port.dims;
    if (signature.max_batch > 0) shape.insert(shape.begin(), 1);
    if (std::any_of(shape.begin(), shape.end(), [](std::int64_t dim) { return dim < 0; })) return std::nullopt;
    request.inputs.push_back(input_of(port.name, Tensor(port.dtype, shape)));
  }
  return request;
}

}  // namespace

void warm_up(ServedModel& model, const FoundModel& found) {
  const inference::ModelConfig& config = model.card()->config;
  for (const inference::ModelWarmup& sample : config.model_warmup()) {
    try {
      const InferenceRequest request = request_of(sample, found, config.max_batch_size() > 0);
      model.warm_up(request, std::max(1, static_cast<int>(sample.count())), model.instances());
    } catch (const std::exception& error) {
      throw Failure(Code::invalid_argument, fmt::format("warm-up sample '{}': {}", sample.name(), error.what()));
    }
  }
  if (config.model_warmup_size() > 0) return;
  try {
    if (const auto request = request_of_zeros(model.signature())) model.warm_up(*request, 1, 1);
  } catch (const std::exception& error) {
    log(LogLevel::info, "model not warmed up",
        {{"model", found.name}, {"version", model.card()->version}, {"reason", std::string_view(error.what())}});
  }
}

}  // namespace colonnade::serve
