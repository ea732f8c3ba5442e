// SPDX-License-Identifier: Apache-2.0
// Positions of extremes, products, and what moves in sixteen bytes.
#include "kernels_rows/typed.hpp"

#include <array>

namespace colonnade::kernels::test {
namespace {

using colonnade::test::Guarded;

/// Elements of 16 bytes, as pairs.
TEST(Typed, SelectsAndCopiesSixteenBytes) {
  using Pair = std::array<std::uint64_t, 2>;
  for (const auto& kernel : runnable(typed::table()))
    for (const std::size_t count : kCounts) {
      std::vector<Pair> pairs(2 * count + 1);
      for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = {i, ~i};
      const Guarded<Pair> yes{std::span<const Pair>(pairs)}, no(1), selected(count), copied(count);
      no[0] = {77, 78};
      const Guarded<std::uint8_t> condition(count);
      for (std::size_t i = 0; i < count; ++i) condition[i] = i % 3 == 0 ? 0 : 4;
      kernel.select(16)({{condition.data(), yes.data(), no.data()}, {1, 2, 0}, selected.data(), count});
      kernel.copy(16)({{yes.data()}, {2}, copied.data(), count});
      ASSERT_TRUE(selected.intact() && copied.intact()) << kernel.name << " count " << count;
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(selected[i], i % 3 == 0 ? no[0] : pairs[2 * i]) << kernel.name << " at " << i;
        ASSERT_EQ(copied[i], pairs[2 * i]) << kernel.name << " at " << i;
      }
    }
}

/// The first element that is no number, else the first or last extreme.
template <class T>
std::int64_t extreme(const std::vector<T>& line, bool max, bool last) {
  const auto nan = std::find_if(line.begin(), line.end(), [](T x) { return plain(x) != plain(x); });
  if (nan != line.end()) return nan - line.begin();
  const auto before = [max](T a, T b) { return max ? plain(b) < plain(a) : plain(a) < plain(b); };
  const T best = *std::min_element(line.begin(), line.end(), before);
  const auto equal = [best](T x) { return plain(x) == plain(best); };
  if (!last) return std::find_if(line.begin(), line.end(), equal) - line.begin();
  return line.rend() - std::find_if(line.rbegin(), line.rend(), equal) - 1;
}

template <class T>
void check_extremes(typed::ArgFn function, const std::string& label, std::size_t outer, std::size_t size,
                    std::size_t inner) {
  const Guarded<T> in{std::span<const T>(elements<T>(outer * size * inner, static_cast<unsigned>(size + inner)))};
  for (const bool max : {true, false})
    for (const bool last : {true, false}) {
      const Guarded<std::int64_t> out(outer * inner);
      function({in.data(), out.data(), outer, size, inner, max, last});
      ASSERT_TRUE(out.intact()) << label;
      for (std::size_t i = 0; i < out.size(); ++i) {
        std::vector<T> line;
        for (std::size_t k = 0; k < size; ++k) line.push_back(in[(i / inner * size + k) * inner + i % inner]);
        ASSERT_EQ(out[i], extreme(line, max, last)) << label << (max ? " max" : " min") << (last ? " last" : " first");
      }
    }
}

TEST(Typed, Extremes) {
  for (const auto& kernel : runnable(typed::table()))
    for (const Type type : kTypes)
      for (const auto& [outer, size, inner] :
           {std::array<std::size_t, 3>{3, 1, 5}, {1, 2, 1}, {5, 9, 1}, {2, 17, 3}, {4, 5, 16}, {1, 33, 17}, {0, 3, 4}})
        with_type(type, [&, outer = outer, size = size, inner = inner]<class T>(Tag<T>) {
          check_extremes<T>(kernel.arg(type), label_of(kernel, "extreme", static_cast<int>(size), type), outer, size,
                            inner);
        });
}

template <class In, class Out>
void check_product(typed::ProductFn function, const std::string& label, std::size_t m, std::size_t k, std::size_t n) {
  const auto numbers = [](std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<In> values(count);
    for (In& x : values) {
      if constexpr (kIsFloat<In>) {
        x = static_cast<In>(random() % 199) / 16 - 6;
      } else {
        x = static_cast<In>(random());
      }
    }
    return values;
  };
  const Guarded<In> a{std::span<const In>(numbers(m * k, 1))}, b{std::span<const In>(numbers(k * n, 2))};
  const Guarded<Out> out(m * n);
  function({a.data(), b.data(), out.data(), m, k, n});
  ASSERT_TRUE(a.intact() && b.intact() && out.intact()) << label;
  for (std::size_t i = 0; i < m * n; ++i) {
    std::conditional_t<kIsFloat<In>, double, std::uint64_t> sum = 0;
    for (std::size_t j = 0; j < k; ++j)
      sum += static_cast<decltype(sum)>(a[i / n * k + j]) * static_cast<decltype(sum)>(b[j * n + i % n]);
    if constexpr (kIsFloat<In>) {
      ASSERT_NEAR(out[i], sum, 1e-11) << label;
    } else {
      ASSERT_EQ(out[i], static_cast<Out>(sum)) << label << " at " << i;
    }
  }
}

TEST(Typed, Products) {
  for (const auto& kernel : runnable(typed::table()))
    for (const Type in : kTypes)
      for (const Type out : kTypes) {
        const bool is_integer = in != Type::boolean && in != Type::f32 && in != Type::f64;
        const bool exists = (in == out && (is_integer || in == Type::f64)) || (is_integer && out == Type::i32);
        const std::string label = label_of(kernel, "product", static_cast<int>(in), out);
        ASSERT_EQ(kernel.product(in, out) != nullptr, exists) << label;
        if (!exists) continue;
        for (const auto& [m, k, n] : {std::array<std::size_t, 3>{1, 1, 1},
                                      {3, 7, 31},
                                      {2, 5, 32},
                                      {4, 17, 33},
                                      {1, 3, 100},
                                      {0, 3, 3},
                                      {2, 0, 5},
                                      {2, 3, 0}})
          with_type(in, [&, m = m, k = k, n = n]<class In>(Tag<In>) {
            if constexpr (!kIsBoolean<In> && !std::is_same_v<In, float>) {
              if (in == out) return check_product<In, In>(kernel.product(in, out), label, m, k, n);
              check_product<In, std::int32_t>(kernel.product(in, out), label, m, k, n);
            }
          });
      }
}

}  // namespace
}  // namespace colonnade::kernels::test
