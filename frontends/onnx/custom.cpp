// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/custom.hpp"

#include <algorithm>

#include "reference/onnx/definitions.hpp"

namespace colonnade::onnx_import {

const CustomOperator* find_custom(const CustomOperators& operators, const OnnxNode& node) {
  const auto is_named = [&](const CustomOperator& custom) {
    return custom.type == node.op_type && canonical_domain(custom.domain) == node.domain &&
           (node.opset == 0 || (custom.since <= node.opset && node.opset <= custom.until));
  };
  const auto found = std::find_if(operators.begin(), operators.end(), is_named);
  return found == operators.end() ? nullptr : &*found;
}

Values lower_custom(Lowering& low, const CustomOperator& custom) {
  const OnnxNode& node = low.node();
  CustomNode seen{node.name, node.domain, node.op_type, node.opset, node.inputs, node.outputs, {}, {}, {}};
  for (const ValueId input : low.inputs()) {
    seen.inputs.push_back(input == kAbsent ? CustomType{} : CustomType{low.dtype(input), low.shape(input)});
    const auto constant = low.constant_of(input);
    seen.constants.push_back(constant ? constant->tensor() : nullptr);
  }
  seen.input_names.resize(seen.inputs.size());
  seen.attributes = plain_attributes_of(node, low.external());
  Opaque op{&reference::kCustom, node.opset, {}};
  try {
    op.prepared = custom.make(seen);
  } catch (const Error& error) {
    throw Error(error.code(), node.label() + ": " + error.what());
  }
  if (!op.prepared) low.invalid("the program has no kernel for it");
  return low.emit_all(std::move(op), low.inputs(), low.output_count());
}

}  // namespace colonnade::onnx_import
