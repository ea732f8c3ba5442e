// SPDX-License-Identifier: Apache-2.0
// A model's messages, to be simplified and written as ONNX again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "graph/graph.hpp"

namespace colonnade::onnx_import {

/// The nodes are the model's own, so whatever is not understood stays valid. What is constant, and of which shape,
/// they learn of a graph that they were lowered to.
class Draft {
 public:
  struct Messages;
  explicit Draft(std::unique_ptr<Messages> messages);
  Draft(Draft&&) noexcept;
  ~Draft();

  /// Lowered; initializers that runs may replace are inputs of it.
  Graph graph() const;
  /// Sizes of open dimensions by their symbol.
  void set_dimensions(const std::map<std::string, std::int64_t>& sizes);
  /// What the graph, in which constants were folded, knows of the model's values.
  void learn(const Graph& graph);
  void simplify();
  std::size_t node_count() const;
  /// Throws Error{io}; see OptimizedFile for the rest.
  void write(const std::string& path, const std::string& weights, std::size_t least_bytes) const;

 private:
  std::unique_ptr<Messages> messages_;
};

}  // namespace colonnade::onnx_import
