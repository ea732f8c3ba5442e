// SPDX-License-Identifier: Apache-2.0
#include "kernels/typed_product/typed_product.hpp"

#include "kernels_rows/typed.hpp"

namespace colonnade::kernels::test {
namespace {

using typed_product::Type;

/// Nothing has an address too.
std::size_t some(std::size_t count) { return std::max<std::size_t>(count, 1); }

template <class T>
std::vector<T> numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> values(some(count));
  for (T& x : values) {
    if constexpr (std::is_floating_point_v<T>)
      x = static_cast<T>(random() % 199) / 16 - 6;
    else
      x = random() % 5 == 0 ? std::numeric_limits<T>::min() : static_cast<T>(random());
  }
  return values;
}

struct Sizes {
  std::size_t m, k, n;
  bool a_by_columns, b_by_columns, bias;
};

/// Operands lie with gaps between their rows; what is between the rows of the result stays as it was.
template <class A, class B, class Sum>
struct Case {
  static constexpr std::size_t kGap = 3;
  static constexpr bool kOfBytes = sizeof(A) == 1 && sizeof(B) == 1;

  explicit Case(const Sizes& sizes) : s(sizes) {}

  std::size_t a_at(std::size_t m, std::size_t k) const { return s.a_by_columns ? k * a_row + m : m * a_row + k; }
  std::size_t b_at(std::size_t k, std::size_t n) const { return s.b_by_columns ? n * b_row + k : k * b_row + n; }

  Sum expected(std::size_t m, std::size_t n) const {
    Sum sum = s.bias ? bias[n] : 0;
    for (std::size_t k = 0; k < s.k; ++k)
      sum += (static_cast<Sum>(a[a_at(m, k)]) - static_cast<Sum>(a_zero)) *
             (static_cast<Sum>(b[b_at(k, n)]) - static_cast<Sum>(b_zero));
    return sum;
  }

  void check(const std::vector<Sum>& out) const {
    for (std::size_t i = 0; i < s.m * out_row; ++i) {
      const std::size_t m = i / out_row, n = i % out_row;
      if (n >= s.n)
        ASSERT_EQ(out[i], before[i]);
      else if constexpr (std::is_floating_point_v<Sum>)
        ASSERT_NEAR(out[i], expected(m, n), 1e-11);
      else
        ASSERT_EQ(out[i], expected(m, n)) << m << ' ' << n;
    }
  }

