// SPDX-License-Identifier: Apache-2.0
// The extension module colonnade._engine.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "frontends/python/arrays.hpp"
#include "frontends/python/custom.hpp"
#include "frontends/python/python.hpp"
#include "frontends/python/signals.hpp"

namespace colonnade::python {

nb::object to_str(std::string_view text) {
  return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

std::string to_text(nb::handle text, const char* what) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_Check(text.ptr()) ? PyUnicode_AsUTF8AndSize(text.ptr(), &size) : nullptr;
  if (data != nullptr) return {data, static_cast<std::size_t>(size)};
  PyErr_Clear();
  throw Error(ErrorCode::invalid_argument, std::string(what) + ": expected text, found " + type_of(text));
}

std::string type_of(nb::handle object) {
  const nb::handle type = object.type();
  const std::string name = nb::cast<std::string>(type.attr("__qualname__"));
  const nb::object module = nb::getattr(type, "__module__", nb::none());
  if (!nb::isinstance<nb::str>(module) || nb::cast<std::string>(module) == "builtins") return name;
  return nb::cast<std::string>(module) + "." + name;
}

nb::object from_json(const std::string& text) {
  static const nb::handle loads = nb::object(nb::module_::import_("json").attr("loads")).release();
  return loads(to_str(text));
}

namespace {

/// Classes of colonnade._errors in the order of ErrorCode.
constexpr const char* kClasses[] = {"InvalidArgument", "InvalidModel",  "InvalidInput",
                                    "Unsupported",     "ResourceLimit", "FileError",
                                    "InternalError",   "Cancelled",     "DeadlineExceeded"};

}  // namespace

nb::object to_exception(const Error& error) {
  const auto code = static_cast<std::size_t>(error.code());
  const nb::module_ errors = nb::module_::import_("colonnade._errors");
  return errors.attr(code < std::size(kClasses) ? kClasses[code] : "ColonnadeError")(to_str(error.what()));
}

void translate_errors() {
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void*) {
        try {
          std::rethrow_exception(thrown);
        } catch (const Error& error) {
          const nb::object exception = to_exception(error);
          PyErr_SetObject(exception.type().ptr(), exception.ptr());
        }
      },
      nullptr);
}

NB_MODULE(_engine, module) {
  module.doc() = "The engine of the package colonnade.";
  translate_errors();
  find_main_thread();
  bind_arrays(module);
  bind_model(module);
  bind_session(module);
  bind_operators(module);
  bind_log(module);
  bind_quantize(module);
  module.def("embedded_names", &Model::embedded_names, "Names of the models that Model.embedded() knows.");
  module.def(
      "describe_machine",
      [](bool measure) {
        std::string text;
        {
          const nb::gil_scoped_release release;
          text = describe_machine(measure);
        }
        return from_json(text);
      },
      nb::arg("measure") = false,
      "The machine as a dict: topology, ISA, caches, quota, default threads and the rates by which plans are made. "
      "With "
      "measure=True the rates are measured first and kept in a file.");
  module.def(
      "type_name", [](const std::string& name) { return to_str(name_of(dtype_named(name))); }, nb::arg("name"),
      "The library's name of an element type that numpy or ml_dtypes may name otherwise.");
  module.def(
      "numpy_dtype", [](const std::string& name) { return numpy_dtype(dtype_named(name)); }, nb::arg("name"),
      "The numpy dtype of arrays that hold elements of this type (\"bfloat16\"). Types that numpy lacks come from "
      "ml_dtypes; without it they are bit patterns in unsigned integers (int8 for int4 and int2).");
  module.attr("__version__") = std::string(version());
}

}  // namespace colonnade::python
