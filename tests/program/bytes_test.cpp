// SPDX-License-Identifier: Apache-2.0
// Operators on bytes by their families, beside the reference, to the bit: every tier, schedules and threads.
#include "families/table.hpp"
#include "program/whole.hpp"

namespace colonnade::test {
namespace {

using whole::computed;
using whole::constant;
using whole::Input;

/// All that a type holds, of 32 bits many.
Tensor any(DType type, const Shape& shape, unsigned seed) {
  if (type == DType::u8 || type == DType::u16) return whole::random_tensor(type, shape, seed, 0, 255);
  if (type == DType::i8) return whole::random_tensor(type, shape, seed, -128, 127);
  if (type == DType::i32) return whole::random_tensor(type, shape, seed, -1e6, 1e6);
  return whole::random_tensor(type, shape, seed);
}

void check_bytes(const Operator& op, const std::vector<Input>& given, const Family& family) {
  const Graph graph = whole::single(op, given, 1);
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs)
    inputs.push_back(any(graph.value(id).type.dtype, graph.value(id).type.static_shape(), 3 + id));
  whole::check(graph, family, inputs);
}

Tensor scales(const Shape& shape) { return whole::random_tensor(DType::f32, shape, 11, 0.01, 0.03); }

/// One parameter, or one for each index of an axis, of tensors of every rank; constants and computed ones.
template <class Check>
void for_parameters(DType type, Check check) {
  for (const Shape& shape : {Shape{}, {300}, {5, 70}, {2, 7, 33}, {2, 5, 6, 35}, {2, 3, 4, 2, 5}}) {
    const auto rank = static_cast<std::int64_t>(shape.size());
    const Tensor zero = any(type, {}, 5);
    check(shape, 0, std::vector{constant(scales({})), constant(zero)});
    check(shape, 0, std::vector{computed(DType::f32, {1}), computed(type, {})});
    check(shape, 0, std::vector{constant(scales({1})), whole::absent()});
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      if (rank == 5 && (axis == 2 || axis == 3)) continue;
      const Shape each{shape[static_cast<std::size_t>(axis)]};
      check(shape, axis, std::vector{constant(scales(each)), constant(any(type, each, 6))});
      check(shape, axis - rank, std::vector{computed(DType::f32, each), computed(type, each)});
      check(shape, axis, std::vector{computed(DType::f32, each), whole::absent()});
      check(shape, axis, std::vector{constant(scales(each)), constant(zero)});
      check(shape, axis, std::vector{constant(scales({})), constant(any(type, each, 7))});
    }
  }
}

TEST(Bytes, AreQuantised) {
  for (const DType type : {DType::u8, DType::i8, DType::u16, DType::i16})
    for_parameters(type, [&](const Shape& shape, std::int64_t axis, std::vector<Input> parameters) {
      parameters.insert(parameters.begin(), computed(DType::f32, shape));
      check_bytes(Quantize{type, axis}, parameters, families::quantize);
    });
}

TEST(Bytes, AreDequantised) {
  for (const DType type : {DType::u8, DType::i8, DType::i32})
    for_parameters(type, [&](const Shape& shape, std::int64_t axis, std::vector<Input> parameters) {
      parameters.insert(parameters.begin(), computed(type, shape));
      check_bytes(Dequantize{axis}, parameters, families::dequantize);
    });
}

/// Of rows and of columns; the last block is short. Zero points for each, one for all, or none.
TEST(Bytes, AreDequantisedInBlocks) {
  for (const DType type : {DType::u8, DType::i8})
    for (const std::int64_t axis : {0, 1, -1}) {
      const Shape shape{37, 70}, blocks = axis == 0 ? Shape{5, 70} : Shape{37, 9};
      for (const Input& zero :
           {whole::absent(), computed(type, blocks), constant(any(type, blocks, 5)), constant(any(type, {1, 1}, 6))})
        for (const Input& scale : {computed(DType::f32, blocks), constant(scales(blocks))})
          check_bytes(Dequantize{axis, 8}, {computed(type, shape), scale, zero}, families::dequantize_blocks);
    }
  check_bytes(Dequantize{0, 8}, {computed(DType::u8, {8, 5}), computed(DType::f32, {1, 1}), whole::absent()},
              families::island);
}

/// Of one part and of several, which threads share; one sign, nothing at all, and what is not a number.
TEST(Bytes, HaveTheScaleOfWhatTheyStandFor) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity(),
                   kNone = std::numeric_limits<double>::quiet_NaN();
  for (const Shape& shape : {Shape{}, {0}, {1}, {7, 300}, {2, 5, 6, 35}, {3, 40000}, {1 << 18}})
    for (const auto& [low, high] : {std::pair{-3.0, 3.0}, {1.0, 2.0}, {-2.0, -1.0}, {0.0, 0.0}})
      for (const double special : {0.0, kInfinity, -kInfinity, kNone}) {
        const Graph graph = whole::single(ByteScale{}, {computed(DType::f32, shape)}, 2);
        Tensor x = whole::random_tensor(DType::f32, shape, 3, low, high);
        if (special != 0 && x.size() == 0) continue;
        if (special != 0) x.values<float>()[static_cast<std::size_t>(x.size() * 2 / 3)] = static_cast<float>(special);
        whole::check(graph, x.size() == 0 ? families::island : families::byte_scale, {x});
      }
}

