// SPDX-License-Identifier: Apache-2.0
// Threads may divide the output channels of a convolution whose workspace was measured for all.
#include <gtest/gtest.h>

#include "kernels/gemm/gemm.hpp"
#include "kernels/row_winograd/row_winograd.hpp"
#include "kernels/winograd/winograd.hpp"

namespace colonnade::testing {
namespace {

/// floats(channels_in, channels_out) never falls with the outputs.
template <class Floats>
void expect_rising(const Floats& floats) {
  for (const std::size_t channels_in : {1u, 16u, 64u, 100u, 240u, 512u})
    for (std::size_t channels_out = 1; channels_out < 150; ++channels_out)
      ASSERT_LE(floats(channels_in, channels_out), floats(channels_in, channels_out + 1))
          << channels_in << " to " << channels_out;
}

TEST(Workspace, OfFewerOutputsIsNoLarger) {
  using kernels::Encoding;
  for (const Encoding encoding : {Encoding::f32, Encoding::bf16x3, Encoding::bf16})
    expect_rising([&](std::size_t in, std::size_t out) {
      return kernels::gemm::workspace_floats(encoding, {3, 3, 1, 1, in}, out);
    });
}

TEST(Workspace, OfFewerOutputsInTilesIsNoLarger) {
  for (const kernels::winograd::Tile tile : kernels::winograd::kTiles)
    for (const kernels::Encoding encoding : {kernels::Encoding::f32, kernels::Encoding::bf16x3})
      for (const bool far : {false, true})
        expect_rising([&](std::size_t in, std::size_t out) {
          return kernels::winograd::workspace_floats(encoding, tile, in, out, far);
        });
}

TEST(Workspace, OfFewerOutputsInTilesAlongRowsIsNoLarger) {
  for (const kernels::row_winograd::Tile tile : kernels::row_winograd::kTiles)
    for (const std::size_t width : {3u, 11u})
      expect_rising([&](std::size_t in, std::size_t out) {
        return kernels::row_winograd::workspace_floats(tile, {1, width}, in, out);
      });
}

}  // namespace
}  // namespace colonnade::testing
