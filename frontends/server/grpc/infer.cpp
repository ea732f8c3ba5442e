// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/grpc/infer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "frontends/server/config.hpp"
#include "frontends/server/datatype.hpp"
#include "frontends/server/grpc/message.hpp"
#include "frontends/server/raw_tensor.hpp"

namespace colonnade::serve {
namespace {

using inference::InferParameter;
using inference::InferTensorContents;
using inference::ModelInferRequest;
using ParameterMap = google::protobuf::Map<std::string, InferParameter>;
using MessagePtr = std::shared_ptr<ModelInferRequest>;

/// Longer than any server runs, and far from what clocks count to.
constexpr std::chrono::microseconds kLongestTimeout = std::chrono::hours(24 * 365);

[[noreturn]] void refuse(const std::string& message) { throw Failure(Code::invalid_argument, message); }

Parameter to_parameter(const std::string& name, const InferParameter& value) {
  switch (value.parameter_choice_case()) {
    case InferParameter::kBoolParam: return value.bool_param();
    case InferParameter::kInt64Param: return value.int64_param();
    case InferParameter::kStringParam: return value.string_param();
    case InferParameter::kDoubleParam: return value.double_param();
    case InferParameter::kUint64Param:
      if (value.uint64_param() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        refuse(fmt::format("parameter '{}': {} is too large", name, value.uint64_param()));
      return static_cast<std::int64_t>(value.uint64_param());
    case InferParameter::PARAMETER_CHOICE_NOT_SET: break;
  }
  refuse(fmt::format("parameter '{}' has no value", name));
}

Parameters to_parameters(const ParameterMap& map) {
  Parameters parameters;
  for (const auto& [name, value] : map) parameters.emplace(name, to_parameter(name, value));
  return parameters;
}

/// Takes a number of 0 or more out of the parameters; none when it is not there.
std::optional<std::int64_t> take_count(Parameters& parameters, const std::string& name) {
  const auto found = parameters.find(name);
  if (found == parameters.end()) return std::nullopt;
  const auto* value = std::get_if<std::int64_t>(&found->second);
  if (value == nullptr || *value < 0) refuse(fmt::format("parameter '{}': expected an integer of 0 or more", name));
  const std::int64_t taken = *value;
  parameters.erase(found);
  return taken;
}

/// Elements that a field of the contents holds, of a type that has the same size there and in tensors.
template <class Field>
InputTensor borrowed(const std::string& name, DType dtype, Shape shape, const Field& field, const MessagePtr& message) {
  return {name, TensorView(dtype, std::move(shape), field.data()), message};
}

/// Elements that travel as 32 bits and are stored in fewer.
template <class T, class Field>
InputTensor narrowed(const std::string& name, DType dtype, Shape shape, const Field& field) {
  Tensor tensor(dtype, std::move(shape));
  const std::span<T> values = tensor.values<T>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = field[static_cast<int>(i)];
    if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max())
      refuse(fmt::format("input '{}': element {} is {}, which {} cannot hold", name, i, value, datatype_of(dtype)));
    values[i] = static_cast<T>(value);
  }
  return owned_input(name, std::move(tensor));
}

InputTensor strings_of(const std::string& name, Shape shape, google::protobuf::RepeatedPtrField<std::string>& field) {
  auto strings = std::make_shared<std::vector<std::string>>();
  strings->reserve(static_cast<std::size_t>(field.size()));
  for (std::string& text : field) strings->push_back(std::move(text));
  return {name, TensorView(DType::string, std::move(shape), strings->data()), strings};
}

/// Elements in typed contents, of which exactly the field that belongs to the type is filled.
class TypedInput {
 public:
  TypedInput(ModelInferRequest::InferInputTensor& input, DType dtype, Shape shape, MessagePtr message)
      : input_(input), dtype_(dtype), shape_(std::move(shape)), message_(std::move(message)) {}

