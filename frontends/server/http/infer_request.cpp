// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/http/infer_request.hpp"

#include <fmt/core.h>

#include <limits>
#include <set>

#include "frontends/image/image.hpp"
#include "frontends/server/datatype.hpp"
#include "frontends/server/http/elements.hpp"
#include "frontends/server/http/json.hpp"
#include "frontends/server/http/json_reader.hpp"
#include "frontends/server/raw_tensor.hpp"

namespace colonnade::serve::http {
namespace {

using Bytes = std::span<const std::byte>;

/// Longer than any server runs, and far from what clocks count to.
constexpr std::chrono::microseconds kLongestTimeout = std::chrono::hours(24 * 365);

/// An image has at most one pixel for so many of the bytes that a body may have.
constexpr std::int64_t kBytesPerPixel = 4;

template <class T>
std::optional<T> take(Parameters& parameters, const std::string& name, std::string_view where,
                      std::string_view expected) {
  const auto found = parameters.find(name);
  if (found == parameters.end()) return std::nullopt;
  const T* value = std::get_if<T>(&found->second);
  if (!value) throw Problem(400, fmt::format("{}: {}: expected {}", where, name, expected));
  const T taken = *value;
  parameters.erase(found);
  return taken;
}

std::optional<std::int64_t> take_count(Parameters& parameters, const std::string& name, std::string_view where) {
  const auto value = take<std::int64_t>(parameters, name, where, "an integer of 0 or more");
  if (value && *value < 0) throw Problem(400, fmt::format("{}: {}: expected an integer of 0 or more", where, name));
  return value;
}

Shape shape_of(const Json& value, std::string_view where) {
  Shape shape;
  for (const Json dimension : array_of(value, where)) shape.push_back(integer_of(dimension, where));
  return shape;
}

/// The members of an input or output that mean something.
struct TensorFields {
  std::string name, where;
  std::optional<Json> shape, datatype, data;
  Parameters parameters;
};

TensorFields read_tensor_fields(const Json& value, std::string_view kind) {
  TensorFields fields;
  Keys keys(kind);
  std::optional<Json> name, parameters;
  const std::pair<std::string_view, std::optional<Json>*> members[] = {{"name", &name},
                                                                       {"shape", &fields.shape},
                                                                       {"datatype", &fields.datatype},
                                                                       {"data", &fields.data},
                                                                       {"parameters", &parameters}};
  for (const auto& [key, each] : object_of(value, kind)) {
    for (unsigned i = 0; i < std::size(members); ++i) {
      if (key != members[i].first) continue;
      keys.meet(i, key);
      *members[i].second = each;
    }
  }
  if (!name) throw Problem(400, fmt::format("{}: \"name\" is missing", kind));
  fields.name = string_of(*name, fmt::format("{}: name", kind));
  fields.where = fmt::format("{} {}", kind, json_text(fields.name));
  if (parameters) fields.parameters = parameters_of(*parameters, fields.where + ": parameters");
  return fields;
}

/// Reads one request; `rest_` is what is left of the bytes behind the JSON.
class Parser {
 public:
  Parser(Bytes json, Bytes rest, const Body& body, const SharedMemory& shared)
      : json_(json), rest_(rest), owner_(body.owner()), shared_(shared) {}

  InferCall parse(int deepest) {
    with_json(json_, deepest, [this](const Json& root) { read(root); });
    if (!rest_.empty()) throw Problem(400, fmt::format("{} bytes behind the last tensor", rest_.size()));
    return std::move(call_);
  }

 private:
  void read(const Json& root);
  void read_parameters(const Json& value);
  void read_input(const Json& value);
  void read_output(const Json& value);
  InputTensor binary_input(TensorFields& fields, DType dtype, Shape shape, std::int64_t size);
  void leave_shared(SharedPlacePtr place, const std::string& name, DType dtype, Shape shape);

