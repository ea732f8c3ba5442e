// SPDX-License-Identifier: Apache-2.0
// Every tier against plain loops: all bytes, floats on and beside every tie, strides, parameters of pixels and
// channels.
#include "kernels/bytes/bytes.hpp"

#include "kernels_rows/support.hpp"

namespace colonnade::kernels::test {
namespace {

using namespace bytes;
using colonnade::test::Guarded;

template <class T>
constexpr Type type_of() {
  if (std::is_floating_point_v<T>) return Type::f32;
  if (sizeof(T) == 4) return Type::i32;
  return std::is_signed_v<T> ? Type::i8 : Type::u8;
}

template <class T>
T saturated(double number) {
  if (std::isnan(number)) return 0;
  return static_cast<T>(std::clamp<double>(number, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}
template <class T>
T quantized(float x, float scale, T zero) {
  const volatile float quotient = x / scale;
  return saturated<T>(std::nearbyint(static_cast<double>(quotient)) + zero);
}
template <class T>
float dequantized(T x, float scale, T zero) {
  const volatile float difference = static_cast<float>(x) - static_cast<float>(zero);
  return difference * scale;
}

std::ptrdiff_t step(std::size_t stride) { return static_cast<std::ptrdiff_t>(stride); }

/// What lies on ties, beside them by a few units in the last place, and beyond all bounds.
std::vector<float> numbers_around(float scale) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> numbers{0.0f, -0.0f, infinity, -infinity, nan, 1e38f, -1e38f, 1e-40f, -1e-40f};
  for (int i = -600; i <= 600; ++i) {
    float x = static_cast<float>(i) * 0.5f * scale;
    for (int k = 0; k < 3; ++k) x = std::nextafter(x, -infinity);
    for (int k = 0; k < 7; ++k, x = std::nextafter(x, infinity)) numbers.push_back(x);
  }
  const std::vector<float> random = random_floats(2000, 5, -300, 300);
  for (const float x : random) numbers.push_back(x * scale);
  return numbers;
}

template <class T>
void check_roundings(const Kernel& kernel, float scale, T zero) {
  const std::vector<float> numbers = numbers_around(scale);
  const Guarded<float> in{std::span<const float>(numbers)};
  const Guarded<T> out(numbers.size());
  const std::ptrdiff_t stride = step(numbers.size());
  kernel.quantize(type_of<T>())({{1, numbers.size(), stride, stride}, {&scale, &zero, 0, 0}, in.data(), out.data()});
  int wrong = 0;
  for (std::size_t i = 0; i < numbers.size() && wrong < 5; ++i)
    if (const T want = quantized(numbers[i], scale, zero); out[i] != want) {
      ++wrong;
      ADD_FAILURE() << kernel.name << ": " << numbers[i] << " / " << scale << " + " << +zero << " became " << +out[i]
                    << ", not " << +want;
    }
  EXPECT_TRUE(out.intact());
}

TEST(Bytes, RoundQuotientsToEven) {
  for (const Kernel& kernel : runnable(table()))
    for (const float scale : {0.01f, 1.0f, 2.0f, 1.0f / 3, 0.30000001f, 1e-30f, 1e30f, 0x1p-110f, 0x1p105f, -0.5f, 0.0f,
                              std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      for (const int zero : {0, 1, 128, 255}) check_roundings(kernel, scale, static_cast<std::uint8_t>(zero));
      for (const int zero : {-128, -1, 0, 7, 127}) check_roundings(kernel, scale, static_cast<std::int8_t>(zero));
    }
}

/// How rows lie in memory, and which parameters they have.
struct Layout {
  std::size_t pixels, channels, gap;
  std::ptrdiff_t pixel_step, channel_step;

  std::size_t parameters() const { return pixel_step ? pixels : channel_step ? channels : 1; }
  std::size_t parameter(std::size_t p, std::size_t c) const {
    return p * static_cast<std::size_t>(pixel_step) + c * static_cast<std::size_t>(channel_step);
  }
  std::size_t in_stride() const { return channels + gap; }
  std::size_t out_stride() const { return channels + 2 * gap; }
  std::size_t extent(std::size_t stride) const { return pixels * channels == 0 ? 0 : (pixels - 1) * stride + channels; }
  Pixels rows() const { return {pixels, channels, step(in_stride()), step(out_stride())}; }
  std::string name() const {
    return std::to_string(pixels) + " pixels of " + std::to_string(channels) + ", gap " + std::to_string(gap) +
           ", steps " + std::to_string(pixel_step) + " " + std::to_string(channel_step);
  }
};

template <class Check>
void for_layouts(Check check) {
  for (const std::size_t channels : {0u, 1u, 2u, 3u, 5u, 15u, 16u, 31u, 33u, 63u, 64u, 65u, 127u, 129u, 257u})
    for (const std::size_t pixels : {0u, 1u, 2u, 3u, 90u})
      for (const std::size_t gap : {0u, 3u})
        for (const auto& [pixel_step, channel_step] : {std::pair(0, 0), {0, 1}, {1, 0}}) {
          const Layout layout{pixels, channels, gap, pixel_step, channel_step};
          SCOPED_TRACE(layout.name());
          check(layout);
          if (::testing::Test::HasFatalFailure()) return;
        }
}

/// out is want(p, c) where rows have elements, and untouched elsewhere.
template <class T, class Want>
void expect_rows(const Guarded<T>& out, const Layout& layout, Want want) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t p = i / layout.out_stride(), c = i % layout.out_stride();
    T expected;
    std::memset(&expected, 0xaa, sizeof expected);
    if (c < layout.channels) expected = want(p, c);
    ASSERT_EQ(std::memcmp(&out[i], &expected, sizeof(T)), 0) << "element " << i;
  }
  ASSERT_TRUE(out.intact());
}

template <class T>
std::vector<T> random_bytes(std::size_t size, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<T> bytes(size);
  for (T& x : bytes) x = static_cast<T>(generator());
  return bytes;
}

template <class T>
struct Given {
  Guarded<float> scale;
  Guarded<T> zero;
  explicit Given(const Layout& layout)
      : scale(std::span<const float>(random_floats(layout.parameters(), 3, 0.01f, 0.02f))),
        zero(std::span<const T>(random_bytes<T>(layout.parameters(), 4))) {}
  Parameters of(const Layout& layout) const {
    return {scale.data(), zero.data(), layout.pixel_step, layout.channel_step};
  }
};

template <class T>
void check_quantize(const Kernel& kernel, const Layout& layout) {
  const Given<T> given(layout);
  const Guarded<float> in{std::span<const float>(random_floats(layout.extent(layout.in_stride()), 1, -5, 5))};
  const Guarded<T> out(layout.extent(layout.out_stride()));
  std::memset(out.data(), 0xaa, out.size());
  kernel.quantize(type_of<T>())({layout.rows(), given.of(layout), in.data(), out.data()});
  expect_rows(out, layout, [&](std::size_t p, std::size_t c) {
    const std::size_t at = layout.parameter(p, c);
    return quantized(in[p * layout.in_stride() + c], given.scale[at], given.zero[at]);
  });
}

template <class T>
void check_dequantize(const Kernel& kernel, const Layout& layout) {
  const Given<T> given(layout);
  const Guarded<T> in{std::span<const T>(random_bytes<T>(layout.extent(layout.in_stride()), 1))};
  const Guarded<float> out(layout.extent(layout.out_stride()));
  std::memset(out.data(), 0xaa, out.size() * sizeof(float));
  kernel.dequantize(type_of<T>())({layout.rows(), given.of(layout), in.data(), out.data()});
  expect_rows(out, layout, [&](std::size_t p, std::size_t c) {
    const std::size_t at = layout.parameter(p, c);
    return dequantized(in[p * layout.in_stride() + c], given.scale[at], given.zero[at]);
  });
}

template <class T>
void check_lookup(LookupFn lookup, const Layout& layout) {
  const Guarded<std::uint8_t> in{
      std::span<const std::uint8_t>(random_bytes<std::uint8_t>(layout.extent(layout.in_stride()), 1))};
  std::vector<T> entries(256);
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = static_cast<T>(i * 37 % 256);
  const Guarded<T> entry{std::span<const T>(entries)};
  const Guarded<T> out(layout.extent(layout.out_stride()));
  std::memset(out.data(), 0xaa, out.size() * sizeof(T));
  lookup({layout.rows(), in.data(), entry.data(), out.data()});
  expect_rows(out, layout, [&](std::size_t p, std::size_t c) { return entries[in[p * layout.in_stride() + c]]; });
}

TEST(Bytes, WalkPixels) {
  for (const Kernel& kernel : runnable(table())) {
    SCOPED_TRACE(kernel.name);
    for_layouts([&](const Layout& layout) {
      check_quantize<std::uint8_t>(kernel, layout);
      check_quantize<std::int8_t>(kernel, layout);
      check_dequantize<std::uint8_t>(kernel, layout);
      check_dequantize<std::int8_t>(kernel, layout);
      check_dequantize<std::int32_t>(kernel, layout);
      check_lookup<std::uint8_t>(kernel.lookup_bytes, layout);
      check_lookup<float>(kernel.lookup_floats, layout);
    });
    if (HasFatalFailure()) return;
  }
}

TEST(Bytes, LookUpEveryByteAtEveryPlace) {
  std::vector<std::uint8_t> in(256 * 67), entries(256);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint8_t>(i / 67);
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = static_cast<std::uint8_t>(i * 149 + 7);
  for (const Kernel& kernel : runnable(table())) {
    std::vector<std::uint8_t> out(in.size());
    kernel.lookup_bytes({{1, in.size(), 0, 0}, in.data(), entries.data(), out.data()});
    for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], entries[in[i]]) << kernel.name << " byte " << i;
  }
}

