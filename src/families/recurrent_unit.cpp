// SPDX-License-Identifier: Apache-2.0
#include "families/recurrent_unit.hpp"

#include <fmt/format.h>

#include <cstring>
#include <numeric>

#include "families/narrow_rows.hpp"

namespace colonnade {
namespace {

constexpr std::size_t kBias = 3, kLengths = 4, kState = 5, kCell = 6, kPeepholes = 7;

void copy(const float* from, std::int64_t count, float* to) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
}

}  // namespace

RecurrentCells::RecurrentCells(const LowerContext& context)
    : kernel(kernels::recurrent::select(context.features)),
      product(kernels::gemm::select(context.features, kernels::Encoding::f32)),
      move(kernels::move::select(context.features)),
      form(context.form<RecurrentForm>()),
      room(room_of(form)),
      node(context.node.name),
      in(context.in<float>(0)),
      computed_w(context.in<float>(1)),
      computed_r(context.in<float>(2)),
      bias(context.in<float>(kBias)),
      state(context.in<float>(kState)),
      cell(context.in<float>(kCell)),
      peepholes(context.in<float>(kPeepholes)),
      lengths(context.in<std::byte>(kLengths)) {
  for (std::size_t i = 0; i < outputs.size() && i < context.node.outputs.size(); ++i)
    outputs[i] = context.out<float>(i);
  for (std::int64_t d = 0; d < form.directions; ++d)
    for (std::int64_t block = 0; block < form.blocks; ++block)
      for (std::int64_t part = 0; part < form.parts; ++part)
        places.push_back({d, {form.first_of(block), form.first_of(block + 1)}, form.part(part)});
  if (!form.packs) pack_constants(context);
}

void RecurrentCells::pack_constants(const LowerContext& context) {
  const auto packed = [&](std::size_t index, std::int64_t first_gates, std::int64_t floats) {
    const std::string format = fmt::format("{} of {} gates, parts of {}", first_gates, form.gates, form.part_size);
    return context.packed(index, format, [&](const Tensor& weight, WeightRoom& weights) {
      return pack_gates(weight, form, first_gates, floats, weights);
    });
  };
  const auto narrow = [&](std::size_t index, const NarrowForm& gates) {
    return Narrow{NarrowAdder(gates, context.features), packed_panels(context, index, gates),
                  gates.format.panel_bytes()};
  };
  if (form.narrow_w) narrow_w = narrow(1, *form.narrow_w);
  if (form.narrow_r) narrow_r = narrow(2, *form.narrow_r);
  const float* w = narrow_w ? nullptr : packed(1, form.gates, form.packed_w_floats());
  const float* r = narrow_r ? nullptr : packed(2, form.first_gates(), form.packed_r_floats());
  for (std::size_t unit = 0; unit < places.size(); ++unit) {
    const std::int64_t index = places[unit].direction * form.parts + static_cast<std::int64_t>(unit) % form.parts;
    if (w != nullptr) places[unit].w = w + index * form.packed_w_floats();
    if (r != nullptr) places[unit].r = r + index * form.packed_r_floats();
  }
}

void RecurrentCells::multiply(const Product& p) const {
  kernels::gemm::ConvArgs args;
  args.in_rows = &p.a;
  args.out_rows = const_cast<float* const*>(&p.out);
  args.width_in = args.width_out = static_cast<std::size_t>(p.rows);
  args.channels_in = static_cast<std::size_t>(p.depth);
  args.channels_out = static_cast<std::size_t>(p.columns);
  args.in_pixel_stride = p.a_stride;
  args.out_pixel_stride = p.out_stride;
  args.weights = p.weights;
  args.panel_stride = args.channels_in * kernels::gemm::kPanel;
  args.bias = p.bias;
  args.accumulate = p.accumulate;
  args.partial_sums = p.partial_sums;
  product.run(args);
}

void RecurrentCells::pack(const float* rows, std::int64_t columns, std::int64_t depth, float* to) const {
  constexpr auto kPanel = static_cast<std::int64_t>(kernels::gemm::kPanel);
  const auto pixels = static_cast<std::size_t>(depth);
  for (std::int64_t first = 0; first < columns; first += kPanel, to += depth * kPanel) {
    const std::int64_t count = std::min(kPanel, columns - first);
    if (count < kPanel) std::memset(to, 0, pixels * sizeof(float) * kernels::gemm::kPanel);
    move.planes_to_pixels({pixels, static_cast<std::size_t>(count), rows + first * depth, depth, to, kPanel});
  }
}

