// SPDX-License-Identifier: Apache-2.0
// Slow, obviously right evaluation of every core operator on whole tensors: the island of last resort, the constant
// folder and the oracle of the tests. Sums of products accumulate in double.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "reference/call.hpp"

namespace colonnade::reference {

/// Evaluates one node on its inputs (null for absent ones). Throws Error{unsupported} for a type no rule covers and
/// Error{invalid_input} for data that the operator forbids (an index out of range), naming the node.
std::vector<Tensor> evaluate(const Node& node, std::span<const Tensor* const> inputs);

/// The same for nodes that take and give any data. Bodies are run by `run_body`, else by this evaluator. Throws
/// Error{resource_limit} before it makes an output of more than `limit_bytes` (0: none), eight bytes an element, as
/// evaluation takes them.
Data evaluate(const Node& node, std::span<const Datum* const> inputs, const RunBody& run_body = {},
              std::size_t limit_bytes = 0);

/// What an ensemble answers for one sample.
struct TreeAnswer {
  std::span<double> scores;
  std::size_t best = 0;  ///< of a classifier: the class
};
/// What the trees say of one sample, in `room` of tree_room(trees) elements: begun, then with the leaf that each tree
/// ends in, an index into `nodes`, in the order of the trees.
void begin_scores(const TreeEnsemble& trees, std::span<double> room);
void add_leaf(const TreeEnsemble& trees, std::int32_t leaf, std::span<double> room);
/// The answer, when all leaves are added; its scores are the first elements of `room`. `positive`: no leaf weighs less
/// than nothing.
TreeAnswer tree_answer(const TreeEnsemble& trees, bool positive, std::span<double> room);
bool weighs_positively(const TreeEnsemble& trees);
inline std::int64_t tree_room(const TreeEnsemble& trees) { return std::max<std::int64_t>(2, trees.target_count); }

/// Evaluates the whole graph, each node within `limit_bytes`. Inputs in graph order. Values are freed after their last
/// use.
Data evaluate(const Graph& graph, std::span<const Datum* const> inputs, std::size_t limit_bytes = 0);
/// The same for tensors, whose elements are copied.
std::vector<Tensor> evaluate(const Graph& graph, std::span<const TensorView> inputs, std::size_t limit_bytes = 0);

/// The type of a datum, and its shape when it is a tensor.
ValueType type_of(const Datum& datum);

}  // namespace colonnade::reference
