// SPDX-License-Identifier: Apache-2.0
// Attention by its kernels, beside the reference.
#include <limits>

#include "graph/contraction.hpp"
#include "program/whole.hpp"

namespace colonnade::test {
namespace {

using namespace whole;

constexpr double kTolerance = 1e-5;

struct Sizes {
  std::int64_t batch = 2, heads = 3, rows = 5, keys = 7, size = 4, columns = 6;
};

Input operand(const Sizes& s, std::int64_t rows, std::int64_t columns, bool inside) {
  return computed(DType::f32, inside ? Shape{s.batch, rows, s.heads, columns} : Shape{s.batch, s.heads, rows, columns});
}

std::vector<Input> operands(const Sizes& s, const Attention& op) {
  return {operand(s, s.rows, s.size, op.heads_inside_q), operand(s, s.keys, s.size, op.heads_inside_k),
          operand(s, s.keys, s.columns, op.heads_inside_v)};
}

void check_attention(const Attention& op, std::vector<Input> inputs, double tolerance = kTolerance) {
  check(op, inputs, families::attention, tolerance);
}

TEST(AttentionKernels, AgreeWithTheReference) {
  for (const std::int64_t rows : {1, 2, 15, 129})
    for (const std::int64_t keys : {1, 3, 16, 65})
      for (const std::int64_t size : {1, 8, 33})
        for (const std::int64_t columns : {1, 16, 20}) {
          const Sizes sizes{1, 2, rows, keys, size, columns};
          check_attention({.scale = 0.4f}, operands(sizes, {}));
        }
}

TEST(AttentionKernels, FindHeadsWhereTheyLie) {
  for (int flags = 0; flags < 16; ++flags) {
    const Attention op{0.5f, (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0, (flags & 8) != 0};
    check_attention(op, operands({}, op));
    check_attention(op, operands({.rows = 1}, op));
  }
}

void check_masks(const Sizes& s) {
  for (const Shape& shape : {Shape{s.keys},
                             {s.rows, s.keys},
                             {1, s.keys},
                             {s.heads, 1, s.keys},
                             {s.batch, 1, 1, s.keys},
                             {s.batch, s.heads, s.rows, s.keys},
                             {1, s.heads, s.rows, s.keys}}) {
    std::vector<Input> inputs = operands(s, {});
    inputs.push_back(computed(DType::f32, shape));
    check_attention({.scale = 0.3f}, inputs);
    inputs.push_back(computed(DType::f32, {1, s.heads, s.rows, s.keys}));
    check_attention({.scale = 0.3f}, inputs);
    check_attention({.scale = 0.3f, .cap = 0.7f}, inputs);
    inputs[kAddendInput] = absent();
    check_attention({.scale = 0.3f}, inputs);
  }
}

TEST(AttentionKernels, AddMasksOfEveryShape) {
  check_masks({2, 3, 20, 9, 8, 16});
  check_masks({2, 3, 1, 40, 8, 16});
}

/// Keys from `live` on are barred.
Tensor barring(std::int64_t keys, std::int64_t live, double far) {
  std::vector<double> values(static_cast<std::size_t>(keys), 0);
  for (std::int64_t key = live; key < keys; ++key) values[static_cast<std::size_t>(key)] = far;
  return reference::tensor_of(DType::f32, Shape{keys}, values);
}

TEST(AttentionKernels, BarKeysAsTheReferenceDoes) {
  const Sizes s{1, 2, 6, 37, 8, 8};
  for (const double far : {-1e4, -1e9, -3.4028234663852886e38, -std::numeric_limits<double>::infinity()})
    for (const std::int64_t live : {0, 1, 16, 20, 37}) {
      std::vector<Input> inputs = operands(s, {});
      inputs.push_back(constant(barring(s.keys, live, far)));
      check_attention({}, inputs);
    }
}

/// Row i of `rows` sees the keys from `before` before key first + i to it; of each tenth row none where `empty`.
Tensor seeing(std::int64_t rows, std::int64_t keys, std::int64_t first, std::int64_t before, double far, bool empty) {
  std::vector<double> values;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t key = 0; key < keys; ++key) {
      const bool sees = key <= first + row && key >= first + row - before && !(empty && row % 10 == 3);
      values.push_back(sees ? 0.01 * static_cast<double>(key) : far);
    }
  return reference::tensor_of(DType::f32, Shape{rows, keys}, values);
}

TEST(AttentionKernels, LeaveOutKeysThatNoRowSees) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double far : {-1e9, -3.4028234663852886e38, -infinity})
    for (const std::int64_t rows : {1, 2, 200})
      for (const std::int64_t first : {0, 150, 330})
        for (const std::int64_t before : {0, 90, 1000})
          for (const bool empty : {false, true}) {
            const Sizes s{1, 2, rows, 530, 8, 20};
            std::vector<Input> inputs = operands(s, {});
            inputs.push_back(constant(seeing(rows, s.keys, first, before, far, empty)));
            check_attention({.without_shares = far == -infinity ? WithoutShares::zero : WithoutShares::nan}, inputs);
            inputs.push_back(constant(seeing(1, s.keys, 400, 390, far, false)));
            if (!empty && before == 1000) check_attention({}, inputs);
          }
}

