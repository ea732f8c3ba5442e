// SPDX-License-Identifier: Apache-2.0
// Reductions on every tier against plain loops, on whole numbers whose sums are exact.
#include "kernels/typed/typed.hpp"
#include "kernels_rows/support.hpp"

namespace colonnade::kernels::test {
namespace {

using colonnade::test::Guarded;
using typed::Reduction;
using typed::Type;

constexpr Reduction kAll[] = {Reduction::sum, Reduction::mean,    Reduction::max,
                              Reduction::min, Reduction::prod,    Reduction::l1,
                              Reduction::l2,  Reduction::log_sum, Reduction::sum_square};

/// Of a few numbers, as long double: whole ones up to 64 bits are exact.
template <class T>
T expected(Reduction op, const std::vector<T>& line) {
  long double sum = op == Reduction::prod ? 1 : 0, low = line[0], high = line[0];
  for (const T element : line) {
    const auto x = static_cast<long double>(element);
    low = std::min(low, x);
    high = std::max(high, x);
    if (op == Reduction::prod)
      sum *= x;
    else if (op == Reduction::l1)
      sum += std::fabs(x);
    else
      sum += op == Reduction::l2 || op == Reduction::sum_square ? x * x : x;
  }
  if (op == Reduction::max) return static_cast<T>(high);
  if (op == Reduction::min) return static_cast<T>(low);
  if (op == Reduction::mean) sum /= static_cast<long double>(line.size());
  if (op == Reduction::l2) sum = std::sqrt(sum);
  if (op == Reduction::log_sum) sum = std::log(sum);
  return static_cast<T>(sum);
}

template <class T>
void check(const typed::Kernel& kernel, Type type, Reduction op, std::size_t size, std::size_t inner) {
  const typed::ReduceFn reduce = kernel.reduce(op, type);
  if (reduce == nullptr) return;
  constexpr std::size_t kOuter = 3, kMostLines = 40;
  const Guarded<T> in(kOuter * size * inner), out(kOuter * inner);
  std::mt19937 generator(1);
  const int bound = op == Reduction::prod ? 2 : 90;
  for (T& x : in.values())
    x = static_cast<T>(static_cast<int>(generator() % (2 * bound + 1)) - (type == Type::u8 ? 0 : bound));
  if (op == Reduction::log_sum)
    for (T& x : in.values()) x = static_cast<T>(x < 0 ? -x : x + 1);
  for (std::size_t first = 0; first < inner; first += kMostLines) {
    const typed::ReduceArgs args{
        in.data() + first, out.data() + first, kOuter, size, inner, std::min(kMostLines, inner - first)};
    reduce(args);
  }
  for (std::size_t o = 0; o < kOuter; ++o)
    for (std::size_t i = 0; i < inner; ++i) {
      std::vector<T> line;
      for (std::size_t k = 0; k < size; ++k) line.push_back(in[(o * size + k) * inner + i]);
      const T want = expected(op, line), got = out[o * inner + i];
      ASSERT_TRUE(got == want ||
                  std::fabs(static_cast<double>(got - want)) < 1e-12 * std::fabs(static_cast<double>(want)))
          << kernel.name << " reduction " << static_cast<int>(op) << " of type " << static_cast<int>(type) << ", "
          << size << " x " << inner << ": " << +got << ", not " << +want;
    }
  ASSERT_TRUE(in.intact() && out.intact());
}

TEST(TypedReduce, AgreesWithPlainLoops) {
  for (const auto& kernel : runnable(typed::table()))
    for (const Reduction op : kAll)
      for (const std::size_t size : {1u, 2u, 3u, 17u, 31u, 32u, 33u, 63u, 64u, 65u, 255u, 256u, 257u, 700u})
        for (const std::size_t inner : {1u, 2u, 3u, 16u, 67u}) {
          if (op != Reduction::prod || size < 32) {
            check<std::int32_t>(kernel, Type::i32, op, size, inner);
            check<std::int64_t>(kernel, Type::i64, op, size, inner);
          }
          check<double>(kernel, Type::f64, op, size, inner);
          check<std::uint8_t>(kernel, Type::u8, op, size, inner);
          check<std::int8_t>(kernel, Type::i8, op, size, inner);
          if (HasFatalFailure()) return;
        }
}

TEST(TypedReduce, MeansDoNotWrapAround) {
  const std::vector<std::int32_t> large(100, 2000000000);
  for (const auto& kernel : runnable(typed::table())) {
    std::int32_t mean = 0, sum = 0;
    kernel.reduce(Reduction::mean, Type::i32)({large.data(), &mean, 1, large.size()});
    kernel.reduce(Reduction::sum, Type::i32)({large.data(), &sum, 1, large.size()});
    EXPECT_EQ(mean, 2000000000) << kernel.name;
    EXPECT_EQ(sum, static_cast<std::int32_t>(200000000000)) << kernel.name;
  }
}

TEST(TypedReduce, FindsNotANumber) {
  for (const auto& kernel : runnable(typed::table()))
    for (const Reduction op : {Reduction::max, Reduction::min})
      for (std::size_t at = 0; at < 100; ++at) {
        std::vector<double> line(100, 1.0);
        line[at] = std::nan("");
        double extreme = 0;
        kernel.reduce(op, Type::f64)({line.data(), &extreme, 1, line.size()});
        EXPECT_TRUE(std::isnan(extreme)) << kernel.name << " at " << at;
      }
}

}  // namespace
}  // namespace colonnade::kernels::test
