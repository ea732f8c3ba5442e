// SPDX-License-Identifier: Apache-2.0
#include "frontends/python/arrays.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "frontends/python/python.hpp"

namespace colonnade::python {
namespace {

struct NumpyType {
  DType dtype;
  const char* name;            ///< numpy's, or that of ml_dtypes
  const char* bits = nullptr;  ///< numpy lacks it: what holds its elements where ml_dtypes is not installed
};

constexpr NumpyType kTypes[] = {
    {DType::f32, "float32"},
    {DType::f64, "float64"},
    {DType::f16, "float16"},
    {DType::bf16, "bfloat16", "uint16"},
    {DType::i8, "int8"},
    {DType::i16, "int16"},
    {DType::i32, "int32"},
    {DType::i64, "int64"},
    {DType::u8, "uint8"},
    {DType::u16, "uint16"},
    {DType::u32, "uint32"},
    {DType::u64, "uint64"},
    {DType::boolean, "bool"},
    {DType::string, "object"},
    {DType::f8e4m3fn, "float8_e4m3fn", "uint8"},
    {DType::f8e4m3fnuz, "float8_e4m3fnuz", "uint8"},
    {DType::f8e5m2, "float8_e5m2", "uint8"},
    {DType::f8e5m2fnuz, "float8_e5m2fnuz", "uint8"},
    {DType::f8e8m0, "float8_e8m0fnu", "uint8"},
    {DType::f4e2m1, "float4_e2m1fn", "uint8"},
    {DType::i4, "int4", "int8"},
    {DType::u4, "uint4", "uint8"},
    {DType::i2, "int2", "int8"},
    {DType::u2, "uint2", "uint8"},
    {DType::c64, "complex64"},
    {DType::c128, "complex128"},
    {DType::f6e2m3, "float6_e2m3fn", "uint8"},
    {DType::f6e3m2, "float6_e3m2fn", "uint8"},
};

const NumpyType* row_of(DType dtype) {
  const auto* row = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& r) { return r.dtype == dtype; });
  return row == std::end(kTypes) ? nullptr : row;
}

bool lacks(DType dtype) {
  const NumpyType* row = row_of(dtype);
  return row != nullptr && row->bits != nullptr;
}

[[noreturn]] void refuse(const std::string& role, const std::string& why) {
  throw Error(ErrorCode::invalid_input, role + ": " + why);
}

/// What was raised, without where.
std::string message_of(const nb::python_error& error) { return nb::cast<std::string>(nb::str(error.value())); }

/// Functions of numpy, looked up once and kept until the process ends.
struct Numpy {
  nb::handle empty, asarray, ndarray, generic, dtype;

  static const Numpy& get() {
    static const Numpy numpy = [] {
      const nb::module_ module = nb::module_::import_("numpy");
      const auto keep = [&](const char* name) { return nb::object(module.attr(name)).release(); };
      return Numpy{keep("empty"), keep("asarray"), keep("ndarray"), keep("generic"), keep("dtype")};
    }();
    return numpy;
  }
};

/// numpy's dtype of elements and, where a buffer cannot have it, the one that its memory is seen as.
struct ArrayType {
  nb::handle dtype, bits;
};

nb::handle make_dtype(const NumpyType& row, const char* name) {
  if (row.bits != nullptr && name == row.name) {
    try {
      return Numpy::get().dtype(nb::module_::import_("ml_dtypes").attr(name)).release();
    } catch (const nb::python_error& error) {
      if (!error.matches(PyExc_ImportError) && !error.matches(PyExc_AttributeError)) throw;
      name = row.bits;
    }
  }
  return Numpy::get().dtype(name).release();
}

const ArrayType& array_type(DType dtype) {
  static std::array<ArrayType, 64> types{};
  ArrayType& type = types[static_cast<std::size_t>(dtype)];
  if (type.dtype.is_valid()) return type;
  const NumpyType* row = row_of(dtype);
  if (row == nullptr) throw Error(ErrorCode::unsupported, "no array of numpy has elements of an undefined type");
  type = {make_dtype(*row, row->name), row->bits == nullptr ? nb::handle() : make_dtype(*row, row->bits)};
  return type;
}

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

/// A letter: 'f' for floats, 'U' for text, 'O' for objects.
char numpy_kind(nb::handle array) { return nb::cast<std::string>(array.attr("dtype").attr("kind"))[0]; }

DType dtype_of(const nb::dlpack::dtype& type) {
  using Code = nb::dlpack::dtype_code;
  const auto sized = [&](DType one, DType two, DType four, DType eight) {
    return type.bits == 8    ? one
           : type.bits == 16 ? two
           : type.bits == 32 ? four
           : type.bits == 64 ? eight
                             : DType::undefined;
  };
  if (type.lanes != 1) return DType::undefined;
  switch (static_cast<Code>(type.code)) {
    case Code::Int: return sized(DType::i8, DType::i16, DType::i32, DType::i64);
    case Code::UInt: return sized(DType::u8, DType::u16, DType::u32, DType::u64);
    case Code::Float: return sized(DType::undefined, DType::f16, DType::f32, DType::f64);
    case Code::Bfloat: return DType::bf16;
    case Code::Complex: return type.bits == 64 ? DType::c64 : type.bits == 128 ? DType::c128 : DType::undefined;
    case Code::Bool: return DType::boolean;
    case Code::Float8_E4M3FN: return DType::f8e4m3fn;
    case Code::Float8_E4M3FNUZ: return DType::f8e4m3fnuz;
    case Code::Float8_E5M2: return DType::f8e5m2;
    case Code::Float8_E5M2FNUZ: return DType::f8e5m2fnuz;
    case Code::Float8_E8M0FNU: return DType::f8e8m0;
    default: return DType::undefined;
  }
}

}  // namespace