/// What BinaryArgs says, by the library's fma.
template <class T>
T combined(const BinaryArgs& args, std::uint8_t a, std::uint8_t b) {
  const auto x = static_cast<float>(a - args.a.zero), y = static_cast<float>(b - args.b.zero);
  const volatile float scaled = y * args.b.factor;
  const float v = args.op == bytes::Binary::add ? std::fma(x, args.a.factor, scaled) : x * y * args.a.factor;
  if constexpr (std::is_floating_point_v<T>) return v;
  return static_cast<T>(std::nearbyint(std::clamp(v, args.low, args.high)) + static_cast<float>(args.zero));
}

template <class T>
void check_pairs(const Kernel& kernel, BinaryArgs args) {
  std::vector<std::uint8_t> a(65536), b(65536);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<std::uint8_t>(i & 255);
    b[i] = static_cast<std::uint8_t>(i >> 8);
  }
  const Guarded<std::uint8_t> left{std::span<const std::uint8_t>(a)}, right{std::span<const std::uint8_t>(b)};
  const Guarded<T> out(a.size());
  args.pixels = 1;
  args.channels = a.size();
  args.a.bytes = left.data();
  args.b.bytes = right.data();
  args.out = out.data();
  kernel.binary(type_of<T>())(args);
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(+out[i], +combined<T>(args, a[i], b[i]))
        << kernel.name << ": " << +a[i] << " and " << +b[i] << " by " << args.a.factor << " and " << args.b.factor;
  ASSERT_TRUE(out.intact());
}

