// SPDX-License-Identifier: Apache-2.0
#include "graph/builder.hpp"

namespace colonnade::test {
namespace {

Conv conv(Ints kernel, Ints strides = {}, Ints pads = {}, std::int64_t groups = 1) {
  Conv op;
  op.kernel = std::move(kernel);
  op.strides = std::move(strides);
  op.pads = std::move(pads);
  op.groups = groups;
  return op;
}

Pool pool(PoolKind kind, Ints kernel, Ints strides, bool ceil_mode) {
  Pool op;
  op.kind = kind;
  op.kernel = std::move(kernel);
  op.strides = std::move(strides);
  op.ceil_mode = ceil_mode;
  return op;
}

TEST(ShapeRules, Elementwise) {
  check_rules({
      {Unary{UnaryKind::relu}, {typed("f32[2,?]")}, "f32[2,?]"},
      {Unary{UnaryKind::is_nan}, {typed("f32[2,3]")}, "bool[2,3]"},
      {Unary{UnaryKind::is_inf}, {typed("f32[2,3]")}, "bool[2,3]"},
      {Unary{UnaryKind::logical_not}, {typed("f32[2]")}, "error: must be bool, is float32"},
      {Unary{UnaryKind::relu}, {Absent{}}, "error: input 0 is missing"},
      {Unary{UnaryKind::relu}, {typed("f32[*]")}, "f32[*]"},
      {Binary{BinaryKind::add}, {typed("f32[2,1,4]"), typed("f32[3,1]")}, "f32[2,3,4]"},
      {Binary{BinaryKind::add}, {typed("f32[?,4]"), typed("f32[1,4]")}, "f32[?,4]"},
      {Binary{BinaryKind::add}, {typed("f32[?,4]"), typed("f32[7,4]")}, "f32[7,4]"},
      {Binary{BinaryKind::add}, {typed("f32[7,4]"), typed("f32[?,4]")}, "f32[7,4]"},
      {Binary{BinaryKind::add}, {typed("f32[1,4]"), typed("f32[?,4]")}, "f32[?,4]"},
      {Binary{BinaryKind::add}, {typed("f32[0]"), typed("f32[?]")}, "f32[0]"},
      {Binary{BinaryKind::add}, {typed("f32[0]"), typed("f32[1]")}, "f32[0]"},
      {Binary{BinaryKind::add}, {typed("f32[*]"), typed("f32[1]")}, "f32[*]"},
      {Binary{BinaryKind::add}, {typed("f32[2]"), typed("f32[3]")}, "error: cannot broadcast ?[2] with ?[3] at axis 0"},
      {Binary{BinaryKind::add}, {typed("f32[2]"), typed("i64[2]")}, "error: must have one type, are float32 and int64"},
      {Binary{BinaryKind::pow}, {typed("f32[2]"), typed("i64[2]")}, "f32[2]"},
      {Binary{BinaryKind::less}, {typed("f32[2]"), typed("f32[]")}, "bool[2]"},
      {Binary{BinaryKind::logical_and}, {typed("bool[2]"), typed("bool[1]")}, "bool[2]"},
      {Binary{BinaryKind::logical_and}, {typed("bool[2]"), typed("i64[1]")}, "error: must be bool"},
      {Binary{BinaryKind::shift_left}, {typed("u16[2,1]"), typed("u16[3]")}, "u16[2,3]"},
      {Binary{BinaryKind::shift_right},
       {typed("i16[2]"), typed("i16[2]")},
       "error: must be unsigned integers, is int16"},
      {Binary{BinaryKind::shift_left}, {typed("f32[2]"), typed("f32[2]")}, "error: must be unsigned integers"},
      {Select{}, {typed("bool[2,1]"), typed("f32[3]"), typed("f32[]")}, "f32[2,3]"},
      {Select{}, {typed("i64[2,1]"), typed("f32[3]"), typed("f32[]")}, "error: must be bool"},
      {Cast{DType::i64}, {typed("f32[2,3]")}, "i64[2,3]"},
      {Cast{}, {typed("f32[2,3]")}, "error: no target type"},
  });
}

TEST(ShapeRules, Conv) {
  Conv same = conv({3, 3}, {2, 2});
  same.auto_pad = AutoPad::same_upper;
  Conv valid = conv({3, 3}, {2, 2}, {9, 9, 9, 9});
  valid.auto_pad = AutoPad::valid;
  Conv dilated = conv({3, 3});
  dilated.dilations = {2, 2};
  Conv fused = conv({1, 1});
  fused.epilogue.prelu_slope = true;
  fused.epilogue.residual = true;
  const Input bias = typed("f32[8]");
  check_rules({
      {conv({3, 3}, {}, {1, 1, 1, 1}), {typed("f32[1,56,57,16]"), typed("f32[8,16,3,3]")}, "f32[1,56,57,8]"},
      {conv({7, 7}, {2, 2}, {3, 3, 3, 3}),
       {typed("f32[1,224,224,3]"), typed("f32[8,3,7,7]"), bias},
       "f32[1,112,112,8]"},
      {same, {typed("f32[1,7,8,4]"), typed("f32[8,4,3,3]")}, "f32[1,4,4,8]"},
      {valid, {typed("f32[1,7,8,4]"), typed("f32[8,4,3,3]")}, "f32[1,3,3,8]"},
      {dilated, {typed("f32[1,7,8,4]"), typed("f32[8,4,3,3]")}, "f32[1,3,4,8]"},
      {conv({}), {typed("f32[1,7,8,4]"), typed("f32[8,4,3,3]")}, "f32[1,5,6,8]"},
      {conv({3}), {typed("f32[2,10,4]"), typed("f32[8,4,3]")}, "f32[2,8,8]"},
      {conv({3, 3}, {}, {}, 4), {typed("f32[1,7,8,4]"), typed("f32[8,1,3,3]")}, "f32[1,5,6,8]"},
      {conv({3, 3}), {typed("f32[?,?,8,4]"), typed("f32[8,4,3,3]")}, "f32[?,?,6,8]"},
      {conv({3, 3}), {typed("f32[*]"), typed("f32[8,4,3,3]")}, "f32[?,?,?,8]"},
      {conv({3, 3}), {typed("f32[*]"), typed("f32[*]")}, "f32[*]"},
      {conv({1, 1}), {typed("u8[1,2,2,4]"), typed("i8[8,4,1,1]")}, "i32[1,2,2,8]"},
      {fused, {typed("f32[1,2,2,4]"), typed("f32[8,4,1,1]"), bias, bias, typed("f32[1,2,2,8]")}, "f32[1,2,2,8]"},
      {fused,
       {typed("f32[1,2,2,4]"), typed("f32[8,4,1,1]"), bias, bias, typed("f32[1,2,1,8]")},
       "error: the residual input 'x4' must have the output's shape ?[1,2,2,8], is f32[1,2,1,8]"},
      {fused,
       {typed("f32[1,2,2,4]"), typed("f32[8,4,1,1]"), bias, bias},
       "error: expects 5 inputs with its epilogue, has 4"},
      {fused,
       {typed("f32[1,2,2,4]"), typed("f32[8,4,1,1]"), bias, typed("f32[7]"), typed("f32[1,2,2,8]")},
       "error: the slope of prelu expects 8 elements, input 'x3' has 7"},
      {conv({3, 3}),
       {typed("f32[1,7,8,3]"), typed("f32[8,16,3,3]")},
       "error: weight expects 16 input channels, input 'x0' has 3"},
      {conv({3, 3}), {typed("f32[1,7,8,4]"), typed("f32[8,4,5,5]")}, "error: kernel has size 3 at spatial axis 0"},
      {conv({3, 3}), {typed("f32[1,2,8,4]"), typed("f32[8,4,3,3]")}, "error: the window spans 3 elements"},
      {conv({3, 3}),
       {typed("f32[1,7,8,4]"), typed("f32[8,4,3,3]"), typed("f32[9]")},
       "error: the bias expects 8 elements"},
      {conv({3, 3}, {0, 1}), {typed("f32[1,7,8,4]"), typed("f32[8,4,3,3]")}, "error: strides hold 0"},
      {conv({3, 3}, {1}), {typed("f32[1,7,8,4]"), typed("f32[8,4,3,3]")}, "error: expects 2 strides, has 1"},
      {conv({3, 3}, {}, {-1, 0, 0, 0}), {typed("f32[1,7,8,4]"), typed("f32[8,4,3,3]")}, "error: pads hold -1"},
      {conv({3, 3}, {}, {}, 3),
       {typed("f32[1,7,8,4]"), typed("f32[8,4,3,3]")},
       "error: 4 input channels are not a multiple"},
      {conv({3, 3}), {typed("f32[8,4]"), typed("f32[8,4,3,3]")}, "error: must have rank 3 or more"},
      {conv({3, 3}), {typed("f32[1,7,8,4]"), typed("f16[8,4,3,3]")}, "error: must have one type"},
  });
}

TEST(ShapeRules, ConvTranspose) {
  ConvTranspose op;
  op.kernel = {3, 3};
  op.strides = {2, 2};
  op.pads = {1, 1, 1, 1};
  ConvTranspose padded = op;
  padded.output_padding = {1, 1};
  ConvTranspose sized = op;
  sized.output_shape = {14, 15};
  ConvTranspose same = op;
  same.auto_pad = AutoPad::same_lower;
  ConvTranspose grouped = op;
  grouped.groups = 2;
  ConvTranspose cropped = op;
  cropped.pads = {4, 4, 4, 4};
  check_rules({
      {op, {typed("f32[1,7,8,4]"), typed("f32[4,6,3,3]")}, "f32[1,13,15,6]"},
      {padded, {typed("f32[1,7,8,4]"), typed("f32[4,6,3,3]"), typed("f32[6]")}, "f32[1,14,16,6]"},
      {sized, {typed("f32[1,7,8,4]"), typed("f32[4,6,3,3]")}, "f32[1,14,15,6]"},
      {same, {typed("f32[1,7,8,4]"), typed("f32[4,6,3,3]")}, "f32[1,14,16,6]"},
      {grouped, {typed("f32[1,7,8,4]"), typed("f32[4,6,3,3]")}, "f32[1,13,15,12]"},
      {op, {typed("f32[1,?,8,4]"), typed("f32[4,6,3,3]")}, "f32[1,?,15,6]"},
      {op, {typed("f32[1,7,8,5]"), typed("f32[4,6,3,3]")}, "error: weight expects 4 input channels, input 'x0' has 5"},
      {cropped, {typed("f32[1,2,2,4]"), typed("f32[4,6,3,3]")}, "error: the pads leave"},
  });
}

TEST(ShapeRules, Pool) {
  Pool same = pool(PoolKind::average, {3, 3}, {2, 2}, true);
  same.auto_pad = AutoPad::same_lower;
  Pool padded = pool(PoolKind::max, {2}, {3}, true);
  padded.pads = {0, 1};
  check_rules({
      {pool(PoolKind::max, {2, 2}, {2, 2}, false), {typed("f32[1,7,8,4]")}, "f32[1,3,4,4]"},
      {pool(PoolKind::max, {2, 2}, {2, 2}, true), {typed("f32[1,7,8,4]")}, "f32[1,4,4,4] i64[1,4,4,4]", 2},
      {pool(PoolKind::lp, {2, 2}, {}, false), {typed("f32[1,7,?,4]")}, "f32[1,6,?,4]"},
      {same, {typed("f32[1,7,8,4]")}, "f32[1,4,4,4]"},
      // ceil mode drops a window that would start in the padding behind: 4 elements, stride 3, windows at 0, 3, (6)
      {padded, {typed("f32[1,4,1]")}, "f32[1,2,1]"},
      // ceil mode takes a window that misses less than a stride of its elements
      {pool(PoolKind::average, {64, 9}, {64, 2}, true), {typed("f32[1,7,8,4]")}, "f32[1,1,1,4]"},
      {pool(PoolKind::average, {64, 9}, {57, 2}, true), {typed("f32[1,7,8,4]")}, "error: the window spans 64 elements"},
      {pool(PoolKind::max, {1, 2}, {3, 2}, true), {typed("f32[1,0,28,8]")}, "f32[1,0,14,8]"},
      {pool(PoolKind::max, {2, 2}, {2, 2}, false), {typed("f32[*]")}, "f32[*]"},
      {pool(PoolKind::max, {}, {}, false), {typed("f32[1,7,8,4]")}, "error: has no kernel size"},
      {pool(PoolKind::max, {9, 2}, {}, false), {typed("f32[1,7,8,4]")}, "error: the window spans 9 elements"},
  });
}

TEST(ShapeRules, MatMul) {
  MatMul transposed;
  transposed.transpose_b = true;
  MatMul transposed_a;
  transposed_a.transpose_a = true;
  MatMul residual;
  residual.epilogue.residual = true;
  MatMul heads;
  heads.transpose_b = heads.heads_inside_a = heads.heads_inside_b = heads.heads_inside_out = true;
  check_rules({
      {heads, {typed("f32[1,7,2,3]"), typed("f32[1,5,2,3]")}, "f32[1,7,2,5]"},
      {heads, {typed("f32[1,7,2,3]"), typed("f32[?,5,?,3]")}, "f32[?,7,2,5]"},
      {heads, {typed("f32[7,3]"), typed("f32[5,2,3]")}, "error: must have rank 3 or more"},
      {MatMul{}, {typed("f32[2,3]"), typed("f32[3,4]")}, "f32[2,4]"},
      {MatMul{}, {typed("f32[5,1,2,3]"), typed("f32[7,3,4]"), typed("f32[4]")}, "f32[5,7,2,4]"},
      {MatMul{}, {typed("f32[3]"), typed("f32[3,4]")}, "f32[4]"},
      {MatMul{}, {typed("f32[2,3]"), typed("f32[3]")}, "f32[2]"},
      {MatMul{}, {typed("f32[3]"), typed("f32[3]")}, "f32[]"},
      {MatMul{}, {typed("f32[?,3]"), typed("f32[3,?]")}, "f32[?,?]"},
      {MatMul{}, {typed("f32[*]"), typed("f32[3,4]")}, "f32[*]"},
      {transposed, {typed("f32[2,3]"), typed("f32[4,3]")}, "f32[2,4]"},
      {transposed_a, {typed("f32[3,2]"), typed("f32[3,4]")}, "f32[2,4]"},
      {residual, {typed("f32[2,3]"), typed("f32[3,4]"), Absent{}, typed("f32[2,4]")}, "f32[2,4]"},
      {residual, {typed("f32[2,3]"), typed("f32[3,4]"), Absent{}, typed("f32[4]")}, "error: the residual"},
      {MatMul{}, {typed("u8[2,3]"), typed("i8[3,4]")}, "i32[2,4]"},
      {MatMul{}, {typed("f32[2,3]"), typed("f32[4,4]")}, "error: input 'x0' has depth 3, input 'x1' has 4"},
      {MatMul{}, {typed("f32[2,3]"), typed("f32[3,4]"), typed("f32[3]")}, "error: the bias expects 4 elements"},
      {MatMul{}, {typed("f32[]"), typed("f32[3,4]")}, "error: must have rank 1 or more"},
      {MatMul{}, {typed("f32[2,2,3]"), typed("f32[3,3,4]")}, "error: cannot broadcast"},
  });
}

TEST(ShapeRules, Reductions) {
  Reduce flat;
  flat.keepdims = false;
  Reduce noop;
  noop.noop_with_empty_axes = true;
  ArgReduce arg;
  arg.axis = -1;
  ArgReduce arg_flat = arg;
  arg_flat.keepdims = false;
  check_rules({
      {Reduce{}, {typed("f32[2,3,4]"), ints({1, -1})}, "f32[2,1,1]"},
      {flat, {typed("f32[2,3,4]"), ints({1})}, "f32[2,4]"},
      {flat, {typed("f32[2,3,4]")}, "f32[]"},
      {noop, {typed("f32[2,3,4]"), ints({})}, "f32[2,3,4]"},
      {Reduce{}, {typed("f32[2,3]"), typed("i64[1]")}, "f32[?,?]"},
      {flat, {typed("f32[2,3]"), typed("i64[1]")}, "f32[?]"},
      {Reduce{}, {typed("f32[2,3]"), ints({2})}, "error: axis 2 is out of range for rank 2"},
      {Reduce{}, {typed("f32[2,3]"), ints({1, 1})}, "error: axis 1 is given twice"},
      {Reduce{}, {typed("f32[2,3]"), floats({1})}, "error: must be int64 or int32"},
      {arg, {typed("f32[2,3]")}, "i64[2,1]"},
      {arg_flat, {typed("f32[2,3]")}, "i64[2]"},
      {arg, {typed("f32[2,0]")}, "error: is empty"},
      {arg, {typed("f32[0,0]")}, "i64[0,1]"},
      {Softmax{-1, false}, {typed("f32[2,3]")}, "f32[2,3]"},
      {Softmax{2, false}, {typed("f32[2,3]")}, "error: axis 2 is out of range"},
      {Hardmax{-1}, {typed("f32[2,3]")}, "f32[2,3]"},
      {CumSum{}, {typed("f32[2,3]"), ints({1})}, "f32[2,3]"},
      {CumSum{}, {typed("f32[2,3]"), ints({5})}, "error: axis 5 is out of range"},
      {TopK{}, {typed("f32[2,9]"), ints({4})}, "f32[2,4] i64[2,4]", 2},
      {TopK{}, {typed("f32[2,9]"), typed("i64[1]")}, "f32[2,?]"},
      {TopK{}, {typed("f32[2,3]"), ints({4})}, "error: k is 4, axis 1 of input 'x0' has 3"},
  });
}

TEST(ShapeRules, Attention) {
  Attention inside{.heads_inside_q = true, .heads_inside_k = true, .heads_inside_v = true, .heads_inside_out = true};
  const Input q = typed("f32[2,3,5,4]"), k = typed("f32[2,3,7,4]"), v = typed("f32[2,3,7,6]");
  check_rules({
      {Attention{}, {q, k, v}, "f32[2,3,5,6]"},
      {inside, {typed("f32[2,5,3,4]"), typed("f32[2,7,3,4]"), typed("f32[2,7,3,6]")}, "f32[2,5,3,6]"},
      {Attention{}, {typed("f32[?,3,?,4]"), typed("f32[?,3,?,4]"), v, typed("f32[?,1,1,?]")}, "f32[2,3,?,6]"},
      {Attention{}, {q, k, v, typed("f32[7]"), typed("f32[2,1,5,7]")}, "f32[2,3,5,6]"},
      {Attention{}, {q, typed("f32[1,1,7,4]"), typed("f32[7,6]")}, "f32[2,3,5,6]"},
      {Attention{}, {q, k, typed("f32[*]")}, "f32[*]"},
      {Attention{}, {q, typed("f32[2,3,7,5]"), v}, "error: the size of input 'x1' expects 4, found 5"},
      {Attention{}, {q, k, typed("f32[2,3,8,6]")}, "error: the number of rows of input 'x2' expects 7, found 8"},
      {Attention{}, {q, k, v, typed("f32[5,8]")}, "error: cannot broadcast"},
      {Attention{}, {typed("f32[4]"), k, v}, "error: must have rank 2"},
      {Attention{},
       {q, k, v, typed("f32[7]"), typed("f32[7]"), typed("i64[2]")},
       "error: bounds of texts, but no places"},
  });
}

TEST(ShapeRules, Normalisations) {
  const Input c = typed("f32[4]");
  BatchNorm last;
  last.axis = -1;
  InstanceNorm instance;
  instance.axis = -1;
  Lrn lrn;
  lrn.size = 0;
  check_rules({
      {last, {typed("f32[1,2,3,4]"), c, c, c, c}, "f32[1,2,3,4]"},
      {BatchNorm{},
       {typed("f32[1,2,3,4]"), c, c, c, c},
       "error: one value a channel expects 2 elements, input 'x1' has 4"},
      {last, {typed("f32[1,2,3,4]"), c, c, c}, "error: input 4 is missing"},
      {instance, {typed("f32[1,2,3,4]"), c, c}, "f32[1,2,3,4]"},
      {instance, {typed("f32[1,2,3,5]"), c, c}, "error: one value a channel expects 5"},
      {LayerNorm{}, {typed("f32[1,2,4]"), c}, "f32[1,2,4]"},
      {LayerNorm{}, {typed("f32[1,2,4]"), c, c}, "f32[1,2,4]"},
      {LayerNorm{}, {typed("f32[1,2,5]"), c}, "error: cannot broadcast"},
      {LayerNorm{}, {typed("f32[1,2,1]"), c}, "error: wider than input 'x0'"},
      {Lrn{}, {typed("f32[1,2,4]")}, "f32[1,2,4]"},
      {lrn, {typed("f32[1,2,4]")}, "error: size must be positive"},
  });
}

}  // namespace
}  // namespace colonnade::test
