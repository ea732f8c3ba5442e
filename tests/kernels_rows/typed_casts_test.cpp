// SPDX-License-Identifier: Apache-2.0
// Casts that take blocks of numbers through 32 bits where these hold them.
#include "kernels_rows/typed.hpp"

namespace colonnade::kernels::test {
namespace {

/// Rows of several lengths, whole blocks and what is left of them.
template <class From, class To>
void check_blocks(const typed::Kernel& kernel, Type from, Type to, const std::vector<From>& in) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{64}, std::size_t{90}, in.size()}) {
    std::vector<To> out(count, To{7});
    kernel.cast(from, to)({.in = {in.data()}, .step = {1}, .out = out.data(), .count = count});
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(out[i], converted<To>(in[i])) << kernel.name << " " << i;
  }
}

/// A block has a number that 32 bits do not hold.
template <class From, class To>
void check_to_integers(const typed::Kernel& kernel, Type from, Type to) {
  std::vector<From> in(200);
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<From>(i) * From{37.25} - (std::is_signed_v<To> ? From{900} : 0);
  in[100] = From{0x1p40}, in[101] = std::numeric_limits<From>::quiet_NaN();
  check_blocks<From, To>(kernel, from, to, in);
}

TEST(Typed, CastsToWideIntegers) {
  for (const auto& kernel : runnable(typed::table())) {
    check_to_integers<float, std::int64_t>(kernel, Type::f32, Type::i64);
    check_to_integers<float, std::uint64_t>(kernel, Type::f32, Type::u64);
    check_to_integers<double, std::int64_t>(kernel, Type::f64, Type::i64);
    check_to_integers<double, std::uint64_t>(kernel, Type::f64, Type::u64);
    check_to_integers<float, std::int32_t>(kernel, Type::f32, Type::i32);
    check_to_integers<float, std::uint32_t>(kernel, Type::f32, Type::u32);
    check_to_integers<double, std::int32_t>(kernel, Type::f64, Type::i32);
    check_to_integers<double, std::uint32_t>(kernel, Type::f64, Type::u32);
  }
}

/// The first block has the ends of what 32 bits hold, the second has `beyond` them.
template <class From, class To>
void check_to_reals(const typed::Kernel& kernel, Type from, Type to, From beyond) {
  std::vector<From> in(200);
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<From>(i * 10'737'259) - (std::is_signed_v<From> ? From{1'000'000'007} : 0);
  in[10] = static_cast<From>(std::is_signed_v<From> ? std::numeric_limits<std::int32_t>::min() : 0);
  in[11] = std::numeric_limits<std::int32_t>::max();
  in[100] = beyond;
  check_blocks<From, To>(kernel, from, to, in);
}

TEST(Typed, CastsWideIntegersToReals) {
  constexpr std::int64_t kPast = std::int64_t{1} << 31, kLarge = (std::int64_t{1} << 40) + 1;
  for (const auto& kernel : runnable(typed::table())) {
    for (const std::int64_t beyond : {kPast, -kPast - 1, kLarge, -kLarge, std::numeric_limits<std::int64_t>::min()}) {
      check_to_reals<std::int64_t, float>(kernel, Type::i64, Type::f32, beyond);
      check_to_reals<std::int64_t, double>(kernel, Type::i64, Type::f64, beyond);
    }
    for (const std::uint64_t beyond : {std::uint64_t{kPast}, std::numeric_limits<std::uint64_t>::max()}) {
      check_to_reals<std::uint64_t, float>(kernel, Type::u64, Type::f32, beyond);
      check_to_reals<std::uint64_t, double>(kernel, Type::u64, Type::f64, beyond);
    }
  }
}

}  // namespace
}  // namespace colonnade::kernels::test