TEST(Bytes, CombineAllPairs) {
  for (const Kernel& kernel : runnable(table()))
    for (const bytes::Binary op : {bytes::Binary::add, bytes::Binary::mul})
      for (const auto& [left, right] :
           {std::pair(0.5f, 0.25f), {0.5123f, 0.3f}, {1e-3f, 7.0f}, {0.01f, 0.02f}, {100.0f, -3.0f}, {1e30f, 1e-30f}}) {
        BinaryArgs args;
        args.op = op;
        args.a = {nullptr, 0, 1, 100, left};
        args.b = {nullptr, 0, 1, 3, right};
        args.zero = 77;
        args.low = -77;
        args.high = 178;
        check_pairs<std::uint8_t>(kernel, args);
        check_pairs<float>(kernel, args);
        args.high = 177;
        check_pairs<std::uint8_t>(kernel, args);
        args.zero = args.b.zero = 0;
        args.low = -128;
        args.high = 127;
        check_pairs<std::int8_t>(kernel, args);
        args.b.zero = 255;
        args.zero = -5;
        args.low = 5;
        args.high = 100;
        check_pairs<std::int8_t>(kernel, args);
        if (HasFatalFailure()) return;
      }
}

/// 1/2 and a little more than half a unit in its last place, so little that a sum in double precision loses it: a sum
/// that is rounded to double and then to float is 1/2, which becomes 0.
TEST(Bytes, RoundSumsOnce) {
  for (int x = 3; x < 256; x += 2) {
    const int power = 23 + std::ilogb(static_cast<float>(x)) + 1;
    const auto significand = static_cast<float>(((std::int64_t{1} << power) + x - 1) / x);
    const std::vector<std::uint8_t> a(64, static_cast<std::uint8_t>(x)), b(64, 1);
    BinaryArgs args;
    args.pixels = 1;
    args.channels = a.size();
    args.a = {a.data(), 0, 1, 0, std::ldexp(significand, -25 - power)};
    args.b = {b.data(), 0, 1, 0, 0.5f};
    for (const Kernel& kernel : runnable(table()))
      for (const std::size_t channels : {std::size_t{1}, a.size()}) {
        std::vector<std::uint8_t> out(64);
        args.channels = channels;
        args.out = out.data();
        kernel.binary(Type::u8)(args);
        ASSERT_EQ(+out[0], 1) << kernel.name << " " << x << " by " << args.a.factor;
        ASSERT_EQ(+out[0], +combined<std::uint8_t>(args, a[0], 1));
      }
  }
}

