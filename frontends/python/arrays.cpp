// SPDX-License-Identifier: Apache-2.0
#include "frontends/python/arrays.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "frontends/python/numpy.hpp"
#include "frontends/python/python.hpp"

namespace colonnade::python {

namespace {

/// The elements below an index along the outer axes; returns where the next ones go.
std::byte* copy_strided(const TensorView& view, std::size_t axis, const std::byte* from, std::byte* to) {
  const std::size_t bytes = size_of(view.dtype);
  if (axis == view.shape.size()) {
    std::memcpy(to, from, bytes);
    return to + bytes;
  }
  for (std::int64_t i = 0; i < view.shape[axis]; ++i)
    to = copy_strided(view, axis + 1, from + i * view.strides[axis] * static_cast<std::int64_t>(bytes), to);
  return to;
}

/// What an array that a run returned lies on.
struct Memory {
  Tensor tensor;
};

int lend_memory(PyObject* self, Py_buffer* view, int flags) {
  Tensor& tensor = nb::inst_ptr<Memory>(self)->tensor;
  return PyBuffer_FillInfo(view, self, tensor.data(), static_cast<Py_ssize_t>(tensor.byte_size()), 0, flags);
}

PyType_Slot kMemorySlots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(lend_memory)}, {0, nullptr}};

}  // namespace

nb::object as_array(nb::handle object, const std::string& role) {
  try {
    return Numpy::get().asarray(object);
  } catch (const nb::python_error& error) {
    refuse(role, message_of(error));
  }
}

nb::object as_array(nb::handle object, DType dtype, const std::string& role) {
  try {
    return Numpy::get().asarray(object, array_type(dtype).dtype);
  } catch (const nb::python_error& error) {
    refuse(role, message_of(error));
  }
}

Tensor copy_of(const TensorView& view) {
  Tensor tensor(view.dtype, view.shape);
  if (view.dtype == DType::string)
    std::copy_n(static_cast<const std::string*>(view.data), tensor.size(), tensor.strings().begin());
  else if (tensor.byte_size() > 0 && view.strides.empty())
    std::memcpy(tensor.data(), view.data, tensor.byte_size());
  else if (tensor.byte_size() > 0)
    copy_strided(view, 0, static_cast<const std::byte*>(view.data), static_cast<std::byte*>(tensor.data()));
  return tensor;
}

nb::object shape_tuple(const Shape& shape) {
  nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
  for (std::size_t i = 0; i < shape.size(); ++i)
    NB_TUPLE_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(shape[i]));
  return tuple;
}

nb::object new_array(DType dtype, nb::handle shape, void*& data) {
  const ArrayType& type = array_type(dtype);
  PyObject* const arguments[] = {shape.ptr(), type.dtype.ptr()};
  nb::object array = nb::steal(PyObject_Vectorcall(Numpy::get().empty.ptr(), arguments, 2, nullptr));
  if (!array.is_valid()) throw nb::python_error();
  const nb::object memory = type.bits.is_valid() ? nb::object(array.attr("view")(type.bits)) : array;
  Py_buffer buffer;
  if (PyObject_GetBuffer(memory.ptr(), &buffer, PyBUF_SIMPLE | PyBUF_WRITABLE) != 0) throw nb::python_error();
  data = buffer.buf;
  PyBuffer_Release(&buffer);
  return array;
}

nb::object to_array(Tensor tensor) {
  const ArrayType& type = array_type(tensor.dtype());
  const nb::object shape = shape_tuple(tensor.shape());
  if (tensor.dtype() == DType::string) {
    const nb::object array = Numpy::get().empty(shape, type.dtype);
    const nb::object flat = array.attr("reshape")(-1);
    for (std::size_t i = 0; i < tensor.strings().size(); ++i) flat[i] = to_str(tensor.strings()[i]);
    return array;
  }
  if (tensor.size() == 0) return Numpy::get().empty(shape, type.dtype);
  const nb::object memory = nb::cast(Memory{std::move(tensor)});
  PyObject* const arguments[] = {shape.ptr(), type.dtype.ptr(), memory.ptr()};
  nb::object array = nb::steal(PyObject_Vectorcall(Numpy::get().ndarray.ptr(), arguments, 3, nullptr));
  if (!array.is_valid()) throw nb::python_error();
  return array;
}

void bind_arrays(nb::module_& module) {
  nb::class_<Memory>(module, "Memory", nb::type_slots(kMemorySlots), "The elements of an array that a run returned.");
}

}  // namespace colonnade::python
