// SPDX-License-Identifier: Apache-2.0
// Operators on whole tensors, one at a time: every tier, schedule and number of threads gives the same bits within a
// tier, and the reference's values.
#include "program/whole.hpp"

#include "reference/onnx/definitions.hpp"

namespace colonnade::test {
namespace {

using namespace whole;

constexpr DType kNumbers[] = {DType::f32, DType::f64, DType::i8, DType::u8, DType::i32, DType::i64};

TEST(Typed, ComplexNumbersMove) {
  Tensor x(DType::c128, {4, 3});
  std::iota(static_cast<double*>(x.data()), static_cast<double*>(x.data()) + 24, 1.0);
  const Input left = computed(DType::c128, {4, 3});
  const std::pair<Operator, std::vector<Input>> moves[] = {
      {Transpose{{1, 0}}, {left}},
      {Concat{1}, {left, constant(x)}},
      {Select{}, {constant(random_tensor(DType::boolean, {4, 1}, 5)), left, constant(Tensor(DType::c128, {3}))}}};
  for (const auto& [op, inputs] : moves) {
    const Graph graph = single(op, inputs, 1);
    SCOPED_TRACE(to_text(graph));
    EXPECT_EQ(choose_family(graph, graph.nodes[0], Math::fast, kernels::Isa::avx512, known_blocking()).family->name,
              families::typed.name);
    const std::vector<Tensor> expected = reference::evaluate(graph, views_of({x}));
    for (const kernels::Isa isa : host_isas())
      EXPECT_TRUE(same_bits(run(graph, {Schedule::automatic, Math::fast, 2, 0}, isa, {x}), expected));
  }
}

TEST(Typed, CopiesWhatOnlyHasAnotherName) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::i64, DType::boolean})
    check(Unary{UnaryKind::identity}, {computed(dtype, {3, 1000})});
  for (const auto& [from, to] :
       {std::pair(DType::f32, DType::i32), {DType::u64, DType::f64}, {DType::f16, DType::u16}, {DType::i8, DType::u8}})
    check(make_opaque(reference::kBitCast, 26, {{"to", static_cast<std::int64_t>(to)}}), {computed(from, {3, 1000})});
}

TEST(Typed, Arithmetic) {
  for (const BinaryKind kind : {BinaryKind::add, BinaryKind::sub, BinaryKind::mul, BinaryKind::min, BinaryKind::max,
                                BinaryKind::squared_difference, BinaryKind::prelu})
    for (const DType dtype : kNumbers) {
      if (dtype == DType::f32) continue;
      check(Binary{kind}, {computed(dtype, {3, 37}), computed(dtype, {3, 37})});
      check(Binary{kind}, {computed(dtype, {3, 1, 5}), computed(dtype, {4, 1})});
      check(Binary{kind}, {computed(dtype, {}), computed(dtype, {7})});
    }
  check(Binary{BinaryKind::div}, {computed(DType::f64, {5, 5}), computed(DType::f64, {5})});
}

TEST(BinaryRows, MeetOperandsThatRepeat) {
  const auto pixels = constant(random_tensor(DType::f32, {3, 5}, 3)),
             few = constant(random_tensor(DType::f32, {3, 1}, 4));
  for (const BinaryKind kind : {BinaryKind::sub, BinaryKind::div, BinaryKind::pow})
    for (const std::int64_t rows : {1, 2, 37}) {
      check(Binary{kind}, {computed(DType::f32, {1, rows, 3, 5}), pixels}, families::binary, 1e-5);
      check(Binary{kind}, {pixels, computed(DType::f32, {1, rows, 3, 5})}, families::binary, 1e-5);
      check(Binary{kind}, {computed(DType::f32, {1, rows, 3, 1}), few}, families::binary, 1e-5);
      check(Binary{kind}, {computed(DType::f32, {1, rows, 1, 5}), pixels}, families::binary, 1e-5);
      check(Binary{kind}, {computed(DType::f32, {2, rows, 3, 5}), computed(DType::f32, {1, 1, 3, 5})}, families::binary,
            1e-5);
    }
}

