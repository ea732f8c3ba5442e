// SPDX-License-Identifier: Apache-2.0
// A model written as ONNX again, simpler. Not part of colonnade/colonnade.hpp.
#pragma once

#include <cstddef>
#include <string>

#include "colonnade/model.hpp"

namespace colonnade {

/// Where the weights of a written model lie.
struct OptimizedFile {
  /// A file in the same folder for large constants; "": within the model, or in "NAME.data" where they are too large
  /// for a protobuf message (2 GiB).
  std::string weights = {};
  std::size_t least_bytes = 1024;  ///< of a constant in that file
};

struct OptimizedCounts {
  std::size_t nodes_before = 0, nodes_after = 0;  ///< of the main graph
};

/// Writes the model with constants and known shapes folded, nodes without effect or users left out, equal ones made
/// one, scales and shifts (batch normalisation too) folded into convolutions and products with constant weights. Same
/// inputs, outputs, operator sets and metadata; what is not understood, operators of the program too, stays as it is.
/// Initializers that runs may replace stay too. Any thread. The file is complete or not written. Throws
/// Error{invalid_argument} for a model whose bytes are not kept (Model::from_bytes; load_with and from_reader keep
/// them) and for names of files that are no names, Error{io} for what cannot be read or written.
COLONNADE_API OptimizedCounts write_optimized(const Model& model, const std::string& path,
                                              const OptimizedFile& file = {});

}  // namespace colonnade
