// SPDX-License-Identifier: Apache-2.0
// Col2Im by its family as by the reference, on every tier and any number of threads.
#include "program/whole.hpp"
#include "reference/onnx/definitions.hpp"
#include "reference/onnx/sliding.hpp"

namespace colonnade::test {
namespace {

using namespace whole;

struct Case {
  std::int64_t images, channels;
  Ints image, block, strides, dilations, pads;
};

Graph graph_of(const Case& c) {
  Attributes attributes{{"strides", c.strides}, {"dilations", c.dilations}, {"pads", c.pads}};
  const Operator op = make_opaque(reference::kCol2Im, 18, attributes);
  const reference::Sliding window = reference::sliding(std::get<Opaque>(op), c.block);
  std::int64_t positions = 1;
  for (std::size_t axis = 0; axis < c.image.size(); ++axis) positions *= window.positions(axis, c.image[axis]);
  const auto axes = static_cast<std::int64_t>(c.image.size());
  return single(op,
                {computed(DType::f32, {c.images, c.channels * element_count(c.block), positions}),
                 constant(index_tensor({axes}, c.image)), constant(index_tensor({axes}, c.block))},
                1);
}

TEST(Col2Im, AgreesWithTheReference) {
  for (const Case& c : {Case{1, 3, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
                        Case{2, 5, {9, 11}, {3, 2}, {2, 1}, {1, 2}, {0, 1, 2, 0}},
                        Case{2, 4, {8, 12}, {4, 4}, {4, 4}, {1, 1}, {0, 0, 0, 0}},
                        Case{1, 2, {37}, {5}, {1}, {2}, {4, 3}}, Case{3, 1, {37}, {5}, {3}, {1}, {0, 9}},
                        Case{1, 3, {5, 6, 7}, {2, 3, 3}, {1, 2, 1}, {1, 1, 2}, {1, 1, 1, 0, 1, 2}},
                        Case{1, 2, {4, 3, 5, 6}, {2, 1, 2, 2}, {1, 1, 2, 2}, {1, 1, 1, 1}, {0, 0, 0, 1, 0, 0, 1, 1}},
                        Case{2, 1, {3, 3}, {2, 2}, {9, 9}, {1, 1}, {5, 5, 5, 5}},
                        Case{0, 3, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}}) {
    const Graph graph = graph_of(c);
    check(graph, c.images == 0 ? families::island : families::col2im, inputs_of(graph, 1), 1e-4);
  }
}

TEST(Col2Im, RandomWindowsAgreeWithTheReference) {
  std::mt19937 random(7);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<unsigned>(high - low + 1));
  };
  for (int i = 0; i < 40; ++i) {
    Case c{pick(1, 2), pick(1, 4), {}, {}, {}, {}, {}};
    const std::int64_t axes = pick(1, 3);
    for (std::int64_t axis = 0; axis < axes; ++axis) {
      c.image.push_back(pick(4, 12));
      c.block.push_back(pick(1, 3));
      c.strides.push_back(pick(1, 3));
      c.dilations.push_back(pick(1, 2));
    }
    for (std::int64_t pad = 0; pad < 2 * axes; ++pad) c.pads.push_back(pick(0, 3));
    const Graph graph = graph_of(c);
    check(graph, families::col2im, inputs_of(graph, static_cast<unsigned>(i)), 1e-4);
  }
}

}  // namespace
}  // namespace colonnade::test
