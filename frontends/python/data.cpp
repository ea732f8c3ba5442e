// SPDX-License-Identifier: Apache-2.0
// Sequences, optionals and maps as lists, None and dicts.
#include <nanobind/stl/string.h>

#include <cstring>

#include "frontends/python/arrays.hpp"
#include "frontends/python/python.hpp"

namespace colonnade::python {
namespace {

/// A value of an input, and the containers that it still lies in.
struct Place {
  const TensorInfo& info;
  std::size_t depth = 0;

  std::string role() const { return "input '" + info.name + "'"; }
  Place inner() const { return {info, depth + 1}; }
  [[noreturn]] void expected(const char* what, nb::handle found) const {
    throw Error(ErrorCode::invalid_input, role() + ": expected " + what + ", found " + type_of(found));
  }
};

bool is_plain(nb::handle object) {
  PyObject* o = object.ptr();
  return PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o) || PyUnicode_CheckExact(o);
}

/// A tensor of its own: data share their elements, which the caller may change.
Tensor to_tensor(nb::handle object, DType dtype, const std::string& role) {
  Loan loan;
  TensorView view;
  loan.read(is_plain(object) ? as_array(object, dtype, role) : nb::borrow(object), dtype, role, view);
  if (view.dtype != dtype)
    throw Error(ErrorCode::invalid_input,
                role + ": expected " + std::string(name_of(dtype)) + ", found " + std::string(name_of(view.dtype)));
  return copy_of(view);
}

Datum to_datum(nb::handle object, const Place& place);

Datum to_sequence(nb::handle object, const Place& place) {
  if (!PyList_Check(object.ptr()) && !PyTuple_Check(object.ptr())) place.expected("a list", object);
  std::vector<Datum> elements;
  for (const nb::handle element : object) elements.push_back(to_datum(element, place.inner()));
  return Datum::sequence(std::move(elements), place.info.dtype);
}

Datum to_map(nb::handle object, const Place& place, DType keys) {
  if (!PyDict_Check(object.ptr())) place.expected("a dict", object);
  const nb::object names = nb::steal(PyDict_Keys(object.ptr()));
  const nb::object values = nb::steal(PyDict_Values(object.ptr()));
  const DType dtype = place.info.dtype;
  const std::string role = place.role();
  return Datum::map(to_tensor(as_array(names, keys, role + ", keys"), keys, role),
                    to_tensor(as_array(values, dtype, role + ", values"), dtype, role));
}

Datum to_datum(nb::handle object, const Place& place) {
  if (place.depth == place.info.containers.size()) return to_tensor(object, place.info.dtype, place.role());
  switch (place.info.containers[place.depth]) {
    case Container::sequence: return to_sequence(object, place);
    case Container::optional:
      return object.is_none() ? Datum::absent(place.info.dtype) : Datum::optional(to_datum(object, place.inner()));
    case Container::map_of_int64: return to_map(object, place, DType::i64);
    case Container::map_of_string: return to_map(object, place, DType::string);
  }
  place.expected("a tensor, list or dict", object);
}

nb::object to_dict(const Datum& map) {
  const nb::object keys = to_array(map.keys()).attr("tolist")();
  const nb::object values = to_array(map.tensor());
  nb::dict result;
  const nb::object elements =
      map.tensor().shape().size() == 1 ? nb::object(values.attr("tolist")()) : nb::object(nb::list(values));
  std::size_t i = 0;
  for (const nb::handle key : keys) result[key] = elements[i++];
  return result;
}

}  // namespace

nb::object to_python(Datum datum) {
  switch (datum.kind()) {
    case Datum::Kind::tensor: return to_array(std::move(datum).take_tensor());
    case Datum::Kind::sequence: {
      nb::list list;
      for (const Datum& element : datum.elements()) list.append(to_python(element));
      return list;
    }
    case Datum::Kind::optional: return datum.elements().empty() ? nb::none() : to_python(datum.elements().front());
    case Datum::Kind::map: return to_dict(datum);
  }
  return nb::none();
}

Datum to_datum(nb::handle object, const TensorInfo& info) { return to_datum(object, Place{info}); }

}  // namespace colonnade::python
