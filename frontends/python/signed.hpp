// SPDX-License-Identifier: Apache-2.0
// Methods whose signature Python's inspect can read, which it cannot of nanobind's.
#pragma once

#include <nanobind/nanobind.h>

#include <array>

namespace colonnade::python {

namespace nb = nanobind;

/// Puts a method of Python's own kind in front of the class's method `name`, which must live as long as the process.
/// `text` is name and signature, "run($self, feeds)\n--\n\n", and the documentation. `Tag`: another one for each
/// method.
template <int Tag>
class Signed {
 public:
  static void put(nb::handle type, const char* name, const char* text) {
    target_ = nb::object(type.attr(name)).release();
    static PyMethodDef method{name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call)),
                              METH_FASTCALL | METH_KEYWORDS, text};
    const nb::object descriptor = nb::steal(PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(type.ptr()), &method));
    if (!descriptor.is_valid()) throw nb::python_error();
    nb::setattr(type, name, descriptor);
  }

 private:
  static PyObject* call(PyObject* self, PyObject* const* given, Py_ssize_t places, PyObject* names) {
    std::array<PyObject*, 16> arguments{};  // one is spare, as vectorcall asks
    const Py_ssize_t count = places + (names == nullptr ? 0 : NB_TUPLE_GET_SIZE(names));
    if (count > static_cast<Py_ssize_t>(arguments.size()) - 2) {
      PyErr_Format(PyExc_TypeError, "%zd arguments are too many", count);
      return nullptr;
    }
    arguments[1] = self;
    for (Py_ssize_t i = 0; i < count; ++i) arguments[static_cast<std::size_t>(i) + 2] = given[i];
    return PyObject_Vectorcall(target_.ptr(), arguments.data() + 1,
                               static_cast<std::size_t>(places + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
  }

  static inline nb::handle target_;
};

}  // namespace colonnade::python
