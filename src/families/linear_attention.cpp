// SPDX-License-Identifier: Apache-2.0
// Attention by a state that tokens change. Threads share heads and, within a head, columns of values.
#include "kernels/linear_attention/linear_attention.hpp"

#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/shared.hpp"
#include "families/table.hpp"
#include "reference/onnx/definitions.hpp"
#include "reference/onnx/linear_attention.hpp"

namespace colonnade {
namespace {

using namespace reference;

const Opaque* linear_attention_of(const Node& node) {
  const auto* op = std::get_if<Opaque>(&node.op);
  return op != nullptr && op->definition == &kLinearAttention ? op : nullptr;
}

struct Sizes {
  StateAttention read;
  std::int64_t batch, tokens, keys, values;
  const kernels::linear_attention::Kernel* kernel = nullptr;

  std::int64_t columns() const { return static_cast<std::int64_t>(kernel->columns); }
  std::int64_t blocks() const { return ceil_div(values, columns()); }
  /// Blocks of columns of all heads.
  Shared shared() const { return {batch * read.heads * blocks(), 1024}; }
};

class LinearAttentionOp final : public RowOp {
 public:
  explicit LinearAttentionOp(const LowerContext& context)
      : sizes_(context.form<Sizes>()),
        query_(context.in<float>(kStateQuery)),
        key_(context.in<float>(kStateKey)),
        value_(context.in<float>(kStateValue)),
        out_(context.out<float>()),
        state_(context.out<float>(1)) {
    if (context.has_input(kStateBefore)) before_ = context.in<float>(kStateBefore);
    if (context.has_input(kStateFade))
      fade_ = context.in<float>(kStateFade), fades_ = context.input_shape(kStateFade)[2];
    if (context.has_input(kStateRate))
      rate_ = context.in<float>(kStateRate), rates_ = context.input_shape(kStateRate)[2];
  }

  void run(const StepContext& step) const override {
    const Interval units = sizes_.shared().of(step);
    for (std::int64_t unit = units.begin; unit < units.end; ++unit)
      run_block(step, unit / sizes_.blocks(), unit % sizes_.blocks() * sizes_.columns());
  }

  std::string_view kernel() const override { return sizes_.kernel->name; }

 private:
  /// Columns from `first` on of head `at` of all sentences' heads.
  void run_block(const StepContext& step, std::int64_t at, std::int64_t first) const {
    const auto& [read, batch, tokens, keys, values, kernel] = sizes_;
    const std::int64_t head = at % read.heads, row = at / read.heads * tokens;
    const std::int64_t results = read.results(), result = head * (results / read.heads);
    const std::int64_t asked = result / (results / read.query_heads);
    kernels::linear_attention::Args args;
    args.tokens = static_cast<std::size_t>(tokens);
    args.keys = static_cast<std::size_t>(keys);
    args.columns = static_cast<std::size_t>(std::min(sizes_.columns(), values - first));
    args.queries = static_cast<std::size_t>(results / read.heads);
    args.query_stride = read.query_heads * keys;
    args.query = whole(step, query_) + row * args.query_stride + asked * keys;
    args.key_stride = read.heads * keys;
    args.key = whole(step, key_) + row * args.key_stride + head * keys;
    args.value_stride = read.heads * values;
    args.value = whole(step, value_) + row * args.value_stride + head * values + first;
    if (fade_) {
      args.fade_step = fades_ == read.heads ? 0 : 1;
      args.fade_stride = fades_;
      args.fade = whole(step, fade_) + row * fades_ + head * (fades_ / read.heads);
    }
    if (rate_) {
      args.rate_stride = rates_;
      args.rate = whole(step, rate_) + row * rates_ + (rates_ == 1 ? 0 : head);
    }
    args.scale = read.scale_of(keys);
    args.state_stride = values;
    if (before_) args.before = whole(step, before_) + at * keys * values + first;
    args.state = whole(step, state_) + at * keys * values + first;
    args.out_stride = results * values;
    args.out_query_stride = values;
    args.out = whole(step, out_) + row * args.out_stride + result * values + first;
    args.work = step.scratch;
    kernel->run(args);
  }

  Sizes sizes_;
  ValueOf<float> query_, key_, value_, before_{}, fade_{}, rate_{}, out_, state_;
  std::int64_t fades_ = 0, rates_ = 0;
};

Match match(const Candidate& node) {
  const Opaque* op = linear_attention_of(node.node);
  if (op == nullptr) return refuse();
  const StateAttention read = state_attention_of(*op);
  const Shape &key = node.input_shape(kStateKey), &value = node.input_shape(kStateValue);
  return take(Form::of(Sizes{read, key[0], key[1], key[2] / read.heads, value[2] / read.heads,
                             &kernels::linear_attention::select(node.features)}));
}

std::int64_t units(const Chosen& node) { return node.form<Sizes>().shared().units(); }

/// Four operations on each element of the state, with one result; and the state is read and written once.
Effort effort(const Chosen& node, const Rates& rates) {
  const auto& sizes = node.form<Sizes>();
  const auto elements = static_cast<double>(sizes.batch * sizes.read.heads * sizes.keys * sizes.values);
  const double a_token = 6 + 2 * static_cast<double>(sizes.read.results() / sizes.read.heads);
  return {rates.seconds(Work::contraction, a_token * elements * static_cast<double>(sizes.tokens),
                        static_cast<double>(std::max<std::int64_t>(1, sizes.keys))) +
          rates.seconds(Work::copy, 2 * sizeof(float) * elements, 1)};
}

std::int64_t workspace_bytes(const Chosen& node) {
  const auto& sizes = node.form<Sizes>();
  return static_cast<std::int64_t>(sizeof(float) * sizes.kernel->work_floats(static_cast<std::size_t>(sizes.keys)));
}

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<LinearAttentionOp>(context); }

}  // namespace

constinit const Family families::linear_attention = whole_family({.name = "linear_attention",
                                                                  .types = kFloats,
                                                                  .match = match,
                                                                  .units = units,
                                                                  .effort = effort,
                                                                  .weights_bytes = no_bytes,
                                                                  .workspace_bytes = workspace_bytes,
                                                                  .lower = lower});

}  // namespace colonnade