  InputTensor read() {
    InferTensorContents& contents = *input_.mutable_contents();
    const std::string& name = input_.name();
    switch (dtype_) {
      case DType::boolean: return borrow(contents.bool_contents(), "bool_contents");
      case DType::i8:
        check(contents.int_contents(), "int_contents");
        return narrow<std::int8_t>(contents.int_contents());
      case DType::i16:
        check(contents.int_contents(), "int_contents");
        return narrow<std::int16_t>(contents.int_contents());
      case DType::i32: return borrow(contents.int_contents(), "int_contents");
      case DType::i64: return borrow(contents.int64_contents(), "int64_contents");
      case DType::u8:
        check(contents.uint_contents(), "uint_contents");
        return narrow<std::uint8_t>(contents.uint_contents());
      case DType::u16:
        check(contents.uint_contents(), "uint_contents");
        return narrow<std::uint16_t>(contents.uint_contents());
      case DType::u32: return borrow(contents.uint_contents(), "uint_contents");
      case DType::u64: return borrow(contents.uint64_contents(), "uint64_contents");
      case DType::f32: return borrow(contents.fp32_contents(), "fp32_contents");
      case DType::f64: return borrow(contents.fp64_contents(), "fp64_contents");
      case DType::string:
        check(contents.bytes_contents(), "bytes_contents");
        return strings_of(name, std::move(shape_), *contents.mutable_bytes_contents());
      case DType::undefined:
      case DType::f16:
      case DType::bf16:
      case DType::f8e4m3fn:
      case DType::f8e4m3fnuz:
      case DType::f8e5m2:
      case DType::f8e5m2fnuz:
      case DType::f8e8m0:
      case DType::f4e2m1:
      case DType::i4:
      case DType::u4:
      case DType::i2:
      case DType::u2:
      case DType::c64:
      case DType::c128:
      case DType::f6e2m3:
      case DType::f6e3m2: break;
    }
    refuse(fmt::format("input '{}': {} travels in raw_input_contents only", name, input_.datatype()));
  }

 private:
  int filled() const {
    const InferTensorContents& c = input_.contents();
    return c.bool_contents_size() + c.int_contents_size() + c.int64_contents_size() + c.uint_contents_size() +
           c.uint64_contents_size() + c.fp32_contents_size() + c.fp64_contents_size() + c.bytes_contents_size();
  }

  template <class Field>
  void check(const Field& field, const char* field_name) const {
    const std::size_t expected = checked_count(shape_, input_.name());
    if (static_cast<std::size_t>(field.size()) != expected || filled() != field.size())
      refuse(fmt::format("input '{}': expected {} elements in {}, found {} there and {} in other fields", input_.name(),
                         expected, field_name, field.size(), filled() - field.size()));
  }

  template <class Field>
  InputTensor borrow(const Field& field, const char* field_name) {
    check(field, field_name);
    return borrowed(input_.name(), dtype_, std::move(shape_), field, message_);
  }

  template <class T, class Field>
  InputTensor narrow(const Field& field) {
    return narrowed<T>(input_.name(), dtype_, std::move(shape_), field);
  }

