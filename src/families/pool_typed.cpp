// SPDX-License-Identifier: Apache-2.0
// Largest elements of windows, of any type and over any number of axes: the channels of a tap are a typed row. Units
// are pixels of the output.
#include "families/common.hpp"
#include "families/kernel_type.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/shared.hpp"
#include "families/table.hpp"
#include "families/typed_match.hpp"
#include "graph/windows.hpp"
#include "kernels/base/copy.hpp"

namespace colonnade {
namespace {

using Axes = std::vector<WindowAxis>;
constexpr std::size_t kMostAxes = 6;

std::span<const std::int64_t> spatial_of(const Shape& shape) { return std::span(shape).subspan(1, shape.size() - 2); }

Shared pixels_of(const Subject& node) {
  const Shape& shape = node.output_shape();
  return {element_count(std::span(shape).first(shape.size() - 1)), 256};
}

class TypedPoolOp final : public RowOp {
 public:
  explicit TypedPoolOp(const LowerContext& context)
      : kernel_(kernels::typed::select(context.features)),
        merge_(kernel_.binary(kernels::typed::Binary::max, *typed_type(context.input(0).type.dtype))),
        in_(context.in<std::byte>(0)),
        out_(context.out<std::byte>()),
        axes_(context.form<Axes>()),
        pixels_(pixels_of(context)),
        channels_(context.input_shape(0).back()),
        row_bytes_(channels_ * element_bytes(context.input(0))) {
    const auto in = spatial_of(context.input_shape(0)), out = spatial_of(context.output_shape());
    in_shape_.assign(in.begin(), in.end());
    out_shape_.assign(out.begin(), out.end());
  }

  void run(const StepContext& step) const override {
    const Interval pixels = pixels_.of(step);
    for (std::int64_t pixel = pixels.begin; pixel < pixels.end; ++pixel) {
      std::byte* const out = whole(step, out_) + pixel * row_bytes_;
      auto* const spare = reinterpret_cast<std::byte*>(step.scratch);
      const std::byte* largest = nullptr;
      meet(step, pixel, [&](const std::byte* tap) {
        if (largest == nullptr) {
          largest = tap;
          return;
        }
        std::byte* const to = largest == out ? spare : out;
        merge_({{largest, tap}, {1, 1}, to, static_cast<std::size_t>(channels_)});
        largest = to;
      });
      if (largest != out) kernels::copy_memory(out, largest, static_cast<std::size_t>(row_bytes_));
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  /// The taps inside the input, in order.
  template <class Take>
  void meet(const StepContext& step, std::int64_t pixel, Take take) const {
    std::int64_t first[kMostAxes] = {}, image = pixel;
    for (std::size_t axis = axes_.size(); axis-- > 0; image /= out_shape_[axis])
      first[axis] = image % out_shape_[axis] * axes_[axis].stride - axes_[axis].pad_begin;
    meet_axis(whole(step, in_), first, 0, image, take);
  }
  template <class Take>
  void meet_axis(const std::byte* in, const std::int64_t* first, std::size_t axis, std::int64_t at, Take& take) const {
    if (axis == axes_.size()) return take(in + at * row_bytes_);
    for (std::int64_t tap = 0; tap < axes_[axis].kernel; ++tap) {
      const std::int64_t place = first[axis] + tap * axes_[axis].dilation;
      if (place >= 0 && place < in_shape_[axis]) meet_axis(in, first, axis + 1, at * in_shape_[axis] + place, take);
    }
  }

  const kernels::typed::Kernel& kernel_;
  kernels::typed::RowFn merge_;
  ValueOf<std::byte> in_, out_;
  Axes axes_;
  Shared pixels_;
  std::int64_t channels_, row_bytes_;
  Shape in_shape_, out_shape_;
};

/// Every window along the axis sees an element.
bool always_sees(const WindowAxis& axis, std::int64_t in, std::int64_t out) {
  for (std::int64_t position = 0; position < out; ++position) {
    bool sees = false;
    for (std::int64_t tap = 0; !sees && tap < axis.kernel; ++tap) {
      const std::int64_t place = position * axis.stride - axis.pad_begin + tap * axis.dilation;
      sees = place >= 0 && place < in;
    }
    if (!sees) return false;
  }
  return true;
}

Match match(const Candidate& node) {
  const Pool* pool = std::get_if<Pool>(&node.node.op);
  if (pool == nullptr || pool->kind != PoolKind::max) return refuse();
  if (node.node.outputs.size() > 1 && node.node.outputs[1] != kAbsent) return refuse("positions have no kernel");
  const auto type = typed_type(node.input(0).type.dtype);
  const auto& kernel = kernels::typed::select(node.features);
  if (!type || !kernel.binary(kernels::typed::Binary::max, *type)) return refuse("type has no kernel");
  const auto in = spatial_of(node.input_shape(0)), out = spatial_of(node.output_shape());
  Axes axes = window_axes(*pool, in);
  if (axes.size() > kMostAxes || element_count(node.output_shape()) == 0)
    return refuse("empty tensors and so many axes have no kernel");
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    if (!always_sees(axes[axis], in[axis], out[axis])) return refuse("windows of nothing have no kernel");
  return take(Form::of(std::move(axes)));
}

std::int64_t units(const Chosen& node) { return pixels_of(node).units(); }

Effort effort(const Chosen& node, const Rates& rates) {
  double taps = 1;
  for (const WindowAxis& axis : node.form<Axes>()) taps *= static_cast<double>(axis.kernel);
  return {rates.seconds(Work::pool, flop_of(node.graph, node.node), taps)};
}

/// A row of channels.
std::int64_t workspace_bytes(const Chosen& node) { return node.input_shape(0).back() * element_bytes(node.input(0)); }

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<TypedPoolOp>(context); }

}  // namespace

constinit const Family families::pool_typed = whole_family({.name = "pool_typed",
                                                            .types = kAllTypes,
                                                            .match = match,
                                                            .units = units,
                                                            .effort = effort,
                                                            .weights_bytes = no_bytes,
                                                            .workspace_bytes = workspace_bytes,
                                                            .lower = lower});

}  // namespace colonnade
