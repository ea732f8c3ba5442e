// SPDX-License-Identifier: Apache-2.0
// MaxUnpool: elements put where indices say, zeros elsewhere. Each unit is a part of the output: it sees all indices
// and takes those that lie in it, in their order.
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

/// Parts of an output: few, since each reads all indices, and a part is worth a look at them.
Shared parts_of(const Subject& node) { return {element_count(node.output_shape()), 4}; }

class UnpoolOp final : public RowOp {
 public:
  explicit UnpoolOp(const LowerContext& context)
      : name_(context.node.name),
        in_(context.in<std::byte>(0)),
        indices_(context.in<std::int64_t>(1)),
        out_(context.out<std::byte>()),
        parts_(parts_of(context)),
        count_(element_count(context.input_shape(0))),
        element_(element_bytes(context.input(0))) {}

  void run(const StepContext& step) const override {
    const Interval part = parts_.of(step);
    std::byte* const out = whole(step, out_);
    std::memset(out + part.begin * element_, 0, static_cast<std::size_t>((part.end - part.begin) * element_));
    switch (element_) {
      case 1: return put(step, part, std::uint8_t{});
      case 2: return put(step, part, std::uint16_t{});
      case 4: return put(step, part, std::uint32_t{});
      default: return put(step, part, std::uint64_t{});
    }
  }

  std::string_view kernel() const override { return "unpool"; }

 private:
  template <class T>
  void put(const StepContext& step, Interval part, T) const {
    const T* from = reinterpret_cast<const T*>(whole(step, in_));
    T* const to = reinterpret_cast<T*>(whole(step, out_)) + part.begin;
    const std::int64_t* at = whole(step, indices_);
    const auto size = static_cast<std::uint64_t>(part.end - part.begin),
               total = static_cast<std::uint64_t>(parts_.total);
    bool outside = false;
    for (std::int64_t i = 0; i < count_; ++i) {
      const std::uint64_t place = static_cast<std::uint64_t>(at[i]) - static_cast<std::uint64_t>(part.begin);
      outside |= static_cast<std::uint64_t>(at[i]) >= total;
      if (place < size) to[place] = from[i];
    }
    if (outside) refuse_index(at);
  }

  [[noreturn]] void refuse_index(const std::int64_t* at) const {
    while (*at >= 0 && *at < parts_.total) ++at;
    fail(ErrorCode::invalid_input, "node '{}' (MaxUnpool): index {} is out of range [0,{})", name_, *at, parts_.total);
  }

  std::string name_;
  ValueOf<std::byte> in_;
  ValueOf<std::int64_t> indices_;
  ValueOf<std::byte> out_;
  Shared parts_;
  std::int64_t count_, element_;
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

std::int64_t units(const Chosen& node) { return parts_of(node).units(); }

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
                                                        .lower = lower});

}  // namespace colonnade