  ModelInferRequest::InferInputTensor& input_;
  const DType dtype_;
  Shape shape_;
  MessagePtr message_;
};

/// Counts how many of the raw contents were taken.
InputTensor to_input(const MessagePtr& message, int index, int& raws, const SharedMemory& shared, const Lease& client) {
  ModelInferRequest::InferInputTensor& input = *message->mutable_inputs(index);
  const std::string& name = input.name();
  const auto dtype = dtype_of(std::string_view(input.datatype()));
  if (!dtype) refuse(fmt::format("input '{}': unknown datatype '{}'", name, input.datatype()));
  Shape shape(input.shape().begin(), input.shape().end());
  Parameters parameters = to_parameters(input.parameters());
  if (const SharedPlacePtr place = shared.take_place(parameters, fmt::format("input '{}'", name))) {
    if (input.has_contents()) refuse(fmt::format("input '{}' has contents, but lies in shared memory", name));
    return shared_input(*place, name, *dtype, std::move(shape), client);
  }
  if (message->raw_input_contents_size() == 0) return TypedInput(input, *dtype, std::move(shape), message).read();
  if (input.has_contents())
    refuse(fmt::format("input '{}' has contents, but the request has raw_input_contents: expected one or the other",
                       name));
  if (raws >= message->raw_input_contents_size())
    refuse(fmt::format("input '{}' has no raw_input_contents: the request has {} of them", name, raws));
  const std::string& raw = message->raw_input_contents(raws++);
  return raw_input(name, *dtype, std::move(shape), std::as_bytes(std::span(raw)), message);
}

RequestedOutput to_output(const ModelInferRequest::InferRequestedOutputTensor& output, const SharedMemory& shared) {
  Parameters parameters = to_parameters(output.parameters());
  SharedPlacePtr place = shared.take_place(parameters, fmt::format("output '{}'", output.name()));
  return {output.name(), take_count(parameters, "classification").value_or(0), std::move(place)};
}

void read_parameters(InferenceRequest& request, const ParameterMap& map) {
  request.parameters = to_parameters(map);
  const auto priority = take_count(request.parameters, "priority");
  if (priority.value_or(0) > std::numeric_limits<std::uint32_t>::max())
    refuse(fmt::format("parameter 'priority': {} is too large", *priority));
  request.priority = static_cast<std::uint32_t>(priority.value_or(0));
  const auto timeout = take_count(request.parameters, "timeout");
  request.timeout = std::min(std::chrono::microseconds(timeout.value_or(0)), kLongestTimeout);
}

std::int64_t version_of(const std::string& text) {
  if (text.empty()) return 0;
  const auto version = parse_version(text);
  if (!version) refuse("expected a model version of 1 or more");
  return *version;
}

/// What precedes the raw outputs.
inference::ModelInferResponse head_of(const InferenceResponse& response) {
  inference::ModelInferResponse head;
  head.set_model_name(response.model);
  head.set_model_version(std::to_string(response.version));
  head.set_id(response.id);
  for (const OutputTensor& output : response.outputs) {
    auto* tensor = head.add_outputs();
    tensor->set_name(output.name);
    tensor->set_datatype(std::string(datatype_of(output.view.dtype)));
    tensor->mutable_shape()->Add(output.view.shape.begin(), output.view.shape.end());
    if (!output.place) continue;
    auto& parameters = *tensor->mutable_parameters();
    parameters["shared_memory_region"].set_string_param(output.place->region->name());
    parameters["shared_memory_offset"].set_int64_param(static_cast<std::int64_t>(output.place->offset));
    parameters["shared_memory_byte_size"].set_int64_param(static_cast<std::int64_t>(write_shared(output)));
  }
  return head;
}

/// The raw bytes of an output and who owns them; none of one in shared memory.
struct Raw {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

Raw raw_of(const OutputTensor& output) {
  if (output.place) return {};
  auto text = output.view.dtype == DType::string ? std::make_shared<std::string>() : nullptr;
  std::string none;
  const auto bytes = raw_bytes(output.view, text ? *text : none);
  return {bytes, text ? std::shared_ptr<const void>(text) : output.owner};
}

class ResponseWriter {
 public:
  explicit ResponseWriter(const InferenceResponse& response) : head_(head_of(response)) {
    size_ = head_.ByteSizeLong();
    for (const OutputTensor& output : response.outputs) {
      raws_.push_back(raw_of(output));
      size_ += MessageWriter::field_size(kRaw, raws_.back().bytes.size());
    }
  }
  std::size_t size() const { return size_; }
  void write(MessageWriter& writer) const {
    writer.append(head_);
    for (const Raw& raw : raws_) {
      writer.begin_field(kRaw, raw.bytes.size());
      writer.append(raw.bytes, raw.owner);
    }
  }

 private:
  static constexpr int kRaw = inference::ModelInferResponse::kRawOutputContentsFieldNumber;
  inference::ModelInferResponse head_;
  std::vector<Raw> raws_;
  std::size_t size_ = 0;
};

}  // namespace

InferenceRequest to_request(MessagePtr message, const SharedMemory& shared_memory, const Lease& client) {
  InferenceRequest request;
  request.model = message->model_name();
  request.version = version_of(message->model_version());
  request.id = message->id();
  read_parameters(request, message->parameters());
  int raws = 0;
  for (int i = 0; i < message->inputs_size(); ++i)
    request.inputs.push_back(to_input(message, i, raws, shared_memory, client));
  if (raws != message->raw_input_contents_size())
    refuse(fmt::format("expected as many raw_input_contents as inputs outside of shared memory, {}, found {}", raws,
                       message->raw_input_contents_size()));
  for (const auto& output : message->outputs()) request.outputs.push_back(to_output(output, shared_memory));
  return request;
}

grpc::ByteBuffer write_response(const InferenceResponse& response) {
  MessageWriter writer;
  ResponseWriter(response).write(writer);
  return writer.finish();
}

grpc::ByteBuffer write_stream_response(const InferenceResponse& response) {
  const ResponseWriter inner(response);
  MessageWriter writer;
  writer.begin_field(inference::ModelStreamInferResponse::kInferResponseFieldNumber, inner.size());
  inner.write(writer);
  return writer.finish();
}

grpc::ByteBuffer write_stream_error(const std::string& id, const Status& status) {
  inference::ModelStreamInferResponse response;
  response.set_error_message(status.message);
  response.mutable_infer_response()->set_id(id);
  return write_message(response);
}

}  // namespace colonnade::serve
