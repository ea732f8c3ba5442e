// SPDX-License-Identifier: Apache-2.0
// The k extremes of lines: elements become keys, and only those above the k-th one so far are looked at.
#include <cmath>
#include <cstring>

#include "families/common.hpp"
#include "families/lines.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"

namespace colonnade {
namespace {

using kernels::lines::Rank64;

/// Of so few each candidate finds its place at once.
constexpr std::int64_t kFew = 16;
/// Keys that are made at a time; less of them where no limit is known.
constexpr std::int64_t kKeys = 512, kFirstKeys = 64;

struct TopForm {
  reference::AxisView view;
  std::int64_t k = 0;
  bool is_wide = false;  ///< keys have 64 bits
  Shared shared;         ///< lines
  std::int64_t room() const { return 2 * std::max(k, kFirstKeys) + kKeys; }
};

/// A rank of a key of 32 bits: the key, then the inverted place.
std::uint64_t ranked(std::uint32_t key, std::int64_t place) {
  return (std::uint64_t{key} << 32) | static_cast<std::uint32_t>(~place);
}
Rank64 ranked(std::uint64_t key, std::int64_t place) { return {key, ~static_cast<std::uint64_t>(place)}; }
std::uint64_t key_of(std::uint64_t rank) { return rank >> 32; }
std::uint64_t key_of(const Rank64& rank) { return rank.key; }
std::int64_t place_of(std::uint64_t rank) { return static_cast<std::int64_t>(~static_cast<std::uint32_t>(rank)); }
std::int64_t place_of(const Rank64& rank) { return static_cast<std::int64_t>(~rank.place); }

struct Higher {
  bool operator()(std::uint64_t a, std::uint64_t b) const { return a > b; }
  bool operator()(const Rank64& a, const Rank64& b) const { return a.key != b.key ? a.key > b.key : a.place > b.place; }
};

/// The highest ranks of one line, [0, k) of `ranks` in the end.
template <class Key>
class Ranking {
 public:
  using Rank = decltype(ranked(Key{}, 0));

  Ranking(kernels::lines::AboveFn above, std::int64_t k, Rank* ranks) : above_(above), k_(k), ranks_(ranks) {}

  void add(const Key* keys, std::int64_t first, std::int64_t count) {
    Rank* const begin = ranks_ + held_;
    std::int64_t found = count;
    if (held_ < k_) {
      for (std::int64_t i = 0; i < count; ++i) begin[i] = ranked(keys[i], first + i);
    } else {
      found = static_cast<std::int64_t>(above_(
          {keys, static_cast<std::size_t>(count), static_cast<std::size_t>(first), key_of(ranks_[k_ - 1]), begin}));
    }
    if (k_ <= kFew) return insert(begin, begin + found);
    const bool was_full = held_ >= k_;
    held_ += found;
    if (held_ >= 2 * std::max(k_, kFirstKeys) || (!was_full && held_ > k_)) cut();
  }

  void finish() {
    if (k_ <= kFew) return;
    if (held_ > k_) cut();
    std::sort(ranks_, ranks_ + k_, Higher());
  }

  /// Whether there is a limit that keys have to exceed.
  bool is_full() const { return held_ >= k_; }

 private:
  /// Candidates that lie behind those held, which are in order.
  void insert(const Rank* begin, const Rank* end) {
    const Higher higher;
    for (; begin != end; ++begin) {
      const Rank candidate = *begin;
      if (held_ == k_ && !higher(candidate, ranks_[k_ - 1])) continue;
      std::int64_t at = held_ < k_ ? held_++ : k_ - 1;
      for (; at > 0 && higher(candidate, ranks_[at - 1]); --at) ranks_[at] = ranks_[at - 1];
      ranks_[at] = candidate;
    }
  }
  /// The k-th one is where it belongs, and none behind it.
  void cut() {
    std::nth_element(ranks_, ranks_ + k_ - 1, ranks_ + held_, Higher());
    held_ = k_;
  }

  kernels::lines::AboveFn above_;
  std::int64_t k_, held_ = 0;
  Rank* ranks_;
};

/// Units are lines.
class TopKOp final : public RowOp {
 public:
  TopKOp(const LowerContext& context, const TopK& op)
      : kernel_(kernels::lines::select(context.features)),
        in_(context.in<std::byte>(0)),
        values_(context.out<std::byte>()),
        form_(context.form<TopForm>()),
        keys_(kernel_.keys(*line_type(context.input(0).type.dtype))),
        smallest_(!op.largest),
        element_(element_bytes(context.input(0))) {
    if (context.node.outputs.size() > 1) places_ = context.out<std::int64_t>(1);
  }

