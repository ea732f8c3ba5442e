// SPDX-License-Identifier: Apache-2.0
// Convolutions of one input whose results are added are one convolution, whose taps are those of both: networks that
// are trained with branches (RepVGG, arXiv:2101.03697; MobileOne, arXiv:2206.04040) are often exported with them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>

#include "base/numbers.hpp"
#include "passes/contraction.hpp"
#include "passes/match.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::rewrite {
namespace {

using Weights = std::shared_ptr<const Constant>;

/// Of an axis: where the first tap lies beside an output, how far taps are apart (0: there is but one) and how many.
struct Taps {
  std::int64_t first, step, count;
  std::int64_t last() const { return first + step * (count - 1); }
};

Taps taps_of(const Conv& conv, std::size_t axis) {
  return {-conv.pads[axis], conv.kernel[axis] > 1 ? conv.dilations[axis] : 0, conv.kernel[axis]};
}

/// Those of both, where they lie on one grid.
std::optional<Taps> joined(const Taps& a, const Taps& b) {
  if (a.step != 0 && b.step != 0 && a.step != b.step) return std::nullopt;
  const std::int64_t apart = std::abs(a.first - b.first);
  const std::int64_t step = std::max({a.step, b.step, a.step + b.step == 0 ? apart : 0, std::int64_t{1}});
  if (apart % step != 0) return std::nullopt;
  const std::int64_t first = std::min(a.first, b.first), last = std::max(a.last(), b.last());
  return Taps{first, step, (last - first) / step + 1};
}

/// The window and the groups of both.
std::optional<Conv> joined(const Conv& a, const Conv& b) {
  if (a.strides != b.strides || a.exact || b.exact || !is_plain(a.epilogue) || !is_plain(b.epilogue))
    return std::nullopt;
  if (a.auto_pad != AutoPad::explicit_pads || b.auto_pad != AutoPad::explicit_pads) return std::nullopt;
  if (std::max(a.groups, b.groups) % std::min(a.groups, b.groups) != 0) return std::nullopt;
  Conv both = a;
  both.groups = std::min(a.groups, b.groups);
  const std::size_t axes = a.kernel.size();
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const Taps of_a = taps_of(a, axis);
    const auto taps = joined(of_a, taps_of(b, axis));
    if (!taps) return std::nullopt;
    both.kernel[axis] = taps->count;
    both.dilations[axis] = taps->step;
    both.pads[axis] = -taps->first;
    both.pads[axes + axis] += taps->last() - of_a.last();  // as many outputs as before
  }
  return both;
}

std::int64_t product(const Ints& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{1}, std::multiplies{});
}

/// The weights [outputs, inputs, kernel...] of one of two convolutions, and where its taps lie among those of both.
struct Branch {
  Weights weights;
  std::int64_t inputs, group_outputs;
  std::vector<std::size_t> places;
};

Branch placed(const Conv& conv, const Weights& weights, const Conv& both) {
  const std::size_t axes = conv.kernel.size();
  Branch branch{weights, weights->shape()[1], weights->shape()[0] / conv.groups, {}};
  for (std::int64_t tap = 0; tap < product(conv.kernel); ++tap) {
    std::int64_t rest = tap, place = 0, size = 1;
    for (std::size_t axis = axes; axis-- > 0; rest /= conv.kernel[axis]) {
      const std::int64_t shift = (both.pads[axis] - conv.pads[axis]) / both.dilations[axis];
      place += (rest % conv.kernel[axis] + shift) * size;
      size *= both.kernel[axis];
    }
    branch.places.push_back(static_cast<std::size_t>(place));
  }
  return branch;
}

/// Adds the weights of output `output` to those [inputs, taps] of both, whose group begins with input `first_input`.
void add_weights(const Branch& branch, std::int64_t output, std::int64_t first_input, std::size_t taps,
                 std::vector<double>& both) {
  std::vector<float> own(at(branch.inputs) * branch.places.size());
  branch.weights->read(output * static_cast<std::int64_t>(own.size()), std::as_writable_bytes(std::span(own)));
  const std::size_t begin = at(output / branch.group_outputs * branch.inputs - first_input);
  for (std::size_t i = 0; i < own.size(); ++i)
    both[(begin + i / branch.places.size()) * taps + branch.places[i % branch.places.size()]] +=
        static_cast<double>(own[i]);
}

