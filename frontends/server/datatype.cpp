// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/datatype.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace colonnade::serve {
namespace {

constexpr std::array<std::pair<DType, std::string_view>, 14> kDatatypes = {{{DType::boolean, "BOOL"},
                                                                            {DType::u8, "UINT8"},
                                                                            {DType::u16, "UINT16"},
                                                                            {DType::u32, "UINT32"},
                                                                            {DType::u64, "UINT64"},
                                                                            {DType::i8, "INT8"},
                                                                            {DType::i16, "INT16"},
                                                                            {DType::i32, "INT32"},
                                                                            {DType::i64, "INT64"},
                                                                            {DType::f16, "FP16"},
                                                                            {DType::f32, "FP32"},
                                                                            {DType::f64, "FP64"},
                                                                            {DType::bf16, "BF16"},
                                                                            {DType::string, "BYTES"}}};

}  // namespace

std::string_view datatype_of(DType dtype) noexcept {
  const auto* const found =
      std::find_if(kDatatypes.begin(), kDatatypes.end(), [&](const auto& row) { return row.first == dtype; });
  return found == kDatatypes.end() ? std::string_view() : found->second;
}

std::optional<DType> dtype_of(std::string_view datatype) noexcept {
  const auto* const found =
      std::find_if(kDatatypes.begin(), kDatatypes.end(), [&](const auto& row) { return row.second == datatype; });
  return found == kDatatypes.end() ? std::nullopt : std::optional(found->first);
}

}  // namespace colonnade::serve
