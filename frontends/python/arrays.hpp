// SPDX-License-Identifier: Apache-2.0
// Arrays of Python as tensors and back. Everything here needs the GIL.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <deque>
#include <string>
#include <vector>

#include "colonnade/colonnade.hpp"

namespace colonnade::python {

namespace nb = nanobind;

/// By the name of the library or numpy. Throws Error{invalid_argument}.
DType dtype_named(const std::string& name);
/// Of arrays that hold such elements; object for strings.
nb::object numpy_dtype(DType dtype);

/// Elements that a Python object lends: they stay where they are as long as this lives.
class Loan {
 public:
  Loan() = default;
  Loan(Loan&& other) noexcept;
  Loan& operator=(Loan&&) = delete;
  ~Loan() { give_back(); }

  /// Lends the elements of a numpy array, of anything with the buffer protocol or DLPack, or of a numpy array that was
  /// made of it where the elements do not lie as the library reads them; text, lists and numbers are copied. `role`
  /// ("input 'x'") begins the messages of Error{invalid_input}; `wanted` is what bit patterns are taken for.
  void read(nb::handle object, DType wanted, const std::string& role, TensorView& view);
  /// Lends writable memory of a numpy array, of the buffer protocol or DLPack: never a copy. Throws
  /// Error{invalid_argument}.
  void write(nb::handle object, DType wanted, const std::string& role, MutableTensorView& view);
  void give_back();

 private:
  bool read_buffer(nb::handle object, DType wanted, int flags, TensorView& view);
  void read_dlpack(nb::handle object, const std::string& role, TensorView& view);
  void read_numbers(nb::handle object, DType wanted, const std::string& role, TensorView& view);
  bool write_dlpack(nb::handle object, MutableTensorView& view);
  void read_strings(nb::handle object, const std::string& role, TensorView& view);

  Py_buffer buffer_{};
  nb::object owner_;
  nb::ndarray<nb::ro> lent_;
  nb::ndarray<> lent_to_write_;
  std::vector<std::string> strings_;
};

/// A new array of numpy that owns its memory; not for strings.
nb::object new_array(DType dtype, nb::handle shape, void*& data);
nb::object shape_tuple(const Shape& shape);
/// An array of numpy that owns the tensor; strings become an array of objects.
nb::object to_array(Tensor tensor);

/// numpy.asarray(object), with this type of elements. Throws Error{invalid_input} that begins with `role`.
nb::object as_array(nb::handle object, const std::string& role);
nb::object as_array(nb::handle object, DType dtype, const std::string& role);
/// A dense tensor of its own with a view's elements.
Tensor copy_of(const TensorView& view);

/// Data as the library's users see them: arrays, lists, dicts and None.
nb::object to_python(Datum datum);
/// The reverse, for a value that `info` describes, over elements that `loans` lend as long as they live: what is made
/// of the datum is taken before. Throws Error{invalid_input}.
Datum to_datum(nb::handle object, const TensorInfo& info, std::deque<Loan>& loans);

}  // namespace colonnade::python
