// SPDX-License-Identifier: Apache-2.0
#include "reference/elements.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/half.hpp"
#include "base/interruption.hpp"
#include "base/narrow.hpp"

namespace colonnade::reference {
namespace {

// Rounding to odd keeps what the next, narrower rounding has to know, so that two roundings are one.
float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value) || (std::bit_cast<std::uint32_t>(nearest) & 1u) != 0) {
    return nearest;
  }
  const float limit = std::numeric_limits<float>::infinity();
  return std::nextafter(nearest, value > static_cast<double>(nearest) ? limit : -limit);
}

template <class Integer>
Integer saturate(double value) {
  if (std::isnan(value)) return 0;
  constexpr double low = static_cast<double>(std::numeric_limits<Integer>::min());
  constexpr double high = static_cast<double>(std::numeric_limits<Integer>::max());
  if (value <= low) return std::numeric_limits<Integer>::min();
  if (value >= high) return std::numeric_limits<Integer>::max();
  return static_cast<Integer>(value);
}

// Elements that no C++ type holds: number() is what one stands for, of() makes one.
struct HalfBits {
  std::uint16_t bits;
  float number() const { return f16_to_float(bits); }
  static HalfBits of(double value) { return {float_to_f16(round_to_odd(value))}; }
};
struct BfloatBits {
  std::uint16_t bits;
  float number() const { return bf16_to_float(bits); }
  static BfloatBits of(double value) { return {float_to_bf16(round_to_odd(value))}; }
};
template <DType dtype>
struct MinifloatBits {
  std::uint8_t bits;
  double number() const { return minifloat_value(dtype, bits); }
  static MinifloatBits of(double value) { return {minifloat_of(dtype, value)}; }
};
/// An integer of fewer bits than its byte.
template <class Byte, DType dtype>
struct NarrowInteger {
  Byte byte;
  Byte number() const { return byte; }
  static NarrowInteger of(std::int64_t value) {
    return {static_cast<Byte>(element_of_bits(dtype, static_cast<unsigned>(value)))};
  }
  static constexpr Byte kHighest =
      std::is_signed_v<Byte> ? (dtype == DType::i4 ? 7 : 1) : (dtype == DType::u4 ? 15 : 3);
  static constexpr Byte kLowest = std::is_signed_v<Byte> ? -kHighest - 1 : 0;
};
struct Boolean {
  std::uint8_t byte;
  bool number() const { return byte != 0; }
};

template <class C, class Number>
C decode(Number value) {
  if constexpr (requires { value.number(); }) {
    return decode<C>(value.number());
  } else if constexpr (std::is_floating_point_v<Number> && std::is_integral_v<C>) {
    return saturate<C>(static_cast<double>(value));
  } else {
    return static_cast<C>(value);
  }
}

template <class Number, class C>
Number encode(C value) {
  if constexpr (std::is_same_v<Number, Boolean>) {
    return {static_cast<std::uint8_t>(value != C{0})};
  } else if constexpr (requires { Number::kHighest; }) {
    return Number::of(encode<std::int64_t>(value));
  } else if constexpr (requires { Number::of(0.0); }) {
    return Number::of(static_cast<double>(value));
  } else if constexpr (std::is_integral_v<Number> && std::is_floating_point_v<C>) {
    return saturate<Number>(value);
  } else {
    return static_cast<Number>(value);
  }
}

template <class F>
void visit_number(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32: return f(Tag<float>{});
    case DType::f64: return f(Tag<double>{});
    case DType::f16: return f(Tag<HalfBits>{});
    case DType::bf16: return f(Tag<BfloatBits>{});
    case DType::i8: return f(Tag<std::int8_t>{});
    case DType::i16: return f(Tag<std::int16_t>{});
    case DType::i32: return f(Tag<std::int32_t>{});
    case DType::i64: return f(Tag<std::int64_t>{});
    case DType::u8: return f(Tag<std::uint8_t>{});
    case DType::u16: return f(Tag<std::uint16_t>{});
    case DType::u32: return f(Tag<std::uint32_t>{});
    case DType::u64: return f(Tag<std::uint64_t>{});
    case DType::boolean: return f(Tag<Boolean>{});
    case DType::f8e4m3fn: return f(Tag<MinifloatBits<DType::f8e4m3fn>>{});
    case DType::f8e4m3fnuz: return f(Tag<MinifloatBits<DType::f8e4m3fnuz>>{});
    case DType::f8e5m2: return f(Tag<MinifloatBits<DType::f8e5m2>>{});
    case DType::f8e5m2fnuz: return f(Tag<MinifloatBits<DType::f8e5m2fnuz>>{});
    case DType::f8e8m0: return f(Tag<MinifloatBits<DType::f8e8m0>>{});
    case DType::f6e2m3: return f(Tag<MinifloatBits<DType::f6e2m3>>{});
    case DType::f6e3m2: return f(Tag<MinifloatBits<DType::f6e3m2>>{});
    case DType::f4e2m1: return f(Tag<MinifloatBits<DType::f4e2m1>>{});
    case DType::i4: return f(Tag<NarrowInteger<std::int8_t, DType::i4>>{});
    case DType::u4: return f(Tag<NarrowInteger<std::uint8_t, DType::u4>>{});
    case DType::i2: return f(Tag<NarrowInteger<std::int8_t, DType::i2>>{});
    case DType::u2: return f(Tag<NarrowInteger<std::uint8_t, DType::u2>>{});
    case DType::undefined:
    case DType::string:
    case DType::c64:
    case DType::c128: break;
  }
  fail(ErrorCode::unsupported, "no arithmetic on {} elements", name_of(dtype));
}

