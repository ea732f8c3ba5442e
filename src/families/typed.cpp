// SPDX-License-Identifier: Apache-2.0
// Whole tensors of any type: walks over boxes, row by row, by typed kernels. What is walked is settled when lowered.
#include "kernels/typed/typed.hpp"

#include <cstring>

#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/permute.hpp"
#include "families/rows.hpp"
#include "families/slice.hpp"
#include "families/table.hpp"
#include "families/typed_match.hpp"
#include "families/typed_walk.hpp"
#include "kernels/base/copy.hpp"
#include "kernels/norm/norm.hpp"
#include "reference/indexing.hpp"

namespace colonnade {
namespace {

using kernels::typed::RowFn;
using namespace typed_walk;

struct Lowering {
  const LowerContext& context;
  const kernels::typed::Kernel& kernel;

  const Node& node() const { return context.node; }
  const Shape& output() const { return context.output_shape(); }
  kernels::typed::Type type(std::size_t input) const { return *typed_type(context.input(input).type.dtype); }
  std::size_t axis_of(std::int64_t axis, const Shape& shape) const {
    return static_cast<std::size_t>(normalize_axis(axis, static_cast<std::int64_t>(shape.size()), node()));
  }
  RowFn copy() const { return kernel.copy(static_cast<std::size_t>(element_bytes(context, node().outputs[0]))); }
  Operand dense(ValueId value, const Shape& shape, std::int64_t offset = 0) const {
    return {value, offset, reference::strides_of(shape)};
  }

  std::unique_ptr<RowOp> walk(RowFn row, const Shape& box, const std::vector<Operand>& inputs) const {
    return walks({Walk(context, row, box, inputs, dense(node().outputs[0], box))});
  }
  /// A copy of a box.
  std::unique_ptr<RowOp> moves(const Shape& box, const Operand& input) const {
    return walks({Walk(context, copy(), box, {input}, dense(node().outputs[0], box), true)});
  }
  std::unique_ptr<RowOp> walks(std::vector<Walk> list) const {
    return std::make_unique<WalkOp>(context, kernel.name, std::move(list), typed_units(context));
  }
  /// The axes of the first input in another order.
  std::unique_ptr<RowOp> permuted() const {
    const AxisOrder order = *axis_order_of({context.graph, node()});
    const Ints from = reference::strides_of(order.shape);
    Shape box;
    Ints strides;
    for (const std::int64_t axis : order.axes) {
      box.push_back(order.shape[static_cast<std::size_t>(axis)]);
      strides.push_back(from[static_cast<std::size_t>(axis)]);
    }
    return moves(box, {node().inputs[0], 0, strides});
  }
  /// Inputs broadcast to the output.
  std::unique_ptr<RowOp> elementwise(RowFn row, std::size_t operands) const {
    std::vector<Operand> inputs;
    for (std::size_t i = 0; i < operands; ++i)
      inputs.push_back({node().inputs[i], 0, reference::broadcast_strides(context.input_shape(i), output())});
    return walk(row, output(), inputs);
  }
};

/// Reads one index of an index tensor.
std::int64_t index_at(const std::byte* indices, bool wide, std::int64_t i) {
  if (wide) return reinterpret_cast<const std::int64_t*>(indices)[i];
  return reinterpret_cast<const std::int32_t*>(indices)[i];
}

/// All elements off, then the chosen ones on.
class OneHotOp final : public RowOp {
 public:
  OneHotOp(const Lowering& l, const OneHot& op)
      : kernel_(l.kernel.name),
        copy_(l.copy()),
        indices_(l.node().inputs[0]),
        values_(l.node().inputs[2]),
        out_(l.node().outputs[0]),
        wide_(l.context.input(0).type.dtype == DType::i64),
        view_(reference::axis_view(l.output(), static_cast<std::int64_t>(l.axis_of(op.axis, l.output())))),
        bytes_(element_bytes(l.context, out_)) {}

  void run(const StepContext& step) const override {
    const std::byte* indices = whole(step, indices_);
    const std::byte* values = whole(step, values_);
    std::byte* out = whole(step, out_);
    copy_({{values}, {0}, out, static_cast<std::size_t>(view_.outer * view_.size * view_.inner)});
    for (std::int64_t i = 0; i < view_.outer * view_.inner; ++i) {
      std::int64_t position = index_at(indices, wide_, i);
      position += position < 0 ? view_.size : 0;
      if (position < 0 || position >= view_.size) continue;
      const std::int64_t element = (i / view_.inner * view_.size + position) * view_.inner + i % view_.inner;
      std::memcpy(out + element * bytes_, values + bytes_, static_cast<std::size_t>(bytes_));
    }
  }
  std::string_view kernel() const override { return kernel_; }

