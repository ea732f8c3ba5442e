// SPDX-License-Identifier: Apache-2.0
#include "model_io.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "colonnade/numa.hpp"
#include "files.hpp"
#include "numbers.hpp"
#include "text.hpp"

namespace colonnade::cli {
namespace {

constexpr std::string_view kEmbeddedPrefix = "embedded:";

std::string names_of(std::span<const TensorInfo> infos) {
  std::string names;
  for (const TensorInfo& info : infos) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", info.name);
  return names;
}

Shape merged(const TensorInfo& info, const Shape& wanted) {
  if (!info.has_rank || info.shape.size() == wanted.size()) return wanted;
  throw Error(ErrorCode::invalid_argument, fmt::format("input '{}' has rank {} ({}), found shape {}", info.name,
                                                       info.shape.size(), shape_text(info.shape), shape_text(wanted)));
}

void set_named_shape(std::span<const TensorInfo> inputs, const std::string& text, std::vector<Shape>& shapes) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos && inputs.size() != 1)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--shape '{}' names no input; the model has {}", text, names_of(inputs)));
  const std::size_t index = colon == std::string::npos ? 0 : find_name(inputs, text.substr(0, colon), "input");
  const Shape wanted = parse_shape(colon == std::string::npos ? text : text.substr(colon + 1));
  shapes[index] = merged(inputs[index], wanted);
}

void set_batch(std::span<const TensorInfo> inputs, std::int64_t batch, std::vector<Shape>& shapes) {
  bool found = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (shapes[i].empty()) continue;
    if (inputs[i].has_rank && inputs[i].shape[0] == -1) shapes[i][0] = batch;
    found = found || shapes[i][0] == batch;
  }
  if (found) return;
  const std::string fixed = inputs.empty() ? "nothing" : shape_text(inputs[0].shape);
  throw Error(ErrorCode::invalid_argument,
              fmt::format("--batch {}: no input has an open first dimension (the first input is {})", batch, fixed));
}

/// Gives every open dimension the size that its symbol has elsewhere, else 1. Exporters write "?" for no symbol.
void close_dimensions(std::span<const TensorInfo> inputs, std::vector<Shape>& shapes) {
  std::map<std::string, std::int64_t> sizes;
  const auto symbol = [&](std::size_t i, std::size_t d) {
    const std::string name = d < inputs[i].dim_names.size() ? inputs[i].dim_names[d] : "";
    return name == "?" ? std::string() : name;
  };
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (std::size_t d = 0; d < shapes[i].size(); ++d)
      if (shapes[i][d] >= 0 && !symbol(i, d).empty()) sizes.emplace(symbol(i, d), shapes[i][d]);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (std::size_t d = 0; d < shapes[i].size(); ++d) {
      if (shapes[i][d] >= 0) continue;
      const auto known = sizes.find(symbol(i, d));
      shapes[i][d] = known == sizes.end() ? 1 : known->second;
    }
}

ShapeMap named(std::span<const TensorInfo> inputs, const std::vector<Shape>& shapes) {
  ShapeMap map;
  for (std::size_t i = 0; i < inputs.size(); ++i) map[inputs[i].name] = shapes[i];
  return map;
}

std::vector<Shape> declared_shapes(std::span<const TensorInfo> inputs, const ShapeOptions& options) {
  std::vector<Shape> shapes;
  for (const TensorInfo& info : inputs) shapes.push_back(info.shape);
  for (const std::string& text : options.shapes) set_named_shape(inputs, text, shapes);
  if (options.batch > 0) set_batch(inputs, options.batch, shapes);
  return shapes;
}

bool is_image_file(const std::string& file) {
  const std::string extension = extension_of(file);
  return extension == "png" || extension == "jpg" || extension == "jpeg";
}

