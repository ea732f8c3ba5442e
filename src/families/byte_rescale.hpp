// SPDX-License-Identifier: Apache-2.0
// What contractions of bytes read beside x and their weights, as their kernels take it.
#pragma once

#include "families/lower.hpp"
#include "graph/bytes.hpp"
#include "kernels/byte_product/byte_product.hpp"

namespace colonnade {

/// An input that is known when the node is lowered, or lies whole in memory when it runs.
class RescaleInput {
 public:
  RescaleInput(const LowerContext& context, std::size_t index);

  template <class T>
  const T* at(const StepContext& step) const {
    const std::byte* const first = known_ != nullptr ? known_ : value_ ? whole(step, value_) : nullptr;
    return reinterpret_cast<const T*>(first);
  }

 private:
  const std::byte* known_;
  ValueOf<std::byte> value_;
};

/// The inputs of ByteConv and ByteMatMul that follow the weight.
class ByteRescale {
 public:
  ByteRescale(const LowerContext& context, const Rescale& out);

  std::uint8_t x_zero(const StepContext& step) const;
  /// For outputs from channel `first` on.
  kernels::byte_product::Rescale at(const StepContext& step, std::int64_t first) const;
  /// Bytes of an output.
  std::int64_t value_bytes() const { return static_cast<std::int64_t>(size_of(out_.to)); }

 private:
  Rescale out_;
  bool one_factor_;
  RescaleInput x_zero_, offset_, factor_, shift_, slope_;
};

}  // namespace colonnade
