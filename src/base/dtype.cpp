// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>

#include "colonnade/colonnade.hpp"

namespace colonnade {

std::size_t size_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::undefined:
    case DType::string: return 0;
    case DType::i8:
    case DType::u8:
    case DType::boolean: return 1;
    case DType::f16:
    case DType::bf16:
    case DType::i16:
    case DType::u16: return 2;
    case DType::f32:
    case DType::i32:
    case DType::u32: return 4;
    case DType::f64:
    case DType::i64:
    case DType::u64: return 8;
  }
  return 0;
}

std::string_view name_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::undefined: return "undefined";
    case DType::f32: return "float32";
    case DType::f64: return "float64";
    case DType::f16: return "float16";
    case DType::bf16: return "bfloat16";
    case DType::i8: return "int8";
    case DType::i16: return "int16";
    case DType::i32: return "int32";
    case DType::i64: return "int64";
    case DType::u8: return "uint8";
    case DType::u16: return "uint16";
    case DType::u32: return "uint32";
    case DType::u64: return "uint64";
    case DType::boolean: return "bool";
    case DType::string: return "string";
  }
  return "undefined";
}

}  // namespace colonnade
