// SPDX-License-Identifier: Apache-2.0
// What the evaluation of one node sees.
#pragma once

#include <concepts>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/graph.hpp"

namespace colonnade::reference {

/// Results of a node. Those that are listed in braces are moved; a vector would copy them.
class Tensors : public std::vector<Tensor> {
 public:
  Tensors() = default;
  Tensors(std::vector<Tensor> tensors)
      : std::vector<Tensor>(std::move(tensors)) {}  // NOLINT(google-explicit-constructor)
  template <class... Listed>
  requires(sizeof...(Listed) > 0 && (std::same_as<std::remove_cvref_t<Listed>, Tensor> && ...))
      Tensors(Listed&&... tensors) {  // NOLINT(google-explicit-constructor)
    reserve(sizeof...(tensors));
    (push_back(std::forward<Listed>(tensors)), ...);
  }
};
using Data = std::vector<Datum>;

/// Runs a body on its inputs.
using RunBody = std::function<Data(const Body& body, std::span<const Datum* const> inputs)>;

/// One application of an operator: the node, its inputs and the types that the shape rule gives its outputs.
struct Call {
  const Node& node;
  std::span<const Datum* const> inputs;
  std::vector<ValueType> types;
  const RunBody& run_body;

  /// The input, or null where it is not given.
  const Datum* optional_datum(std::size_t index) const { return index < inputs.size() ? inputs[index] : nullptr; }
  /// The input; throws Error{invalid_input} where it is not given.
  const Datum& datum(std::size_t index) const;
  /// The tensor, or null where it is not given. Throws Error{invalid_input} for other data.
  const Tensor* optional(std::size_t index) const;
  /// The input; throws Error{invalid_input} where it is not given.
  const Tensor& input(std::size_t index) const;
  /// The elements of an integer input, or nothing's default where it is not given.
  Ints ints(std::size_t index) const;
  /// The one element as a number, or the fallback where the input is not given or empty.
  double number_or(std::size_t index, double fallback) const;

  /// Throws Error{unsupported} where the shape rule cannot tell it from these inputs.
  const Shape& shape(std::size_t output = 0) const;
  DType dtype(std::size_t output = 0) const { return types[output].dtype; }
  bool wants(std::size_t output) const { return output < node.outputs.size() && node.outputs[output] != kAbsent; }
  /// axis in [0, rank).
  std::int64_t axis(std::int64_t axis, const Tensor& tensor) const {
    return normalize_axis(axis, static_cast<std::int64_t>(tensor.shape().size()), node);
  }
  /// "node 'name' (Operator)": how messages begin.
  std::string where() const;

  template <class... Args>
  [[noreturn]] void invalid(fmt::format_string<Args...> format, Args&&... args) const {
    throw Error(ErrorCode::invalid_input, where() + ": " + fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  [[noreturn]] void unsupported(fmt::format_string<Args...> format, Args&&... args) const {
    throw Error(ErrorCode::unsupported, where() + ": " + fmt::format(format, std::forward<Args>(args)...));
  }
};

}  // namespace colonnade::reference
