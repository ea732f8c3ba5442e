// SPDX-License-Identifier: Apache-2.0
// The include table: what each folder may include. A change here is a change of the architecture.
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "rules/source_tree.hpp"

namespace colonnade {
namespace {

using test::is_cpp;
using test::kSourceRoot;
using test::source_files;
using test::SourceFile;

struct Rule {
  std::string folder;
  std::vector<std::string> may_include;  ///< besides itself; "kernels/" stands for every family
};

const std::vector<Rule>& include_table() {
  static const std::vector<Rule> table = {
      {"include", {}},
      {"src/base", {"include", "kernels/base/copy.hpp"}},
      {"src/image", {"include", "src/base"}},
      {"src/topology", {"include", "src/base", "kernels/base"}},
      {"src/graph", {"include", "src/base"}},
      {"src/reference", {"include", "src/graph", "src/image", "src/base"}},
      {"src/passes", {"include", "src/graph", "src/reference", "src/base"}},
      {"src/families", {"include", "src/graph", "src/reference", "src/topology", "src/base", "kernels/"}},
      {"src/plan", {"include", "src/families", "src/graph", "src/topology", "src/base"}},
      {"src/simulate", {"include", "src/plan", "src/families", "src/graph", "src/topology", "src/base"}},
      {"src/program", {"include", "src/families", "src/plan", "src/graph", "src/base", "kernels/base"}},
      {"src/runtime", {"include", "src/program", "src/topology", "src/base", "kernels/base", "kernels/peak"}},
      {"src/api", {"include", "src/", "frontends/onnx", "kernels/"}},
      {"kernels/winograd", {"kernels/base", "kernels/gemm"}},  // its 36 products are gemm's micro-kernel
      {"kernels/row_winograd", {"kernels/base", "kernels/gemm", "kernels/winograd"}},  // once instead of twice
      {"kernels/byte_split", {"kernels/base", "kernels/byte_product"}},                // its loops for other weights
      {"kernels/byte_winograd", {"kernels/base", "kernels/byte_product"}},             // how sums become bytes
      {"kernels/narrow_bytes", {"kernels/base", "kernels/narrow/narrow.hpp"}},         // the same packed weights
      {"kernels", {"kernels/base"}},
      {"frontends/onnx",
       {"include", "src/graph", "src/base", "src/reference/onnx/definitions.hpp", "src/reference/elements.hpp",
        "src/reference/known_tensor.hpp"}},
      {"frontends/image", {"include", "src/image"}},
      {"frontends/picture", {"include"}},
      {"frontends/quantize", {"include"}},
      {"frontends/cli", {"include", "frontends/image", "frontends/picture", "frontends/quantize", "frontends/server"}},
      {"frontends/server", {"include", "frontends/image"}},
      {"frontends/pool", {"include"}},
      {"frontends/onnxruntime", {"include", "frontends/pool"}},
      {"frontends/python", {"include", "frontends/picture", "frontends/pool", "frontends/quantize"}},
  };
  return table;
}

/// Other libraries, and the only places that know them.
const std::vector<Rule>& library_table() {
  static const std::vector<Rule> table = {
      {"hwloc", {"src/topology/hwloc.cpp"}},
      {"xxh", {"src/base/hash.cpp"}},
      {"xsimd/", {"kernels/base/vec.hpp"}},
      {"dnnl", {"src/families/onednn"}},
      {"oneapi/", {"src/families/onednn"}},
      {"onnx/", {"frontends/onnx/", "frontends/quantize/network.hpp"}},
      {"omp.h", {"src/families/onednn"}},
      {"google/protobuf/", {"frontends/onnx/", "frontends/server/"}},
      {"grpc", {"frontends/server/"}},
      {"boost/", {"frontends/server/"}},
      {"openssl/", {"frontends/server/"}},
      {"prometheus/", {"frontends/server/"}},
      {"simdjson", {"frontends/server/http/"}},
      {"zlib", {"frontends/server/deflate", "frontends/cli/zip"}},
      {"CLI/", {"frontends/cli/"}},
      {"nanobind/", {"frontends/python/"}},
      {"Python", {"frontends/python/"}},
      {"png", {"src/image/"}},
      {"jpeglib", {"src/image/"}},
      {"tiffio", {"src/image/"}},
      {"webp/", {"src/image/"}},
      {"openjpeg", {"src/image/"}},
      {"re2/", {"src/reference/onnx/regex"}},
      {"fmt/", {"src/", "frontends/"}},
      {"nlohmann/", {"src/", "frontends/"}},
  };
  return table;
}

bool has_prefix_in(const std::string& text, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& p) { return text.starts_with(p); });
}

/// The folder of the table that a path lies in; a kernel family counts as a folder of its own.
std::string folder_of(const std::string& path) {
  const std::size_t first = path.find('/');
  if (path.starts_with("include/")) return "include";
  const std::size_t second = path.find('/', first + 1);
  return path.substr(0, second);
}

struct Include {
  std::string name;
  bool quoted = false;
  std::size_t line = 0;
};

std::vector<Include> includes_of(const SourceFile& file) {
  static const std::regex regex(R"re(^\s*#\s*include\s*(["<])([^">]+)[">])re");
  std::vector<Include> includes;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    std::smatch match;
    if (std::regex_search(file.lines[i], match, regex)) includes.push_back({match[2], match[1] == "\"", i + 1});
  }
  return includes;
}