  Sizes s;
  std::size_t a_row = (s.a_by_columns ? s.m : s.k) + kGap, b_row = (s.b_by_columns ? s.k : s.n) + kGap;
  std::size_t out_row = s.n + kGap;
  std::vector<A> a = numbers<A>((s.a_by_columns ? s.k : s.m) * a_row, 1);
  std::vector<B> b = numbers<B>((s.b_by_columns ? s.n : s.k) * b_row, 2);
  std::vector<Sum> bias = numbers<Sum>(s.n, 3), before = numbers<Sum>(s.m * out_row, 4);
  std::int32_t a_zero = kOfBytes && s.bias ? std::numeric_limits<A>::max() : 0;
  std::int32_t b_zero = kOfBytes && s.a_by_columns ? std::numeric_limits<B>::min() + 3 : 0;
};

template <class A, class B, class Sum>
void check_product(const typed_product::Kernel& kernel, Type of_a, Type of_b, const Sizes& s) {
  SCOPED_TRACE(std::string(kernel.name) + " " + std::to_string(s.m) + "x" + std::to_string(s.k) + "x" +
               std::to_string(s.n) + " of " + std::to_string(static_cast<int>(of_a)));
  const std::size_t terms = kernel.terms(of_a, of_b);
  if (terms == 0) return;  // another row of the table has them
  const Case<A, B, Sum> made(s);
  const auto stride = [](std::size_t elements) { return static_cast<std::ptrdiff_t>(elements); };
  const std::size_t panels = (s.n + typed_product::kPanel - 1) / typed_product::kPanel;
  std::vector<Sum> packed(some(panels * typed_product::panel_bytes(terms, of_b, s.k) / sizeof(Sum)), Sum{7});
  std::vector<Sum> out = made.before, by_few = made.before;
  kernel.pack(of_a, of_b)(
      {s.k, s.n, made.b.data(), stride(made.b_at(1, 0)), stride(made.b_at(0, 1)), packed.data(), made.b_zero});
  std::vector<std::uint32_t> room(some(typed_product::room_bytes(terms, s.m, s.k) / sizeof(std::uint32_t)));
  typed_product::ProductArgs args{s.m, s.k, s.n, made.a.data(), stride(made.a_at(1, 0)), stride(made.a_at(0, 1))};
  args.b = packed.data(), args.bias = s.bias ? made.bias.data() : nullptr;
  args.out = out.data(), args.out_stride = stride(made.out_row), args.room = room.data();
  args.a_zero = made.a_zero, args.b_zero = made.b_zero;
  kernel.product(of_a, of_b)(args);
  made.check(out);
  const typed_product::ProductFn few = kernel.few(of_a, of_b);
  if (few == nullptr || s.m > typed_product::kFewRows || s.b_by_columns) return;
  args.b = made.b.data(), args.b_stride = stride(made.b_row), args.out = by_few.data();
  few(args);
  made.check(by_few);
}

void check_types(const typed_product::Kernel& kernel, const Sizes& sizes) {
  check_product<double, double, double>(kernel, Type::f64, Type::f64, sizes);
  check_product<std::int64_t, std::int64_t, std::uint64_t>(kernel, Type::i64, Type::i64, sizes);
  check_product<std::int32_t, std::int32_t, std::uint32_t>(kernel, Type::i32, Type::i32, sizes);
  check_product<std::int8_t, std::uint8_t, std::uint32_t>(kernel, Type::i8, Type::u8, sizes);
  check_product<std::uint8_t, std::int8_t, std::uint32_t>(kernel, Type::u8, Type::i8, sizes);
  check_product<std::int8_t, std::int8_t, std::uint32_t>(kernel, Type::i8, Type::i8, sizes);
  check_product<std::uint8_t, std::uint8_t, std::uint32_t>(kernel, Type::u8, Type::u8, sizes);
  check_product<std::int16_t, std::uint8_t, std::uint32_t>(kernel, Type::i16, Type::u8, sizes);
  check_product<std::int16_t, std::int16_t, std::uint32_t>(kernel, Type::i16, Type::i16, sizes);
  check_product<std::int8_t, std::int32_t, std::uint32_t>(kernel, Type::i8, Type::i32, sizes);
  check_product<std::int32_t, std::int16_t, std::uint32_t>(kernel, Type::i32, Type::i16, sizes);
}

TEST(TypedProduct, EveryTypeAndStride) {
  for (const auto& kernel : runnable(typed_product::table()))
    for (const auto& [m, k, n] : {std::array<std::size_t, 3>{1, 1, 1},
                                  {3, 7, 15},
                                  {13, 5, 16},
                                  {4, 17, 33},
                                  {29, 3, 100},
                                  {12, 40, 17},
                                  {9, 131, 130},
                                  {1, 70, 200},
                                  {2, 66, 64},
                                  {4, 9, 129},
                                  {0, 3, 3},
                                  {2, 0, 5},
                                  {2, 3, 0}})
      for (const bool a_by_columns : {true, false})
        for (const bool b_by_columns : {true, false})
          check_types(kernel, {m, k, n, a_by_columns, b_by_columns, a_by_columns != b_by_columns});
}

/// Rows and columns beside it do not change an element's bits.
TEST(TypedProduct, OfAnyNumberOfRowsHasTheSameBits) {
  constexpr std::size_t kRows = 31, kDepth = 50, kColumns = 40;
  const auto a = numbers<double>(kRows * kDepth, 1), b = numbers<double>(kDepth * kColumns, 2);
  for (const auto& kernel : runnable(typed_product::table())) {
    if (kernel.terms(Type::f64, Type::f64) == 0) continue;
    std::vector<double> packed(3 * kDepth * typed_product::kPanel), whole(kRows * kColumns), rows = whole;
    kernel.pack(Type::f64, Type::f64)({kDepth, kColumns, b.data(), kColumns, 1, packed.data()});
    typed_product::ProductArgs args{kRows, kDepth,        kColumns, a.data(),     kDepth,
                                    1,     packed.data(), nullptr,  whole.data(), kColumns};
    kernel.product(Type::f64, Type::f64)(args);
    for (std::size_t m = 0, some = 1; m < kRows; m += some, some = std::min(some + 1, kRows - m)) {
      args.m = some;
      args.a = a.data() + m * kDepth;
      args.out = rows.data() + m * kColumns;
      kernel.product(Type::f64, Type::f64)(args);
    }
    EXPECT_EQ(std::memcmp(whole.data(), rows.data(), whole.size() * sizeof(double)), 0) << kernel.name;
  }
}

}  // namespace
}  // namespace colonnade::kernels::test