RecurrentUnit::RecurrentUnit(const RecurrentCells& cells, const StepContext& step, std::int64_t unit)
    : cells_(cells),
      form_(cells.form),
      step_(step),
      place_(cells.places[static_cast<std::size_t>(unit)]),
      d_(place_.direction),
      count_(place_.sequences.size()),
      part_(place_.part),
      columns_(form_.gates * part_.size()),
      backwards_(form_.backwards || d_ == 1),
      at_once_(!cells.lengths && form_.blocks == 1) {
  const RecurrentRoom& room = cells.room;
  const bool alone = form_.parts == 1;
  float* shared = alone ? step.scratch : step.shared + d_ * room.shared;
  float* own = alone ? step.scratch + room.shared : step.shared + form_.directions * room.shared + unit * room.own;
  state_ = shared + room.state;
  reset_ = shared + room.reset;
  sums_ = own + room.sums, other_ = own + room.other, cell_ = own + room.cell;
  bias_ = own + room.bias, peepholes_ = own + room.peepholes;
  lengths_ = reinterpret_cast<std::int32_t*>(own + room.lengths);
  order_ = reinterpret_cast<std::int32_t*>(own + room.order);
  packed_w_ = own + room.w, packed_r_ = own + room.r, terms_ = own + room.terms;
  w_ = form_.packs ? packed_w_ : place_.w;
  r_ = form_.packs ? packed_r_ : place_.r;
}

void RecurrentUnit::run(std::int64_t turn) {
  const std::int64_t halves = form_.halves();
  if (turn == 0)
    begin();
  else
    advance((turn - 1) / halves, (turn - 1) % halves);
  if (turn + 1 == form_.turns()) end();
}

void RecurrentUnit::begin() {
  if (form_.packs) pack_weights();
  set_bias();
  set_lengths();
  multiply_inputs();
  load(cells_.state, state_, form_.hidden, part_.begin);
  if (form_.kind == RecurrentKind::lstm) load(cells_.cell, cell_, part_.size(), 0);
  if (cells_.peepholes)
    for (std::int64_t i = 0; i < 3; ++i)
      copy(whole(step_, cells_.peepholes) + (d_ * 3 + i) * form_.hidden + part_.begin, part_.size(),
           peepholes_ + i * part_.size());
}

void RecurrentUnit::end() const {
  if (cells_.outputs[0] && cells_.lengths) clear_rest();
  for (std::int64_t b = 0; b < count_; ++b) {
    const std::int64_t at = index_of(b) * form_.hidden + part_.begin;
    if (cells_.outputs[1])
      copy(state(lengths_[b]) + b * form_.hidden + part_.begin, part_.size(), whole(step_, cells_.outputs[1]) + at);
    if (cells_.outputs[2]) copy(cell_ + b * part_.size(), part_.size(), whole(step_, cells_.outputs[2]) + at);
  }
}

void RecurrentUnit::pack_weights() const {
  const std::int64_t hidden = form_.hidden, columns = form_.columns(), head = form_.first_gates() * hidden;
  const float* rows = whole(step_, cells_.computed_r) + d_ * columns * hidden;
  cells_.pack(whole(step_, cells_.computed_w) + d_ * columns * form_.depth, columns, form_.depth, packed_w_);
  cells_.pack(rows, head, hidden, packed_r_);
  cells_.pack(rows + head * hidden, columns - head, hidden, packed_r_ + second_part());
}

std::int64_t RecurrentUnit::second_part() const {
  return static_cast<std::int64_t>(
      kernels::gemm::packed_floats(kernels::Encoding::f32, static_cast<std::size_t>(form_.hidden),
                                   static_cast<std::size_t>(form_.first_gates() * part_.size())));
}

void RecurrentUnit::set_bias() {
  const std::int64_t size = part_.size();
  std::memset(bias_, 0, static_cast<std::size_t>(columns_ + size) * sizeof(float));
  if (!cells_.bias) return;
  const float* of_x = whole(step_, cells_.bias) + d_ * 2 * form_.columns() + part_.begin;
  const float* of_h = of_x + form_.columns();
  for (std::int64_t gate = 0; gate < form_.gates; ++gate)
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t from = gate * form_.hidden + i;
      const bool apart = form_.linear && gate >= form_.first_gates();
      bias_[gate * size + i] = apart ? of_x[from] : of_x[from] + of_h[from];
      if (apart) bias_[(gate + 1) * size + i] = of_h[from];
    }
}

