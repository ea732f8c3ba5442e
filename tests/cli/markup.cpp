// SPDX-License-Identifier: Apache-2.0
#include "markup.hpp"

#include <regex>
#include <vector>

namespace colonnade::test {
namespace {

bool attributes_are_quoted(const std::string& tag) {
  static const std::regex shape(R"(^[a-zA-Z][a-zA-Z0-9]*(\s+[a-zA-Z:-]+="[^"<]*")*\s*/?$)");
  return std::regex_match(tag, shape);
}

std::string name_of_tag(const std::string& tag) { return tag.substr(0, tag.find_first_of(" /\n")); }

}  // namespace

std::string markup_fault(const std::string& page) {
  static const std::regex entity("^&(amp|lt|gt|quot|#39);");
  std::vector<std::string> open;
  for (std::size_t i = 0; i < page.size(); ++i) {
    if (page[i] == '&' && !std::regex_search(page.substr(i, 8), entity)) return "stray & in " + page.substr(i, 20);
    if (page[i] != '<') continue;
    const std::size_t end = page.find('>', i);
    if (end == std::string::npos) return "unclosed tag " + page.substr(i, 20);
    const std::string tag = page.substr(i + 1, end - i - 1);
    i = end;
    if (tag == "!DOCTYPE html") continue;
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return "unexpected <" + tag + ">";
      open.pop_back();
      continue;
    }
    if (!attributes_are_quoted(tag)) return "malformed <" + tag + ">";
    if (tag.back() != '/') open.push_back(name_of_tag(tag));
  }
  return open.empty() ? "" : "unclosed <" + open.back() + ">";
}

}  // namespace colonnade::test
