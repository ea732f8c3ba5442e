// SPDX-License-Identifier: Apache-2.0
#include "api/packed_texts.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/checked.hpp"
#include "base/strides.hpp"
#include "reference/reference.hpp"

namespace colonnade {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// Where an element of a view [texts, tokens] lies, in elements.
std::int64_t offset_of(const TensorView& view, std::int64_t text, std::int64_t token) {
  if (view.strides.empty()) return text * view.shape[1] + token;
  return text * view.strides[0] + token * view.strides[1];
}

std::int64_t integer_at(const TensorView& view, std::int64_t text, std::int64_t token) {
  const std::int64_t at = offset_of(view, text, token);
  if (view.dtype == DType::i32) return static_cast<const std::int32_t*>(view.data)[at];
  return static_cast<const std::int64_t*>(view.data)[at];
}

Shape shape_of(PackedRole role, std::int64_t tokens, std::int64_t texts, std::int64_t span) {
  switch (role) {
    case PackedRole::tokens: return {1, tokens};
    case PackedRole::places: return {tokens};
    case PackedRole::owners: return {tokens, 1};
    case PackedRole::bounds: return {texts + 1};
    case PackedRole::firsts: return {texts};
    case PackedRole::counts: return {texts, 1};
    case PackedRole::texts: return {texts, 1};
    case PackedRole::apart: return {2 * span + 1};
  }
  return {};
}

Tensor dense_copy(const TensorView& view) {
  Tensor tensor(view.dtype, view.shape);
  const Strides strides = view.strides.empty() ? dense_strides(view.shape) : view.strides;
  copy_elements(view.dtype, view.shape, view.data, strides, tensor.data(), dense_strides(view.shape));
  return tensor;
}

}  // namespace

std::int64_t token_room(std::int64_t tokens) {
  constexpr std::uint64_t kParts = 8;
  const auto below = static_cast<std::uint64_t>(std::max<std::int64_t>(tokens, 1) - 1);
  const auto step = static_cast<std::int64_t>(std::max(kParts, std::bit_floor(below) / kParts));
  return ceil_div(std::max<std::int64_t>(tokens, 1), step) * step;
}

std::int64_t text_room(std::int64_t texts) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(texts) + 1));
}

std::int64_t span_room(std::int64_t span) {
  constexpr std::uint64_t kLeast = 16;
  return static_cast<std::int64_t>(std::bit_ceil(std::max(kLeast, static_cast<std::uint64_t>(span))));
}

std::vector<Shape> packed_shapes(const Packing& packing, const TextSizes& sizes) {
  std::vector<Shape> shapes;
  for (const PackedInput& input : packing.inputs)
    shapes.push_back(shape_of(input.role, token_room(sizes.tokens), text_room(sizes.texts), span_room(sizes.span)));
  return shapes;
}

Shape unpacked_shape(const Packing& packing, std::size_t index, const Shape& inputs) {
  const Shape& packed = *packing.graph->value(packing.graph->outputs[index]).type.shape;
  const bool of_tokens = packing.of_tokens[index];
  Shape shape{inputs[0]};
  if (of_tokens) shape.push_back(inputs[1]);
  shape.insert(shape.end(), packed.begin() + (of_tokens ? 2 : 1), packed.end());
  return shape;
}

std::optional<std::vector<Shape>> shapes_of_texts(const Packing& packing, std::span<const Shape> inputs) {
  if (!packing.graph) return std::nullopt;
  const Shape& shape = inputs[packing.mask];
  const auto is_other = [&](const Shape& other) { return other != shape; };
  if (std::any_of(inputs.begin(), inputs.end(), is_other) || element_count(shape) == 0) return std::nullopt;
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < packing.of_tokens.size(); ++i) shapes.push_back(unpacked_shape(packing, i, shape));
  return shapes;
}

Way PackedTexts::find_tokens(const Packing& packing, const TensorView& mask) {
  places_.clear(), owners_.clear(), firsts_.clear(), counts_.clear();
  bounds_.assign(1, 0);
  span_ = 0;
  bool have_firsts = true;
  for (std::int64_t text = 0; text < batch_; ++text) {
    const std::int64_t before = bounds_.back();
    for (std::int64_t token = 0; token < length_; ++token) {
      const std::int64_t live = integer_at(mask, text, token);
      if (live != 0 && live != 1) return Way::dense;
      have_firsts = have_firsts && (token != 0 || live == 1);
      if (live == 0) continue;
      places_.push_back(token);
      owners_.push_back(text);
    }
    bounds_.push_back(std::ssize(places_));
    if (bounds_.back() > before) span_ = std::max(span_, places_.back() - places_[at(before)]);
    firsts_.push_back(before);
    counts_.push_back(static_cast<float>(bounds_.back() - before));
  }
  return places_.empty() || (packing.needs_firsts && !have_firsts) ? Way::masked : Way::packed;
}

