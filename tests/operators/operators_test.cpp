// SPDX-License-Identifier: Apache-2.0
// OPERATORS.md: what the importer's table holds, and what ONNX's conformance cases become and run by.
// COLONNADE_UPDATE_GOLDEN=1 writes it anew.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "families/table.hpp"
#include "frontends/onnx/onnx.hpp"
#include "frontends/onnx/table.hpp"
#include "passes/passes.hpp"
#include "program/compile.hpp"
#include "support/known_blocking.hpp"
#include "support/onnx_cases.hpp"

namespace colonnade::test {
namespace {

using onnx_import::Row;

const std::string kPath = std::string(COLONNADE_SOURCE_DIR) + "/OPERATORS.md";

constexpr std::string_view kIntroduction =
    "# Operators\n"
    "\n"
    "Made by `./dev operators` from the importer's table and ONNX's conformance cases; a test compares.\n"
    "\n"
    "- **opsets**: the versions of its domain that are read; `13-` means 13 and every later one.\n"
    "- **types**: of the first input in the cases that are read.\n"
    "- **becomes**: the core operators that it is lowered to; *itself*: it is opaque, defined in one place.\n"
    "- **runs by**: what runs it in the cases, whose shapes are small: kernels of *columns* (row by row inside "
    "segments),\n"
    "  kernels on *whole* tensors, *oneDNN*, or the *reference*; *folded*: known before anything runs.\n"
    "- A dash: no case shows it.\n";

/// What is known of one ONNX operator.
struct Facts {
  std::set<std::pair<int, int>> opsets;
  std::set<std::string> types, becomes, columns, whole, others;
};
/// By domain, then name.
using Table = std::map<std::string, std::map<std::string, Facts>>;

std::string join(const std::set<std::string>& words, std::string_view separator = ", ") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : std::string(separator)) + word;
  return text;
}

std::string opsets_text(const Facts& facts) {
  std::string text;
  for (const auto& [since, until] : facts.opsets) {
    const std::string last = until == onnx_import::kNoLimit ? "" : std::to_string(until);
    const std::string range = std::to_string(since) == last ? last : std::to_string(since) + "-" + last;
    text += (text.empty() ? "" : ", ") + range;
  }
  return text;
}

std::string runs_text(const Facts& facts) {
  std::set<std::string> parts = facts.others;
  if (!facts.columns.empty()) parts.insert("columns: " + join(facts.columns));
  if (!facts.whole.empty()) parts.insert("whole: " + join(facts.whole));
  return join(parts, "; ");
}

std::string cell(const std::string& text) { return text.empty() ? "-" : text; }

/// The start of an operator's line: all that the importer's table says.
std::string line_start(const std::string& name, const Facts& facts) {
  return "| " + name + " | " + opsets_text(facts) + " | ";
}

std::string to_markdown(const Table& table) {
  std::string text(kIntroduction);
  for (const auto& [domain, operators] : table) {
    text += "\n## " + domain + "\n\n" + std::to_string(operators.size()) + " operators.\n\n";
    text += "| operator | opsets | types | becomes | runs by |\n|---|---|---|---|---|\n";
    for (const auto& [name, facts] : operators) {
      text += line_start(name, facts) + cell(join(facts.types)) + " | " + cell(join(facts.becomes)) + " | " +
              cell(runs_text(facts)) + " |\n";
    }
  }
  return text;
}

Table importer_table() {
  Table table;
  for (const Row& row : onnx_import::all_rows())
    table[std::string(row.domain)][std::string(row.name)].opsets.emplace(row.since, row.until);
  return table;
}

/// The operator that a node of the graph came from; null for those that the importer adds.
Facts* facts_of(Table& table, const Node& node) {
  const std::size_t colons = node.origin.find("::");
  const bool plain = colons == std::string::npos;
  const auto domain = table.find(plain ? std::string(onnx_import::kOnnxDomain) : node.origin.substr(0, colons));
  if (domain == table.end()) return nullptr;
  const auto found = domain->second.find(plain ? node.origin : node.origin.substr(colons + 2));
  return found == domain->second.end() ? nullptr : &found->second;
}

