// SPDX-License-Identifier: Apache-2.0
// Operators of the program's own, which models name by domain and type. Include it beside colonnade/colonnade.hpp.
#pragma once

#include <climits>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "colonnade/model.hpp"

namespace colonnade {

using CustomAttribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>,
                                     std::vector<std::string>, std::shared_ptr<const Tensor>>;

/// What is known of a tensor before it is there: `undefined` for a type that is not, -1 for such a dimension.
struct CustomType {
  DType dtype = DType::undefined;
  std::optional<Shape> shape = {};
};

/// A node of a model that runs an operator of the program.
struct CustomNode {
  std::string name, domain, type;
  std::int64_t opset = 0;                              ///< version of the domain that the model imports; 0: none
  std::vector<std::string> input_names, output_names;  ///< "" where an optional one is left out
  std::vector<CustomType> inputs;
  std::vector<std::shared_ptr<const Tensor>> constants;  ///< by input; null where its elements are not constant
  std::map<std::string, CustomAttribute, std::less<>> attributes;
};

/// What runs one node. Several threads may call it at the same time.
class COLONNADE_API CustomKernel {
 public:
  virtual ~CustomKernel();
  /// Types of all outputs, as far as they follow from the inputs'. Where a shape does not, what follows the node is
  /// planned when it has run. Throws Error for inputs that the operator does not take.
  virtual std::vector<CustomType> infer(std::span<const CustomType> inputs) const = 0;
  /// All outputs, in order and of the types that `infer` said. An input that is left out is null. Throws Error.
  virtual std::vector<Tensor> run(std::span<const Tensor* const> inputs) const = 0;
};

struct CustomOperator {
  std::string domain, type;
  int since = 1, until = INT_MAX;  ///< versions of the domain
  /// Called for every node as the model is loaded. Throws Error for a node that it does not take.
  std::function<std::shared_ptr<const CustomKernel>(const CustomNode&)> make;
};

/// As Model::load, Model::from_bytes, with operators that come before those of the library. Compiled files cannot hold
/// them: Options::compiled is refused by Error{invalid_argument}.
COLONNADE_API Model load_with(std::vector<CustomOperator> operators, const std::string& path,
                              const Options& options = {});
COLONNADE_API Model load_with(std::vector<CustomOperator> operators, std::span<const std::byte> bytes,
                              const Options& options = {});

}  // namespace colonnade
