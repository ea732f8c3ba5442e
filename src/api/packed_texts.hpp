// SPDX-License-Identifier: Apache-2.0
// Texts as a packed network takes them: the live tokens of all, one after the other, and what it gives back as the
// caller asked for it. Tokens and texts are counted in classes, so that few plans do for all lengths and batches.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "colonnade/colonnade.hpp"
#include "passes/pack_tokens.hpp"

namespace colonnade {

/// Tokens that a plan has room for: a few more than there are.
std::int64_t token_room(std::int64_t tokens);
/// Texts that a plan has room for: more than there are, since what fills its tokens is of none of them.
std::int64_t text_room(std::int64_t texts);

/// Shapes of the packed graph's inputs for so many tokens and texts.
std::vector<Shape> packed_shapes(const Packing& packing, std::int64_t tokens, std::int64_t texts);
/// Shape of the network's output `index` for inputs [batch, tokens].
Shape unpacked_shape(const Packing& packing, std::size_t index, const Shape& inputs);

/// All of them, where inputs of these shapes may be packed.
std::optional<std::vector<Shape>> shapes_of_texts(const Packing& packing, std::span<const Shape> inputs);

/// Of one run at a time; keeps its memory for the next one.
class PackedTexts {
 public:
  /// Takes the caller's inputs in, which may have strides. False where they run as they are: a mask of other numbers
  /// than ones and zeros, a text without any token or, where it matters, without its first one.
  bool set(const Packing& packing, std::span<const TensorView> inputs);

  std::span<const TensorView> inputs() const { return views_; }
  /// Elements of output `index` where the caller wants them; padding is zero.
  void unpack(const Packing& packing, std::size_t index, const Tensor& from, std::byte* to) const;
  std::size_t bytes() const;

 private:
  bool find_tokens(const Packing& packing, const TensorView& mask);
  void fill(const Packing& packing, std::span<const TensorView> inputs);

  std::int64_t batch_ = 0, length_ = 0;
  std::vector<std::int64_t> places_, owners_, bounds_, firsts_;
  std::vector<float> counts_, texts_;
  std::vector<std::vector<std::byte>> tokens_;  ///< by input of the network
  std::vector<TensorView> views_;
};

}  // namespace colonnade