Tensor adapted(Tensor tensor, const TensorInfo& info, bool cast, const std::string& file) {
  if (tensor.dtype() == info.dtype || info.dtype == DType::undefined) return tensor;
  if (cast) return converted(tensor, info.dtype);
  throw Error(ErrorCode::invalid_input, fmt::format("input '{}' is {}, '{}' holds {} (--cast converts)", info.name,
                                                    name_of(info.dtype), file, name_of(tensor.dtype())));
}

void give_inputs(const Model& model, const InputOptions& options, const ShapeOptions& shape,
                 std::vector<Tensor>& given) {
  const auto inputs = model.inputs();
  const std::vector<Shape> wanted = declared_shapes(inputs, shape);
  std::vector<std::string> plain;
  for (const std::string& text : options.files) {
    const Assignment assignment = parse_assignment(inputs, text, "input");
    if (!is_image_file(assignment.file)) {
      plain.push_back(text);
      continue;
    }
    if (assignment.index < 0)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("--input '{}' names no input; the model has {}", text, names_of(inputs)));
    const auto index = static_cast<std::size_t>(assignment.index);
    given[index] =
        images::image_tensor(read_file(assignment.file), assignment.file, inputs[index], wanted[index], options.image);
  }
  std::vector<Tensor> read = read_assigned(inputs, plain, "input");
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (read[i].dtype() != DType::undefined)
      given[i] = adapted(std::move(read[i]), inputs[i], options.cast, inputs[i].name);
}

}  // namespace

Math math_of(const EngineOptions& engine) {
  if (engine.math == "exact") return Math::exact;
  return engine.math == "bf16" ? Math::bf16 : Math::fast;
}

Options library_options(const EngineOptions& engine, int threads) {
  Options options;
  options.threads = threads;
  options.schedule = engine.schedule == "columns"  ? Schedule::columns
                     : engine.schedule == "layers" ? Schedule::layers
                                                   : Schedule::automatic;
  options.math = math_of(engine);
  options.strict = engine.strict;
  options.duel = engine.duel == "on";
  options.dynamic_scale = engine.dynamic_scale == "row"        ? DynamicScale::row
                          : engine.dynamic_scale == "sequence" ? DynamicScale::sequence
                                                               : DynamicScale::tensor;
  options.padding = engine.padding == "compute" ? Padding::compute : Padding::zeros;
  options.isa = engine.isa;
  options.blocking = engine.blocking;
  options.numa = engine.numa;
  options.compiled = engine.compiled;
  if (!engine.memory_limit.empty()) options.memory_limit_bytes = parse_bytes(engine.memory_limit);
  return options;
}

Model open_model(const EngineOptions& engine, const Options& options) {
  if (engine.numa.starts_with("node=")) stay_on_node(engine.numa);
  if (engine.model.starts_with(kEmbeddedPrefix))
    return Model::embedded(engine.model.substr(kEmbeddedPrefix.size()), options);
  std::error_code error;
  if (std::filesystem::is_directory(engine.model, error))
    throw Error(ErrorCode::invalid_model, fmt::format("'{}' is a folder, not a model", engine.model));
  try {
    return Model::load(engine.model, options);
  } catch (const Error& failure) {
    if (failure.code() != ErrorCode::io) throw;
    const auto names = Model::embedded_names();
    const bool meant_embedded = std::find(names.begin(), names.end(), engine.model) != names.end();
    throw Error(ErrorCode::invalid_model,
                fmt::format("{}{}", failure.what(),
                            meant_embedded ? fmt::format(" (the built-in model is embedded:{})", engine.model) : ""));
  }
}

Model open_model(const EngineOptions& engine) { return open_model(engine, library_options(engine, engine.threads)); }

ShapeMap shape_overrides(std::span<const TensorInfo> inputs, const ShapeOptions& options) {
  return shape_overrides(inputs, {}, options);
}

ShapeMap shape_overrides(std::span<const TensorInfo> inputs, std::span<const Tensor> given,
                         const ShapeOptions& options) {
  std::vector<Shape> shapes = declared_shapes(inputs, options);
  bool any = options.batch > 0 || !options.shapes.empty();
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i].dtype() == DType::undefined) continue;
    any = true;
    shapes[i] = given[i].shape();
  }
  if (!any) return {};
  close_dimensions(inputs, shapes);
  return named(inputs, shapes);
}

