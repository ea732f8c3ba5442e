// SPDX-License-Identifier: Apache-2.0
#include "markup.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

namespace colonnade::test {
namespace {

void skip_spaces(std::string_view& text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
}

std::string_view take_name(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && (std::isalnum(static_cast<unsigned char>(text[length])) != 0 || text[length] == '-'))
    ++length;
  const std::string_view name = text.substr(0, length);
  text.remove_prefix(length);
  return name;
}

/// A name, then name="value" any number of times, then perhaps a slash.
bool is_opening_tag(std::string_view tag) {
  if (take_name(tag).empty()) return false;
  skip_spaces(tag);
  while (!tag.empty() && tag != "/") {
    if (take_name(tag).empty() || !tag.starts_with("=\"")) return false;
    const std::size_t end = tag.find('"', 2);
    if (end == std::string_view::npos || tag.substr(0, end).find('<') != std::string_view::npos) return false;
    tag.remove_prefix(end + 1);
    skip_spaces(tag);
  }
  return true;
}

bool is_entity(std::string_view text) {
  constexpr std::string_view kEntities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  return std::any_of(std::begin(kEntities), std::end(kEntities),
                     [&](std::string_view e) { return text.starts_with(e); });
}

}  // namespace

std::string markup_fault(const std::string& page) {
  const std::string_view text(page);
  std::vector<std::string> open;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '&' && !is_entity(text.substr(i))) return "stray & in " + page.substr(i, 20);
    if (text[i] != '<') continue;
    const std::size_t end = text.find('>', i);
    if (end == std::string_view::npos) return "unclosed tag " + page.substr(i, 20);
    std::string_view tag = text.substr(i + 1, end - i - 1);
    i = end;
    if (tag == "!DOCTYPE html") continue;
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return "unexpected <" + std::string(tag) + ">";
      open.pop_back();
      continue;
    }
    if (!is_opening_tag(tag)) return "malformed <" + std::string(tag) + ">";
    if (!tag.ends_with('/')) open.emplace_back(take_name(tag));
  }
  return open.empty() ? "" : "unclosed <" + open.back() + ">";
}

}  // namespace colonnade::test
