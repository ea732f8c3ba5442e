// SPDX-License-Identifier: Apache-2.0
#include "kernels/shift_add/shift_add.hpp"

#include "kernels_rows/support.hpp"

namespace colonnade::kernels::test {
namespace {

struct Case {
  std::size_t width, channels, kernel_w, dilation, pad;
  bool bias, residual, residual_after;
  std::size_t width_out() const { return width + 2 * pad - (kernel_w - 1) * dilation; }
};

void check(const Case& c, const shift_add::Kernel& kernel, unsigned seed) {
  const std::size_t stride = (c.kernel_w * c.channels + 15) / 16 * 16, out_stride = c.channels + 2;
  Guarded products(random_floats(c.width * stride + shift_add::kReadPast, seed), Edge::back);
  Guarded bias(random_floats(c.channels, seed + 1), Edge::back);
  Guarded residual(random_floats(c.width_out() * c.channels, seed + 2), Edge::back);
  Guarded out((c.width_out() - 1) * out_stride + c.channels);
  shift_add::Args args;
  args.products = products.data();
  args.product_stride = stride;
  args.width_in = c.width;
  args.width_out = c.width_out();
  args.kernel_w = c.kernel_w;
  args.dilation_w = c.dilation;
  args.pad_left = c.pad;
  args.channels = c.channels;
  args.out = out.data();
  args.out_pixel_stride = static_cast<std::ptrdiff_t>(out_stride);
  args.residual = c.residual ? residual.data() : nullptr;
  args.residual_pixel_stride = static_cast<std::ptrdiff_t>(c.channels);
  args.bias = c.bias ? bias.data() : nullptr;
  args.epilogue.activation.kind = Unary::relu;
  args.epilogue.residual_after = c.residual_after;
  kernel.run(args);
  for (std::size_t x = 0; x < c.width_out(); ++x)
    for (std::size_t ch = 0; ch < c.channels; ++ch) {
      float sum = c.bias ? bias.data()[ch] : 0.0f;
      for (std::size_t kx = 0; kx < c.kernel_w; ++kx) {
        const std::size_t pixel = x + kx * c.dilation;
        if (pixel < c.pad || pixel - c.pad >= c.width) continue;
        sum += products.data()[(pixel - c.pad) * stride + kx * c.channels + ch];
      }
      const float add = c.residual ? residual.data()[x * c.channels + ch] : 0.0f;
      const float expected = c.residual_after ? std::max(sum, 0.0f) + add : std::max(sum + add, 0.0f);
      ASSERT_EQ(out.data()[x * out_stride + ch], expected) << kernel.name << " x " << x << " channel " << ch;
    }
}

TEST(ShiftAdd, AddsTheProductsOfEachPixelInTapOrder) {
  for (const shift_add::Kernel& kernel : shift_add::table()) {
    if (kernel.isa > host_isa()) continue;
    unsigned seed = 1;
    for (const std::size_t channels : {1, 3, 4, 7, 11})
      for (const std::size_t kernel_w : {2, 3, 9})
        for (const std::size_t dilation : {1, 2})
          for (const std::size_t pad : {std::size_t{0}, std::size_t{1}, (kernel_w - 1) * dilation / 2})
            for (const std::size_t width : {17, 40})
              check({width, channels, kernel_w, dilation, pad, seed % 2 == 0, seed % 3 == 0, seed % 4 == 0}, kernel,
                    ++seed);
  }
}

}  // namespace
}  // namespace colonnade::kernels::test
