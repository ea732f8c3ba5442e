// SPDX-License-Identifier: Apache-2.0
#include "api/growing.hpp"

#include <algorithm>
#include <cstring>

#include "base/log.hpp"
#include "kernels/base/copy.hpp"

namespace colonnade {
namespace {

constexpr std::int64_t kLeastClass = 255;
constexpr std::size_t kMostPatterns = 16, kMostRecent = 4;
constexpr int kMostHalves = 3;   // of a class, where it is none as a whole
constexpr int kMostRefused = 8;  // after which a network is taken for none that grows

std::size_t bytes_of_shape(DType dtype, const Shape& shape) {
  return static_cast<std::size_t>(element_count(shape)) * size_of(dtype);
}

}  // namespace

std::int64_t last_of_class(std::int64_t length) {
  std::int64_t last = kLeastClass;
  while (last < length) last = 2 * last + 1;
  return last;
}

std::vector<Shape> GrownCall::output_shapes() const {
  std::vector<Shape> shapes;
  const Graph& graph = *grown->network.graph;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i)
    shapes.push_back(shape_at(graph.value(graph.outputs[i]).type.static_shape(), grown->network.outputs[i], length));
  return shapes;
}

void GrowingPlans::watch(std::shared_ptr<const Graph> graph) {
  const auto is_tensor = [&](ValueId id) { return graph->value(id).type.is_tensor(); };
  const auto attends = [](const Node& node) { return std::holds_alternative<Attention>(node.op); };
  if (std::all_of(graph->inputs.begin(), graph->inputs.end(), is_tensor) &&
      std::any_of(graph->nodes.begin(), graph->nodes.end(), attends))
    graph_ = std::move(graph);
}

std::optional<std::int64_t> GrowingPlans::Pattern::length_of(std::span<const TensorView> inputs) const {
  std::optional<std::int64_t> length;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Shape &wanted = shapes[i], &found = inputs[i].shape;
    if (wanted.size() != found.size()) return std::nullopt;
    for (std::size_t axis = 0; axis < found.size(); ++axis) {
      const bool grows = axes[i] && axes[i]->axis == axis;
      if (!grows && wanted[axis] != found[axis]) return std::nullopt;
      if (!grows) continue;
      const std::int64_t own = found[axis] - axes[i]->behind;
      if (own < 1 || (length && *length != own)) return std::nullopt;
      length = own;
    }
  }
  return length;
}

std::optional<GrowingPlans::Pattern> GrowingPlans::pattern_of(const std::vector<Shape>& before,
                                                              std::span<const TensorView> now) {
  Pattern pattern;
  std::int64_t by = 0, least = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    Shape shape = now[i].shape;
    pattern.axes.emplace_back();
    if (shape.size() != before[i].size()) return std::nullopt;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const std::int64_t apart = shape[axis] - before[i][axis];
      if (apart == 0) continue;
      if (pattern.axes[i] || (by != 0 && apart != by)) return std::nullopt;
      least = by == 0 ? shape[axis] : std::min(least, shape[axis]);
      by = apart;
      pattern.axes[i] = GrowingAxis{axis, shape[axis]};
      shape[axis] = -1;
    }
    pattern.shapes.push_back(std::move(shape));
  }
  for (auto& axis : pattern.axes)
    if (axis) axis->behind -= least;
  return by == 0 ? std::nullopt : std::optional(std::move(pattern));
}

std::shared_ptr<const Grown> GrowingPlans::made(const Pattern& pattern, std::int64_t first, std::int64_t last) const {
  auto grown = std::make_shared<Grown>();
  grown->shapes = {std::min(first, last - 2), last, pattern.shapes, pattern.axes};
  for (std::size_t i = 0; i < pattern.shapes.size(); ++i)
    grown->shapes.shapes[i] = shape_at(pattern.shapes[i], pattern.axes[i], last);
  grown->network = grow_cache(*graph_, grown->shapes);
  return grown;
}

/// Where a class is none, lengths up to a size that stays are: those of a cache with room for all. Else the half of it
/// that the length is in, or a half of that: a table of positions may end within the class.
std::shared_ptr<const Grown> GrowingPlans::class_of(Pattern& pattern, std::int64_t length) {
  const auto found = std::find_if(pattern.classes.begin(), pattern.classes.end(), [&](const auto& grown) {
    return grown->shapes.first <= length && length <= grown->shapes.last;
  });
  if (found != pattern.classes.end()) return *found;
  std::int64_t last = last_of_class(length), first = last == kLeastClass ? 1 : (last + 1) / 2;
  const auto whole = made(pattern, first, last);
  std::int64_t room = 0;
  for (const Shape& shape : pattern.shapes)
    for (const std::int64_t size : shape)
      if (size >= std::max<std::int64_t>(length, 3) && size < last) room = std::max(room, size);
  auto grown = whole;
  if (!grown->network.graph && room > 0) grown = made(pattern, first, room);
  for (int halves = 0; !grown->network.graph && halves < kMostHalves; ++halves) {
    const std::int64_t middle = (first + last) / 2;
    (length <= middle ? last = middle : first = middle + 1);
    grown = made(pattern, first, last);
  }
  if (!grown->network.graph) {
    grown = whole;
    log_line(LogLevel::debug, "lengths {} to {} have plans of their own: {}", grown->shapes.first, grown->shapes.last,
             grown->network.reason);
  }
  refused_ = grown->network.graph ? -1 : refused_ + (refused_ < 0 ? 0 : 1);
  pattern.classes.push_back(grown);
  return grown;
}

