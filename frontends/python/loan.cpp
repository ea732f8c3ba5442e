// SPDX-License-Identifier: Apache-2.0
// Elements that Python objects lend.
#include <nanobind/stl/string.h>

#include <string_view>
#include <utility>

#include "frontends/python/arrays.hpp"
#include "frontends/python/numpy.hpp"
#include "frontends/python/python.hpp"

namespace colonnade::python {
namespace {

/// Of a buffer's elements; undefined for what no tensor holds.
DType dtype_of(const Py_buffer& buffer) {
  std::string_view format = buffer.format == nullptr ? "B" : buffer.format;
  if (format.empty()) return DType::undefined;
  if (format[0] == '>' || format[0] == '!') {
    if (buffer.itemsize > 1) return DType::undefined;
  }
  if (std::string_view("@=<>!").find(format[0]) != std::string_view::npos) format.remove_prefix(1);
  if (format == "Zf") return DType::c64;
  if (format == "Zd") return DType::c128;
  if (format.size() != 1) return DType::undefined;
  const auto pick = [&](DType one, DType two, DType four, DType eight) {
    switch (buffer.itemsize) {
      case 1: return one;
      case 2: return two;
      case 4: return four;
      case 8: return eight;
      default: return DType::undefined;
    }
  };
  switch (format[0]) {
    case '?': return DType::boolean;
    case 'e': return DType::f16;
    case 'f': return DType::f32;
    case 'd': return DType::f64;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n': return pick(DType::i8, DType::i16, DType::i32, DType::i64);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N': return pick(DType::u8, DType::u16, DType::u32, DType::u64);
    default: return DType::undefined;
  }
}

/// Bit patterns of elements that numpy lacks are taken for them.
DType reinterpreted(DType found, DType wanted) {
  if (found == wanted || !lacks(wanted)) return found;
  const bool wide = size_of(wanted) == 2;
  const bool with_sign = wanted == DType::i4 || wanted == DType::i2;
  return found == (wide ? DType::u16 : with_sign ? DType::i8 : DType::u8) ? wanted : found;
}

/// Strides in elements, left empty where the elements lie densely; false where they lie between elements.
bool set_strides(const Py_buffer& buffer, TensorView& view) {
  view.strides.clear();
  if (buffer.strides == nullptr || PyBuffer_IsContiguous(&buffer, 'C') != 0) return true;
  for (int i = 0; i < buffer.ndim; ++i) {
    if (buffer.strides[i] % buffer.itemsize != 0) return false;
    view.strides.push_back(buffer.strides[i] / buffer.itemsize);
  }
  return true;
}

bool is_numpy(nb::handle object) {
  return nb::isinstance(object, Numpy::get().ndarray) || nb::isinstance(object, Numpy::get().generic);
}

bool is_number(nb::handle object) {
  return PyLong_Check(object.ptr()) || PyFloat_Check(object.ptr()) || PyComplex_Check(object.ptr());
}

/// A letter: 'f' for floats, 'U' for text, 'O' for objects.
char numpy_kind(nb::handle array) { return nb::cast<std::string>(array.attr("dtype").attr("kind"))[0]; }

DType dtype_of(const nb::dlpack::dtype& type) {
  using TypeCode = nb::dlpack::dtype_code;
  const auto sized = [&](DType one, DType two, DType four, DType eight) {
    return type.bits == 8    ? one
           : type.bits == 16 ? two
           : type.bits == 32 ? four
           : type.bits == 64 ? eight
                             : DType::undefined;
  };
  if (type.lanes != 1) return DType::undefined;
  switch (static_cast<TypeCode>(type.code)) {
    case TypeCode::Int: return sized(DType::i8, DType::i16, DType::i32, DType::i64);
    case TypeCode::UInt: return sized(DType::u8, DType::u16, DType::u32, DType::u64);
    case TypeCode::Float: return sized(DType::undefined, DType::f16, DType::f32, DType::f64);
    case TypeCode::Bfloat: return DType::bf16;
    case TypeCode::Complex: return type.bits == 64 ? DType::c64 : type.bits == 128 ? DType::c128 : DType::undefined;
    case TypeCode::Bool: return DType::boolean;
    case TypeCode::Float8_E4M3FN: return DType::f8e4m3fn;
    case TypeCode::Float8_E4M3FNUZ: return DType::f8e4m3fnuz;
    case TypeCode::Float8_E5M2: return DType::f8e5m2;
    case TypeCode::Float8_E5M2FNUZ: return DType::f8e5m2fnuz;
    case TypeCode::Float8_E8M0FNU: return DType::f8e8m0;
    default: return DType::undefined;
  }
}

/// Type, shape, strides and memory of an array that DLPack gave; the type is undefined for what no tensor holds.
template <class Array, class View>
void set_view(const Array& array, View& view) {
  view.dtype = dtype_of(array.dtype());
  view.shape.assign(array.shape_ptr(), array.shape_ptr() + array.ndim());
  view.strides.clear();
  std::int64_t dense = 1;
  bool is_dense = true;
  for (std::size_t i = array.ndim(); i-- > 0; dense *= array.shape(i))
    is_dense &= array.shape(i) == 1 || array.stride(i) == dense;
  if (!is_dense) view.strides.assign(array.stride_ptr(), array.stride_ptr() + array.ndim());
  view.data = array.data();
}

}  // namespace

Loan::Loan(Loan&& other) noexcept
    : buffer_(std::exchange(other.buffer_, Py_buffer{})),
      owner_(std::move(other.owner_)),
      lent_(std::move(other.lent_)),
      lent_to_write_(std::move(other.lent_to_write_)),
      strings_(std::move(other.strings_)) {}

void Loan::give_back() {
  if (buffer_.obj != nullptr) PyBuffer_Release(&buffer_);
  if (owner_.is_valid()) owner_.reset();
  if (lent_.is_valid()) lent_ = {};
  if (lent_to_write_.is_valid()) lent_to_write_ = {};
  if (!strings_.empty()) strings_.clear();
}

/// False, without an error of Python's, where the object has no buffer that can be read in place.
bool Loan::read_buffer(nb::handle object, DType wanted, int flags, TensorView& view) {
  if (PyObject_GetBuffer(object.ptr(), &buffer_, flags | PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    return false;
  }
  view.dtype = reinterpreted(dtype_of(buffer_), wanted);
  if (view.dtype == DType::undefined || !set_strides(buffer_, view)) {
    PyBuffer_Release(&buffer_);
    return false;
  }
  view.shape.assign(buffer_.shape, buffer_.shape + buffer_.ndim);
  view.data = buffer_.buf;
  return true;
}

void Loan::read_dlpack(nb::handle object, const std::string& role, TensorView& view) {
  nb::ndarray<nb::ro>& array = lent_;
  if (!nb::try_cast(object, array)) {
    nb::object reason;
    try {
      object.attr("__dlpack__")();
    } catch (const nb::python_error& error) {
      refuse(role, message_of(error));
    }
    refuse(role, "the memory that " + type_of(object) + " gives cannot be read");
  }
  if (array.device_type() != nb::device::cpu::value) refuse(role, "its memory is not the CPU's");
  set_view(array, view);
  if (view.dtype == DType::undefined) refuse(role, "no tensor has elements of the type that the array has");
}

/// False, without an error of Python's, where the object gives no memory of the CPU that may be written to.
bool Loan::write_dlpack(nb::handle object, MutableTensorView& view) {
  if (!nb::hasattr(object, "__dlpack__") || !nb::try_cast(object, lent_to_write_)) return false;
  if (lent_to_write_.device_type() != nb::device::cpu::value) return false;
  set_view(lent_to_write_, view);
  return view.dtype != DType::undefined;
}

/// Lists, tuples and numbers of Python's, as far as the input's type holds their kind of number.
void Loan::read_numbers(nb::handle object, DType wanted, const std::string& role, TensorView& view) {
  const nb::object numbers = as_array(object, role);
  const char kind = numpy_kind(numbers);
  if (kind == 'U' || kind == 'S' || (kind == 'O' && wanted == DType::string)) return read_strings(object, role, view);
  const ArrayType& type = array_type(wanted);
  const bool holds =
      kind != 'O' &&
      (type.bits.is_valid() || nb::cast<bool>(Numpy::get().can_cast(numbers.attr("dtype"), type.dtype, "same_kind")));
  if (!holds)
    refuse(role, "expected " + std::string(name_of(wanted)) + ", found a " + type_of(object) + " of " +
                     nb::cast<std::string>(numbers.attr("dtype").attr("name")) +
                     ": give an array of that type, as numpy.asarray makes it");
  const nb::object converted = numbers.attr("astype")(type.dtype);
  const char made = numpy_kind(converted);
  const bool may_wrap = (made == 'i' || made == 'u') && !type.bits.is_valid();
  if (may_wrap && PyObject_IsTrue(nb::object(converted.attr("__eq__")(numbers).attr("all")()).ptr()) != 1)
    refuse(role, "a number is out of the range of " + std::string(name_of(wanted)));
  read(converted, wanted, role, view);
}

void Loan::read_strings(nb::handle object, const std::string& role, TensorView& view) {
  const nb::object array = Numpy::get().asarray(object);
  const nb::object elements = array.attr("ravel")().attr("tolist")();
  for (const nb::handle element : elements) {
    Py_ssize_t size = 0;
    if (PyUnicode_Check(element.ptr())) {
      const char* text = PyUnicode_AsUTF8AndSize(element.ptr(), &size);
      if (text == nullptr) throw nb::python_error();
      strings_.emplace_back(text, static_cast<std::size_t>(size));
    } else if (PyBytes_Check(element.ptr())) {
      strings_.emplace_back(PyBytes_AsString(element.ptr()), static_cast<std::size_t>(PyBytes_Size(element.ptr())));
    } else {
      refuse(role, "expected strings, found " + type_of(element));
    }
  }
  view.shape.clear();
  for (const nb::handle dimension : array.attr("shape")) view.shape.push_back(nb::cast<std::int64_t>(dimension));
  view.dtype = DType::string;
  view.strides.clear();
  view.data = strings_.data();
}

void Loan::read(nb::handle object, DType wanted, const std::string& role, TensorView& view) {
  if (read_buffer(object, wanted, 0, view)) return;
  if (!is_numpy(object)) {
    if (nb::hasattr(object, "__dlpack__")) return read_dlpack(object, role, view);
    if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()) || is_number(object))
      return read_numbers(object, wanted, role, view);
    refuse(role, "expected an array (numpy, buffer protocol or DLPack) or a list, found " + type_of(object));
  }
  const char kind = numpy_kind(object);
  if (kind == 'U' || kind == 'S' || kind == 'O' || kind == 'T') return read_strings(object, role, view);
  const nb::object dtype = object.attr("dtype");
  const std::string name = nb::cast<std::string>(dtype.attr("name"));
  const DType found = numpy_type_named(name);
  if (found == DType::undefined) refuse(role, "no tensor has elements of numpy's type " + name);
  const ArrayType& type = array_type(found);
  const nb::object array = Numpy::get().asarray(object, type.dtype, "C");
  const bool narrow_with_sign = found == DType::i4 || found == DType::i2;
  if (narrow_with_sign)
    owner_ = array.attr("astype")(type.bits);  // ml_dtypes leaves the bits above the element's own at zero
  else
    owner_ = type.bits.is_valid() ? array.attr("view")(type.bits) : array;
  if (!read_buffer(owner_, found, 0, view)) refuse(role, "the array of type " + name + " cannot be read");
}

void Loan::write(nb::handle object, DType wanted, const std::string& role, MutableTensorView& view) {
  nb::object memory = nb::borrow(object);
  const bool numpy = nb::isinstance(object, Numpy::get().ndarray);
  if (numpy && lacks(wanted) && object.attr("dtype").equal(array_type(wanted).dtype))
    memory = object.attr("view")(array_type(wanted).bits);
  TensorView readable;
  if (!read_buffer(memory, wanted, PyBUF_WRITABLE, readable)) {
    if (!numpy && write_dlpack(object, view)) return;
    const bool is_read_only = read_buffer(memory, wanted, 0, readable);
    const std::string found =
        numpy ? "one of " + nb::cast<std::string>(object.attr("dtype").attr("name")) : type_of(object);
    throw Error(ErrorCode::invalid_argument, role + ": expected a writable array of the output's type, found " + found +
                                                 (is_read_only ? " that is read-only" : ""));
  }
  owner_ = std::move(memory);
  view.dtype = readable.dtype;
  view.shape = std::move(readable.shape);
  view.strides = std::move(readable.strides);
  view.data = buffer_.buf;
}

}  // namespace colonnade::python
