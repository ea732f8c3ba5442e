// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cctype>

#include "graph/operators.hpp"

namespace colonnade {
namespace {

constexpr std::array<std::string_view, 24> kBinaryNames = {"add",           "sub",         "mul",
                                                           "div",           "pow",         "min",
                                                           "max",           "mod",         "fmod",
                                                           "prelu",         "equal",       "less",
                                                           "less_or_equal", "greater",     "greater_or_equal",
                                                           "logical_and",   "logical_or",  "logical_xor",
                                                           "bitwise_and",   "bitwise_or",  "bitwise_xor",
                                                           "shift_left",    "shift_right", "squared_difference"};
static_assert(kBinaryNames[static_cast<std::size_t>(BinaryKind::prelu)] == "prelu");
static_assert(kBinaryNames[static_cast<std::size_t>(BinaryKind::squared_difference)] == "squared_difference");

constexpr std::array<std::string_view, 10> kReduceNames = {"sum", "mean", "max",     "min",         "prod",
                                                           "l1",  "l2",   "log_sum", "log_sum_exp", "sum_square"};
static_assert(kReduceNames[static_cast<std::size_t>(ReduceKind::sum_square)] == "sum_square");

// In the order of the variant; Unary, Binary and Opaque are named by their kind instead.
constexpr std::array<std::string_view, std::variant_size_v<AnyOperator>> kOperatorNames = {
    "Unary",         "Binary",       "Select",          "Cast",         "Conv",         "ConvTranspose",
    "MatMul",        "Pool",         "Reduce",          "ArgReduce",    "Softmax",      "Hardmax",
    "BatchNorm",     "InstanceNorm", "LayerNorm",       "Lrn",          "Resize",       "Reshape",
    "Flatten",       "Squeeze",      "Unsqueeze",       "Transpose",    "Concat",       "Slice",
    "Split",         "Pad",          "Expand",          "Tile",         "Gather",       "GatherElements",
    "GatherNd",      "ScatterNd",    "ScatterElements", "DepthToSpace", "SpaceToDepth", "ShapeOf",
    "SizeOf",        "Fill",         "Range",           "OneHot",       "TopK",         "CumSum",
    "NonZero",       "Trilu",        "Einsum",          "Recurrent",    "GridSample",   "TreeEnsemble",
    "Quantize",      "Dequantize",   "ByteScale",       "Lookup",       "ByteConv",     "ByteMatMul",
    "IntegerMatMul", "ByteBinary",   "ByteAverage",     "Attention",    "If",           "Loop",
    "Scan",          "Opaque"};
static_assert(!kOperatorNames.back().empty());

std::string pascal_case(std::string_view snake) {
  std::string name;
  bool upper = true;
  for (const char c : snake) {
    if (c != '_') name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '_';
  }
  return name;
}

}  // namespace

std::string_view name_of(UnaryKind kind) { return function_of(kind).name; }
std::string_view name_of(BinaryKind kind) { return kBinaryNames[static_cast<std::size_t>(kind)]; }
std::string_view name_of(ReduceKind kind) { return kReduceNames[static_cast<std::size_t>(kind)]; }

std::string name_of(const Operator& op) {
  if (const auto* unary = std::get_if<Unary>(&op)) return pascal_case(name_of(unary->kind));
  if (const auto* binary = std::get_if<Binary>(&op)) return pascal_case(name_of(binary->kind));
  if (const auto* opaque = std::get_if<Opaque>(&op)) return std::string(opaque->definition->name);
  return std::string(kOperatorNames[op.index()]);
}

}  // namespace colonnade
