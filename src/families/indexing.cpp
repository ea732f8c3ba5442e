// SPDX-License-Identifier: Apache-2.0
// Elements and blocks that indices name: taken from there, put there, or met by updates there. Targets that threads
// share are disjoint, and every thread sees the updates in their order.
#include "families/indexing.hpp"

#include <cstring>

#include "families/common.hpp"
#include "families/kernel_type.hpp"
#include "families/table.hpp"
#include "kernels/base/copy.hpp"

namespace colonnade {
namespace {

using namespace indexing;
using kernels::indexing::BlockFn;
using kernels::indexing::Merge;
using kernels::indexing::Type;

std::optional<Type> type_of(DType dtype) { return kernel_type<Type>(dtype); }

/// How an update is put onto `bytes` of data.
BlockFn update_fn(const kernels::indexing::Kernel& kernel, ScatterMode mode, DType dtype, std::int64_t bytes) {
  switch (mode) {
    case ScatterMode::replace: break;
    case ScatterMode::add: return kernel.merge(Merge::add, *type_of(dtype));
    case ScatterMode::mul: return kernel.merge(Merge::mul, *type_of(dtype));
    case ScatterMode::min: return kernel.merge(Merge::min, *type_of(dtype));
    case ScatterMode::max: return kernel.merge(Merge::max, *type_of(dtype));
  }
  return kernel.put(static_cast<std::size_t>(bytes));
}

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

/// What the operators of this family share: the kernel, the data and what is made of them.
class IndexedOp : public RowOp {
 public:
  explicit IndexedOp(const LowerContext& context)
      : kernel_(kernels::indexing::select(context.features)),
        data_(context.in<std::byte>(0)),
        out_(context.out<std::byte>()),
        indices_(context) {}
  std::string_view kernel() const override { return kernel_.name; }

 protected:
  /// A scatter's data where it is not to be changed in its place.
  void copy_data(const StepContext& step, std::int64_t begin, std::int64_t bytes) const {
    std::byte* to = whole(step, out_);
    const std::byte* from = whole(step, data_);
    if (from != to) kernels::copy_memory(to + begin, from + begin, size(bytes));
  }

  const kernels::indexing::Kernel& kernel_;
  ValueOf<std::byte> data_, out_;
  Indices indices_;
};

class TupleOp : public IndexedOp {
 public:
  explicit TupleOp(const LowerContext& context)
      : IndexedOp(context), form_(context.form<TupleForm>()), tuples_(kernel_.tuples(indices_.wide())) {}

 protected:
  /// Of tuples [first, first + count), which are of one batch.
  void find(const StepContext& step, std::int64_t first, std::int64_t count, Offsets& offsets) const {
    const std::int64_t base = first / form_.per_batch * form_.batch_bytes;
    if (!tuples_({indices_.at(step, first * form_.depth), offsets.data(), size(count), size(form_.depth),
                  form_.sizes.data(), form_.strides.data(), base}))
      indices_.refuse(step, first * form_.depth, count * form_.depth, form_.sizes, form_.first_axis);
  }

  TupleForm form_;

 private:
  kernels::indexing::TupleFn tuples_;
};

/// Units are tuples.
class GatherNdOp final : public TupleOp {
 public:
  explicit GatherNdOp(const LowerContext& context) : TupleOp(context), take_(kernel_.take(size(form_.block_bytes))) {}

  void run(const StepContext& step) const override {
    Offsets offsets;
    const Interval tuples = form_.shared.of(step);
    for (std::int64_t t = tuples.begin, count = 0; t < tuples.end; t += count) {
      count = std::min({kChunk, tuples.end - t, form_.per_batch - t % form_.per_batch});
      find(step, t, count, offsets);
      take_({whole(step, data_), whole(step, out_) + t * form_.block_bytes, offsets.data(), nullptr, size(count),
             size(form_.block_bytes)});
    }
  }

 private:
  BlockFn take_;
};

/// Units are blocks of the output. Where they all fit, offsets are found once.
class GatherOp final : public IndexedOp {
 public:
  explicit GatherOp(const LowerContext& context)
      : IndexedOp(context),
        form_(context.form<BlockForm>()),
        elements_(kernel_.elements(indices_.wide())),
        take_(kernel_.take(size(form_.block_bytes))) {}

