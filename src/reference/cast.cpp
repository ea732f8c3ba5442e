// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "reference/elements.hpp"
#include "reference/families.hpp"

namespace colonnade::reference {
namespace {

template <class C>
void store_as(const Cast& cast, const C* values, std::int64_t count, Tensor& y, std::int64_t offset) {
  if (!is_minifloat(cast.to)) return store(values, count, y, offset);
  const auto bits = y.values<std::uint8_t>().subspan(static_cast<std::size_t>(offset));
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    bits[i] = minifloat_of(cast.to, static_cast<double>(values[i]), cast.saturate, cast.rounding);
  }
}

void cast_numbers(const Cast& cast, const Tensor& x, Tensor& y, const Call& call) {
  visit_compute(x.dtype(), call, [&]<class C>(Tag<C>) {
    C block[kBlock];
    for (std::int64_t begin = 0; begin < x.size(); begin += kBlock) {
      const std::int64_t count = std::min(kBlock, x.size() - begin);
      load(x, begin, count, block);
      store_as(cast, block, count, y, begin);
    }
  });
}

void cast_to_strings(const Tensor& x, Tensor& y, const Call& call) {
  visit_compute(x.dtype(), call, [&]<class C>(Tag<C>) {
    for (std::int64_t i = 0; i < x.size(); ++i) {
      C value{};
      load(x, i, 1, &value);
      std::string& text = y.strings()[static_cast<std::size_t>(i)];
      if constexpr (std::is_same_v<C, double>) {
        text = number_text(value, x.dtype());
      } else {
        text = std::to_string(value);
      }
    }
  });
}

template <class C>
bool cast_text(const Cast& cast, const std::string& text, Tensor& y, std::int64_t offset) {
  C value{};
  if (!parse_number(text, value)) return false;
  store_as(cast, &value, 1, y, offset);
  return true;
}

/// Integers stay exact where the text is one.
void cast_from_strings(const Cast& cast, const Tensor& x, Tensor& y, const Call& call) {
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const std::string& text = x.strings()[static_cast<std::size_t>(i)];
    if (is_signed(cast.to) && cast_text<std::int64_t>(cast, text, y, i)) continue;
    if (is_unsigned(cast.to) && cast_text<std::uint64_t>(cast, text, y, i)) continue;
    if (!cast_text<double>(cast, text, y, i)) call.invalid("element {} is '{}', which is no number", i, text);
  }
}

bool is_castable(DType dtype) {
  return is_real(dtype) || is_signed(dtype) || is_unsigned(dtype) || dtype == DType::string;
}

}  // namespace

Tensors apply(const Cast& cast, const Call& call) {
  const Tensor& x = call.input(0);
  if (x.dtype() == cast.to) return {x};
  if (!is_castable(x.dtype()) || !is_castable(cast.to)) {
    call.unsupported("no cast from {} to {}", name_of(x.dtype()), name_of(cast.to));
  }
  Tensor y(cast.to, x.shape());
  if (x.dtype() == DType::string) {
    cast_from_strings(cast, x, y, call);
  } else if (cast.to == DType::string) {
    cast_to_strings(x, y, call);
  } else {
    cast_numbers(cast, x, y, call);
  }
  return {std::move(y)};
}

}  // namespace colonnade::reference
