// SPDX-License-Identifier: Apache-2.0
#include "graph/byte_weights.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "graph/shape_rules.hpp"

namespace colonnade {
namespace {

/// The bytes as [outer][channels][inner].
struct ByChannel {
  std::size_t outer, channels, inner;
};

ByChannel by_channel(const Shape& shape, std::size_t axis) {
  const std::span<const std::int64_t> dims(shape);
  return {static_cast<std::size_t>(product_of(dims.first(axis))), static_cast<std::size_t>(shape[axis]),
          static_cast<std::size_t>(product_of(dims.subspan(axis + 1)))};
}

template <class From, class To>
void subtract(const Tensor& bytes, std::span<const std::int64_t> zeros, const ByChannel& form, Tensor& result) {
  const From* from = static_cast<const From*>(bytes.data());
  To* to = static_cast<To*>(result.data());
  for (std::size_t outer = 0; outer < form.outer; ++outer)
    for (std::size_t channel = 0; channel < form.channels; ++channel) {
      const auto zero = static_cast<int>(zeros.size() == 1 ? zeros[0] : zeros[channel]);
      for (std::size_t i = 0; i < form.inner; ++i) *to++ = static_cast<To>(*from++ - zero);
    }
}

/// The least and the largest of what `subtract` makes.
template <class From>
std::pair<int, int> bounds(const Tensor& bytes, std::span<const std::int64_t> zeros, const ByChannel& form) {
  const From* from = static_cast<const From*>(bytes.data());
  if (zeros.size() == 1) {
    const auto [least, most] = std::minmax_element(from, from + bytes.size());
    return {*least - static_cast<int>(zeros[0]), *most - static_cast<int>(zeros[0])};
  }
  std::pair<int, int> found{255, -255};
  for (std::size_t outer = 0; outer < form.outer; ++outer)
    for (std::size_t channel = 0; channel < form.channels; ++channel, from += form.inner) {
      const auto [least, most] = std::minmax_element(from, from + form.inner);
      const auto zero = static_cast<int>(zeros[channel]);
      found = {std::min(found.first, *least - zero), std::max(found.second, *most - zero)};
    }
  return found;
}

template <class From>
std::optional<Tensor> centred(const Tensor& bytes, std::span<const std::int64_t> zeros, const ByChannel& form,
                              ByteWidth most) {
  const auto [low, high] = bounds<From>(bytes, zeros, form);
  const bool is_narrow = low >= -128 && high <= 127;
  if (!is_narrow && most == ByteWidth::one) return std::nullopt;
  Tensor result(is_narrow ? DType::i8 : DType::i16, bytes.shape());
  if (is_narrow) {
    subtract<From, std::int8_t>(bytes, zeros, form, result);
  } else {
    subtract<From, std::int16_t>(bytes, zeros, form, result);
  }
  return result;
}

}  // namespace

std::optional<Tensor> centred_weights(const Tensor& bytes, std::span<const std::int64_t> zeros, std::size_t axis,
                                      ByteWidth most) {
  static constexpr std::int64_t kNoZero[] = {0};
  if (zeros.empty()) zeros = kNoZero;
  if (bytes.size() == 0 || axis >= bytes.shape().size()) return std::nullopt;
  const ByChannel form = by_channel(bytes.shape(), axis);
  if (zeros.size() != 1 && zeros.size() != form.channels) return std::nullopt;
  if (bytes.dtype() == DType::u8) return centred<std::uint8_t>(bytes, zeros, form, most);
  if (bytes.dtype() == DType::i8) return centred<std::int8_t>(bytes, zeros, form, most);
  return std::nullopt;
}

}  // namespace colonnade
