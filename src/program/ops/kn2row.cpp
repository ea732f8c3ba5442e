// SPDX-License-Identifier: Apache-2.0
// Convolution with few output channels: a matrix product of the kernel's rows, then shifted additions along the width.
#include "kernels/gemm/gemm.hpp"
#include "kernels/shift_add/shift_add.hpp"
#include "plan/kernel_choice.hpp"
#include "program/ops/window.hpp"

namespace colonnade {
namespace {

/// Weights [n, channels, kh, kw] packed as a kh x 1 convolution with kw * n output channels, (kx, n) in this order.
AlignedBuffer pack_kn2row(const Tensor& weight) {
  const Shape& shape = weight.shape();
  const auto n = static_cast<std::size_t>(shape[0]), channels = static_cast<std::size_t>(shape[1]),
             kh = static_cast<std::size_t>(shape[2]), kw = static_cast<std::size_t>(shape[3]);
  const auto values = weight.values<float>();
  std::vector<float> rows(kh * channels * kw * n);
  float* next = rows.data();
  for (std::size_t ky = 0; ky < kh; ++ky)
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t kx = 0; kx < kw; ++kx)
        for (std::size_t o = 0; o < n; ++o) *next++ = values[((o * channels + c) * kh + ky) * kw + kx];
  AlignedBuffer packed(kernels::gemm::packed_floats(kh * channels, kw * n) * sizeof(float));
  kernels::gemm::pack(rows.data(), static_cast<std::ptrdiff_t>(kw * n), 1, kh * channels, kw * n, packed.floats());
  return packed;
}

class Kn2rowOp final : public RowOp {
 public:
  Kn2rowOp(const LowerContext& context, const Conv& conv)
      : multiply_(kernels::gemm::select(context.isa)),
        add_(kernels::shift_add::select(context.isa)),
        window_(window_of(context, conv)),
        in_(context.node.inputs[0]),
        out_(context.node.outputs[0]),
        in_shape_(row_shape(context.input_shape(0))),
        out_shape_(row_shape(context.output_shape())),
        products_(kn2row_products(window_.kernel_w, out_shape_.channels)),
        weights_(context.packed(1, "kn2row", pack_kn2row)),
        bias_(context.constant(2)) {
    const LoweredEpilogue lowered = lower_epilogue(context, conv.epilogue, 3);
    epilogue_ = lowered.epilogue;
    residual_ = lowered.residual;
  }

  void run(const StepContext& step) const override {
    const Rows in(step, in_, 0), out(step, out_, 0), residual(step, residual_, 0);
    const RowWindow row_window(in, out, 1, window_.pad_left);
    kernels::gemm::ConvArgs product;
    product.in_rows = step.pointers;
    product.out_rows = &step.scratch;
    product.kernel_h = static_cast<std::size_t>(window_.kernel_h);
    product.channels_in = static_cast<std::size_t>(in_shape_.channels);
    product.channels_out = static_cast<std::size_t>(products_);
    product.in_pixel_stride = in.pixel_stride();
    product.out_pixel_stride = products_;
    product.weights = weights_;
    product.panel_stride = product.kernel_h * product.channels_in * kernels::gemm::kPanel;
    kernels::shift_add::Args sum;
    sum.products = step.scratch;
    sum.product_stride = product.channels_out;
    sum.kernel_w = static_cast<std::size_t>(window_.kernel_w);
    sum.dilation_w = static_cast<std::size_t>(window_.dilation_w);
    sum.channels = static_cast<std::size_t>(out_shape_.channels);
    sum.out_pixel_stride = out.pixel_stride();
    sum.residual_pixel_stride = residual ? residual.pixel_stride() : 0;
    sum.bias = bias_;
    sum.epilogue = epilogue_;
    for (std::int64_t r = step.row_begin; r < step.row_end; ++r)
      for (std::int64_t x = 0; x < row_window.width_out; x += kKn2rowPixels) {
        const std::int64_t pixels = std::min(kKn2rowPixels, row_window.width_out - x);
        const Interval read = pixels_read(x, pixels, row_window);
        tap_rows(in, window_, row_window.skip + read.begin, r, r + 1, in_shape_.rows, step.pointers);
        product.width_in = product.width_out = static_cast<std::size_t>(read.size());
        multiply_.run(product);
        sum.width_in = product.width_in;
        sum.width_out = static_cast<std::size_t>(pixels);
        sum.pad_left = static_cast<std::size_t>(std::max<std::int64_t>(0, read.begin + row_window.pad_left - x));
        sum.out = out(r) + x * sum.out_pixel_stride;
        sum.residual = residual ? residual.at(r, out.column_begin() + x) : nullptr;
        add_.run(sum);
      }
  }

  std::size_t pointer_count(std::int64_t) const override { return static_cast<std::size_t>(window_.kernel_h); }
  std::string_view kernel() const override { return add_.name; }

 private:
  /// Input pixels that output pixels [x, x + pixels) read.
  Interval pixels_read(std::int64_t x, std::int64_t pixels, const RowWindow& row_window) const {
    const auto inside = [&](std::int64_t pixel) { return std::clamp<std::int64_t>(pixel, 0, row_window.width_in); };
    const std::int64_t first = x - row_window.pad_left;
    return {inside(first), inside(first + pixels + (window_.kernel_w - 1) * window_.dilation_w)};
  }

  const kernels::gemm::Kernel& multiply_;
  const kernels::shift_add::Kernel& add_;
  Window window_;
  ValueId in_, out_, residual_ = kAbsent;
  RowShape in_shape_, out_shape_;
  std::int64_t products_ = 0;  ///< floats a pixel of the matrix product, in whole panels
  const float* weights_ = nullptr;
  const float* bias_ = nullptr;
  kernels::Epilogue epilogue_;
};

}  // namespace

std::unique_ptr<RowOp> lower_kn2row(const LowerContext& context) {
  return std::make_unique<Kn2rowOp>(context, std::get<Conv>(context.node.op));
}

}  // namespace colonnade
