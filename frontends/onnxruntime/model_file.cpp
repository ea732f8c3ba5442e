// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/model_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace colonnade::ort {
namespace {

constexpr std::uint64_t kIrVersion = 1, kModelVersion = 5, kGraphInput = 11;

constexpr std::int64_t kOldestOverridable = 4;  ///< versions of the format before list all initializers as inputs

[[noreturn]] void malformed(const std::string& what) {
  throw Failure(ORT_INVALID_PROTOBUF, "the model is no protobuf message: " + what);
}

std::uint64_t varint(ByteSpan& rest) {
  constexpr int kMostBits = 70, kBits = 7;
  constexpr std::uint64_t kMore = 0x80;
  std::uint64_t value = 0;
  for (int shift = 0; shift < kMostBits && !rest.empty(); shift += kBits) {
    const auto byte = static_cast<std::uint64_t>(rest.front());
    rest = rest.subspan(1);
    value |= (byte & (kMore - 1)) << std::min(shift, 63);
    if (byte < kMore) return value;
  }
  malformed("a number does not end");
}

/// Takes `count` bytes of the rest.
ByteSpan take(ByteSpan& rest, std::uint64_t count, std::uint64_t number) {
  if (count > rest.size()) malformed("field " + std::to_string(number) + " goes beyond the end");
  const ByteSpan taken = rest.first(static_cast<std::size_t>(count));
  rest = rest.subspan(taken.size());
  return taken;
}

Field next_field(ByteSpan& rest) {
  enum Kind : std::uint64_t { varints = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
  const ByteSpan begin = rest;
  const std::uint64_t key = varint(rest);
  Field field;
  field.number = key >> 3;
  const std::uint64_t kind = key & 7;
  if (field.number == 0) malformed("a field has no number");
  if (kind == varints) {
    field.value = varint(rest);
  } else if (kind == fixed64) {
    take(rest, 8, field.number);
  } else if (kind == fixed32) {
    take(rest, 4, field.number);
  } else if (kind == bytes) {
    field.is_bytes = true;
    field.content = take(rest, varint(rest), field.number);
  } else {
    malformed("field " + std::to_string(field.number) + " is of no known kind");
  }
  field.whole = begin.first(begin.size() - rest.size());
  return field;
}

void read_dimension(ByteSpan message, ModelInput& input) {
  constexpr std::uint64_t kSize = 1, kSymbol = 2, kDenotation = 3;
  std::int64_t size = -1;
  std::string symbol, denotation;
  each_field(message, [&](const Field& field) {
    if (field.number == kSize && !field.is_bytes) size = static_cast<std::int64_t>(field.value);
    if (field.number == kSymbol && field.is_bytes) symbol = field.text();
    if (field.number == kDenotation && field.is_bytes) denotation = field.text();
  });
  input.type.shape.push_back(size);
  input.type.symbols.push_back(std::move(symbol));
  input.denotations.push_back(std::move(denotation));
}

void read_tensor_type(ByteSpan message, ModelInput& input) {
  constexpr std::uint64_t kElementType = 1, kShape = 2, kDimension = 1;
  input.type.has_shape = false;
  each_field(message, [&](const Field& field) {
    if (field.number == kElementType && !field.is_bytes)
      input.type.type = static_cast<ONNXTensorElementDataType>(field.value);
    if (field.number != kShape || !field.is_bytes) return;
    input.type.has_shape = true;
    each_field(field.content, [&](const Field& dimension) {
      if (dimension.number == kDimension && dimension.is_bytes) read_dimension(dimension.content, input);
    });
  });
}

ModelInput read_input(ByteSpan message) {
  constexpr std::uint64_t kInputName = 1, kType = 2, kTensor = 1;
  ModelInput input;
  each_field(message, [&](const Field& field) {
    if (field.number == kInputName && field.is_bytes) input.name = field.text();
    if (field.number != kType || !field.is_bytes) return;
    each_field(field.content, [&](const Field& type) {
      if (type.number == kTensor && type.is_bytes) read_tensor_type(type.content, input);
    });
  });
  return input;
}

void read_graph(ByteSpan message, ModelFile& model) {
  model.has_graph = true;
  each_field(message, [&](const Field& field) {
    if (!field.is_bytes) return;
    if (field.number == kGraphInput) model.inputs.push_back(read_input(field.content));
    if (field.number != fields::kInitializer) return;
    each_field(field.content, [&](const Field& part) {
      if (part.number == fields::kName && part.is_bytes) model.initializers.insert(part.text());
    });
  });
}

}  // namespace

void each_field(ByteSpan message, const std::function<void(const Field&)>& use) {
  while (!message.empty()) use(next_field(message));
}

std::vector<ModelInput> ModelFile::overridable() const {
  std::vector<ModelInput> result;
  if (ir_version < kOldestOverridable) return result;
  std::copy_if(inputs.begin(), inputs.end(), std::back_inserter(result),
               [&](const ModelInput& input) { return initializers.contains(input.name); });
  return result;
}

ModelFile read_model(ByteSpan bytes) {
  ModelFile model;
  each_field(bytes, [&](const Field& field) {
    if (field.number == kIrVersion && !field.is_bytes) model.ir_version = static_cast<std::int64_t>(field.value);
    if (field.number == kModelVersion && !field.is_bytes) model.version = static_cast<std::int64_t>(field.value);
    if (field.number == fields::kGraph && field.is_bytes) read_graph(field.content, model);
  });
  if (!model.has_graph) throw Failure(ORT_INVALID_ARGUMENT, "the model has no graph");
  return model;
}

MappedFile::MappedFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw Failure(ORT_NO_SUCHFILE, "model '" + path + "' cannot be opened, there is no such file");
  struct stat about = {};
  const bool is_file = fstat(file, &about) == 0 && S_ISREG(about.st_mode);
  void* const memory = is_file && about.st_size > 0
                           ? mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ, MAP_PRIVATE, file, 0)
                           : MAP_FAILED;
  close(file);
  if (!is_file) throw Failure(ORT_INVALID_PROTOBUF, "model '" + path + "' is no file");
  if (about.st_size == 0) return;
  if (memory == MAP_FAILED) throw Failure(ORT_FAIL, "model '" + path + "' cannot be read");
  bytes_ = {static_cast<const std::byte*>(memory), static_cast<std::size_t>(about.st_size)};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace colonnade::ort
