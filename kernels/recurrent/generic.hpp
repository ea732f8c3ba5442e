// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/vector_math.hpp"
#include "kernels/recurrent/recurrent.hpp"

namespace colonnade::kernels::recurrent {
namespace {

/// Calls f(offset, lanes) for every vector of `hidden` units, the last one shorter.
template <class F>
inline void for_vectors(std::size_t hidden, const F& f) {
  for (std::size_t i = 0; i < hidden; i += Vec::kLanes) f(i, hidden - i < Vec::kLanes ? hidden - i : Vec::kLanes);
}

/// out = the function of in, which is brought within the limit first; in may be out.
[[gnu::noinline]] inline void activate(const Activation& activation, float limit, const float* in, float* out,
                                       std::size_t count) {
  const Vec alpha = broadcast(activation.alpha), beta = broadcast(activation.beta), one = broadcast(1.0f);
  const Vec top = broadcast(limit > 0 ? limit : __builtin_inff()), bottom = -top;
  const auto map = [&](const auto& function) {
    for_vectors(count, [&](std::size_t at, std::size_t n) {
      store_first(out + at, function(min(top, max(bottom, load_first(in + at, n)))), n);
    });
  };
  switch (activation.function) {
    case Function::sigmoid: return map([](Vec x) { return sigmoid(x); });
    case Function::tanh: return map([](Vec x) { return tanh(x); });
    case Function::relu: return map([](Vec x) { return max(zero(), x); });
    case Function::affine: return map([&](Vec x) { return fma(alpha, x, beta); });
    case Function::leaky_relu: return map([&](Vec x) { return select(less(x, zero()), alpha * x, x); });
    case Function::thresholded_relu: return map([&](Vec x) { return select(less(alpha, x), x, zero()); });
    case Function::scaled_tanh: return map([&](Vec x) { return alpha * tanh(beta * x); });
    case Function::hard_sigmoid: return map([&](Vec x) { return min(one, max(zero(), fma(alpha, x, beta))); });
    case Function::elu: return map([&](Vec x) { return select(less(x, zero()), alpha * expm1(min(zero(), x)), x); });
    case Function::softsign: return map([&](Vec x) { return x / (one + abs(x)); });
    case Function::softplus: return map([](Vec x) { return softplus(x); });
  }
}

/// sums += weights * values
inline void add_weighted(const float* weights, const float* values, float* sums, std::size_t count) {
  for_vectors(count, [&](std::size_t at, std::size_t n) {
    store_first(sums + at, fma(load_first(weights + at, n), load_first(values + at, n), load_first(sums + at, n)), n);
  });
}

[[gnu::noinline]] inline void run_any_lstm(const LstmArgs& args, const Cell& form) {
  const std::size_t hidden = args.hidden;
  float* i = args.sums;
  float* o = i + hidden;
  float* f = o + hidden;
  float* c = f + hidden;
  const float* peepholes = args.peepholes;
  if (peepholes != nullptr) {
    add_weighted(peepholes, args.cell, i, hidden);
    add_weighted(peepholes + 2 * hidden, args.cell, f, hidden);
  }
  activate(form.f, form.limit, i, i, hidden);
  activate(form.g, form.limit, c, c, hidden);
  if (!form.input_forget) activate(form.f, form.limit, f, f, hidden);
  for_vectors(hidden, [&](std::size_t at, std::size_t n) {
    const Vec input = load_first(i + at, n);
    const Vec kept = form.input_forget ? broadcast(1.0f) - input : load_first(f + at, n);
    store_first(args.cell + at, fma(input, load_first(c + at, n), kept * load_first(args.cell + at, n)), n);
  });
  if (peepholes != nullptr) add_weighted(peepholes + hidden, args.cell, o, hidden);
  activate(form.f, form.limit, o, o, hidden);
  activate(form.h, form.limit, args.cell, c, hidden);
  for_vectors(hidden, [&](std::size_t at, std::size_t n) {
    store_first(args.state + at, load_first(o + at, n) * load_first(c + at, n), n);
  });
}

inline void run_lstm(const LstmArgs& args) noexcept {
  if (args.form != nullptr || args.peepholes != nullptr)
    return run_any_lstm(args, args.form != nullptr ? *args.form : Cell{});
  const float* i = args.sums;
  const float* o = i + args.hidden;
  const float* f = o + args.hidden;
  const float* c = f + args.hidden;
  for_vectors(args.hidden, [&](std::size_t at, std::size_t n) {
    const Vec kept = sigmoid(load_first(f + at, n)) * load_first(args.cell + at, n);
    const Vec cell = fma(sigmoid(load_first(i + at, n)), tanh(load_first(c + at, n)), kept);
    store_first(args.cell + at, cell, n);
    store_first(args.state + at, sigmoid(load_first(o + at, n)) * tanh(cell), n);
  });
}

[[gnu::noinline]] inline void run_any_gru(const GruArgs& args) {
  const Cell& form = *args.form;
  const std::size_t hidden = args.hidden;
  float* z = args.sums;
  float* r = z + hidden;
  float* h = r + hidden;
  activate(form.f, form.limit, z, z, hidden);
  if (args.gated != nullptr) {
    activate(form.f, form.limit, r, r, hidden);
    add_weighted(r, args.gated, h, hidden);
  }
  activate(form.g, form.limit, h, h, hidden);
  for_vectors(hidden, [&](std::size_t at, std::size_t n) {
    const Vec proposed = load_first(h + at, n);
    const Vec held = load_first(args.state + at, n);
    store_first(args.state + at, fma(load_first(z + at, n), held - proposed, proposed), n);
  });
}

inline void run_gru(const GruArgs& args) noexcept {
  if (args.form != nullptr) return run_any_gru(args);
  const float* z = args.sums;
  const float* r = z + args.hidden;
  const float* h = r + args.hidden;
  for_vectors(args.hidden, [&](std::size_t at, std::size_t n) {
    Vec proposed = load_first(h + at, n);
    if (args.gated) proposed = fma(sigmoid(load_first(r + at, n)), load_first(args.gated + at, n), proposed);
    proposed = tanh(proposed);
    const Vec held = load_first(args.state + at, n);
    store_first(args.state + at, fma(sigmoid(load_first(z + at, n)), held - proposed, proposed), n);
  });
}

inline void run_reset(const ResetArgs& args) noexcept {
  if (args.form != nullptr) {
    activate(args.form->f, args.form->limit, args.sums, args.out, args.hidden);
    return for_vectors(args.hidden, [&](std::size_t at, std::size_t n) {
      store_first(args.out + at, load_first(args.out + at, n) * load_first(args.state + at, n), n);
    });
  }
  for_vectors(args.hidden, [&](std::size_t at, std::size_t n) {
    store_first(args.out + at, sigmoid(load_first(args.sums + at, n)) * load_first(args.state + at, n), n);
  });
}

inline void run_rnn(const RnnArgs& args) noexcept {
  activate(args.form->f, args.form->limit, args.sums, args.state, args.hidden);
}

}  // namespace
}  // namespace colonnade::kernels::recurrent