  void run(const StepContext& step) const override {
    const Interval blocks = form_.shared.of(step);
    const bool once = form_.count <= kChunk;
    Offsets offsets;
    if (once && blocks.begin < blocks.end) find(step, 0, form_.count, offsets);
    for (std::int64_t at = blocks.begin, count = 0; at < blocks.end; at += count) {
      const std::int64_t outer = at / form_.count, first = at % form_.count;
      count = std::min({kChunk, blocks.end - at, form_.count - first});
      if (!once) find(step, first, count, offsets);
      take_({whole(step, data_) + outer * form_.size * form_.block_bytes, whole(step, out_) + at * form_.block_bytes,
             offsets.data() + (once ? first : 0), nullptr, size(count), size(form_.block_bytes)});
    }
  }

 private:
  void find(const StepContext& step, std::int64_t first, std::int64_t count, Offsets& offsets) const {
    if (!elements_({indices_.at(step, first), offsets.data(), 1, size(count), form_.size, 0, 0, form_.block_bytes}))
      indices_.refuse(step, first, count, {form_.size}, form_.axis);
  }

  BlockForm form_;
  kernels::indexing::ElementFn elements_;
  BlockFn take_;
};

/// Units are blocks of the output: each thread walks all tuples, and updates the blocks that are its own.
class ScatterNdOp final : public TupleOp {
 public:
  ScatterNdOp(const LowerContext& context, const ScatterNd& op)
      : TupleOp(context),
        updates_(context.in<std::byte>(2)),
        update_(update_fn(kernel_, op.mode, context.input(0).type.dtype, form_.block_bytes)) {}

  bool changes_in_place() const override { return true; }

  void run(const StepContext& step) const override {
    const Interval blocks = form_.shared.of(step);
    const std::int64_t bytes = form_.block_bytes, begin = blocks.begin * bytes, end = blocks.end * bytes;
    copy_data(step, begin, end - begin);
    Offsets offsets, places;
    for (std::int64_t t = 0; t < form_.tuples; t += kChunk) {
      const std::int64_t count = std::min(kChunk, form_.tuples - t);
      find(step, t, count, offsets);
      const bool all = blocks == Interval{0, form_.blocks};
      update_({whole(step, updates_) + t * bytes, whole(step, out_), offsets.data(), all ? nullptr : places.data(),
               all ? size(count) : keep(offsets, places, count, begin, end), size(bytes)});
    }
  }

 private:
  /// Moves the offsets in [begin, end) to the front; `places` is where they were.
  static std::size_t keep(Offsets& offsets, Offsets& places, std::int64_t count, std::int64_t begin, std::int64_t end) {
    std::size_t kept = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t offset = offsets[size(i)];
      offsets[kept] = offset;
      places[kept] = i;
      kept += (offset >= begin) & (offset < end) ? 1U : 0U;
    }
    return kept;
  }

  ValueOf<std::byte> updates_;
  BlockFn update_;
};

class ElementOp : public IndexedOp {
 public:
  explicit ElementOp(const LowerContext& context)
      : IndexedOp(context),
        form_(context.form<ElementForm>()),
        bytes_(element_bytes(context.input(0))),
        elements_(kernel_.elements(indices_.wide())) {}

 protected:
  /// f(position, count, offsets) for the indices of this thread, some at a time.
  template <class F>
  void for_offsets(const StepContext& step, F f) const {
    Offsets offsets;
    const auto block = [&](std::int64_t position, std::int64_t base, std::int64_t rows, std::int64_t columns) {
      if (!elements_({indices_.at(step, position), offsets.data(), size(rows), size(columns), form_.size, base,
                      form_.loops.back().stride, form_.stride}))
        indices_.refuse(step, position, rows * columns, {form_.size}, form_.axis);
      f(position, size(rows * columns), offsets.data());
    };
    ElementWalk(form_, form_.shared.of(step), block).run();
  }

  ElementForm form_;
  std::int64_t bytes_;

 private:
  kernels::indexing::ElementFn elements_;
};

class GatherElementsOp final : public ElementOp {
 public:
  explicit GatherElementsOp(const LowerContext& context) : ElementOp(context), take_(kernel_.take(size(bytes_))) {}

  void run(const StepContext& step) const override {
    for_offsets(step, [&](std::int64_t position, std::size_t count, const std::int64_t* offsets) {
      take_({whole(step, data_), whole(step, out_) + position * bytes_, offsets, nullptr, count, size(bytes_)});
    });
  }

 private:
  BlockFn take_;
};

/// Units are steps along an axis other than the one that indices count.
class ScatterElementsOp final : public ElementOp {
 public:
  ScatterElementsOp(const LowerContext& context, const ScatterElements& op)
      : ElementOp(context),
        updates_(context.in<std::byte>(2)),
        update_(update_fn(kernel_, op.mode, context.input(0).type.dtype, bytes_)) {
    for (std::size_t l = 0; l < form_.shared_loop; ++l) slabs_ *= form_.loops[l].extent;
  }

