// SPDX-License-Identifier: Apache-2.0
// Sequences and optional values.
#include "frontends/onnx/lowering.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::onnx_import {
namespace {

Values lower_optional(Lowering& low) {
  Opaque op{&reference::kOptional, low.opset(), {}};
  if (low.optional_input(0) == kAbsent) {
    const auto* declared = find_type(low.node(), "type");
    if (!declared) low.invalid("an input or attribute 'type' is required");
    const ValueType type = declared_type(*declared, low.node().label() + ": attribute 'type'").type;
    const bool is_sequence = type.containers == std::vector{Container::sequence};
    if (type.dtype == DType::undefined || (!type.is_tensor() && !is_sequence)) {
      low.invalid("attribute 'type': expected a tensor or a sequence of tensors, found {}", to_text(type));
    }
    op.attributes.emplace("dtype", static_cast<std::int64_t>(type.dtype));
    op.attributes.emplace("is_sequence", std::int64_t{is_sequence});
  }
  return {low.emit(std::move(op), low.inputs())};
}

constexpr Row kSequenceRows[] = {
    {kOnnxDomain, "ConcatFromSequence", 11, kNoLimit, 1, 1, 1, opaque<reference::kConcatFromSequence>},
    {kOnnxDomain, "Optional", 15, kNoLimit, 0, 1, 1, lower_optional},
    {kOnnxDomain, "OptionalGetElement", 15, kNoLimit, 1, 1, 1, opaque<reference::kOptionalGetElement>},
    {kOnnxDomain, "OptionalHasElement", 15, kNoLimit, 0, 1, 1, opaque<reference::kOptionalHasElement>},
    {kOnnxDomain, "SequenceAt", 11, kNoLimit, 2, 2, 1, opaque<reference::kSequenceAt>},
    {kOnnxDomain, "SequenceConstruct", 11, kNoLimit, 1, kNoLimit, 1, opaque<reference::kSequenceConstruct>},
    {kOnnxDomain, "SequenceEmpty", 11, kNoLimit, 0, 0, 1, opaque<reference::kSequenceEmpty>},
    {kOnnxDomain, "SequenceErase", 11, kNoLimit, 1, 2, 1, opaque<reference::kSequenceErase>},
    {kOnnxDomain, "SequenceInsert", 11, kNoLimit, 2, 3, 1, opaque<reference::kSequenceInsert>},
    {kOnnxDomain, "SequenceLength", 11, kNoLimit, 1, 1, 1, opaque<reference::kSequenceLength>},
    {kOnnxDomain, "SplitToSequence", 11, kNoLimit, 1, 2, 1, opaque<reference::kSplitToSequence>},
};

}  // namespace

std::span<const Row> sequence_rows() { return kSequenceRows; }

}  // namespace colonnade::onnx_import
