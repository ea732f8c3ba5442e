// SPDX-License-Identifier: Apache-2.0
// Against sums of integers and the formula that the contract gives, bit for bit.
#include "kernels/byte_depthwise/byte_depthwise.hpp"

#include "kernels_rows/support.hpp"

namespace colonnade::kernels::test {
namespace {

using byte_depthwise::Type;

struct Case {
  std::size_t height, width, channels, kernel_h, kernel_w, stride, dilation, pad;
  Type type = Type::u8;
  bool whole = false;  ///< all bytes, none of them moved
  bool one_factor = false, offsets = true, shifts = true;
  std::uint8_t x_zero = 131;
  float scale = 0.004f;
  std::size_t gap = 0;  ///< elements between pixels

  std::size_t extent(std::size_t k) const { return (k - 1) * dilation + 1; }
  std::size_t rows() const { return (height + 2 * pad - extent(kernel_h)) / stride + 1; }
  std::size_t columns() const { return (width + 2 * pad - extent(kernel_w)) / stride + 1; }
  std::size_t element() const { return type == Type::u8 || type == Type::i8 ? 1 : 4; }
};

template <class T>
std::vector<T> random_integers(std::size_t size, unsigned seed, int low, int high) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> distribution(low, high);
  std::vector<T> values(size);
  for (T& x : values) x = static_cast<T>(distribution(generator));
  return values;
}

/// Both ends of the range often, so that sums are as large as they can be.
std::vector<std::int8_t> random_weights(std::size_t size, unsigned seed) {
  std::vector<std::int8_t> weights = random_integers<std::int8_t>(size, seed, -128, 127);
  for (std::size_t i = 0; i < size; i += 3) weights[i] = i % 2 ? 127 : -128;
  return weights;
}

/// 64-byte aligned bytes.
struct Room {
  explicit Room(std::size_t bytes) : bytes_(bytes + 64) {}
  std::byte* data() {
    const auto at = reinterpret_cast<std::uintptr_t>(bytes_.data());
    return bytes_.data() + (64 - at % 64) % 64;
  }

 private:
  std::vector<std::byte> bytes_;
};

template <class T>
colonnade::test::Guarded<T> guarded(const std::vector<T>& values, Edge edge) {
  return colonnade::test::Guarded<T>(std::span<const T>(values), edge);
}

struct Problem {
  Case c;
  std::vector<std::int8_t> weights;
  std::vector<std::int32_t> offset;
  std::vector<float> factor, shift;
  colonnade::test::Guarded<std::uint8_t> in;
  colonnade::test::Guarded<std::byte> out;
  std::vector<const std::uint8_t*> in_rows, room;
  std::vector<std::byte*> out_rows;
  std::unique_ptr<Room> packed, prepared;

  std::size_t pixel() const { return c.channels + c.gap; }
  static std::size_t elements(std::size_t pixels, const Case& k) {
    return (pixels - 1) * (k.channels + k.gap) + k.channels;
  }

  Problem(const Case& k, unsigned seed)
      : c(k),
        weights(random_weights(k.channels * k.kernel_h * k.kernel_w, seed)),
        offset(random_integers<std::int32_t>(k.channels, seed + 1, -9000, 9000)),
        factor(random_floats(k.channels, seed + 2, 0, k.scale)),
        shift(random_floats(k.channels, seed + 3, -40, 40)),
        in(guarded(random_integers<std::uint8_t>(elements(k.height * k.width, k), seed + 4, 0, 255),
                   seed % 2 ? Edge::front : Edge::back)),
        out(elements(k.rows() * k.columns(), k) * k.element(), seed % 3 ? Edge::back : Edge::front),
        room(byte_depthwise::rows_of(k.kernel_h)) {
    for (std::size_t row = 0; row < c.rows(); ++row) {
      out_rows.push_back(out.data() + row * c.columns() * pixel() * c.element());
      for (std::size_t ky = 0; ky < c.kernel_h; ++ky) {
        const auto y = static_cast<long>(row * c.stride + ky * c.dilation) - static_cast<long>(c.pad);
        const bool exists = y >= 0 && y < static_cast<long>(c.height);
        in_rows.push_back(exists ? in.data() + static_cast<std::size_t>(y) * c.width * pixel() : nullptr);
      }
    }
  }

