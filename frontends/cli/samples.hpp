// SPDX-License-Identifier: Apache-2.0
// Files that a model is calibrated with.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "commands.hpp"
#include "frontends/quantize/quantize.hpp"

namespace colonnade::cli {

/// Samples of image files, .npz, .npy and .pb files, or folders of such in the order of their names; at most `most`,
/// evenly spread. Files are read when their samples are asked for; the last one is kept. Throws Error{invalid_input}
/// for what does not fit the model's inputs, Error{invalid_argument} for names that it has not.
quantize::Samples read_samples(const Model& model, std::span<const std::string> paths, const QuantizeOptions& options);

/// Random ones.
quantize::Samples random_samples(const Model& model, const QuantizeOptions& options);

}  // namespace colonnade::cli
