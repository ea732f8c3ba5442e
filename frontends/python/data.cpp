// SPDX-License-Identifier: Apache-2.0
// Sequences, optionals and maps as lists, None and dicts.
#include <nanobind/stl/string.h>

#include <deque>

#include "frontends/python/arrays.hpp"
#include "frontends/python/python.hpp"

namespace colonnade::python {
namespace {

/// A value of an input, and the containers that it still lies in.
struct Place {
  const TensorInfo& info;
  std::deque<Loan>& loans;
  std::size_t depth = 0;

  std::string role() const { return "input '" + info.name + "'"; }
  Place inner() const { return {info, loans, depth + 1}; }
  [[noreturn]] void expected(const char* what, nb::handle found) const {
    throw Error(ErrorCode::invalid_input, role() + ": expected " + what + ", found " + type_of(found));
  }
};

bool is_plain(nb::handle object) {
  PyObject* o = object.ptr();
  return PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o) || PyUnicode_CheckExact(o);
}

/// Elements of the type that is asked for, lent as long as `loan` lives.
TensorView view_of(nb::handle object, DType dtype, const std::string& role, Loan& loan) {
  TensorView view;
  loan.read(is_plain(object) ? as_array(object, dtype, role) : nb::borrow(object), dtype, role, view);
  if (view.dtype != dtype)
    throw Error(ErrorCode::invalid_input,
                role + ": expected " + std::string(name_of(dtype)) + ", found " + std::string(name_of(view.dtype)));
  return view;
}

Tensor to_tensor(nb::handle object, DType dtype, const std::string& role) {
  Loan loan;
  return copy_of(view_of(object, dtype, role, loan));
}

Datum to_lent(nb::handle object, const Place& place) {
  const TensorView view = view_of(object, place.info.dtype, place.role(), place.loans.emplace_back());
  return view.strides.empty() ? Datum::lent(view) : Datum(copy_of(view));
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
  if (place.depth == place.info.containers.size()) return to_lent(object, place);
  switch (place.info.containers[place.depth]) {
    case Container::sequence: return to_sequence(object, place);
    case Container::optional:
      return object.is_none() ? Datum::absent(place.info.dtype) : Datum::optional(to_datum(object, place.inner()));
    case Container::map_of_int64: return to_map(object, place, DType::i64);
    case Container::map_of_string: return to_map(object, place, DType::string);
  }
  place.expected("a tensor, list or dict", object);
}

/// Calls `use` with a function that makes the Python object of an element; false where Python has no type of its own
/// for them, and numpy has to make them.
template <class Use>
bool with_plain(const Tensor& tensor, Use use) {
  const DType dtype = tensor.dtype();
  if (dtype == DType::f32)
    use([at = tensor.values<float>().data()](std::size_t i) { return PyFloat_FromDouble(at[i]); });
  else if (dtype == DType::f64)
    use([at = tensor.values<double>().data()](std::size_t i) { return PyFloat_FromDouble(at[i]); });
  else if (dtype == DType::i64)
    use([at = tensor.values<std::int64_t>().data()](std::size_t i) { return PyLong_FromLongLong(at[i]); });
  else if (dtype == DType::string)
    use([&](std::size_t i) { return to_str(tensor.strings()[i]).release().ptr(); });
  else
    return false;
  return true;
}

/// The keys of the last map: those that follow it in a list mostly share them.
struct Keys {
  const Tensor* tensor = nullptr;
  std::vector<nb::object> objects = {};

  void set(const Tensor& keys) {
    if (tensor == &keys) return;
    objects.clear();
    with_plain(keys, [&](auto element) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(keys.size()); ++i) objects.push_back(nb::steal(element(i)));
    });
    tensor = &keys;
  }
};

/// False where an element has no Python type of its own.
bool fill(nb::handle dict, const std::vector<nb::object>& keys, const Tensor& values) {
  return with_plain(values, [&](auto element) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      PyObject* const value = element(i);
      const bool is_set = value != nullptr && PyDict_SetItem(dict.ptr(), keys[i].ptr(), value) == 0;
      Py_XDECREF(value);
      if (!is_set) throw nb::python_error();
    }
  });
}

nb::object to_dict(const Datum& map, Keys& keys_before) {
  const Tensor &names = map.keys(), &numbers = map.tensor();
  if (numbers.shape().size() == 1) {
    keys_before.set(names);
    nb::object dict = nb::steal(PyDict_New());
    if (!dict.is_valid()) throw nb::python_error();
    if (fill(dict, keys_before.objects, numbers)) return dict;
  }
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
      std::vector<Datum> elements = std::move(datum).take_elements();
      const nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(elements.size())));
      if (!list.is_valid()) throw nb::python_error();
      Py_ssize_t place = 0;
      Keys keys;
      for (Datum& element : elements) {
        nb::object made = element.kind() == Datum::Kind::map ? to_dict(element, keys) : to_python(std::move(element));
        NB_LIST_SET_ITEM(list.ptr(), place++, made.release().ptr());
      }
      return list;
    }
    case Datum::Kind::optional:
      return datum.elements().empty() ? nb::none() : to_python(std::move(std::move(datum).take_elements().front()));
    case Datum::Kind::map: break;
  }
  Keys keys;
  return to_dict(datum, keys);
}

Datum to_datum(nb::handle object, const TensorInfo& info, std::deque<Loan>& loans) {
  return to_datum(object, Place{info, loans});
}

}  // namespace colonnade::python