void RecurrentUnit::set_lengths() {
  std::iota(order_, order_ + count_, 0);
  std::fill(lengths_, lengths_ + count_, static_cast<std::int32_t>(form_.steps));
  if (!cells_.lengths) return;
  const auto* given = reinterpret_cast<const std::int32_t*>(whole(step_, cells_.lengths)) + place_.sequences.begin;
  for (std::int64_t b = 0; b < count_; ++b)
    if (given[b] < 0 || given[b] > form_.steps)
      fail(ErrorCode::invalid_input, "node '{}' (Recurrent): sequence {} is {} long, the input has {} steps",
           cells_.node, place_.sequences.begin + b, given[b], form_.steps);
  std::sort(order_, order_ + count_,
            [&](std::int32_t a, std::int32_t b) { return given[a] != given[b] ? given[a] > given[b] : a < b; });
  for (std::int64_t b = 0; b < count_; ++b) lengths_[b] = given[order_[b]];
}

void RecurrentUnit::multiply_inputs() const {
  const float* x = whole(step_, cells_.in);
  const std::int64_t depth = form_.depth, columns = columns_, apart = form_.batch * depth;
  const bool of_step = form_.single && form_.steps == 1;
  if (at_once_ && cells_.narrow_w) return add_inputs(x, depth, form_.steps * form_.batch, sums_, columns);
  if (at_once_)
    return cells_.multiply(
        {x, form_.steps * form_.batch, depth, depth, w_, columns, bias_, sums_, columns, false, of_step});
  for (std::int64_t b = 0; b < count_; ++b) {
    if (lengths_[b] == 0) continue;
    const float* sequence =
        x + (place_.sequences.begin + order_[b]) * depth + (backwards_ ? lengths_[b] - 1 : 0) * apart;
    const std::int64_t stride = backwards_ ? -apart : apart;
    float* const sums = sums_ + b * columns;
    if (cells_.narrow_w)
      add_inputs(sequence, stride, lengths_[b], sums, count_ * columns);
    else
      cells_.multiply(
          {sequence, lengths_[b], depth, stride, w_, columns, bias_, sums, count_ * columns, false, of_step});
  }
}

void RecurrentUnit::load(ValueOf<float> input, float* to, std::int64_t stride, std::int64_t at) const {
  to += at;
  for (std::int64_t b = 0; b < count_; ++b, to += stride) {
    if (input)
      copy(whole(step_, input) + index_of(b) * form_.hidden + part_.begin, part_.size(), to);
    else
      std::memset(to, 0, static_cast<std::size_t>(part_.size()) * sizeof(float));
  }
}

float* RecurrentUnit::output(std::int64_t t, std::int64_t b) const {
  return whole(step_, cells_.outputs[0]) + (t * form_.directions * form_.batch + index_of(b)) * form_.hidden +
         part_.begin;
}

void RecurrentUnit::write_step(std::int64_t s, std::int64_t active) const {
  const float* made = state(s + 1) + part_.begin;
  for (std::int64_t b = 0; b < active; ++b)
    copy(made + b * form_.hidden, part_.size(), output(backwards_ ? lengths_[b] - 1 - s : s, b));
}

void RecurrentUnit::clear_rest() const {
  for (std::int64_t b = 0; b < count_; ++b)
    for (std::int64_t t = lengths_[b]; t < form_.steps; ++t)
      std::memset(output(t, b), 0, static_cast<std::size_t>(part_.size()) * sizeof(float));
}

void RecurrentUnit::advance(std::int64_t s, std::int64_t half) const {
  std::int64_t active = count_;
  while (active > 0 && lengths_[active - 1] <= s) --active;
  if (active == 0) return;
  const std::int64_t slot = at_once_ && backwards_ ? form_.steps - 1 - s : s;
  float* sums = sums_ + slot * count_ * columns_;
  if (half == 0) add_state(s, sums, active);
  if (half + 1 < form_.halves()) return;
  if (form_.halves() > 1) add_reset(sums, active);
  for (std::int64_t b = 0; b < active; ++b) finish(s, sums + b * columns_, b);
  if (cells_.outputs[0]) write_step(s, active);
}

