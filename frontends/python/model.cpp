// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <span>

#include "colonnade/optimize.hpp"
#include "frontends/picture/picture.hpp"
#include "frontends/python/arrays.hpp"
#include "frontends/python/custom.hpp"
#include "frontends/python/options.hpp"
#include "frontends/python/python.hpp"

namespace colonnade::python {
namespace {

/// The plan of a model for some shapes, as Model::describe tells it.
struct Plan {
  std::string json;

  std::string svg() const { return picture::columns_document(picture::Json::parse(json)); }
  std::string text() const {
    const picture::Json plan = picture::Json::parse(json);
    return "<colonnade.Plan of " + picture::text_in(plan, "model") + ": " +
           std::to_string(picture::array_in(plan, "segments").size()) + " segments, " +
           picture::text_in(plan, "threads") + " threads, arena " +
           picture::human_bytes(picture::number_in(plan, "arena_bytes")) + ">";
  }
};

/// Calls a Python function from any thread.
Model::Reader reader_of(nb::handle callable) {
  const auto release = [](PyObject* object) {
    if (Py_IsInitialized() == 0) return;
    const nb::gil_scoped_acquire acquire;
    Py_DECREF(object);
  };
  const std::shared_ptr<PyObject> function(nb::borrow(callable).release().ptr(), release);
  return [function](std::uint64_t offset, std::span<std::byte> into) {
    const nb::gil_scoped_acquire acquire;
    const nb::object view = nb::steal(PyMemoryView_FromMemory(reinterpret_cast<char*>(into.data()),
                                                              static_cast<Py_ssize_t>(into.size()), PyBUF_WRITE));
    if (!view.is_valid()) throw nb::python_error();
    try {
      nb::handle(function.get())(offset, view);
    } catch (const nb::python_error& error) {
      throw Error(ErrorCode::io, type_of(error.value()) + ": " + nb::cast<std::string>(nb::str(error.value())));
    }
    view.attr("release")();
  };
}

/// Raises colonnade.FileError with the number of what keeps the file from being opened, where something does.
void raise_file_error(const Error& error, const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  const int number = file < 0 ? errno : 0;
  if (file >= 0) ::close(file);
  const nb::object exception =
      nb::module_::import_("colonnade._errors").attr("file_error")(to_str(error.what()), number, to_str(path));
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
  throw nb::python_error();
}

/// What is no option of the library, taken out of the keywords; invalid where it is not given.
nb::object take(nb::kwargs& keywords, const char* name) {
  if (!keywords.contains(name)) return {};
  nb::object value = keywords[name];
  nb::del(keywords[name]);
  return value;
}

Model load(nb::handle source, nb::kwargs keywords) {
  std::optional<std::uint64_t> size;
  if (const nb::object bytes = take(keywords, "size"); bytes.is_valid()) size = nb::cast<std::uint64_t>(bytes);
  std::vector<CustomOperator> operators = to_operators(take(keywords, "operators"));
  const nb::object keep = take(keywords, "keep_bytes");
  const Options options = to_options(keywords);
  if (size || PyCallable_Check(source.ptr())) {
    if (!size || !PyCallable_Check(source.ptr()))
      throw Error(ErrorCode::invalid_argument, "a model that is read by a callable needs both it and size=, its bytes");
    if (!operators.empty())
      throw Error(ErrorCode::invalid_argument, "operators: a model with them is read from a path or bytes");
    const Model::Reader reader = reader_of(source);
    const nb::gil_scoped_release release;
    return Model::from_reader(reader, *size, options);
  }
  if (PyUnicode_Check(source.ptr()) || nb::hasattr(source, "__fspath__")) {
    const std::string path = path_of(source, "model");
    try {
      const nb::gil_scoped_release release;
      return operators.empty() ? Model::load(path, options) : load_with(std::move(operators), path, options);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::io) raise_file_error(error, path);
      throw;
    }
  }
  Loan loan;
  TensorView bytes;
  if (!PyObject_CheckBuffer(source.ptr()))
    throw Error(ErrorCode::invalid_argument, "model: expected a path, bytes or a callable, found " + type_of(source));
  loan.read(source, DType::u8, "model", bytes);
  if (size_of(bytes.dtype) != 1 || bytes.shape.size() != 1)
    throw Error(ErrorCode::invalid_argument, "model: expected bytes, found an array of " +
                                                 std::string(name_of(bytes.dtype)) + " of rank " +
                                                 std::to_string(bytes.shape.size()));
  const bool lasts = !operators.empty() || (keep.is_valid() && PyObject_IsTrue(keep.ptr()) == 1);
  const std::span<const std::byte> content(static_cast<const std::byte*>(bytes.data),
                                           static_cast<std::size_t>(bytes.shape[0]));
  const nb::gil_scoped_release release;
  return lasts ? load_with(std::move(operators), content, options) : Model::from_bytes(content, options);
}

nb::object write_optimized_model(const Model& model, nb::handle path, const std::string& weights,
                                 std::size_t least_bytes) {
  const std::string name = path_of(path, "path");
  OptimizedCounts counts;
  {
    const nb::gil_scoped_release release;
    counts = write_optimized(model, name, {weights, least_bytes});
  }
  return nb::make_tuple(counts.nodes_before, counts.nodes_after);
}

nb::dict metadata_of(const Model& model) {
  const ModelMetadata& metadata = model.metadata();
  nb::dict result, opsets, custom;
  for (const auto& [domain, version] : metadata.opsets) opsets[to_str(domain)] = version;
  for (const auto& [key, value] : metadata.custom) custom[to_str(key)] = to_str(value);
  result["producer_name"] = to_str(metadata.producer_name);
  result["producer_version"] = to_str(metadata.producer_version);
  result["domain"] = to_str(metadata.domain);
  result["description"] = to_str(metadata.description);
  result["model_version"] = metadata.model_version;
  result["ir_version"] = metadata.ir_version;
  result["graph_name"] = to_str(metadata.graph_name);
  result["graph_description"] = to_str(metadata.graph_description);
  result["opsets"] = opsets;
  result["custom"] = custom;
  return result;
}

std::string count_of(std::size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

nb::object shape_of(const TensorInfo& info) {
  if (!info.has_rank) return nb::none();
  nb::list dimensions;
  for (std::size_t i = 0; i < info.shape.size(); ++i) {
    if (info.shape[i] >= 0)
      dimensions.append(info.shape[i]);
    else if (!info.dim_names[i].empty())
      dimensions.append(to_str(info.dim_names[i]));
    else
      dimensions.append(nb::none());
  }
  return nb::tuple(dimensions);
}

nb::object containers_of(const TensorInfo& info) {
  constexpr const char* kNames[] = {"sequence", "optional", "map_of_int64", "map_of_string"};
  nb::list names;
  for (const Container container : info.containers) names.append(kNames[static_cast<std::size_t>(container)]);
  return nb::tuple(names);
}

Stage stage_named(const std::string& name) {
  if (name == "graph") return Stage::graph;
  if (name == "optimized") return Stage::optimized_graph;
  if (name == "plan") return Stage::plan;
  if (name == "program") return Stage::program;
  throw Error(ErrorCode::invalid_argument,
              "stage: expected one of 'graph', 'optimized', 'plan', 'program', found '" + name + "'");
}

Plan plan_of(const Model& model, const ShapeMap& shapes) {
  const nb::gil_scoped_release release;
  return {model.describe(shapes)};
}

nb::dict evaluate_reference(const Model& model, const nb::dict& feeds) {
  std::deque<Loan> loans;
  std::vector<Datum> inputs;
  for (const TensorInfo& info : model.inputs()) {
    if (!feeds.contains(info.name.c_str()))
      throw Error(ErrorCode::invalid_argument, "input '" + info.name + "' is missing");
    inputs.push_back(to_datum(feeds[info.name.c_str()], info, loans));
  }
  std::vector<Datum> outputs;
  {
    const nb::gil_scoped_release release;
    outputs = model.evaluate_reference(inputs);
  }
  nb::dict result;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    result[to_str(model.outputs()[i].name)] = to_python(std::move(outputs[i]));
  return result;
}

void bind_plan(nb::module_& module) {
  nb::class_<Plan>(module, "Plan", "How a model runs for some shapes; a notebook draws it.")
      .def(
          "describe", [](const Plan& plan) { return from_json(plan.json); },
          "Inputs, outputs, segments, islands, bytes, flop: everything as a dict.")
      .def("svg", &Plan::svg, "The column picture: every bar is the output of one operator.")
      .def("_repr_svg_", &Plan::svg)
      .def("__repr__", &Plan::text);
}

void bind_tensor_info(nb::module_& module) {
  nb::class_<TensorInfo>(module, "TensorInfo", "An input or output of a model.")
      .def_prop_ro("name", [](const TensorInfo& info) { return to_str(info.name); })
      .def_prop_ro(
          "dtype", [](const TensorInfo& info) { return to_str(name_of(info.dtype)); },
          "\"float32\", \"int64\", ...: of the tensors within, where there are containers.")
      .def_prop_ro("shape", &shape_of,
                   "Sizes; a str for a dimension with a symbol, None for one without. None: any shape.")
      .def_prop_ro("containers", &containers_of,
                   "What the tensors are in, outermost first: \"sequence\", \"optional\", \"map_of_int64\", "
                   "\"map_of_string\".")
      .def("__repr__", [](const TensorInfo& info) {
        return "<colonnade.TensorInfo '" + info.name + "' " + std::string(name_of(info.dtype)) + " " +
               nb::cast<std::string>(nb::repr(shape_of(info))) + ">";
      });
}

}  // namespace

nb::object list_of(std::span<const TensorInfo> infos) {
  nb::list list;
  for (const TensorInfo& info : infos) list.append(nb::cast(info));
  return list;
}

std::string text_of(const Model& model) {
  return nb::cast<std::string>(nb::repr(to_str(model.name()))) + ": " + count_of(model.inputs().size(), "input") +
         ", " + count_of(model.outputs().size(), "output");
}

void bind_model(nb::module_& module) {
  bind_tensor_info(module);
  bind_plan(module);
  nb::class_<Model>(module, "Model", "A loaded model: immutable, safe to share between threads.")
      .def(
          "__init__",
          [](Model* self, nb::handle source, const nb::kwargs& options) { new (self) Model(load(source, options)); },
          nb::arg("source"), nb::arg("options"),
          "Of a path, of bytes (external data is refused) or of a callable reader(offset, memoryview) with size=, the "
          "file's bytes. operators= are objects with domain, name, compute(node, *arrays) and, where they like, "
          "infer(node, types), for the nodes of these names; keep_bytes=True lets a model of bytes be written. "
          "Options: "
          "threads, schedule, math, strict, memory_limit_bytes, plan_cache_bytes, isa, "
          "blocking, dimensions, compiled, numa, duel, padding, dynamic_scale, schema.")
      .def_static(
          "embedded",
          [](const std::string& name, const nb::kwargs& keywords) {
            const Options options = to_options(keywords);
            const nb::gil_scoped_release release;
            return Model::embedded(name, options);
          },
          nb::arg("name"), nb::arg("options"), "A model embedded in the library, see embedded_names().")
      .def_prop_ro("inputs", [](const Model& model) { return list_of(model.inputs()); })
      .def_prop_ro("outputs", [](const Model& model) { return list_of(model.outputs()); })
      .def_prop_ro("name", [](const Model& model) { return to_str(model.name()); })
      .def_prop_ro("metadata", &metadata_of,
                   "What the author's tools wrote into the file, as a dict: producer_name, producer_version, domain, "
                   "description, model_version, ir_version, graph_name, graph_description, opsets by domain, custom.")
      .def_prop_ro("options", [](const Model& model) { return to_dict(model.options()); })
      .def(
          "resolve_shapes",
          [](const Model& model, const ShapeMap& shapes) {
            const std::vector<Shape> resolved = model.resolve_shapes(shapes);
            nb::dict result;
            for (std::size_t i = 0; i < resolved.size(); ++i)
              result[to_str(model.inputs()[i].name)] = shape_tuple(resolved[i]);
            return result;
          },
          nb::arg("shapes") = ShapeMap(),
          "Shapes of the inputs with open dimensions filled: from `shapes`, else 224 for height and width of images, "
          "else 1.")
      .def(
          "print",
          [](const Model& model, const std::string& stage, const ShapeMap& shapes) {
            const nb::gil_scoped_release release;
            return model.print(stage_named(stage), shapes);
          },
          nb::arg("stage"), nb::arg("shapes") = ShapeMap(),
          "The stage \"graph\", \"optimized\", \"plan\" or \"program\" as text.")
      .def("plan", &plan_of, nb::arg("shapes") = ShapeMap(), "The plan for these shapes; a notebook draws it.")
      .def(
          "describe", [](const Model& model, const ShapeMap& shapes) { return from_json(plan_of(model, shapes).json); },
          nb::arg("shapes") = ShapeMap(), "The plan for these shapes as a dict.")
      .def(
          "write_optimized", &write_optimized_model, nb::arg("path"), nb::arg("weights") = "",
          nb::arg("least_bytes") = 1024,
          "Writes the model as ONNX, simplified: constants folded, nodes without effect left out, equal ones made one, "
          "scales folded into convolutions. `weights` names a file beside it for constants of `least_bytes` and more. "
          "Returns the numbers of nodes before and after.")
      .def("evaluate_reference", &evaluate_reference, nb::arg("feeds"),
           "Evaluates the graph by the slow reference implementation: the oracle.")
      .def("_repr_svg_", [](const Model& model) { return plan_of(model, {}).svg(); })
      .def("__repr__", [](const Model& model) { return "<colonnade.Model " + text_of(model) + ">"; });
}

}  // namespace colonnade::python
