// SPDX-License-Identifier: Apache-2.0
// What the parts of the extension module share. Everything here needs the GIL unless it says otherwise.
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <string>
#include <string_view>

#include "colonnade/colonnade.hpp"

namespace colonnade::python {

namespace nb = nanobind;

/// Text of the library as a str; names of a damaged model may be no UTF-8.
nb::object to_str(std::string_view text);
/// A str as UTF-8. Throws Error{invalid_argument} that names `what` for another type.
std::string to_text(nb::handle text, const char* what);
/// The type of an object for messages: "numpy.ndarray", "list".
std::string type_of(nb::handle object);
/// Of a tuple or a list, as Python's stable interface has it: the number of elements, and one of them, borrowed.
inline Py_ssize_t size_of_sequence(PyObject* sequence) {
  return PyList_Check(sequence) ? NB_LIST_GET_SIZE(sequence) : NB_TUPLE_GET_SIZE(sequence);
}
inline PyObject* element_of_sequence(PyObject* sequence, Py_ssize_t index) {
  return PyList_Check(sequence) ? NB_LIST_GET_ITEM(sequence, index) : NB_TUPLE_GET_ITEM(sequence, index);
}
/// JSON of the library as dicts, lists and numbers.
nb::object from_json(const std::string& text);

/// Python's exception of an error: an instance of the class of its code.
nb::object to_exception(const Error& error);
/// From now on Error is raised as the class of colonnade._errors that its code belongs to.
void translate_errors();

/// Inputs or outputs as a list of colonnade.TensorInfo.
nb::object list_of(std::span<const TensorInfo> infos);
/// A model in a line: "'net.onnx': 1 input, 2 outputs".
std::string text_of(const Model& model);

void bind_arrays(nb::module_& module);
void bind_model(nb::module_& module);
void bind_session(nb::module_& module);
void bind_log(nb::module_& module);
void bind_quantize(nb::module_& module);

}  // namespace colonnade::python