TEST(AttentionKernels, ShareKeysAmongBatches) {
  std::vector<Input> inputs = operands({}, {});
  inputs[1].shape[0] = inputs[2].shape[0] = 1;
  check_attention({}, inputs);
  inputs[0].shape[1] = 1;
  check_attention({}, inputs);
  check_attention({}, {computed(DType::f32, {9, 8}), computed(DType::f32, {5, 8}), computed(DType::f32, {5, 3})});
}

/// Heads in groups that share keys, a row each; more keys than rows meet at a time.
TEST(AttentionKernels, LetSingleRowsShareKeys) {
  for (const std::int64_t keys : {5, 300, 700})
    for (const std::int64_t group : {2, 7, 20}) {
      const Input q = computed(DType::f32, {2, 3, group, 1, 8}), k = computed(DType::f32, {2, 3, 1, keys, 8}),
                  v = computed(DType::f32, {2, 3, 1, keys, 20});
      check_attention({.scale = 0.3f}, {q, k, v});
      check_attention({.scale = 0.3f}, {q, k, v, computed(DType::f32, {keys})});
      check_attention({.scale = 0.3f, .cap = 2}, {q, k, v, computed(DType::f32, {2, 3, group, 1, keys})});
      check_attention({.scale = 0.3f}, {q, k, v, computed(DType::f32, {2, 1, 1, 1, keys}),
                                        computed(DType::f32, {1, 3, group, 1, keys})});
    }
}

TEST(AttentionKernels, CapScores) {
  for (const float cap : {0.2f, 1.5f, 50.0f}) check_attention({.scale = 0.4f, .cap = cap}, operands({}, {}));
}

TEST(AttentionKernels, ShareWithSinks) {
  for (const std::int64_t rows : {1, 20}) {
    const Sizes s{2, 3, rows, 70, 8, 16};
    for (const Shape& shape : {Shape{1}, {3, 1, 1}, {1, 3, 1, 1}, {2, 3, 1, 1}, {2, 1, rows, 1}, {2, 3, rows, 1}}) {
      std::vector<Input> inputs = operands(s, {});
      inputs.resize(kSinksInput, absent());
      inputs.push_back(computed(DType::f32, shape));
      check_attention({.scale = 0.3f}, inputs);
      inputs[kAddendInput] = computed(DType::f32, {1, s.heads, s.rows, s.keys});
      check_attention({.scale = 0.3f, .cap = 2}, inputs);
      inputs[kAddendInput] = constant(barring(s.keys, 20, -3.4028234663852886e38));
      check_attention({.scale = 0.3f}, inputs);
    }
  }
}

/// Where a sink takes all, nothing is left of the values; where keys are barred, not either.
TEST(AttentionKernels, ShareNothingBesideLargeSinks) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Sizes s{1, 3, 20, 40, 8, 16};
  for (const double far : {-3.4028234663852886e38, -infinity})
    for (const std::int64_t live : {0, 7, 40}) {
      std::vector<Input> inputs = operands(s, {});
      inputs.push_back(constant(barring(s.keys, live, far)));
      inputs.resize(kSinksInput, absent());
      inputs.push_back(constant(reference::tensor_of(DType::f32, Shape{3, 1, 1}, std::vector<double>{90, -90, 0.5})));
      for (const WithoutShares none : {WithoutShares::nan, WithoutShares::zero})
        check_attention({.without_shares = none}, inputs);
    }
}