  bool changes_in_place() const override { return true; }

  void run(const StepContext& step) const override {
    const AxisLoop& shared = form_.loops[form_.shared_loop];
    const Interval part = form_.shared.of(step);
    for (std::int64_t slab = 0; slab < slabs_; ++slab) {
      const std::int64_t begin = (slab * shared.extent + part.begin) * shared.stride;
      copy_data(step, begin, (part.end - part.begin) * shared.stride);
    }
    for_offsets(step, [&](std::int64_t position, std::size_t count, const std::int64_t* offsets) {
      update_({whole(step, updates_) + position * bytes_, whole(step, out_), offsets, nullptr, count, size(bytes_)});
    });
  }

 private:
  ValueOf<std::byte> updates_;
  BlockFn update_;
  std::int64_t slabs_ = 1;
};

Match merges(const Candidate& node, ScatterMode mode, Form form) {
  const DType dtype = node.input(0).type.dtype;
  if (node.input(2).type.dtype != dtype) return refuse("updates are of another type");
  return mode == ScatterMode::replace || type_of(dtype) ? take(std::move(form)) : refuse("type has no kernel");
}

std::int64_t axis_of(std::int64_t axis, const Candidate& node) {
  return normalize_axis(axis, static_cast<std::int64_t>(node.input_shape(0).size()), node.node);
}

Match claim(const Gather& op, const Candidate& node) {
  return take(Form::of(block_form(node, axis_of(op.axis, node))));
}
Match claim(const GatherNd& op, const Candidate& node) {
  return take(Form::of(tuple_form(node, op.batch_dims, false)));
}
Match claim(const ScatterNd& op, const Candidate& node) {
  return merges(node, op.mode, Form::of(tuple_form(node, 0, true)));
}
Match claim(const GatherElements& op, const Candidate& node) {
  return take(Form::of(element_form(node, axis_of(op.axis, node), false)));
}
Match claim(const ScatterElements& op, const Candidate& node) {
  return merges(node, op.mode, Form::of(element_form(node, axis_of(op.axis, node), true)));
}
template <class Op>
Match claim(const Op&, const Candidate&) {
  return refuse();
}

bool is_tuples(const Node& node) {
  return std::holds_alternative<GatherNd>(node.op) || std::holds_alternative<ScatterNd>(node.op);
}
bool is_indexed(const Node& node) {
  return is_tuples(node) || std::holds_alternative<Gather>(node.op) ||
         std::holds_alternative<GatherElements>(node.op) || std::holds_alternative<ScatterElements>(node.op);
}

Match match(const Candidate& node) {
  if (!is_indexed(node.node)) return refuse();
  if (node.input(0).type.dtype == DType::string) return refuse("type has no kernel");
  const DType index = node.input(1).type.dtype;
  if (index != DType::i64 && index != DType::i32) return refuse("indices of this type have no kernel");
  return std::visit([&](const auto& op) { return claim(op, node); }, node.node.op);
}

std::int64_t units(const Chosen& node) {
  if (std::holds_alternative<Gather>(node.node.op)) return node.form<BlockForm>().shared.units();
  return is_tuples(node.node) ? node.form<TupleForm>().shared.units() : node.form<ElementForm>().shared.units();
}

/// What is made, and as much as a function takes for every index.
Effort effort(const Chosen& node, const Rates& rates) {
  const auto made = static_cast<double>(bytes_of(node.graph.value(node.node.outputs[0])));
  return {rates.seconds(Work::copy, made, 1) +
          rates.seconds(Work::function, elements_of(node.graph, node.node.inputs[1]), 1)};
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  const Operator& op = context.node.op;
  if (const auto* scatter = std::get_if<ScatterNd>(&op)) return std::make_unique<ScatterNdOp>(context, *scatter);
  if (const auto* scatter = std::get_if<ScatterElements>(&op))
    return std::make_unique<ScatterElementsOp>(context, *scatter);
  if (std::holds_alternative<Gather>(op)) return std::make_unique<GatherOp>(context);
  if (std::holds_alternative<GatherNd>(op)) return std::make_unique<GatherNdOp>(context);
  return std::make_unique<GatherElementsOp>(context);
}

}  // namespace

constinit const Family families::indexing = whole_family({.name = "indexing",
                                                          .types = kAllTypes,
                                                          .match = match,
                                                          .units = units,
                                                          .effort = effort,
                                                          .weights_bytes = no_bytes,
                                                          .workspace_bytes = no_bytes,
                                                          .lower = lower});

}  // namespace colonnade
