// SPDX-License-Identifier: Apache-2.0
// What a family has at hand when it lowers a node to a RowOp.
#pragma once

#include <functional>
#include <memory>
#include <type_traits>

#include "families/family.hpp"
#include "families/rows.hpp"
#include "families/weights.hpp"
#include "kernels/base/unary.hpp"

namespace colonnade {

/// What a node does with a chunk of channels: cuts its output, works channel by channel, or accumulates over its input.
enum class ChunkRole : std::uint8_t { none, output, both, input };

/// How a node is cut into chunks.
struct ChunkInfo {
  ChunkRole role = ChunkRole::none;
  std::int64_t channels = 0;
  std::int64_t chunk_channels = 0;

  std::int64_t begin(std::int64_t chunk) const { return chunk * chunk_channels; }
  std::int64_t size(std::int64_t chunk) const { return std::min(chunk_channels, channels - begin(chunk)); }
  bool is_last(std::int64_t chunk) const { return begin(chunk) + chunk_channels >= channels; }
};

/// Of elements T; undefined for std::byte, which is any type's.
template <class T>
constexpr DType element_type() {
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::i64;
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::byte>);
  return DType::undefined;
}

/// A node to be lowered to a RowOp.
struct LowerContext : Chosen {
  ChunkInfo chunks;
  kernels::Features features;
  WeightStore& weights;
  std::vector<std::shared_ptr<const void>>& owned;  ///< keeps what the RowOp points into
  std::int64_t& weights_bytes;
  std::vector<Island>& islands;
  std::vector<bool>&
      taken;  ///< by input: a constant that the RowOp holds in its own form, so that its view is not read

  /// An input or an output whose elements are T (std::byte: whatever they are); absent where it is left out.
  template <class T>
  ValueOf<T> in(std::size_t index) const {
    return {checked(node.input(index), element_type<T>())};
  }
  template <class T>
  ValueOf<T> out(std::size_t index = 0) const {
    return {checked(node.outputs[index], element_type<T>())};
  }

  /// Bytes of a constant input, kept alive; null when absent.
  const std::byte* bytes(std::size_t index) const;
  /// Its elements, which are floats.
  const float* floats(std::size_t index) const;
  /// Packed weights of a constant input, shared between plans.
  const float* packed(std::size_t index, const std::string& format, const WeightStore::Pack& pack) const;
  /// For formats that need all elements at once.
  const float* packed(std::size_t index, const std::string& format,
                      const std::function<WeightMemory(const Tensor&, WeightRoom&)>& pack) const;

 private:
  /// The value, or none, once its elements are found to be of `type`; undefined: of any.
  ValueId checked(ValueId value, DType type) const;
};

kernels::UnaryOp unary_op(const Unary& unary, const float* slope = nullptr);

/// The epilogue's kernel form and the input that holds the residual, if any.
struct LoweredEpilogue {
  kernels::Epilogue epilogue;
  ValueOf<float> residual{};
};
LoweredEpilogue lower_epilogue(const LowerContext& context, const FusedEpilogue& epilogue, std::size_t first_input);

}  // namespace colonnade