std::vector<Tensor> gather_inputs(const Model& model, const InputOptions& input, const ShapeOptions& shape) {
  const auto inputs = model.inputs();
  std::vector<Tensor> given(inputs.size());
  give_inputs(model, input, shape, given);
  const std::vector<Shape> shapes = model.resolve_shapes(shape_overrides(inputs, given, shape));
  std::vector<Tensor> random = random_inputs(model, shapes, input.seed);
  for (std::size_t i = 0; i < given.size(); ++i)
    if (given[i].dtype() == DType::undefined) given[i] = std::move(random[i]);
  return given;
}

bool is_mask(const TensorInfo& input) {
  return input.dtype == DType::i64 && input.name.find("mask") != std::string::npos;
}

std::vector<Tensor> random_inputs(const Model& model, std::span<const Shape> shapes, std::uint64_t seed) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    tensors.push_back(random_tensor(model.inputs()[i].dtype, shapes[i], seed * 1000003 + i));
  for (std::size_t i = 0; i < shapes.size(); ++i)
    if (is_mask(model.inputs()[i])) std::ranges::fill(tensors[i].values<std::int64_t>(), 1);
  return tensors;
}

std::vector<TensorView> views_of(std::span<const Tensor> tensors) { return {tensors.begin(), tensors.end()}; }

std::size_t find_name(std::span<const TensorInfo> infos, const std::string& name, const char* what) {
  const auto found =
      std::find_if(infos.begin(), infos.end(), [&](const TensorInfo& info) { return info.name == name; });
  if (found == infos.end())
    throw Error(ErrorCode::invalid_argument, fmt::format("no {} '{}'; the model has {}", what, name, names_of(infos)));
  return static_cast<std::size_t>(found - infos.begin());
}

Assignment parse_assignment(std::span<const TensorInfo> infos, const std::string& text, const char* what) {
  for (std::size_t i = 0; i < infos.size(); ++i)
    if (text.starts_with(infos[i].name + "=")) return {static_cast<int>(i), text.substr(infos[i].name.size() + 1)};
  const std::size_t equals = text.find('=');
  std::error_code error;
  if (equals != std::string::npos && !std::filesystem::exists(text, error))
    find_name(infos, text.substr(0, equals), what);
  return {infos.size() == 1 ? 0 : -1, text};
}

std::vector<Tensor> read_assigned(std::span<const TensorInfo> infos, std::span<const std::string> assignments,
                                  const char* what) {
  std::vector<Tensor> tensors(infos.size());
  for (const std::string& text : assignments) {
    const Assignment assignment = parse_assignment(infos, text, what);
    std::vector<NamedTensor> found = read_tensors(assignment.file);
    for (NamedTensor& item : found) {
      const bool only = found.size() == 1 && assignment.index >= 0;
      const bool matches = assignment.index >= 0 && item.name == infos[static_cast<std::size_t>(assignment.index)].name;
      if (only || matches) tensors[static_cast<std::size_t>(assignment.index)] = std::move(item.tensor);
      if (assignment.index < 0 && !item.name.empty())
        tensors[find_name(infos, item.name, what)] = std::move(item.tensor);
    }
    const bool missing =
        assignment.index >= 0 && tensors[static_cast<std::size_t>(assignment.index)].dtype() == DType::undefined;
    const bool nameless = assignment.index < 0 && (found.empty() || found[0].name.empty());
    if (nameless)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("'{}' names no {}; the model has {}", text, what, names_of(infos)));
    if (missing)
      throw Error(ErrorCode::invalid_input,
                  fmt::format("'{}' has {} arrays, none of them '{}'; FILE.npz:ARRAY picks one", assignment.file,
                              found.size(), infos[static_cast<std::size_t>(assignment.index)].name));
  }
  return tensors;
}

}  // namespace colonnade::cli