DType dtype_named(const std::string& name) {
  for (const NumpyType& row : kTypes)
    if (name == row.name || name == name_of(row.dtype)) return row.dtype;
  throw Error(ErrorCode::invalid_argument, "no element type '" + name + "'");
}

nb::object numpy_dtype(DType dtype) { return nb::borrow(array_type(dtype).dtype); }

Loan::Loan(Loan&& other) noexcept
    : buffer_(std::exchange(other.buffer_, Py_buffer{})),
      owner_(std::move(other.owner_)),
      lent_(std::move(other.lent_)),
      strings_(std::move(other.strings_)) {}

void Loan::give_back() {
  if (buffer_.obj != nullptr) PyBuffer_Release(&buffer_);
  if (owner_.is_valid()) owner_.reset();
  if (lent_.is_valid()) lent_ = {};
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
  view.dtype = dtype_of(array.dtype());
  if (view.dtype == DType::undefined) refuse(role, "no tensor has elements of the type that the array has");
  view.shape.assign(array.shape_ptr(), array.shape_ptr() + array.ndim());
  view.strides.clear();
  std::int64_t dense = 1;
  bool is_dense = true;
  for (std::size_t i = array.ndim(); i-- > 0; dense *= array.shape(i))
    is_dense &= array.shape(i) == 1 || array.stride(i) == dense;
  if (!is_dense) view.strides.assign(array.stride_ptr(), array.stride_ptr() + array.ndim());
  view.data = array.data();
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
      strings_.emplace_back(PyBytes_AS_STRING(element.ptr()),
                            static_cast<std::size_t>(PyBytes_GET_SIZE(element.ptr())));
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
    refuse(role, "expected an array (numpy, buffer protocol or DLPack), found " + type_of(object));
  }
  const char kind = numpy_kind(object);
  if (kind == 'U' || kind == 'S' || kind == 'O' || kind == 'T') return read_strings(object, role, view);
  const nb::object dtype = object.attr("dtype");
  const std::string name = nb::cast<std::string>(dtype.attr("name"));
  const auto* row = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& r) { return name == r.name; });
  if (row == std::end(kTypes)) refuse(role, "no tensor has elements of numpy's type " + name);
  const ArrayType& type = array_type(row->dtype);
  const nb::object array = Numpy::get().asarray(object, type.dtype, "C");
  const bool narrow_with_sign = row->dtype == DType::i4 || row->dtype == DType::i2;
  if (narrow_with_sign)
    owner_ = array.attr("astype")(type.bits);  // ml_dtypes leaves the bits above the element's own at zero
  else
    owner_ = type.bits.is_valid() ? array.attr("view")(type.bits) : array;
  if (!read_buffer(owner_, row->dtype, 0, view)) refuse(role, "the array of type " + name + " cannot be read");
}

void Loan::write(nb::handle object, DType wanted, const std::string& role, MutableTensorView& view) {
  nb::object memory = nb::borrow(object);
  const bool numpy = nb::isinstance(object, Numpy::get().ndarray);
  if (numpy && lacks(wanted) && object.attr("dtype").equal(array_type(wanted).dtype))
    memory = object.attr("view")(array_type(wanted).bits);
  TensorView readable;
  if (!read_buffer(memory, wanted, PyBUF_WRITABLE, readable))
    throw Error(ErrorCode::invalid_argument,
                role + ": expected a writable array of the output's type, found " +
                    (numpy ? "one of " + nb::cast<std::string>(object.attr("dtype").attr("name")) : type_of(object)));
  owner_ = std::move(memory);
  view.dtype = readable.dtype;
  view.shape = std::move(readable.shape);
  view.strides = std::move(readable.strides);
  view.data = buffer_.buf;
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
  else if (tensor.byte_size() > 0)
    std::memcpy(tensor.data(), view.data, tensor.byte_size());
  return tensor;
}

nb::object shape_tuple(const Shape& shape) {
  nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
  for (std::size_t i = 0; i < shape.size(); ++i)
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(shape[i]));
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
  auto owned = std::make_unique<Tensor>(std::move(tensor));
  Tensor& elements = *owned;
  const nb::capsule owner(owned.release(), [](void* memory) noexcept { delete static_cast<Tensor*>(memory); });
  const std::size_t bytes = elements.byte_size();
  const nb::object flat = nb::cast(nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(elements.data(), {bytes}, owner),
                                   nb::rv_policy::reference);
  return flat.attr("view")(type.dtype).attr("reshape")(shape);
}

}  // namespace colonnade::python
