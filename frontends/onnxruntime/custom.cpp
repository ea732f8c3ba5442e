// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/custom.hpp"

#include <dlfcn.h>

#include <algorithm>

#include "frontends/onnxruntime/element_types.hpp"

namespace colonnade::ort {
namespace {

// Versions of the program's struct from which on it has these members.
constexpr std::uint32_t kSinceVariadic = 14, kSinceStatus = 16, kSinceShapes = 17;

std::string taken(OrtStatus* status) {
  std::string message = status->message;
  ReleaseStatus(status);
  return message;
}

/// Throws where a function of the program failed.
void check(OrtStatus* status, const CustomNode& node) {
  if (status == nullptr) return;
  const OrtErrorCode code = status->code;
  throw Failure(code, "node '" + node.name + "' (" + node.type + "): " + taken(status));
}

/// The place among the operator's declared inputs or outputs; the last may stand for several.
std::size_t declared(std::size_t index, std::size_t count) { return std::min(index, count == 0 ? 0 : count - 1); }

/// Runs one node by the program's functions.
class Kernel final : public CustomKernel {
 public:
  Kernel(const OrtCustomOp& op, OrtKernelInfo info) : op_(op), info_(std::move(info)) {
    info_.outputs = typed(info_.node.inputs);
    if (op_.version >= kSinceStatus && op_.CreateKernelV2 != nullptr)
      check(op_.CreateKernelV2(&op_, &api(), &info_, &kernel_), info_.node);
    else if (op_.CreateKernel != nullptr)
      kernel_ = op_.CreateKernel(&op_, &api(), &info_);
  }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  ~Kernel() override {
    if (kernel_ != nullptr && op_.KernelDestroy != nullptr) op_.KernelDestroy(kernel_);
  }

  std::vector<CustomType> infer(std::span<const CustomType> inputs) const override {
    std::vector<CustomType> outputs = typed(inputs);
    const auto has_shape = [](const CustomType& type) { return type.shape.has_value(); };
    if (op_.version < kSinceShapes || op_.InferOutputShapeFn == nullptr ||
        !std::all_of(inputs.begin(), inputs.end(), has_shape))
      return outputs;
    OrtShapeInferContext context;
    for (const CustomType& input : inputs) context.inputs.push_back(tensor_type(input.dtype, *input.shape));
    context.outputs = outputs;
    for (const auto& [name, value] : info_.node.attributes) context.attributes.push_back({name, value});
    check(op_.InferOutputShapeFn(&op_, &context), info_.node);
    return context.outputs;
  }

  std::vector<Tensor> run(std::span<const Tensor* const> inputs) const override {
    OrtKernelContext context;
    context.info = &info_;
    std::vector<CustomType> types;
    for (const Tensor* input : inputs) {
      types.push_back(input == nullptr ? CustomType{} : CustomType{input->dtype(), input->shape()});
      context.inputs.push_back(input == nullptr ? nullptr : lent(*input));
    }
    for (const CustomType& output : typed(types)) context.types.push_back(output.dtype);
    context.outputs.resize(context.types.size());
    compute(context);
    std::vector<Tensor> results;
    for (const auto& output : context.outputs)
      results.push_back(!output ? Tensor() : output->tensor ? std::move(*output->tensor) : datum_of(*output).tensor());
    return results;
  }

 private:
  static std::unique_ptr<OrtValue> lent(const Tensor& tensor) {
    if (is_packed(tensor.dtype())) return value_of(Tensor(tensor));
    auto value = std::make_unique<OrtValue>();
    value->view = MutableTensorView(const_cast<Tensor&>(tensor));  // kernels do not write to inputs
    return value;
  }

  /// Types of the outputs: as the operator declares them, or that of the first input whose type is left open too.
  std::vector<CustomType> typed(std::span<const CustomType> inputs) const {
    DType open = DType::undefined;
    const std::size_t declared_inputs = op_.GetInputTypeCount(&op_);
    for (std::size_t i = inputs.size(); i-- > 0;)
      if (op_.GetInputType(&op_, declared(i, declared_inputs)) == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED)
        open = inputs[i].dtype;
    std::vector<CustomType> types;
    for (std::size_t i = 0; i < info_.node.output_names.size(); ++i) {
      const auto type = op_.GetOutputType(&op_, declared(i, op_.GetOutputTypeCount(&op_)));
      types.push_back({type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED ? open : declared_dtype(type), std::nullopt});
    }
    return types;
  }

  void compute(OrtKernelContext& context) const {
    if (op_.version >= kSinceStatus && op_.KernelComputeV2 != nullptr)
      check(op_.KernelComputeV2(kernel_, &context), info_.node);
    else
      op_.KernelCompute(kernel_, &context);
  }

