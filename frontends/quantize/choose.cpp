// SPDX-License-Identifier: Apache-2.0
#include "choose.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace colonnade::quantize {
namespace {

/// What a node does to bytes.
enum class Kind {
  product,   ///< has int32 sums
  join,      ///< adds, multiplies or joins tensors of several scales
  move,      ///< its output holds elements of its first input, or lies between them: one scale
  average,   ///< of its first input
  function,  ///< each element is a function of one element of one tensor: a table of 256 bytes
  other,
};

constexpr std::array<std::string_view, 14> kMoves = {
    "MaxPool", "GlobalMaxPool", "Reshape", "Transpose",    "Flatten",      "Squeeze",  "Unsqueeze",
    "Slice",   "Split",         "Gather",  "DepthToSpace", "SpaceToDepth", "Identity", "Dropout"};
constexpr std::array<std::string_view, 18> kFunctions = {
    "Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "LeakyRelu", "Elu", "Relu", "Clip", "Gelu",
    "Mish",    "Selu", "Softplus",    "Softsign",  "Celu",      "Erf", "Exp",  "Abs",  "Neg"};
constexpr std::array<std::string_view, 5> kArithmetic = {"Add", "Sub", "Mul", "Div", "Pow"};

template <std::size_t N>
bool is_one_of(const Node& node, const std::array<std::string_view, N>& ops) {
  return is_onnx(node, node.op_type()) && std::find(ops.begin(), ops.end(), node.op_type()) != ops.end();
}

bool pads_with_zeros(const Network& network, const Node& node) {
  if (text_of(node, "mode", "constant") == "edge" || text_of(node, "mode", "constant") == "reflect") return true;
  if (text_of(node, "mode", "constant") != "constant") return false;
  if (node.input_size() < 3 || node.input(2).empty()) return true;
  return network.is_float_constant(node.input(2), 1) && network.constant_value(node.input(2)).values<float>()[0] == 0;
}

/// A mean over height and width of images.
bool is_plane_mean(const Network& network, const Node& node) {
  std::vector<std::int64_t> axes = integers_of(node, "axes");
  if (node.input_size() > 1 && network.is_constant(node.input(1))) {
    const Tensor values = network.constant_value(node.input(1));
    if (values.dtype() == DType::i64)
      axes.assign(values.values<std::int64_t>().begin(), values.values<std::int64_t>().end());
  }
  std::sort(axes.begin(), axes.end());
  return axes == std::vector<std::int64_t>{2, 3} || axes == std::vector<std::int64_t>{-2, -1};
}

class Chooser {
 public:
  Chooser(const Network& network, const std::vector<Product>& products, const std::unordered_set<int>& keep)
      : network_(network), count_(static_cast<std::size_t>(network.graph().node_size())), kinds_(count_, Kind::other) {
    scheme_.quantised.assign(count_, false);
    for (std::size_t i = 0; i < count_; ++i) scheme_.host.push_back(static_cast<int>(i));
    for (const Product& product : products) kinds_[static_cast<std::size_t>(product.node)] = Kind::product;
    for (const Product& product : products)
      if (product.bias_node != product.node) scheme_.host[static_cast<std::size_t>(product.bias_node)] = product.node;
    for (std::size_t i = 0; i < count_; ++i) classify(i);
    for (std::size_t i = 0; i < count_; ++i)
      scheme_.quantised[i] = kinds_[i] != Kind::other && !keep.contains(static_cast<int>(i));
  }

  Scheme run() {
    while (drop_unsurrounded()) {
    }
    for (std::size_t i = 0; i < count_; ++i)
      if (follows(i)) scheme_.quantised[i] = scheme_.quantised[static_cast<std::size_t>(scheme_.host[i])];
    collect_stored();
    for (std::size_t i = 0; i < count_; ++i)
      if (scheme_.quantised[i] && !follows(i)) share_scales(i);
    return std::move(scheme_);
  }

 private:
  const Node& node(std::size_t i) const { return network_.node(static_cast<int>(i)); }
  bool follows(std::size_t i) const { return scheme_.host[i] != static_cast<int>(i); }
  bool is_scalar(const std::string& tensor) const { return network_.is_float_constant(tensor, 1); }

  void classify(std::size_t i) {
    const Node& at = node(i);
    if (kinds_[i] != Kind::other || at.input_size() == 0 || at.output_size() == 0 || follows(i)) return;
    if (follow_clipping(i)) return;
    if (const std::string source = source_of_function(at); !source.empty()) {
      kinds_[i] = Kind::function;
      sources_[at.output(0)] = source;
      return;
    }
    const bool linear = text_of(at, "mode", "nearest") != "cubic" && at.output_size() == 1;
    const bool moves = is_one_of(at, kMoves) && (at.output_size() == 1 || is_onnx(at, "Split"));
    if (moves || (is_onnx(at, "Resize") && linear) || (is_onnx(at, "Pad") && pads_with_zeros(network_, at)))
      kinds_[i] = Kind::move;
    if (is_onnx(at, "AveragePool") || is_onnx(at, "GlobalAveragePool") ||
        (is_onnx(at, "ReduceMean") && is_plane_mean(network_, at)))
      kinds_[i] = Kind::average;
    const bool constants = std::any_of(at.input().begin(), at.input().end(),
                                       [&](const std::string& input) { return network_.is_constant(input); });
    if ((is_onnx(at, "Add") || is_onnx(at, "Mul") || is_onnx(at, "Concat")) && !constants) kinds_[i] = Kind::join;
  }

