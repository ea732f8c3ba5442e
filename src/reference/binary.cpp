// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "reference/elements.hpp"
#include "reference/families.hpp"
#include "reference/indexing.hpp"

namespace colonnade::reference {
namespace {

double floor_mod(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

double smaller(double a, double b) { return std::isnan(a) || a < b ? a : b; }
double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }

double real_value(BinaryKind kind, double a, double b, const Call& call) {
  switch (kind) {
    case BinaryKind::add: return a + b;
    case BinaryKind::sub: return a - b;
    case BinaryKind::mul: return a * b;
    case BinaryKind::div: return a / b;
    case BinaryKind::pow: return std::pow(a, b);
    case BinaryKind::min: return smaller(a, b);
    case BinaryKind::max: return larger(a, b);
    case BinaryKind::mod: return floor_mod(a, b);
    case BinaryKind::fmod: return std::fmod(a, b);
    case BinaryKind::prelu: return a < 0 ? a * b : a;
    case BinaryKind::equal: return a == b;
    case BinaryKind::less: return a < b;
    case BinaryKind::less_or_equal: return a <= b;
    case BinaryKind::greater: return a > b;
    case BinaryKind::greater_or_equal: return a >= b;
    case BinaryKind::logical_and: return a != 0 && b != 0;
    case BinaryKind::logical_or: return a != 0 || b != 0;
    case BinaryKind::logical_xor: return (a != 0) != (b != 0);
    case BinaryKind::squared_difference: return (a - b) * (a - b);
    case BinaryKind::bitwise_and:
    case BinaryKind::bitwise_or:
    case BinaryKind::bitwise_xor:
    case BinaryKind::shift_left:
    case BinaryKind::shift_right: break;
  }
  call.unsupported("{} of real numbers", name_of(kind));
}

template <class Integer>
constexpr bool overflows(Integer a, Integer b) {
  return std::is_signed_v<Integer> && b == static_cast<Integer>(-1) && a != 0;
}

template <class Integer>
Integer quotient(Integer a, Integer b, const Call& call) {
  if (b == 0) call.invalid("division of {} by zero", a);
  return overflows(a, b) ? static_cast<Integer>(0 - static_cast<std::uint64_t>(a)) : static_cast<Integer>(a / b);
}

template <class Integer>
Integer remainder(Integer a, Integer b, const Call& call) {
  if (b == 0) call.invalid("remainder of {} by zero", a);
  return overflows(a, b) ? Integer{0} : static_cast<Integer>(a % b);
}

template <class Integer>
Integer floor_mod(Integer a, Integer b, const Call& call) {
  const Integer rest = remainder(a, b, call);
  return rest != 0 && (rest < 0) != (b < 0) ? static_cast<Integer>(rest + b) : rest;
}

// Base to an integer exponent modulo 2^64; a negative exponent leaves what truncation leaves of 1 / base^n.
template <class Integer>
Integer power(Integer base, Integer exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    return base == static_cast<Integer>(-1) ? static_cast<Integer>(exponent % 2 == 0 ? 1 : -1) : Integer{0};
  }
  std::uint64_t result = 1, factor = static_cast<std::uint64_t>(base);
  for (std::uint64_t rest = static_cast<std::uint64_t>(exponent); rest != 0; rest >>= 1) {
    if ((rest & 1) != 0) result *= factor;
    factor *= factor;
  }
  return static_cast<Integer>(result);
}

template <class Integer>
Integer integer_value(BinaryKind kind, Integer a, Integer b, const Call& call) {
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  switch (kind) {
    case BinaryKind::add: return static_cast<Integer>(ua + ub);
    case BinaryKind::sub: return static_cast<Integer>(ua - ub);
    case BinaryKind::mul: return static_cast<Integer>(ua * ub);
    case BinaryKind::div: return quotient(a, b, call);
    case BinaryKind::pow: return power(a, b);
    case BinaryKind::min: return std::min(a, b);
    case BinaryKind::max: return std::max(a, b);
    case BinaryKind::mod: return floor_mod(a, b, call);
    case BinaryKind::fmod: return remainder(a, b, call);
    case BinaryKind::prelu: return a < 0 ? static_cast<Integer>(ua * ub) : a;
    case BinaryKind::equal: return a == b;
    case BinaryKind::less: return a < b;
    case BinaryKind::less_or_equal: return a <= b;
    case BinaryKind::greater: return a > b;
    case BinaryKind::greater_or_equal: return a >= b;
    case BinaryKind::logical_and: return a != 0 && b != 0;
    case BinaryKind::logical_or: return a != 0 || b != 0;
    case BinaryKind::logical_xor: return (a != 0) != (b != 0);
    case BinaryKind::bitwise_and: return static_cast<Integer>(ua & ub);
    case BinaryKind::bitwise_or: return static_cast<Integer>(ua | ub);
    case BinaryKind::bitwise_xor: return static_cast<Integer>(ua ^ ub);
    case BinaryKind::shift_left: return static_cast<Integer>(ub < 64 ? ua << ub : 0);
    case BinaryKind::shift_right: return static_cast<Integer>(ub < 64 ? ua >> ub : 0);
    case BinaryKind::squared_difference: return static_cast<Integer>((ua - ub) * (ua - ub));
  }
  call.unsupported("{} of integers", name_of(kind));
}

template <class C>
C value_of(BinaryKind kind, C a, C b, const Call& call) {
  if constexpr (std::is_same_v<C, double>) {
    return real_value(kind, a, b, call);
  } else {
    return integer_value(kind, a, b, call);
  }
}

/// Elements of one operand along a row: loaded, or one repeated.
template <class C>
void load_operand(const Tensor& tensor, std::int64_t offset, std::int64_t step, std::int64_t count, C* values) {
  if (step != 0) return load(tensor, offset, count, values);
  load(tensor, offset, 1, values);
  std::fill(values + 1, values + count, values[0]);
}

template <class C>
void evaluate_rows(BinaryKind kind, const Tensor& a, const Tensor& b, Tensor& y, const Call& call) {
  const auto row = [&](const auto& offsets, std::int64_t count, const auto& steps) {
    C left[kBlock], right[kBlock];
    for (std::int64_t begin = 0; begin < count; begin += kBlock) {
      const std::int64_t n = std::min(kBlock, count - begin);
      load_operand(a, offsets[0] + begin * steps[0], steps[0], n, left);
      load_operand(b, offsets[1] + begin * steps[1], steps[1], n, right);
      for (std::int64_t i = 0; i < n; ++i) left[i] = value_of(kind, left[i], right[i], call);
      store(left, n, y, offsets[2] + begin);
    }
  };
  const Shape& shape = y.shape();
  for_each_row<3>(shape, {broadcast_strides(a.shape(), shape), broadcast_strides(b.shape(), shape), strides_of(shape)},
                  row);
}

void equal_strings(const Tensor& a, const Tensor& b, Tensor& y) {
  const Shape& shape = y.shape();
  const auto row = [&](const auto& offsets, std::int64_t count, const auto& steps) {
    const std::string* left = a.strings().data() + offsets[0];
    const std::string* right = b.strings().data() + offsets[1];
    std::uint8_t* result = y.values<std::uint8_t>().data() + offsets[2];
    for (std::int64_t i = 0; i < count; ++i) result[i] = left[i * steps[0]] == right[i * steps[1]];
  };
  for_each_row<3>(shape, {broadcast_strides(a.shape(), shape), broadcast_strides(b.shape(), shape), strides_of(shape)},
                  row);
}

}  // namespace