  byte_depthwise::Args args(const byte_depthwise::Kernel& kernel) {
    const byte_depthwise::Shape shape{c.channels, c.kernel_h, c.kernel_w};
    const byte_depthwise::Numbers numbers{c.x_zero, c.offsets ? offset.data() : nullptr,
                                          c.type == Type::i32 ? nullptr : factor.data(), !c.one_factor,
                                          c.shifts ? shift.data() : nullptr};
    packed = std::make_unique<Room>(kernel.packed_bytes(shape));
    prepared = std::make_unique<Room>(kernel.prepared_bytes(shape));
    kernel.pack(shape, weights.data(), packed->data());
    kernel.prepare(shape, numbers, packed->data(), prepared->data());
    byte_depthwise::Args a;
    a.rows = c.rows();
    a.in_rows = in_rows.data();
    a.out_rows = out_rows.data();
    a.width_in = c.width;
    a.width_out = c.columns();
    a.kernel_h = c.kernel_h;
    a.kernel_w = c.kernel_w;
    a.stride_w = c.stride;
    a.dilation_w = c.dilation;
    a.pad_left = c.pad;
    a.channels = c.channels;
    a.in_pixel_stride = static_cast<std::ptrdiff_t>(pixel());
    a.out_pixel_stride = static_cast<std::ptrdiff_t>(pixel() * c.element());
    a.weights = packed->data();
    a.numbers = prepared->data();
    a.x_zero = c.x_zero;
    a.out = output();
    a.row_room = room.data();
    return a;
  }

  byte_depthwise::Output output() const {
    if (c.type == Type::i8) return {c.type, -5, -100, 120};
    return c.whole ? byte_depthwise::Output{c.type, 0, 0, 255} : byte_depthwise::Output{c.type, 7, -3, 240};
  }

  std::int32_t sum(std::size_t row, std::size_t x, std::size_t channel) const {
    std::int32_t sum = c.offsets ? offset[channel] : 0;
    for (std::size_t ky = 0; ky < c.kernel_h; ++ky) {
      const std::uint8_t* in_row = in_rows[row * c.kernel_h + ky];
      for (std::size_t kx = 0; in_row && kx < c.kernel_w; ++kx) {
        const auto column = static_cast<long>(x * c.stride + kx * c.dilation) - static_cast<long>(c.pad);
        if (column < 0 || column >= static_cast<long>(c.width)) continue;
        sum += (in_row[static_cast<std::size_t>(column) * pixel() + channel] - c.x_zero) *
               weights[(channel * c.kernel_h + ky) * c.kernel_w + kx];
      }
    }
    return sum;
  }

  void check() {
    for (std::size_t row = 0; row < c.rows(); ++row)
      for (std::size_t x = 0; x < c.columns(); ++x)
        for (std::size_t channel = 0; channel < c.channels; ++channel) check_one(row, x, channel);
    ASSERT_TRUE(out.intact());
  }

