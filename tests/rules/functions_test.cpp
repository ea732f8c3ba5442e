// SPDX-License-Identifier: Apache-2.0
// Functions fit a screen. Those that do not are named here, each with the reason why it reads better whole.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "rules/source_tree.hpp"

namespace colonnade {
namespace {

using test::is_cpp;
using test::source_files;
using test::SourceFile;

constexpr std::size_t kMostLines = 40;

struct Function {
  std::string name;  ///< as where it is defined, without the parameters; of a test Suite.Name
  std::size_t line = 0;
  std::size_t lines = 0;
};

/// "void Class::method(int x) {" -> "Class::method", "TEST(A, B) {" -> "A.B"
std::string name_in(std::string head) {
  const std::size_t open = head.find('(');
  if (head.starts_with("TEST")) {
    const std::size_t comma = head.find(", "), close = head.find(')');
    return head.substr(open + 1, comma - open - 1) + "." + head.substr(comma + 2, close - comma - 2);
  }
  if (head.starts_with("decltype(auto) ")) return name_in(head.substr(15));
  head.resize(open);
  return head.substr(head.find_last_of(" *&") + 1);
}

/// Functions as clang-format lays them out: a definition begins in the column of its namespace or class and ends with
/// the brace that closes in that column.
class Scan {
 public:
  explicit Scan(const std::vector<std::string>& lines) : lines_(lines) { scan(0, 0, lines.size()); }

  const std::vector<Function>& found() const { return found_; }

 private:
  static bool begins(const std::string& text, std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(), [&](const char* word) { return text.starts_with(word); });
  }

  static bool closes(const std::string& line, std::size_t column) {
    return line.find_first_not_of(' ') == column && line[column] == '}';
  }

  static std::string without_template(std::string head) {
    if (!head.starts_with("template")) return head;
    std::size_t at = head.find('<');
    for (int depth = 0; at < head.size(); ++at) {
      depth += head[at] == '<' ? 1 : head[at] == '>' ? -1 : 0;
      if (depth == 0) break;
    }
    return head.substr(std::min(at + 2, head.size()));
  }

  /// Definitions whose first character stands in this column, of lines [begin, end).
  void scan(std::size_t column, std::size_t begin, std::size_t end) {
    std::string head;
    std::size_t first = begin;
    for (std::size_t i = begin; i < end; ++i) {
      const std::string& line = lines_[i];
      const std::size_t at = line.find_first_not_of(' ');
      if (at == std::string::npos || line[at] == '#' || line.compare(at, 2, "//") == 0) {
        head.clear();
        continue;
      }
      if (at < column || (at > column && head.empty())) continue;
      if (head.empty()) first = i;
      head += (head.empty() ? "" : " ") + line.substr(at);
      if (line.ends_with('{')) {
        if (!begins(head, {"namespace", "inline namespace", "extern"}))
          i = take(without_template(head), first, column, i);
        head.clear();
      } else if (line.find_last_of(";}:") == line.size() - 1) {
        head.clear();
      }
    }
  }

  /// Of a definition that opens in line `open`; answers the line that closes it.
  std::size_t take(const std::string& head, std::size_t first, std::size_t column, std::size_t open) {
    std::size_t close = open + 1;
    while (close < lines_.size() && !closes(lines_[close], column)) ++close;
    if (begins(head, {"class ", "struct "})) {
      scan(column + 2, open + 1, close);
    } else if (head.find('(') != std::string::npos && !head.ends_with("= {") && !begins(head, {"enum ", "union "})) {
      found_.push_back({name_in(head), first + 1, close - first + 1});
    }
    return close;
  }

