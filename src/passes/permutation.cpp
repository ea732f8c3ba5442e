// SPDX-License-Identifier: Apache-2.0
#include "passes/permutation.hpp"

#include <algorithm>
#include <numeric>

#include "base/checked.hpp"
#include "passes/editor.hpp"

namespace colonnade::rewrite {
namespace {

/// Axes of both sides of a Reshape whose sizes have the same product.
struct AxesOfBothSides {
  Ints in, out;
};

/// Stands for the one unknown dimension: a prime that no product of small sizes meets by chance.
constexpr std::int64_t kUnknownSize = 1000000007;

std::optional<Shape> with_stand_in(Shape shape) {
  if (std::count(shape.begin(), shape.end(), -1) > 1) return std::nullopt;
  std::replace(shape.begin(), shape.end(), std::int64_t{-1}, kUnknownSize);
  if (std::count(shape.begin(), shape.end(), 0) > 0) return std::nullopt;
  return shape;
}

/// The finest decomposition; trailing axes of size 1 join the last group. Nothing when the products differ.
std::optional<std::vector<AxesOfBothSides>> axis_groups(const Shape& in, const Shape& out) {
  std::vector<AxesOfBothSides> groups;
  std::size_t i = 0, o = 0;
  while (i < in.size() && o < out.size()) {
    AxesOfBothSides group{{static_cast<std::int64_t>(i)}, {static_cast<std::int64_t>(o)}};
    std::int64_t in_size = in[i++], out_size = out[o++];
    while (in_size != out_size) {
      const bool grow_in = in_size < out_size;
      if (grow_in ? i == in.size() : o == out.size()) return std::nullopt;
      auto& side = grow_in ? group.in : group.out;
      auto& size = grow_in ? in_size : out_size;
      const auto grown = try_mul(size, grow_in ? in[i] : out[o]);
      if (!grown) return std::nullopt;
      size = *grown;
      side.push_back(static_cast<std::int64_t>(grow_in ? i++ : o++));
    }
    groups.push_back(std::move(group));
  }
  if (groups.empty()) return std::nullopt;
  for (; i < in.size(); ++i) {
    if (in[i] != 1) return std::nullopt;
    groups.back().in.push_back(static_cast<std::int64_t>(i));
  }
  for (; o < out.size(); ++o) {
    if (out[o] != 1) return std::nullopt;
    groups.back().out.push_back(static_cast<std::int64_t>(o));
  }
  return groups;
}

/// Groups in the order in which `perm` meets their axes of size above 1; nothing when it tears one apart.
std::optional<std::vector<std::size_t>> group_order(const std::vector<AxesOfBothSides>& groups, const Shape& in,
                                                    const Ints& perm) {
  std::vector<std::size_t> group_of(in.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const std::int64_t axis : groups[g].in) group_of[at(axis)] = g;
  }
  std::vector<std::size_t> order;
  std::int64_t last_axis = -1;
  for (const std::int64_t axis : perm) {
    if (in[at(axis)] == 1) continue;
    const std::size_t group = group_of[at(axis)];
    if (!order.empty() && order.back() == group) {
      if (axis < last_axis) return std::nullopt;
    } else {
      if (std::find(order.begin(), order.end(), group) != order.end()) return std::nullopt;
      order.push_back(group);
    }
    last_axis = axis;
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (std::find(order.begin(), order.end(), g) != order.end()) continue;
    const auto previous = g == 0 ? order.end() : std::find(order.begin(), order.end(), g - 1);
    order.insert(previous == order.end() ? order.begin() : previous + 1, g);
  }
  return order;
}

}  // namespace

Ints identity_perm(std::size_t rank) {
  Ints perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  return perm;
}

Ints perm_of(const Transpose& transpose, std::size_t rank) {
  if (!transpose.perm.empty() || rank == 0) return transpose.perm;
  Ints perm = identity_perm(rank);
  std::reverse(perm.begin(), perm.end());
  return perm;
}

bool is_identity(const Ints& perm) {
  for (std::size_t i = 0; i < perm.size(); ++i)
    if (perm[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

Ints inverse(const Ints& perm) {
  Ints result(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) result[at(perm[i])] = static_cast<std::int64_t>(i);
  return result;
}

Ints compose(const Ints& first, const Ints& second) {
  Ints result;
  result.reserve(second.size());
  for (const std::int64_t axis : second) result.push_back(first[at(axis)]);
  return result;
}

Shape permuted(const Shape& shape, const Ints& perm) {
  Shape result;
  result.reserve(perm.size());
  for (const std::int64_t axis : perm) result.push_back(shape[at(axis)]);
  return result;
}

std::int64_t moved_axis(std::int64_t axis, const Ints& perm) {
  return std::find(perm.begin(), perm.end(), axis) - perm.begin();
}

bool keeps_order(const Shape& shape, const Ints& perm) {
  std::int64_t last = -1;
  for (const std::int64_t axis : perm) {
    if (shape[at(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

std::optional<Ints> reshape_target(const Shape& shape) {
  if (std::count(shape.begin(), shape.end(), -1) > 1) return std::nullopt;
  if (std::count(shape.begin(), shape.end(), -1) == 1 && std::count(shape.begin(), shape.end(), 0) > 0) {
    return std::nullopt;
  }
  return shape;
}

std::optional<Ints> through_reshape(const Shape& in, const Shape& out, const Ints& perm) {
  const auto known_in = with_stand_in(in), known_out = with_stand_in(out);
  if (!known_in || !known_out) return std::nullopt;
  const auto groups = axis_groups(*known_in, *known_out);
  if (!groups) return std::nullopt;
  const auto order = group_order(*groups, *known_in, perm);
  if (!order) return std::nullopt;
  Ints result;
  for (const std::size_t group : *order) {
    result.insert(result.end(), (*groups)[group].out.begin(), (*groups)[group].out.end());
  }
  return result;
}

}  // namespace colonnade::rewrite
