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

/// How far apart tokens of a text may be in a plan: as far as they are, or further.
std::int64_t span_room(std::int64_t span);

/// Tokens of all texts, texts, and from the first to the last token of the longest text.
struct TextSizes {
  std::int64_t tokens = 0, texts = 0, span = 0;
};
/// Shapes of the packed graph's inputs for so many.
std::vector<Shape> packed_shapes(const Packing& packing, const TextSizes& sizes);
/// Shape of the network's output `index` for inputs [batch, tokens].
Shape unpacked_shape(const Packing& packing, std::size_t index, const Shape& inputs);

/// All of them, where inputs of these shapes may be packed.
std::optional<std::vector<Shape>> shapes_of_texts(const Packing& packing, std::span<const Shape> inputs);

/// How texts run: as they are, where the mask has other numbers than ones and zeros; as they are, but padding is zero
/// in what is given, where no text has a token or, if that matters, one has not its first; packed.
enum class Way { dense, masked, packed };

/// Of one run at a time; keeps its memory for the next one.
class PackedTexts {
 public:
  /// Takes the caller's inputs in, which may have strides.
  Way set(const Packing& packing, std::span<const TensorView> inputs);

  std::span<const TensorView> inputs() const { return views_; }
  /// Elements of output `index` where the caller wants them; padding is zero.
  void unpack(const Packing& packing, std::size_t index, const Tensor& from, std::byte* to) const;
  /// Makes padding zero in output `index` of a run as it is, `bytes` in all.
  void clear_padding(const Packing& packing, std::size_t index, std::byte* output, std::size_t bytes) const;
  std::size_t bytes() const;

 private:
  Way find_tokens(const Packing& packing, const TensorView& mask);
  void fill(const Packing& packing, std::span<const TensorView> inputs);

  std::int64_t batch_ = 0, length_ = 0, span_ = 0;
  std::vector<std::int64_t> places_, owners_, bounds_, firsts_, apart_;
  std::vector<Tensor> before_;
  std::vector<float> counts_, texts_;
  std::vector<std::vector<std::byte>> tokens_;  ///< by input of the network
  std::vector<TensorView> views_;
};

}  // namespace colonnade
