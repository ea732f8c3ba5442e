// SPDX-License-Identifier: Apache-2.0
// Rows of elements: arithmetic, comparison, logic, casts, selection, copies.
#include <array>
#include <tuple>
#include <utility>

#include "kernels_rows/typed.hpp"

namespace colonnade::kernels::test {
namespace {

using colonnade::test::Guarded;
using typed::Binary;
using typed::RowArgs;
using typed::RowFn;
using typed::Unary;

/// Equal, or neither a number.
template <class T>
bool same(T a, T b) {
  return a == b || (a != a && b != b);
}

/// Elements that a row of `count` reads at a step.
std::size_t span_of(std::size_t count, std::ptrdiff_t step) {
  return count == 0 ? 0 : (count - 1) * static_cast<std::size_t>(step) + 1;
}

/// Guarded operands of a row of `count`.
template <class... In, std::size_t... I>
std::tuple<Guarded<In>...> inputs_of(std::size_t count, const std::array<std::ptrdiff_t, sizeof...(In)>& steps,
                                     Edge edge, std::index_sequence<I...>) {
  return {Guarded<In>(std::span<const In>(elements<In>(span_of(count, steps[I]), static_cast<unsigned>(count + I))),
                      edge)...};
}

/// Runs a row on guarded buffers and compares each element with want(in...).
template <class Out, class... In, class Want>
void check_row(RowFn row, const std::string& label, const std::array<std::ptrdiff_t, sizeof...(In)>& steps, Want want) {
  for (const std::size_t count : kCounts)
    for (const Edge edge : {Edge::front, Edge::back}) {
      const auto in = inputs_of<In...>(count, steps, edge, std::index_sequence_for<In...>());
      const Guarded<Out> out(count, edge);
      RowArgs args;
      args.out = out.data();
      args.count = count;
      const auto each = [&](auto visit) {
        [&]<std::size_t... I>(std::index_sequence<I...>) { (visit(std::get<I>(in), I), ...); }
        (std::index_sequence_for<In...>());
      };
      each([&](const auto& buffer, std::size_t i) {
        args.in[i] = buffer.data();
        args.step[i] = steps[i];
      });
      row(args);
      ASSERT_TRUE(out.intact()) << label << " count " << count;
      each([&](const auto& buffer, std::size_t) { ASSERT_TRUE(buffer.intact()) << label; });
      for (std::size_t i = 0; i < count; ++i) {
        const Out wanted = [&]<std::size_t... I>(std::index_sequence<I...>) {
          return static_cast<Out>(want(plain(std::get<I>(in)[i * static_cast<std::size_t>(steps[I])])...));
        }
        (std::index_sequence_for<In...>());
        ASSERT_TRUE(same(out[i], wanted)) << label << " count " << count << " at " << i;
      }
    }
}

template <class T>
T arithmetic(Binary op, T a, T b) {
  if constexpr (kIsFloat<T>) {
    switch (op) {
      case Binary::add: return a + b;
      case Binary::sub: return a - b;
      case Binary::mul: return a * b;
      case Binary::div: return a / b;
      case Binary::fmod: return std::fmod(a, b);
      case Binary::pow: return std::pow(a, b);
      case Binary::prelu: return a < 0 ? a * b : a;
      case Binary::min: return a != a || b != b ? a + b : std::min(a, b);
      case Binary::max: return a != a || b != b ? a + b : std::max(a, b);
      default: return (a - b) * (a - b);
    }
  } else {
    T result = 0, difference = 0;
    __builtin_sub_overflow(a, b, &difference);
    switch (op) {
      case Binary::add: return __builtin_add_overflow(a, b, &result), result;
      case Binary::sub: return difference;
      case Binary::mul: return __builtin_mul_overflow(a, b, &result), result;
      case Binary::min: return std::min(a, b);
      case Binary::max: return std::max(a, b);
      case Binary::prelu: return a > 0 || a == 0 ? a : (__builtin_mul_overflow(a, b, &result), result);
      default: return __builtin_mul_overflow(difference, difference, &result), result;
    }
  }
}

/// By as many products as the exponent says.
template <class T>
T power(T base, T exponent) {
  if (exponent < 0 && base != 1)
    return static_cast<T>(static_cast<std::int64_t>(base) != -1 ? 0 : exponent % 2 == 0 ? 1 : -1);
  std::uint64_t result = 1, factor = static_cast<std::uint64_t>(base);
  for (auto rest = static_cast<std::make_unsigned_t<T>>(exponent); base != 1 && rest != 0; rest /= 2, factor *= factor)
    if (rest % 2 == 1) result *= factor;
  return static_cast<T>(result);
}

/// A zero among the divisors gives what a one would.
template <class T>
T integral(Binary op, T a, T divisor) {
  using Unsigned = std::make_unsigned_t<T>;
  constexpr unsigned kBits = sizeof(T) * 8;
  const auto wide = static_cast<std::uint64_t>(static_cast<Unsigned>(a));
  const std::uint64_t places = static_cast<std::uint64_t>(static_cast<Unsigned>(divisor));
  switch (op) {
    case Binary::pow: return power(a, divisor);
    case Binary::bitwise_and: return static_cast<T>(a & divisor);
    case Binary::bitwise_or: return static_cast<T>(a | divisor);
    case Binary::bitwise_xor: return static_cast<T>(a ^ divisor);
    case Binary::shift_left: return static_cast<T>(places < kBits ? wide << places : 0);
    case Binary::shift_right: return static_cast<T>(places < kBits ? wide >> places : 0);
    default: break;
  }
  const T b = divisor == 0 ? T{1} : divisor;
  const bool overflows = std::is_signed_v<T> && b == static_cast<T>(-1);
  const T quotient = overflows ? static_cast<T>(0 - static_cast<std::uint64_t>(a)) : static_cast<T>(a / b);
  const T rest = overflows ? T{0} : static_cast<T>(a % b);
  if (op == Binary::div) return quotient;
  return op == Binary::mod && rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
}

bool is_integral(Binary op) { return op >= Binary::div && op <= Binary::shift_right; }

template <class T>
bool compared(Binary op, T a, T b) {
  switch (op) {
    case Binary::equal: return a == b;
    case Binary::less: return a < b;
    case Binary::less_or_equal: return a < b || a == b;
    case Binary::greater: return b < a;
    default: return b < a || a == b;
  }
}

bool joined(Binary op, bool a, bool b) {
  const int sum = a + b;
  return op == Binary::logical_and ? sum == 2 : op == Binary::logical_or ? sum > 0 : sum == 1;
}

constexpr std::array<std::ptrdiff_t, 2> kSteps[] = {{1, 1}, {1, 0}, {0, 1}, {2, 3}, {0, 0}};

/// Whether the contract has the function for the type.
bool has(Binary op, Type type) {
  const bool is_float = type == Type::f32 || type == Type::f64, is_boolean = type == Type::boolean;
  const bool is_unsigned = type == Type::u8 || type == Type::u16 || type == Type::u32 || type == Type::u64;
  if (op == Binary::shift_left || op == Binary::shift_right) return is_unsigned;
  if (op == Binary::pow) return !is_boolean && type != Type::f32;
  if (is_integral(op)) return op == Binary::div || op == Binary::fmod ? !is_boolean : !is_float && !is_boolean;
  if (op < Binary::equal) return type != Type::boolean;
  return op < Binary::logical_and || type == Type::boolean;
}

TEST(Typed, Binary) {
  for (const auto& kernel : runnable(typed::table()))
    for (int i = 0; i <= static_cast<int>(Binary::logical_xor); ++i)
      for (const Type type : kTypes) {
        const auto op = static_cast<Binary>(i);
        const RowFn row = kernel.binary(op, type);
        const std::string label = label_of(kernel, "binary", i, type);
        ASSERT_EQ(row != nullptr, has(op, type)) << label;
        if (row == nullptr) continue;
        for (const auto& steps : kSteps)
          with_type(type, [&]<class T>(Tag<T>) {
            const auto comparison = [op](auto a, auto b) { return compared(op, a, b); };
            if constexpr (kIsBoolean<T>) {
              const auto logic = [op](bool a, bool b) { return joined(op, a, b); };
              if (op >= Binary::logical_and) return check_row<std::uint8_t, T, T>(row, label, steps, logic);
            } else {
              const auto number = [op](T a, T b) {
                if constexpr (!kIsFloat<T>) {
                  if (is_integral(op)) return integral(op, a, b);
                }
                return arithmetic(op, a, b);
              };
              if (op < Binary::equal) return check_row<T, T, T>(row, label, steps, number);
            }
            check_row<std::uint8_t, T, T>(row, label, steps, comparison);
          });
        if (testing::Test::HasFatalFailure()) return;
      }
}

TEST(Typed, DivisionsSayWhereTheDivisorIsZero) {
  for (const auto& kernel : runnable(typed::table()))
    for (const Binary op : {Binary::div, Binary::mod, Binary::fmod})
      for (const std::ptrdiff_t step : {1, 0}) {
        std::vector<std::int32_t> a(67, 9), b(67, 2), out(67);
        bool undefined = false;
        const RowArgs args{{a.data(), b.data()}, {1, step}, out.data(), a.size(), 1, &undefined};
        kernel.binary(op, Type::i32)(args);
        EXPECT_FALSE(undefined);
        b[step == 0 ? 0 : 40] = 0;
        kernel.binary(op, Type::i32)(args);
        EXPECT_TRUE(undefined) << kernel.name;
      }
}

/// Of 64 bits, where the divisor is one for all: quotients are shifts, remainders are not.
TEST(Typed, DivisionsByPowersOfTwo) {
  for (const auto& kernel : runnable(typed::table()))
    for (const int places : {0, 1, 31, 63})
      for (const Binary op : {Binary::div, Binary::mod}) {
        const std::uint64_t divisor = std::uint64_t{1} << places;
        std::vector<std::uint64_t> a(67), out(67);
        for (std::size_t i = 0; i < a.size(); ++i) a[i] = ~std::uint64_t{0} - 0x123456789abcdef * i;
        bool undefined = false;
        kernel.binary(op, Type::u64)({{a.data(), &divisor}, {1, 0}, out.data(), a.size(), 1, &undefined});
        for (std::size_t i = 0; i < a.size(); ++i)
          ASSERT_EQ(out[i], op == Binary::div ? a[i] / divisor : a[i] % divisor) << kernel.name << " " << places;
        ASSERT_FALSE(undefined);
      }
}

TEST(Typed, SquaresOfIntegers) {
  for (const auto& kernel : runnable(typed::table())) {
    std::vector<std::int64_t> a(67), out(67);
    const std::int64_t two = 2;
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::int64_t>(i * 0x123456789abcdef);
    for (const std::ptrdiff_t step : {1, 0}) {
      kernel.binary(Binary::pow, Type::i64)({{a.data() + 5, &two}, {step, 0}, out.data(), 60, 1, nullptr});
      for (std::size_t i = 0; i < 60; ++i) {
        const auto x = static_cast<std::uint64_t>(a[5 + (step == 1 ? i : 0)]);
        ASSERT_EQ(out[i], static_cast<std::int64_t>(x * x)) << kernel.name << " " << i;
      }
    }
  }
}

TEST(Typed, PowersOfTwo) {
  for (const auto& kernel : runnable(typed::table()))
    for (const Type type : {Type::u8, Type::u32, Type::u64, Type::i64})
      with_type(type, [&]<class T>(Tag<T>) {
        if constexpr (!kIsBoolean<T> && !kIsFloat<T>) {
          std::vector<T> powers(67), out(67);
          const T two = 2;
          for (std::size_t i = 0; i < powers.size(); ++i) powers[i] = static_cast<T>(i);
          kernel.binary(Binary::pow, type)({{&two, powers.data()}, {0, 1}, out.data(), powers.size(), 1, nullptr});
          for (std::size_t i = 0; i < powers.size(); ++i)
            ASSERT_EQ(out[i], i < 64 ? static_cast<T>(std::uint64_t{1} << i) : T{0}) << kernel.name << " " << i;
        }
      });
}

/// Whether the contract has the function for the type.
bool has(Unary op, Type type) {
  const bool is_float = type == Type::f32 || type == Type::f64, is_boolean = type == Type::boolean;
  const bool is_unsigned = type == Type::u8 || type == Type::u16 || type == Type::u32 || type == Type::u64;
  if (op == Unary::logical_not) return is_boolean;
  if (op == Unary::is_nan || op == Unary::is_inf) return is_float;
  if (op == Unary::sign || op == Unary::square) return !is_boolean;
  if (op == Unary::bitwise_not) return !is_boolean && !is_float;
  return op >= Unary::floor ? type == Type::f64 : !is_boolean && !is_unsigned;
}

template <class T>
T mapped(Unary op, T a) {
  if constexpr (std::is_same_v<T, double>) {
    if (op == Unary::floor) return std::floor(a);
    if (op == Unary::ceil) return std::ceil(a);
    if (op == Unary::round) return std::nearbyint(a);
    if (op == Unary::sqrt) return std::sqrt(a);
    if (op == Unary::reciprocal) return 1 / a;
  }
  if constexpr (!kIsFloat<T>) {
    if (op == Unary::bitwise_not) return static_cast<T>(~a);
  }
  if (op == Unary::square) return arithmetic(Binary::mul, a, a);
  if (op == Unary::sign) return a > 0 ? T{1} : a < 0 ? arithmetic(Binary::sub, T{0}, T{1}) : a;
  if (op == Unary::relu) return a < 0 ? T{0} : a;
  return op == Unary::abs && !(a < 0) ? a : arithmetic(Binary::sub, T{0}, a);
}

TEST(Typed, Unary) {
  for (const auto& kernel : runnable(typed::table()))
    for (int i = 0; i < static_cast<int>(Unary::exp); ++i)
      for (const Type type : kTypes) {
        const auto op = static_cast<Unary>(i);
        const RowFn row = kernel.unary(op, type);
        const std::string label = label_of(kernel, "unary", i, type);
        ASSERT_EQ(row != nullptr, has(op, type)) << label;
        if (row == nullptr) continue;
        for (const std::ptrdiff_t step : {1, 0, 3})
          with_type(type, [&]<class T>(Tag<T>) {
            if constexpr (kIsBoolean<T>) {
              check_row<std::uint8_t, T>(row, label, {step}, [](bool a) { return !a; });
            } else {
              const auto number = [op](T a) { return mapped(op, a); };
              if (op == Unary::is_nan)
                return check_row<std::uint8_t, T>(row, label, {step}, [](T a) { return a != a; });
              if (op == Unary::is_inf)
                return check_row<std::uint8_t, T>(row, label, {step}, [](T a) {
                  return std::is_floating_point_v<T> && std::isinf(static_cast<double>(a));
                });
              check_row<T, T>(row, label, {step}, number);
            }
          });
        if (testing::Test::HasFatalFailure()) return;
      }
}

TEST(Typed, Casts) {
  for (const auto& kernel : runnable(typed::table()))
    for (const Type from : kTypes)
      for (const Type to : kTypes) {
        const std::string label = label_of(kernel, "cast", static_cast<int>(from), to);
        const RowFn row = kernel.cast(from, to);
        ASSERT_NE(row, nullptr) << label;
        for (const std::ptrdiff_t step : {1, 0, 2})
          with_type(from, [&]<class From>(Tag<From>) {
            with_type(to, [&]<class To>(Tag<To>) {
              if constexpr (kIsBoolean<To>) {
                check_row<std::uint8_t, From>(row, label, {step}, [](auto x) { return x != decltype(x){0}; });
              } else {
                check_row<To, From>(row, label, {step}, [](auto x) { return converted<To>(x); });
              }
            });
          });
        if (testing::Test::HasFatalFailure()) return;
      }
}

/// Calls body(Tag) with a type of each size that elements have.
template <class F>
void for_sizes(F body) {
  body(Tag<std::uint8_t>());
  body(Tag<std::uint16_t>());
  body(Tag<std::uint32_t>());
  body(Tag<std::uint64_t>());
}

TEST(Typed, SelectsAndCopies) {
  for (const auto& kernel : runnable(typed::table())) {
    EXPECT_EQ(kernel.select(3), nullptr);
    EXPECT_EQ(kernel.copy(3), nullptr);
    for_sizes([&]<class T>(Tag<T>) {
      const std::string label = std::string(kernel.name) + " bytes " + std::to_string(sizeof(T));
      for (const auto& steps : {std::array<std::ptrdiff_t, 3>{1, 1, 1}, {0, 1, 1}, {1, 0, 2}, {2, 3, 0}})
        check_row<T, Boolean, T, T>(kernel.select(sizeof(T)), label, steps, [](bool c, T a, T b) { return c ? a : b; });
      for (const std::ptrdiff_t step : {1, 0, 2, 4, 5})
        check_row<T, T>(kernel.copy(sizeof(T)), label, {step}, [](T a) { return a; });
      for (const std::ptrdiff_t out_step : {2, 3, 4}) {
        const std::vector<T> in = elements<T>(67, 1);
        std::vector<T> out(67 * 4, T{9});
        kernel.copy(sizeof(T))({{in.data()}, {1}, out.data(), in.size(), out_step});
        for (std::size_t i = 0; i < out.size(); ++i) {
          const auto step = static_cast<std::size_t>(out_step);
          ASSERT_EQ(out[i], i % step == 0 && i / step < in.size() ? in[i / step] : T{9}) << label << " at " << i;
        }
      }
    });
  }
}

}  // namespace
}  // namespace colonnade::kernels::test
