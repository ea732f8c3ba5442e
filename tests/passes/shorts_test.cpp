// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "passes/graphs.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::test {
namespace {

/// x / scale, rounded, bounded and moved by the zero point, as the importer writes it.
Graph shorts(DType to, float zero, float low, float high, UnaryKind rounding = UnaryKind::round) {
  Builder b;
  const auto exactly = [&](const char* name, BinaryKind kind, ValueId x, float by) {
    return b.node(name, Binary{kind, true}, {x, b.scalar(name, by)});
  };
  const ValueId quotient = exactly("quotient", BinaryKind::div, b.input("x", {3, 40}), 3e-5f);
  ValueId y = b.unary("bounded", UnaryKind::clip, b.unary("rounded", rounding, quotient), low, high);
  if (zero != 0) y = exactly("moved", BinaryKind::add, y, zero);
  b.output(b.node("y", Cast{to}, {y}));
  return b.graph;
}

TEST(Shorts, AreQuantisedAtOnce) {
  for (const Graph& before : {shorts(DType::i16, 0, -32768, 32767), shorts(DType::u16, 0, 0, 65535),
                              shorts(DType::i16, -100, -32668, 32867), shorts(DType::u16, 40000, -40000, 25535)}) {
    Graph after = before;
    EXPECT_TRUE(rewrite::recognise(after));
    remove_dead(after);
    verify(after);
    EXPECT_EQ(operators_of(after), "Quantize");
    expect_same_results(before, after, 3, 0);
    EXPECT_FALSE(rewrite::recognise(after));
  }
}

TEST(Shorts, NeedTheirBounds) {
  for (const Graph& before : {shorts(DType::i16, 0, -32767, 32767), shorts(DType::i16, 5, -32768, 32767),
                              shorts(DType::i32, 0, -32768, 32767), shorts(DType::i16, 0.5f, -32768.5f, 32766.5f),
                              shorts(DType::i16, 0, -32768, 32767, UnaryKind::floor)}) {
    Graph after = before;
    rewrite::recognise(after);
    EXPECT_EQ(count_of<Quantize>(after), 0);
  }
}

TEST(Shorts, AreNotThoseThatOthersRead) {
  Graph graph = shorts(DType::i16, 0, -32768, 32767);
  graph.outputs.push_back(graph.nodes[1].outputs[0]);
  rewrite::recognise(graph);
  EXPECT_EQ(count_of<Quantize>(graph), 0);
}

}  // namespace
}  // namespace colonnade::test
