// SPDX-License-Identifier: Apache-2.0
#include "kernels/resize/resize.hpp"

#include "kernels_rows/support.hpp"

namespace colonnade::kernels::test {
namespace {

TEST(Resize, BlendsRows) {
  for (const auto& kernel : runnable(resize::table()))
    for (const std::size_t count : {1u, 3u, 15u, 16u, 17u, 64u, 131u})
      for (const std::size_t taps : {1u, 2u, 7u}) {
        const auto weights = random_floats(taps, 1);
        std::vector<Guarded> rows;
        std::vector<const float*> pointers;
        for (std::size_t t = 0; t < taps; ++t) rows.emplace_back(random_floats(count, static_cast<unsigned>(t)));
        for (const Guarded& row : rows) pointers.push_back(row.data());
        Guarded out(count);
        kernel.blend({count, taps, pointers.data(), weights.data(), out.data()});
        for (std::size_t i = 0; i < count; ++i) {
          double want = 0;
          for (std::size_t t = 0; t < taps; ++t) want += static_cast<double>(weights[t]) * rows[t].data()[i];
          ASSERT_NEAR(out.data()[i], want, 1e-6) << kernel.name;
        }
        ASSERT_TRUE(out.intact());
      }
}

/// Columns that rise by `ratio`, and here and there lie elsewhere; taps beside each other, clamped.
std::vector<std::int32_t> columns_of(std::size_t width_in, std::size_t width_out, std::size_t taps, bool scattered) {
  const std::size_t stride = resize::tap_stride(width_out);
  std::vector<std::int32_t> columns(taps * stride);
  std::mt19937 generator(7);
  for (std::size_t t = 0; t < taps; ++t)
    for (std::size_t x = 0; x < width_out; ++x) {
      const std::size_t at = scattered ? generator() % width_in : x * width_in / width_out + t;
      columns[t * stride + x] = static_cast<std::int32_t>(std::min(at, width_in - 1));
    }
  return columns;
}

void check_line(const resize::Kernel& kernel, std::size_t width_in, std::size_t width_out, std::size_t taps,
                bool weighs, bool scattered) {
  const std::size_t stride = resize::tap_stride(width_out);
  const auto columns = columns_of(width_in, width_out, taps, scattered);
  const auto weights = random_floats(taps * stride, 3);
  const Edge edge = width_out % 2 ? Edge::front : Edge::back;
  const Guarded lines[] = {Guarded(random_floats(width_in, 4), edge), Guarded(random_floats(width_in, 5), edge)};
  const float* const in[] = {lines[0].data(), lines[1].data(), lines[0].data()};
  Guarded out(3 * width_out);
  std::vector<std::int32_t> settled = columns, starts(taps * stride / 4);
  const resize::Line line{width_in, width_out, taps, weighs ? weights.data() : nullptr, settled.data(), starts.data()};
  kernel.settle(line);
  kernel.lines({&line, 3, in, out.data()});
  for (std::size_t i = 0; i < 3 * width_out; ++i) {
    double want = 0;
    const std::size_t x = i % width_out;
    for (std::size_t t = 0; t < taps; ++t)
      want +=
          in[i / width_out][columns[t * stride + x]] * (weighs ? static_cast<double>(weights[t * stride + x]) : 1.0);
    ASSERT_NEAR(out.data()[i], want, weighs ? 1e-6 : 0.0)
        << kernel.name << ": " << width_in << " to " << width_out << ", " << taps << " taps";
  }
  ASSERT_TRUE(out.intact());
}

TEST(Resize, Lines) {
  for (const auto& kernel : runnable(resize::table()))
    for (const std::size_t width_in : {1u, 3u, 7u, 16u, 17u, 40u, 65u, 200u})
      for (const std::size_t width_out : {1u, 5u, 16u, 31u, 64u, 100u, 333u, 1031u})
        for (const bool scattered : {false, true}) {
          check_line(kernel, width_in, width_out, 1, false, scattered);
          for (const std::size_t taps : {1u, 2u, 4u}) check_line(kernel, width_in, width_out, taps, true, scattered);
        }
}

}  // namespace
}  // namespace colonnade::kernels::test
