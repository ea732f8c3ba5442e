// SPDX-License-Identifier: Apache-2.0
// Residual and activation are checked against the sums that the same kernel gives without them.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels_gemm/activation.hpp"
#include "kernels_gemm/conv_case.hpp"

namespace colonnade::testing {
namespace {

using kernels::Epilogue;
using kernels::gemm::ConvArgs;
using kernels::gemm::Kernel;

enum class Residual { none, before, after };

void expect_close(float got, double expected, double tolerance) {
  if (std::isnan(expected)) {
    ASSERT_TRUE(std::isnan(got));
  } else if (std::isinf(expected)) {
    ASSERT_EQ(static_cast<double>(got), expected);
  } else {
    ASSERT_NEAR(got, expected, tolerance);
  }
}

void check_epilogue(const Kernel& kernel, const ConvSizes& sizes, Epilogue epilogue, Residual residual) {
  ConvCase c(sizes, 77);
  Rows sums = c.make_out(5);
  kernel.run(c.args(kernel, sums));
  const Rows added = make_rows(sizes.height_out(), sizes.width_out(), sizes.channels_out, sizes.channels_out, 9);
  std::vector<const float*> added_table;
  for (const GuardedFloats& row : added) added_table.push_back(row.data());
  Rows out = c.make_out(5);
  ConvArgs args = c.args(kernel, out);
  epilogue.residual_after = residual == Residual::after;
  args.epilogue = epilogue;
  args.residual_pixel_stride = static_cast<std::ptrdiff_t>(sizes.channels_out);
  if (residual != Residual::none) args.residual_rows = added_table.data();
  kernel.run(args);
  const std::size_t stride = sizes.channels_out + sizes.out_gap;
  for (std::size_t i = 0; i < out[0].size(); ++i) {
    const std::size_t channel = i % stride;
    if (channel >= sizes.channels_out) continue;
    const float add = residual == Residual::none ? 0.0f : added[0][i / stride * sizes.channels_out + channel];
    const float before = residual == Residual::before ? sums[0][i] + add : sums[0][i];
    const double active = activate(epilogue.activation, static_cast<double>(before), channel);
    const double tolerance = activation_tolerance(epilogue.activation, static_cast<double>(before)) +
                             0x1p-22 * static_cast<double>(std::fabs(add));
    const double after = residual == Residual::after ? static_cast<double>(add) : 0.0;
    ASSERT_NO_FATAL_FAILURE(expect_close(out[0][i], active + after, tolerance))
        << kernel.name << ' ' << describe(sizes) << " activation " << static_cast<int>(epilogue.activation.kind)
        << " of " << before << " residual " << static_cast<int>(residual);
  }
}

TEST(ConvEpilogue, EveryActivationAndResidual) {
  GuardedFloats slopes(100);
  Random(3).fill(slopes.values());
  for_each_kernel(kernels::gemm::table(), [&](const Kernel& kernel) {
    for (const std::size_t channels_out : {5u, 16u, 33u, 64u, 100u}) {
      const float* slope = slopes.data() + (100 - channels_out);
      for (const auto& op : every_activation(slope)) {
        for (const Residual residual : {Residual::none, Residual::before, Residual::after}) {
          for (const std::size_t width : {1u, 13u}) {
            ASSERT_NO_FATAL_FAILURE(check_epilogue(
                kernel, {.width_in = width, .channels_in = 7, .channels_out = channels_out, .out_gap = 1}, {op},
                residual));
          }
        }
      }
    }
  });
}

TEST(ConvEpilogue, OutputMayBeTheResidual) {
  for_each_kernel(kernels::gemm::table(), [](const Kernel& kernel) {
    for (const kernels::Unary kind : {kernels::Unary::relu, kernels::Unary::silu}) {
      for (const std::size_t channels_out : {9u, 40u, 64u}) {
        ConvCase c({.height_in = 2, .width_in = 19, .channels_in = 11, .channels_out = channels_out}, 41);
        Rows apart = c.make_out(6);
        Rows same = c.make_out(7);
        const Rows added = c.make_out(7);
        const float* added_table[] = {added[0].data(), added[1].data()};
        ConvArgs args = c.args(kernel, apart);
        args.epilogue.activation.kind = kind;
        args.residual_rows = added_table;
        kernel.run(args);
        args = c.args(kernel, same);
        args.epilogue.activation.kind = kind;
        args.residual_rows = c.out_table.data();
        kernel.run(args);
        for (std::size_t i = 0; i < same[1].size(); ++i) ASSERT_EQ(same[1][i], apart[1][i]) << kernel.name << ' ' << i;
      }
    }
  });
}

TEST(ConvEpilogue, NotANumberPassesReluAndClip) {
  for_each_kernel(kernels::gemm::table(), [](const Kernel& kernel) {
    for (const kernels::Unary kind : {kernels::Unary::identity, kernels::Unary::relu, kernels::Unary::clip}) {
      ConvCase c({.width_in = 5, .channels_in = 2, .channels_out = 17}, 43);
      c.in[0][2] = NAN;
      Rows out = c.make_out(6);
      ConvArgs args = c.args(kernel, out);
      args.epilogue.activation = {kind, -1.0f, 1.0f, nullptr};
      kernel.run(args);
      for (std::size_t i = 0; i < out[0].size(); ++i) ASSERT_EQ(std::isnan(out[0][i]), i / 17 == 1) << kernel.name;
    }
  });
}

}  // namespace
}  // namespace colonnade::testing