TEST(Typed, BroadcastsOverFoldedAxes) {
  check(Binary{BinaryKind::prelu}, {computed(DType::f32, {2, 3, 4, 5, 6}), computed(DType::f32, {3, 1, 1, 1})});
  check(Binary{BinaryKind::add}, {computed(DType::f32, {2, 3, 1, 5, 4}), computed(DType::f32, {2, 1, 6, 5, 1})});
}

TEST(Typed, Comparisons) {
  for (const BinaryKind kind : {BinaryKind::equal, BinaryKind::less, BinaryKind::less_or_equal, BinaryKind::greater,
                                BinaryKind::greater_or_equal})
    for (const DType dtype : kNumbers) {
      check(Binary{kind}, {computed(dtype, {2, 33}), computed(dtype, {2, 33})});
      check(Binary{kind}, {computed(dtype, {2, 33}), computed(dtype, {})});
    }
}

TEST(Typed, Logic) {
  for (const BinaryKind kind : {BinaryKind::logical_and, BinaryKind::logical_or, BinaryKind::logical_xor})
    check(Binary{kind}, {computed(DType::boolean, {40}), computed(DType::boolean, {40})});
  check(Unary{UnaryKind::logical_not}, {computed(DType::boolean, {40})});
}

TEST(Typed, FindsWhatIsNotANumber) {
  const Graph graph = single(Unary{UnaryKind::is_nan}, {computed(DType::f32, {5})}, 1);
  check(graph, families::typed,
        {reference::tensor_of(DType::f32, {5}, std::vector<double>{0, std::nan(""), 1, INFINITY, std::nan("")})});
}

/// By rows between the types that the kernels of `convert` know.
const Family& family_of_cast(DType from, DType to) {
  const TypeSet by_rows{DType::f32, DType::u8, DType::i8};
  return by_rows.contains(from) && by_rows.contains(to) ? families::convert : families::typed;
}

TEST(Typed, Casts) {
  for (const DType from : kNumbers)
    for (const DType to : {DType::f32, DType::f64, DType::i8, DType::u8, DType::i32, DType::i64, DType::boolean})
      if (from != to) check(Cast{to}, {computed(from, {50})}, family_of_cast(from, to));
  const std::vector<double> hard{1e30, -1e30, std::nan(""), 2.9, -2.9, 300, -0.0, 2147483648.0};
  for (const DType to : {DType::i8, DType::u8, DType::i32, DType::i64, DType::boolean}) {
    const Graph graph = single(Cast{to}, {computed(DType::f32, {8})}, 1);
    check(graph, family_of_cast(DType::f32, to), {reference::tensor_of(DType::f32, {8}, hard)});
  }
}

TEST(Convert, EighthsOfFloats) {
  for (const DType narrow : {DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz}) {
    check(Cast{narrow}, {computed(DType::f32, {2, 20, 5, 7})}, families::convert);
    check(Cast{DType::f32}, {computed(narrow, {2, 20, 5, 7})}, families::convert);
    const Graph graph = single(Cast{narrow, false}, {computed(DType::f32, {8})}, 1);
    check(graph, families::island,
          {reference::tensor_of(DType::f32, {8}, std::vector<double>{1e9, -1e9, 3, 0, 5, 1, 2, 4})});
  }
}

TEST(Typed, Selects) {
  for (const DType dtype : {DType::f32, DType::i64, DType::boolean, DType::f16})
    check(Select{}, {computed(DType::boolean, {3, 1}), computed(dtype, {5}), computed(dtype, {3, 5})});
}

TEST(Typed, FindsExtremes) {
  for (const bool max : {true, false})
    for (const bool last : {true, false})
      for (const DType dtype : {DType::f32, DType::i32, DType::i64, DType::boolean})
        check(ArgReduce{max, 1, true, last}, {computed(dtype, {3, 9, 2})});
  const Graph graph = single(ArgReduce{}, {computed(DType::f32, {4})}, 1);
  check(graph, families::typed,
        {reference::tensor_of(DType::f32, {4}, std::vector<double>{1, std::nan(""), 9, std::nan("")})});
}

