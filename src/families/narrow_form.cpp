// SPDX-License-Identifier: Apache-2.0
#include "families/narrow_form.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/checked.hpp"
#include "base/narrow.hpp"
#include "base/parts.hpp"
#include "kernels/narrow_bytes/narrow_bytes.hpp"

namespace colonnade {
namespace {

using kernels::narrow::Format;
using kernels::narrow::Type;

constexpr auto kStep = static_cast<std::int64_t>(kernels::narrow::kStep);
constexpr auto kOutputs = static_cast<std::int64_t>(kernels::narrow::kOutputs);
/// Sums of numbers from 0 to 15 lose what their zero takes away again: no more of them than this with one scale.
constexpr std::int64_t kMostOfFourBits = 256;

Type type_of(DType type) {
  if (type == DType::f16) return Type::f16;
  if (type == DType::bf16) return Type::bf16;
  return bits_of(type) <= 4 ? Type::u4 : Type::i8;
}

/// Numbers of each type as 0 to 15 or -128 to 127. Those of two bits lie in the middle, where their zero mostly is 8.
std::int64_t shift_of(DType type) {
  if (type == DType::u8) return -128;
  if (type == DType::u2) return 6;
  return type == DType::i4 || type == DType::i2 ? 8 : 0;
}

/// Where the elements of a matrix go.
class Packer {
 public:
  Packer(const NarrowForm& form, const NarrowWeights& weights, std::byte* to)
      : form_(form), weights_(weights), to_(to) {
    const NarrowWeights::Parts parts = weights.parts();
    if (parts.scales) scales_ = parts.scales->tensor();
    if (parts.zeros) zeros_ = parts.zeros->tensor();
  }

  /// Rows [first, first + count) of the matrix, as the constant has them: kOutputs outputs or kStep of the depth.
  void put_rows(std::int64_t first, std::int64_t count, std::int64_t columns, const std::uint8_t* elements) const {
    if (form_.format.type == Type::u4) return put_words<kStep>(first, count, columns, elements);
    if (form_.format.type == Type::u8) return put_words<kStep / 2>(first, count, columns, elements);
    if (form_.format.type == Type::i8) return put_elements(first, count, columns, elements);
    put_elements(first, count, columns, reinterpret_cast<const std::uint16_t*>(elements));
  }

  void put_parameters(std::int64_t n) const {
    if (!weights_.is_scaled()) return;
    const auto block = static_cast<std::int64_t>(form_.format.block);
    for (std::int64_t k = 0; k < form_.depth(); k += block) {
      const std::int64_t row = form_.transposed ? n : k, column = form_.transposed ? k : n;
      auto* const scale =
          reinterpret_cast<float*>(record(k, slot(n)) + form_.format.numbers_bytes()) + slot(n) % kOutputs;
      *scale = parameter(*scales_, row, column);
      if (form_.format.has_zeros) scale[kOutputs] = parameter(*zeros_, row, column) + static_cast<float>(form_.shift);
    }
  }

