// SPDX-License-Identifier: Apache-2.0
#include "frontends/python/numpy.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "frontends/python/arrays.hpp"

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

}  // namespace

void refuse(const std::string& role, const std::string& why) {
  throw Error(ErrorCode::invalid_input, role + ": " + why);
}

std::string message_of(const nb::python_error& error) { return nb::cast<std::string>(nb::str(error.value())); }

const Numpy& Numpy::get() {
  static const Numpy numpy = [] {
    const nb::module_ module = nb::module_::import_("numpy");
    const auto keep = [&](const char* name) { return nb::object(module.attr(name)).release(); };
    return Numpy{keep("empty"), keep("asarray"), keep("ndarray"), keep("generic"), keep("dtype"), keep("can_cast")};
  }();
  return numpy;
}

bool lacks(DType dtype) {
  const NumpyType* row = row_of(dtype);
  return row != nullptr && row->bits != nullptr;
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

DType numpy_type_named(const std::string& name) {
  const auto* row = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& r) { return name == r.name; });
  return row == std::end(kTypes) ? DType::undefined : row->dtype;
}

DType dtype_named(const std::string& name) {
  for (const NumpyType& row : kTypes)
    if (name == row.name || name == name_of(row.dtype)) return row.dtype;
  throw Error(ErrorCode::invalid_argument, "no element type '" + name + "'");
}

nb::object numpy_dtype(DType dtype) { return nb::borrow(array_type(dtype).dtype); }

}  // namespace colonnade::python
