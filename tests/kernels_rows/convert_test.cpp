// SPDX-License-Identifier: Apache-2.0
// Every tier against Tensor::converted, which is ONNX's Cast: all patterns of 16 and 8 bits, floats around every value
// of 16 bits and every rounding.
#include "kernels/convert/convert.hpp"

#include "colonnade/colonnade.hpp"
#include "kernels_rows/support.hpp"

namespace colonnade::kernels::test {
namespace {

using convert::Type;

constexpr DType kTypes[convert::kTypeCount] = {DType::f32,        DType::bf16,   DType::f16,
                                               DType::u8,         DType::i8,     DType::f8e4m3fn,
                                               DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz};

DType dtype(Type type) { return kTypes[static_cast<std::size_t>(type)]; }
std::size_t bytes_of(Type type) { return size_of(dtype(type)); }

/// Upper halves of all floats, with lower halves that are rounded down, up and to even, to 16 bits of either kind.
Tensor patterns_of(Type type) {
  constexpr std::uint32_t kLower[] = {0x0000, 0x0001, 0x0fff, 0x1000, 0x1001, 0x3000,
                                      0x7fff, 0x8000, 0x8001, 0x9000, 0xb000, 0xffff};
  const std::int64_t count =
      type == Type::f32 ? 65536 * static_cast<std::int64_t>(std::size(kLower)) : std::int64_t{1} << 8 * bytes_of(type);
  Tensor tensor(dtype(type), {count});
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(count); ++i) {
    const std::uint32_t bits = type == Type::f32 ? i / 12 << 16 | kLower[i % 12] : i;
    std::memcpy(static_cast<std::byte*>(tensor.data()) + i * bytes_of(type), &bits, bytes_of(type));
  }
  return tensor;
}

std::uint32_t bits_at(const std::byte* elements, Type type, std::size_t i) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, elements + i * bytes_of(type), bytes_of(type));
  return bits;
}

bool is_nan(std::uint32_t bits, Type type) {
  if (type == Type::f32) return (bits & 0x7fffffffu) > 0x7f800000u;
  if (type == Type::bf16) return (bits & 0x7fffu) > 0x7f80u;
  return type == Type::f16 && (bits & 0x7fffu) > 0x7c00u;
}

void check_patterns(const convert::Kernel& kernel, Type from, Type to) {
  const Tensor in = patterns_of(from), expected = in.converted(dtype(to));
  Tensor found(dtype(to), in.shape());
  const auto count = static_cast<std::size_t>(in.size());
  kernel.convert(from, to)({1, count, in.data(), found.data(), 0, 0});
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count && wrong < 10; ++i) {
    const std::uint32_t got = bits_at(static_cast<const std::byte*>(found.data()), to, i);
    const std::uint32_t want = bits_at(static_cast<const std::byte*>(expected.data()), to, i);
    if (got == want || (is_nan(got, to) && is_nan(want, to))) continue;
    ++wrong;
    ADD_FAILURE() << kernel.name << " " << name_of(dtype(from)) << " to " << name_of(dtype(to)) << ": " << std::hex
                  << bits_at(static_cast<const std::byte*>(in.data()), from, i) << " became " << got << ", not "
                  << want;
  }
}

TEST(Convert, AgreesWithTheReference) {
  for (const auto& kernel : runnable(convert::table()))
    for (int from = 0; from < convert::kTypeCount; ++from)
      for (int to = 0; to < convert::kTypeCount; ++to)
        check_patterns(kernel, static_cast<Type>(from), static_cast<Type>(to));
}

/// NaN too.
TEST(Convert, GivesTheSameBitsOnEveryTier) {
  const auto kernels = runnable(convert::table());
  for (int from = 0; from < convert::kTypeCount; ++from)
    for (int to = 0; to < convert::kTypeCount; ++to) {
      const Tensor in = patterns_of(static_cast<Type>(from));
      Tensor first(kTypes[to], in.shape()), other(kTypes[to], in.shape());
      const auto count = static_cast<std::size_t>(in.size());
      for (const auto& kernel : kernels) {
        Tensor& out = &kernel == &kernels.front() ? first : other;
        kernel.convert(static_cast<Type>(from), static_cast<Type>(to))({1, count, in.data(), out.data(), 0, 0});
        EXPECT_TRUE(&out == &first || std::memcmp(first.data(), other.data(), first.byte_size()) == 0)
            << kernel.name << " " << name_of(kTypes[from]) << " to " << name_of(kTypes[to]);
      }
    }
}

void check_rows(const convert::Kernel& kernel, Type from, Type to, std::size_t channels, std::size_t gap) {
  using Bytes = colonnade::test::Guarded<std::uint8_t>;
  constexpr std::size_t kPixels = 3;
  const std::size_t in_stride = channels * bytes_of(from) + gap * bytes_of(from);
  const std::size_t out_stride = channels * bytes_of(to) + 2 * gap * bytes_of(to);
  Bytes in((kPixels - 1) * in_stride + channels * bytes_of(from));
  Bytes out((kPixels - 1) * out_stride + channels * bytes_of(to));
  Tensor numbers(DType::f32, {static_cast<std::int64_t>(kPixels * channels)});
  for (std::size_t i = 0; i < kPixels * channels; ++i) numbers.values<float>()[i] = static_cast<float>(i % 100);
  const Tensor source = numbers.converted(dtype(from)), expected = source.converted(dtype(to));
  for (std::size_t p = 0; p < kPixels; ++p)
    std::memcpy(in.data() + p * in_stride, static_cast<const std::byte*>(source.data()) + p * channels * bytes_of(from),
                channels * bytes_of(from));
  std::fill_n(out.data(), out.size(), std::uint8_t{0xaa});
  kernel.convert(from, to)({kPixels, channels, in.data(), out.data(), static_cast<std::ptrdiff_t>(in_stride),
                            static_cast<std::ptrdiff_t>(out_stride)});
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t at = i % out_stride, pixel = channels * bytes_of(to);
    const auto* want = static_cast<const std::uint8_t*>(expected.data());
    ASSERT_EQ(out[i], at < pixel ? want[i / out_stride * pixel + at] : 0xaa) << "byte " << i;
  }
  ASSERT_TRUE(in.intact() && out.intact());
}

TEST(Convert, WalksPixels) {
  for (const auto& kernel : runnable(convert::table()))
    for (int from = 0; from < convert::kTypeCount; ++from)
      for (int to = 0; to < convert::kTypeCount; ++to)
        for (const std::size_t channels : {1u, 2u, 3u, 5u, 7u, 8u, 15u, 16u, 17u, 31u, 33u, 67u, 255u, 256u, 257u})
          for (const std::size_t gap : {0u, 3u}) {
            SCOPED_TRACE(::testing::Message() << kernel.name << " " << name_of(kTypes[from]) << " to "
                                              << name_of(kTypes[to]) << " " << channels << " gap " << gap);
            check_rows(kernel, static_cast<Type>(from), static_cast<Type>(to), channels, gap);
            if (HasFatalFailure()) return;
          }
  const auto& kernel = convert::select(Isa::baseline);
  kernel.convert(Type::f32, Type::u8)({0, 4, nullptr, nullptr, 16, 4});
}

}  // namespace
}  // namespace colonnade::kernels::test
