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
    case DType::boolean:
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
    case DType::f8e8m0:
    case DType::f4e2m1:
    case DType::f6e2m3:
    case DType::f6e3m2:
    case DType::i4:
    case DType::u4:
    case DType::i2:
    case DType::u2: return 1;
    case DType::f16:
    case DType::bf16:
    case DType::i16:
    case DType::u16: return 2;
    case DType::f32:
    case DType::i32:
    case DType::u32: return 4;
    case DType::f64:
    case DType::i64:
    case DType::u64:
    case DType::c64: return 8;
    case DType::c128: return 16;
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
    case DType::f8e4m3fn: return "float8e4m3fn";
    case DType::f8e4m3fnuz: return "float8e4m3fnuz";
    case DType::f8e5m2: return "float8e5m2";
    case DType::f8e5m2fnuz: return "float8e5m2fnuz";
    case DType::f8e8m0: return "float8e8m0";
    case DType::f4e2m1: return "float4e2m1";
    case DType::f6e2m3: return "float6e2m3";
    case DType::f6e3m2: return "float6e3m2";
    case DType::i4: return "int4";
    case DType::u4: return "uint4";
    case DType::i2: return "int2";
    case DType::u2: return "uint2";
    case DType::c64: return "complex64";
    case DType::c128: return "complex128";
  }
  return "undefined";
}

}  // namespace colonnade
