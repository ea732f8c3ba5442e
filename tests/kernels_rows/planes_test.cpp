// SPDX-License-Identifier: Apache-2.0
#include "kernels/planes/planes.hpp"

#include <cmath>

#include "kernels_rows/support.hpp"

namespace colonnade::kernels::test {
namespace {

struct Case {
  std::size_t pixels, channels_in, channels_out, kernel_h, kernel_w, dilation;
  bool bias, residual, residual_after, prelu, skips_first_row;
  std::size_t whole_pixels() const { return (pixels + planes::kPixels - 1) / planes::kPixels * planes::kPixels; }
};

void check(const Case& c, const planes::Kernel& kernel, unsigned seed) {
  const std::size_t stride = c.whole_pixels() + (c.kernel_w - 1) * c.dilation, out_stride = c.whole_pixels() + 3;
  std::vector<std::unique_ptr<Guarded>> rows;
  std::vector<const float*> pointers;
  for (std::size_t ky = 0; ky < c.kernel_h; ++ky) {
    rows.push_back(
        std::make_unique<Guarded>(random_floats(c.channels_in * stride, seed + static_cast<unsigned>(ky)), Edge::back));
    pointers.push_back(ky == 0 && c.skips_first_row ? nullptr : rows.back()->data());
  }
  Guarded weights(random_floats(c.kernel_h * c.channels_in * c.kernel_w * c.channels_out, seed + 10), Edge::back);
  Guarded bias(random_floats(c.channels_out, seed + 11), Edge::back);
  Guarded slopes(random_floats(c.channels_out, seed + 12), Edge::back);
  Guarded out((c.channels_out - 1) * out_stride + c.whole_pixels());
  const std::vector<float> residual = random_floats(out.values().size(), seed + 13);
  std::copy(residual.begin(), residual.end(), out.data());

  planes::Args args;
  args.rows = pointers.data();
  args.plane_stride = static_cast<std::ptrdiff_t>(stride);
  args.weights = weights.data();
  args.kernel_h = c.kernel_h;
  args.kernel_w = c.kernel_w;
  args.dilation_w = c.dilation;
  args.channels_in = c.channels_in;
  args.channels_out = c.channels_out;
  args.pixels = c.pixels;
  args.out = out.data();
  args.out_plane_stride = static_cast<std::ptrdiff_t>(out_stride);
  args.residual = c.residual ? out.data() : nullptr;
  args.bias = c.bias ? bias.data() : nullptr;
  args.epilogue.activation.kind = c.prelu ? Unary::prelu : Unary::relu;
  args.epilogue.activation.slope = c.prelu ? slopes.data() : nullptr;
  args.epilogue.residual_after = c.residual_after;
  kernel.run(args);

  for (std::size_t n = 0; n < c.channels_out; ++n)
    for (std::size_t x = 0; x < c.pixels; ++x) {
      double sum = c.bias ? bias.data()[n] : 0, size = 1;
      for (std::size_t ky = 0; ky < c.kernel_h; ++ky)
        for (std::size_t ch = 0; pointers[ky] != nullptr && ch < c.channels_in; ++ch)
          for (std::size_t kx = 0; kx < c.kernel_w; ++kx) {
            const std::size_t weight = ((ky * c.channels_in + ch) * c.kernel_w + kx) * c.channels_out + n;
            const double product = double{pointers[ky][ch * stride + x + kx * c.dilation]} * weights.data()[weight];
            sum += product;
            size += std::abs(product);
          }
      const double add = c.residual ? residual[n * out_stride + x] : 0, slope = c.prelu ? slopes.data()[n] : 0;
      const auto activate = [&](double value) { return value < 0 ? slope * value : value; };
      const double expected = c.residual_after ? activate(sum) + add : activate(sum + add);
      ASSERT_NEAR(out.data()[n * out_stride + x], expected, 1e-6 * size)
          << kernel.name << " channel " << n << " of " << c.channels_out << " pixel " << x << " of " << c.pixels;
    }
  for (std::size_t n = 0; n + 1 < c.channels_out; ++n)  // nothing between the planes is touched
    for (std::size_t x = c.whole_pixels(); x < out_stride; ++x)
      ASSERT_EQ(out.data()[n * out_stride + x], residual[n * out_stride + x]) << kernel.name;
}

TEST(Planes, SumsEveryTapOfEveryChannel) {
  for (const planes::Kernel& kernel : planes::table()) {
    if (!host_features().contains(kernel.isa)) continue;
    unsigned seed = 1;
    for (std::size_t channels_out = 1; channels_out <= planes::kMostChannels; ++channels_out)
      for (const std::size_t pixels : {1, 16, 40, 96, 113})
        for (const std::size_t channels_in : {1, 8, 19})
          for (const std::size_t kernel_w : {1, 3, 5})
            for (const std::size_t dilation : {1, 2}) {
              ++seed;
              check({pixels, channels_in, channels_out, 1 + seed % 3, kernel_w, dilation, seed % 2 == 0, seed % 3 == 0,
                     seed % 4 == 0, seed % 5 == 0, seed % 7 == 0},
                    kernel, 100 * seed);
            }
  }
}

}  // namespace
}  // namespace colonnade::kernels::test