Tensors apply(const Binary& binary, const Call& call) {
  const Tensor& a = call.input(0);
  const Tensor& b = call.input(1);
  Tensor y(call.dtype(), call.shape());
  if (a.dtype() == DType::string && binary.kind == BinaryKind::equal) {
    equal_strings(a, b, y);
    return {std::move(y)};
  }
  visit_compute(is_real(b.dtype()) ? b.dtype() : a.dtype(), call,
                [&]<class C>(Tag<C>) { evaluate_rows<C>(binary.kind, a, b, y, call); });
  return {std::move(y)};
}

Tensors apply(const Select&, const Call& call) {
  const Tensor& condition = call.input(0);
  const Tensor& x = call.input(1);
  const Tensor& y = call.input(2);
  Tensor z(call.dtype(), call.shape());
  const Shape& shape = z.shape();
  visit_storage(z.dtype(), [&]<class T>(Tag<T>) {
    const auto row = [&](const auto& offsets, std::int64_t count, const auto& steps) {
      const std::uint8_t* choose = condition.values<std::uint8_t>().data() + offsets[0];
      const T* yes = elements<T>(x) + offsets[1];
      const T* no = elements<T>(y) + offsets[2];
      T* result = elements<T>(z) + offsets[3];
      for (std::int64_t i = 0; i < count; ++i) result[i] = choose[i * steps[0]] ? yes[i * steps[1]] : no[i * steps[2]];
    };
    for_each_row<4>(shape,
                    {broadcast_strides(condition.shape(), shape), broadcast_strides(x.shape(), shape),
                     broadcast_strides(y.shape(), shape), strides_of(shape)},
                    row);
  });
  return {std::move(z)};
}

}  // namespace colonnade::reference
