// SPDX-License-Identifier: Apache-2.0
#include "families/recurrent_form.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "families/narrow_adder.hpp"
#include "graph/parameters.hpp"
#include "kernels/gemm/gemm.hpp"

namespace colonnade {
namespace {

using kernels::recurrent::Activation;
using kernels::recurrent::Function;

constexpr auto kPanel = static_cast<std::int64_t>(kernels::narrow::kOutputs);

constexpr std::array kNames{
    std::pair{"Sigmoid", Function::sigmoid},
    std::pair{"Tanh", Function::tanh},
    std::pair{"Relu", Function::relu},
    std::pair{"Affine", Function::affine},
    std::pair{"LeakyRelu", Function::leaky_relu},
    std::pair{"ThresholdedRelu", Function::thresholded_relu},
    std::pair{"ScaledTanh", Function::scaled_tanh},
    std::pair{"HardSigmoid", Function::hard_sigmoid},
    std::pair{"Elu", Function::elu},
    std::pair{"Softsign", Function::softsign},
    std::pair{"Softplus", Function::softplus},
};

/// All activations in order; alphas and betas go in turn to those that take one.
std::optional<std::vector<Activation>> activations_of(const Recurrent& op) {
  std::vector<Activation> activations;
  std::size_t alpha = 0, beta = 0;
  for (const std::string& name : op.activations) {
    const RecurrentActivation* known = find_recurrent_activation(name);
    if (known == nullptr) return std::nullopt;
    const auto* row =
        std::ranges::find(kNames, known->name, [](const auto& each) { return std::string_view(each.first); });
    if (row == kNames.end()) return std::nullopt;
    Activation activation{row->second, 0, 0};
    if (known->takes_alpha) {
      activation.alpha = static_cast<float>(known->alpha);
      if (alpha < op.activation_alpha.size()) activation.alpha = op.activation_alpha[alpha++];
    }
    if (known->takes_beta) {
      activation.beta = static_cast<float>(known->beta);
      if (beta < op.activation_beta.size()) activation.beta = op.activation_beta[beta++];
    }
    activations.push_back(activation);
  }
  return activations;
}

bool set_cells(const Recurrent& op, RecurrentForm& form) {
  const std::size_t each = op.kind == RecurrentKind::rnn ? 1 : op.kind == RecurrentKind::gru ? 2 : 3;
  const auto activations = activations_of(op);
  if (!activations) return false;
  if (!activations->empty() && activations->size() < each * static_cast<std::size_t>(form.directions)) return false;
  const auto standard = [&] {
    kernels::recurrent::Cell cell;
    if (op.kind == RecurrentKind::rnn) cell.f = {Function::tanh, 0, 0};
    return cell;
  }();
  form.plain = op.kind != RecurrentKind::rnn;
  for (std::size_t d = 0; d < static_cast<std::size_t>(form.directions); ++d) {
    kernels::recurrent::Cell& cell = form.cells[d] = standard;
    for (std::size_t i = 0; i < each && !activations->empty(); ++i)
      (i == 0 ? cell.f : i == 1 ? cell.g : cell.h) = (*activations)[d * each + i];
    cell.limit = op.clip;
    cell.input_forget = op.input_forget;
    form.plain = form.plain && cell == standard;
  }
  return true;
}

bool has_shape(const Candidate& node, std::size_t input, const Shape& shape, DType dtype = DType::f32) {
  return !node.has_input(input) || (node.input(input).type.dtype == dtype && node.input_shape(input) == shape);
}

/// Sequences of one step each are multiplied together; blocks are for threads that share them. Weights beyond the
/// second level of caches are read for more of them at once.
std::int64_t blocks_of(const RecurrentForm& form) {
  constexpr std::int64_t kNearFloats = 1 << 18, kNear = 4, kFar = 16;
  if (form.packs) return 1;
  return std::max<std::int64_t>(1, form.batch / (form.hidden * form.columns() <= kNearFloats ? kNear : kFar));
}

/// Of parts of whole vectors that are each worth a thread.
std::int64_t part_size_of(const RecurrentForm& form) {
  constexpr std::int64_t kLeastColumns = 128, kMostParts = 8;
  const std::int64_t grain = form.narrow_w || form.narrow_r ? kPanel : 16;
  if (form.packs || form.blocks > 1) return form.hidden;
  const std::int64_t least = form.kind == RecurrentKind::rnn ? kLeastColumns : kLeastColumns / 2;
  const std::int64_t parts = std::clamp<std::int64_t>(form.hidden / least, 1, kMostParts);
  return std::min(form.hidden, round_up(ceil_div(form.hidden, parts), grain));
}

/// Where rows may be rounded; and recurrent ones that a sequence alone reads step by step. Else floats multiply more.
std::optional<NarrowForm> narrow_gates(const Candidate& node, const RecurrentForm& form, std::size_t input) {
  if (form.packs || form.hidden % kPanel != 0 || node.math == Math::exact) return std::nullopt;
  const auto numbers = narrow_form(*node.input(input).constant, true, node.blocking);
  if (!numbers) return std::nullopt;
  const auto bytes = numbers->for_bytes();
  if (bytes && bytes->rounds_rows()) return bytes;
  return input == 2 && form.single ? numbers : std::nullopt;
}

std::int64_t packed_floats(std::int64_t depth, std::int64_t columns) {
  return static_cast<std::int64_t>(kernels::gemm::packed_floats(kernels::Encoding::f32, static_cast<std::size_t>(depth),
                                                                static_cast<std::size_t>(columns)));
}

}  // namespace

std::int64_t RecurrentForm::packed_w_floats() const { return packed_floats(depth, gates * part_size); }

std::int64_t RecurrentForm::packed_r_floats() const {
  return packed_floats(hidden, first_gates() * part_size) + packed_floats(hidden, (gates - first_gates()) * part_size);
}

RecurrentRoom room_of(const RecurrentForm& form) {
  constexpr std::int64_t kLine = 16;
  const std::int64_t most = (form.batch + form.blocks - 1) / form.blocks;
  RecurrentRoom room{};
  std::int64_t end = 0;
  const auto take = [&](std::int64_t& at, std::int64_t floats) {
    at = end;
    end += (floats + kLine - 1) / kLine * kLine;
  };
  take(room.sums, form.steps * most * form.gates * form.part_size);
  take(room.other, most * form.part_size);
  take(room.cell, most * form.part_size);
  take(room.bias, (form.gates + 1) * form.part_size);
  take(room.peepholes, 3 * form.part_size);
  take(room.lengths, most);
  take(room.order, most);
  take(room.w, form.packs ? form.packed_w_floats() : 0);
  take(room.r, form.packs ? form.packed_r_floats() : 0);
  const auto terms_of = [](const std::optional<NarrowForm>& narrow, std::int64_t rows) {
    return narrow ? NarrowAdder::terms_floats(*narrow, rows) : 0;
  };
  take(room.terms, std::max(terms_of(form.narrow_w, form.steps * most), terms_of(form.narrow_r, most)));
  room.own = std::exchange(end, 0);
  take(room.state, 2 * most * form.hidden);
  take(room.reset, form.halves() > 1 ? most * form.hidden : 0);
  room.shared = end;
  return room;
}

WeightMemory pack_gates(const Tensor& weight, const RecurrentForm& form, std::int64_t first_gates,
                        std::int64_t packed_floats, WeightRoom& room) {
  const std::int64_t depth = weight.shape()[2], units = form.directions * form.parts;
  WeightMemory packed = room.take(static_cast<std::size_t>(units * packed_floats) * sizeof(float));
  std::vector<float> rows(static_cast<std::size_t>(form.gates * form.part_size * depth));
  for (std::int64_t unit = 0; unit < units; ++unit) {
    const Interval part = form.part(unit % form.parts);
    const float* from = weight.values<float>().data() + (unit / form.parts * form.columns() + part.begin) * depth;
    for (std::int64_t gate = 0; gate < form.gates; ++gate)
      std::copy_n(from + gate * form.hidden * depth, part.size() * depth, rows.data() + gate * part.size() * depth);
    const auto pack = [&](std::int64_t row, std::int64_t count, float* to) {
      const auto columns = static_cast<std::size_t>(count);
      kernels::gemm::pack(rows.data() + row * depth, 1, depth, static_cast<std::size_t>(depth), columns, to);
      return to + kernels::gemm::packed_floats(kernels::Encoding::f32, static_cast<std::size_t>(depth), columns);
    };
    float* rest = pack(0, first_gates * part.size(), packed.floats() + unit * packed_floats);
    if (first_gates < form.gates) pack(first_gates * part.size(), (form.gates - first_gates) * part.size(), rest);
  }
  return packed;
}

std::optional<RecurrentForm> recurrent_form(const Candidate& node) {
  const auto& op = std::get<Recurrent>(node.node.op);
  if (!node.has_input(1) || !node.has_input(2) || node.input_shape(0).size() != 3) return std::nullopt;
  const Shape& x = node.input_shape(0);
  RecurrentForm form;
  form.kind = op.kind;
  form.directions = op.direction == Direction::bidirectional ? 2 : 1;
  form.gates = op.kind == RecurrentKind::rnn ? 1 : op.kind == RecurrentKind::gru ? 3 : 4;
  form.steps = x[0], form.batch = x[1], form.depth = x[2], form.hidden = op.hidden_size;
  form.packs = !node.constant(1) || !node.constant(2);
  form.linear = op.kind == RecurrentKind::gru && op.linear_before_reset;
  form.backwards = op.direction == Direction::reverse;
  if (form.batch * form.steps * form.depth * form.hidden == 0 || !set_cells(op, form)) return std::nullopt;
  form.single = of_sample(node.graph, form.batch) == 1;
  form.narrow_w = narrow_gates(node, form, 1);
  form.narrow_r = narrow_gates(node, form, 2);
  form.blocks = blocks_of(form);
  form.part_size = part_size_of(form);
  form.parts = ceil_div(form.hidden, form.part_size);
  const std::int64_t directions = form.directions, columns = form.columns(), hidden = form.hidden;
  const Shape states{directions, form.batch, hidden};
  const bool fits =
      has_shape(node, 1, {directions, columns, form.depth}) && has_shape(node, 2, {directions, columns, hidden}) &&
      has_shape(node, 3, {directions, 2 * columns}) && has_shape(node, 4, {form.batch}, DType::i32) &&
      has_shape(node, 5, states) && has_shape(node, 6, states) && has_shape(node, 7, {directions, 3 * hidden});
  return fits ? std::optional(form) : std::nullopt;
}

}  // namespace colonnade
