// SPDX-License-Identifier: Apache-2.0
// The k extremes of lines: elements become keys, and only those above the k-th one so far are looked at.
#include <cmath>
#include <cstring>

#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/lines.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "kernels/move/move.hpp"

namespace colonnade {
namespace {

using kernels::lines::Rank64;

/// Of so few each candidate finds its place at once.
constexpr std::int64_t kFew = 16;
/// Keys that are made at a time; less of them where no limit is known.
constexpr std::int64_t kKeys = 512, kFirstKeys = 64;
/// Lines side by side that are turned together, where they are short enough to stay near.
constexpr std::int64_t kTurned = 8, kMostTurned = 1 << 16;

struct TopForm {
  reference::AxisView view;
  std::int64_t k = 0;
  bool is_wide = false;  ///< keys have 64 bits
  bool turns = false;    ///< lines of elements of 32 bits that lie apart become dense ones first
  Shared shared;         ///< lines, or groups of those that are turned
  std::int64_t groups() const { return ceil_div(view.inner, kTurned); }
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
    if (held_ >= 2 * std::max(k_, kFirstKeys) || (!was_full && held_ >= k_)) cut();
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

class TopKOp final : public RowOp {
 public:
  TopKOp(const LowerContext& context, const TopK& op)
      : kernel_(kernels::lines::select(context.features)),
        move_(kernels::move::select(context.features)),
        in_(context.in<std::byte>(0)),
        values_(context.out<std::byte>()),
        form_(context.form<TopForm>()),
        keys_(kernel_.keys(*line_type(context.input(0).type.dtype))),
        smallest_(!op.largest),
        element_(element_bytes(context.input(0))) {
    if (context.node.outputs.size() > 1) places_ = context.out<std::int64_t>(1);
  }

  void run(const StepContext& step) const override {
    const Interval units = form_.shared.of(step);
    const std::int64_t inner = form_.view.inner;
    for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
      if (form_.turns)
        rank_turned(step, unit / form_.groups(), unit % form_.groups() * kTurned);
      else if (form_.is_wide)
        rank<std::uint64_t>(step, unit, at(step, unit), inner);
      else
        rank<std::uint32_t>(step, unit, at(step, unit), inner);
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  /// The first element of a line.
  const std::byte* at(const StepContext& step, std::int64_t line) const {
    const auto& [outer, size, inner] = form_.view;
    return whole(step, in_) + (line / inner * size * inner + line % inner) * element_;
  }

  /// Lines of one `outer` from `first` on, as dense ones.
  void rank_turned(const StepContext& step, std::int64_t outer, std::int64_t first) const {
    const auto& [outers, size, inner] = form_.view;
    const std::int64_t line = outer * inner + first, count = std::min(kTurned, inner - first);
    auto* const turned = reinterpret_cast<float*>(
        reinterpret_cast<std::uint32_t*>(reinterpret_cast<std::uint64_t*>(step.scratch) + form_.room()) + kKeys);
    move_.pixels_to_planes({static_cast<std::size_t>(size), static_cast<std::size_t>(count),
                            reinterpret_cast<const float*>(at(step, line)), inner, turned, size});
    for (std::int64_t i = 0; i < count; ++i)
      rank<std::uint32_t>(step, line + i, reinterpret_cast<const std::byte*>(turned + i * size), 1);
  }

  /// A line whose elements are `apart` from one another.
  template <class Key>
  void rank(const StepContext& step, std::int64_t line, const std::byte* in, std::int64_t apart) const {
    using Rank = typename Ranking<Key>::Rank;
    auto* ranks = reinterpret_cast<Rank*>(step.scratch);
    auto* keys = reinterpret_cast<Key*>(ranks + form_.room());
    const auto& [outer, size, inner] = form_.view;
    Ranking<Key> ranking(kernel_.above(form_.is_wide), form_.k, ranks);
    for (std::int64_t begin = 0, count = 0; begin < size; begin += count) {
      const std::int64_t wanted = form_.k <= kFew ? std::clamp(begin, kFew, kKeys) : kFirstKeys;
      count = std::min(form_.k > kFew && ranking.is_full() ? kKeys : wanted, size - begin);
      keys_({in + begin * apart * element_, keys, static_cast<std::size_t>(count), apart, smallest_});
      ranking.add(keys, begin, count);
    }
    ranking.finish();
    const std::int64_t target = line / inner * form_.k * inner + line % inner;
    write(whole(step, values_) + target * element_, in, apart, ranks);
    if (!places_) return;
    std::int64_t* places = whole(step, places_) + target;
    for (std::int64_t i = 0; i < form_.k; ++i) places[i * inner] = place_of(ranks[i]);
  }

  template <class Rank>
  void write(std::byte* to, const std::byte* in, std::int64_t apart, const Rank* ranks) const {
    const std::int64_t step = form_.view.inner * element_, from_step = apart * element_;
    for (std::int64_t i = 0; i < form_.k; ++i)
      std::memcpy(to + i * step, in + place_of(ranks[i]) * from_step, static_cast<std::size_t>(element_));
  }

  const kernels::lines::Kernel& kernel_;
  const kernels::move::Kernel& move_;
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
  TopForm form{view, k->front(), size_of(dtype) == 8, false, {}};
  form.turns = size_of(dtype) == sizeof(float) && view.inner > 1 && view.size * kTurned <= kMostTurned;
  form.shared = {view.outer * (form.turns ? form.groups() : view.inner)};
  return take(Form::of(form));
}

std::int64_t units(const Chosen& node) { return node.form<TopForm>().shared.units(); }

/// Ranks, then keys, then lines that are turned.
std::int64_t workspace_bytes(const Chosen& node) {
  const auto& form = node.form<TopForm>();
  const auto rank = static_cast<std::int64_t>(form.is_wide ? sizeof(Rank64) : sizeof(std::uint64_t));
  const std::int64_t turned = form.turns ? kTurned * form.view.size * static_cast<std::int64_t>(sizeof(float)) : 0;
  return form.room() * rank + kKeys * static_cast<std::int64_t>(form.is_wide ? 8 : 4) + turned;
}

/// A look at every element, and what sorting takes.
Effort effort(const Chosen& node, const Rates& rates) {
  const auto& form = node.form<TopForm>();
  const auto lines = static_cast<double>(form.view.outer * form.view.inner), k = static_cast<double>(form.k);
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
