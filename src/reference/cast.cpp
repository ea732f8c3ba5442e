// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "reference/elements.hpp"
#include "reference/families.hpp"

namespace colonnade::reference {
namespace {

constexpr std::int64_t kBlock = 1024;

void cast_numbers(const Tensor& x, Tensor& y, const Call& call) {
  visit_compute(x.dtype(), call.where(), [&]<class C>(Tag<C>) {
    C block[kBlock];
    for (std::int64_t begin = 0; begin < x.size(); begin += kBlock) {
      const std::int64_t count = std::min(kBlock, x.size() - begin);
      load(x, begin, count, block);
      store(block, count, y, begin);
    }
  });
}

void cast_to_strings(const Tensor& x, Tensor& y, const Call& call) {
  visit_compute(x.dtype(), call.where(), [&]<class C>(Tag<C>) {
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

void cast_from_strings(const Tensor& x, Tensor& y, const Call& call) {
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const std::string& text = x.strings()[static_cast<std::size_t>(i)];
    double value = 0;
    if (!parse_number(text, value)) call.invalid("element {} is '{}', which is no number", i, text);
    store(&value, 1, y, i);
  }
}

}  // namespace

Tensors apply(const Cast& cast, const Call& call) {
  const Tensor& x = call.input(0);
  if (x.dtype() == cast.to) return {x};
  Tensor y(cast.to, x.shape());
  if (x.dtype() == DType::string) {
    cast_from_strings(x, y, call);
  } else if (cast.to == DType::string) {
    cast_to_strings(x, y, call);
  } else {
    cast_numbers(x, y, call);
  }
  return {std::move(y)};
}

}  // namespace colonnade::reference