  void check_one(std::size_t row, std::size_t x, std::size_t channel) {
    const std::int32_t sum = this->sum(row, x, channel);
    const float v =
        std::fma(static_cast<float>(sum), factor[c.one_factor ? 0 : channel], c.shifts ? shift[channel] : 0.0f);
    const byte_depthwise::Output to = output();
    const int byte = static_cast<int>(std::clamp(std::nearbyint(v), to.low, to.high)) + to.zero;
    const std::byte* at = out_rows[row] + (x * pixel() + channel) * c.element();
    std::byte want[4] = {static_cast<std::byte>(byte)};
    if (c.type == Type::i32) std::memcpy(want, &sum, sizeof want);
    if (c.type == Type::f32) std::memcpy(want, &v, sizeof want);
    ASSERT_EQ(0, std::memcmp(at, want, c.element())) << "row " << row << " x " << x << " channel " << channel << " sum "
                                                     << sum << " v " << v << " found " << static_cast<int>(*at);
  }
};

void run_case(const Case& c) {
  unsigned seed = 1;
  for (const auto& kernel : runnable(byte_depthwise::table())) {
    SCOPED_TRACE(::testing::Message() << kernel.name << " " << c.height << "x" << c.width << "x" << c.channels
                                      << " kernel " << c.kernel_h << "x" << c.kernel_w << " stride " << c.stride
                                      << " dilation " << c.dilation << " pad " << c.pad << " seed " << seed);
    Problem problem(c, ++seed);
    kernel.run(problem.args(kernel));
    problem.check();
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(ByteDepthwise, EveryChannelCount) {
  for (const std::size_t channels : kChannelCounts) run_case({5, 6, channels, 3, 3, 1, 1, 1});
  for (const std::size_t channels : {24, 40, 48, 63, 64, 65, 95, 96, 97, 112, 127, 128, 144, 193})
    run_case({5, 6, channels, 3, 3, 1, 1, 1});
}

TEST(ByteDepthwise, EveryWidth) {
  for (std::size_t width = 1; width <= 19; ++width) {
    run_case({4, width, 33, 3, 3, 1, 1, 1});
    run_case({5, width, 64, 5, 5, 1, 1, 2});
    run_case({8, width, 16, 7, 7, 1, 1, 3});
    run_case({5, width, 80, 3, 3, 2, 1, 1});
    run_case({7, width, 32, 5, 5, 2, 1, 2});
    run_case({9, width, 64, 7, 7, 2, 1, 3});
  }
}

TEST(ByteDepthwise, ColumnsThatADilationKeepsApart) {
  for (const std::size_t kernel : {3u, 5u, 7u})
    for (const std::size_t dilation : {2u, 3u, 9u})
      for (const std::size_t pad : {0u, 1u, 5u, 13u, 40u})
        for (const std::size_t width : {1u, 9u, 14u, 37u}) {
          Case c{width, width, 36, kernel, kernel, 1, dilation, pad};
          if (width + 2 * pad < c.extent(kernel)) continue;
          c.gap = width % 2 * 3;
          c.whole = pad == 5;
          c.type = pad == 13 ? Type::i8 : pad == 1 ? Type::f32 : Type::u8;
          run_case(c);
          if (::testing::Test::HasFatalFailure()) return;
        }
}

TEST(ByteDepthwise, OtherShapes) {
  run_case({9, 17, 36, 3, 3, 1, 2, 2});
  run_case({13, 13, 64, 3, 3, 2, 3, 3});
  run_case({6, 9, 33, 1, 1, 1, 1, 0});
  run_case({6, 9, 33, 1, 1, 2, 1, 0});
  run_case({6, 19, 67, 1, 5, 1, 1, 0});
  run_case({9, 9, 70, 4, 2, 3, 1, 0});
  run_case({12, 40, 64, 11, 11, 1, 1, 5});
  run_case({3, 3, 64, 3, 3, 1, 1, 2});
  run_case({3, 8, 40, 3, 3, 1, 12, 12});
  run_case({20, 21, 300, 3, 3, 1, 1, 1});
}

TEST(ByteDepthwise, EveryOutput) {
  for (const Type type : {Type::u8, Type::i8, Type::f32, Type::i32}) {
    for (const bool some : {false, true}) {
      for (const std::size_t stride : {1, 2}) {
        Case c{6, 11, 77, 3, 3, stride, 1, 1, type};
        c.one_factor = some, c.offsets = !some, c.shifts = !some, c.gap = 3;
        run_case(c);
        c.whole = true, c.x_zero = some ? 0 : 255;
        run_case(c);
      }
    }
  }
}

TEST(ByteDepthwise, NumbersThatFitNoInteger) {
  for (const Type type : {Type::u8, Type::i8}) {
    Case c{6, 11, 77, 3, 3, 1, 1, 1, type};
    c.scale = 1e9f;
    run_case(c);
  }
}

TEST(ByteDepthwise, BytesDoNotDependOnSplits) {
  for (const Case& c : {Case{9, 17, 83, 3, 3, 1, 1, 1}, Case{9, 17, 83, 5, 5, 2, 1, 2}}) {
    for (const auto& kernel : runnable(byte_depthwise::table())) {
      Problem by_row(c, 5);
      const byte_depthwise::Args all = by_row.args(kernel);
      for (std::size_t row = 0; row < c.rows(); ++row) {
        byte_depthwise::Args a = all;
        a.rows = 1;
        a.in_rows += row * c.kernel_h;
        a.out_rows += row;
        kernel.run(a);
      }
      by_row.check();
    }
  }
}

TEST(ByteDepthwise, EmptyCallsTouchNothing) {
  for (const auto& kernel : runnable(byte_depthwise::table())) {
    Problem problem({4, 5, 64, 3, 3, 1, 1, 1}, 3);
    for (const int empty : {0, 1, 2}) {
      byte_depthwise::Args a = problem.args(kernel);
      (empty == 0 ? a.rows : empty == 1 ? a.width_out : a.channels) = 0;
      kernel.run(a);
    }
    const std::byte untouched = problem.out[0];
    for (const std::byte x : problem.out.values()) ASSERT_EQ(x, untouched);
  }
}

TEST(ByteDepthwise, SelectionFollowsTheTier) {
  for (const Isa isa : kAllIsas) EXPECT_LE(byte_depthwise::select(isa).isa, isa);
  EXPECT_EQ(Isa::baseline, byte_depthwise::select(Isa::baseline).isa);
}

}  // namespace
}  // namespace colonnade::kernels::test