TEST(Typed, OneHots) {
  for (const std::int64_t axis : {-1, 0, 1}) {
    const Input depth = constant(index_tensor({1}, {4}));
    check(OneHot{axis}, {computed(DType::i64, {2, 3}), depth, computed(DType::f32, {2})});
    check(OneHot{axis}, {computed(DType::i32, {2, 3}), depth, constant(index_tensor({2}, {0, 1}))});
  }
}

TEST(Typed, MovesBoxes) {
  const DType i64 = DType::i64, f32 = DType::f32;
  check(Transpose{{1, 0}}, {computed(i64, {5, 6})});
  check(Transpose{{0, 2, 1, 3}}, {computed(DType::f64, {2, 64, 2, 40})});
  check(Concat{1}, {computed(i64, {4, 1}), computed(i64, {4, 3}), computed(i64, {4, 1})});
  check(Concat{0}, {computed(i64, {1}), computed(i64, {3})});
  check(Split{1}, {computed(i64, {4, 6}), constant(index_tensor({2}, {1, 5}))}, families::typed, 0, 2);
  check(Split{0}, {computed(f32, {4, 6}), constant(index_tensor({2}, {3, 1}))}, families::typed, 0, 2);
  check(Expand{}, {computed(f32, {3, 1}), constant(index_tensor({3}, {2, 3, 5}))});
  check(Tile{}, {computed(f32, {3, 2}), constant(index_tensor({2}, {2, 3}))});
  check(Slice{}, {computed(f32, {3, 9, 5}), constant(index_tensor({2}, {-1, 1})), constant(index_tensor({2}, {0, 9})),
                  constant(index_tensor({2}, {1, 2})), constant(index_tensor({2}, {-2, 1}))});
}

TEST(Typed, SoftmaxBeforeAxesOfOne) {
  check(Softmax{1, false}, {computed(DType::f32, {2, 37, 1})}, families::typed, 1e-6);
  for (const bool log : {false, true}) {
    check(Softmax{1, log}, {computed(DType::f64, {2, 37, 1})}, families::typed, 1e-14);
    check(Softmax{-1, log}, {computed(DType::f64, {5, 131})}, families::typed, 1e-14);
  }
}

TEST(TypedProduct, TakesZeroPointsOffBytes) {
  const auto zero = [](DType dtype, double value) {
    return constant(reference::tensor_of(dtype, {}, std::vector<double>{value}));
  };
  for (const DType a : {DType::i8, DType::u8})
    for (const DType b : {DType::i8, DType::u8})
      for (const std::int64_t rows : {1, 3, 130})
        for (const bool whole : {true, false}) {
          const Shape left = {2, rows, 70}, right = whole ? Shape{70, 300} : Shape{2, 70, 17};
          check(IntegerMatMul{}, {computed(a, left), computed(b, right), zero(a, 100), zero(b, 127)},
                families::typed_product);
          check(IntegerMatMul{}, {computed(a, left), computed(b, right), absent(), computed(b, {1})},
                families::typed_product);
        }
}