/// An operand of rows: its steps, and the elements that it has.
struct Rows {
  std::size_t pixel, channel;
  std::size_t size(std::size_t pixels, std::size_t channels) const {
    return (pixels - 1) * pixel + (channels - 1) * channel + 1;
  }
};

template <class T>
void check_broadcast(const Kernel& kernel, std::size_t pixels, std::size_t channels, Rows left, Rows right,
                     std::size_t gap) {
  const Guarded<std::uint8_t> a{
      std::span<const std::uint8_t>(random_bytes<std::uint8_t>(left.size(pixels, channels), 1))};
  const Guarded<std::uint8_t> b{
      std::span<const std::uint8_t>(random_bytes<std::uint8_t>(right.size(pixels, channels), 2))};
  const Layout layout{pixels, channels, gap, 0, 0};
  const Guarded<T> out(layout.extent(layout.out_stride()));
  std::memset(out.data(), 0xaa, out.size() * sizeof(T));
  BinaryArgs args;
  args.pixels = pixels;
  args.channels = channels;
  args.a = {a.data(), step(left.pixel), step(left.channel), 3, 0.4f};
  args.b = {b.data(), step(right.pixel), step(right.channel), 200, 0.7f};
  args.out = out.data();
  args.out_pixel_stride = step(layout.out_stride());
  kernel.binary(type_of<T>())(args);
  expect_rows(out, layout, [&](std::size_t p, std::size_t c) {
    return combined<T>(args, a[p * left.pixel + c * left.channel], b[p * right.pixel + c * right.channel]);
  });
}

TEST(Bytes, BroadcastOperands) {
  for (const Kernel& kernel : runnable(table()))
    for (const std::size_t channels : {1u, 2u, 3u, 16u, 31u, 64u, 65u, 130u, 300u})
      for (const std::size_t pixels : {1u, 2u, 3u, 29u, 90u})
        for (const std::size_t gap : {0u, 3u}) {
          const Rows kinds[] = {{0, 0}, {0, 1}, {1, 0}, {channels, 1}, {channels + 5, 1}};
          for (const Rows& left : kinds)
            for (const Rows& right : kinds) {
              SCOPED_TRACE(::testing::Message()
                           << kernel.name << " " << pixels << " pixels of " << channels << ", steps " << left.pixel
                           << " " << left.channel << " and " << right.pixel << " " << right.channel << ", gap " << gap);
              check_broadcast<std::uint8_t>(kernel, pixels, channels, left, right, gap);
              check_broadcast<float>(kernel, pixels, channels, left, right, gap);
              if (HasFatalFailure()) return;
            }
        }
}

}  // namespace
}  // namespace colonnade::kernels::test
