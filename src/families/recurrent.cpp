// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN: one product with the inputs of all steps, then a product with the state and the gates a step.
#include "families/common.hpp"
#include "families/recurrent_unit.hpp"
#include "families/table.hpp"

namespace colonnade {
namespace {

std::int64_t units_of(const RecurrentForm& form) { return form.directions * form.blocks * form.parts; }

class RecurrentOp final : public RowOp {
 public:
  explicit RecurrentOp(const LowerContext& context) : cells_(context) {}

  /// All turns of a direction before the other: its weights stay near.
  void run(const StepContext& step) const override {
    const std::int64_t a_direction = units_of(cells_.form) / cells_.form.directions;
    for (std::int64_t unit = step.row_begin; unit < step.row_end;) {
      const std::int64_t end = std::min(step.row_end, (unit / a_direction + 1) * a_direction);
      run_direction(step, {unit, end});
      unit = end;
    }
  }

  std::string_view kernel() const override { return cells_.kernel.name; }

 private:
  void run_direction(const StepContext& step, Interval units) const {
    const RecurrentForm& form = cells_.form;
    for (std::int64_t turn = step.turns.begin; turn < step.turns.end; ++turn)
      for (std::int64_t index = units.begin; index < units.end; ++index) {
        RecurrentUnit unit(cells_, step, index);
        if (form.parts > 1)
          unit.run(turn);
        else
          for (std::int64_t each = 0; each < form.turns(); ++each) unit.run(each);
      }
  }

  RecurrentCells cells_;
};

Match match(const Candidate& node) {
  if (!std::holds_alternative<Recurrent>(node.node.op)) return refuse();
  const auto form = recurrent_form(node);
  return form ? take(Form::of(*form)) : refuse("no kernel for this cell");
}

std::int64_t units(const Chosen& node) { return units_of(node.form<RecurrentForm>()); }

/// The inputs of all steps at once; then for each step and block the recurrent weights again, as fast as they come or
/// as they are multiplied, and functions of what they give.
Effort effort(const Chosen& node, const Rates& rates) {
  constexpr double kGiga = 1e9;
  const auto& form = node.form<RecurrentForm>();
  const auto hidden = static_cast<double>(form.hidden), depth = static_cast<double>(form.depth);
  const auto sums = static_cast<double>(form.directions * form.steps * form.batch * form.columns());
  const double weight = form.narrow_r ? static_cast<double>(bits_of(form.narrow_r->format.type)) / 8 : sizeof(float);
  const auto speed = [](const std::optional<NarrowForm>& narrow) {
    return narrow && narrow->rounds_rows() ? 2.0 : 1.0;
  };
  const auto read = static_cast<double>(form.directions * form.steps * form.blocks * form.columns()) * hidden * weight;
  return {rates.seconds(Work::contraction, 2 * sums * depth, depth) / speed(form.narrow_w) +
          std::max(read / (kGiga * rates.l2_gbs),
                   rates.seconds(Work::contraction, 2 * sums * hidden, hidden) / speed(form.narrow_r)) +
          rates.seconds(Work::function, sums, 1)};
}

std::int64_t workspace_bytes(const Chosen& node) {
  const auto& form = node.form<RecurrentForm>();
  const RecurrentRoom room = room_of(form);
  return form.parts > 1 ? 0 : (room.shared + room.own) * static_cast<std::int64_t>(sizeof(float));
}

Turns turns(const Chosen& node) {
  const auto& form = node.form<RecurrentForm>();
  if (form.parts == 1) return {};
  const RecurrentRoom room = room_of(form);
  const std::int64_t floats = form.directions * (room.shared + form.parts * room.own);
  return {form.turns(), floats * static_cast<std::int64_t>(sizeof(float))};
}

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<RecurrentOp>(context); }

}  // namespace

constinit const Family families::recurrent = whole_family({.name = "recurrent",
                                                           .types = kFloats,
                                                           .match = match,
                                                           .units = units,
                                                           .effort = effort,
                                                           .weights_bytes = no_bytes,
                                                           .workspace_bytes = workspace_bytes,
                                                           .turns = turns,
                                                           .lower = lower});

}  // namespace colonnade
