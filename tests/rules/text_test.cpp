// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "rules/source_tree.hpp"

namespace colonnade {
namespace {

using test::is_cpp;
using test::is_script;
using test::source_files;
using test::SourceFile;

std::vector<SourceFile> all_files() {
  return source_files({"include", "src", "kernels", "frontends", "tests", "bench", "cmake", "models", "examples"},
                      [](const std::string& path) { return is_cpp(path) || is_script(path); });
}

/// Reports every line of C++ outside this folder that matches.
void expect_no_line(const std::string& pattern, const char* reason) {
  const std::regex regex(pattern);
  for (const SourceFile& file : all_files()) {
    if (!is_cpp(file.path) || file.path.starts_with("tests/rules/")) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      EXPECT_FALSE(std::regex_search(file.lines[i], regex)) << file.path << ":" << i + 1 << ": " << reason;
    }
  }
}

TEST(Text, EveryFileSaysItsLicence) {
  const std::vector<SourceFile> files = all_files();
  ASSERT_GT(files.size(), 30u);
  for (const SourceFile& file : files) {
    const bool has_interpreter = !file.lines.empty() && file.lines[0].starts_with("#!");
    const std::size_t line = has_interpreter ? 1 : 0;
    const std::string comment = is_cpp(file.path) ? "//" : "#";
    ASSERT_GT(file.lines.size(), line) << file.path;
    EXPECT_EQ(file.lines[line], comment + " SPDX-License-Identifier: Apache-2.0") << file.path;
  }
}

/// The types that a file defines at the level of namespaces that have names, as "namespace::name".
std::set<std::string> named_types(const SourceFile& file) {
  const std::regex opens(R"(^(?:inline )?namespace ?([\w:]*) ?\{$)"), closes(R"(^\}  // namespace)"),
      type(R"(^(?:struct|class) (\w+)(?: final)?(?: : .*)? \{)");
  std::vector<std::string> inside;
  std::set<std::string> found;
  std::smatch match;
  for (const std::string& line : file.lines) {
    if (std::regex_search(line, match, opens)) {
      inside.push_back(match[1]);
    } else if (std::regex_search(line, closes)) {
      if (!inside.empty()) inside.pop_back();
    } else if (std::regex_search(line, match, type) && std::ranges::count(inside, "") == 0) {
      std::string name;
      for (const std::string& space : inside) name += space + "::";
      found.insert(name + match[1].str());
    }
  }
  return found;
}

/// Two of one name would share their destructors, whichever the linker met first.
TEST(Text, TypesHaveNamesOfTheirOwn) {
  std::map<std::string, std::string> where;
  for (const SourceFile& file :
       source_files({"include", "src", "kernels", "frontends"}, [](const std::string& path) { return is_cpp(path); }))
    for (const std::string& name : named_types(file)) {
      const auto [other, is_new] = where.emplace(name, file.path);
      EXPECT_TRUE(is_new) << name << " stands in " << other->second << " and in " << file.path;
    }
  EXPECT_GT(where.size(), 300u);
}

TEST(Text, FilesAreAscii) {
  for (const SourceFile& file : all_files()) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const auto plain = [](char c) { return c == '\t' || (c >= ' ' && c <= '~'); };
      EXPECT_TRUE(std::all_of(file.lines[i].begin(), file.lines[i].end(), plain)) << file.path << ":" << i + 1;
    }
  }
}

TEST(Text, FilesStayReadable) {
  constexpr std::size_t kMostOfAFile = 400;
  constexpr std::size_t kMostColumns = 120;
  for (const SourceFile& file : all_files()) {
    if (!is_cpp(file.path)) continue;
    EXPECT_LE(file.lines.size(), kMostOfAFile) << file.path;
    if (file.path.ends_with("_html.cpp")) continue;  // holds style sheets as raw strings
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      EXPECT_LE(file.lines[i].size(), kMostColumns) << file.path << ":" << i + 1;
    }
  }
}

TEST(Text, HeadersAreIncludedOnce) {
  for (const SourceFile& file : all_files()) {
    if (!file.path.ends_with(".hpp")) continue;
    EXPECT_NE(std::find(file.lines.begin(), file.lines.end(), "#pragma once"), file.lines.end()) << file.path;
  }
}

TEST(Text, NoLibraryThatGcc12Lacks) {
  expect_no_line(R"(std::(format|expected|mdspan|print|println)\b|<(format|expected|mdspan|print)>)",
                 "not in GCC 12's library");
}

/// Rows have the size of their elements' type there.
TEST(Text, PlansAndProgramsCountNoFloats) {
  std::size_t files = 0;
  for (const SourceFile& file : source_files({"src/plan", "src/program", "src/runtime"}, is_cpp)) {
    if (file.path == "src/runtime/measure.cpp") continue;  // times a kernel that reads floats
    ++files;
    for (std::size_t i = 0; i < file.lines.size(); ++i)
      EXPECT_EQ(file.lines[i].find("sizeof(float)"), std::string::npos) << file.path << ":" << i + 1;
  }
  EXPECT_GT(files, 20u);
}

/// xsimd takes numbers in braces for a list of lanes, and reads a whole register from there.
TEST(Text, RegistersAreNotMadeInBraces) {
  const std::regex regex(R"(\b(Batch|IntBatch)( \w+)?\{[^}])");
  std::size_t files = 0;
  for (const SourceFile& file : source_files({"kernels"}, is_cpp)) {
    ++files;
    for (std::size_t i = 0; i < file.lines.size(); ++i)
      EXPECT_FALSE(std::regex_search(file.lines[i], regex)) << file.path << ":" << i + 1;
  }
  EXPECT_GT(files, 100u);
  EXPECT_TRUE(std::regex_search("  IntBatch v{0};", regex));
  EXPECT_FALSE(std::regex_search("  IntBatch v = IntBatch(0);", regex));
}

TEST(Text, NoOpenEnds) { expect_no_line(R"(\b(TODO|FIXME|XXX|HACK)\b)", "open end"); }

TEST(Text, NoUsingNamespaceInHeaders) {
  for (const SourceFile& file : all_files()) {
    if (!file.path.ends_with(".hpp")) continue;
    for (const std::string& line : file.lines) EXPECT_FALSE(line.starts_with("using namespace ")) << file.path;
  }
}

}  // namespace
}  // namespace colonnade