 private:
  std::string_view kernel_;
  RowFn copy_;
  ValueId indices_, values_, out_;
  bool wide_;
  reference::AxisView view_;
  std::int64_t bytes_;
};

/// Blocks of lines that lie side by side, shared evenly among units.
class ArgReduceOp final : public RowOp {
 public:
  ArgReduceOp(const Lowering& l, const ArgReduce& op)
      : kernel_(l.kernel.name),
        arg_(l.kernel.arg(l.type(0))),
        in_(l.node().inputs[0]),
        out_(l.node().outputs[0]),
        lines_(arg_lines(l.context, op)),
        units_(typed_units(l.context)),
        bytes_(element_bytes(l.context, in_)) {
    args_.size = static_cast<std::size_t>(lines_.view.size);
    args_.inner = static_cast<std::size_t>(lines_.view.inner);
    args_.max = op.max;
    args_.last = op.select_last_index;
  }

  void run(const StepContext& step) const override {
    const auto& [view, blocks] = lines_;
    kernels::typed::ArgArgs args = args_;
    const std::int64_t all = view.outer * blocks, end = all * step.row_end / units_;
    std::int64_t block = all * step.row_begin / units_;
    if (view.inner == 1 && block < end) {
      args.outer = static_cast<std::size_t>(end - block);
      args.lines = 1;
      args.in = whole(step, in_) + block * view.size * bytes_;
      args.out = reinterpret_cast<std::int64_t*>(whole(step, out_)) + block;
      return arg_(args);
    }
    for (; block < end; ++block) {
      const std::int64_t outer = block / blocks, first = block % blocks * kLinesOfBlock;
      args.lines = static_cast<std::size_t>(std::min(kLinesOfBlock, view.inner - first));
      args.in = whole(step, in_) + (outer * view.size * view.inner + first) * bytes_;
      args.out = reinterpret_cast<std::int64_t*>(whole(step, out_)) + outer * view.inner + first;
      arg_(args);
    }
  }
  std::string_view kernel() const override { return kernel_; }

 private:
  std::string_view kernel_;
  kernels::typed::ArgFn arg_;
  ValueId in_, out_;
  ArgLines lines_;
  std::int64_t units_, bytes_;
  kernels::typed::ArgArgs args_;
};

/// Softmax over the last axis that is longer than one.
class SoftmaxOp final : public RowOp {
 public:
  SoftmaxOp(const Lowering& l, const Softmax& op)
      : kernel_(kernels::norm::select(l.context.features)), in_(l.context.in<float>(0)), out_(l.context.out<float>()) {
    const Shape& shape = l.output();
    const std::int64_t channels = shape[l.axis_of(op.axis, shape)];
    args_.pixels = static_cast<std::size_t>(element_count(shape) / channels);
    args_.channels = static_cast<std::size_t>(channels);
    args_.in_pixel_stride = args_.out_pixel_stride = channels;
    args_.log = op.log;
  }

  void run(const StepContext& step) const override {
    kernels::norm::SoftmaxArgs args = args_;
    args.in = whole(step, in_);
    args.out = whole(step, out_);
    kernel_.softmax(args);
  }
  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::norm::Kernel& kernel_;
  ValueOf<float> in_, out_;
  kernels::norm::SoftmaxArgs args_;
};

/// The same of doubles.
class DoublesSoftmaxOp final : public RowOp {
 public:
  DoublesSoftmaxOp(const Lowering& l, const Softmax& op)
      : kernel_(l.kernel), in_(l.node().inputs[0]), out_(l.node().outputs[0]) {
    const Shape& shape = l.output();
    args_.size = static_cast<std::size_t>(shape[l.axis_of(op.axis, shape)]);
    args_.lines = static_cast<std::size_t>(element_count(shape)) / args_.size;
    args_.log = op.log;
  }

