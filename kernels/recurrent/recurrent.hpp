// SPDX-License-Identifier: Apache-2.0
// What recurrent cells do with the sums of their gates, fp32, for one entry of a batch. Products are kernels/gemm's.
// The new state may be written over the old one; sums may be written over.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::recurrent {

/// ONNX's functions of cells, with their parameters alpha and beta.
enum class Function : unsigned char {
  sigmoid,
  tanh,
  relu,
  affine,            ///< alpha x + beta
  leaky_relu,        ///< x < 0 ? alpha x : x
  thresholded_relu,  ///< x > alpha ? x : 0
  scaled_tanh,       ///< alpha tanh(beta x)
  hard_sigmoid,      ///< min(max(alpha x + beta, 0), 1)
  elu,               ///< x < 0 ? alpha (exp(x) - 1) : x
  softsign,
  softplus,
};
struct Activation {
  Function function = Function::sigmoid;
  float alpha = 0, beta = 0;
  bool operator==(const Activation&) const = default;
};

/// Functions of gates (f), of proposals (g) and of an LSTM's cell (h).
struct Cell {
  Activation f{Function::sigmoid}, g{Function::tanh}, h{Function::tanh};
  float limit = 0;            ///< > 0: arguments of functions are brought into [-limit, limit]
  bool input_forget = false;  ///< the forget gate of an LSTM is 1 - its input gate
  bool operator==(const Cell&) const = default;
};

/// cell = f(sums_f) * cell + f(sums_i) * g(sums_c); state = f(sums_o) * h(cell). Peepholes times the cell come to the
/// sums of i, f and, times the new cell, of o.
struct LstmArgs {
  std::size_t hidden = 0;
  float* sums = nullptr;  ///< [4][hidden]: i, o, f, c
  float* cell = nullptr;
  float* state = nullptr;
  const float* peepholes = nullptr;  ///< [3][hidden]: i, o, f; or null
  const Cell* form = nullptr;        ///< null: as Cell is by default
};

/// r = f(sums_r), z = f(sums_z), n = g(sums_h + r * gated_h), state = (1 - z) * n + z * state. Without
/// `gated` sums_h is complete.
struct GruArgs {
  std::size_t hidden = 0;
  float* sums = nullptr;         ///< [3][hidden]: z, r, h
  const float* gated = nullptr;  ///< [hidden], or null
  float* state = nullptr;
  const Cell* form = nullptr;
};

/// out = f(sums) * state.
struct ResetArgs {
  std::size_t hidden = 0;
  const float* sums = nullptr;
  const float* state = nullptr;
  float* out = nullptr;
  const Cell* form = nullptr;
};

/// state = f(sums).
struct RnnArgs {
  std::size_t hidden = 0;
  const float* sums = nullptr;
  float* state = nullptr;
  const Cell* form = nullptr;  ///< not null
};

struct Kernel {
  const char* name;
  Isa isa;
  void (*lstm)(const LstmArgs&) noexcept;
  void (*gru)(const GruArgs&) noexcept;
  void (*reset)(const ResetArgs&) noexcept;
  void (*rnn)(const RnnArgs&) noexcept;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::recurrent