 private:
  /// Where an output lies among those of all panels: the last one of a group may have room.
  std::int64_t slot(std::int64_t n) const {
    return form_.groups == 1 ? n : n / form_.outputs * form_.panels() * kOutputs + n % form_.outputs;
  }
  std::byte* record(std::int64_t k, std::int64_t slot) const {
    return to_ + static_cast<std::size_t>(slot / kOutputs) * form_.format.panel_bytes() +
           static_cast<std::size_t>(k) / form_.format.block * form_.format.record_bytes();
  }
  /// Elements as they are, but for the shift.
  template <class T>
  void put_elements(std::int64_t first, std::int64_t count, std::int64_t columns, const T* elements) const {
    const std::int64_t first_n = form_.transposed ? first : 0, end_n = form_.transposed ? first + count : columns;
    for (std::int64_t n = first_n, run = 0; n < end_n; n += run) {
      run = std::min({end_n - n, kOutputs - slot(n) % kOutputs, form_.outputs - n % form_.outputs});
      for (std::int64_t k = 0; k < (form_.transposed ? columns : count); ++k) {
        if (form_.transposed)
          put_run(k, n, run, elements + (n - first) * columns + k, columns);
        else
          put_run(first + k, n, run, elements + k * columns + n, 1);
      }
    }
  }
  /// Outputs of one panel.
  template <class T>
  void put_run(std::int64_t k, std::int64_t n, std::int64_t run, const T* elements, std::int64_t apart) const {
    const auto within = k % static_cast<std::int64_t>(form_.format.block);
    T* const to = reinterpret_cast<T*>(record(k, slot(n))) + within * kOutputs + slot(n) % kOutputs;
    for (std::int64_t i = 0; i < run; ++i) to[i] = static_cast<T>(elements[i * apart] + form_.shift);
  }
  /// Words of kNumbers: eight of four bits or four of eight.
  template <std::int64_t kNumbers>
  void put_words(std::int64_t first, std::int64_t count, std::int64_t columns, const std::uint8_t* elements) const {
    const std::int64_t outputs = form_.transposed ? count : columns, depth = form_.transposed ? columns : count;
    const std::int64_t apart_n = form_.transposed ? columns : 1, apart_k = form_.transposed ? 1 : columns;
    const std::int64_t first_k = form_.transposed ? 0 : first, first_n = form_.transposed ? first : 0;
    for (std::int64_t k = 0; k < depth; k += kNumbers)
      for (std::int64_t n = 0; n < outputs; ++n) {
        const std::int64_t within = (first_k + k) % static_cast<std::int64_t>(form_.format.block);
        const std::uint8_t* const numbers = elements + n * apart_n + k * apart_k;
        const std::int64_t some = std::min(kNumbers, depth - k);
        const std::uint32_t word = apart_k == 1 && some == kNumbers ? word_of<kNumbers>(numbers, 1, kNumbers)
                                                                    : word_of<kNumbers>(numbers, apart_k, some);
        const std::int64_t at = slot(first_n + n);
        std::byte* const to = record(first_k + k, at) + (within / kNumbers * kOutputs + at % kOutputs) * 4;
        std::memcpy(to, &word, sizeof word);
      }
  }
  /// At most kNumbers numbers, `apart` from each other, the first one lowest; the others are zero.
  template <std::int64_t kNumbers>
  std::uint32_t word_of(const std::uint8_t* numbers, std::int64_t apart, std::int64_t count) const {
    constexpr std::uint64_t kOnes = 0x0101010101010101, kFields = 0x0f * kOnes;
    std::uint8_t bytes[kNumbers] = {};
    for (std::int64_t i = 0; i < count; ++i)
      bytes[i] = static_cast<std::uint8_t>(numbers[i * apart] + (kNumbers == kStep ? 0 : form_.shift));
    std::uint64_t x = 0;
    for (std::int64_t i = 0; i < kNumbers; ++i) x |= static_cast<std::uint64_t>(bytes[i]) << 8 * i;
    if (kNumbers != kStep) return static_cast<std::uint32_t>(x);
    x = ((x & kFields) + kOnes * static_cast<std::uint64_t>(form_.shift)) & kFields;
    if (count < kStep) x &= (std::uint64_t{1} << 8 * count) - 1;
    x = (x | x >> 4) & 0x00ff00ff00ff00ff;
    x = (x | x >> 8) & 0x0000ffff0000ffff;
    return static_cast<std::uint32_t>(x | x >> 16);
  }
  float parameter(const Tensor& of, std::int64_t row, std::int64_t column) const {
    const std::int64_t at = row / weights_.block_rows * of.shape()[1] + column / weights_.block_columns;
    return of.values<float>()[static_cast<std::size_t>(at)];
  }

