// SPDX-License-Identifier: Apache-2.0
// Functions of floats of 64 bits, within 4 units in the last place: without branches, but for erf, which is libm's.
#pragma once

#include <cstdint>

namespace colonnade::kernels::typed {
namespace {

/// x = n ln 2 + fraction with integral n, for |x| < 2^20; the first constant has zeros enough that n times it is exact.
struct ReducedDouble {
  double fraction, n;
};
inline ReducedDouble reduced(double x) {
  constexpr double kMagic = 0x1.8p52;
  const double n = (x * 0x1.71547652b82fep0 + kMagic) - kMagic;
  const double high = x - n * 0x1.62e42fefa3800p-1;
  return {high - n * 0x1.ef35793c76730p-45, n};
}

/// 2^n for integral n in [-1022, 1023].
inline double power_of_two(double n) {
  constexpr double kMagic = 0x1.8p52;
  const auto bits = __builtin_bit_cast(std::uint64_t, n + kMagic) - __builtin_bit_cast(std::uint64_t, kMagic) + 1023;
  return __builtin_bit_cast(double, bits << 52);
}

/// exp(r) - 1 for |r| <= 0.35.
inline double expm1_fraction(double r) {
  double sum = 1.0 / 6227020800;
  sum = sum * r + 1.0 / 479001600;
  sum = sum * r + 1.0 / 39916800;
  sum = sum * r + 1.0 / 3628800;
  sum = sum * r + 1.0 / 362880;
  sum = sum * r + 1.0 / 40320;
  sum = sum * r + 1.0 / 5040;
  sum = sum * r + 1.0 / 720;
  sum = sum * r + 1.0 / 120;
  sum = sum * r + 1.0 / 24;
  sum = sum * r + 1.0 / 6;
  sum = sum * r + 0.5;
  return sum * r * r + r;
}

inline double bounded(double x, double low, double high) {
  const double above = x < low ? low : x;
  return above > high ? high : above;
}

struct Exp {
  static double of(double x) {
    const auto [fraction, n] = reduced(bounded(x, -746.0, 710.0));
    constexpr double kMagic = 0x1.8p52;
    const double half = (n * 0.5 + kMagic) - kMagic;  // two factors, so that underflow is gradual
    return (1.0 + expm1_fraction(fraction)) * power_of_two(half) * power_of_two(n - half);
  }
};
struct Sigmoid {
  static double of(double x) { return 1.0 / (1.0 + Exp::of(-x)); }
};
/// By e^2|x| - 1, which is exact where x is small.
struct Tanh {
  static double of(double x) {
    const auto [fraction, n] = reduced(bounded(2.0 * __builtin_fabs(x), 0.0, 44.0));
    const double power = power_of_two(n);
    const double grown = power * expm1_fraction(fraction) + (power - 1.0);
    return __builtin_copysign(grown / (grown + 2.0), x);
  }
};
/// x = 2^k (1 + f) with 1 + f from sqrt 1/2 to sqrt 2; log(1 + f) by s = f / (2 + f), as fdlibm has it.
struct Log {
  static double of(double x) {
    constexpr std::uint64_t kOne = 0x3ff0000000000000, kRoot = 0x3fe6a09e667f3bcd, kMantissa = 0x000fffffffffffff;
    constexpr double kLeastNormal = 0x1p-1022, kInfinity = __builtin_inf();
    const bool is_tiny = x < kLeastNormal;
    const std::uint64_t bits = __builtin_bit_cast(std::uint64_t, is_tiny ? x * 0x1p54 : x) + (kOne - kRoot);
    const std::uint64_t exponent = bits >> 52 | __builtin_bit_cast(std::uint64_t, 0x1p52);
    const double k = __builtin_bit_cast(double, exponent) - (0x1p52 + 1023) - (is_tiny ? 54.0 : 0.0);
    const double f = __builtin_bit_cast(double, (bits & kMantissa) + kRoot) - 1.0;
    const double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
    double sum = 1.479819860511658591e-01;
    sum = sum * z + 1.531383769920937332e-01;
    sum = sum * z + 1.818357216161805012e-01;
    sum = sum * z + 2.222219843214978396e-01;
    sum = sum * z + 2.857142874366239149e-01;
    sum = sum * z + 3.999999999940941908e-01;
    sum = sum * z + 6.666666666666735130e-01;
    const double low = k * 1.90821492927058770002e-10, high = k * 6.93147180369123816490e-01;
    const double y = s * (half + sum * z) + low - half + f + high;
    const double of_positive = x < kInfinity ? y : x;
    return x > 0 ? of_positive : x == 0 ? -kInfinity : __builtin_nan("");
  }
};
struct Erf {
  static double of(double x) { return __builtin_erf(x); }
};
/// sin(x + quarters * pi / 2) for |x| <= kReducible, where three parts of pi / 2 leave the rest exact to its last
/// place.
inline constexpr double kReducible = 1e5;
inline double shifted_sine(double x, std::uint64_t quarters) {
  constexpr double kMagic = 0x1.8p52;
  const double shifted = x * 6.36619772367581382433e-01 + kMagic, n = shifted - kMagic;
  const double r =
      ((x - n * 1.57079632673412561417e+00) - n * 6.07710050630396597660e-11) - n * 2.02226624879595063154e-21;
  const double s = r * r;
  double sine = 1.58969099521155010221e-10;
  sine = sine * s - 2.50507602534068634195e-08;
  sine = sine * s + 2.75573137070700676789e-06;
  sine = sine * s - 1.98412698298579493134e-04;
  sine = sine * s + 8.33333333332248946124e-03;
  sine = sine * s - 1.66666666666666324348e-01;
  double cosine = -1.13596475577881948265e-11;
  cosine = cosine * s + 2.08757232129817482790e-09;
  cosine = cosine * s - 2.75573143513906633035e-07;
  cosine = cosine * s + 2.48015872894767294178e-05;
  cosine = cosine * s - 1.38888888888741095749e-03;
  cosine = cosine * s + 4.16666666666666019037e-02;
  const std::uint64_t quarter = __builtin_bit_cast(std::uint64_t, shifted) + quarters;
  const double y = (quarter & 1) != 0 ? s * s * cosine + (1.0 - 0.5 * s) : sine * s * r + r;
  return (quarter & 2) != 0 ? -y : y;
}

struct Sin {
  static double of(double x) { return shifted_sine(x, 0); }
  static double far(double x) { return __builtin_sin(x); }
};
struct Cos {
  static double of(double x) { return shifted_sine(x, 1); }
  static double far(double x) { return __builtin_cos(x); }
};
struct Floor {
  static double of(double x) { return __builtin_floor(x); }
};
struct Ceil {
  static double of(double x) { return __builtin_ceil(x); }
};
struct Round {
  static double of(double x) { return __builtin_nearbyint(x); }
};
struct Sqrt {
  static double of(double x) { return __builtin_sqrt(x); }
};
struct Reciprocal {
  static double of(double x) { return 1 / x; }
};

}  // namespace
}  // namespace colonnade::kernels::typed