  const std::vector<std::string>& lines_;
  std::vector<Function> found_;
};

constexpr const char* kCases = "a table: one case a row";
constexpr const char* kOptions = "a table: one option of the command a statement";
constexpr const char* kBound = "a table: one method or property a statement";

/// Why a longer function is better whole, by "path: name".
const std::map<std::string, std::string> kBetterWhole = {
    {"bench/gemm_bench.cpp: run_shape", "operands of one call, then its loop"},
    {"bench/server/load.cpp: measure", "threads that share what they count"},
    {"bench/winograd_bench.cpp: run_shape", "operands of one call, then its loop"},
    {"frontends/cli/arguments.cpp: add_arguments", kOptions},
    {"frontends/cli/serve.cpp: add_models", kOptions},
    {"frontends/onnx/sort.cpp: sort_nodes", "one walk over the nodes, by hand because graphs are deep"},
    {"frontends/python/bind_session.cpp: bind_session", kBound},
    {"frontends/python/model.cpp: bind_model", kBound},
    {"frontends/server/grpc/infer.cpp: read", "a table: one element type a line"},
    {"kernels/depthwise/tile.hpp: tile", "sums that stay in registers"},
    {"kernels/gemm/amx.cpp: run_pass", "tiles that stay in registers"},
    {"src/api/measure_rates.cpp: measure_rates", "a table: one rate a statement"},
    {"src/api/runner.cpp: Runner::run_rest", "slots that its lambdas share"},
    {"src/base/fields.hpp: with_fields", "a table: one number of fields a branch"},
    {"src/families/conv_transpose.cpp: run_phase", "the arguments of one call, a field a statement"},
    {"src/families/matmul.cpp: pack", "four orders of a loop that share where they write"},
    {"tests/api/c_api_test.cpp: CInterface.EveryOptionArrives", kCases},
    {"tests/api/misuse_test.cpp: Misuse.HandlesThatHoldNothingSaySo", kCases},
    {"tests/graph/shape_rules_compute_test.cpp: ShapeRules.Conv", kCases},
    {"tests/kernels_gemm/conv_split_test.cpp: ConvSplit.GroupsTogetherAndByOffsetPointers",
     "operands of two calls that are compared"},
    {"tests/kernels_rows/planes_test.cpp: check", "operands of one call and what it must give"},
    {"tests/models/walk_test.cpp: variants_of", kCases},
    {"tests/onnx/hostile_operators.cpp: attribute_cases", kCases},
    {"tests/onnx/hostile_test.cpp: graph_cases", kCases},
    {"tests/onnx/hostile_test.cpp: tensor_cases", kCases},
    {"tests/onnx/invalid_operator_test.cpp: compute_cases", kCases},
    {"tests/onnx/invalid_operator_test.cpp: movement_cases", kCases},
    {"tests/onnx/invalid_operator_test.cpp: window_cases", kCases},
    {"tests/passes/models_test.cpp: walk", "one walk over models with what it counts"},
    {"tests/reference/elementwise_test.cpp: Unary.ValuesByFormula", kCases},
    {"tests/server/grpc_misuse_test.cpp: GrpcMisuse.WrongInferences", kCases},
    {"tests/server/http_misuse_test.cpp: HttpMisuse.BinaryTensors", kCases},
    {"tests/server/http_misuse_test.cpp: HttpMisuse.JsonOfInputs", kCases},
};

TEST(Functions, FitAScreenOrAreNamed) {
  std::set<std::string> named;
  std::size_t count = 0;
  for (const SourceFile& file :
       source_files({"include", "src", "kernels", "frontends", "tests", "bench", "examples"}, is_cpp)) {
    const Scan scan(file.lines);
    for (const Function& function : scan.found()) {
      ++count;
      if (function.lines <= kMostLines) continue;
      const std::string key = file.path + ": " + function.name;
      EXPECT_TRUE(kBetterWhole.contains(key)) << key << " (line " << function.line << ") has " << function.lines
                                              << " lines: split it, or say in this test why it is better whole";
      named.insert(key);
    }
  }
  EXPECT_GT(count, 5000u) << "this test no longer sees functions";
  for (const auto& [key, reason] : kBetterWhole)
    EXPECT_TRUE(named.contains(key)) << key << " need not be named any more";
}

TEST(Functions, AreSeenWhereTheyBegin) {
  const std::vector<std::string> lines = {"namespace n {",
                                          "template <class T, class U = A<T>>",
                                          "T* longest(int x,",
                                          "           int y) {",
                                          "  if (x) {",
                                          "  }",
                                          "}",
                                          "class C {",
                                          " public:",
                                          "  C() : x_(1) {",
                                          "  }",
                                          "  int x_ = 0;",
                                          "};",
                                          "constexpr int kRows[] = {",
                                          "    f(1),",
                                          "};",
                                          "TEST(Suite, Name) {",
                                          "}",
                                          "}  // namespace n"};
  const Scan scan(lines);
  const std::vector<Function>& found = scan.found();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].name, "longest");
  EXPECT_EQ(found[0].line, 2u);
  EXPECT_EQ(found[0].lines, 6u);
  EXPECT_EQ(found[1].name, "C");
  EXPECT_EQ(found[2].name, "Suite.Name");
}

}  // namespace
}  // namespace colonnade
