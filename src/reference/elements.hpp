// SPDX-License-Identifier: Apache-2.0
// Elements of any type as one of three types to compute in, and as bare storage to move.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.hpp"

namespace colonnade::reference {

/// Elements that are loaded and stored at a time.
inline constexpr std::int64_t kBlock = 1024;

template <class T>
struct Tag {
  using type = T;
};

bool is_real(DType dtype);      ///< f64, f32, f16, bf16 and what is_minifloat says
bool is_signed(DType dtype);    ///< i2 .. i64
bool is_unsigned(DType dtype);  ///< u2 .. u64 and boolean

/// The most negative and the largest value of the type as C: infinities for the real types.
template <class C>
C lowest_of(DType dtype);
template <class C>
C highest_of(DType dtype);

/// Reads `count` elements from `offset` on as C: double, int64 or uint64. A real number as an integer is truncated and
/// saturated, NaN is 0.
template <class C>
void load(const Tensor& tensor, std::int64_t offset, std::int64_t count, C* values);

/// Writes `count` elements from `offset` on, each rounded once to nearest even; integers wrap, except that a real
/// number saturates in types of a byte or more; minifloats saturate; a boolean is "not zero".
template <class C>
void store(const C* values, std::int64_t count, Tensor& tensor, std::int64_t offset);

template <class C>
std::vector<C> load_all(const Tensor& tensor) {
  std::vector<C> values(static_cast<std::size_t>(tensor.size()));
  load(tensor, 0, tensor.size(), values.data());
  return values;
}

template <class C>
Tensor tensor_of(DType dtype, Shape shape, const std::vector<C>& values) {
  Tensor tensor(dtype, std::move(shape));
  store(values.data(), static_cast<std::int64_t>(values.size()), tensor, 0);
  return tensor;
}

/// Calls f(Tag<C>) with the type that arithmetic on `dtype` is done in: double, std::int64_t or std::uint64_t.
/// Has a Call throw Error{unsupported} for strings and complex numbers.
template <class Call, class F>
decltype(auto) visit_compute(DType dtype, const Call& call, F&& f) {
  if (is_real(dtype)) return f(Tag<double>{});
  if (is_signed(dtype)) return f(Tag<std::int64_t>{});
  if (is_unsigned(dtype)) return f(Tag<std::uint64_t>{});
  call.unsupported("no arithmetic on {}", name_of(dtype));
}

/// Calls f(Tag<T>) with a type as wide as the elements (std::string for strings): for operators that only move them.
template <class F>
decltype(auto) visit_storage(DType dtype, F&& f) {
  if (dtype == DType::string) return f(Tag<std::string>{});
  switch (size_of(dtype)) {
    case 1: return f(Tag<std::uint8_t>{});
    case 2: return f(Tag<std::uint16_t>{});
    case 4: return f(Tag<std::uint32_t>{});
    case 8: return f(Tag<std::uint64_t>{});
    default: return f(Tag<std::array<std::uint64_t, 2>>{});
  }
}

template <class T>
T* elements(Tensor& tensor) {
  if constexpr (std::is_same_v<T, std::string>) {
    return tensor.strings().data();
  } else {
    return static_cast<T*>(tensor.data());
  }
}
template <class T>
const T* elements(const Tensor& tensor) {
  if constexpr (std::is_same_v<T, std::string>) {
    return tensor.strings().data();
  } else {
    return static_cast<const T*>(tensor.data());
  }
}

/// A number as text and back: "0.5", "1e-05", "NaN", "INF", "-INF". parse_number returns false where it is none.
std::string number_text(double value, DType dtype);
bool parse_number(const std::string& text, double& value);
bool parse_number(const std::string& text, std::int64_t& value);
bool parse_number(const std::string& text, std::uint64_t& value);

}  // namespace colonnade::reference