  Bytes json_, rest_;
  std::shared_ptr<const void> owner_;
  const SharedMemory& shared_;
  InferCall call_;
  std::set<std::string> inputs_, outputs_;
};

void Parser::read(const Json& root) {
  Keys keys("the request");
  for (const auto& [key, value] : object_of(root, "the request")) {
    if (key == "id") {
      keys.meet(0, key);
      call_.request.id = string_of(value, "id");
    } else if (key == "parameters") {
      keys.meet(1, key);
      read_parameters(value);
    } else if (key == "inputs") {
      keys.meet(2, key);
      for (const Json input : array_of(value, "inputs")) read_input(input);
    } else if (key == "outputs") {
      keys.meet(3, key);
      for (const Json output : array_of(value, "outputs")) read_output(output);
    }
  }
  if (!keys.has_met(2)) throw Problem(400, "the request: \"inputs\" is missing");
}

void Parser::read_parameters(const Json& value) {
  auto& parameters = call_.request.parameters;
  parameters = parameters_of(value, "parameters");
  if (const auto priority = take_count(parameters, "priority", "parameters")) {
    if (*priority > std::numeric_limits<std::uint32_t>::max())
      throw Problem(400, "parameters: priority: the integer is too large");
    call_.request.priority = static_cast<std::uint32_t>(*priority);
  }
  if (const auto timeout = take_count(parameters, "timeout", "parameters"))
    call_.request.timeout = std::min(std::chrono::microseconds(*timeout), kLongestTimeout);
  call_.form.binary = take<bool>(parameters, "binary_data_output", "parameters", "true or false").value_or(false);
}

InputTensor Parser::binary_input(TensorFields& fields, DType dtype, Shape shape, std::int64_t size) {
  if (static_cast<std::uint64_t>(size) > rest_.size())
    throw Problem(400, fmt::format("{}: binary_data_size is {}, but {} bytes are left in the body", fields.where, size,
                                   rest_.size()));
  const Bytes bytes = rest_.first(static_cast<std::size_t>(size));
  rest_ = rest_.subspan(bytes.size());
  return raw_input(std::move(fields.name), dtype, std::move(shape), bytes, owner_);
}

void Parser::leave_shared(SharedPlacePtr place, const std::string& name, DType dtype, Shape shape) {
  call_.shared.push_back({call_.request.inputs.size(), std::move(place), name, dtype, std::move(shape)});
  call_.request.inputs.emplace_back();
}

void Parser::read_input(const Json& value) {
  TensorFields fields = read_tensor_fields(value, "input");
  const std::string where = fields.where;
  if (!inputs_.insert(fields.name).second) throw Problem(400, where + " appears twice");
  if (!fields.datatype) throw Problem(400, where + ": \"datatype\" is missing");
  if (!fields.shape) throw Problem(400, where + ": \"shape\" is missing");
  const std::string_view datatype = string_of(*fields.datatype, where + ": datatype");
  const auto dtype = dtype_of(datatype);
  if (!dtype) throw Problem(400, fmt::format("{}: unknown datatype {}", where, json_text(datatype)));
  Shape shape = shape_of(*fields.shape, where + ": shape");
  const SharedPlacePtr place = shared_.take_place(fields.parameters, where);
  const auto size = take_count(fields.parameters, "binary_data_size", where);
  if (size && fields.data) throw Problem(400, where + ": both \"data\" and binary_data_size");
  if (place && (size || fields.data))
    throw Problem(400, where + ": both shared memory and \"data\" or binary_data_size");
  if (!place && !size && !fields.data)
    throw Problem(400, where + ": expected \"data\" or the parameter binary_data_size");
  if (place)
    leave_shared(place, fields.name, *dtype, std::move(shape));
  else if (size)
    call_.request.inputs.push_back(binary_input(fields, *dtype, std::move(shape), *size));
  else
    call_.request.inputs.push_back(
        owned_input(fields.name, elements_of(*fields.data, fields.name, *dtype, shape, json_.size())));
}

void Parser::read_output(const Json& value) {
  TensorFields fields = read_tensor_fields(value, "output");
  RequestedOutput output{fields.name};
  output.place = shared_.take_place(fields.parameters, fields.where);
  output.classes = take_count(fields.parameters, "classification", fields.where).value_or(0);
  const auto binary = take<bool>(fields.parameters, "binary_data", fields.where, "true or false");
  if (!outputs_.insert(fields.name).second) throw Problem(400, fields.where + " appears twice");
  if (binary) call_.form.listed.emplace(fields.name, *binary);
  call_.request.outputs.push_back(std::move(output));
}

const inference::ModelMetadataResponse::TensorMetadata& only_input(const inference::ModelMetadataResponse& metadata) {
  if (metadata.inputs_size() != 1)
    throw Problem(400, fmt::format("model '{}' has {} inputs: only a model of one input takes a body without JSON",
                                   metadata.name(), metadata.inputs_size()));
  return metadata.inputs(0);
}

/// The shape with open dimensions filled so that `count` elements fit.
Shape fit_shape(Shape shape, std::size_t count, const std::string& name) {
  const std::string wanted = shape_text(shape);
  if (std::count(shape.begin(), shape.end(), -1) > 1 && shape[0] == -1) shape[0] = 1;
  const auto open = std::find(shape.begin(), shape.end(), -1);
  if (open == shape.end()) return shape;
  if (std::count(shape.begin(), shape.end(), -1) > 1)
    throw Problem(400, fmt::format("input '{}': its shape {} cannot be told from {} elements", name, wanted, count));
  *open = 1;
  const std::size_t known = checked_count(shape, name);
  if (known == 0 || count % known != 0)
    throw Problem(400, fmt::format("input '{}': {} elements do not fit shape {}", name, count, wanted));
  *open = static_cast<std::int64_t>(count / known);
  return shape;
}

InferCall call_with(InputTensor input) {
  InferCall call;
  call.request.inputs.push_back(std::move(input));
  return call;
}

}  // namespace

InferCall parse_infer(const Body& body, std::optional<std::size_t> header_bytes, int deepest_json,
                      const SharedMemory& shared_memory) {
  const Bytes bytes = body.bytes();
  if (header_bytes.value_or(0) > bytes.size())
    throw Problem(400, fmt::format("Inference-Header-Content-Length is {}, but the body has {} bytes", *header_bytes,
                                   bytes.size()));
  const std::size_t json_bytes = header_bytes.value_or(bytes.size());
  return Parser(bytes.first(json_bytes), bytes.subspan(json_bytes), body, shared_memory).parse(deepest_json);
}

std::uint64_t shared_bytes(const InferCall& call) {
  std::uint64_t bytes = 0;
  for (const InferCall::SharedInput& input : call.shared) bytes += input.place->bytes;
  return bytes;
}

void read_shared(InferCall& call, const Lease& client) {
  for (InferCall::SharedInput& input : call.shared)
    call.request.inputs[input.index] =
        shared_input(*input.place, std::move(input.name), input.dtype, std::move(input.shape), client);
  call.shared.clear();
}

InferCall parse_raw_infer(const Body& body, const inference::ModelMetadataResponse& metadata) {
  const auto& input = only_input(metadata);
  const auto dtype = dtype_of(input.datatype());
  if (!dtype) throw Problem(501, fmt::format("input '{}' has a type that cannot be sent", input.name()));
  Shape shape(input.shape().begin(), input.shape().end());
  InferCall call;
  if (*dtype == DType::string) {
    Tensor text(*dtype, fit_shape(std::move(shape), 1, input.name()));
    if (text.size() != 1) throw Problem(400, fmt::format("input '{}' takes more than one element", input.name()));
    text.strings()[0].assign(reinterpret_cast<const char*>(body.bytes().data()), body.size());
    call = call_with(owned_input(input.name(), std::move(text)));
  } else {
    shape = fit_shape(std::move(shape), body.size() / size_of(*dtype), input.name());
    call = call_with(raw_input(input.name(), *dtype, std::move(shape), body.bytes(), body.owner()));
  }
  call.form.binary = true;
  return call;
}

InferCall parse_image_infer(const Body& body, const inference::ModelMetadataResponse& metadata,
                            std::size_t most_bytes) {
  const auto& input = only_input(metadata);
  const auto dtype = dtype_of(input.datatype());
  if (!dtype || *dtype == DType::string || *dtype == DType::boolean)
    throw Problem(400, fmt::format("input '{}' of type {} cannot take an image", input.name(), input.datatype()));
  const Shape shape(input.shape().begin(), input.shape().end());
  const auto most = static_cast<std::int64_t>(most_bytes);
  const images::ImageLimits limits{.pixels = most / kBytesPerPixel, .held_bytes = most, .tensor_bytes = most};
  TensorInfo info;
  info.name = input.name();
  info.dtype = *dtype;
  info.shape = shape;
  return call_with(owned_input(input.name(), images::image_tensor(body.bytes(), "the body", info, shape, {}, limits)));
}

}  // namespace colonnade::serve::http
