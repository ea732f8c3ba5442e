// SPDX-License-Identifier: Apache-2.0
#include "samples.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "files.hpp"
#include "frontends/quantize/stack.hpp"
#include "model_io.hpp"
#include "numbers.hpp"

namespace colonnade::cli {
namespace {

constexpr const char* kImages[] = {"png", "jpg", "jpeg"};
constexpr const char* kArrays[] = {"npz", "npy", "pb"};

template <std::size_t N>
bool is_of(const std::string& path, const char* const (&extensions)[N]) {
  return std::find(std::begin(extensions), std::end(extensions), extension_of(path)) != std::end(extensions);
}

std::vector<std::string> files_of(std::span<const std::string> paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    const std::size_t before = files.size();
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      const std::string file = entry.path().string();
      if (entry.is_regular_file() && (is_of(file, kImages) || is_of(file, kArrays))) files.push_back(file);
    }
    if (files.size() == before)
      throw Error(ErrorCode::invalid_input,
                  fmt::format("folder '{}' has no file that ends in .png, .jpg, .jpeg, .npz, .npy or .pb", path));
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end());
  }
  return files;
}

/// The model's inputs as the options want them.
std::vector<Shape> wanted_shapes(const Model& model, const ShapeOptions& options) {
  std::vector<Shape> shapes;
  const ShapeMap overrides =
      options.shapes.empty() && options.batch == 0 ? ShapeMap{} : shape_overrides(model.inputs(), options);
  for (const TensorInfo& info : model.inputs()) {
    const auto given = overrides.find(info.name);
    shapes.push_back(given == overrides.end() ? info.shape : given->second);
  }
  return shapes;
}

class Files {
 public:
  Files(const Model& model, std::span<const std::string> paths, const QuantizeOptions& options)
      : model_(model), files_(files_of(paths)), shapes_(wanted_shapes(model, options.shape)), options_(options) {
    for (std::size_t file = 0; file < files_.size(); ++file) {
      const std::size_t count = is_of(files_[file], kImages) ? 1 : stack_of(file).count();
      for (std::size_t i = 0; i < count; ++i) places_.push_back({file, i});
    }
    const auto most = static_cast<std::size_t>(options.samples);
    std::vector<Place> chosen;
    for (std::size_t i = 0; i < std::min(most, places_.size()); ++i)
      chosen.push_back(places_[i * places_.size() / std::min(most, places_.size())]);
    places_ = std::move(chosen);
  }

  std::size_t count() const { return places_.size(); }

  std::vector<Tensor> at(std::size_t index) {
    const Place place = places_[index];
    return stack_of(place.file).at(place.index);
  }

 private:
  struct Place {
    std::size_t file, index;
  };

  const quantize::Stack& stack_of(std::size_t file) {
    if (!held_ || held_file_ != file) {
      held_.reset();
      held_ = std::make_unique<quantize::Stack>(model_.inputs(), shapes_, read(files_[file]), "'" + files_[file] + "'");
      held_file_ = file;
    }
    return *held_;
  }

  std::vector<Tensor> read(const std::string& file) const {
    const auto inputs = model_.inputs();
    std::vector<Tensor> tensors;
    if (is_of(file, kImages)) {
      if (inputs.size() != 1)
        throw Error(ErrorCode::invalid_input,
                    fmt::format("'{}': images are for models with one input, this one has {}", file, inputs.size()));
      tensors.push_back(images::image_tensor(read_file(file), file, inputs[0], shapes_[0], options_.image));
      return tensors;
    }
    tensors = read_assigned(inputs, std::vector<std::string>{file}, "input");
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (tensors[i].dtype() == DType::undefined)
        throw Error(ErrorCode::invalid_input, fmt::format("'{}' has no array '{}'", file, inputs[i].name));
      if (options_.cast) tensors[i] = converted(tensors[i], inputs[i].dtype);
    }
    return tensors;
  }

  const Model& model_;
  std::vector<std::string> files_;
  std::vector<Shape> shapes_;
  const QuantizeOptions& options_;
  std::vector<Place> places_;
  std::unique_ptr<quantize::Stack> held_;
  std::size_t held_file_ = 0;
};

}  // namespace

quantize::Samples read_samples(const Model& model, std::span<const std::string> paths, const QuantizeOptions& options) {
  const auto files = std::make_shared<Files>(model, paths, options);
  return {files->count(), [files](std::size_t index) { return files->at(index); }};
}

quantize::Samples random_samples(const Model& model, const QuantizeOptions& options) {
  const std::vector<Shape> shapes = model.resolve_shapes(shape_overrides(model.inputs(), options.shape));
  const auto count = static_cast<std::size_t>(options.samples);
  return {count, [model, shapes](std::size_t index) { return random_inputs(model, shapes, index + 1); }};
}

}  // namespace colonnade::cli