  void run(const StepContext& step) const override {
    const Interval lines = form_.shared.of(step);
    for (std::int64_t line = lines.begin; line < lines.end; ++line)
      form_.is_wide ? rank<std::uint64_t>(step, line) : rank<std::uint32_t>(step, line);
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  template <class Key>
  void rank(const StepContext& step, std::int64_t line) const {
    using Rank = typename Ranking<Key>::Rank;
    auto* ranks = reinterpret_cast<Rank*>(step.scratch);
    auto* keys = reinterpret_cast<Key*>(ranks + form_.room());
    const auto& [outer, size, inner] = form_.view;
    const std::int64_t place = line / inner * size * inner + line % inner;
    const std::byte* in = whole(step, in_) + place * element_;
    Ranking<Key> ranking(kernel_.above(form_.is_wide), form_.k, ranks);
    for (std::int64_t begin = 0, count = 0; begin < size; begin += count) {
      count = std::min(ranking.is_full() ? kKeys : kFirstKeys, size - begin);
      keys_({in + begin * inner * element_, keys, static_cast<std::size_t>(count), inner, smallest_});
      ranking.add(keys, begin, count);
    }
    ranking.finish();
    const std::int64_t target = line / inner * form_.k * inner + line % inner;
    write(whole(step, values_) + target * element_, in, ranks);
    if (!places_) return;
    std::int64_t* places = whole(step, places_) + target;
    for (std::int64_t i = 0; i < form_.k; ++i) places[i * inner] = place_of(ranks[i]);
  }

  template <class Rank>
  void write(std::byte* to, const std::byte* in, const Rank* ranks) const {
    const std::int64_t step = form_.view.inner * element_;
    for (std::int64_t i = 0; i < form_.k; ++i)
      std::memcpy(to + i * step, in + place_of(ranks[i]) * step, static_cast<std::size_t>(element_));
  }

  const kernels::lines::Kernel& kernel_;
  ValueOf<std::byte> in_, values_;
  ValueOf<std::int64_t> places_;
  TopForm form_;
  kernels::lines::KeyFn keys_;
  bool smallest_;
  std::int64_t element_;  ///< bytes
};

Match match(const Candidate& node) {
  const auto* op = std::get_if<TopK>(&node.node.op);
  if (op == nullptr) return refuse();
  const Shape& shape = node.input_shape(0);
  const auto k = constant_ints(node.graph, node.node, 1);
  const DType dtype = node.input(0).type.dtype;
  if (!line_type(dtype)) return refuse("type has no kernel");
  if (!k || k->size() != 1 || shape.empty()) return refuse("k is not a constant");
  const auto view = reference::axis_view(shape, normalize_axis(op->axis, std::ssize(shape), node.node));
  constexpr std::int64_t kMostPlaces = std::int64_t{1} << 31;
  if (k->front() < 1 || k->front() > view.size || view.size > kMostPlaces) return refuse("k or axis out of range");
  return take(Form::of(TopForm{view, k->front(), size_of(dtype) == 8, {view.outer * view.inner}}));
}

std::int64_t units(const Chosen& node) { return node.form<TopForm>().shared.units(); }

/// Ranks, then keys.
std::int64_t workspace_bytes(const Chosen& node) {
  const auto& form = node.form<TopForm>();
  const auto rank = static_cast<std::int64_t>(form.is_wide ? sizeof(Rank64) : sizeof(std::uint64_t));
  return form.room() * rank + kKeys * static_cast<std::int64_t>(form.is_wide ? 8 : 4);
}

/// A look at every element, and what sorting takes.
Effort effort(const Chosen& node, const Rates& rates) {
  const auto& form = node.form<TopForm>();
  const auto lines = static_cast<double>(form.shared.total), k = static_cast<double>(form.k);
  const double steps = static_cast<double>(form.view.size) + 4 * k * std::log2(1 + k);
  return {rates.seconds(Work::function, lines * steps, 1)};
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  return std::make_unique<TopKOp>(context, std::get<TopK>(context.node.op));
}

}  // namespace

constinit const Family families::top_k = whole_family({.name = "top_k",
                                                       .types = kAllTypes,
                                                       .match = match,
                                                       .units = units,
                                                       .effort = effort,
                                                       .weights_bytes = no_bytes,
                                                       .workspace_bytes = workspace_bytes,
                                                       .lower = lower});

}  // namespace colonnade
