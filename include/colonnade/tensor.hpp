// SPDX-License-Identifier: Apache-2.0
// What models take and give: tensors, views and other data, and the errors of all calls. Part of
// colonnade/colonnade.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#if defined(_WIN32)
#define COLONNADE_API
#else
#define COLONNADE_API __attribute__((visibility("default")))
#endif

namespace colonnade {

/// What went wrong, coarsely; the message says exactly what.
enum class ErrorCode {
  invalid_argument,  ///< the caller's mistake: wrong option, shape, name or type
  invalid_model,     ///< the model file is malformed or contradicts itself
  invalid_input,     ///< an input tensor or input file cannot be used
  unsupported,       ///< valid, but this build has no implementation
  resource_limit,    ///< a memory limit cannot be honoured
  io,                ///< a file cannot be read or written
  internal,          ///< a bug in Colonnade
  cancelled,         ///< the caller's stop token asked for the end of a run
  deadline,          ///< a run did not end in time
};

/// Every failure of this library. `what()` is one line that names node, operator, tensor, expected and found
/// as far as they apply. Any function that allocates may throw Error{resource_limit}, and Error{internal} is a bug that
/// should be reported; the comments below name the other codes. What a call has failed at is as it was before: models
/// and sessions may be used further.
class COLONNADE_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

/// Element types of tensors.
enum class DType : std::uint8_t {
  undefined,
  f32,
  f64,
  f16,
  bf16,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  boolean,
  string,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  f8e8m0,
  f4e2m1,
  i4,
  u4,
  i2,
  u2,
  c64,
  c128,
  f6e2m3,
  f6e3m2,
};

/// Bytes of one element; 0 for `undefined` and `string`. Types narrower than a byte take one byte an element, integers
/// sign-extended, float4 and float6 in the low bits; files pack them. Complex numbers: real part, then imaginary part.
COLONNADE_API std::size_t size_of(DType dtype) noexcept;
/// ONNX-style name: "float32", "int64", ...
COLONNADE_API std::string_view name_of(DType dtype) noexcept;

/// Dimensions, outermost first; -1 marks a dimension that is unknown until run time.
using Shape = std::vector<std::int64_t>;

/// Number of elements; throws Error on overflow or an unknown dimension. 1 for a scalar (empty shape).
COLONNADE_API std::int64_t element_count(std::span<const std::int64_t> shape);

struct TensorMemory;

/// A dense row-major tensor that owns its memory (64-byte aligned). Copies are deep. Threads may read it at the same
/// time; who writes must be alone.
class COLONNADE_API Tensor {
 public:
  Tensor();
  /// Zero-initialised. Throws Error{resource_limit} when the size overflows or cannot be allocated.
  Tensor(DType dtype, Shape shape);
  Tensor(const Tensor&);
  Tensor(Tensor&&) noexcept;
  Tensor& operator=(const Tensor&);
  Tensor& operator=(Tensor&&) noexcept;
  ~Tensor();

  DType dtype() const noexcept { return dtype_; }
  const Shape& shape() const noexcept { return shape_; }
  std::int64_t size() const noexcept { return size_; }
  std::size_t byte_size() const noexcept { return static_cast<std::size_t>(size_) * size_of(dtype_); }

  void* data() noexcept { return data_; }
  const void* data() const noexcept { return data_; }
  /// Elements as T, unchecked: T must match dtype().
  template <class T>
  std::span<T> values() noexcept {
    return {static_cast<T*>(data_), static_cast<std::size_t>(size_)};
  }
  template <class T>
  std::span<const T> values() const noexcept {
    return {static_cast<const T*>(data_), static_cast<std::size_t>(size_)};
  }
  /// Elements of a string tensor (its data() is null).
  std::vector<std::string>& strings() noexcept { return strings_; }
  const std::vector<std::string>& strings() const noexcept { return strings_; }

  /// Same elements under another shape. Throws Error{invalid_argument} when the counts of elements differ.
  Tensor reshaped(Shape shape) &&;
  /// The elements as another type, as ONNX's Cast converts them. Throws Error{unsupported} for complex numbers and
  /// Error{invalid_input} for strings that are no numbers.
  Tensor converted(DType dtype) const;

  /// Parses an ONNX TensorProto (the `.pb` files of ONNX test data). Throws Error{invalid_input}.
  static Tensor from_onnx(std::span<const std::byte> bytes);
  /// Serialises to an ONNX TensorProto.
  std::string to_onnx(std::string_view name) const;