TEST(TypedProduct, AgreesWithTheReference) {
  const auto check_product = [](const MatMul& op, DType dtype, const Shape& a, const Shape& b) {
    const double tolerance = dtype == DType::f64 ? 1e-12 : 0;
    check(op, {computed(dtype, a), computed(dtype, b)}, families::typed_product, tolerance);
    check(op, {computed(dtype, a), constant(random_tensor(dtype, b, 7))}, families::typed_product, tolerance);
    check(op, {constant(random_tensor(dtype, a, 7)), computed(dtype, b)}, families::typed_product, tolerance);
  };
  for (const DType dtype : {DType::i8, DType::u8, DType::i16, DType::i32, DType::i64, DType::f64}) {
    check_product(MatMul{}, dtype, {2, 3, 7}, {7, 45});
    check_product(MatMul{}, dtype, {150, 33}, {33, 130});
    check_product(MatMul{false, true, {}}, dtype, {2, 1, 5, 33}, {3, 70, 33});
    check_product(MatMul{true, false, {}}, dtype, {33, 131}, {2, 33, 21});
    check_product(MatMul{true, true, {}, true, true, true}, dtype, {2, 9, 3, 140}, {2, 21, 3, 9});
  }
  check(MatMul{}, {computed(DType::i8, {5, 9}), computed(DType::u8, {9, 4})}, families::typed_product);
  check(MatMul{}, {computed(DType::u8, {5, 9}), computed(DType::i16, {9, 4})}, families::typed_product);
  check(MatMul{}, {computed(DType::f64, {5, 9}), computed(DType::f64, {9, 4}), computed(DType::f64, {4})},
        families::typed_product, 1e-12);
}

TEST(Product, ComputedMatrices) {
  const DType f32 = DType::f32;
  check(MatMul{}, {computed(f32, {2, 3, 150, 33}), computed(f32, {2, 3, 33, 21})}, families::product, 2e-4);
  check(MatMul{false, true, {}}, {computed(f32, {2, 3, 5, 33}), computed(f32, {2, 1, 21, 33})}, families::product,
        2e-4);
  check(MatMul{}, {computed(f32, {5, 17}), computed(f32, {17, 16})}, families::product, 2e-4);
  // blocks of columns
  check(MatMul{}, {computed(f32, {9, 33}), computed(f32, {33, 300}), constant(random_tensor(f32, {300}, 9))},
        families::product, 2e-4);
  check(MatMul{true, true, {}}, {computed(f32, {2, 33, 9}), computed(f32, {2, 130, 33})}, families::product, 2e-4);
  MatMul fused;
  fused.epilogue.prelu_slope = fused.epilogue.residual = fused.epilogue.residual_after = true;
  check(fused,
        {computed(f32, {9, 33}), computed(f32, {33, 300}), absent(), constant(random_tensor(f32, {300}, 9)),
         computed(f32, {9, 300})},
        families::product, 2e-4);
  // heads inside: [batch, rows, heads, columns]
  check(MatMul{false, false, {}, true, false, false}, {computed(f32, {2, 150, 3, 33}), computed(f32, {2, 3, 33, 21})},
        families::product, 2e-4);
  check(MatMul{false, true, {}, true, true, false}, {computed(f32, {2, 5, 3, 33}), computed(f32, {1, 21, 3, 33})},
        families::product, 2e-4);
  check(MatMul{false, false, {}, false, true, true}, {computed(f32, {2, 3, 150, 33}), computed(f32, {33, 3, 21})},
        families::product, 2e-4);
  check(MatMul{false, true, {}, true, false, true}, {computed(f32, {150, 3, 33}), computed(f32, {21, 33})},
        families::product, 2e-4);
  check(MatMul{}, {computed(f32, {3, 6, 17}), constant(random_tensor(f32, {3, 17, 5}, 9))}, families::product, 2e-4);
}

TEST(VectorProduct, AgreesWithTheReference) {
  const DType f32 = DType::f32;
  const auto check_product = [&](const MatMul& op, const Shape& a, const Shape& b) {
    check(op, {computed(f32, a), computed(f32, b)}, families::vector_product, 2e-4);
  };
  for (const std::int64_t rows : {1, 4}) {
    check_product(MatMul{}, {rows, 70}, {70, 600});
    check_product(MatMul{}, {2, 3, rows, 33}, {2, 1, 33, 21});
    check_product(MatMul{false, true, {}}, {2, 3, rows, 33}, {2, 3, 300, 33});
    check_product(MatMul{false, true, {}, true, true, true}, {2, rows, 3, 33}, {2, 21, 3, 33});
  }
  check_product(MatMul{}, {2, 300, 33}, {2, 33, 1});
  check_product(MatMul{}, {2, 3, 20, 33}, {33, 1});
  check_product(MatMul{true, true, {}}, {2, 33, 300}, {2, 1, 33});
  check_product(MatMul{true, false, {}, true, false, true}, {2, 33, 3, 20}, {2, 3, 33, 1});
  check(MatMul{}, {computed(f32, {3, 2, 17}), constant(random_tensor(f32, {3, 17, 5}, 9))}, families::vector_product,
        2e-4);
  check(MatMul{}, {computed(f32, {2, 17}), computed(f32, {17, 300}), constant(random_tensor(f32, {300}, 9))},
        families::vector_product, 2e-4);
  check(MatMul{}, {computed(f32, {3, 17, 2}), constant(random_tensor(f32, {2, 1}, 9))}, families::matmul, 2e-4);
}

