// SPDX-License-Identifier: Apache-2.0
// What each operator needs so that it can run on permuted tensors.
#pragma once

#include "passes/editor.hpp"

namespace colonnade::rewrite {

/// Which inputs of a node carry the tensor whose axes may be permuted.
struct FlexibleUse {
  std::vector<std::size_t> members;  ///< non-constant inputs of the outputs' rank: permuted along with the outputs
  std::vector<std::size_t>
      lifted;  ///< constant or lower-rank inputs that broadcast: reshaped to that rank, then permuted
  std::size_t rank = 0;
};

/// Set when Op(Transpose_p(x)) == Transpose_p(Op'(x)) for (most) perms p, with Op' of changed attributes and constants.
std::optional<FlexibleUse> flexible_use(const Editor& editor, const Node& node);

/// The operator can be expressed for this permutation.
bool allows(const Editor& editor, const Node& node, const Ints& perm);

/// Rewrites attributes and constant parameters (axes, pads, scales, ...) of the node for permuted members; the members
/// and lifted inputs themselves are the caller's.
Node relaid(Editor& editor, const Node& node, const Ints& perm);

}  // namespace colonnade::rewrite
