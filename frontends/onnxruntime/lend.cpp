// SPDX-License-Identifier: Apache-2.0
// Libraries of operators for other programs than those of the C interface: Colonnade's module of Python has sessions of
// its own.
#include <map>
#include <mutex>

#include "frontends/onnxruntime/custom.hpp"

namespace colonnade::ort {
namespace {

Error error_of(const Failure& failure) {
  switch (failure.code()) {
    case ORT_INVALID_ARGUMENT: return {ErrorCode::invalid_argument, failure.what()};
    case ORT_INVALID_GRAPH: return {ErrorCode::invalid_model, failure.what()};
    case ORT_NOT_IMPLEMENTED: return {ErrorCode::unsupported, failure.what()};
    case ORT_RUNTIME_EXCEPTION: return {ErrorCode::resource_limit, failure.what()};
    default: return {ErrorCode::internal, failure.what()};
  }
}

template <class Work>
auto as_error(const Work& work) {
  try {
    return work();
  } catch (const Failure& failure) {
    throw error_of(failure);
  }
}

/// A kernel whose failures are errors as the engine knows them.
class Lent final : public CustomKernel {
 public:
  explicit Lent(std::shared_ptr<const CustomKernel> kernel) : kernel_(std::move(kernel)) {}
  std::vector<CustomType> infer(std::span<const CustomType> inputs) const override {
    return as_error([&] { return kernel_->infer(inputs); });
  }
  std::vector<Tensor> run(std::span<const Tensor* const> inputs) const override {
    return as_error([&] { return kernel_->run(inputs); });
  }

 private:
  std::shared_ptr<const CustomKernel> kernel_;
};

/// What libraries were asked for. Never destroyed: models may live until the process ends.
struct Libraries {
  std::mutex mutex;
  OrtEnv environment;
  std::map<std::string, OrtSessionOptions> options;  ///< by path
};

std::vector<CustomOperator> operators_in(const std::string& path) {
  static Libraries& libraries = *new Libraries;
  const std::scoped_lock lock(libraries.mutex);
  auto known = libraries.options.find(path);
  if (known == libraries.options.end()) {
    OrtSessionOptions options;
    if (const std::unique_ptr<OrtStatus, void (*)(OrtStatus*)> status(
            RegisterCustomOpsLibrary_V2(&options, path.c_str()), ReleaseStatus);
        status)
      throw Failure(status->code, status->message);
    known = libraries.options.emplace(path, std::move(options)).first;
  }
  std::vector<CustomOperator> operators = operators_of(known->second, libraries.environment);
  for (CustomOperator& op : operators)
    op.make = [make = std::move(op.make)](const CustomNode& node) {
      return std::make_shared<const Lent>(as_error([&] { return make(node); }));
    };
  return operators;
}

}  // namespace
}  // namespace colonnade::ort

/// The operators that a library registers, for a program of the same version. Answers the code of ONNX Runtime, 0 when
/// all went well, and what went wrong. The engine that makes models with them may be another copy of this library's.
extern "C" COLONNADE_API int colonnade_ort_operators(const char* version, const char* path,
                                                     std::vector<colonnade::CustomOperator>* operators,
                                                     std::string* message) {
  using namespace colonnade::ort;
  OrtStatus* const status = guarded([&] {
    if (colonnade::version() != version)
      throw Failure(ORT_FAIL, "the library with ONNX Runtime's C interface is of Colonnade " +
                                  std::string(colonnade::version()) + ", expected " + version);
    *operators = operators_in(path);
  });
  if (status == nullptr) return ORT_OK;
  const int code = status->code;
  *message = status->message;
  ReleaseStatus(status);
  return code;
}
