// SPDX-License-Identifier: Apache-2.0
// The C interface: statuses, tensors, hooks.
#include "api/c_api.hpp"

#include <cstdlib>

#include "base/checked.hpp"
#include "base/strides.hpp"

struct colonnade_status {
  std::int32_t code;
  std::string message;
};

namespace colonnade {
namespace {

constexpr std::int32_t number_of(ErrorCode code) { return static_cast<std::int32_t>(code) + 1; }
static_assert(number_of(ErrorCode::invalid_argument) == COLONNADE_INVALID_ARGUMENT);
static_assert(number_of(ErrorCode::invalid_model) == COLONNADE_INVALID_MODEL);
static_assert(number_of(ErrorCode::invalid_input) == COLONNADE_INVALID_INPUT);
static_assert(number_of(ErrorCode::unsupported) == COLONNADE_UNSUPPORTED);
static_assert(number_of(ErrorCode::resource_limit) == COLONNADE_RESOURCE_LIMIT);
static_assert(number_of(ErrorCode::io) == COLONNADE_IO);
static_assert(number_of(ErrorCode::internal) == COLONNADE_INTERNAL);
static_assert(number_of(ErrorCode::cancelled) == COLONNADE_CANCELLED);
static_assert(number_of(ErrorCode::deadline) == COLONNADE_DEADLINE);

static_assert(static_cast<int>(DType::f32) == COLONNADE_FLOAT32 && static_cast<int>(DType::f64) == COLONNADE_FLOAT64);
static_assert(static_cast<int>(DType::f16) == COLONNADE_FLOAT16 && static_cast<int>(DType::bf16) == COLONNADE_BFLOAT16);
static_assert(static_cast<int>(DType::i8) == COLONNADE_INT8 && static_cast<int>(DType::i16) == COLONNADE_INT16);
static_assert(static_cast<int>(DType::i32) == COLONNADE_INT32 && static_cast<int>(DType::i64) == COLONNADE_INT64);
static_assert(static_cast<int>(DType::u8) == COLONNADE_UINT8 && static_cast<int>(DType::u16) == COLONNADE_UINT16);
static_assert(static_cast<int>(DType::u32) == COLONNADE_UINT32 && static_cast<int>(DType::u64) == COLONNADE_UINT64);
static_assert(static_cast<int>(DType::boolean) == COLONNADE_BOOL);
static_assert(static_cast<int>(DType::string) == COLONNADE_STRING);
static_assert(static_cast<int>(DType::f8e4m3fn) == COLONNADE_FLOAT8E4M3FN);
static_assert(static_cast<int>(DType::f8e4m3fnuz) == COLONNADE_FLOAT8E4M3FNUZ);
static_assert(static_cast<int>(DType::f8e5m2) == COLONNADE_FLOAT8E5M2);
static_assert(static_cast<int>(DType::f8e5m2fnuz) == COLONNADE_FLOAT8E5M2FNUZ);
static_assert(static_cast<int>(DType::f8e8m0) == COLONNADE_FLOAT8E8M0);
static_assert(static_cast<int>(DType::f4e2m1) == COLONNADE_FLOAT4E2M1);
static_assert(static_cast<int>(DType::i4) == COLONNADE_INT4 && static_cast<int>(DType::u4) == COLONNADE_UINT4);
static_assert(static_cast<int>(DType::i2) == COLONNADE_INT2 && static_cast<int>(DType::u2) == COLONNADE_UINT2);
static_assert(static_cast<int>(DType::c64) == COLONNADE_COMPLEX64);
static_assert(static_cast<int>(DType::c128) == COLONNADE_COMPLEX128);
static_assert(static_cast<int>(DType::f6e2m3) == COLONNADE_FLOAT6E2M3);
static_assert(static_cast<int>(DType::f6e3m2) == COLONNADE_FLOAT6E3M2);

static_assert(static_cast<int>(LogLevel::debug) == COLONNADE_LOG_DEBUG);
static_assert(static_cast<int>(LogLevel::error) == COLONNADE_LOG_ERROR);

/// For when there is no memory for another one.
colonnade_status& out_of_memory() {
  static colonnade_status status{COLONNADE_RESOURCE_LIMIT, "out of memory"};
  return status;
}

colonnade_status* new_status(std::int32_t code, const char* message) noexcept {
  try {
    return new colonnade_status{code, message};
  } catch (const std::bad_alloc&) {
    return &out_of_memory();
  }
}

bool is_known(std::int32_t dtype) { return dtype >= COLONNADE_UNDEFINED && dtype <= COLONNADE_FLOAT6E3M2; }

DType dtype_of(std::int32_t number) {
  if (!is_known(number) || number == COLONNADE_UNDEFINED)
    fail(ErrorCode::invalid_argument, "there is no element type {}", number);
  return static_cast<DType>(number);
}

/// The last element that the strides reach, and all before it, must lie in the caller's memory.
void check_bytes(const MutableTensorView& view, std::size_t bytes) {
  const std::int64_t needed =
      checked_mul(reach_of(view.shape, view.strides), static_cast<std::int64_t>(size_of(view.dtype)));
  if (static_cast<std::uint64_t>(needed) > bytes)
    fail(ErrorCode::invalid_argument, "the tensor takes {} bytes of memory, found {}", needed, bytes);
  if (needed > 0 && view.data == nullptr) fail(ErrorCode::invalid_argument, "memory is null");
}

std::string& string_at(const colonnade_tensor* tensor, std::int64_t index) {
  auto& strings = const_cast<Tensor&>(c::required(tensor, "tensor").owned).strings();
  if (tensor->view.dtype != DType::string)
    fail(ErrorCode::invalid_argument, "expected a tensor of strings, found {}", name_of(tensor->view.dtype));
  if (index < 0 || static_cast<std::uint64_t>(index) >= strings.size())
    fail(ErrorCode::invalid_argument, "string {} of {}", index, strings.size());
  return strings[static_cast<std::size_t>(index)];
}

}  // namespace

colonnade_status* c::status_of(const std::exception_ptr& error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const Error& failure) {
    return new_status(number_of(failure.code()), failure.what());
  } catch (const std::bad_alloc&) {
    return &out_of_memory();
  } catch (const std::exception& failure) {
    return new_status(COLONNADE_INTERNAL, failure.what());
  } catch (...) {
    return new_status(COLONNADE_INTERNAL, "unknown exception");
  }
}

