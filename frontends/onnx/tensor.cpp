// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <variant>

#include "base/checked.hpp"
#include "frontends/onnx/onnx.hpp"
#include "frontends/onnx/packing.hpp"
#include "frontends/onnx/proto.hpp"

namespace colonnade::onnx_import {
namespace {

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

enum class Storage { floats, int32s, int64s, doubles, uint64s, strings };

Storage storage_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::c64: return Storage::floats;
    case DType::f64:
    case DType::c128: return Storage::doubles;
    case DType::i64: return Storage::int64s;
    case DType::u32:
    case DType::u64: return Storage::uint64s;
    case DType::string: return Storage::strings;
    case DType::undefined:
    case DType::f16:
    case DType::bf16:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::u8:
    case DType::u16:
    case DType::boolean:
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
    case DType::f6e2m3:
    case DType::f6e3m2: break;
  }
  return Storage::int32s;
}

std::int64_t stored_count(const onnx::TensorProto& proto, Storage storage) {
  switch (storage) {
    case Storage::floats: return proto.float_data_size();
    case Storage::int32s: return proto.int32_data_size();
    case Storage::int64s: return proto.int64_data_size();
    case Storage::doubles: return proto.double_data_size();
    case Storage::uint64s: return proto.uint64_data_size();
    case Storage::strings: return proto.string_data_size();
  }
  return 0;
}

/// Entries of its field that `count` elements take: complex numbers two each, 2- and 4-bit ones a byte for several.
std::int64_t entries_of(DType dtype, std::int64_t count) {
  if (dtype == DType::c64 || dtype == DType::c128) return 2 * count;
  return is_packed(dtype) && bits_of(dtype) < 6 ? packed_bytes(dtype, count) : count;
}

std::int64_t stored_anywhere(const onnx::TensorProto& proto) {
  std::int64_t count = 0;
  for (const auto storage :
       {Storage::floats, Storage::int32s, Storage::int64s, Storage::doubles, Storage::uint64s, Storage::strings}) {
    count += stored_count(proto, storage);
  }
  return count;
}

template <class To, class Field>
void copy_field(const Field& field, const Tensor& tensor, std::span<To> target, std::string_view where) {
  for (int i = 0; i < field.size(); ++i) {
    const auto value = field.Get(i);
    const To narrow = static_cast<To>(value);
    if (static_cast<decltype(value)>(narrow) != value) {
      fail(ErrorCode::invalid_model, "{}: element {} is {}, which {} cannot hold", where, i, value,
           name_of(tensor.dtype()));
    }
    target[static_cast<std::size_t>(i)] = narrow;
  }
}
template <class To, class Field>
void copy_field(const Field& field, Tensor& tensor, std::string_view where) {
  copy_field(field, tensor, tensor.values<To>(), where);
}

std::span<std::byte> bytes_of(Tensor& tensor) { return {static_cast<std::byte*>(tensor.data()), tensor.byte_size()}; }

/// Entries that hold a byte of packed elements each.
void unpack_field(const google::protobuf::RepeatedField<std::int32_t>& field, Tensor& tensor, std::string_view where) {
  std::vector<std::uint8_t> packed(static_cast<std::size_t>(field.size()));
  copy_field(field, tensor, std::span(packed), where);
  unpack(tensor.dtype(), std::as_bytes(std::span(packed)), 0, bytes_of(tensor));
}

void copy_int32s(const onnx::TensorProto& proto, Tensor& tensor, std::string_view where) {
  const auto& field = proto.int32_data();
  const DType dtype = tensor.dtype();
  if (dtype == DType::i32) return copy_field<std::int32_t>(field, tensor, where);
  if (dtype == DType::i16) return copy_field<std::int16_t>(field, tensor, where);
  if (dtype == DType::i8) return copy_field<std::int8_t>(field, tensor, where);
  if (dtype == DType::boolean) {
    for (int i = 0; i < field.size(); ++i)
      tensor.values<std::uint8_t>()[static_cast<std::size_t>(i)] = field.Get(i) != 0;
    return;
  }
  if (bits_of(dtype) < 6) return unpack_field(field, tensor, where);
  if (size_of(dtype) == 1) return copy_field<std::uint8_t>(field, tensor, where);
  copy_field<std::uint16_t>(field, tensor, where);
}

