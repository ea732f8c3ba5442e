// SPDX-License-Identifier: Apache-2.0
#include "numbers.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <type_traits>

namespace colonnade::cli {
namespace {

/// Calls `f` with a null pointer of the C++ type that stores the dtype; half types are stored as uint16_t.
template <class F>
void visit_storage(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32: return f(static_cast<float*>(nullptr));
    case DType::f64: return f(static_cast<double*>(nullptr));
    case DType::f16:
    case DType::bf16:
    case DType::u16: return f(static_cast<std::uint16_t*>(nullptr));
    case DType::i8: return f(static_cast<std::int8_t*>(nullptr));
    case DType::i16: return f(static_cast<std::int16_t*>(nullptr));
    case DType::i32: return f(static_cast<std::int32_t*>(nullptr));
    case DType::i64: return f(static_cast<std::int64_t*>(nullptr));
    case DType::u8: return f(static_cast<std::uint8_t*>(nullptr));
    case DType::u32: return f(static_cast<std::uint32_t*>(nullptr));
    case DType::u64: return f(static_cast<std::uint64_t*>(nullptr));
    case DType::boolean: return f(static_cast<bool*>(nullptr));
    default: return;
  }
}

/// SplitMix64: one multiply-xor chain a number, the same on every platform.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// In (0, 1].
  double unit() noexcept { return static_cast<double>((next() >> 11) + 1) * 0x1p-53; }
  double normal() noexcept {
    const double radius = std::sqrt(-2 * std::log(unit()));
    return radius * std::cos(2 * std::numbers::pi * unit());
  }

 private:
  std::uint64_t state_;
};

double random_value(DType dtype, bool image, Random& random) {
  if (is_float(dtype) && image) return static_cast<double>(random.next() >> 11) * 0x1p-53;
  if (is_float(dtype)) return random.normal();
  const std::uint64_t mask = size_of(dtype) == 1 && dtype != DType::boolean ? 127 : 1;
  return static_cast<double>((random.next() >> 32) & mask);
}

template <class T>
T saturated(double value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    if (std::isnan(value)) return 0;
    const double rounded = std::nearbyint(value);
    if (rounded <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (rounded >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(rounded);
  }
}

}  // namespace

float from_half(std::uint16_t bits) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign != 0 ? -magnitude : magnitude;
}

std::uint16_t to_half(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {
    const float shifted = std::bit_cast<float>(magnitude) * 0x1p24f;
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(std::nearbyint(shifted)));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

float from_bfloat16(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t to_bfloat16(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

bool is_float(DType dtype) noexcept {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
}

bool is_integer(DType dtype) noexcept { return size_of(dtype) != 0 && !is_float(dtype) && dtype != DType::boolean; }

std::vector<double> to_doubles(const Tensor& tensor) {
  std::vector<double> values;
  visit_storage(tensor.dtype(), [&]<class T>(T*) {
    values.reserve(static_cast<std::size_t>(tensor.size()));
    for (const T value : tensor.values<T>()) {
      if constexpr (std::is_same_v<T, std::uint16_t>) {
        values.push_back(tensor.dtype() == DType::f16    ? static_cast<double>(from_half(value))
                         : tensor.dtype() == DType::bf16 ? static_cast<double>(from_bfloat16(value))
                                                         : static_cast<double>(value));
      } else {
        values.push_back(static_cast<double>(value));
      }
    }
  });
  return values;
}

Tensor from_doubles(DType dtype, const Shape& shape, const std::vector<double>& values) {
  Tensor tensor(dtype, shape);
  visit_storage(dtype, [&]<class T>(T*) {
    const auto out = tensor.values<T>();
    for (std::size_t i = 0; i < out.size(); ++i) {
      if constexpr (std::is_same_v<T, std::uint16_t>) {
        out[i] = dtype == DType::f16    ? to_half(static_cast<float>(values[i]))
                 : dtype == DType::bf16 ? to_bfloat16(static_cast<float>(values[i]))
                                        : saturated<T>(values[i]);
      } else {
        out[i] = saturated<T>(values[i]);
      }
    }
  });
  return tensor;
}

Tensor converted(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  if (size_of(tensor.dtype()) == 0 || size_of(dtype) == 0)
    throw Error(ErrorCode::invalid_input,
                fmt::format("cannot convert {} to {}", name_of(tensor.dtype()), name_of(dtype)));
  return from_doubles(dtype, tensor.shape(), to_doubles(tensor));
}

Tensor random_tensor(DType dtype, const Shape& shape, std::uint64_t seed) {
  Random random(seed);
  if (dtype == DType::string) {
    Tensor tensor(dtype, shape);
    for (std::string& text : tensor.strings()) text = std::to_string(random.next() % 10);
    return tensor;
  }
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (double& value : values) value = random_value(dtype, shape.size() == 4, random);
  return from_doubles(dtype, shape, values);
}

}  // namespace colonnade::cli
