// SPDX-License-Identifier: Apache-2.0
// Operators of the program: what the importer prepared is the program's kernel.
#include "colonnade/custom.hpp"

#include "graph/shape_rules.hpp"
#include "reference/call.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::reference {
namespace {

const CustomKernel& kernel_of(const Opaque& op) { return op.prepared_as<CustomKernel>(); }

Types infer_custom(const Opaque& op, const RuleContext& context) {
  std::vector<CustomType> inputs;
  for (std::size_t i = 0; i < context.input_count(); ++i) inputs.push_back({context.dtype(i), context.shape(i)});
  const std::vector<CustomType> outputs = kernel_of(op).infer(inputs);
  if (outputs.size() < context.output_count())
    context.fail("its operator says the types of {} outputs, expected {}", outputs.size(), context.output_count());
  Types types;
  for (const CustomType& output : outputs) types.push_back({output.dtype, output.shape});
  types.resize(context.output_count());
  return types;
}

Data evaluate_custom(const Opaque& op, const Call& call) {
  std::vector<const Tensor*> inputs;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) inputs.push_back(call.optional(i));
  const auto run = [&] {
    try {
      return kernel_of(op).run(inputs);
    } catch (const Error& error) {
      throw Error(error.code(), call.where() + ": " + error.what());
    }
  };
  std::vector<Tensor> outputs = run();
  if (outputs.size() < call.node.outputs.size())
    call.invalid("its operator made {} outputs, expected {}", outputs.size(), call.node.outputs.size());
  Data data;
  for (std::size_t i = 0; i < call.node.outputs.size(); ++i) {
    if (call.wants(i) && outputs[i].dtype() != call.dtype(i))
      call.invalid("its operator made output {} of {}, expected {}", i, name_of(outputs[i].dtype()),
                   name_of(call.dtype(i)));
    data.emplace_back(std::move(outputs[i]));
  }
  return data;
}

}  // namespace

constexpr Definition kCustom{"Custom", infer_custom, evaluate_custom, true};

}  // namespace colonnade::reference
