// SPDX-License-Identifier: Apache-2.0
#include "numbers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <string>

namespace colonnade::cli {
namespace {

/// The bits of an integer type that is narrower than a byte; 0 for others.
int narrow_bits(DType dtype) {
  if (dtype == DType::i4 || dtype == DType::u4) return 4;
  return dtype == DType::i2 || dtype == DType::u2 ? 2 : 0;
}

bool is_complex(DType dtype) { return dtype == DType::c64 || dtype == DType::c128; }

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
  const bool is_byte = size_of(dtype) == 1 && dtype != DType::boolean;
  const std::uint64_t mask = narrow_bits(dtype) > 0 ? (1u << (narrow_bits(dtype) - 1)) - 1 : is_byte ? 127 : 1;
  return static_cast<double>((random.next() >> 32) & mask);
}

/// The integer next to a number, in the range of a type that would else wrap.
double as_integer(DType dtype, double value) {
  const int bits = narrow_bits(dtype);
  if (bits == 0 || std::isnan(value)) return std::nearbyint(value);
  const bool is_signed = dtype == DType::i4 || dtype == DType::i2;
  const double low = is_signed ? -std::ldexp(1, bits - 1) : 0;
  return std::clamp(std::nearbyint(value), low, low + std::ldexp(1, bits) - 1);
}

template <class Part>
std::vector<double> magnitudes(const Tensor& tensor) {
  const auto* parts = static_cast<const Part*>(tensor.data());
  std::vector<double> values(static_cast<std::size_t>(tensor.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::hypot(static_cast<double>(parts[2 * i]), static_cast<double>(parts[2 * i + 1]));
  return values;
}

}  // namespace

bool is_float(DType dtype) noexcept {
  constexpr DType kFloats[] = {DType::f32,      DType::f64,        DType::f16,    DType::bf16,
                               DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz,
                               DType::f8e8m0,   DType::f6e2m3,     DType::f6e3m2, DType::f4e2m1};
  return std::find(std::begin(kFloats), std::end(kFloats), dtype) != std::end(kFloats);
}

bool is_integer(DType dtype) noexcept {
  return size_of(dtype) != 0 && !is_float(dtype) && !is_complex(dtype) && dtype != DType::boolean;
}

std::vector<double> to_doubles(const Tensor& tensor) {
  if (size_of(tensor.dtype()) == 0) return {};
  if (tensor.dtype() == DType::c64) return magnitudes<float>(tensor);
  if (tensor.dtype() == DType::c128) return magnitudes<double>(tensor);
  const Tensor numbers = tensor.converted(DType::f64);
  return {numbers.values<double>().begin(), numbers.values<double>().end()};
}

Tensor from_doubles(DType dtype, const Shape& shape, const std::vector<double>& values) {
  if (is_complex(dtype)) {
    const DType part = dtype == DType::c64 ? DType::f32 : DType::f64;
    const Tensor real = from_doubles(part, shape, values);
    Tensor tensor(dtype, shape);
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::memcpy(static_cast<char*>(tensor.data()) + i * size_of(dtype),
                  static_cast<const char*>(real.data()) + i * size_of(part), size_of(part));
    }
    return tensor;
  }
  Tensor numbers(DType::f64, shape);
  for (std::size_t i = 0; i < values.size(); ++i)
    numbers.values<double>()[i] = is_integer(dtype) ? as_integer(dtype, values[i]) : values[i];
  return numbers.converted(dtype);
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
  constexpr std::size_t kBlock = 4096;
  Tensor tensor(dtype, shape);
  std::vector<double> values;
  const auto count = static_cast<std::size_t>(element_count(shape));
  for (std::size_t first = 0; first < count; first += values.size()) {
    values.resize(std::min(kBlock, count - first));
    for (double& value : values) value = random_value(dtype, shape.size() == 4, random);
    const Tensor block = from_doubles(dtype, {static_cast<std::int64_t>(values.size())}, values);
    std::memcpy(static_cast<char*>(tensor.data()) + first * size_of(dtype), block.data(), block.byte_size());
  }
  return tensor;
}

}  // namespace colonnade::cli
