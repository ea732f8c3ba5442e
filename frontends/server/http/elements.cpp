// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/http/elements.hpp"

#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "frontends/server/datatype.hpp"
#include "frontends/server/raw_tensor.hpp"

namespace colonnade::serve::http {
namespace {

using simdjson::dom::element_type;

/// Where the next element of one input goes.
struct Place {
  const std::string& name;
  const Shape& shape;
  DType dtype;
  std::size_t count, next = 0;

  [[noreturn]] void fail(const std::string& what) const {
    throw Problem(400, fmt::format("input '{}': data: {}", name, what));
  }
  [[noreturn]] void fail_element(const Json& found) const {
    fail(fmt::format("element {}: expected {} of type {}, found {}", next,
                     dtype == DType::boolean  ? "true or false"
                     : dtype == DType::string ? "a string"
                                              : "a number",
                     datatype_of(dtype), kind_of(found)));
  }
  [[noreturn]] void fail_range() const { fail(fmt::format("element {} does not fit {}", next, datatype_of(dtype))); }
  [[noreturn]] void fail_count(std::string_view found) const {
    fail(fmt::format("expected {} elements for shape {}, found {}", count, shape_text(shape), found));
  }
};

template <class T>
void read_element(const Json& value, const Place& place, T& into) {
  if constexpr (std::is_same_v<T, std::string>) {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) place.fail_element(value);
    into = text;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (value.get(into) != simdjson::SUCCESS) place.fail_element(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    double number = 0;
    if (value.get(number) != simdjson::SUCCESS) place.fail_element(value);
    into = static_cast<T>(number);
    if (std::isinf(into)) place.fail_range();
  } else {
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    Wide number = 0;
    const auto error = value.get(number);
    if (error == simdjson::NUMBER_OUT_OF_RANGE) place.fail_range();
    if (error != simdjson::SUCCESS) place.fail_element(value);
    if (number < std::numeric_limits<T>::min() || number > std::numeric_limits<T>::max()) place.fail_range();
    into = static_cast<T>(number);
  }
}

template <class T>
void read_flat(simdjson::dom::array array, Place& place, std::size_t expected, T* into) {
  const std::size_t end = place.next + expected;
  for (const Json value : array) {
    if (place.next == end) place.fail_count("more");
    read_element(value, place, into[place.next]);
    ++place.next;
  }
  if (place.next != end) place.fail_count(std::to_string(place.next));
}

/// Elements below each index of `axis`.
std::size_t stride(const Shape& shape, std::size_t axis) {
  std::size_t product = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) product *= static_cast<std::size_t>(shape[i]);
  return product;
}

template <class T>
void read_nested(const Json& data, Place& place, std::size_t axis, T* into) {
  simdjson::dom::array array;
  if (data.get(array) != simdjson::SUCCESS)
    place.fail(fmt::format("expected arrays nested as shape {}, found {}", shape_text(place.shape), kind_of(data)));
  const bool is_nested = array.begin() != array.end() && (*array.begin()).type() == element_type::ARRAY;
  const std::size_t rank = place.shape.size();
  if (!is_nested) {
    if (axis != 0 && axis + 1 != rank)
      place.fail(fmt::format("expected arrays nested as shape {}, or one flat array", shape_text(place.shape)));
    const std::size_t expected = axis == 0 ? place.count : static_cast<std::size_t>(place.shape[axis]);
    return read_flat(array, place, expected, into);
  }
  if (axis + 1 >= rank) place.fail(fmt::format("arrays are nested deeper than shape {}", shape_text(place.shape)));
  std::size_t index = 0;
  const auto size = static_cast<std::size_t>(place.shape[axis]);
  for (const Json part : array) {
    if (index++ == size) place.fail_count("more");
    read_nested(part, place, axis + 1, into);
  }
  if (index != size) place.fail_count(std::to_string(index * stride(place.shape, axis)));
}

template <class T>
Tensor read_tensor(const Json& data, Place& place) {
  Tensor tensor(place.dtype, place.shape);
  if constexpr (std::is_same_v<T, std::string>)
    read_nested(data, place, 0, tensor.strings().data());
  else
    read_nested(data, place, 0, tensor.values<T>().data());
  return tensor;
}

}  // namespace

Tensor elements_of(const Json& data, const std::string& name, DType dtype, const Shape& shape, std::size_t most) {
  Place place{name, shape, dtype, checked_count(shape, name)};
  if (place.count > most) place.fail_count("fewer");
  switch (dtype) {
    case DType::f32: return read_tensor<float>(data, place);
    case DType::f64: return read_tensor<double>(data, place);
    case DType::i8: return read_tensor<std::int8_t>(data, place);
    case DType::i16: return read_tensor<std::int16_t>(data, place);
    case DType::i32: return read_tensor<std::int32_t>(data, place);
    case DType::i64: return read_tensor<std::int64_t>(data, place);
    case DType::u8: return read_tensor<std::uint8_t>(data, place);
    case DType::u16: return read_tensor<std::uint16_t>(data, place);
    case DType::u32: return read_tensor<std::uint32_t>(data, place);
    case DType::u64: return read_tensor<std::uint64_t>(data, place);
    case DType::boolean: return read_tensor<bool>(data, place);
    case DType::string: return read_tensor<std::string>(data, place);
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
  Place floats{name, shape, DType::f32, place.count};
  return read_tensor<float>(data, floats).converted(dtype);
}

}  // namespace colonnade::serve::http