TEST(Product, OfHeadsAndAConstant) {
  const DType f32 = DType::f32;
  check(MatMul{false, false, {}, false, false, true},
        {computed(f32, {4, 6, 33}), constant(random_tensor(f32, {33, 21}, 9))}, families::product, 2e-4);
  check(MatMul{false, true, {}, true, false, false},
        {computed(f32, {2, 3, 33}), constant(random_tensor(f32, {21, 33}, 9))}, families::vector_product, 2e-4);
}

TEST(Product, OfATransposedLeftMatrix) {
  const DType f32 = DType::f32;
  const MatMul left{true, false, {}}, both{true, true, {}};
  check(left, {computed(f32, {33, 150}), computed(f32, {33, 21})}, families::product, 2e-4);
  check(both, {computed(f32, {2, 33, 131}), computed(f32, {2, 21, 33})}, families::product, 2e-4);
  check(left, {computed(f32, {33, 7}), constant(random_tensor(f32, {33, 21}, 9))}, families::product, 2e-4);
  check(MatMul{true, false, {}, true, false, true}, {computed(f32, {2, 33, 3, 150}), computed(f32, {33, 21})},
        families::product, 2e-4);
  check(left, {computed(f32, {1, 5}), computed(f32, {1, 4})}, families::product, 2e-4);
}

/// A balanced tree of thresholds, or a single leaf.
void add_tree(TreeEnsemble& op, std::mt19937& random, int depth, TreeEnsemble::Mode mode) {
  const auto grow = [&](const auto& self, int left) -> std::int32_t {
    const auto index = static_cast<std::int32_t>(op.nodes.size());
    op.nodes.emplace_back();
    if (left == 0 || random() % 5 == 0) {
      TreeEnsemble::TreeNode leaf;
      leaf.first_weight = static_cast<std::int32_t>(op.leaf_weights.size());
      op.leaf_weights.push_back({static_cast<std::int32_t>(random() % static_cast<unsigned>(op.target_count)),
                                 static_cast<float>(static_cast<int>(random() % 100)) / 50 - 1});
      leaf.last_weight = leaf.first_weight + 1;
      op.nodes[static_cast<std::size_t>(index)] = leaf;
      return index;
    }
    TreeEnsemble::TreeNode node;
    node.feature = static_cast<std::int32_t>(random() % 6);
    node.value = static_cast<float>(static_cast<int>(random() % 5)) - 2;
    node.mode = mode;
    node.missing_tracks_true = random() % 2 == 0;
    node.if_true = self(self, left - 1);
    node.if_false = self(self, left - 1);
    op.nodes[static_cast<std::size_t>(index)] = node;
    return index;
  };
  op.roots.push_back(grow(grow, depth));
}

Tensor samples_with_gaps(std::int64_t samples) {
  std::mt19937 random(5);
  std::vector<double> values;
  for (std::int64_t i = 0; i < samples * 6; ++i)
    values.push_back(random() % 7 == 0 ? std::nan("") : double(random() % 9) / 2 - 2);
  return reference::tensor_of(DType::f32, {samples, 6}, values);
}