  void run(const StepContext& step) const override {
    kernels::typed::SoftmaxArgs args = args_;
    args.in = reinterpret_cast<const double*>(whole(step, in_));
    args.out = reinterpret_cast<double*>(whole(step, out_));
    kernel_.softmax(args);
  }
  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::typed::Kernel& kernel_;
  ValueId in_, out_;
  kernels::typed::SoftmaxArgs args_;
};

std::unique_ptr<RowOp> lower(const Unary& op, const Lowering& l) {
  const RowFn row = op.kind == UnaryKind::identity ? l.copy() : l.kernel.unary(*typed_unary(op.kind), l.type(0));
  return l.elementwise(row, 1);
}
std::unique_ptr<RowOp> lower(const Opaque&, const Lowering& l) { return l.elementwise(l.copy(), 1); }
std::unique_ptr<RowOp> lower(const Binary& op, const Lowering& l) {
  return l.elementwise(l.kernel.binary(*typed_binary(op.kind), l.type(0)), 2);
}
std::unique_ptr<RowOp> lower(const Select&, const Lowering& l) {
  return l.elementwise(l.kernel.select(static_cast<std::size_t>(element_bytes(l.context, l.node().outputs[0]))), 3);
}
std::unique_ptr<RowOp> lower(const Cast& op, const Lowering& l) {
  return l.elementwise(l.kernel.cast(l.type(0), *typed_type(op.to)), 1);
}
std::unique_ptr<RowOp> lower(const Expand&, const Lowering& l) {
  return l.moves(l.output(),
                 {l.node().inputs[0], 0, reference::broadcast_strides(l.context.input_shape(0), l.output())});
}

std::unique_ptr<RowOp> lower(const Transpose&, const Lowering& l) { return l.permuted(); }
std::unique_ptr<RowOp> lower(const DepthToSpace&, const Lowering& l) { return l.permuted(); }
std::unique_ptr<RowOp> lower(const SpaceToDepth&, const Lowering& l) { return l.permuted(); }

std::unique_ptr<RowOp> lower(const Slice&, const Lowering& l) {
  const auto axes = *slice_axes_of(l.context.graph, l.node());
  Operand input{l.node().inputs[0], 0, reference::strides_of(l.context.input_shape(0))};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    input.offset += axes[i].first * input.strides[i];
    input.strides[i] *= axes[i].step;
  }
  return l.moves(l.output(), input);
}

std::unique_ptr<RowOp> lower(const Tile&, const Lowering& l) {
  const Shape& shape = l.context.input_shape(0);
  const Ints repeats = *constant_ints(l.context.graph, l.node(), 1), from = reference::strides_of(shape);
  Shape box;
  Ints strides;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    box.insert(box.end(), {repeats[axis], shape[axis]});
    strides.insert(strides.end(), {0, from[axis]});
  }
  return l.moves(box, {l.node().inputs[0], 0, strides});
}

std::unique_ptr<RowOp> lower(const Concat& op, const Lowering& l) {
  const std::size_t axis = l.axis_of(op.axis, l.output());
  Operand output = l.dense(l.node().outputs[0], l.output());
  std::vector<Walk> walks;
  for (std::size_t i = 0; i < l.node().inputs.size(); ++i) {
    const Shape& part = l.context.input_shape(i);
    walks.emplace_back(l.context, l.copy(), part, std::vector{l.dense(l.node().inputs[i], part)}, output, true);
    output.offset += part[axis] * output.strides[axis];
  }
  return l.walks(std::move(walks));
}

std::unique_ptr<RowOp> lower(const Split& op, const Lowering& l) {
  const Shape& shape = l.context.input_shape(0);
  const std::size_t axis = l.axis_of(op.axis, shape);
  Operand input = l.dense(l.node().inputs[0], shape);
  std::vector<Walk> walks;
  for (const ValueId id : l.node().outputs) {
    const Shape& part = l.context.graph.value(id).type.static_shape();
    walks.emplace_back(l.context, l.copy(), part, std::vector{input}, l.dense(id, part), true);
    input.offset += part[axis] * input.strides[axis];
  }
  return l.walks(std::move(walks));
}

std::unique_ptr<RowOp> lower(const OneHot& op, const Lowering& l) { return std::make_unique<OneHotOp>(l, op); }
std::unique_ptr<RowOp> lower(const ArgReduce& op, const Lowering& l) { return std::make_unique<ArgReduceOp>(l, op); }
std::unique_ptr<RowOp> lower(const Softmax& op, const Lowering& l) {
  if (l.type(0) == kernels::typed::Type::f64) return std::make_unique<DoublesSoftmaxOp>(l, op);
  return std::make_unique<SoftmaxOp>(l, op);
}

template <class Op>
std::unique_ptr<RowOp> lower(const Op&, const Lowering& l) {
  fail(ErrorCode::internal, "node '{}' has no typed kernel", l.node().name);
}

Match match(const Candidate& node) { return has_typed_kernel(node.graph, node.node) ? take() : refuse(); }

std::unique_ptr<RowOp> lower_typed(const LowerContext& context) {
  const Lowering lowering{context, kernels::typed::select(context.features)};
  return std::visit([&](const auto& op) { return lower(op, lowering); }, context.node.op);
}

}  // namespace

constinit const Family families::typed = whole_family({.name = "typed",
                                                       .types = kAllTypes,
                                                       .match = match,
                                                       .units = typed_units,
                                                       .effort = typed_effort,
                                                       .weights_bytes = no_bytes,
                                                       .workspace_bytes = no_bytes,
                                                       .lower = lower_typed});

}  // namespace colonnade
