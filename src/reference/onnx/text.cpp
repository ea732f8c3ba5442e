// SPDX-License-Identifier: Apache-2.0
// Strings: StringNormalizer, StringConcat, StringSplit, RegexFullMatch.
#include <algorithm>
#include <clocale>
#include <cwctype>
#include <unordered_set>

#include "base/lists.hpp"
#include "base/printable.hpp"
#include "graph/shape_rules.hpp"
#include "reference/call.hpp"
#include "reference/elements.hpp"
#include "reference/indexing.hpp"
#include "reference/onnx/definitions.hpp"
#include "reference/onnx/regex.hpp"

namespace colonnade::reference {
namespace {

using Strings = std::vector<std::string>;

Tensor strings_tensor(Shape shape, Strings strings) {
  Tensor tensor(DType::string, std::move(shape));
  tensor.strings() = std::move(strings);
  return tensor;
}

// Characters beyond ASCII: UTF-8 is decoded, what is none of it passes as it is.

/// Bytes of the character that starts at the front; 1 for what is no UTF-8.
std::size_t decode(std::string_view text, char32_t& character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0xc2 ? 1 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : byte(0) < 0xf5 ? 4 : 1;
  character = byte(0);
  if (length == 1 || length > text.size()) return 1;
  character = byte(0) & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 1;
    character = character << 6 | (byte(i) & 0x3fU);
  }
  return length;
}

void encode(char32_t character, std::string& text) {
  const auto append = [&](char32_t bits) { text += static_cast<char>(bits); };
  if (character < 0x80) return append(character);
  if (character < 0x800) {
    append(0xc0 | character >> 6);
  } else if (character < 0x10000) {
    append(0xe0 | character >> 12);
    append(0x80 | (character >> 6 & 0x3f));
  } else {
    append(0xf0 | character >> 18);
    append(0x80 | (character >> 12 & 0x3f));
    append(0x80 | (character >> 6 & 0x3f));
  }
  append(0x80 | (character & 0x3f));
}

enum class Case : std::uint8_t { none, lower, upper };

/// The locale whose letters count: Unicode's, whatever the process has set.
class Letters {
 public:
  Letters() : locale_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {}
  Letters(const Letters&) = delete;
  Letters& operator=(const Letters&) = delete;
  ~Letters() {
    if (locale_ != nullptr) freelocale(locale_);
  }

  std::string in(Case form, std::string_view text) const {
    if (form == Case::none) return std::string(text);
    std::string result;
    while (!text.empty()) {
      char32_t character = 0;
      const std::size_t length = decode(text, character);
      if (length == 1 && character >= 0x80) {
        result += text[0];
      } else {
        encode(changed(form, character), result);
      }
      text.remove_prefix(length);
    }
    return result;
  }

 private:
  char32_t changed(Case form, char32_t character) const {
    const auto wide = static_cast<wint_t>(character);
    if (locale_ == nullptr) {
      return static_cast<char32_t>(form == Case::lower ? std::towlower(wide) : std::towupper(wide));
    }
    return static_cast<char32_t>(form == Case::lower ? towlower_l(wide, locale_) : towupper_l(wide, locale_));
  }

