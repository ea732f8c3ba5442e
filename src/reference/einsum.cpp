// SPDX-License-Identifier: Apache-2.0
// Einsum by its definition: for every combination of the labels' values, a product of one element an operand.
#include <algorithm>
#include <array>
#include <map>
#include <type_traits>

#include "base/interruption.hpp"
#include "reference/elements.hpp"
#include "reference/families.hpp"
#include "reference/indexing.hpp"

namespace colonnade::reference {
namespace {

/// A term's labels: letters, and for the axes of "..." the numbers 0, 1, ... counted from the last one.
using Labels = std::vector<int>;

struct Equation {
  std::vector<std::string> terms;
  std::string result;
  bool explicit_result = false;
};

Equation parse(const std::string& text, const Call& call) {
  Equation equation;
  std::string current;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text[i] == ',' || (text[i] == '-' && i + 1 < text.size() && text[i + 1] == '>')) {
      if (equation.explicit_result) call.invalid("equation '{}'", text);
      equation.terms.push_back(std::exchange(current, {}));
      equation.explicit_result = text[i] == '-';
      i += text[i] == '-' ? 1 : 0;
      continue;
    }
    current += text[i];
  }
  if (equation.explicit_result) {
    equation.result = current;
  } else {
    equation.terms.push_back(current);
  }
  return equation;
}

Labels labels_of(const std::string& term, std::size_t ellipsis_rank, const Call& call) {
  Labels labels;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term.compare(i, 3, "...") == 0) {
      for (std::size_t d = ellipsis_rank; d-- > 0;) labels.push_back(static_cast<int>(d));
      i += 2;
    } else if ((term[i] >= 'a' && term[i] <= 'z') || (term[i] >= 'A' && term[i] <= 'Z')) {
      labels.push_back(term[i]);
    } else {
      call.invalid("the equation's term '{}'", term);
    }
  }
  return labels;
}

std::size_t letters_in(const std::string& term) {
  return static_cast<std::size_t>(std::count_if(term.begin(), term.end(), [](char c) { return c != '.'; }));
}

/// Without "->" the result has the broadcast axes, then every letter that occurs once, in alphabetical order.
Labels implicit_result(std::span<const Labels> terms, std::size_t ellipsis_rank) {
  std::map<int, int> uses;
  for (const Labels& labels : terms) {
    for (const int label : labels) ++uses[label];
  }
  Labels result;
  for (std::size_t d = ellipsis_rank; d-- > 0;) result.push_back(static_cast<int>(d));
  for (const auto& [label, count] : uses) {
    if (count == 1 && label >= 'A') result.push_back(label);
  }
  return result;
}

struct Contraction {
  Labels order;               ///< result labels, then the summed ones
  Ints sizes;                 ///< of each label in order
  std::size_t kept = 0;       ///< labels of the result
  std::vector<Ints> strides;  ///< per operand, of each label in order
};

std::map<int, std::int64_t> label_sizes(std::span<const Labels> terms, const Call& call) {
  std::map<int, std::int64_t> sizes;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const Shape& shape = call.input(t).shape();
    if (shape.size() != terms[t].size())
      call.invalid("input {} has rank {}, its term {} labels", t, shape.size(), terms[t].size());
    for (std::size_t d = 0; d < shape.size(); ++d) {
      std::int64_t& size = sizes.try_emplace(terms[t][d], 1).first->second;
      if (size != 1 && shape[d] != 1 && size != shape[d]) call.invalid("a label is {} and {}", size, shape[d]);
      size = shape[d] != 1 ? shape[d] : size;
    }
  }
  return sizes;
}

Contraction contraction_of(std::span<const Labels> terms, const Labels& result, const Call& call) {
  Contraction c;
  const std::map<int, std::int64_t> sizes = label_sizes(terms, call);
  c.order = result;
  c.kept = result.size();
  for (const auto& [label, size] : sizes) {
    if (std::find(result.begin(), result.end(), label) == result.end()) c.order.push_back(label);
  }
  for (const int label : c.order) {
    const auto found = sizes.find(label);
    if (found == sizes.end()) call.invalid("the result has a label that no input has");
    c.sizes.push_back(found->second);
  }
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const Shape& shape = call.input(t).shape();
    const Ints dense = strides_of(shape);
    Ints& strides = c.strides.emplace_back(c.order.size(), 0);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 1) continue;
      strides[static_cast<std::size_t>(std::find(c.order.begin(), c.order.end(), terms[t][d]) - c.order.begin())] +=
          dense[d];
    }
  }
  return c;
}

template <class C>
Tensor contract(const Contraction& c, const Call& call) {
  std::vector<std::vector<C>> operands;
  for (std::size_t t = 0; t < call.inputs.size(); ++t) operands.push_back(load_all<C>(call.input(t)));
  Shape shape(c.sizes.begin(), c.sizes.begin() + static_cast<std::ptrdiff_t>(c.kept));
  std::vector<C> sums(static_cast<std::size_t>(element_count(shape)), C{0});
  const std::int64_t summed = product(c.sizes, c.kept, c.sizes.size());
  Ints index(c.sizes.size(), 0);
  for (C& sum : sums) {
    count_work(summed);
    for (std::int64_t n = 0; n < summed; ++n, next_index(index, c.sizes)) {
      C value{1};
      for (std::size_t t = 0; t < operands.size(); ++t) {
        std::int64_t offset = 0;
        for (std::size_t d = 0; d < index.size(); ++d) offset += index[d] * c.strides[t][d];
        value *= operands[t][static_cast<std::size_t>(offset)];
      }
      sum += value;
    }
  }
  return tensor_of(call.dtype(), std::move(shape), sums);
}

}  // namespace

Tensors apply(const Einsum& op, const Call& call) {
  const Equation equation = parse(op.equation, call);
  if (equation.terms.size() != call.inputs.size()) {
    call.invalid("equation '{}' has {} terms for {} inputs", op.equation, equation.terms.size(), call.inputs.size());
  }
  std::size_t widest = 0;
  std::vector<Labels> terms;
  for (std::size_t t = 0; t < equation.terms.size(); ++t) {
    const std::size_t rank = call.input(t).shape().size(), letters = letters_in(equation.terms[t]);
    if (letters > rank) call.invalid("input {} has rank {}, its term '{}'", t, rank, equation.terms[t]);
    widest = equation.terms[t].find('.') == std::string::npos ? widest : std::max(widest, rank - letters);
    terms.push_back(labels_of(equation.terms[t], rank - letters, call));
  }
  const Labels result =
      equation.explicit_result ? labels_of(equation.result, widest, call) : implicit_result(terms, widest);
  const Contraction contraction = contraction_of(terms, result, call);
  if (is_real(call.dtype())) return {contract<double>(contraction, call)};
  return {contract<std::uint64_t>(contraction, call)};
}

}  // namespace colonnade::reference
