// SPDX-License-Identifier: Apache-2.0
// What a draft is made of.
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "frontends/onnx/custom.hpp"
#include "frontends/onnx/draft.hpp"
#include "frontends/onnx/external_data.hpp"
#include "frontends/onnx/proto.hpp"

namespace colonnade::onnx_import {

struct Draft::Messages {
  onnx::ModelProto model;  ///< of large tensors it holds ranges (skeleton.hpp)
  ExternalData external;
  const CustomOperators* operators = nullptr;                                       ///< the source's
  std::unordered_map<std::string, std::shared_ptr<const Constant>> constants = {};  ///< of the main graph, by name
  std::unordered_map<std::string, ValueType> types = {};

  /// Initializers that are inputs too: runs may give others.
  std::unordered_set<std::string> overridable() const;
  /// All names that the model uses, in bodies too.
  std::unordered_set<std::string> names() const;
};

bool is_onnx_domain(const std::string& domain);
bool has_bodies(const onnx::NodeProto& node);
/// Calls `use` with every graph within the node.
void each_body(const onnx::NodeProto& node, const std::function<void(const onnx::GraphProto&)>& use);
/// Every name that graphs within the node read or define.
void names_in_bodies(const onnx::NodeProto& node, std::unordered_set<std::string>& names);

const onnx::AttributeProto* attribute_named(const onnx::NodeProto& node, std::string_view name);
std::int64_t int_of(const onnx::NodeProto& node, std::string_view name, std::int64_t otherwise);
float float_of(const onnx::NodeProto& node, std::string_view name, float otherwise);

/// The nodes of the main graph while they are changed.
class DraftNodes {
 public:
  explicit DraftNodes(Draft::Messages& messages);
  /// Puts what is left into the model.
  void finish();

  Draft::Messages& messages() { return messages_; }
  std::int64_t opset() const { return opset_; }
  int count() const { return static_cast<int>(nodes_.size()); }
  bool alive(int index) const { return alive_[static_cast<std::size_t>(index)]; }
  onnx::NodeProto& node(int index) { return nodes_[static_cast<std::size_t>(index)]; }
  /// Whether the node is that operator of ONNX.
  bool is(int index, std::string_view op) const;

  /// -1: an input or a constant.
  int producer(const std::string& name) const;
  /// The node that makes a value which one node alone reads, once; -1 otherwise.
  int only_for(const std::string& name) const;
  const Constant* constant(const std::string& name) const;
  std::shared_ptr<const Tensor> tensor(const std::string& name) const;
  const ValueType* type(const std::string& name) const;
  /// Nothing where the rank is not known.
  std::optional<std::size_t> rank(const std::string& name) const;
  /// Both of one type whose sizes are all known.
  bool same_type(const std::string& a, const std::string& b) const;
  bool is_protected(const std::string& name) const { return outputs_.contains(name) || captured_.contains(name); }

  void remove(int index);
  /// Whoever reads `old` reads `with` from now on; `old` is not protected.
  void redirect(const std::string& old, const std::string& with);
  /// The node's only output takes the place of its first input, or of what makes it; false where a name is in the way.
  bool bypass(int index, const std::string& input);
  void set_input(int index, int slot, const std::string& name);
  /// The node makes `name` instead, which nobody makes.
  void set_output(int index, const std::string& name);
  std::string add_constant(const std::string& hint, Tensor tensor);

 private:
  void drop_unread();
  /// Nodes of which all is constant.
  void drop_known();
  void unread(const std::string& name, int reader);

  Draft::Messages& messages_;
  std::int64_t opset_ = 1;
  std::vector<onnx::NodeProto> nodes_;
  std::vector<bool> alive_;
  std::unordered_map<std::string, int> producer_;
  std::unordered_map<std::string, std::vector<int>> readers_;
  std::unordered_set<std::string> outputs_, captured_, taken_;
  std::unordered_set<std::string> redefined_;  ///< operators of ONNX that are the model's or the program's own here
};

/// Rules that change one node; true where something changed.
bool drop_without_effect(DraftNodes& nodes, int index);
bool merge_moves(DraftNodes& nodes, int index);
bool fold_affine_back(DraftNodes& nodes, int index);
/// Nodes that compute the same, and constants of the same elements, become one.
bool merge_equal(DraftNodes& nodes);

}  // namespace colonnade::onnx_import
