// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/packing.hpp"

#include "base/checked.hpp"

namespace colonnade::onnx_import {
namespace {

/// Where the bits of an element begin. It may reach into the next byte.
struct Place {
  std::size_t byte;
  unsigned shift;
};

Place place_of(DType dtype, std::int64_t index) {
  const auto bit = static_cast<std::size_t>(index) * static_cast<std::size_t>(bits_of(dtype));
  return {bit / 8, static_cast<unsigned>(bit % 8)};
}

}  // namespace

std::int64_t packed_bytes(DType dtype, std::int64_t count) {
  const std::int64_t bits = bits_of(dtype);
  return count / 8 * bits + ceil_div(count % 8 * bits, 8);
}

void unpack(DType dtype, std::span<const std::byte> packed, std::int64_t first, std::span<std::byte> elements) {
  for (std::byte& element : elements) {
    const Place place = place_of(dtype, first++);
    unsigned bits = static_cast<unsigned>(packed[place.byte]);
    if (place.byte + 1 < packed.size()) bits |= static_cast<unsigned>(packed[place.byte + 1]) << 8;
    element = std::byte{element_of_bits(dtype, bits >> place.shift)};
  }
}

void pack(DType dtype, std::span<const std::byte> elements, std::span<std::byte> packed) {
  const unsigned mask = (1u << bits_of(dtype)) - 1;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const Place place = place_of(dtype, static_cast<std::int64_t>(i));
    const unsigned bits = (static_cast<unsigned>(elements[i]) & mask) << place.shift;
    packed[place.byte] |= static_cast<std::byte>(bits & 0xff);
    if (place.byte + 1 < packed.size()) packed[place.byte + 1] |= static_cast<std::byte>(bits >> 8);
  }
}

}  // namespace colonnade::onnx_import