TEST(Trees, AgreeWithTheReference) {
  using Mode = TreeEnsemble::Mode;
  using Post = TreeEnsemble::Post;
  for (const Mode mode : {Mode::leq, Mode::lt, Mode::gte, Mode::gt})
    for (const Post post : {Post::none, Post::softmax, Post::logistic}) {
      TreeEnsemble op;
      op.target_count = 3;
      op.post = post;
      op.base_values = {0.5f, -0.25f, 0};
      std::mt19937 random(static_cast<unsigned>(mode) * 7 + static_cast<unsigned>(post));
      for (int tree = 0; tree < 19; ++tree) add_tree(op, random, tree % 6, mode);
      TreeEnsemble classifier = op;
      classifier.classifier = true;
      classifier.labels = {7, 3, 5};
      for (const std::int64_t samples : {1, 9, 131}) {
        check(single(op, {computed(DType::f32, {samples, 6})}, 1), families::trees, {samples_with_gaps(samples)});
        check(single(classifier, {computed(DType::f32, {samples, 6})}, 2), families::trees,
              {samples_with_gaps(samples)});
      }
    }
}

TEST(Trees, MalformedOnesStayWithTheReference) {
  TreeEnsemble op;
  TreeEnsemble::TreeNode loop;
  loop.feature = 0;
  loop.mode = TreeEnsemble::Mode::leq;
  op.nodes = {loop};
  op.roots = {0};
  const Graph graph = single(op, {computed(DType::f32, {1, 6})}, 1);
  EXPECT_EQ(choose_family(graph, graph.nodes[0], Math::fast, kernels::Isa::avx512, known_blocking()).family,
            &families::island);
}

/// A product of one row and very many columns has very many units.
TEST(Units, TakeNoMemoryEach) {
  const Graph graph = single(MatMul{}, {computed(DType::f32, {1, 8}), computed(DType::f32, {8, 1 << 24})}, 1);
  const Choice choice = choose_family(graph, graph.nodes[0], Math::fast, kernels::Isa::avx512, known_blocking());
  ASSERT_EQ(choice.family, &families::vector_product);
  const auto program = program_of(graph, {Schedule::layers, Math::fast, 1, 0}, kernels::usable_features());
  EXPECT_EQ(program->pointer_count, 0u);
}

TEST(GridSamples, AgreeWithTheReference) {
  using Padding = GridSample::Padding;
  for (const ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic})
    for (const Padding padding : {Padding::zeros, Padding::border, Padding::reflection})
      for (const bool align : {true, false})
        for (const std::int64_t channels : {1, 5, 33})
          check(GridSample{mode, padding, align},
                {computed(DType::f32, {2, channels, 7, 9}), computed(DType::f32, {2, 5, 17, 2})}, families::grid_sample,
                1e-4);
}

TEST(GridSamples, OfVolumes) {
  using Padding = GridSample::Padding;
  for (const ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear})
    for (const Padding padding : {Padding::zeros, Padding::border, Padding::reflection})
      for (const bool align : {true, false})
        for (const std::int64_t channels : {1, 3, 17})
          check(GridSample{mode, padding, align},
                {computed(DType::f32, {2, channels, 4, 5, 6}), computed(DType::f32, {2, 3, 7, 5, 3})},
                families::grid_sample, 1e-4);
}

TEST(Layouts, RowsOfAChannelsFirstTensorAreNotThoseOfTheImage) {
  Graph graph;
  const ValueId x = graph.add_value("x", {DType::f32, Shape{1, 10, 6, 2}});
  graph.inputs = {x};
  const ValueId clipped = graph.add_value("clipped"), y = graph.add_value("y");
  graph.nodes.push_back({Unary{UnaryKind::clip, -8, 8}, {x}, {clipped}, "clip", "Clip"});
  graph.nodes.push_back({Transpose{{0, 2, 3, 1}}, {clipped}, {y}, "turn", "Transpose"});
  graph.outputs = {y};
  infer_types(graph);
  check(graph, families::unary, inputs_of(graph, 1));
}

/// The node is an island that oneDNN runs.

}  // namespace
}  // namespace colonnade::test
