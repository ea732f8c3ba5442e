// SPDX-License-Identifier: Apache-2.0
// TfIdfVectorizer: how often the n-grams of a pool occur, with up to some items skipped between their own.
#include <algorithm>
#include <unordered_map>

#include "base/checked.hpp"
#include "base/printable.hpp"
#include "graph/shape_rules.hpp"
#include "reference/call.hpp"
#include "reference/elements.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::reference {
namespace {

/// The pool: items by number, n-grams as walks from the root of a tree.
struct Pool {
  static constexpr std::int32_t kNone = -1;
  std::unordered_map<std::int64_t, std::int32_t> integers;
  std::unordered_map<std::string, std::int32_t> strings;
  std::unordered_map<std::uint64_t, std::int32_t> edges;  // of (node, item)
  std::vector<std::int32_t> columns = {kNone};            // of the output, by the node where a gram ends
  std::vector<double> weights;                            // by column
  std::int64_t width = 0, shortest = 1, longest = 1, skips = 0;
  bool caps = false;  // IDF: that a gram occurs counts, not how often
  bool of_strings = false;

  static std::uint64_t edge(std::int32_t node, std::int32_t item) {
    return static_cast<std::uint64_t>(node) << 32 | static_cast<std::uint32_t>(item);
  }
  std::int32_t next(std::int32_t node, std::int32_t item) const {
    const auto found = edges.find(edge(node, item));
    return found == edges.end() ? kNone : found->second;
  }
};

template <class Item>
std::vector<std::int32_t> numbered(const std::vector<Item>& items, std::unordered_map<Item, std::int32_t>& numbers) {
  std::vector<std::int32_t> result;
  for (const Item& item : items) {
    result.push_back(numbers.try_emplace(item, static_cast<std::int32_t>(numbers.size())).first->second);
  }
  return result;
}

/// The pool's grams, those of one item first, then those of two, ...: `starts` says where each length begins.
void add_grams(Pool& pool, const std::vector<std::int32_t>& items, const Ints& starts, const Ints& columns) {
  std::size_t gram = 0;
  for (std::size_t n = 1; n <= starts.size(); ++n) {
    const auto begin = static_cast<std::size_t>(starts[n - 1]);
    const std::size_t end = n < starts.size() ? static_cast<std::size_t>(starts[n]) : items.size();
    if ((end - begin) % n != 0) {
      fail(ErrorCode::invalid_model, "the pool holds {} items for grams of {}", end - begin, n);
    }
    for (std::size_t at = begin; at < end; at += n, ++gram) {
      if (gram >= columns.size()) fail(ErrorCode::invalid_model, "the pool holds more grams than 'ngram_indexes'");
      std::int32_t node = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const auto fresh = static_cast<std::int32_t>(pool.columns.size());
        const auto [edge, is_fresh] = pool.edges.try_emplace(Pool::edge(node, items[at + i]), fresh);
        if (is_fresh) pool.columns.push_back(Pool::kNone);
        node = edge->second;
      }
      pool.columns[static_cast<std::size_t>(node)] = static_cast<std::int32_t>(columns[gram]);
    }
  }
  if (gram != columns.size()) {
    fail(ErrorCode::invalid_model, "attribute 'ngram_indexes': expected {} values, found {}", gram, columns.size());
  }
}

void read_weights(const Opaque& op, const std::string& mode, const Ints& columns, Pool& pool) {
  pool.weights.assign(static_cast<std::size_t>(pool.width), 1);
  const std::vector<float> weights = op.floats_or("weights");
  if (mode == "TF" || weights.empty()) return;
  if (weights.size() != columns.size()) {
    fail(ErrorCode::invalid_model, "attribute 'weights': expected {} values, found {}", columns.size(), weights.size());
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    pool.weights[static_cast<std::size_t>(columns[i])] = static_cast<double>(weights[i]);
  }
}

constexpr std::int64_t kMaxColumns = std::int64_t{1} << 28;