char* c::new_text(std::string_view text) {
  auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::copy(text.begin(), text.end(), copy);
  copy[text.size()] = '\0';
  return copy;
}

}  // namespace colonnade

using colonnade::c::array;
using colonnade::c::guarded;
using colonnade::c::required;
using colonnade::c::result_in;

const char* colonnade_version() { return COLONNADE_VERSION; }

std::int32_t colonnade_status_code(const colonnade_status* status) { return status ? status->code : COLONNADE_OK; }
const char* colonnade_status_message(const colonnade_status* status) { return status ? status->message.c_str() : ""; }
void colonnade_status_free(colonnade_status* status) {
  if (status != &colonnade::out_of_memory()) delete status;
}
void colonnade_text_free(char* text) { std::free(text); }

std::size_t colonnade_dtype_size(std::int32_t dtype) {
  return colonnade::is_known(dtype) ? colonnade::size_of(static_cast<colonnade::DType>(dtype)) : 0;
}
const char* colonnade_dtype_name(std::int32_t dtype) {
  using colonnade::DType;
  return colonnade::name_of(colonnade::is_known(dtype) ? static_cast<DType>(dtype) : DType::undefined).data();
}

colonnade_status* colonnade_tensor_create(std::int32_t dtype, const std::int64_t* shape, std::size_t rank,
                                          colonnade_tensor** tensor) {
  return guarded([&] {
    auto*& result = result_in(tensor, "tensor");
    const auto sizes = array(shape, rank, "shape");
    auto made = std::make_unique<colonnade_tensor>();
    made->owned = colonnade::Tensor(colonnade::dtype_of(dtype), {sizes.begin(), sizes.end()});
    made->view = colonnade::MutableTensorView(made->owned);
    result = made.release();
  });
}

colonnade_status* colonnade_tensor_borrow(std::int32_t dtype, const std::int64_t* shape, std::size_t rank,
                                          const std::int64_t* strides, const void* memory, std::size_t bytes,
                                          colonnade_tensor** tensor) {
  return guarded([&] {
    auto*& result = result_in(tensor, "tensor");
    const auto sizes = array(shape, rank, "shape");
    auto made = std::make_unique<colonnade_tensor>();
    made->view = {colonnade::dtype_of(dtype), {sizes.begin(), sizes.end()}, const_cast<void*>(memory)};
    if (made->view.dtype == colonnade::DType::string)
      colonnade::fail(colonnade::ErrorCode::invalid_argument, "strings cannot be borrowed");
    if (strides != nullptr) made->view.strides.assign(strides, strides + rank);
    colonnade::check_bytes(made->view, bytes);
    result = made.release();
  });
}

void colonnade_tensor_free(colonnade_tensor* tensor) { delete tensor; }

std::int32_t colonnade_tensor_dtype(const colonnade_tensor* tensor) {
  return tensor ? static_cast<std::int32_t>(tensor->view.dtype) : COLONNADE_UNDEFINED;
}
std::size_t colonnade_tensor_rank(const colonnade_tensor* tensor) { return tensor ? tensor->view.shape.size() : 0; }
const std::int64_t* colonnade_tensor_shape(const colonnade_tensor* tensor) {
  return tensor ? tensor->view.shape.data() : nullptr;
}
std::int64_t colonnade_tensor_size(const colonnade_tensor* tensor) {
  return tensor ? colonnade::element_count(tensor->view.shape) : 0;
}
void* colonnade_tensor_data(colonnade_tensor* tensor) {
  return tensor == nullptr || tensor->view.dtype == colonnade::DType::string ? nullptr : tensor->view.data;
}

colonnade_status* colonnade_tensor_get_string(const colonnade_tensor* tensor, std::int64_t index, const char** text,
                                              std::size_t* length) {
  return guarded([&] {
    const char*& result = result_in(text, "text");
    const std::string& string = colonnade::string_at(tensor, index);
    result = string.c_str();
    if (length != nullptr) *length = string.size();
  });
}

colonnade_status* colonnade_tensor_set_string(colonnade_tensor* tensor, std::int64_t index, const char* text,
                                              std::size_t length) {
  return guarded([&] {
    const auto characters = array(text, length, "text");
    colonnade::string_at(tensor, index).assign(characters.begin(), characters.end());
  });
}

void colonnade_set_log_handler(colonnade_log_handler handler, void* user) {
  if (handler == nullptr) return colonnade::set_log_handler({});
  colonnade::set_log_handler([handler, user](colonnade::LogLevel level, std::string_view line) {
    handler(static_cast<std::int32_t>(level), std::string(line).c_str(), user);
  });
}

colonnade_status* colonnade_set_allocation_hooks(const colonnade_allocation_hooks* hooks) {
  return guarded([&] {
    const auto known = colonnade::c::taken(hooks, "allocation hooks");
    colonnade::set_allocation_hooks({known.allocate, known.release, known.user});
  });
}