std::string core_name(const Operator& op) { return std::holds_alternative<Opaque>(op) ? "itself" : name_of(op); }

bool has_static_types(const Graph& graph) {
  return std::all_of(graph.values.begin(), graph.values.end(),
                     [](const Value& value) { return value.type.is_tensor() && value.type.is_static(); });
}

void add_kernels(Table& table, const Graph& graph) {
  for (const Node& node : graph.nodes) {
    Facts* facts = facts_of(table, node);
    if (facts == nullptr) continue;
    const Family& family = *choose_family(graph, node, Math::fast, kernels::Isa::avx512, known_blocking()).family;
    if (family.scope == Scope::view) facts->others.insert("no work");
    if (family.scope == Scope::rows) facts->columns.emplace(family.name);
    if (family.scope == Scope::whole) facts->whole.emplace(family.name);
  }
  const Plan plan = make_plan(graph, fixed_topology("zen4-2"), {Schedule::columns, Math::fast, 1, 0});
  WeightStore weights;
  const auto program = compile(graph, plan, kernels::Isa::baseline, weights);
  for (const Island& island : program->islands) {
    const auto node = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                   [&](const Node& each) { return each.name == island.node; });
    if (Facts* facts = node == graph.nodes.end() ? nullptr : facts_of(table, *node))
      facts->others.insert(island.engine);
  }
}

/// What an imported model shows about the operators in it.
void add_model(Table& table, const std::filesystem::path& path) {
  Graph graph = onnx_import::import_file(path.string());
  infer_types(graph);
  std::set<Facts*> present;
  for (const Node& node : graph.nodes) {
    Facts* facts = facts_of(table, node);
    if (facts == nullptr) continue;
    present.insert(facts);
    facts->becomes.insert(core_name(node.op));
    if (!node.inputs.empty() && node.inputs.front() != kAbsent) {
      const Value& first = graph.value(node.inputs.front());
      const bool is_input =
          std::find(graph.inputs.begin(), graph.inputs.end(), node.inputs.front()) != graph.inputs.end();
      if (is_input && first.type.dtype != DType::undefined) facts->types.emplace(name_of(first.type.dtype));
    }
  }
  optimize(graph);
  if (graph.nodes.empty())
    for (Facts* facts : present) facts->others.insert("folded");
  if (has_static_types(graph)) return add_kernels(table, graph);
  for (const Node& node : graph.nodes)
    if (Facts* facts = facts_of(table, node)) facts->others.insert("reference");
}

Table full_table(const OnnxCases& cases) {
  Table table = importer_table();
  for (const auto& path : cases.models()) {
    try {
      add_model(table, path);
    } catch (const Error&) {
      continue;  // a refused case shows nothing
    }
  }
  return table;
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Operators, TheListNamesWhatTheImporterKnows) {
  if (std::getenv("COLONNADE_UPDATE_GOLDEN")) GTEST_SKIP() << "the list is written anew";
  const std::string text = contents(kPath);
  std::multiset<std::string> listed;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("| ") && !line.starts_with("| operator ")) listed.insert(line);
  std::size_t count = 0;
  for (const auto& [domain, operators] : importer_table()) {
    EXPECT_NE(text.find("\n## " + domain + "\n"), std::string::npos) << domain;
    count += operators.size();
    for (const auto& [name, facts] : operators) {
      const std::string start = line_start(name, facts);
      const auto line = listed.lower_bound(start);
      EXPECT_TRUE(line != listed.end() && line->starts_with(start)) << start << ": run ./dev operators";
    }
  }
  EXPECT_EQ(listed.size(), count) << "OPERATORS.md lists operators that the importer lacks: run ./dev operators";
}

TEST(Operators, TheListSaysHowTheCasesRun) {
  const OnnxCases cases;
  if (!cases.available()) GTEST_SKIP() << "onnx-backend-tests.tar.xz is not in the shared folder";
  const std::string found = to_markdown(full_table(cases));
  if (std::getenv("COLONNADE_UPDATE_GOLDEN")) std::ofstream(kPath) << found;
  EXPECT_EQ(found, contents(kPath)) << "if the change is meant, run ./dev operators";
}

}  // namespace
}  // namespace colonnade::test