/// A small one is named by its elements: others like it are made again for each size.
std::string key_of(const Weights& weights) {
  if (!weights->is_kept()) return fmt::format("{}", weights->serial());
  const auto bytes = weights->bytes();
  return {reinterpret_cast<const char*>(bytes.get()), weights->byte_size()};
}

/// Weights [outputs, inputs, kernel...] of both.
Weights joined_weights(const Branch& a, const Branch& b, const Conv& both) {
  const std::int64_t outputs = a.weights->shape()[0], inputs = std::max(a.inputs, b.inputs);
  const std::int64_t group_outputs = outputs / both.groups, taps = product(both.kernel);
  const auto make = [=](std::int64_t first, std::span<std::byte> target) {
    const std::span values(reinterpret_cast<float*>(target.data()), target.size() / sizeof(float));
    std::vector<double> row(at(inputs * taps));
    auto output = first / (inputs * taps);
    std::size_t skipped = at(first % (inputs * taps));
    for (std::size_t done = 0; done < values.size(); ++output, skipped = 0) {
      std::ranges::fill(row, 0.0);
      for (const Branch& branch : {a, b}) add_weights(branch, output, output / group_outputs * inputs, at(taps), row);
      for (std::size_t i = skipped; i < row.size() && done < values.size(); ++i)
        values[done++] = static_cast<float>(row[i]);
    }
  };
  Shape shape{outputs, inputs};
  shape.insert(shape.end(), both.kernel.begin(), both.kernel.end());
  const bool a_is_larger = a.weights->size() >= b.weights->size();
  const Branch &larger = a_is_larger ? a : b, &other = a_is_larger ? b : a;
  const std::string how =
      fmt::format("joined to {}: {} by {} groups, beside {} of {}", fmt::join(both.kernel, "x"),
                  fmt::join(larger.places, " "), both.groups, fmt::join(other.places, " "), key_of(other.weights));
  return derived(larger.weights, how, [&] { return std::make_shared<const Constant>(DType::f32, shape, make); });
}

/// A convolution of float weights.
struct Filter {
  ValueId input = kAbsent;
  Conv conv;
  Weights weights;
  ValueId bias = kAbsent;
  bool is_depthwise() const { return conv.groups == weights->shape()[0] && weights->shape()[1] == 1; }
};

/// That which makes the value for one reader.
std::optional<Filter> filter_of(const Editor& editor, ValueId id) {
  const auto* conv = editor.produced_by<Conv>(id);
  if (conv == nullptr || editor.readers(id).size() > 1 || editor.is_output(id)) return std::nullopt;
  const Node& node = editor.node(editor.producer(id));
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    const ValueId its = node.inputs[i];
    if (its == kAbsent && i == kBiasInput) continue;
    if (!editor.is_constant(its) || editor.value(its).type.dtype != DType::f32) return std::nullopt;
    if (editor.value(its).constant->narrow() != nullptr) return std::nullopt;
  }
  return Filter{node.inputs[0], *conv, editor.value(node.inputs[1]).constant, node.input(kBiasInput)};
}

/// The value as a filter of itself, [N, spatial..., C].
Filter unchanged(const Editor& editor, ValueId id) {
  const Shape& shape = *editor.value(id).type.shape;
  const std::size_t axes = shape.size() - 2;
  Conv conv;
  conv.kernel = conv.strides = conv.dilations = Ints(axes, 1);
  conv.pads = Ints(2 * axes, 0);
  conv.groups = shape.back();
  Tensor one(DType::f32, {});
  one.values<float>()[0] = 1;
  Shape weights(shape.size(), 1);
  weights[0] = shape.back();
  return {id, conv, filled(one, weights)};
}

