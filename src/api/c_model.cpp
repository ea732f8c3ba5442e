// SPDX-License-Identifier: Apache-2.0
// The C interface: models.
#include "api/c_api.hpp"
#include "api/embedded.hpp"
#include "colonnade/optimize.hpp"

namespace colonnade {
namespace {

static_assert(static_cast<int>(Schedule::columns) == COLONNADE_SCHEDULE_COLUMNS);
static_assert(static_cast<int>(Schedule::layers) == COLONNADE_SCHEDULE_LAYERS);
static_assert(static_cast<int>(Math::exact) == COLONNADE_MATH_EXACT);
static_assert(static_cast<int>(Math::bf16) == COLONNADE_MATH_BF16);

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

std::vector<std::vector<const char*>> dim_names_of(std::span<const TensorInfo> infos) {
  std::vector<std::vector<const char*>> lists;
  for (const TensorInfo& info : infos) {
    auto& list = lists.emplace_back();
    for (const std::string& name : info.dim_names) list.push_back(name.c_str());
  }
  return lists;
}

std::int32_t kind_of(const TensorInfo& info) {
  if (info.containers.empty()) return COLONNADE_KIND_TENSOR;
  switch (info.containers.front()) {
    case Container::sequence: return COLONNADE_KIND_SEQUENCE;
    case Container::optional: return COLONNADE_KIND_OPTIONAL;
    case Container::map_of_int64:
    case Container::map_of_string: break;
  }
  return COLONNADE_KIND_MAP;
}

void give_info(std::span<const TensorInfo> infos, const std::vector<std::vector<const char*>>& dim_names,
               std::size_t index, const char* what, colonnade_value_info* place) {
  if (index >= infos.size()) fail(ErrorCode::invalid_argument, "{} {} of {}", what, index, infos.size());
  const TensorInfo& info = infos[index];
  colonnade_value_info known{};
  known.name = info.name.c_str();
  known.dtype = static_cast<std::int32_t>(info.dtype);
  known.kind = kind_of(info);
  known.rank = info.has_rank ? static_cast<std::int64_t>(info.shape.size()) : -1;
  known.shape = info.shape.data();
  known.dim_names = dim_names[index].data();
  c::give(known, place, "info");
}

/// The caller's functions, released when nobody can call them any more.
class Callbacks {
 public:
  explicit Callbacks(const colonnade_reader& reader) : reader_(reader) {}
  Callbacks(const Callbacks&) = delete;
  Callbacks& operator=(const Callbacks&) = delete;
  ~Callbacks() {
    if (reader_.release != nullptr) reader_.release(reader_.user);
  }

  void read(std::uint64_t offset, std::span<std::byte> into) const {
    const std::int32_t result = reader_.read(offset, into.data(), into.size(), reader_.user);
    if (result != 0)
      fail(ErrorCode::io, "the reader answered {} for {} bytes at offset {}", result, into.size(), offset);
  }

 private:
  colonnade_reader reader_;
};

template <class Make>
colonnade_status* make_model(const colonnade_options* options, colonnade_model** model, Make&& make) {
  return c::guarded([&] {
    auto*& result = c::result_in(model, "model");
    result = new colonnade_model(make(c::options_of(options)));
  });
}

}  // namespace

Options c::options_of(const colonnade_options* given) {
  const colonnade_options known = c::taken(given, "options");
  if (known.schedule < COLONNADE_SCHEDULE_AUTOMATIC || known.schedule > COLONNADE_SCHEDULE_LAYERS)
    fail(ErrorCode::invalid_argument, "options: there is no schedule {}", known.schedule);
  if (known.math < COLONNADE_MATH_FAST || known.math > COLONNADE_MATH_BF16)
    fail(ErrorCode::invalid_argument, "options: there is no math {}", known.math);
  Options options;
  options.threads = known.threads;
  options.schedule = static_cast<Schedule>(known.schedule);
  options.math = static_cast<Math>(known.math);
  options.strict = known.strict != 0;
  options.duel = known.no_duel == 0;
  options.memory_limit_bytes = known.memory_limit_bytes;
  if (known.plan_cache_bytes > 0) options.plan_cache_bytes = known.plan_cache_bytes;
  options.isa = text_of(known.isa);
  for (const colonnade_dimension& dimension : c::array(known.dimensions, known.dimension_count, "options: dimensions"))
    options.dimensions[&c::required(dimension.symbol, "options: symbol of a dimension")] = dimension.size;
  options.compiled = text_of(known.compiled);
  options.numa = text_of(known.numa == nullptr && known.weights_per_node != 0 ? "replicate" : known.numa);
  options.blocking = text_of(known.blocking);
  if (known.dynamic_scale < COLONNADE_DYNAMIC_SCALE_TENSOR || known.dynamic_scale > COLONNADE_DYNAMIC_SCALE_ROW)
    fail(ErrorCode::invalid_argument, "options: there is no dynamic scale {}", known.dynamic_scale);
  options.dynamic_scale = static_cast<DynamicScale>(known.dynamic_scale);
  options.padding = known.compute_padding == 0 ? Padding::zeros : Padding::compute;
  return options;
}

ShapeMap c::shape_map(const colonnade_shape* shapes, std::size_t count) {
  ShapeMap map;
  for (const colonnade_shape& shape : array(shapes, count, "shapes")) {
    const auto sizes = array(shape.sizes, shape.rank, "sizes of a shape");
    map[&required(shape.input, "input of a shape")] = Shape(sizes.begin(), sizes.end());
  }
  return map;
}

}  // namespace colonnade