void copy_typed(const onnx::TensorProto& proto, Tensor& tensor, std::string_view where) {
  const auto copy = [&](const auto& field) {
    if (!field.empty()) std::memcpy(tensor.data(), field.data(), tensor.byte_size());
  };
  switch (storage_of(tensor.dtype())) {
    case Storage::floats: return copy(proto.float_data());
    case Storage::doubles: return copy(proto.double_data());
    case Storage::int64s: return copy(proto.int64_data());
    case Storage::strings: {
      tensor.strings().assign(proto.string_data().begin(), proto.string_data().end());
      return;
    }
    case Storage::uint64s: {
      if (tensor.dtype() == DType::u64) return copy(proto.uint64_data());
      return copy_field<std::uint32_t>(proto.uint64_data(), tensor, where);
    }
    case Storage::int32s: return copy_int32s(proto, tensor, where);
  }
}

/// Bytes that are no element must not reach a kernel: a boolean is 0 or 1, float6 has two bits to spare.
void normalise(DType dtype, std::span<std::byte> bytes) {
  if (dtype == DType::boolean) {
    for (std::byte& value : bytes) value = std::byte{value != std::byte{0}};
  } else if (is_packed(dtype)) {
    for (std::byte& value : bytes) value = std::byte{element_of_bits(dtype, static_cast<unsigned>(value))};
  }
}

[[noreturn]] void fail_unused_field(DType dtype, std::string_view where) {
  fail(ErrorCode::invalid_model, "{}: data lies in a field that {} does not use", where, name_of(dtype));
}

[[noreturn]] void fail_count(std::int64_t expected, std::int64_t found, std::string_view where) {
  fail(ErrorCode::invalid_model, "{}: expected {} elements for its shape, found {}", where, expected, found);
}

void check_raw(DType dtype, const Shape& shape, std::int64_t count, std::int64_t found, std::string_view where) {
  if (dtype == DType::string) fail(ErrorCode::invalid_model, "{}: strings cannot be raw data", where);
  const std::int64_t bytes = packed_bytes(dtype, count);
  if (found != bytes) {
    fail(ErrorCode::invalid_model, "{}: expected {} bytes of raw data for {}[{}], found {}", where, bytes,
         name_of(dtype), fmt::join(shape, ","), found);
  }
}

/// The number of the range that holds the data, when it was cut out of the message.
std::optional<std::uint64_t> range_number(const onnx::TensorProto& proto, std::string_view where) {
  std::optional<std::uint64_t> number;
  const auto& fields = proto.unknown_fields();
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    if (field.number() != kRangeField) continue;
    if (number || field.type() != google::protobuf::UnknownField::TYPE_VARINT) {
      fail(ErrorCode::invalid_model, "{}: has its data twice", where);
    }
    number = field.varint();
  }
  return number;
}

/// Elements that lie in bytes outside the message.
struct Stored {
  DType dtype;
  Shape shape;
  OpenBytes source;
  std::int64_t offset;
};

Stored external(const onnx::TensorProto& proto, DType dtype, Shape shape, std::string_view where, ExternalData& data) {
  if (dtype == DType::string) fail(ErrorCode::invalid_model, "{}: strings cannot be external data", where);
  if (!proto.raw_data().empty() || stored_anywhere(proto) > 0 || range_number(proto, where)) {
    fail(ErrorCode::invalid_model, "{}: has both external and inline data", where);
  }
  const std::int64_t bytes = packed_bytes(dtype, count_of(shape, size_of(dtype), where));
  const ExternalLocation location = parse_location(proto, where);
  if (location.length && *location.length != bytes) {
    fail(ErrorCode::invalid_model, "{}: external data: expected {} bytes for {}[{}], found length {}", where, bytes,
         name_of(dtype), fmt::join(shape, ","), *location.length);
  }
  OpenBytes source = data.open(location, where);
  const std::int64_t size = source.bytes->size();
  if (location.offset > size || bytes > size - location.offset) {
    fail(ErrorCode::invalid_model, "{}: external data: {} bytes at offset {} lie beyond the file's {} bytes", where,
         bytes, location.offset, size);
  }
  return {dtype, std::move(shape), std::move(source), location.offset};
}

