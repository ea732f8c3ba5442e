// SPDX-License-Identifier: Apache-2.0
// Operators of the program: its structs of functions as operators of the library.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "colonnade/custom.hpp"
#include "frontends/onnxruntime/options.hpp"
#include "frontends/onnxruntime/types.hpp"

/// An attribute of a node.
struct OrtOpAttr {
  std::string name;
  colonnade::CustomAttribute value;
};

/// What a kernel is told of its node when it is made; programs may keep copies.
struct OrtKernelInfo {
  colonnade::CustomNode node;
  std::vector<colonnade::CustomType> outputs;        ///< as far as the operator says
  std::vector<std::shared_ptr<OrtValue>> constants;  ///< by input; null where it is not constant
  const OrtLogger* logger = nullptr;
  std::map<std::string, std::string> entries;  ///< of the session's options
};

/// One call of a kernel.
struct OrtKernelContext {
  const OrtKernelInfo* info = nullptr;
  std::vector<std::unique_ptr<OrtValue>> inputs;     ///< null where one is left out
  std::vector<std::unique_ptr<OrtValue>> outputs;    ///< null until the kernel asks for them
  std::vector<colonnade::DType> types;               ///< of the outputs
  std::vector<std::shared_ptr<const void>> scratch;  ///< memory that lasts as long as the call
};

/// What a rule for shapes reads and says.
struct OrtShapeInferContext {
  std::vector<OrtTensorTypeAndShapeInfo> inputs;
  std::vector<colonnade::CustomType> outputs;
  std::vector<OrtOpAttr> attributes;
};

namespace colonnade::ort {

/// The operators of the options' domains, which must live as long as sessions that are made of the options.
std::vector<CustomOperator> operators_of(const OrtSessionOptions& options, const OrtEnv& environment);

}  // namespace colonnade::ort
