// SPDX-License-Identifier: Apache-2.0
// Stands in for xsimd where that has no architecture: what kernels/base takes of it, on vectors of four floats as GCC
// and clang have them everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace xsimd {

struct default_arch {};

typedef float FourFloats __attribute__((vector_size(16)));
typedef std::int32_t FourInts __attribute__((vector_size(16)));

template <class T, class Arch>
struct batch_bool {
  using register_type = FourInts;
  register_type data;
  batch_bool(register_type lanes) : data(lanes) {}
};

template <class T, class Arch>
struct batch {
  using register_type = std::conditional_t<std::is_same_v<T, float>, FourFloats, FourInts>;
  static constexpr std::size_t size = 4;
  register_type data;

  batch() = default;
  batch(T x) : data{x, x, x, x} {}
  batch(register_type lanes) : data(lanes) {}
  operator register_type() const { return data; }
  static batch load_unaligned(const T* p) {
    batch x;
    __builtin_memcpy(&x.data, p, sizeof x.data);
    return x;
  }
  void store_unaligned(T* p) const { __builtin_memcpy(p, &data, sizeof data); }

  friend batch operator+(batch a, batch b) { return a.data + b.data; }
  friend batch operator-(batch a, batch b) { return a.data - b.data; }
  friend batch operator*(batch a, batch b) { return a.data * b.data; }
  friend batch operator/(batch a, batch b) { return a.data / b.data; }
  friend batch operator&(batch a, batch b) { return a.data & b.data; }
  friend batch operator|(batch a, batch b) { return a.data | b.data; }
  friend batch operator^(batch a, batch b) { return a.data ^ b.data; }
  friend batch operator<<(batch a, int n) { return a.data << n; }
  friend batch operator>>(batch a, int n) { return a.data >> n; }
  friend batch_bool<T, Arch> operator<(batch a, batch b) { return {a.data < b.data}; }
};

template <class Arch>
using floats = batch<float, Arch>;
template <class Arch>
using integers = batch<std::int32_t, Arch>;

template <class Arch>
inline floats<Arch> select(batch_bool<float, Arch> m, floats<Arch> if_set, floats<Arch> if_clear) {
  return (FourFloats)((m.data & (FourInts)if_set.data) | (~m.data & (FourInts)if_clear.data));
}
template <class Arch>
inline batch_bool<float, Arch> isnan(floats<Arch> a) {
  return {a.data != a.data};
}
template <class Arch>
inline floats<Arch> min(floats<Arch> a, floats<Arch> b) {
  return select(a < b, a, b);
}
template <class Arch>
inline floats<Arch> max(floats<Arch> a, floats<Arch> b) {
  return select(b < a, a, b);
}
template <class Arch>
inline floats<Arch> fma(floats<Arch> a, floats<Arch> b, floats<Arch> c) {
  return a * b + c;
}
template <class Arch>
inline integers<Arch> to_int(floats<Arch> a) {
  return __builtin_convertvector(a.data, FourInts);
}
template <class Arch>
inline floats<Arch> to_float(integers<Arch> a) {
  return __builtin_convertvector(a.data, FourFloats);
}

template <class Arch, class Function>
inline floats<Arch> each_lane(floats<Arch> a, Function function) {
  for (int i = 0; i < 4; ++i) a.data[i] = function(a.data[i]);
  return a;
}
template <class Arch>
inline floats<Arch> sqrt(floats<Arch> a) {
  return each_lane(a, [](float x) { return __builtin_sqrtf(x); });
}
template <class Arch>
inline floats<Arch> floor(floats<Arch> a) {
  return each_lane(a, [](float x) { return __builtin_floorf(x); });
}
template <class Arch>
inline floats<Arch> ceil(floats<Arch> a) {
  return each_lane(a, [](float x) { return __builtin_ceilf(x); });
}
template <class Arch>
inline floats<Arch> nearbyint(floats<Arch> a) {
  return each_lane(a, [](float x) { return __builtin_nearbyintf(x); });
}
template <class Arch>
inline floats<Arch> abs(floats<Arch> a) {
  return each_lane(a, [](float x) { return __builtin_fabsf(x); });
}
template <class Arch>
inline floats<Arch> copysign(floats<Arch> a, floats<Arch> sign) {
  for (int i = 0; i < 4; ++i) a.data[i] = __builtin_copysignf(a.data[i], sign.data[i]);
  return a;
}

}  // namespace xsimd
