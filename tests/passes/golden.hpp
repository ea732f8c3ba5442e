// SPDX-License-Identifier: Apache-2.0
// Runs one pass on a graph and prints what became of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "passes/graphs.hpp"
#include "passes/passes.hpp"

namespace colonnade::test::golden {

/// Runs one pass, drops what is dead, checks the result; true when the pass changed something.
inline bool run(const std::string& name, Graph& graph, bool compare = true) {
  const auto all = passes();
  const auto pass = std::find_if(all.begin(), all.end(), [&](const Pass& p) { return p.name == name; });
  EXPECT_NE(pass, all.end()) << name;
  const Graph before = graph;
  verify(before);
  const bool changed = pass->run(graph);
  remove_dead(graph);
  verify(graph);
  if (compare) expect_same_results(before, graph, 7, 2e-5);
  return changed;
}

/// The printed graph without its constants.
inline std::string nodes_of(const Graph& graph) {
  std::string text = to_text(graph), result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin + 1);
    if (line.rfind("constant", 0) != 0 && line.rfind("graph", 0) != 0) result += line;
    begin = end + 1;
  }
  return "\n" + result;
}

}  // namespace colonnade::test::golden