  const NarrowForm& form_;
  const NarrowWeights& weights_;
  std::shared_ptr<const Tensor> scales_, zeros_;
  std::byte* to_;
};

}  // namespace

std::optional<NarrowForm> NarrowForm::for_bytes() const {
  const bool is_byte = format.type == Type::i8;
  if (!byte_rows || exact || (format.type != Type::u4 && !is_byte)) return std::nullopt;
  if (format.block > kernels::narrow_bytes::kMostTerms) return std::nullopt;
  NarrowForm form = *this;
  if (!is_byte) return form;
  constexpr std::int64_t kMiddle = 128;
  form.format.type = Type::u8;
  form.shift += kMiddle;
  if (!format.has_zeros) form.format.zero += static_cast<float>(kMiddle);
  return form;
}

/// Of a constant of any rank: its last axis is the columns.
static std::array<std::int64_t, 2> sides_of(const Constant& matrix) {
  return {matrix.size() / matrix.shape().back(), matrix.shape().back()};
}

std::int64_t NarrowForm::panels() const { return ceil_div(outputs, kOutputs); }

std::optional<NarrowForm> narrow_form(const Constant& matrix, bool transposed, const Blocking& blocking,
                                      std::int64_t groups) {
  const auto& weights = matrix.narrow();
  if (!weights || matrix.byte_size() <= Constant::kSmallBytes) return std::nullopt;
  const auto [rows, columns] = sides_of(matrix);
  NarrowForm form{.groups = groups, .outputs = (transposed ? rows : columns) / groups, .transposed = transposed};
  const std::int64_t depth = transposed ? columns : rows;
  std::int64_t block = transposed ? weights->block_columns : weights->block_rows;
  if (block < depth && block % kStep != 0) return std::nullopt;
  block = std::min(block, depth);
  form.format = {.type = type_of(weights->type), .k = static_cast<std::size_t>(depth), .has_zeros = weights->has_zeros};
  form.shift = shift_of(weights->type);
  if (form.format.type == Type::u4 && block > kMostOfFourBits)
    block = block == depth ? kMostOfFourBits : std::gcd(block, kMostOfFourBits);
  form.format.block = static_cast<std::size_t>(block);
  form.format.zero = weights->is_scaled() && !weights->has_zeros ? weights->zero + static_cast<float>(form.shift) : 0;
  const std::int64_t step = blocking.near_weights_bytes / 4 / (kOutputs * static_cast<std::int64_t>(sizeof(float)));
  form.byte_rows = weights->byte_rows;
  form.depth_step = std::max(kStep, step / kStep * kStep);
  return form;
}

std::string format_of(const NarrowForm& form) {
  const Format& f = form.format;
  return fmt::format("narrow/{}{}/{}{}{}", f.type == Type::u8 ? "fours/" : "", kernels::narrow::bits_of(f.type),
                     f.block, f.has_zeros ? "/zeros" : "",
                     form.groups > 1   ? fmt::format("/{}", form.groups)
                     : form.transposed ? "/t"
                                       : "");
}

WeightMemory pack_narrow(const Constant& matrix, const NarrowForm& form, WeightRoom& room) {
  const NarrowWeights& weights = *matrix.narrow();
  WeightMemory packed = room.take(static_cast<std::size_t>(form.packed_bytes()));
  std::memset(packed.data(), 0, packed.bytes());
  const NarrowWeights::Parts parts = weights.parts();
  const Packer packer(form, weights, packed.data());
  const auto element = static_cast<std::int64_t>(size_of(parts.numbers->dtype()));
  const auto sides = sides_of(matrix);
  const std::int64_t rows = sides[0], columns = sides[1];
  const std::int64_t together = form.transposed ? kOutputs : kStep;
  for_each_part(ceil_div(rows, together), [&](std::int64_t part) {
    const std::int64_t first = part * together, count = std::min(together, rows - first);
    const AlignedBuffer elements(static_cast<std::size_t>(count * columns * element));
    parts.numbers->read(first * columns, {elements.data(), elements.bytes()});
    packer.put_rows(first, count, columns, reinterpret_cast<const std::uint8_t*>(elements.data()));
  });
  for (std::int64_t n = 0; n < form.groups * form.outputs; ++n) packer.put_parameters(n);
  return packed;
}

}  // namespace colonnade