template <class C, class Integer>
C limit_of(bool highest) {
  using Limits = std::numeric_limits<Integer>;
  return highest ? static_cast<C>(Limits::max()) : static_cast<C>(Limits::min());
}

template <class C>
C limit_of(DType dtype, bool highest) {
  C limit{};
  visit_number(dtype, [&]<class T>(Tag<T>) {
    if constexpr (std::is_integral_v<T>) {
      limit = limit_of<C, T>(highest);
    } else if constexpr (requires { T::kHighest; }) {
      limit = static_cast<C>(highest ? T::kHighest : T::kLowest);
    } else if constexpr (std::is_same_v<T, Boolean>) {
      limit = static_cast<C>(highest ? 1 : 0);
    } else if constexpr (std::is_floating_point_v<C>) {
      limit = highest ? std::numeric_limits<C>::infinity() : -std::numeric_limits<C>::infinity();
    }
  });
  return limit;
}

}  // namespace

bool is_real(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16 ||
         is_minifloat(dtype);
}
bool is_signed(DType dtype) {
  return dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32 || dtype == DType::i64 ||
         dtype == DType::i4 || dtype == DType::i2;
}
bool is_unsigned(DType dtype) {
  return dtype == DType::u8 || dtype == DType::u16 || dtype == DType::u32 || dtype == DType::u64 ||
         dtype == DType::u4 || dtype == DType::u2 || dtype == DType::boolean;
}

template <class C>
C lowest_of(DType dtype) {
  return limit_of<C>(dtype, false);
}
template <class C>
C highest_of(DType dtype) {
  return limit_of<C>(dtype, true);
}

template <class C>
void load(const Tensor& tensor, std::int64_t offset, std::int64_t count, C* values) {
  count_work(count);
  visit_number(tensor.dtype(), [&]<class T>(Tag<T>) {
    const T* from = static_cast<const T*>(tensor.data()) + offset;
    for (std::int64_t i = 0; i < count; ++i) values[i] = decode<C>(from[i]);
  });
}

template <class C>
void store(const C* values, std::int64_t count, Tensor& tensor, std::int64_t offset) {
  count_work(count);
  visit_number(tensor.dtype(), [&]<class T>(Tag<T>) {
    T* to = static_cast<T*>(tensor.data()) + offset;
    for (std::int64_t i = 0; i < count; ++i) to[i] = encode<T>(values[i]);
  });
}

template double lowest_of<double>(DType);
template std::int64_t lowest_of<std::int64_t>(DType);
template std::uint64_t lowest_of<std::uint64_t>(DType);
template double highest_of<double>(DType);
template std::int64_t highest_of<std::int64_t>(DType);
template std::uint64_t highest_of<std::uint64_t>(DType);
template void load<double>(const Tensor&, std::int64_t, std::int64_t, double*);
template void load<std::int64_t>(const Tensor&, std::int64_t, std::int64_t, std::int64_t*);
template void load<std::uint64_t>(const Tensor&, std::int64_t, std::int64_t, std::uint64_t*);
template void store<double>(const double*, std::int64_t, Tensor&, std::int64_t);
template void store<std::int64_t>(const std::int64_t*, std::int64_t, Tensor&, std::int64_t);
template void store<std::uint64_t>(const std::uint64_t*, std::int64_t, Tensor&, std::int64_t);

std::string number_text(double value, DType dtype) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-INF" : "INF";
  char text[64];
  const auto end = dtype == DType::f64 ? std::to_chars(text, text + sizeof text, value).ptr
                                       : std::to_chars(text, text + sizeof text, static_cast<float>(value)).ptr;
  return {text, end};
}

namespace {

template <class C>
bool parse(const std::string& text, C& value) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string::npos) return false;
  const std::size_t last = text.find_last_not_of(" \t\n") + 1;
  const char* begin = text.data() + first + (text[first] == '+' ? 1 : 0);
  const auto [end, code] = std::from_chars(begin, text.data() + last, value);
  return code == std::errc{} && end == text.data() + last;
}

}  // namespace

bool parse_number(const std::string& text, double& value) { return parse(text, value); }
bool parse_number(const std::string& text, std::int64_t& value) { return parse(text, value); }
bool parse_number(const std::string& text, std::uint64_t& value) { return parse(text, value); }

}  // namespace colonnade::reference