 private:
  friend struct TensorMemory;
  DType dtype_ = DType::undefined;
  Shape shape_{0};
  std::int64_t size_ = 0;
  void* data_ = nullptr;
  std::vector<std::string> strings_;
};

/// Borrowed memory of the caller; must outlive the call it is passed to. Of a string tensor `data` points at
/// std::string objects. Dense and row-major unless `strides` says how many elements (not bytes) lie between neighbours
/// along each axis; they may be zero or negative, `data` then being the element of index 0. A permutation of a dense
/// array is read where it is, anything else is copied once. Runs of several threads may read the same memory.
struct TensorView {
  DType dtype = DType::undefined;
  Shape shape;
  const void* data = nullptr;
  std::vector<std::int64_t> strides = {};

  TensorView() = default;
  TensorView(DType type, Shape dims, const void* memory, std::vector<std::int64_t> steps = {})
      : dtype(type), shape(std::move(dims)), data(memory), strides(std::move(steps)) {}
  TensorView(const Tensor& tensor)  // NOLINT
      : dtype(tensor.dtype()),
        shape(tensor.shape()),
        data(dtype == DType::string ? static_cast<const void*>(tensor.strings().data()) : tensor.data()) {}
};

/// Borrowed writable memory of the caller, laid out as a TensorView's; no two elements may overlap, nor elements of two
/// views. Until the run is over nobody else may touch it. An output may lie where inputs of the same run do: results
/// are as if it lay apart. Where it is an input with rows appended or scattered into it, as caches are, only these are
/// written; anything else costs a copy. A run that fails may have written them.
struct MutableTensorView {
  DType dtype = DType::undefined;
  Shape shape;
  void* data = nullptr;
  std::vector<std::int64_t> strides = {};

  MutableTensorView() = default;
  MutableTensorView(DType type, Shape dims, void* memory, std::vector<std::int64_t> steps = {})
      : dtype(type), shape(std::move(dims)), data(memory), strides(std::move(steps)) {}
  MutableTensorView(Tensor& tensor)  // NOLINT
      : dtype(tensor.dtype()),
        shape(tensor.shape()),
        data(dtype == DType::string ? static_cast<void*>(tensor.strings().data()) : tensor.data()) {}
};

/// What a value may be besides a tensor.
enum class Container : std::uint8_t { sequence, optional, map_of_int64, map_of_string };

/// Anything that models take and give: a tensor, a sequence of data, an optional datum or a map. Immutable and cheap to
/// copy: copies share their elements. Safe to share between threads.
class COLONNADE_API Datum {
 public:
  enum class Kind : std::uint8_t { tensor, sequence, optional, map };

  /// An optional datum that is absent.
  Datum() = default;
  Datum(Tensor tensor);                         // NOLINT
  Datum(std::shared_ptr<const Tensor> tensor);  // NOLINT
  /// A tensor over elements that the caller keeps, unchanged, until this and all that runs made of it is gone; what
  /// take_tensor() gives is its own. Strings are copied. Throws Error{invalid_argument} where the view is not dense.
  static Datum lent(const TensorView& view);
  /// `dtype` is the elements' type, which an empty sequence needs to know.
  static Datum sequence(std::vector<Datum> elements, DType dtype);
  /// An optional datum that is present.
  static Datum optional(Datum element);
  static Datum absent(DType dtype);
  /// Keys int64 or string [n], values [n, ...].
  static Datum map(Tensor keys, Tensor values);
  /// With keys that other maps have too.
  static Datum map(std::shared_ptr<const Tensor> keys, Tensor values);

  Kind kind() const noexcept { return kind_; }
  bool is_tensor() const noexcept { return kind_ == Kind::tensor; }
  /// Element type of the tensors within; undefined where none is known.
  DType dtype() const noexcept { return dtype_; }
  /// The tensor, or the values of a map. Throws Error{invalid_argument} for other kinds.
  const Tensor& tensor() const;
  /// The tensor itself, moved out where nobody else holds it, else copied.
  Tensor take_tensor() &&;
  /// Elements of a sequence; none or the one of an optional.
  const std::vector<Datum>& elements() const noexcept { return elements_; }
  std::vector<Datum> take_elements() && { return std::move(elements_); }
  /// The keys of a map. Throws Error{invalid_argument} for other kinds.
  const Tensor& keys() const;

  /// Parses an ONNX TensorProto, SequenceProto, OptionalProto or MapProto (the `.pb` files of ONNX test data), as the
  /// outermost container says, and the name of the value that it holds ("" when it does not say). Throws
  /// Error{invalid_input}.
  static Datum from_onnx(std::span<const std::byte> bytes, std::span<const Container> containers = {},
                         std::string* name = nullptr);
  /// Serialises to the same.
  std::string to_onnx(std::string_view name) const;

 private:
  Kind kind_ = Kind::optional;
  DType dtype_ = DType::undefined;
  bool owns_ = false;  ///< tensor_ was made here, of a Tensor that may be moved out again
  std::shared_ptr<const Tensor> tensor_, keys_;
  std::vector<Datum> elements_;
};

}  // namespace colonnade
