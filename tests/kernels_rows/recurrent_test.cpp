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

}  // namespace
}  // namespace colonnade::kernels::test