  /// A Relu or Clip that alone uses what a product, a join or an average makes is part of it.
  bool follow_clipping(std::size_t i) {
    const Node& at = node(i);
    if (!is_onnx(at, "Relu") && !is_onnx(at, "Clip")) return false;
    for (int k = 1; k < at.input_size(); ++k)
      if (!at.input(k).empty() && !is_scalar(at.input(k))) return false;
    const auto made = network_.producer.find(at.input(0));
    if (made == network_.producer.end() || network_.only_user(at.input(0)) != static_cast<int>(i)) return false;
    const int host = scheme_.host[static_cast<std::size_t>(made->second)];
    const Kind kind = kinds_[static_cast<std::size_t>(host)];
    if (kind != Kind::product && kind != Kind::join && kind != Kind::average) return false;
    scheme_.host[i] = host;
    return true;
  }

  /// The tensor of whose elements the node's output is a function; "" where it is none.
  std::string source_of_function(const Node& at) const {
    std::string source;
    const bool arithmetic = is_one_of(at, kArithmetic);
    if (!arithmetic && !is_one_of(at, kFunctions)) return {};
    for (const auto& input : at.input()) {
      if (input.empty() || is_scalar(input)) continue;
      const auto further = sources_.find(input);
      const std::string& from = further == sources_.end() ? input : further->second;
      if (network_.is_constant(input) || (!source.empty() && from != source)) return {};
      source = from;
    }
    return source;
  }

  bool is_inner(const std::string& tensor) const {
    const auto source = sources_.find(tensor);
    if (source == sources_.end() || network_.outputs.contains(tensor)) return false;
    const auto users = network_.users.find(tensor);
    if (users == network_.users.end()) return false;
    return std::all_of(users->second.begin(), users->second.end(), [&](int user) {
      if (network_.node(user).output_size() == 0) return false;
      const auto theirs = sources_.find(network_.node(user).output(0));
      return theirs != sources_.end() && theirs->second == source->second;
    });
  }

  /// The inputs that hold activations: all of a join, else the first. Constants are none.
  std::vector<std::string> activations(std::size_t i) const {
    std::vector<std::string> found;
    const Node& at = node(i);
    for (int k = 0; k < at.input_size(); ++k) {
      const bool read = k == 0 || kinds_[i] == Kind::join || kinds_[i] == Kind::function;
      if (read && !at.input(k).empty() && !network_.is_constant(at.input(k))) found.push_back(at.input(k));
    }
    return found;
  }

  bool from_quantised(const std::string& tensor) const {
    const auto made = network_.producer.find(tensor);
    if (made == network_.producer.end()) return false;
    return scheme_.quantised[static_cast<std::size_t>(scheme_.host[static_cast<std::size_t>(made->second)])];
  }

  bool feeds_quantised(std::size_t i) const {
    for (const auto& output : node(i).output()) {
      const auto users = network_.users.find(output);
      if (output.empty() || users == network_.users.end()) continue;
      for (const int user : users->second) {
        const auto u = static_cast<std::size_t>(user);
        if (follows(u) ? feeds_quantised(u) : reads_bytes(u, output)) return true;
      }
    }
    return false;
  }

  bool reads_bytes(std::size_t i, const std::string& tensor) const {
    if (!scheme_.quantised[i]) return false;
    const std::vector<std::string> read = activations(i);
    return std::find(read.begin(), read.end(), tensor) != read.end();
  }

  bool drop_unsurrounded() {
    bool changed = false;
    for (std::size_t i = 0; i < count_; ++i) {
      if (!scheme_.quantised[i] || kinds_[i] == Kind::product) continue;
      const std::vector<std::string> read = activations(i);
      const bool surrounded = !read.empty() &&
                              std::all_of(read.begin(), read.end(), [&](const auto& t) { return from_quantised(t); }) &&
                              feeds_quantised(i);
      if (surrounded) continue;
      scheme_.quantised[i] = false;
      changed = true;
    }
    return changed;
  }

  void collect_stored() {
    std::unordered_set<std::string> seen;
    for (std::size_t i = 0; i < count_; ++i) {
      if (!scheme_.quantised[i] || follows(i)) continue;
      for (const std::string& tensor : activations(i))
        if (!is_inner(tensor) && seen.insert(tensor).second) scheme_.stored.push_back(tensor);
    }
  }

  void share_scales(std::size_t i) {
    if (is_onnx(node(i), "Concat")) scheme_.concats.push_back(static_cast<int>(i));
    if (kinds_[i] != Kind::move) return;
    for (const auto& output : node(i).output()) scheme_.unite(output, node(i).input(0));
  }

  const Network& network_;
  std::size_t count_;
  std::vector<Kind> kinds_;
  std::unordered_map<std::string, std::string> sources_;  ///< by output of a function
  Scheme scheme_;
};

}  // namespace

const std::string& Scheme::same_as(const std::string& tensor) const {
  const auto found = same.find(tensor);
  return found == same.end() ? tensor : same_as(found->second);
}

void Scheme::unite(const std::string& a, const std::string& b) {
  const std::string from = same_as(a), to = same_as(b);
  if (from != to) same[from] = to;
}

Scheme choose(const Network& network, const std::vector<Product>& products, const std::unordered_set<int>& keep) {
  return Chooser(network, products, keep).run();
}

}  // namespace colonnade::quantize
