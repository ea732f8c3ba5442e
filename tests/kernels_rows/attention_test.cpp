// SPDX-License-Identifier: Apache-2.0
// Which keys attention leaves out, against a look at every addend.
#include "kernels/attention/attention.hpp"

#include "kernels_rows/support.hpp"

namespace colonnade::kernels::test {
namespace {

using attention::kLiveEnd, attention::kLiveStep;

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kLowest = std::numeric_limits<float>::lowest();

struct Addends {
  std::size_t rows, keys;
  std::vector<float> first, second;  ///< [rows][keys]; the second may be empty
  bool one_row = false;              ///< for all
};

attention::SharesArgs args_of(const Addends& of, const float* first, const float* second) {
  attention::SharesArgs args;
  args.rows = of.rows, args.keys = of.keys;
  const auto stride = of.one_row ? 0 : static_cast<std::ptrdiff_t>(of.keys);
  args.addends[0] = first, args.addend_strides[0] = stride;
  if (!of.second.empty()) args.addends[1] = second, args.addend_strides[1] = stride;
  return args;
}

attention::LiveKeys expected(const Addends& of) {
  std::size_t first = of.keys, end = 0;
  bool may = true;
  for (std::size_t row = 0; row < (of.one_row ? 1 : of.rows); ++row) {
    float most = -kInfinity;
    for (std::size_t key = 0; key < of.keys; ++key) {
      const std::size_t at = row * of.keys + key;
      const float low = of.second.empty() ? of.first[at] : std::min(of.first[at], of.second[at]);
      most = std::max(most, low);
      if (low > attention::kBarred) first = std::min(first, key), end = std::max(end, key + 1);
    }
    may = may && (most > attention::kOpen || most == -kInfinity);
  }
  if (!may || end == 0) return {0, of.keys};
  return {first / kLiveStep * kLiveStep, std::min(of.keys, (end + kLiveEnd - 1) / kLiveEnd * kLiveEnd)};
}

void check(const Addends& of) {
  const Guarded first(of.first), second(of.second.empty() ? of.first : of.second);
  for (const attention::Kernel& kernel : runnable(attention::table())) {
    const attention::LiveKeys found = kernel.live(args_of(of, first.data(), second.data())), wanted = expected(of);
    EXPECT_TRUE(found.begin == wanted.begin && found.end == wanted.end)
        << kernel.name << ": " << found.begin << " to " << found.end << ", expected " << wanted.begin << " to "
        << wanted.end << " of " << of.keys;
  }
}

/// Each row sees the keys from `before` before its own to its own.
std::vector<float> window(std::size_t rows, std::size_t keys, std::size_t first, std::size_t before, float barred) {
  std::vector<float> addends(rows * keys, barred);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t key = 0; key < keys; ++key)
      if (key <= first + row && key + before >= first + row) addends[row * keys + key] = 0.25f;
  return addends;
}

TEST(AttentionLive, WindowsOfEverySize) {
  for (const std::size_t keys : {1, 63, 64, 65, 128, 200, 700})
    for (const std::size_t first : {0, 40, 150, 600})
      for (const std::size_t before : {0, 30, 100, 1000})
        for (const float barred : {-kInfinity, kLowest, -1e12f, -1e9f, -1e4f}) {
          const Addends one{9, keys, window(9, keys, first, before, barred), {}};
          check(one);
          check({1, keys, window(1, keys, first, before, barred), {}, true});
          check({9, keys, one.first, window(9, keys, first / 2, 300, kLowest)});
        }
}

TEST(AttentionLive, RowsWithoutAKey) {
  for (const float barred : {-kInfinity, kLowest})
    for (const std::size_t empty : {0, 4, 8}) {
      Addends of{9, 300, window(9, 300, 100, 20, barred), {}};
      std::fill_n(of.first.begin() + static_cast<std::ptrdiff_t>(empty * 300), 300, barred);
      check(of);
    }
  check({2, 300, std::vector<float>(600, -kInfinity), {}});
  check({2, 300, std::vector<float>(600, kLowest), {}});
}

/// A key that is far below, but not barred, is no reason to leave out barred ones.
TEST(AttentionLive, RowsWithFarKeysOnly) {
  std::vector<float> addends(300, kLowest);
  addends[10] = -1e9f;
  check({1, 300, addends, {}});
  addends[11] = 0;
  check({1, 300, addends, {}});
}

TEST(AttentionLive, NoAddends) {
  attention::SharesArgs args;
  args.rows = 3, args.keys = 300;
  for (const attention::Kernel& kernel : runnable(attention::table())) {
    EXPECT_EQ(kernel.live(args).begin, 0U);
    EXPECT_EQ(kernel.live(args).end, 300U);
  }
}

}  // namespace
}  // namespace colonnade::kernels::test
