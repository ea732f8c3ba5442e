// SPDX-License-Identifier: Apache-2.0
// MaxUnpool: elements put where indices say, zeros elsewhere. Units are planes, whose indices lie in their own plane
// where a MaxPool made them. Should others be met, one thread puts everything in order in a second turn.
#include <algorithm>
#include <cstring>

#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/shared.hpp"
#include "families/table.hpp"
#include "reference/onnx/definitions.hpp"
#include "reference/onnx/sliding.hpp"

namespace colonnade {
namespace {

Shared planes_of(const Subject& node) {
  const Shape& shape = node.input_shape(0);
  return {shape[0] * shape[1]};
}

class UnpoolOp final : public RowOp {
 public:
  explicit UnpoolOp(const LowerContext& context)
      : name_(context.node.name),
        in_(context.in<std::byte>(0)),
        indices_(context.in<std::int64_t>(1)),
        out_(context.out<std::byte>()),
        planes_(planes_of(context)),
        in_plane_(element_count(context.input_shape(0)) / planes_.total),
        out_plane_(element_count(context.output_shape()) / planes_.total),
        element_(element_bytes(context.input(0))) {}

  void run(const StepContext& step) const override {
    switch (element_) {
      case 1: return run_turns(step, std::uint8_t{});
      case 2: return run_turns(step, std::uint16_t{});
      case 4: return run_turns(step, std::uint32_t{});
      default: return run_turns(step, std::uint64_t{});
    }
  }

  std::string_view kernel() const override { return "unpool"; }

 private:
  /// Each unit says in shared memory whether it met indices of other planes.
  template <class T>
  void run_turns(const StepContext& step, T) const {
    auto* const strayed = reinterpret_cast<std::uint8_t*>(step.shared);
    for (std::int64_t turn = step.turns.begin; turn < step.turns.end; ++turn) {
      if (turn == 0) {
        const bool stray = put_planes<T>(step);
        std::fill(strayed + step.row_begin, strayed + step.row_end, stray ? 1 : 0);
      } else if (step.row_begin == 0 && std::count(strayed, strayed + planes_.units(), 1) > 0) {
        put_in_order<T>(step);
      }
    }
  }

  template <class T>
  bool put_planes(const StepContext& step) const {
    const Interval planes = planes_.of(step);
    const auto size = static_cast<std::uint64_t>(out_plane_);
    bool stray = false;
    for (std::int64_t plane = planes.begin; plane < planes.end; ++plane) {
      const T* from = reinterpret_cast<const T*>(whole(step, in_)) + plane * in_plane_;
      const std::int64_t *at = whole(step, indices_) + plane * in_plane_, first = plane * out_plane_;
      T* const to = reinterpret_cast<T*>(whole(step, out_)) + first;
      std::memset(to, 0, size * sizeof(T));
      for (std::int64_t i = 0; i < in_plane_; ++i) {
        const std::uint64_t place = static_cast<std::uint64_t>(at[i]) - static_cast<std::uint64_t>(first);
        if (place < size)
          to[place] = from[i];
        else
          stray = true;
      }
    }
    return stray;
  }

  template <class T>
  void put_in_order(const StepContext& step) const {
    const T* from = reinterpret_cast<const T*>(whole(step, in_));
    T* const to = reinterpret_cast<T*>(whole(step, out_));
    const std::int64_t *at = whole(step, indices_), total = planes_.total * out_plane_;
    for (std::int64_t i = 0; i < planes_.total * in_plane_; ++i) {
      if (at[i] < 0 || at[i] >= total)
        fail(ErrorCode::invalid_input, "node '{}' (MaxUnpool): index {} is out of range [0,{})", name_, at[i], total);
      to[at[i]] = from[i];
    }
  }

  std::string name_;
  ValueOf<std::byte> in_;
  ValueOf<std::int64_t> indices_;
  ValueOf<std::byte> out_;
  Shared planes_;
  std::int64_t in_plane_, out_plane_, element_;
};

Match match(const Candidate& node) {
  const auto* op = std::get_if<Opaque>(&node.node.op);
  if (op == nullptr || op->definition != &reference::kMaxUnpool) return refuse();
  if (element_count(node.output_shape()) == 0) return refuse("empty tensors have no kernel");
  const std::int64_t bytes = element_bytes(node.input(0));
  if (node.input(0).type.dtype == DType::string || bytes > 8) return refuse("type has no kernel");
  return reference::unpooled_shape(*op, node.input_shape(0)) == node.output_shape()
             ? take()
             : refuse("an output of another shape than the window's has no kernel");
}

std::int64_t units(const Chosen& node) { return planes_of(node).units(); }

Turns turns(const Chosen& node) { return {2, planes_of(node).units()}; }

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  if (context.has_input(2)) context.taken[2] = true;
  return std::make_unique<UnpoolOp>(context);
}

}  // namespace

constinit const Family families::unpool = whole_family({.name = "unpool",
                                                        .types = kAllTypes,
                                                        .match = match,
                                                        .units = units,
                                                        .effort = byte_effort<Work::copy>,
                                                        .weights_bytes = no_bytes,
                                                        .workspace_bytes = no_bytes,
                                                        .turns = turns,
                                                        .lower = lower});

}  // namespace colonnade
