// SPDX-License-Identifier: Apache-2.0
// Einsum becomes products, sums and Transposes, and no more of these than the equation asks for.
#include <gtest/gtest.h>

#include <map>

#include "passes/graphs.hpp"
#include "passes/passes.hpp"

namespace colonnade::test {
namespace {

constexpr std::int64_t kConstant = -2;  // as the first size: the operand is a constant

Graph graph_of(const std::string& equation, const std::vector<Shape>& shapes, DType dtype = DType::f32) {
  Builder b;
  std::vector<ValueId> inputs;
  for (const Shape& shape : shapes) {
    const std::string name = "x" + std::to_string(inputs.size());
    const bool constant = !shape.empty() && shape[0] == kConstant;
    inputs.push_back(constant ? b.weights(name, Shape(shape.begin() + 1, shape.end())) : b.input(name, shape, dtype));
  }
  b.output(b.node("einsum", Einsum{equation}, inputs));
  return b.graph;
}

Graph shortened(const Graph& graph) {
  Graph result = graph;
  PassOptions options;
  options.verify = true;
  optimize(result, options);
  return result;
}

Graph expanded(const std::string& equation, const std::vector<Shape>& shapes) {
  SCOPED_TRACE(equation);
  const Graph graph = graph_of(equation, shapes);
  Graph result = shortened(graph);
  EXPECT_EQ(count_of<Einsum>(result), 0);
  expect_same_results(graph, result, 3);
  return result;
}

TEST(Einsum, OfOneOperand) {
  for (const char* equation : {"ijk->kij", "ijk->", "ijk->j", "ijk->ki", "kji", "...k->k...", "...", "i...->..."})
    expanded(equation, {{3, 4, 5}});
  expanded("ii->i", {{4, 4}});
  expanded("ii", {{4, 4}});
  expanded("iji->j", {{3, 5, 3}});
  expanded("iij->ji", {{3, 3, 5}});
  expanded("iijj->ij", {{3, 3, 2, 2}});
  expanded("iii->i", {{3, 3, 3}});
  expanded("...ii->...i", {{2, 3, 3}});
}

TEST(Einsum, OfTwoOperands) {
  expanded("i,j->ij", {{3}, {4}});
  expanded("i,i->", {{7}, {7}});
  expanded("i,i->i", {{7}, {7}});
  expanded("ij,ij->", {{3, 4}, {3, 4}});
  expanded("ij,ji->ij", {{3, 4}, {4, 3}});
  expanded("bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}});
  expanded("bij,bjk", {{2, 3, 4}, {2, 4, 5}});
  expanded("...ij,...jk->...ik", {{6, 2, 3, 4}, {2, 4, 5}});
  expanded("...ij,...jk->...ik", {{6, 1, 3, 4}, {1, 2, 4, 5}});
  expanded("bij,bij->bi", {{2, 3, 4}, {2, 3, 4}});
  expanded("bij,bj->bi", {{2, 3, 4}, {2, 4}});
  expanded("bi,bij->bj", {{2, 3}, {2, 3, 4}});
  expanded("bij,bkj->ikb", {{2, 3, 4}, {2, 5, 4}});
  expanded("ijkl,klmn->ijmn", {{2, 3, 4, 5}, {4, 5, 2, 3}});
  expanded("ikjl,lmkn->imjn", {{2, 3, 4, 5}, {5, 2, 3, 6}});
  expanded("abcd,aecf->acebf", {{2, 3, 4, 5}, {2, 6, 4, 7}});
  expanded("ij,kj->k", {{3, 4}, {5, 4}});
  expanded("i,->i", {{3}, {}});
  expanded("aij,bjk->abik", {{2, 3, 4}, {5, 4, 6}});
}

TEST(Einsum, OfSizesThatBroadcast) {
  expanded("bij,bjk->bik", {{1, 3, 4}, {2, 4, 5}});
  expanded("bij,bjk->bik", {{2, 3, 1}, {2, 4, 5}});
  expanded("bij,bjk->bik", {{1, 1, 1}, {1, 1, 1}});
  expanded("bij,bjk->kib", {{2, 1, 4}, {2, 4, 1}});
  expanded("ij,j->ij", {{3, 1}, {4}});
}

TEST(Einsum, OfManyOperands) {
  expanded("bn,anm,bm->ba", {{2, 3}, {4, 3, 5}, {2, 5}});
  expanded("ij,jk,kl->il", {{3, 4}, {4, 5}, {5, 6}});
  expanded("i,j,k->kji", {{2}, {3}, {4}});
  expanded("ij,jk,ki->", {{3, 4}, {4, 5}, {5, 3}});
  expanded("ab,bc,cd,de->ea", {{2, 3}, {3, 4}, {4, 5}, {5, 6}});
}

/// What is computed of constants alone is a constant soon, whose heads no product reads.
TEST(Einsum, OfConstantsThatAreMultipliedFirst) {
  const Graph graph = expanded("cae,d,dfe->acf", {{4, 2, 3}, {kConstant, 2}, {kConstant, 2, 5, 3}});
  for (const Node& node : graph.nodes) {
    const auto* op = std::get_if<MatMul>(&node.op);
    EXPECT_FALSE(op != nullptr && (op->heads_inside_a || op->heads_inside_b || op->heads_inside_out));
  }
}

TEST(Einsum, OfAttentionNeedsNoTransposes) {
  const std::pair<const char*, std::vector<Shape>> forms[] = {
      {"bhid,bhjd->bhij", {{2, 3, 4, 8}, {2, 3, 5, 8}}},
      {"bhij,bhjd->bhid", {{2, 3, 4, 5}, {2, 3, 5, 8}}},
      {"bqhd,bkhd->bhqk", {{2, 4, 3, 8}, {2, 5, 3, 8}}},
      {"bhqk,bkhd->bqhd", {{2, 3, 4, 5}, {2, 5, 3, 8}}},
      {"bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}}},
      {"bij,bkj->bik", {{2, 3, 4}, {2, 5, 4}}},
      {"ibnd,snd->ibns", {{4, 2, 3, 8}, {2, 3, 8}}},
      {"bn,anm->bam", {{6, 4}, {3, 4, 8}}},
      {"bn,anm->bam", {{6, 4}, {kConstant, 3, 4, 8}}},
      {"bqhd,bkhd->bhqk", {{1, 4, 3, 8}, {1, 5, 3, 8}}},
      {"bsd,dhk->bshk", {{2, 6, 8}, {kConstant, 8, 3, 4}}},
      {"bshk,hkd->bsd", {{2, 6, 3, 4}, {kConstant, 3, 4, 8}}},
      {"dhk,bsd->bshk", {{kConstant, 8, 3, 4}, {2, 6, 8}}},
      {"bhrd,hdl->bhrl", {{2, 3, 4, 8}, {3, 8, 5}}},
  };
  for (const auto& [equation, shapes] : forms) {
    const Graph graph = expanded(equation, shapes);
    EXPECT_EQ(count_of<Transpose>(graph), 0) << equation << ": " << operators_of(graph);
    EXPECT_EQ(count_of<MatMul>(graph), 1) << equation << ": " << operators_of(graph);
  }
  EXPECT_EQ(count_of<Transpose>(expanded("ibnd,jbnd->ijbn", {{4, 2, 3, 8}, {5, 2, 3, 8}})), 1);
}

TEST(Einsum, OfOpenSizesNeedsNoMoreThanTheSummedOnes) {
  EXPECT_EQ(count_of<Einsum>(shortened(graph_of("bhid,bhjd->bhij", {{-1, 3, -1, 8}, {-1, 3, -1, 8}}))), 0);
  EXPECT_EQ(count_of<Einsum>(shortened(graph_of("bsd,dhk->bshk", {{-1, -1, 8}, {kConstant, 8, 3, 4}}))), 0);
  EXPECT_EQ(count_of<Einsum>(shortened(graph_of("bhij,bhjd->bhid", {{-1, 3, -1, -1}, {-1, 3, -1, 8}}))), 1);
  EXPECT_EQ(count_of<Einsum>(shortened(graph_of("ii->i", {{-1, -1}}))), 1);
}

TEST(Einsum, OfOpenSizesIsTheSameOnceTheyAreKnown) {
  const std::pair<const char*, std::vector<Shape>> forms[] = {
      {"bqhd,bkhd->bhqk", {{2, 4, 3, 8}, {2, 5, 3, 8}}},
      {"bsd,dhk->bshk", {{2, 6, 8}, {kConstant, 8, 3, 4}}},
      {"bshk,hkd->bsd", {{2, 6, 3, 4}, {kConstant, 3, 4, 8}}},
      {"bij,bjk->bik", {{1, 3, 4}, {2, 4, 5}}},
      {"bij,bij->bi", {{2, 3, 4}, {2, 3, 4}}},
      {"ibnd,jbnd->ijbn", {{4, 2, 3, 8}, {5, 2, 3, 8}}},
  };
  for (const auto& [equation, shapes] : forms) {
    SCOPED_TRACE(equation);
    std::vector<Shape> open = shapes;
    for (Shape& shape : open) {
      for (std::size_t i = 0; shape[0] != kConstant && i < 2; ++i) shape[i] = -1;
    }
    const Graph graph = shortened(graph_of(equation, open));
    const Graph known = graph_of(equation, shapes);
    std::vector<Shape> sizes;
    for (const ValueId id : known.inputs) sizes.push_back(known.value(id).type.static_shape());
    const Graph bound = shortened(bind_shapes(graph, sizes));
    EXPECT_EQ(count_of<Einsum>(bound), 0);
    expect_same_results(known, bound, 5);
  }
}

TEST(Einsum, OfBytesAndOfNothingStays) {
  EXPECT_EQ(count_of<Einsum>(shortened(graph_of("ij,jk->ik", {{2, 3}, {3, 4}}, DType::i8))), 1);
  EXPECT_EQ(count_of<Einsum>(shortened(graph_of("ij,jk->ik", {{2, 0}, {0, 4}}))), 1);
}

/// Two or three operands of random labels, in random order; the result has some of them.
TEST(Einsum, OfRandomEquations) {
  std::mt19937 random(7);
  const auto pick = [&](std::uint32_t count) { return random() % count; };
  for (int round = 0; round < 300; ++round) {
    const std::size_t operands = 1 + pick(3);
    std::map<char, std::int64_t> sizes;
    for (char c = 'a'; c < 'g'; ++c) sizes[c] = 1 + pick(4);
    std::string equation, used;
    std::vector<Shape> shapes;
    for (std::size_t i = 0; i < operands; ++i) {
      Shape shape;
      std::string term;
      for (std::size_t axis = pick(5); axis > 0; --axis) {
        const char label = static_cast<char>('a' + pick(6));
        if (term.find(label) != std::string::npos && pick(4) != 0) continue;
        term += label;
        shape.push_back(sizes[label]);
        if (used.find(label) == std::string::npos) used += label;
      }
      if (!shape.empty() && pick(4) == 0) shape.insert(shape.begin(), kConstant);
      equation += (i > 0 ? "," : "") + term;
      shapes.push_back(shape);
    }
    std::shuffle(used.begin(), used.end(), random);
    expanded(equation + "->" + used.substr(0, pick(static_cast<std::uint32_t>(used.size()) + 1)), shapes);
  }
}

}  // namespace
}  // namespace colonnade::test
