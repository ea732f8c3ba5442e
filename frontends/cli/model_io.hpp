// SPDX-License-Identifier: Apache-2.0
// Opening models, choosing shapes, collecting inputs and writing outputs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "colonnade/colonnade.hpp"
#include "commands.hpp"
#include "npy.hpp"

namespace colonnade::cli {

/// Everything but the threads, which `threads` overrides.
Math math_of(const EngineOptions& engine);
Options library_options(const EngineOptions& engine, int threads);
/// An unreadable file is Error{invalid_model} here: the model is at fault, not this program.
Model open_model(const EngineOptions& engine, const Options& options);
Model open_model(const EngineOptions& engine);

/// Overrides from --shape and --batch, completed so that dimensions of one symbol agree in all inputs and open ones
/// are 1; with neither given, empty. Throws Error{invalid_argument} for unknown names, wrong ranks, fixed batches.
ShapeMap shape_overrides(std::span<const TensorInfo> inputs, const ShapeOptions& options);
/// The same with the shapes of the given tensors, by input, as overrides (undefined tensors do not count).
ShapeMap shape_overrides(std::span<const TensorInfo> inputs, std::span<const Tensor> given,
                         const ShapeOptions& options);

/// One tensor per model input: from the files given, the rest random.
std::vector<Tensor> gather_inputs(const Model& model, const InputOptions& input, const ShapeOptions& shape);
/// Says which tokens are no padding, by its name.
bool is_mask(const TensorInfo& input);
/// Random tensors of the given shapes, one per input; of masks ones.
std::vector<Tensor> random_inputs(const Model& model, std::span<const Shape> shapes, std::uint64_t seed);
std::vector<TensorView> views_of(std::span<const Tensor> tensors);

/// Position of a name among inputs or outputs. Throws Error{invalid_argument} that lists the names there are.
std::size_t find_name(std::span<const TensorInfo> infos, const std::string& name, const char* what);

/// NAME=FILE, where NAME may be left out (index -1).
struct Assignment {
  int index = -1;
  std::string file;
};
Assignment parse_assignment(std::span<const TensorInfo> infos, const std::string& text, const char* what);

/// Tensors of a .npy, .npz or .pb file; names are empty but for .npz. "FILE.npz:ARRAY" picks one array.
std::vector<NamedTensor> read_tensors(const std::string& file);
/// Tensors from NAME=FILE assignments, one per info; undefined where no assignment says anything.
std::vector<Tensor> read_assigned(std::span<const TensorInfo> infos, std::span<const std::string> assignments,
                                  const char* what);

/// Writes the tensors as NAME=FILE assignments say (.npy, .npz or .pb); several may name one .npz file. Throws
/// Error{invalid_argument} for unknown names or extensions, Error{io}.
void write_assigned(std::span<const TensorInfo> infos, std::span<const Tensor> tensors,
                    std::span<const std::string> assignments);
/// FOLDER/NAME.npy for every tensor, characters that no file name takes replaced by '_'.
void write_folder(std::span<const TensorInfo> infos, std::span<const Tensor> tensors, const std::string& folder);

/// Profiles are means over so many runs.
inline constexpr int kProfiledRuns = 5;

}  // namespace colonnade::cli
