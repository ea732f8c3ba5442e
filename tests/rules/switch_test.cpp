// SPDX-License-Identifier: Apache-2.0
// A switch over an enumeration of ours names every value: what is added later is pointed at by the compiler. A default:
// over numbers, characters and enumerations of others stays.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>

#include "rules/source_tree.hpp"

namespace colonnade {
namespace {

using test::is_cpp;
using test::source_files;
using test::SourceFile;

std::string text_of(const SourceFile& file) {
  std::string text;
  for (const std::string& line : file.lines) text += line + "\n";
  return text;
}

std::set<std::string> enumerations() {
  static const std::regex regex(R"(\benum class (\w+))");
  std::set<std::string> names;
  for (const SourceFile& file : source_files({"include", "src", "kernels", "frontends"}, is_cpp)) {
    const std::string text = text_of(file);
    for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match)
      names.insert((*match)[1]);
  }
  return names;
}

/// What stands between the braces of the block that opens at or after `at`, without blocks within.
std::string block_after(const std::string& text, std::size_t at) {
  std::string block;
  int depth = 0;
  for (std::size_t i = text.find('{', at); i < text.size(); ++i) {
    depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    if (depth == 0) break;
    if (depth == 1) block += text[i];
  }
  return block;
}

/// Of our enumerations the one whose values a switch names beside a default; empty when there is none.
std::string defaulted(const std::string& block, const std::set<std::string>& ours) {
  static const std::regex value(R"(\bcase (?:\w+::)*(\w+)::\w+:)");
  if (block.find("default:") == std::string::npos) return {};
  for (std::sregex_iterator match(block.begin(), block.end(), value), end; match != end; ++match)
    if (ours.contains((*match)[1])) return (*match)[1];
  return {};
}

TEST(Switches, NameEveryValueOfOurEnumerations) {
  const std::set<std::string> ours = enumerations();
  std::size_t checked = 0;
  for (const SourceFile& file : source_files({"include", "src", "kernels", "frontends"}, is_cpp)) {
    const std::string text = text_of(file);
    for (std::size_t at = text.find("switch ("); at != std::string::npos; at = text.find("switch (", at + 1)) {
      ++checked;
      const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
      const std::string found = defaulted(block_after(text, at), ours);
      EXPECT_TRUE(found.empty()) << file.path << ":" << line << ": a default: beside values of " << found;
    }
  }
  EXPECT_GT(checked, 30u);
}

TEST(Switches, ADefaultBesideOursIsSeen) {
  const std::string text = "switch (kind) { case colonnade::Kind::one: { return 1; } default: return 0; }";
  EXPECT_EQ(defaulted(block_after(text, 0), {"Kind"}), "Kind");
  EXPECT_EQ(defaulted(block_after(text, 0), {"Other"}), "");
}

}  // namespace
}  // namespace colonnade
