// SPDX-License-Identifier: Apache-2.0
// Positions of extremes, and what moves in sixteen bytes.
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
      function({in.data(), out.data(), outer, size, inner, inner, max, last});
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

}  // namespace
}  // namespace colonnade::kernels::test