using colonnade::Model;
using colonnade::c::guarded;
using colonnade::c::required;

colonnade_model::colonnade_model(Model loaded)
    : model(std::move(loaded)),
      input_dim_names(colonnade::dim_names_of(model.inputs())),
      output_dim_names(colonnade::dim_names_of(model.outputs())) {
  for (const auto& [domain, version] : model.metadata().opsets) opsets.push_back({domain.c_str(), version});
  for (const auto& [key, value] : model.metadata().custom) custom.push_back({key.c_str(), value.c_str()});
}

colonnade_status* colonnade_model_load(const char* path, const colonnade_options* options, colonnade_model** model) {
  return colonnade::make_model(
      options, model, [&](const colonnade::Options& known) { return Model::load(&required(path, "path"), known); });
}

colonnade_status* colonnade_model_from_bytes(const void* bytes, std::size_t size, const colonnade_options* options,
                                             colonnade_model** model) {
  return colonnade::make_model(options, model, [&](const colonnade::Options& known) {
    return Model::from_bytes(colonnade::c::array(static_cast<const std::byte*>(bytes), size, "bytes"), known);
  });
}

colonnade_status* colonnade_model_from_reader(const colonnade_reader* reader, const colonnade_options* options,
                                              colonnade_model** model) {
  return colonnade::make_model(options, model, [&](const colonnade::Options& known) {
    const colonnade_reader functions = colonnade::c::taken(&required(reader, "reader"), "reader");
    const auto callbacks = std::make_shared<const colonnade::Callbacks>(functions);
    required(functions.read, "the reader's read");
    return Model::from_reader(
        [callbacks](std::uint64_t offset, std::span<std::byte> into) { callbacks->read(offset, into); }, functions.size,
        known);
  });
}

colonnade_status* colonnade_model_embedded(const char* name, const colonnade_options* options,
                                           colonnade_model** model) {
  return colonnade::make_model(
      options, model, [&](const colonnade::Options& known) { return Model::embedded(&required(name, "name"), known); });
}

const char* colonnade_embedded_name(std::size_t index) {
  const auto models = colonnade::embedded_models();
  return index < models.size() ? models[index].name : nullptr;
}

void colonnade_model_free(colonnade_model* model) { delete model; }

std::size_t colonnade_model_input_count(const colonnade_model* model) {
  return model == nullptr ? 0 : model->model.inputs().size();
}
std::size_t colonnade_model_output_count(const colonnade_model* model) {
  return model == nullptr ? 0 : model->model.outputs().size();
}

colonnade_status* colonnade_model_input(const colonnade_model* model, std::size_t index, colonnade_value_info* info) {
  return guarded([&] {
    const colonnade_model& known = required(model, "model");
    colonnade::give_info(known.model.inputs(), known.input_dim_names, index, "input", info);
  });
}

colonnade_status* colonnade_model_output(const colonnade_model* model, std::size_t index, colonnade_value_info* info) {
  return guarded([&] {
    const colonnade_model& known = required(model, "model");
    colonnade::give_info(known.model.outputs(), known.output_dim_names, index, "output", info);
  });
}

colonnade_status* colonnade_model_metadata(const colonnade_model* model, colonnade_metadata* metadata) {
  return guarded([&] {
    const colonnade_model& known = required(model, "model");
    const colonnade::ModelMetadata& found = known.model.metadata();
    colonnade_metadata filled{};
    filled.name = known.model.name().c_str();
    filled.producer_name = found.producer_name.c_str();
    filled.producer_version = found.producer_version.c_str();
    filled.domain = found.domain.c_str();
    filled.description = found.description.c_str();
    filled.model_version = found.model_version;
    filled.ir_version = found.ir_version;
    filled.graph_name = found.graph_name.c_str();
    filled.graph_description = found.graph_description.c_str();
    filled.opsets = known.opsets.data();
    filled.opset_count = known.opsets.size();
    filled.custom = known.custom.data();
    filled.custom_count = known.custom.size();
    colonnade::c::give(filled, metadata, "metadata");
  });
}

colonnade_status* colonnade_model_describe(const colonnade_model* model, const colonnade_shape* shapes,
                                           std::size_t shape_count, char** json) {
  return guarded([&] {
    char*& result = colonnade::c::result_in(json, "json");
    const colonnade_model& known = required(model, "model");
    result = colonnade::c::new_text(known.model.describe(colonnade::c::shape_map(shapes, shape_count)));
  });
}

colonnade_status* colonnade_model_write_optimized(const colonnade_model* model, const char* path,
                                                  const colonnade_optimized_file* file) {
  return guarded([&] {
    const colonnade_optimized_file known = colonnade::c::taken(file, "file");
    colonnade::OptimizedFile target;
    if (known.weights != nullptr) target.weights = known.weights;
    if (known.least_bytes > 0) target.least_bytes = known.least_bytes;
    colonnade::write_optimized(required(model, "model").model, &required(path, "path"), target);
  });
}

colonnade_status* colonnade_describe_machine(char** json) {
  return guarded([&] {
    char*& result = colonnade::c::result_in(json, "json");
    result = colonnade::c::new_text(colonnade::describe_machine(false));
  });
}