std::shared_ptr<const void> prepare_pool(const Opaque& op) {
  auto pool = std::make_shared<Pool>();
  const std::string mode = op.string_of("mode");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") {
    fail(ErrorCode::invalid_model, "attribute 'mode': '{}' does not exist", printable(mode));
  }
  pool->caps = mode == "IDF";
  pool->shortest = op.int_of("min_gram_length");
  pool->longest = op.int_of("max_gram_length");
  pool->skips = op.int_of("max_skip_count");
  if (pool->shortest < 1 || pool->longest < pool->shortest || pool->skips < 0) {
    fail(ErrorCode::invalid_model, "grams of {} to {} items with {} skipped make no sense", pool->shortest,
         pool->longest, pool->skips);
  }
  const Ints starts = op.ints_or("ngram_counts"), columns = op.ints_or("ngram_indexes");
  const Ints integers = op.ints_or("pool_int64s");
  const auto strings = op.strings_or("pool_strings");
  if (!integers.empty() && !strings.empty()) fail(ErrorCode::invalid_model, "expected one pool, found two");
  pool->of_strings = !strings.empty();
  const auto items = pool->of_strings ? numbered(strings, pool->strings) : numbered(integers, pool->integers);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const bool in_order =
        starts[i] >= (i == 0 ? 0 : starts[i - 1]) && starts[i] <= static_cast<std::int64_t>(items.size());
    if (!in_order) fail(ErrorCode::invalid_model, "attribute 'ngram_counts': {} is out of order", starts[i]);
  }
  for (const std::int64_t column : columns) {
    if (column < 0 || column >= kMaxColumns) {
      fail(ErrorCode::invalid_model, "attribute 'ngram_indexes': {} is out of range", column);
    }
    pool->width = std::max(pool->width, column + 1);
  }
  add_grams(*pool, items, starts, columns);
  read_weights(op, mode, columns, *pool);
  return pool;
}

Types infer_tfidf(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  const auto& pool = op.prepared_as<Pool>();
  const DType dtype = ctx.dtype(0);
  if (dtype != DType::undefined && dtype != DType::string && dtype != DType::i32 && dtype != DType::i64) {
    ctx.fail("expected strings or integers, found {}", name_of(dtype));
  }
  if (!ctx.shape(0)) return {{DType::f32, std::nullopt}};
  const Shape& x = *ctx.shape(0);
  if (x.size() != 1 && x.size() != 2) ctx.fail("expected [n] or [batch,n], found {}", to_text(ctx.type(0)));
  return {{DType::f32, x.size() == 1 ? Shape{pool.width} : Shape{x[0], pool.width}}};
}

template <class Item>
std::vector<std::int32_t> looked_up(std::span<const Item> items, const std::unordered_map<Item, std::int32_t>& known) {
  std::vector<std::int32_t> result;
  for (const Item& item : items) {
    const auto found = known.find(item);
    result.push_back(found == known.end() ? Pool::kNone : found->second);
  }
  return result;
}

/// Counts the grams whose items lie `step` apart. Those of one item have no step: they are counted with the first.
void count_grams(const Pool& pool, std::span<const std::int32_t> items, std::size_t step, std::span<double> counts) {
  for (std::size_t start = 0; start < items.size(); ++start) {
    std::int32_t node = 0;
    std::size_t at = start;
    for (std::int64_t n = 1; n <= pool.longest && at < items.size(); ++n, at += step) {
      if (items[at] == Pool::kNone) break;
      node = pool.next(node, items[at]);
      if (node == Pool::kNone) break;
      const std::int32_t column = pool.columns[static_cast<std::size_t>(node)];
      const bool counted = n >= pool.shortest && (n > 1 || step == 1);
      if (counted && column != Pool::kNone) counts[static_cast<std::size_t>(column)] += 1;
    }
  }
}

Data evaluate_tfidf(const Opaque& op, const Call& call) {
  const auto& pool = op.prepared_as<Pool>();
  const Tensor& x = call.input(0);
  if ((x.dtype() == DType::string) != pool.of_strings && !pool.weights.empty()) {
    call.invalid("expected items as those of the pool, found {}", name_of(x.dtype()));
  }
  const std::vector<std::int32_t> items = pool.of_strings
                                              ? looked_up<std::string>(x.strings(), pool.strings)
                                              : looked_up<std::int64_t>(load_all<std::int64_t>(x), pool.integers);
  const std::int64_t rows = x.shape().size() == 1 ? 1 : x.shape()[0];
  const auto length = static_cast<std::size_t>(x.shape().back()), width = static_cast<std::size_t>(pool.width);
  Tensor y(DType::f32, call.shape());
  std::vector<double> counts(width);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::fill(counts.begin(), counts.end(), 0);
    const auto line = std::span(items).subspan(static_cast<std::size_t>(row) * length, length);
    const std::int64_t steps = std::min(pool.skips + 1, std::max<std::int64_t>(1, static_cast<std::int64_t>(length)));
    for (std::int64_t step = 1; step <= steps; ++step) {
      count_grams(pool, line, static_cast<std::size_t>(step), counts);
    }
    for (std::size_t i = 0; i < width; ++i) {
      counts[i] = (pool.caps ? std::min(counts[i], 1.0) : counts[i]) * pool.weights[i];
    }
    store(counts.data(), pool.width, y, row * pool.width);
  }
  return {std::move(y)};
}

}  // namespace

constexpr Definition kTfIdfVectorizer{"TfIdfVectorizer", infer_tfidf, evaluate_tfidf, false, prepare_pool};

}  // namespace colonnade::reference
