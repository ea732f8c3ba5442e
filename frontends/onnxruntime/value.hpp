// SPDX-License-Identifier: Apache-2.0
// Data of the program and of results: tensors in anybody's memory, sequences, maps and optionals.
#pragma once

#include <memory>

#include "frontends/onnxruntime/memory.hpp"

/// A tensor of the CPU that borrows memory or has an owner for it; or a datum that is none.
struct OrtValue {
  [[no_unique_address]] colonnade::ort::Alive alive;
  /// Of a tensor; its data are std::string objects, or as the interface has them: packed where they take less than a
  /// byte.
  colonnade::MutableTensorView view;
  std::shared_ptr<const void> owner;              ///< of the memory; null: it is the program's
  std::shared_ptr<colonnade::Tensor> tensor;      ///< the owner, where it is one of the library's
  std::shared_ptr<const colonnade::Datum> datum;  ///< what is no tensor
  OrtMemoryInfo memory;

  bool is_tensor() const { return datum == nullptr; }
  colonnade::TensorView reading() const { return {view.dtype, view.shape, view.data}; }
};

namespace colonnade::ort {

/// A tensor of the library as a value.
std::unique_ptr<OrtValue> value_of(Tensor tensor);
std::unique_ptr<OrtValue> value_of(Datum datum);
/// Shares the elements where the value owns them as the library has them, copies them elsewhere.
Datum datum_of(const OrtValue& value);

/// Throws Failure where the value is none.
const OrtValue& tensor_in(const OrtValue* value);
OrtValue& tensor_in(OrtValue* value);
/// A tensor with memory of `allocator`.
std::unique_ptr<OrtValue> allocated_tensor(OrtAllocator& allocator, DType dtype, Shape shape);
/// The shape that a program gives; throws Failure for sizes below zero and for too many elements.
Shape checked_shape(const std::int64_t* sizes, std::size_t rank);

}  // namespace colonnade::ort
