// SPDX-License-Identifier: Apache-2.0
// What a model takes and gives as its configuration shows it to clients, and the check of a request against it.
#pragma once

#include <model_config.pb.h>

#include <string>
#include <vector>

#include "frontends/server/queue.hpp"

namespace colonnade::serve {

/// An input or output. `dims` leave the batch axis out where the model has one.
struct Port {
  std::string name;
  DType dtype = DType::undefined;
  Shape dims;
  bool is_reshaped = false;
  Shape model_dims;                 ///< what the model has instead of `dims`, where they are reshaped
  std::vector<std::string> labels;  ///< of classes
};

struct Signature {
  std::string model;
  std::int64_t max_batch = 0;  ///< 0: no batch axis
  std::vector<Port> inputs;    ///< in the model's order
  std::vector<Port> outputs;

  /// A complete configuration of this model. Throws Failure where they contradict each other.
  static Signature of(const inference::ModelConfig& config, const Model& model);

  /// Binds a request, which moves into the job, to the model. Throws Failure that says what is expected and what was
  /// found.
  JobPtr bind(InferenceRequest& request) const;

  /// The shape that the client sees of an output of the model.
  Shape client_shape(const Port& output, const Shape& shape) const;
};

/// "[1,3,224,224]"
std::string text_of(const Shape& shape);

}  // namespace colonnade::serve