void PackedTexts::fill(const Packing& packing, std::span<const TensorView> inputs) {
  const std::int64_t live = std::ssize(places_), room = token_room(live), texts = text_room(batch_);
  tokens_.resize(inputs.size() + before_.size());
  for (const PackedInput& input : packing.inputs) {
    if (input.role != PackedRole::tokens) continue;
    const bool given = input.source < inputs.size();
    const TensorView view = given ? inputs[input.source] : TensorView(before_[input.source - inputs.size()]);
    const std::size_t bytes = size_of(view.dtype);
    const auto* from = static_cast<const std::byte*>(view.data);
    auto& to = tokens_[input.source];
    to.resize(at(room) * bytes);
    for (std::int64_t token = 0; token < room; ++token) {
      const std::size_t source = at(token < live ? token : 0);
      const std::int64_t offset = offset_of(view, owners_[source], places_[source]);
      std::memcpy(to.data() + at(token) * bytes, from + offset * static_cast<std::int64_t>(bytes), bytes);
    }
  }
  places_.resize(at(room), places_.front());
  owners_.resize(at(room), batch_);
  bounds_.resize(at(texts + 1), live);
  firsts_.resize(at(texts), 0);
  counts_.resize(at(texts), 1);
  texts_.assign(at(texts), 0);
  const std::int64_t far = span_room(span_);
  apart_.clear();
  for (std::int64_t distance = -far; distance <= far; ++distance) apart_.push_back(std::clamp(distance, -span_, span_));
}

Way PackedTexts::set(const Packing& packing, std::span<const TensorView> inputs) {
  const Shape& shape = inputs[packing.mask].shape;
  const auto is_other = [&](const TensorView& view) { return view.shape != shape; };
  if (std::any_of(inputs.begin(), inputs.end(), is_other)) return Way::dense;
  batch_ = shape[0], length_ = shape[1];
  if (batch_ == 0 || length_ == 0) return Way::dense;
  if (const Way way = find_tokens(packing, inputs[packing.mask]); way != Way::packed) return way;
  const std::vector<Shape> shapes = packed_shapes(packing, {std::ssize(places_), batch_, span_});
  if (packing.before) {
    std::vector<Tensor> given;
    for (const TensorView& view : inputs) given.push_back(dense_copy(view));
    before_ = reference::evaluate(*packing.before, std::vector<TensorView>(given.begin(), given.end()));
  }
  fill(packing, inputs);
  views_.clear();
  for (std::size_t i = 0; i < packing.inputs.size(); ++i) {
    const auto& [role, source] = packing.inputs[i];
    switch (role) {
      case PackedRole::tokens:
        views_.emplace_back(packing.graph->value(packing.graph->inputs[i]).type.dtype, shapes[i],
                            tokens_[source].data());
        break;
      case PackedRole::places: views_.emplace_back(DType::i64, shapes[i], places_.data()); break;
      case PackedRole::owners: views_.emplace_back(DType::i64, shapes[i], owners_.data()); break;
      case PackedRole::bounds: views_.emplace_back(DType::i64, shapes[i], bounds_.data()); break;
      case PackedRole::firsts: views_.emplace_back(DType::i64, shapes[i], firsts_.data()); break;
      case PackedRole::counts: views_.emplace_back(DType::f32, shapes[i], counts_.data()); break;
      case PackedRole::texts: views_.emplace_back(DType::f32, shapes[i], texts_.data()); break;
      case PackedRole::apart: views_.emplace_back(DType::i64, shapes[i], apart_.data()); break;
    }
  }
  return Way::packed;
}

void PackedTexts::unpack(const Packing& packing, std::size_t index, const Tensor& from, std::byte* to) const {
  const bool of_tokens = packing.of_tokens[index];
  const std::int64_t rows = of_tokens ? from.shape()[1] : from.shape()[0];
  const std::size_t bytes = from.byte_size() / at(rows);
  const auto* data = static_cast<const std::byte*>(from.data());
  if (!of_tokens) {
    std::memcpy(to, data, at(batch_) * bytes);
    return;
  }
  std::memset(to, 0, at(batch_ * length_) * bytes);
  for (std::int64_t token = 0; token < bounds_[at(batch_)]; ++token)
    std::memcpy(to + at(owners_[at(token)] * length_ + places_[at(token)]) * bytes, data + at(token) * bytes, bytes);
}

void PackedTexts::clear_padding(const Packing& packing, std::size_t index, std::byte* output, std::size_t bytes) const {
  if (!packing.of_tokens[index]) return;
  const std::size_t row = bytes / at(batch_ * length_);
  std::size_t next = 0;
  for (std::size_t place = 0; place < at(batch_ * length_); ++place) {
    const bool live = next < places_.size() && at(owners_[next] * length_ + places_[next]) == place;
    if (live)
      ++next;
    else
      std::memset(output + place * row, 0, row);
  }
}

std::size_t PackedTexts::bytes() const {
  std::size_t sum =
      sizeof(std::int64_t) * (places_.capacity() + owners_.capacity() + bounds_.capacity() + apart_.capacity());
  for (const Tensor& tensor : before_) sum += tensor.byte_size();
  for (const auto& input : tokens_) sum += input.capacity();
  return sum;
}

}  // namespace colonnade