std::optional<Tensor> joined_bias(const Editor& editor, const Filter& a, const Filter& b) {
  Tensor sum(DType::f32, {a.weights->shape()[0]});
  const auto sums = sum.values<float>();
  for (const ValueId id : {a.bias, b.bias}) {
    if (id == kAbsent) continue;
    const auto bias = editor.value(id).constant->tensor();
    std::ranges::transform(sums, bias->values<float>(), sums.begin(), std::plus{});
  }
  return a.bias == kAbsent && b.bias == kAbsent ? std::nullopt : std::optional(std::move(sum));
}

/// The sum of two values as one convolution, where it multiplies no more than both. What a filter reads counts as one
/// of ones beside depthwise ones, which are not transformed: more products would round it.
std::optional<ValueId> join(Editor& editor, ValueId a, ValueId b, const Node& sum) {
  auto first = filter_of(editor, a), second = filter_of(editor, b);
  if (first && first->input == b && first->is_depthwise()) second = unchanged(editor, b);
  if (second && second->input == a && second->is_depthwise()) first = unchanged(editor, a);
  if (!first || !second || first->input != second->input) return std::nullopt;
  const auto both = joined(first->conv, second->conv);
  if (!both || first->weights->size() == 0 || second->weights->size() == 0) return std::nullopt;
  const Branch of_a = placed(first->conv, first->weights, *both), of_b = placed(second->conv, second->weights, *both);
  double products = real(of_a.weights->shape()[0] * std::max(of_a.inputs, of_b.inputs));
  for (const std::int64_t size : both->kernel) products *= real(size);  // pads far apart make more than integers hold
  if (products > real(of_a.weights->size() + of_b.weights->size())) return std::nullopt;
  std::vector<ValueId> inputs{first->input,
                              editor.add_constant(sum.name + "_weights", joined_weights(of_a, of_b, *both))};
  if (auto bias = joined_bias(editor, *first, *second))
    inputs.push_back(editor.add_constant(sum.name + "_bias", std::move(*bias)));
  return editor.add(*both, std::move(inputs), sum);
}

bool is_term(const Editor& editor, ValueId id, ValueId sum) {
  return same_static_type(editor, id, sum) && (id == sum || editor.read_once(id));
}

/// The terms of a sum of values of one shape.
std::vector<ValueId> terms_of(const Editor& editor, ValueId sum) {
  constexpr std::size_t kMostTerms = 16;
  std::vector<ValueId> terms{sum};
  for (std::size_t i = 0; i < terms.size();) {
    const auto operands = match_binary(editor, terms[i], BinaryKind::add);
    if (!operands || terms.size() == kMostTerms || !is_term(editor, terms[i], sum) ||
        !same_static_type(editor, operands->a, sum) || !same_static_type(editor, operands->b, sum)) {
      ++i;
      continue;
    }
    terms[i] = operands->a;
    terms.insert(terms.begin() + static_cast<std::ptrdiff_t>(i) + 1, operands->b);
  }
  return terms;
}

bool join_terms(Editor& editor, std::vector<ValueId>& terms, const Node& sum) {
  const std::size_t before = terms.size();
  for (std::size_t i = 0; i < terms.size(); ++i) {
    for (std::size_t k = i + 1; k < terms.size();) {
      const auto both = join(editor, terms[i], terms[k], sum);
      if (!both) {
        ++k;
        continue;
      }
      terms[i] = *both;
      terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(k));
      k = i + 1;
    }
  }
  return terms.size() < before;
}

/// Of a sum that is no term of another one.
bool join_sum(Editor& editor, int index) {
  if (!editor.is_one_of<Binary>(index)) return false;
  const Node sum = editor.node(index);
  if (editor.readers(sum.outputs[0]).empty() && !editor.is_output(sum.outputs[0])) return false;  // of a joined one
  std::vector<ValueId> terms = terms_of(editor, sum.outputs[0]);
  if (terms.size() < 2 || !join_terms(editor, terms, sum)) return false;
  ValueId result = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i) result = editor.add(Binary{BinaryKind::add}, {result, terms[i]}, sum);
  editor.replace(sum.outputs[0], result);
  return true;
}

}  // namespace

bool join_branches(Graph& graph) {
  Editor editor(graph);
  for (int index = editor.node_count() - 1; index >= 0; --index)
    if (editor.alive(index)) join_sum(editor, index);
  return editor.finish();
}

}  // namespace colonnade::rewrite
