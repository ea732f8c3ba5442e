// SPDX-License-Identifier: Apache-2.0
// The scale and zero point of dynamic quantisation: the range of a tensor, in parts that threads share.
#include <numeric>

#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "graph/bytes.hpp"
#include "kernels/norm/norm.hpp"

namespace colonnade {
namespace {

/// Numbers of a part, at least.
constexpr std::int64_t kPart = 1 << 14, kMostParts = 64, kTurns = 2;

struct ScaleForm {
  std::int64_t count = 0, parts = 1;
};

class ByteScaleOp final : public RowOp {
 public:
  explicit ByteScaleOp(const LowerContext& context)
      : kernel_(kernels::norm::select(context.features)),
        form_(context.form<ScaleForm>()),
        in_(context.in<float>(0)),
        scale_(context.out<float>(0)) {
    if (context.node.outputs.size() > 1) zero_point_ = context.out<std::byte>(1);
  }

  /// In turns where there are parts: the range of each, then that of all.
  void run(const StepContext& step) const override {
    if (form_.parts == 1) return write(step, range_of(step, {0, form_.count}));
    auto* const ranges = reinterpret_cast<NumberRange*>(step.shared);
    if (step.turns.begin == 0)
      for (std::int64_t part = step.row_begin; part < step.row_end; ++part)
        ranges[part] = range_of(step, {begin_of(part), begin_of(part + 1)});
    if (step.turns.end == kTurns && step.row_begin == 0 && step.row_end > 0)
      write(step, std::accumulate(ranges, ranges + form_.parts, NumberRange{},
                                  [](const NumberRange& a, const NumberRange& b) { return a.joined(b); }));
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  std::int64_t begin_of(std::int64_t part) const { return form_.count * part / form_.parts; }

  NumberRange range_of(const StepContext& step, Interval range) const {
    NumberRange found;
    kernel_.range(
        {whole(step, in_) + range.begin, static_cast<std::size_t>(range.end - range.begin), &found.least, &found.most});
    return found;
  }

  void write(const StepContext& step, const NumberRange& found) const {
    if (scale_) *whole(step, scale_) = found.scale();
    if (zero_point_) *whole(step, zero_point_) = std::byte{found.zero_point()};
  }

  const kernels::norm::Kernel& kernel_;
  ScaleForm form_;
  ValueOf<float> in_, scale_;
  ValueOf<std::byte> zero_point_;
};

Match match(const Candidate& node) {
  if (!std::holds_alternative<ByteScale>(node.node.op)) return refuse();
  const std::int64_t count = element_count(node.input_shape(0));
  return take(Form::of(ScaleForm{count, std::clamp<std::int64_t>(count / kPart, 1, kMostParts)}));
}

std::int64_t units(const Chosen& node) { return node.form<ScaleForm>().parts; }

Effort effort(const Chosen& node, const Rates& rates) {
  return {rates.seconds(Work::reduce, static_cast<double>(node.form<ScaleForm>().count), 1)};
}

Turns turns(const Chosen& node) {
  const std::int64_t parts = node.form<ScaleForm>().parts;
  return parts == 1 ? Turns{} : Turns{kTurns, parts * static_cast<std::int64_t>(sizeof(NumberRange))};
}

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<ByteScaleOp>(context); }

}  // namespace

constinit const Family families::byte_scale = whole_family({.name = "byte_scale",
                                                            .types = {DType::f32, DType::u8},
                                                            .match = match,
                                                            .units = units,
                                                            .effort = effort,
                                                            .weights_bytes = no_bytes,
                                                            .workspace_bytes = no_bytes,
                                                            .turns = turns,
                                                            .lower = lower});

}  // namespace colonnade