Stored inline_range(const onnx::TensorProto& proto, const DataRange& range, DType dtype, Shape shape,
                    std::string_view where, const ExternalData& data) {
  if (!proto.raw_data().empty() || stored_anywhere(proto) > 0) {
    fail(ErrorCode::invalid_model, "{}: has both raw and typed data", where);
  }
  const std::int64_t count = count_of(shape, size_of(dtype), where);
  if (range.is_float_data) {
    constexpr std::int64_t kFloatBytes = sizeof(float);
    if (storage_of(dtype) != Storage::floats) fail_unused_field(dtype, where);
    const std::int64_t entries = entries_of(dtype, count);
    if (range.bytes != entries * kFloatBytes) fail_count(entries, range.bytes / kFloatBytes, where);
  } else {
    check_raw(dtype, shape, count, range.bytes, where);
  }
  return {dtype, std::move(shape), data.model(), range.offset};
}

/// Eight elements begin at a byte of their own, whatever they take.
void read_packed(const Stored& stored, std::int64_t first, std::span<std::byte> target) {
  const std::int64_t aligned = first / 8 * 8;
  const std::int64_t begin = packed_bytes(stored.dtype, aligned);
  const std::int64_t end = packed_bytes(stored.dtype, first + static_cast<std::int64_t>(target.size()));
  std::vector<std::byte> packed(static_cast<std::size_t>(end - begin));
  stored.source.bytes->read(stored.offset + begin, packed);
  unpack(stored.dtype, packed, first - aligned, target);
}

/// Fills `target` with the elements from `first` on.
void read_elements(const Stored& stored, std::int64_t first, std::span<std::byte> target, const std::string& where) {
  try {
    if (is_packed(stored.dtype)) {
      read_packed(stored, first, target);
    } else {
      stored.source.bytes->read(stored.offset + packed_bytes(stored.dtype, first), target);
      normalise(stored.dtype, target);
    }
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", where, error.what());
  }
}

Tensor read_tensor(const Stored& stored, const std::string& where) {
  Tensor tensor(stored.dtype, stored.shape);
  read_elements(stored, 0, bytes_of(tensor), where);
  return tensor;
}

void check_typed_count(const onnx::TensorProto& proto, DType dtype, std::int64_t count, std::string_view where) {
  const std::int64_t stored = stored_count(proto, storage_of(dtype));
  if (stored_anywhere(proto) != stored) fail_unused_field(dtype, where);
  const std::int64_t expected = entries_of(dtype, count);
  if (stored != expected) fail_count(expected, stored, where);
}

/// Elements in the message itself.
Tensor inline_tensor(const onnx::TensorProto& proto, DType dtype, Shape shape, std::string_view where) {
  const std::int64_t count = count_of(shape, size_of(dtype), where);
  const std::string& raw = proto.raw_data();
  const bool is_raw = !raw.empty();
  if (is_raw && stored_anywhere(proto) > 0) fail(ErrorCode::invalid_model, "{}: has both raw and typed data", where);
  if (is_raw) {
    check_raw(dtype, shape, count, static_cast<std::int64_t>(raw.size()), where);
  } else {
    check_typed_count(proto, dtype, count, where);
  }
  Tensor tensor(dtype, std::move(shape));
  if (is_raw && is_packed(dtype)) {
    unpack(dtype, std::as_bytes(std::span(raw)), 0, bytes_of(tensor));
  } else if (is_raw) {
    std::memcpy(tensor.data(), raw.data(), raw.size());
  } else {
    copy_typed(proto, tensor, where);
  }
  normalise(dtype, bytes_of(tensor));
  return tensor;
}

