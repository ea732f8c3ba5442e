// SPDX-License-Identifier: Apache-2.0
#include "kernels/recurrent/recurrent.hpp"

#include "kernels_rows/support.hpp"

namespace colonnade::kernels::test {
namespace {

constexpr double kTolerance = 2e-6;  // states lie between -1 and 1, cells within a few

double sigmoid(float x) { return 1 / (1 + std::exp(-static_cast<double>(x))); }

/// Gates from far in saturation on both sides to around zero.
std::vector<float> gates(std::size_t size, unsigned seed) { return random_floats(size, seed, -12, 12); }

/// Calls body(kernel, hidden) for every row of the table and sizes about the vectors' widths, none among them.
template <class Body>
void for_sizes(Body body) {
  for (const auto& kernel : runnable(recurrent::table())) {
    body(kernel, std::size_t{0});
    for (const std::size_t hidden : kChannelCounts) body(kernel, hidden);
  }
}

TEST(Recurrent, Lstm) {
  for_sizes([](const recurrent::Kernel& kernel, std::size_t hidden) {
    const Guarded sums(gates(4 * hidden, 1)), before(random_floats(hidden, 2, -3, 3));
    const Guarded cell(before.values()), state(hidden);
    kernel.lstm({hidden, sums.data(), cell.data(), state.data()});
    ASSERT_TRUE(sums.intact() && cell.intact() && state.intact()) << kernel.name << ' ' << hidden;
    for (std::size_t i = 0; i < hidden; ++i) {
      const double c = sigmoid(sums[2 * hidden + i]) * static_cast<double>(before[i]) +
                       sigmoid(sums[i]) * std::tanh(static_cast<double>(sums[3 * hidden + i]));
      ASSERT_NEAR(cell[i], c, kTolerance) << kernel.name << ' ' << hidden << " unit " << i;
      ASSERT_NEAR(state[i], sigmoid(sums[hidden + i]) * std::tanh(c), kTolerance) << kernel.name << ' ' << hidden;
    }
  });
}

TEST(Recurrent, Gru) {
  for_sizes([](const recurrent::Kernel& kernel, std::size_t hidden) {
    for (const bool is_gated : {true, false}) {
      const Guarded sums(gates(3 * hidden, 3)), gated(random_floats(hidden, 4, -4, 4));
      const Guarded before(random_floats(hidden, 5)), state(before.values());
      kernel.gru({hidden, sums.data(), is_gated ? gated.data() : nullptr, state.data()});
      ASSERT_TRUE(sums.intact() && gated.intact() && state.intact()) << kernel.name << ' ' << hidden;
      for (std::size_t i = 0; i < hidden; ++i) {
        const double reset = is_gated ? sigmoid(sums[hidden + i]) * static_cast<double>(gated[i]) : 0;
        const double proposed = std::tanh(static_cast<double>(sums[2 * hidden + i]) + reset), z = sigmoid(sums[i]);
        ASSERT_NEAR(state[i], (1 - z) * proposed + z * static_cast<double>(before[i]), kTolerance)
            << kernel.name << ' ' << hidden << (is_gated ? " gated" : "") << " unit " << i;
      }
    }
  });
}

TEST(Recurrent, Reset) {
  for_sizes([](const recurrent::Kernel& kernel, std::size_t hidden) {
    const Guarded sums(gates(hidden, 6)), state(random_floats(hidden, 7)), out(hidden);
    kernel.reset({hidden, sums.data(), state.data(), out.data()});
    ASSERT_TRUE(sums.intact() && state.intact() && out.intact()) << kernel.name << ' ' << hidden;
    for (std::size_t i = 0; i < hidden; ++i)
      ASSERT_NEAR(out[i], sigmoid(sums[i]) * static_cast<double>(state[i]), kTolerance) << kernel.name << ' ' << hidden;
  });
}

using recurrent::Activation;
using recurrent::Function;

double value_of(const Activation& activation, float limit, float argument) {
  double x = static_cast<double>(argument);
  const double a = static_cast<double>(activation.alpha), b = static_cast<double>(activation.beta);
  if (limit > 0) x = std::clamp(x, -static_cast<double>(limit), static_cast<double>(limit));
  switch (activation.function) {
    case Function::sigmoid: return 1 / (1 + std::exp(-x));
    case Function::tanh: return std::tanh(x);
    case Function::relu: return std::max(x, 0.0);
    case Function::affine: return a * x + b;
    case Function::leaky_relu: return x < 0 ? a * x : x;
    case Function::thresholded_relu: return x > a ? x : 0;
    case Function::scaled_tanh: return a * std::tanh(b * x);
    case Function::hard_sigmoid: return std::clamp(a * x + b, 0.0, 1.0);
    case Function::elu: return x < 0 ? a * std::expm1(x) : x;
    case Function::softsign: return x / (1 + std::abs(x));
    case Function::softplus: return std::log1p(std::exp(x));
  }
  return 0;
}

constexpr Function kFunctions[] = {Function::sigmoid,     Function::tanh,         Function::relu,
                                   Function::affine,      Function::leaky_relu,   Function::thresholded_relu,
                                   Function::scaled_tanh, Function::hard_sigmoid, Function::elu,
                                   Function::softsign,    Function::softplus};

TEST(Recurrent, EveryFunction) {
  for_sizes([](const recurrent::Kernel& kernel, std::size_t hidden) {
    for (const Function function : kFunctions)
      for (const float limit : {0.0f, 2.5f}) {
        const recurrent::Cell form{.f = {function, 0.3f, 0.4f}, .limit = limit};
        const Guarded sums(gates(hidden, 8)), state(hidden);
        kernel.rnn({hidden, sums.data(), state.data(), &form});
        ASSERT_TRUE(sums.intact() && state.intact()) << kernel.name << ' ' << hidden;
        for (std::size_t i = 0; i < hidden; ++i)
          ASSERT_NEAR(state[i], value_of(form.f, limit, sums[i]), 2 * kTolerance)
              << kernel.name << " function " << static_cast<int>(function) << " of " << sums[i];
      }
  });
}

TEST(Recurrent, LstmOfAnyForm) {
  for_sizes([](const recurrent::Kernel& kernel, std::size_t hidden) {
    for (const bool coupled : {true, false})
      for (const bool peeps : {true, false}) {
        const recurrent::Cell form{
            .f = {Function::hard_sigmoid, 0.2f, 0.5f}, .g = {Function::softsign}, .input_forget = coupled};
        const std::vector<float> before = gates(4 * hidden, 1), held = random_floats(hidden, 2, -3, 3);
        const Guarded sums(before), cell(held), state(hidden), peepholes(random_floats(3 * hidden, 3));
        kernel.lstm({hidden, sums.data(), cell.data(), state.data(), peeps ? peepholes.data() : nullptr, &form});
        ASSERT_TRUE(sums.intact() && cell.intact() && state.intact() && peepholes.intact()) << kernel.name;
        const auto gate = [&](std::size_t which, std::size_t peephole, float c, std::size_t i) {
          const float weight = peeps ? peepholes[peephole * hidden + i] : 0;
          return value_of(form.f, 0, before[which * hidden + i] + weight * c);
        };
        for (std::size_t i = 0; i < hidden; ++i) {
          const double input = gate(0, 0, held[i], i), forget = coupled ? 1 - input : gate(2, 2, held[i], i);
          const double c = forget * static_cast<double>(held[i]) + input * value_of(form.g, 0, before[3 * hidden + i]);
          ASSERT_NEAR(cell[i], c, kTolerance) << kernel.name << ' ' << hidden;
          ASSERT_NEAR(state[i], gate(1, 1, cell[i], i) * std::tanh(c), kTolerance) << kernel.name << ' ' << hidden;
        }
      }
  });
}

TEST(Recurrent, GruOfAnyForm) {
  for_sizes([](const recurrent::Kernel& kernel, std::size_t hidden) {
    const recurrent::Cell form{.f = {Function::hard_sigmoid, 0.2f, 0.5f}, .g = {Function::relu}, .limit = 3};
    const std::vector<float> before = gates(3 * hidden, 3), held = random_floats(hidden, 5);
    const Guarded sums(before), gated(random_floats(hidden, 4, -4, 4)), state(held), out(hidden);
    kernel.reset({hidden, before.data(), held.data(), out.data(), &form});
    kernel.gru({hidden, sums.data(), gated.data(), state.data(), &form});
    ASSERT_TRUE(sums.intact() && gated.intact() && state.intact() && out.intact()) << kernel.name << ' ' << hidden;
    for (std::size_t i = 0; i < hidden; ++i) {
      const double h = static_cast<double>(held[i]), z = value_of(form.f, form.limit, before[i]);
      ASSERT_NEAR(out[i], z * h, kTolerance) << kernel.name << ' ' << hidden;
      const double r = value_of(form.f, form.limit, before[hidden + i]) * static_cast<double>(gated[i]);
      const double n = std::clamp(static_cast<double>(before[2 * hidden + i]) + r, 0.0, 3.0);
      ASSERT_NEAR(state[i], (1 - z) * n + z * h, 2 * kTolerance) << kernel.name << ' ' << hidden;
    }
  });
}

}  // namespace
}  // namespace colonnade::kernels::test
