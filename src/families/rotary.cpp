// SPDX-License-Identifier: Apache-2.0
// Rotary embeddings: all heads of a position turn by the same angles. Threads share positions.
#include <algorithm>

#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/shared.hpp"
#include "families/table.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "reference/onnx/definitions.hpp"
#include "reference/onnx/rotate.hpp"

namespace colonnade {
namespace {

const Opaque* rotate_of(const Node& node) {
  const auto* op = std::get_if<Opaque>(&node.op);
  return op != nullptr && op->definition == &reference::kRotate ? op : nullptr;
}

/// What turns, as positions of heads.
struct Heads {
  std::int64_t batch, positions, heads, size;
  std::int64_t position_stride, head_stride;

  Heads(const Shape& x, std::int64_t heads_axis) : batch(x[0]), size(x[3]) {
    const bool heads_first = heads_axis == 1;
    positions = x[heads_first ? 2 : 1], heads = x[heads_first ? 1 : 2];
    position_stride = heads_first ? size : heads * size;
    head_stride = heads_first ? positions * size : size;
  }
  Shared shared() const { return {batch * positions}; }
};
Heads heads_of(const Subject& node) {
  return {node.input_shape(0), reference::rotation_of(*rotate_of(node.node)).heads_axis};
}

class RotaryOp final : public RowOp {
 public:
  RotaryOp(const LowerContext& context, const Opaque& op)
      : kernel_(kernels::elementwise::select(context.features)),
        read_(reference::rotation_of(op)),
        x_(context.in<float>(0)),
        cosines_(context.in<float>(1)),
        sines_(context.in<float>(2)),
        out_(context.out<float>()),
        heads_(heads_of(context)),
        angles_(context.input_shape(1).back()),
        rows_(context.input_shape(1).front()),
        node_(context.node.name),
        origin_(context.node.origin) {
    if (context.has_input(3)) {
      positions_ = context.in<std::byte>(3);
      is_wide_ = context.input(3).type.dtype == DType::i64;
    }
    is_shared_ = context.input_shape(context.has_input(3) ? 3 : 1).front() == 1;
  }

  void run(const StepContext& step) const override {
    kernels::elementwise::RotateArgs args;
    args.interleaved = read_.interleaved;
    args.pixels = static_cast<std::size_t>(heads_.heads);
    args.pairs = static_cast<std::size_t>(read_.pairs);
    args.x_pixel_stride = args.out_pixel_stride = heads_.head_stride;
    const Interval units = heads_.shared().of(step);
    for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
      const std::int64_t batch = unit / heads_.positions, position = unit % heads_.positions;
      const std::int64_t first =
          batch * heads_.positions * heads_.heads * heads_.size + position * heads_.position_stride;
      const std::int64_t angles = row(step, is_shared_ ? position : unit) * angles_;
      args.x = whole(step, x_) + first;
      args.out = whole(step, out_) + first;
      args.cosines = whole(step, cosines_) + angles;
      args.sines = whole(step, sines_) + angles;
      kernel_.rotate(args);
      copy_rest(args);
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  /// The row of the tables for the `at`-th position.
  std::int64_t row(const StepContext& step, std::int64_t at) const {
    if (!positions_) return at;
    const std::byte* positions = whole(step, positions_);
    const std::int64_t given = is_wide_ ? reinterpret_cast<const std::int64_t*>(positions)[at]
                                        : reinterpret_cast<const std::int32_t*>(positions)[at];
    const std::int64_t index = given < 0 ? given + rows_ : given;
    if (index < 0 || index >= rows_)
      fail(ErrorCode::invalid_input, "node '{}' ({}): position {} is out of range [0,{})", node_, origin_, given,
           rows_);
    return index;
  }

  void copy_rest(const kernels::elementwise::RotateArgs& args) const {
    const std::int64_t turned = 2 * read_.pairs;
    for (std::int64_t head = 0; turned < heads_.size && head < heads_.heads; ++head)
      std::copy_n(args.x + head * heads_.head_stride + turned, heads_.size - turned,
                  args.out + head * heads_.head_stride + turned);
  }

  const kernels::elementwise::Kernel& kernel_;
  reference::Rotation read_;
  ValueOf<float> x_, cosines_, sines_, out_;
  ValueOf<std::byte> positions_;
  Heads heads_;
  std::int64_t angles_, rows_;  ///< of a row of the tables; rows
  bool is_wide_ = false, is_shared_ = false;
  std::string node_, origin_;
};

Match match(const Candidate& node) {
  const Opaque* op = rotate_of(node.node);
  if (op == nullptr) return refuse();
  const Heads heads = heads_of(node);
  const Shape& rows = node.input_shape(node.has_input(3) ? 3 : 1);
  const bool fits = node.input_shape(1) == node.input_shape(2) && (rows[0] == 1 || rows[0] == heads.batch) &&
                    rows[1] >= heads.positions;
  if (!fits || (rows[0] != 1 && rows[1] != heads.positions)) return refuse("angles of other positions have no kernel");
  return take();
}

std::int64_t units(const Chosen& node) { return heads_of(node).shared().units(); }

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  return std::make_unique<RotaryOp>(context, std::get<Opaque>(context.node.op));
}

}  // namespace

constinit const Family families::rotary = whole_family({.name = "rotary",
                                                        .types = kFloats,
                                                        .match = match,
                                                        .units = units,
                                                        .effort = byte_effort<Work::copy>,
                                                        .weights_bytes = no_bytes,
                                                        .workspace_bytes = no_bytes,
                                                        .lower = lower});

}  // namespace colonnade
