// SPDX-License-Identifier: Apache-2.0
// Damaged ModelInferRequests, in slices as they come from the network, perhaps compressed. What is understood comes
// back as it was when the inputs are sent as outputs; everything else is a refusal of one line.
#include <google/protobuf/stubs/logging.h>
#include <zlib.h>

#include "frontends/server/datatype.hpp"
#include "frontends/server/grpc/infer.hpp"
#include "frontends/server/grpc/message.hpp"
#include "frontends/server/raw_tensor.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/mutate.hpp"
#include "fuzz/shared_region.hpp"

namespace colonnade::fuzz {
namespace {

using inference::ModelInferRequest;
using inference::ModelInferResponse;

constexpr std::size_t kMostBytes = 1 << 20;
constexpr std::size_t kMostMessage = 2000;

grpc::ByteBuffer sliced(std::string_view bytes) {
  std::vector<grpc::Slice> slices;
  const std::size_t piece = 1 + bytes.size() / 3;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
    slices.emplace_back(std::string(bytes.substr(0, piece)));
  return {slices.data(), slices.size()};
}

void check_message(const serve::Failure& failure) {
  const std::string message = failure.what();
  if (failure.code() == serve::Code::internal) throw Failure("internal: " + message);
  if (message.empty() || message.size() > kMostMessage) throw Failure("not one line: " + message);
}

/// The inputs as outputs.
serve::InferenceResponse echo(const serve::InferenceRequest& request) {
  serve::InferenceResponse response;
  response.model = request.model;
  response.id = request.id;
  for (const serve::InputTensor& input : request.inputs)
    response.outputs.push_back({input.name, input.view, input.owner});
  return response;
}

void check_echo(const serve::InferenceRequest& request) {
  const serve::InferenceResponse response = echo(request);
  ModelInferResponse message;
  serve::read_message(serve::write_response(response), kMostBytes * 64, message);
  if (message.id() != request.id || message.outputs_size() != static_cast<int>(request.inputs.size()))
    throw Failure("another response");
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    std::string scratch;
    const auto bytes = serve::raw_bytes(request.inputs[i].view, scratch);
    const std::string& sent = message.raw_output_contents(static_cast<int>(i));
    if (sent != std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()))
      throw Failure("other bytes");
    if (message.outputs(static_cast<int>(i)).name() != request.inputs[i].name) throw Failure("another name");
  }
  inference::ModelStreamInferResponse stream;
  serve::read_message(serve::write_stream_response(response), kMostBytes * 64, stream);
  if (stream.infer_response().SerializeAsString() != message.SerializeAsString()) throw Failure("another stream");
}

void check(std::string_view bytes) {
  clear_shared();
  try {
    auto message = std::make_shared<ModelInferRequest>();
    serve::read_message(sliced(bytes), kMostBytes, *message);
    check_echo(serve::to_request(std::move(message), shared_memory(), {}));
  } catch (const serve::Failure& failure) {
    check_message(failure);
  }
}

std::string compressed(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::string out(size, '\0');
  compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(text.data()), text.size(), 6);
  out.resize(size);
  return out;
}

void add_typed(ModelInferRequest::InferInputTensor& input, DType dtype, int count) {
  auto& contents = *input.mutable_contents();
  for (int i = 0; i < count; ++i) {
    switch (dtype) {
      case DType::boolean: contents.add_bool_contents(i % 2 == 0); break;
      case DType::i8:
      case DType::i16:
      case DType::i32: contents.add_int_contents(-i); break;
      case DType::i64: contents.add_int64_contents(-i); break;
      case DType::u8:
      case DType::u16:
      case DType::u32: contents.add_uint_contents(static_cast<std::uint32_t>(i)); break;
      case DType::u64: contents.add_uint64_contents(static_cast<std::uint64_t>(i)); break;
      case DType::f64: contents.add_fp64_contents(i); break;
      case DType::string: contents.add_bytes_contents(std::string(static_cast<std::size_t>(i), 'a')); break;
      default: contents.add_fp32_contents(static_cast<float>(i)); break;
    }
  }
}

std::string raw_elements(DType dtype, int count) {
  if (dtype != DType::string) return std::string(static_cast<std::size_t>(count) * size_of(dtype), '\1');
  std::string text;
  for (int i = 0; i < count; ++i) text += std::string("\2\0\0\0ab", 6);
  return text;
}

ModelInferRequest random_request(Random& random) {
  static constexpr DType kTypes[] = {DType::boolean, DType::i8,  DType::i16,   DType::i32, DType::i64,
                                     DType::u8,      DType::u16, DType::u32,   DType::u64, DType::f16,
                                     DType::f32,     DType::f64, DType::string};
  ModelInferRequest request;
  request.set_model_name("m");
  if (random.one_in(4)) request.set_model_version("3");
  request.set_id("id");
  (*request.mutable_parameters())["priority"].set_int64_param(random.integer());
  (*request.mutable_parameters())["timeout"].set_uint64_param(1000);
  const bool raw = random.one_in(2);
  for (std::size_t inputs = random.below(4); inputs > 0; --inputs) {
    auto& input = *request.add_inputs();
    const DType dtype = random.one_of(kTypes);
    const int count = static_cast<int>(random.below(6));
    input.set_name("x" + std::to_string(inputs));
    input.set_datatype(std::string(serve::datatype_of(dtype)));
    input.add_shape(count);
    if (random.one_in(2)) input.add_shape(1);
    if (random.one_in(6)) {
      auto& parameters = *input.mutable_parameters();
      parameters["shared_memory_region"].set_string_param("r");
      parameters["shared_memory_byte_size"].set_int64_param(
          random.one_in(8) ? random.integer() : static_cast<std::int64_t>(raw_elements(dtype, count).size()));
      if (random.one_in(2)) parameters["shared_memory_offset"].set_int64_param(static_cast<int>(random.below(100)));
    } else if (raw) {
      request.add_raw_input_contents(raw_elements(dtype, count));
    } else {
      add_typed(input, dtype, count);
    }
  }
  auto& output = *request.add_outputs();
  output.set_name("y");
  if (random.one_in(2)) (*output.mutable_parameters())["classification"].set_int64_param(3);
  return request;
}

std::string request_bytes(Random& random) {
  google::protobuf::LogSilencer quiet;  // of strings that are no UTF-8
  ModelInferRequest request = random_request(random);
  const Words words = {"x1",
                       "y",
                       "FP32",
                       "INT8",
                       "BYTES",
                       "shared_memory_region",
                       "shared_memory_byte_size",
                       "r",
                       "",
                       "18446744073709551616"};
  for (std::size_t count = random.below(3); count > 0; --count) mutate(request, random_request(random), words, random);
  std::string bytes = request.SerializeAsString();
  return random.one_in(8) ? compressed(bytes) : bytes;
}

}  // namespace

Target grpc_target() {
  return {"grpc",
          [](Random& random) {
            std::string bytes = request_bytes(random);
            return random.one_in(2) ? damage(std::move(bytes), request_bytes(random), random) : bytes;
          },
          check};
}

}  // namespace colonnade::fuzz
