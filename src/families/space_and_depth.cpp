// SPDX-License-Identifier: Apache-2.0
// Blocks of pixels as channels, and back.
#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "kernels/move/move.hpp"

namespace colonnade {
namespace {

class DepthToSpaceOp final : public RowOp {
 public:
  DepthToSpaceOp(const LowerContext& context, std::int64_t block)
      : kernel_(kernels::move::select(context.features)),
        block_(block),
        in_(context.in<std::byte>(0)),
        out_(context.out<std::byte>()),
        width_(row_shape(context.input_shape(0)).width),
        pixel_bytes_(context.output_shape().back() * element_bytes(context.input(0))) {}

  void run(const StepContext& step) const override {
    const Rows in(step, in_, 0), out(step, out_, 0);
    const std::int64_t bytes = block_ * pixel_bytes_;  // of a row of the block, which lie side by side in a pixel
    const bool dense = out.pixel_stride() == pixel_bytes_;
    const std::int64_t parts = dense ? 1 : block_, part = dense ? bytes : pixel_bytes_;
    for (std::int64_t r = step.row_begin; r < step.row_end; ++r)
      for (std::int64_t bx = 0; bx < parts; ++bx)
        kernel_.copy({static_cast<std::size_t>(width_), static_cast<std::size_t>(part),
                      in(r / block_) + r % block_ * bytes + bx * pixel_bytes_, out(r) + bx * out.pixel_stride(),
                      in.pixel_stride(), block_ * out.pixel_stride()});
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::move::Kernel& kernel_;
  std::int64_t block_;
  ValueOf<std::byte> in_, out_;
  std::int64_t width_;        ///< of the input
  std::int64_t pixel_bytes_;  ///< of the output
};

class SpaceToDepthOp final : public RowOp {
 public:
  SpaceToDepthOp(const LowerContext& context, std::int64_t block)
      : kernel_(kernels::move::select(context.features)),
        block_(block),
        in_(context.in<std::byte>(0)),
        out_(context.out<std::byte>()),
        width_(row_shape(context.output_shape()).width),
        pixel_bytes_(context.input_shape(0).back() * element_bytes(context.input(0))) {}

  void run(const StepContext& step) const override {
    const Rows in(step, in_, 0), out(step, out_, 0);
    const std::int64_t bytes = block_ * pixel_bytes_;  // of a row of the block, which lie side by side in a pixel
    const bool dense = in.pixel_stride() == pixel_bytes_;
    const std::int64_t parts = dense ? 1 : block_, part = dense ? bytes : pixel_bytes_;
    for (std::int64_t r = step.row_begin; r < step.row_end; ++r)
      for (std::int64_t by = 0; by < block_; ++by)
        for (std::int64_t bx = 0; bx < parts; ++bx)
          kernel_.copy({static_cast<std::size_t>(width_), static_cast<std::size_t>(part),
                        in(r * block_ + by) + bx * in.pixel_stride(), out(r) + by * bytes + bx * pixel_bytes_,
                        block_ * in.pixel_stride(), out.pixel_stride()});
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::move::Kernel& kernel_;
  std::int64_t block_;
  ValueOf<std::byte> in_, out_;
  std::int64_t width_;        ///< of the output
  std::int64_t pixel_bytes_;  ///< of the input
};

Match match_to_space(const Candidate& node) {
  const auto* op = std::get_if<DepthToSpace>(&node.node.op);
  if (op == nullptr) return refuse();
  if (op->axis != -1 && op->axis != 3) return refuse("channels are not innermost");
  return !op->crd ? take() : refuse("column-row-depth order");
}

Match match_to_depth(const Candidate& node) {
  const auto* op = std::get_if<SpaceToDepth>(&node.node.op);
  if (op == nullptr) return refuse();
  return op->axis == -1 || op->axis == 3 ? take() : refuse("channels are not innermost");
}

std::unique_ptr<RowOp> lower_to_space(const LowerContext& context) {
  return std::make_unique<DepthToSpaceOp>(context, std::get<DepthToSpace>(context.node.op).block);
}
std::unique_ptr<RowOp> lower_to_depth(const LowerContext& context) {
  return std::make_unique<SpaceToDepthOp>(context, std::get<SpaceToDepth>(context.node.op).block);
}

}  // namespace

constinit const Family families::depth_to_space = {.name = "depth_to_space",
                                                   .scope = Scope::rows,
                                                   .border = Border::none,
                                                   .types = kMovedTypes,
                                                   .match = match_to_space,
                                                   .units = one_unit,
                                                   .effort = byte_effort<Work::copy>,
                                                   .weights_bytes = no_bytes,
                                                   .workspace_bytes = no_bytes,
                                                   .window = no_window,
                                                   .chunks = no_chunks,
                                                   .placements = no_placements,
                                                   .tell = nothing_told,
                                                   .lower = lower_to_space};

constinit const Family families::space_to_depth = {.name = "space_to_depth",
                                                   .scope = Scope::rows,
                                                   .border = Border::none,
                                                   .types = kMovedTypes,
                                                   .match = match_to_depth,
                                                   .units = one_unit,
                                                   .effort = byte_effort<Work::copy>,
                                                   .weights_bytes = no_bytes,
                                                   .workspace_bytes = no_bytes,
                                                   .window = no_window,
                                                   .chunks = no_chunks,
                                                   .placements = no_placements,
                                                   .tell = nothing_told,
                                                   .lower = lower_to_depth};

}  // namespace colonnade
