// SPDX-License-Identifier: Apache-2.0
// A state that tokens change against its definition, one operation after another.
#include "kernels/linear_attention/linear_attention.hpp"

#include <cmath>

#include "kernels_rows/support.hpp"

namespace colonnade::kernels::test {
namespace {

struct Case {
  std::size_t tokens, keys, columns, queries;
  bool fades = true, each_key = false, corrects = true, begins = true;
};

/// Sum of x[i] * state[i][j]: even i, then odd i.
float answer(const std::vector<float>& state, std::size_t columns, const std::vector<float>& x, std::size_t j) {
  float chains[2] = {0, 0};
  for (std::size_t i = 0; i < x.size(); ++i) chains[i % 2] = std::fma(x[i], state[i * columns + j], chains[i % 2]);
  return chains[0] + chains[1];
}

/// A head of keys with numbers of all kinds; columns of others lie beside its own.
struct Head {
  Case of;
  std::size_t all, fade_width;
  std::vector<float> query, key, value, rate, fade, before;

  explicit Head(const Case& given)
      : of(given),
        all(of.columns + 3),
        fade_width(of.each_key ? of.keys : 1),
        query(random_floats(of.tokens * of.queries * of.keys, 1)),
        key(random_floats(of.tokens * of.keys, 2)),
        value(random_floats(of.tokens * all, 3)),
        rate(random_floats(of.tokens, 4)),
        fade(random_floats(of.tokens * fade_width, 6)),
        before(random_floats(of.keys * all, 5)) {
    for (float& x : fade) x = std::exp(-std::fabs(x));
  }

  linear_attention::Args args() const {
    const auto stride = [](std::size_t floats) { return static_cast<std::ptrdiff_t>(floats); };
    linear_attention::Args args;
    args.tokens = of.tokens, args.keys = of.keys, args.columns = of.columns, args.queries = of.queries;
    args.query = query.data(), args.query_stride = stride(of.queries * of.keys);
    args.key = key.data(), args.key_stride = stride(of.keys);
    args.value = value.data(), args.value_stride = args.state_stride = args.out_query_stride = stride(all);
    args.out_stride = stride(of.queries * all);
    if (of.fades) args.fade = fade.data();
    args.fade_stride = stride(fade_width), args.fade_step = of.each_key ? 1 : 0;
    if (of.corrects) args.rate = rate.data();
    args.rate_stride = 1, args.scale = 0.5f;
    if (of.begins) args.before = before.data();
    return args;
  }

  /// The definition for column j at token t: changes `now`.
  void change(std::vector<float>& now, std::size_t t, std::size_t j) const {
    const auto left = [&](std::size_t i) { return of.fades ? fade[t * fade_width + (of.each_key ? i : 0)] : 1.0f; };
    std::vector<float> faded(of.keys);
    for (std::size_t i = 0; i < of.keys; ++i) faded[i] = key[t * of.keys + i] * left(i);
    float written = value[t * all + j];
    if (of.corrects) written = rate[t] * (written - answer(now, all, faded, j));
    for (std::size_t i = 0; i < of.keys; ++i)
      now[i * all + j] = std::fma(key[t * of.keys + i], written, now[i * all + j] * left(i));
  }
  std::vector<float> asked(std::size_t t, std::size_t q) const {
    const auto first = query.begin() + static_cast<std::ptrdiff_t>((t * of.queries + q) * of.keys);
    return {first, first + static_cast<std::ptrdiff_t>(of.keys)};
  }
};

void check(const linear_attention::Kernel& kernel, const Case& of) {
  const Head head(of);
  const std::size_t all = head.all;
  const Guarded state(std::vector<float>(of.keys * all, 9.0f)),
      out(std::vector<float>(of.tokens * of.queries * all, 9.0f)),
      work(std::vector<float>(kernel.work_floats(of.keys)));
  linear_attention::Args args = head.args();
  args.state = state.data(), args.out = out.data(), args.work = work.data();
  kernel.run(args);
  ASSERT_TRUE(state.intact() && out.intact() && work.intact());

  const auto expect = [&](float found, float expected) {
    const bool is_near = std::fabs(found - expected) <= 1e-4f * (1 + std::fabs(expected));
    EXPECT_TRUE(kernel.isa == Isa::baseline ? is_near : found == expected) << found << ", expected " << expected;
  };
  std::vector<float> now = of.begins ? head.before : std::vector<float>(of.keys * all, 0.0f);
  for (std::size_t t = 0; t < of.tokens; ++t)
    for (std::size_t j = 0; j < all; ++j) {
      if (j < of.columns) head.change(now, t, j);
      for (std::size_t q = 0; q < of.queries; ++q)
        expect(out[(t * of.queries + q) * all + j], j < of.columns ? answer(now, all, head.asked(t, q), j) * 0.5f : 9);
    }
  for (std::size_t i = 0; i < of.keys * all; ++i) expect(state[i], i % all < of.columns ? now[i] : 9);
}

TEST(LinearAttention, EveryRuleAndSize) {
  for (const linear_attention::Kernel& kernel : runnable(linear_attention::table()))
    for (const std::size_t keys : {1, 2, 7, 64})
      for (const std::size_t columns : {std::size_t{1}, std::size_t{5}, kernel.columns - 1, kernel.columns})
        for (const std::size_t tokens : {0, 1, 5}) {
          SCOPED_TRACE(std::string(kernel.name) + " keys " + std::to_string(keys) + " columns " +
                       std::to_string(columns) + " tokens " + std::to_string(tokens));
          for (const bool fades : {false, true})
            for (const bool corrects : {false, true}) {
              check(kernel, {tokens, keys, columns, 1, fades, false, corrects, true});
              check(kernel, {tokens, keys, columns, 3, fades, true, corrects, false});
            }
        }
}

}  // namespace
}  // namespace colonnade::kernels::test
