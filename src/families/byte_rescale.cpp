// SPDX-License-Identifier: Apache-2.0
#include "families/byte_rescale.hpp"

namespace colonnade {
namespace {

using kernels::byte_product::Output;

enum Input : std::size_t { x_zero_input = 2, offset_input, factor_input, shift_input, slope_input };

Output output_of(DType type) {
  if (type == DType::u8) return Output::u8;
  if (type == DType::i8) return Output::i8;
  return type == DType::i32 ? Output::i32 : Output::f32;
}

template <class T>
const T* from(const T* first, std::int64_t channel) {
  return first == nullptr ? nullptr : first + channel;
}

}  // namespace

RescaleInput::RescaleInput(const LowerContext& context, std::size_t index)
    : known_(context.bytes(index)), value_(known_ == nullptr ? context.in<std::byte>(index) : ValueOf<std::byte>{}) {}

ByteRescale::ByteRescale(const LowerContext& context, const Rescale& out)
    : out_(out),
      one_factor_(context.has_input(factor_input) && element_count(context.input_shape(factor_input)) == 1),
      x_zero_(context, x_zero_input),
      offset_(context, offset_input),
      factor_(context, factor_input),
      shift_(context, shift_input),
      slope_(context, slope_input) {}

std::uint8_t ByteRescale::x_zero(const StepContext& step) const {
  const auto* const zero = x_zero_.at<std::uint8_t>(step);
  return zero == nullptr ? std::uint8_t{0} : *zero;
}

kernels::byte_product::Rescale ByteRescale::at(const StepContext& step, std::int64_t first) const {
  return {output_of(out_.to),
          out_.zero,
          out_.low,
          out_.high,
          from(offset_.at<std::int32_t>(step), first),
          from(factor_.at<float>(step), one_factor_ ? 0 : first),
          from(shift_.at<float>(step), first),
          from(slope_.at<float>(step), first),
          one_factor_};
}

}  // namespace colonnade