  locale_t locale_;
};

// StringNormalizer

struct Normalization {
  Case form = Case::none;
  bool case_sensitive = false;
  std::unordered_set<std::string> stopwords;  // in lower case unless case counts
  Letters letters;
};

std::shared_ptr<const void> prepare_normalizer(const Opaque& op) {
  auto read = std::make_shared<Normalization>();
  const std::string action = op.string_or("case_change_action", "NONE");
  if (action != "NONE" && action != "LOWER" && action != "UPPER") {
    fail(ErrorCode::invalid_model, "attribute 'case_change_action': '{}' does not exist", printable(action));
  }
  read->form = action == "NONE" ? Case::none : action == "LOWER" ? Case::lower : Case::upper;
  read->case_sensitive = op.int_or("is_case_sensitive", 0) != 0;
  op.string_or("locale", "");
  for (const std::string& word : op.strings_or("stopwords")) {
    read->stopwords.insert(read->letters.in(read->case_sensitive ? Case::none : Case::lower, word));
  }
  return read;
}

Types infer_normalizer(const Opaque&, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  ctx.dtype_is(0, DType::string);
  if (!ctx.shape(0)) return {{DType::string, std::nullopt}};
  Shape shape = *ctx.shape(0);
  const bool is_row = shape.size() == 2 && dims_agree(shape[0], 1);
  if (shape.size() != 1 && !is_row) ctx.fail("expected [n] or [1,n], found {}", to_text(ctx.type(0)));
  shape.front() = is_row ? 1 : kUnknownDim;
  shape.back() = kUnknownDim;
  return {{DType::string, shape}};
}

Data evaluate_normalizer(const Opaque& op, const Call& call) {
  const auto& normalization = op.prepared_as<Normalization>();
  const Tensor& x = call.input(0);
  if (x.shape().size() == 2 && x.shape()[0] != 1) call.invalid("expected [1,n], found {} rows", x.shape()[0]);
  Strings kept;
  for (const std::string& word : x.strings()) {
    const std::string key = normalization.letters.in(normalization.case_sensitive ? Case::none : Case::lower, word);
    if (!normalization.stopwords.contains(key)) kept.push_back(normalization.letters.in(normalization.form, word));
  }
  if (kept.empty()) kept.emplace_back();
  Shape shape(x.shape().size(), 1);
  shape.back() = static_cast<std::int64_t>(kept.size());
  return {strings_tensor(std::move(shape), std::move(kept))};
}

// StringConcat

Types infer_string_concat(const Opaque&, const RuleContext& ctx) {
  ctx.inputs(2, 2);
  ctx.dtype_is(0, DType::string);
  ctx.dtype_is(1, DType::string);
  return {{DType::string, broadcast(ctx, ctx.shape(0), ctx.shape(1))}};
}

Data evaluate_string_concat(const Opaque&, const Call& call) {
  const Tensor &a = call.input(0), &b = call.input(1);
  const Shape& shape = call.shape();
  Tensor y(DType::string, shape);
  std::size_t next = 0;
  const auto join = [&](const auto& offsets, std::int64_t count, const auto& steps) {
    for (std::int64_t i = 0; i < count; ++i) {
      y.strings()[next++] = a.strings()[static_cast<std::size_t>(offsets[0] + i * steps[0])] +
                            b.strings()[static_cast<std::size_t>(offsets[1] + i * steps[1])];
    }
  };
  for_each_row<2>(shape, {broadcast_strides(a.shape(), shape), broadcast_strides(b.shape(), shape)}, join);
  return {std::move(y)};
}

// StringSplit: outputs parts [..., most parts], their numbers.

Types infer_string_split(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  ctx.dtype_is(0, DType::string);
  op.string_or("delimiter", "");
  op.int_or("maxsplit", -1);
  ValueType parts{DType::string, ctx.shape(0)};
  if (parts.shape) parts.shape->push_back(kUnknownDim);
  return {parts, {DType::i64, ctx.shape(0)}};
}

constexpr std::string_view kSpaces = " \t\n\v\f\r";

/// The words between spaces; after `limit` splits the rest, which keeps its spaces at the end.
Strings words_of(std::string_view text, std::size_t limit) {
  Strings words;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
    if (text.empty()) return words;
    const std::size_t end = words.size() == limit ? text.size() : std::min(text.find_first_of(kSpaces), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

Strings parts_of(std::string_view text, std::string_view delimiter, std::size_t limit) {
  Strings parts;
  while (true) {
    const std::size_t end = parts.size() == limit ? std::string_view::npos : text.find(delimiter);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + delimiter.size());
  }
}

Data evaluate_string_split(const Opaque& op, const Call& call) {
  const std::string delimiter = op.string_or("delimiter", "");
  const std::int64_t given = op.int_or("maxsplit", -1);
  const std::size_t limit = given < 0 ? std::string::npos : static_cast<std::size_t>(given);
  std::vector<Strings> rows;
  Ints counts;
  for (const std::string& text : call.input(0).strings()) {
    rows.push_back(delimiter.empty() ? words_of(text, limit) : parts_of(text, delimiter, limit));
    counts.push_back(static_cast<std::int64_t>(rows.back().size()));
  }
  const std::int64_t most = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  Shape shape = call.input(0).shape();
  Tensor numbers = ints_tensor(counts).reshaped(shape);
  shape.push_back(most);
  Tensor parts(DType::string, std::move(shape));
  auto to = parts.strings().begin();
  for (Strings& row : rows) {
    std::move(row.begin(), row.end(), to);
    to += most;
  }
  return {std::move(parts), std::move(numbers)};
}

// RegexFullMatch

std::shared_ptr<const void> prepare_pattern(const Opaque& op) {
  return std::make_shared<Regex>(op.string_or("pattern", ""));
}

Types infer_match(const Opaque&, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  ctx.dtype_is(0, DType::string);
  return {{DType::boolean, ctx.shape(0)}};
}

Data evaluate_match(const Opaque& op, const Call& call) {
  const Regex& pattern = op.prepared_as<Regex>();
  Tensor y(DType::boolean, call.shape());
  std::uint8_t* to = y.values<std::uint8_t>().data();
  for (const std::string& text : call.input(0).strings()) *to++ = pattern.matches(text) ? 1 : 0;
  return {std::move(y)};
}

}  // namespace

constexpr Definition kStringNormalizer{"StringNormalizer", infer_normalizer, evaluate_normalizer, false,
                                       prepare_normalizer};
constexpr Definition kStringConcat{"StringConcat", infer_string_concat, evaluate_string_concat};
constexpr Definition kStringSplit{"StringSplit", infer_string_split, evaluate_string_split};
constexpr Definition kRegexFullMatch{"RegexFullMatch", infer_match, evaluate_match, false, prepare_pattern};

}  // namespace colonnade::reference