/// The file of the tree that a quoted include means, searched as the compiler does; empty when it is none of ours.
std::string resolve(const std::string& from, const std::string& name) {
  const std::string own_folder = from.substr(0, from.rfind('/') + 1);
  for (const std::string& base :
       {own_folder, std::string("include/"), std::string("src/"), std::string(), std::string("frontends/cli/")}) {
    const std::string path = (std::filesystem::path(base) / name).lexically_normal().generic_string();
    if (std::filesystem::exists(kSourceRoot / path)) return path;
  }
  return {};
}

/// Without what the build alone reads: precompiled headers.
std::vector<SourceFile> engine_files() {
  return source_files({"include", "src", "kernels", "frontends"},
                      [](const std::string& path) { return is_cpp(path) && !path.ends_with("/precompiled.hpp"); });
}

const Rule* rule_of(const std::string& folder) {
  for (const Rule& rule : include_table()) {
    if (folder == rule.folder || (rule.folder == "kernels" && folder.starts_with("kernels/"))) return &rule;
  }
  return nullptr;
}

TEST(Includes, FollowTheTable) {
  std::size_t checked = 0;
  for (const SourceFile& file : engine_files()) {
    const std::string folder = folder_of(file.path);
    const Rule* rule = rule_of(folder);
    ASSERT_NE(rule, nullptr) << file.path << ": the table has no row for this folder";
    for (const Include& include : includes_of(file)) {
      const std::string target = resolve(file.path, include.name);
      if (target.empty()) {
        EXPECT_FALSE(include.quoted) << file.path << ":" << include.line << ": no file " << include.name;
        continue;
      }
      ++checked;
      EXPECT_TRUE(folder_of(target) == folder || has_prefix_in(target, rule->may_include))
          << file.path << ":" << include.line << ": " << folder << " may not include " << target;
    }
  }
  EXPECT_GT(checked, 30u);
}

/// To planner and compiler a family is a row of the table: they include no file of one and name none.
TEST(Includes, PlannerAndCompilerKnowNoFamily) {
  const std::set<std::string> table = {"families/family.hpp", "families/lower.hpp", "families/row_op.hpp",
                                       "families/weights.hpp"};
  std::size_t checked = 0;
  for (const SourceFile& file : source_files({"src/plan", "src/program", "src/runtime"}, is_cpp)) {
    for (const Include& include : includes_of(file)) {
      if (!include.name.starts_with("families/")) continue;
      ++checked;
      EXPECT_TRUE(table.contains(include.name)) << file.path << ":" << include.line << ": includes " << include.name;
    }
    for (std::size_t i = 0; i < file.lines.size(); ++i)
      EXPECT_EQ(file.lines[i].find("families::"), std::string::npos) << file.path << ":" << i + 1 << ": names a family";
  }
  EXPECT_GT(checked, 3u);
}

/// Rows of operators see ONNX's messages by name only, and what evaluates an operator stands in src/reference/onnx.
TEST(Includes, RowsOfOperatorsReadNoMessagesAndDefineNothing) {
  const std::set<std::string> readers = {"frontends/onnx/proto.hpp", "frontends/onnx/flatten.hpp"};
  static const std::regex definition(R"re(\bDefinition\s+k[A-Z]|\bDefinition\s*\{)re");
  std::size_t checked = 0;
  for (const SourceFile& file : source_files({"frontends/onnx"}, is_cpp)) {
    for (std::size_t i = 0; i < file.lines.size(); ++i)
      EXPECT_FALSE(std::regex_search(file.lines[i], definition))
          << file.path << ":" << i + 1 << ": defines an operator";
    if (!file.path.starts_with("frontends/onnx/ops/")) continue;
    for (const Include& include : includes_of(file)) {
      ++checked;
      EXPECT_FALSE(readers.contains(include.name) || include.name.starts_with("onnx/"))
          << file.path << ":" << include.line << ": includes " << include.name;
    }
  }
  EXPECT_GT(checked, 30u);
}

TEST(Includes, OtherLibrariesStayBehindOneFolder) {
  for (const SourceFile& file : engine_files()) {
    for (const Include& include : includes_of(file)) {
      if (!resolve(file.path, include.name).empty()) continue;
      for (const Rule& library : library_table()) {
        if (!include.name.starts_with(library.folder)) continue;
        EXPECT_TRUE(has_prefix_in(file.path, library.may_include))
            << file.path << ":" << include.line << ": <" << include.name << "> belongs elsewhere";
      }
    }
  }
}

TEST(Includes, PublicHeadersNeedTheStandardLibraryOnly) {
  for (const SourceFile& file : source_files({"include"}, is_cpp)) {
    for (const Include& include : includes_of(file)) {
      const bool standard = include.name.find('/') == std::string::npos && !include.quoted;
      EXPECT_TRUE(standard || include.name.starts_with("colonnade/")) << file.path << ": " << include.name;
    }
  }
}

/// Inline functions of the library, compiled for one tier, could be linked into another.
TEST(Includes, KernelsUseNoContainersNoThreads) {
  const std::set<std::string> allowed = {"cstddef", "cstdint",     "cstring", "cmath",       "climits",    "cfloat",
                                         "span",    "type_traits", "utility", "immintrin.h", "arm_neon.h", "limits"};
  for (const SourceFile& file : source_files({"kernels"}, is_cpp)) {
    if (file.path == "kernels/base/features.cpp") continue;  // asks the processor and the system
    for (const Include& include : includes_of(file)) {
      if (include.quoted || include.name.starts_with("xsimd/")) continue;
      EXPECT_TRUE(allowed.contains(include.name)) << file.path << ":" << include.line << ": <" << include.name << ">";
    }
  }
}

}  // namespace
}  // namespace colonnade
