// SPDX-License-Identifier: Apache-2.0
#include "families/narrow_adder.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace colonnade {
namespace {

constexpr auto kOutputs = static_cast<std::int64_t>(kernels::narrow::kOutputs);
constexpr auto kFew = static_cast<std::int64_t>(kernels::narrow::kMostRows);

}  // namespace

NarrowAdder::NarrowAdder(const NarrowForm& form, kernels::Features features) : format_(form.format) {
  if (form.rounds_rows())
    bytes_ = &kernels::narrow_bytes::select(features, form.format.type);
  else
    numbers_ = &kernels::narrow::select(features, form.format.type);
}

std::int64_t NarrowAdder::terms_floats(const NarrowForm& form, std::int64_t rows) {
  const auto count = static_cast<std::size_t>(std::min(rows, kMostRows));
  const std::size_t bytes = kernels::narrow_bytes::prepared_bytes(form.format, count);
  if (!form.rounds_rows()) return static_cast<std::int64_t>(count * form.format.prepared_floats());
  return ceil_div(static_cast<std::int64_t>(bytes), static_cast<std::int64_t>(sizeof(float)));
}

void NarrowAdder::prepare(const float* x, std::int64_t stride, std::int64_t rows, float* terms) const {
  if (bytes_ != nullptr)
    return bytes_->prepare({format_, static_cast<std::size_t>(rows), x, stride, reinterpret_cast<std::byte*>(terms)});
  for (std::int64_t r = 0; r < rows; ++r, x += stride, terms += format_.prepared_floats())
    numbers_->prepare({format_, x, terms});
}

void NarrowAdder::add(const float* terms, std::int64_t rows, const std::byte* panels, std::int64_t panel_count,
                      float* sums, std::int64_t stride) const {
  alignas(64) float of[kMostRows * kOutputs];
  for (; panel_count > 0; --panel_count, panels += format_.panel_bytes(), sums += kOutputs) {
    for (std::int64_t r = 0; r < rows; ++r) std::copy_n(sums + r * stride, kOutputs, of + r * kOutputs);
    if (bytes_ != nullptr)
      bytes_->multiply(
          {format_, static_cast<std::size_t>(rows), panels, reinterpret_cast<const std::byte*>(terms), of});
    for (std::int64_t first = 0; bytes_ == nullptr && first < rows; first += kFew)
      numbers_->multiply({format_, panels, static_cast<std::size_t>(std::min(kFew, rows - first)),
                          terms + first * static_cast<std::int64_t>(format_.prepared_floats()), of + first * kOutputs});
    for (std::int64_t r = 0; r < rows; ++r) std::copy_n(of + r * kOutputs, kOutputs, sums + r * stride);
  }
}

}  // namespace colonnade