TEST(AttentionKernels, LetSingleRowsOfManyHeadsHaveSinks) {
  for (const std::int64_t group : {2, 20})
    check_attention({.scale = 0.3f},
                    {computed(DType::f32, {2, 3, group, 1, 8}), computed(DType::f32, {2, 3, 1, 300, 8}),
                     computed(DType::f32, {2, 3, 1, 300, 20}), computed(DType::f32, {300}), absent(), absent(),
                     absent(), absent(), computed(DType::f32, {1, 3, group, 1, 1})});
}

TEST(AttentionKernels, TakeManyKeysInBlocksOfRows) {
  check_attention({.scale = 0.2f}, operands({1, 1, 150, 3000, 16, 16}, {}));
}

void check_barred_keys(std::int64_t rows, double far) {
  constexpr std::int64_t kLive = 37, kSize = 24;
  const Tensor q = random_tensor(DType::f32, {1, rows, kSize}, 1);
  std::vector<Tensor> alone;
  for (const std::int64_t keys : {kLive, kLive + 1, kLive + 64, 3 * kLive}) {
    std::vector<Input> inputs{computed(DType::f32, q.shape()), computed(DType::f32, {1, keys, kSize}),
                              computed(DType::f32, {1, keys, kSize}), constant(barring(keys, kLive, far))};
    const Graph graph = single(Attention{.scale = 0.3f}, inputs, 1);
    std::vector<Tensor> given{q, random_tensor(DType::f32, {1, keys, kSize}, 2),
                              random_tensor(DType::f32, {1, keys, kSize}, 3)};
    const auto found = run(graph, {Schedule::layers, Math::fast, 1, 0}, host_isas()[0], given);
    if (alone.empty()) alone = found;
    EXPECT_TRUE(same_bits(found, alone)) << keys;
  }
}

/// What stands behind the live keys changes no bit, nor does how many there are.
TEST(AttentionKernels, GiveTheSameBitsBesideBarredKeys) {
  for (const double far : {-1e4, -3.4028234663852886e38, -std::numeric_limits<double>::infinity()})
    for (const std::int64_t rows : {1, 9, 200}) check_barred_keys(rows, far);
}

/// Nor do those before them, where they fill whole blocks of keys.
TEST(AttentionKernels, GiveTheSameBitsBehindBarredKeys) {
  constexpr std::int64_t kLive = 90, kSize = 24, kBefore = 128;
  const Tensor q = random_tensor(DType::f32, {1, 9, kSize}, 1), k = random_tensor(DType::f32, {1, kLive, kSize}, 2),
               v = random_tensor(DType::f32, {1, kLive, kSize}, 3);
  const auto behind = [](const Tensor& rows) {
    Tensor all = random_tensor(DType::f32, {1, kBefore + kLive, kSize}, 4);
    std::ranges::copy(rows.values<float>(), all.values<float>().begin() + kBefore * kSize);
    return all;
  };
  const auto answer = [&](const Tensor& keys, const Tensor& values, double far) {
    const std::int64_t count = keys.shape()[1];
    std::vector<double> mask(static_cast<std::size_t>(count), 0);
    std::fill(mask.begin(), mask.end() - kLive, far);
    const Graph graph =
        single(Attention{.scale = 0.3f},
               {computed(DType::f32, q.shape()), computed(DType::f32, keys.shape()),
                computed(DType::f32, values.shape()), constant(reference::tensor_of(DType::f32, Shape{count}, mask))},
               1);
    return run(graph, {Schedule::layers, Math::fast, 1, 0}, host_isas()[0], {q, keys, values});
  };
  for (const double far : {-3.4028234663852886e38, -std::numeric_limits<double>::infinity()})
    EXPECT_TRUE(same_bits(answer(behind(k), behind(v), far), answer(k, v, far)));
}

/// One batch of `rows` in which texts meet themselves.
std::vector<Input> bounded(std::int64_t rows, const Ints& bounds, bool inside) {
  const Attention op{.heads_inside_q = inside, .heads_inside_k = inside, .heads_inside_v = inside};
  std::vector<Input> inputs = operands({1, 3, rows, rows, 8, 20}, op);
  inputs.push_back(absent());
  inputs.push_back(absent());
  inputs.push_back(constant(index_tensor({std::ssize(bounds)}, bounds)));
  return inputs;
}