  const OrtCustomOp& op_;
  OrtKernelInfo info_;
  void* kernel_ = nullptr;
};

/// Whether the node has as many inputs and outputs, of the types, as the operator takes.
void check_node(const OrtCustomOp& op, const CustomNode& node) {
  const std::size_t count = op.GetInputTypeCount(&op), given = node.inputs.size();
  const bool is_variadic =
      op.version >= kSinceVariadic && count > 0 && op.GetInputCharacteristic(&op, count - 1) == INPUT_OUTPUT_VARIADIC;
  if (given > count && !is_variadic)
    throw Failure(ORT_INVALID_GRAPH,
                  "expected at most " + std::to_string(count) + " inputs, found " + std::to_string(given));
  for (std::size_t i = 0; i < given; ++i) {
    const DType wanted = declared_dtype(op.GetInputType(&op, declared(i, count)));
    const DType found = node.inputs[i].dtype;
    if (wanted != DType::undefined && found != DType::undefined && wanted != found)
      throw Failure(ORT_INVALID_GRAPH, "node '" + node.name + "' (" + node.type + "): input " + std::to_string(i) +
                                           ": expected " + std::string(name_of(wanted)) + ", found " +
                                           std::string(name_of(found)));
  }
}

OrtKernelInfo info_of(const CustomNode& node, const OrtSessionOptions& options, const OrtEnv& environment) {
  OrtKernelInfo info;
  info.node = node;
  info.logger = &environment.logger;
  info.entries = options.entries;
  for (const auto& constant : node.constants)
    info.constants.push_back(constant ? std::shared_ptr<OrtValue>(value_of(Tensor(*constant))) : nullptr);
  return info;
}

CustomOperator operator_of(const std::string& domain, const OrtCustomOp& op, const OrtSessionOptions& options,
                           const OrtEnv& environment) {
  CustomOperator custom;
  custom.domain = domain;
  custom.type = op.GetName(&op);
  if (op.version >= kSinceShapes && op.GetStartVersion != nullptr) custom.since = op.GetStartVersion(&op);
  if (op.version >= kSinceShapes && op.GetEndVersion != nullptr) custom.until = op.GetEndVersion(&op);
  custom.make = [&op, entries = options.entries, &environment](const CustomNode& node) {
    OrtSessionOptions own;
    own.entries = entries;
    check_node(op, node);
    return std::make_shared<const Kernel>(op, info_of(node, own, environment));
  };
  return custom;
}

using Register = OrtStatus* (*)(OrtSessionOptions*, const OrtApiBase*);

void call(Register function, OrtSessionOptions& options) {
  OrtStatus* const status = function(&options, &base());
  if (status != nullptr) {
    const OrtErrorCode code = status->code;
    throw Failure(code, taken(status));
  }
}

void* opened(const char* path) {
  void* const library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) throw Failure(ORT_FAIL, std::string("library of operators: ") + dlerror());
  return library;
}

void register_library(OrtSessionOptions& options, void* library, const char* path) {
  const auto function = reinterpret_cast<Register>(dlsym(library, "RegisterCustomOps"));
  if (function == nullptr) throw Failure(ORT_FAIL, std::string(path) + " has no function RegisterCustomOps");
  call(function, options);
}

}  // namespace

std::vector<CustomOperator> operators_of(const OrtSessionOptions& options, const OrtEnv& environment) {
  std::vector<CustomOperator> operators;
  for (const OrtCustomOpDomain* domain : options.domains)
    for (const OrtCustomOp* op : domain->operators)
      operators.push_back(operator_of(domain->name, *op, options, environment));
  return operators;
}

OrtStatus* CreateCustomOpDomain(const char* name, OrtCustomOpDomain** out) noexcept {
  return guarded([&] {
    need("name and out", name, out);
    *out = new OrtCustomOpDomain{name, {}};
  });
}
void ReleaseCustomOpDomain(OrtCustomOpDomain* domain) noexcept { delete domain; }

OrtStatus* CustomOpDomain_Add(OrtCustomOpDomain* domain, const OrtCustomOp* op) noexcept {
  return guarded([&] {
    need("domain and operator", domain, op);
    domain->operators.push_back(op);
  });
}
OrtStatus* AddCustomOpDomain(OrtSessionOptions* options, OrtCustomOpDomain* domain) noexcept {
  return guarded([&] {
    need("options and domain", options, domain);
    options->domains.push_back(domain);
  });
}

OrtStatus* RegisterCustomOpsLibrary(OrtSessionOptions* options, const char* path, void** out) noexcept {
  return guarded([&] {
    need("options, path and out", options, path, out);
    *out = opened(path);
    register_library(*options, *out, path);
  });
}
OrtStatus* RegisterCustomOpsLibrary_V2(OrtSessionOptions* options, const char* path) noexcept {
  return guarded([&] {
    need("options and path", options, path);
    std::shared_ptr<void> library(opened(path), dlclose);
    register_library(*options, library.get(), path);
    options->libraries.push_back(std::move(library));
  });
}
OrtStatus* RegisterCustomOpsUsingFunction(OrtSessionOptions* options, const char* name) noexcept {
  return guarded([&] {
    need("options and name", options, name);
    const auto function = reinterpret_cast<Register>(dlsym(RTLD_DEFAULT, name));
    if (function == nullptr) throw Failure(ORT_INVALID_ARGUMENT, "there is no function " + std::string(name));
    call(function, *options);
  });
}

}  // namespace colonnade::ort
