// SPDX-License-Identifier: Apache-2.0
#include "graph/einsum.hpp"

#include <cctype>
#include <map>

namespace colonnade {
namespace {

std::string read_term(std::string_view text, EinsumTerm& term) {
  for (std::size_t index = 0; index < text.size(); ++index) {
    const char c = text[index];
    if (c == ' ') continue;
    if (text.substr(index, 3) == "...") {
      if (term.ellipsis) return "a term of the equation has two ellipses";
      term.ellipsis = term.letters.size();
      index += 2;
    } else if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      term.letters += c;
    } else {
      return std::string("the equation holds '") + c + "'";
    }
  }
  return {};
}

EinsumTerm implicit_result(const std::vector<EinsumTerm>& terms) {
  std::map<char, int> counts;
  EinsumTerm result;
  for (const EinsumTerm& term : terms) {
    for (const char letter : term.letters) ++counts[letter];
    if (term.ellipsis) result.ellipsis = 0;
  }
  for (const auto& [letter, count] : counts) {
    if (count == 1) result.letters += letter;
  }
  return result;
}

}  // namespace

std::string read_equation(std::string_view text, EinsumEquation& equation) {
  const std::size_t arrow = text.find("->");
  std::string_view left = text.substr(0, arrow);
  for (bool more = true; more;) {
    const std::size_t comma = left.find(',');
    if (std::string wrong = read_term(left.substr(0, comma), equation.terms.emplace_back()); !wrong.empty())
      return wrong;
    more = comma != std::string_view::npos;
    if (more) left.remove_prefix(comma + 1);
  }
  if (arrow != std::string_view::npos) return read_term(text.substr(arrow + 2), equation.result);
  equation.result = implicit_result(equation.terms);
  return {};
}

std::vector<int> axes_of(const EinsumTerm& term, std::size_t rank) {
  const std::size_t before = term.ellipsis.value_or(term.letters.size());
  const auto hidden = static_cast<int>(rank - term.letters.size());
  std::vector<int> axes(term.letters.begin(), term.letters.begin() + static_cast<std::ptrdiff_t>(before));
  for (int axis = -hidden; axis < 0; ++axis) axes.push_back(axis);
  axes.insert(axes.end(), term.letters.begin() + static_cast<std::ptrdiff_t>(before), term.letters.end());
  return axes;
}

}  // namespace colonnade