std::variant<Tensor, Stored> find_data(const onnx::TensorProto& proto, std::string_view where, ExternalData& data) {
  const DType dtype = dtype_of(proto.data_type(), where);
  if (proto.has_segment()) fail(ErrorCode::unsupported, "{}: segmented tensors are not supported", where);
  Shape shape = shape_from({proto.dims().data(), static_cast<std::size_t>(proto.dims_size())}, where);
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
    return external(proto, dtype, std::move(shape), where, data);
  }
  if (proto.external_data_size() > 0) {
    fail(ErrorCode::invalid_model, "{}: has external data but is not marked external", where);
  }
  if (const auto number = range_number(proto, where)) {
    return inline_range(proto, data.range(*number, where), dtype, std::move(shape), where, data);
  }
  return inline_tensor(proto, dtype, std::move(shape), where);
}

/// Element types by their number in TensorProto.
constexpr DType kDataTypes[] = {DType::undefined,  DType::f32,  DType::u8,       DType::i8,         DType::u16,
                                DType::i16,        DType::i32,  DType::i64,      DType::string,     DType::boolean,
                                DType::f16,        DType::f64,  DType::u32,      DType::u64,        DType::c64,
                                DType::c128,       DType::bf16, DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2,
                                DType::f8e5m2fnuz, DType::u4,   DType::i4,       DType::f4e2m1,     DType::f8e8m0,
                                DType::u2,         DType::i2,   DType::f6e2m3,   DType::f6e3m2};

}  // namespace

Shape shape_from(std::span<const std::int64_t> dims, std::string_view where) {
  Shape shape(dims.begin(), dims.end());
  for (const std::int64_t dim : shape) {
    if (dim < 0) fail(ErrorCode::invalid_model, "{}: dimension {} is negative", where, dim);
  }
  return shape;
}

std::int64_t count_of(const Shape& shape, std::size_t element_bytes, std::string_view where) {
  std::int64_t count = 1;
  const bool is_empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  for (const std::int64_t dim : shape) {
    const auto product = try_mul(count, is_empty ? std::min<std::int64_t>(dim, 1) : dim);
    if (!product) fail(ErrorCode::invalid_model, "{}: shape [{}] overflows", where, fmt::join(shape, ","));
    count = *product;
  }
  if (!try_mul(count, static_cast<std::int64_t>(std::max<std::size_t>(element_bytes, 1)))) {
    fail(ErrorCode::invalid_model, "{}: shape [{}] overflows", where, fmt::join(shape, ","));
  }
  return count;
}

DType dtype_of(std::int64_t data_type, std::string_view where) {
  if (data_type < 1 || data_type >= static_cast<std::int64_t>(std::size(kDataTypes))) {
    fail(ErrorCode::invalid_model, "{}: element type {} does not exist", where, data_type);
  }
  return kDataTypes[data_type];
}

int data_type_of(DType dtype) {
  return static_cast<int>(std::find(std::begin(kDataTypes), std::end(kDataTypes), dtype) - std::begin(kDataTypes));
}

std::optional<std::int64_t> data_type_named(const std::string& name) {
  onnx::TensorProto::DataType type{};
  return onnx::TensorProto::DataType_Parse(name, &type) ? std::optional<std::int64_t>(type) : std::nullopt;
}

Tensor tensor_from(const onnx::TensorProto& proto, const std::string& where, ExternalData& data) {
  auto found = find_data(proto, where, data);
  if (auto* tensor = std::get_if<Tensor>(&found)) return std::move(*tensor);
  return read_tensor(std::get<Stored>(found), where);
}

std::shared_ptr<const Constant> constant_from(const onnx::TensorProto& proto, const std::string& where,
                                              ExternalData& data) {
  auto found = find_data(proto, where, data);
  if (auto* tensor = std::get_if<Tensor>(&found)) return std::make_shared<const Constant>(std::move(*tensor));
  Stored& stored = std::get<Stored>(found);
  if (!stored.source.lasts) return std::make_shared<const Constant>(read_tensor(stored, where));
  const DType dtype = stored.dtype;
  Shape shape = stored.shape;
  const auto make = [stored = std::move(stored), where](std::int64_t first, std::span<std::byte> target) {
    read_elements(stored, first, target, where);
  };
  return std::make_shared<const Constant>(dtype, std::move(shape), make);
}

}  // namespace colonnade::onnx_import