void RecurrentUnit::add_state(std::int64_t s, float* sums, std::int64_t active) const {
  const std::int64_t hidden = form_.hidden, size = part_.size(), first = form_.first_gates();
  const float* from = state(s);
  if (const auto& narrow = cells_.narrow_r) {
    add_narrow(*narrow, {from, hidden, active, {0, first}, sums, columns_});
    for (std::int64_t b = 0; form_.linear && b < active; ++b) copy(bias_ + columns_, size, other_ + b * size);
    if (form_.linear) add_narrow(*narrow, {from, hidden, active, {first, form_.gates}, other_, size});
  } else {
    cells_.multiply({from, active, hidden, hidden, r_, first * size, nullptr, sums, columns_, true, form_.single});
    if (form_.linear)
      cells_.multiply({from, active, hidden, hidden, r_ + second_part(), size, bias_ + columns_, other_, size, false,
                       form_.single});
  }
  if (form_.halves() == 1) return;
  for (std::int64_t b = 0; b < active; ++b)
    cells_.kernel.reset({static_cast<std::size_t>(size), sums + b * columns_ + size, from + b * hidden + part_.begin,
                         reset_ + b * hidden + part_.begin, changed_cell()});
}

void RecurrentUnit::add_reset(float* sums, std::int64_t active) const {
  const std::int64_t hidden = form_.hidden, first = form_.first_gates(), size = part_.size();
  float* const proposals = sums + first * size;
  if (cells_.narrow_r)
    return add_narrow(*cells_.narrow_r, {reset_, hidden, active, {first, form_.gates}, proposals, columns_});
  cells_.multiply(
      {reset_, active, hidden, hidden, r_ + second_part(), size, nullptr, proposals, columns_, true, form_.single});
}

void RecurrentUnit::add_narrow(const RecurrentCells::Narrow& weights, const NarrowRows& rows) const {
  constexpr auto kOutputs = static_cast<std::int64_t>(kernels::narrow::kOutputs);
  for (std::int64_t begin = 0; begin < rows.count; begin += NarrowAdder::kMostRows) {
    const std::int64_t count = std::min(rows.count - begin, NarrowAdder::kMostRows);
    weights.product.prepare(rows.x + begin * rows.stride, rows.stride, count, terms_);
    float* sums = rows.sums + begin * rows.sums_stride;
    for (std::int64_t gate = rows.gates.begin; gate < rows.gates.end; ++gate, sums += part_.size()) {
      const std::int64_t row = (d_ * form_.gates + gate) * form_.hidden + part_.begin;
      const std::byte* const panels = weights.panels + static_cast<std::size_t>(row / kOutputs) * weights.panel_bytes;
      weights.product.add(terms_, count, panels, part_.size() / kOutputs, sums, rows.sums_stride);
    }
  }
}

void RecurrentUnit::add_inputs(const float* x, std::int64_t stride, std::int64_t rows, float* sums,
                               std::int64_t sums_stride) const {
  for (std::int64_t r = 0; r < rows; ++r) copy(bias_, columns_, sums + r * sums_stride);
  add_narrow(*cells_.narrow_w, {x, stride, rows, {0, form_.gates}, sums, sums_stride});
}

void RecurrentUnit::finish(std::int64_t s, float* sums, std::int64_t b) const {
  const auto size = static_cast<std::size_t>(part_.size());
  float* next = state(s + 1) + b * form_.hidden + part_.begin;
  const float* peepholes = cells_.peepholes ? peepholes_ : nullptr;
  switch (form_.kind) {
    case RecurrentKind::lstm:
      cells_.kernel.lstm({size, sums, cell_ + b * part_.size(), next, peepholes, changed_cell()});
      break;
    case RecurrentKind::gru:
      copy(state(s) + b * form_.hidden + part_.begin, part_.size(), next);
      cells_.kernel.gru({size, sums, form_.linear ? other_ + b * part_.size() : nullptr, next, changed_cell()});
      break;
    case RecurrentKind::rnn: cells_.kernel.rnn({size, sums, next, &form_.cells[static_cast<std::size_t>(d_)]}); break;
  }
}

}  // namespace colonnade
