// SPDX-License-Identifier: Apache-2.0
// Rows sorted by the groups that they are sent to, by counting.
#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "reference/onnx/definitions.hpp"
#include "reference/onnx/grouped.hpp"

namespace colonnade {
namespace {

using namespace reference;

class GroupRowsOp final : public RowOp {
 public:
  explicit GroupRowsOp(const LowerContext& context)
      : sent_(context.in<std::int64_t>(0)),
        rows_(context.out<std::int64_t>()),
        places_(context.out<std::int64_t>(1)),
        ends_(context.out<std::int64_t>(2)),
        count_(element_count(context.input_shape(0))),
        repeats_(context.input_shape(0)[1]),
        groups_(grouped_sizes_of(std::get<Opaque>(context.node.op)).groups),
        name_(context.node.name),
        origin_(context.node.origin) {}

  /// A group's end is where its next row goes, until it has all of them.
  void run(const StepContext& step) const override {
    const std::int64_t* const sent = whole(step, sent_);
    std::int64_t* const ends = whole(step, ends_);
    std::fill_n(ends, groups_, 0);
    for (std::int64_t i = 0; i < count_; ++i) {
      if (sent[i] < 0 || sent[i] >= groups_)
        fail(ErrorCode::invalid_input, "node '{}' ({}): group {} of {}", name_, origin_, sent[i], groups_);
      ++ends[sent[i]];
    }
    for (std::int64_t group = 0, before = 0; group < groups_; ++group) before += std::exchange(ends[group], before);
    for (std::int64_t i = 0; i < count_; ++i) {
      const std::int64_t place = ends[sent[i]]++;
      whole(step, places_)[i] = place;
      whole(step, rows_)[place] = i / repeats_;
    }
  }

  std::string_view kernel() const override { return "group_rows"; }

 private:
  ValueOf<std::int64_t> sent_, rows_, places_, ends_;
  std::int64_t count_, repeats_, groups_;
  std::string name_, origin_;
};

Match match(const Candidate& node) {
  const auto* op = std::get_if<Opaque>(&node.node.op);
  return op != nullptr && op->definition == &kGroupRows ? take() : refuse();
}

Effort effort(const Chosen& node, const Rates& rates) {
  return {rates.seconds(Work::arithmetic, 3 * larger_side(node), 1)};
}

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<GroupRowsOp>(context); }

}  // namespace

constinit const Family families::group_rows = whole_family({.name = "group_rows",
                                                            .types = {DType::i64},
                                                            .match = match,
                                                            .units = one_unit,
                                                            .effort = effort,
                                                            .weights_bytes = no_bytes,
                                                            .workspace_bytes = no_bytes,
                                                            .lower = lower});

}  // namespace colonnade