TEST(Bytes, OfTwoAreBounded) {
  const Shape shape{3, 37};
  for (const DType type : {DType::u16, DType::i16})
    for (const std::int64_t zero : {0, 5, 32767}) {
      Tensor origin(type, {}), scale(DType::f32, {});
      origin.values<std::int16_t>()[0] = static_cast<std::int16_t>(zero);
      scale.values<float>()[0] = 1e-5f;
      const Graph graph =
          whole::single(Quantize{type, 0}, {computed(DType::f32, shape), constant(scale), constant(origin)}, 1);
      Tensor x = whole::random_tensor(DType::f32, shape, 3, -1, 1);  // two thirds beyond what 16 bits hold
      x.values<float>()[7] = std::numeric_limits<float>::quiet_NaN();
      x.values<float>()[40] = -std::numeric_limits<float>::infinity();
      whole::check(graph, families::quantize, {x});
    }
}

TEST(Bytes, OfFoldedAxesAreLeftToTheReference) {
  const std::vector<Input> inputs{computed(DType::f32, {2, 3, 4, 2, 5}), constant(scales({4})), whole::absent()};
  check_bytes(Quantize{DType::u8, 2}, inputs, families::island);
}

TEST(Bytes, OfOneComputedParameterBesideSeveralAreLeftToTheReference) {
  const std::vector<Input> inputs{computed(DType::f32, {2, 3, 4}), computed(DType::f32, {1}),
                                  constant(any(DType::u8, {4}, 1))};
  check_bytes(Quantize{DType::u8, 2}, inputs, families::island);
}

TEST(Bytes, AreLookedUp) {
  for (const DType from : {DType::u8, DType::i8})
    for (const DType to : {DType::u8, DType::i8, DType::f32})
      for (const Shape& shape : {Shape{}, {300}, {2, 5, 6, 35}}) {
        check_bytes(Lookup{}, {computed(from, shape), constant(any(to, {256}, 2))}, families::lookup);
        check_bytes(Lookup{}, {computed(from, shape), computed(to, {256})}, families::lookup);
      }
}

TEST(Bytes, AreCombined) {
  const Shape shape{2, 5, 6, 35};
  for (const BinaryKind kind : {BinaryKind::add, BinaryKind::mul})
    for (const Rescale& out : {Rescale{DType::u8, 7, -7, 248}, {DType::i8, -3, 0, 100}, {DType::f32}})
      for (const Shape& other :
           {shape, Shape{}, {35}, {1, 1, 1, 35}, {2, 1, 1, 35}, {2, 5, 6, 1}, {5, 1, 35}, {6, 1}}) {
        const ByteBinary op{kind, 120, 3, 0.013f, 0.4f, out};
        check_bytes(op, {computed(DType::u8, shape), computed(DType::u8, other)}, families::byte_binary);
        check_bytes(op, {constant(any(DType::u8, other, 1)), computed(DType::u8, shape)}, families::byte_binary);
      }
}

TEST(Bytes, ChangeTheirLayout) {
  for (const DType type : {DType::u8, DType::i8, DType::f16, DType::u16, DType::i32}) {
    for (const Shape& shape : {Shape{2, 3, 9, 11}, {1, 20, 8, 17}, {1, 64, 5, 32}}) {
      check_bytes(Transpose{{0, 2, 3, 1}}, {computed(type, shape)}, families::to_channels_last);
      check_bytes(Transpose{{0, 3, 1, 2}}, {computed(type, shape)}, families::to_channels_first);
    }
    check_bytes(Transpose{{0, 2, 1}}, {computed(type, {3, 40, 70})}, families::permute);
    check_bytes(Transpose{{1, 0}}, {computed(type, {30, 700})}, families::permute);
    check_bytes(Transpose{{0, 2, 1}}, {computed(type, {2, 900, 17})}, families::permute);
  }
}

TEST(Bytes, OfBothBroadcastOperandsAreCombined) {
  const ByteBinary op{BinaryKind::add, 1, 2, 0.3f, 0.4f, {}};
  check_bytes(op, {computed(DType::u8, {3, 1}), computed(DType::u8, {1, 70})}, families::byte_binary);
  check_bytes(op, {computed(DType::u8, {4, 1, 9}), computed(DType::u8, {1, 6, 1})}, families::byte_binary);
}

}  // namespace
}  // namespace colonnade::test
