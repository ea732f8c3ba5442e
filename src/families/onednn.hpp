// SPDX-License-Identifier: Apache-2.0
// oneDNN behind one seam; compiles against 2.6 and 3.x.
#pragma once

#include <memory>

#include "graph/graph.hpp"

namespace colonnade {

/// A oneDNN primitive for one node with known shapes, created once and executed on whole dense tensors.
class OneDnnPrimitive {
 public:
  virtual ~OneDnnPrimitive() = default;
  /// Inputs in the node's order (null where absent or constant), dense row-major. One thread.
  virtual void run(const void* const* inputs, void* const* outputs) const = 0;
  /// The implementation's name, "jit:avx512_core".
  virtual std::string_view implementation() const = 0;
};

/// The primitive for `node`, or null when oneDNN has none for it.
std::unique_ptr<OneDnnPrimitive> make_onednn_primitive(const Graph& graph, const Node& node);

}  // namespace colonnade
