// SPDX-License-Identifier: Apache-2.0
// ONNX nodes and graphs after model-local functions are inlined: names are final, attribute references resolved.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontends/onnx/format.hpp"
#include "graph/operators.hpp"

namespace colonnade::onnx_import {

/// Opset by canonical domain.
using Opsets = std::map<std::string, std::int64_t, std::less<>>;

struct OnnxGraph;
class ExternalData;

struct OnnxNode {
  std::string name;  ///< unique enough for messages, never empty
  std::string op_type;
  std::string domain;                ///< canonical
  std::int64_t opset = 0;            ///< of the node's domain; 0 when the model does not import it
  std::vector<std::string> inputs;   ///< "" where an optional input is not given
  std::vector<std::string> outputs;  ///< "" where nobody asks for an output
  std::map<std::string, const onnx::AttributeProto*, std::less<>> attributes;
  std::map<std::string, std::shared_ptr<const OnnxGraph>, std::less<>> graphs;  ///< attributes that are graphs
  std::vector<std::string> captures;  ///< names that its graphs read of the graphs around them; sorted

  /// "node 'conv1' (Conv)", how every message about it starts.
  std::string label() const;
};

/// The model's main graph, or one in an attribute of a node. A name means one value in the whole model.
struct OnnxGraph {
  const onnx::GraphProto* proto = nullptr;  ///< what the names below belong to, in its order
  std::vector<std::string> inputs;          ///< "" where the model has an empty name
  std::vector<std::string> initializers;    ///< dense, then sparse ones
  std::vector<std::string> outputs;
  std::vector<OnnxNode> nodes;                 ///< each after those that make what it reads
  std::vector<std::string> captures;           ///< names that no node, input or initializer of it defines; sorted
  std::unordered_map<std::string, int> ranks;  ///< that the model declares, by name
};

/// Whether the attribute is there and an integer.
bool holds_int(const OnnxNode& node, std::string_view name);

/// Attributes by name; nothing when absent. Throw Error{invalid_model} when the attribute has another type.
std::optional<std::int64_t> find_int(const OnnxNode& node, std::string_view name);
std::optional<float> find_float(const OnnxNode& node, std::string_view name);
std::optional<std::string> find_string(const OnnxNode& node, std::string_view name);
std::optional<Ints> find_ints(const OnnxNode& node, std::string_view name);
std::optional<std::vector<float>> find_floats(const OnnxNode& node, std::string_view name);
std::optional<std::vector<std::string>> find_strings(const OnnxNode& node, std::string_view name);
const onnx::TensorProto* find_tensor(const OnnxNode& node, std::string_view name);
const onnx::SparseTensorProto* find_sparse_tensor(const OnnxNode& node, std::string_view name);
const onnx::TypeProto* find_type(const OnnxNode& node, std::string_view name);

/// All attributes as an opaque operator has them; those that number an element type (dtype, output_datatype, to) number
/// a DType. Throws Error{invalid_model} for graphs, types and lists of tensors.
Attributes attributes_of(const OnnxNode& node, ExternalData& external);

/// The nodes in an order in which whatever they and their graphs read is produced before; the given order where it is
/// one. `given` holds names that need no producer. Throws Error{invalid_model} for undefined inputs, doubled outputs
/// and cycles.
std::vector<OnnxNode> sort_nodes(std::vector<OnnxNode> nodes, const std::vector<std::string>& given);

/// Which nodes contribute to the named values.
std::vector<bool> reachable(const std::vector<OnnxNode>& nodes, const std::vector<std::string>& wanted);

}  // namespace colonnade::onnx_import