TEST(AttentionKernels, KeepTextsApart) {
  for (const bool inside : {true, false}) {
    Attention op{.scale = 0.4f, .heads_inside_q = inside, .heads_inside_k = inside, .heads_inside_v = inside};
    op.heads_inside_out = inside;
    for (const Ints& bounds : {Ints{0, 5, 6, 40}, {3, 3, 20, 20, 39}, {0}, {40}, {0, 40, 40, 40}, {7, 8}})
      check_attention(op, bounded(40, bounds, inside));
    check_attention(op, bounded(300, {0, 20, 150, 290}, inside));
  }
}

TEST(AttentionKernels, KeepTextsWithSinksApart) {
  std::vector<Input> inputs = bounded(40, {3, 3, 20, 39}, false);
  inputs.resize(kSinksInput, absent());
  inputs.push_back(computed(DType::f32, {3, 1, 1}));
  check_attention({.scale = 0.4f}, inputs);
}

TEST(AttentionKernels, RefuseBoundsThatAreNone) {
  for (const Ints& bounds : {Ints{0, 41}, {-1, 5}, {5, 4}}) {
    const std::vector<Input> inputs = bounded(40, bounds, false);
    const Graph graph = single(Attention{}, inputs, 1);
    EXPECT_THROW(run(graph, {Schedule::automatic, Math::fast, 1, 0}, host_isas()[0], inputs_of(graph, 1)), Error);
    EXPECT_THROW(reference::evaluate(graph, views_of(inputs_of(graph, 1))), Error);
  }
}

/// Places that skip some, from 3 on.
Ints places_of(const Ints& bounds, std::int64_t rows, std::int64_t skipped) {
  Ints places(static_cast<std::size_t>(rows), 0);
  for (std::size_t text = 0; text + 1 < bounds.size(); ++text)
    for (std::int64_t row = bounds[text]; row < bounds[text + 1]; ++row)
      places[static_cast<std::size_t>(row)] = 3 + (row - bounds[text]) + (row - bounds[text]) / 4 * skipped;
  return places;
}

TEST(AttentionKernels, AddWhatDependsOnHowFarTokensAreApart) {
  const Ints bounds{0, 20, 21, 150, 290};
  for (const std::int64_t skipped : {0, 2})
    for (const std::int64_t far : {1, 40, 400})
      for (const Shape& shape : {Shape{1, 2 * far + 1}, {3, 1, 2 * far + 1}, {1, 3, 1, 2 * far + 1}}) {
        std::vector<Input> inputs = bounded(300, bounds, true);
        inputs[kAddendInput] = computed(DType::f32, shape);
        inputs.push_back(constant(index_tensor({300}, places_of(bounds, 300, skipped))));
        const Attention op{.scale = 0.4f, .heads_inside_q = true, .heads_inside_k = true, .heads_inside_v = true};
        check_attention(op, inputs);
        inputs[kAddendInput + 1] = computed(DType::f32, {1, 1, 1, 2 * far + 1});
        check_attention(op, inputs);
      }
}

TEST(AttentionKernels, GiveZerosWhereAllKeysAreBarred) {
  const Sizes s{1, 2, 20, 9, 8, 16};
  std::vector<Input> inputs = operands(s, {});
  std::vector<double> values(20 * 9, 0);
  for (const std::size_t row : {2u, 7u, 19u})
    for (std::size_t key = 0; key < 9; ++key) values[row * 9 + key] = -std::numeric_limits<double>::infinity();
  inputs.push_back(constant(reference::tensor_of(DType::f32, Shape{20, 9}, values)));
  for (const WithoutShares zero : {WithoutShares::zero, WithoutShares::zero_where_barred})
    check_attention({.without_shares = zero}, inputs);
}

TEST(AttentionKernels, LeaveAddendsWithOneNumberForAllKeysToTheReference) {
  std::vector<Input> inputs = operands({}, {});
  inputs.push_back(computed(DType::f32, {5, 1}));
  check(Attention{}, inputs, families::island, kTolerance);
}

}  // namespace
}  // namespace colonnade::test