void GrowingPlans::remember(std::span<const TensorView> inputs) {
  if (recent_.size() < kMostRecent) {
    recent_.emplace_front();
  } else {
    recent_.splice(recent_.begin(), recent_, std::prev(recent_.end()));
  }
  recent_.front().resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) recent_.front()[i] = inputs[i].shape;
}

GrownCall GrowingPlans::find(std::span<const TensorView> inputs) {
  if (!graph_) return {};
  const std::lock_guard lock(mutex_);
  if (refused_ == kMostRefused) return {};
  const auto call_of = [&](Pattern& pattern) -> std::optional<GrownCall> {
    const auto length = pattern.length_of(inputs);
    if (!length) return std::nullopt;
    GrownCall call{class_of(pattern, *length), *length};
    if (!call.grown->network.graph || call.grown->is_split) call.grown = nullptr;
    return call;
  };
  for (Pattern& pattern : patterns_)
    if (auto call = call_of(pattern)) return *std::move(call);
  std::optional<Pattern> fresh;
  for (const auto& before : recent_)
    if (!fresh) fresh = pattern_of(before, inputs);
  remember(inputs);
  if (!fresh || !fresh->length_of(inputs)) return {};
  if (patterns_.size() == kMostPatterns) patterns_.pop_front();
  return call_of(patterns_.emplace_back(*std::move(fresh))).value_or(GrownCall{});
}

std::string GrowingPlans::tell(const Graph& graph, const std::vector<Shape>& shapes) {
  GrowingShapes guess{1, kLeastClass, shapes, {}};
  std::int64_t past = -1, behind = 1;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Value& value = graph.value(graph.inputs[i]);
    guess.axes.emplace_back();
    if (!value.type.shape) continue;
    const Shape& open = *value.type.shape;
    const bool is_cache = value.type.dtype == DType::f32 && open.size() >= 4 && open[open.size() - 2] < 0;
    const bool is_mask = open.size() == 2 && open[1] < 0 && value.name.find("mask") != std::string::npos;
    if (is_cache) guess.axes[i] = GrowingAxis{open.size() - 2, 0};
    if (is_mask) guess.axes[i] = GrowingAxis{1, 0};
    if (is_cache) past = shapes[i][open.size() - 2];
    if (open.size() == 2 && !is_mask && value.type.dtype != DType::f32)
      behind = std::max<std::int64_t>(1, shapes[i][1]);
  }
  if (past < 0) return {};
  for (std::size_t i = 0; i < guess.axes.size(); ++i)
    if (guess.axes[i] && shapes[i].size() == 2) guess.axes[i]->behind = behind;
  std::string reason;
  for (int halves = 0; halves <= kMostHalves; ++halves, guess.last /= 2) {
    for (std::size_t i = 0; i < guess.axes.size(); ++i)
      if (guess.axes[i]) guess.shapes[i] = shape_at(shapes[i], guess.axes[i], guess.last);
    const GrowingNetwork network = grow_cache(graph, guess);
    if (network.graph && halves == 0) return "one plan for lengths up to 255, 511, 1023, ..";
    if (network.graph) return fmt::format("one plan for lengths up to {}, others for longer ones", guess.last);
    if (halves == 0) reason = network.reason;
  }
  return "a plan each length: " + reason;
}

std::span<const TensorView> GrownInputs::set(const GrownCall& call, std::span<const TensorView> inputs) {
  const Grown& grown = *call.grown;
  padded_.resize(inputs.size());
  views_.clear();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = grown.shapes.shapes[i];
    const TensorView& view = inputs[i];
    views_.emplace_back(view.dtype, shape, view.data);
    const auto& axis = grown.shapes.axes[i];
    if (!axis || grown.network.in_place[i]) continue;
    const auto tail = [&](const Shape& of) {
      return bytes_of_shape(view.dtype, Shape(of.begin() + static_cast<std::ptrdiff_t>(axis->axis), of.end()));
    };
    const std::size_t all = tail(shape), given = tail(view.shape), blocks = bytes_of_shape(view.dtype, shape) / all;
    padded_[i].resize(blocks * all);
    const auto* from = static_cast<const std::byte*>(view.data);
    for (std::size_t block = 0; block < blocks; ++block) {
      kernels::copy_memory(padded_[i].data() + block * all, from + block * given, given);
      std::memset(padded_[i].data() + block * all + given, 0, all - given);
    }
    views_.back().data = padded_[i].data();
  }
  length_ = call.length;
  views_.emplace_back(DType::i64, Shape{1}, &length_);
  return views_;
}

std::size_t GrownInputs::bytes() const {
  std::size_t sum = 0;
  for (const auto& input : padded_) sum += input.capacity();
  return sum;
}

}  // namespace colonnade
