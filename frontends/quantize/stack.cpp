// SPDX-License-Identifier: Apache-2.0
#include "stack.hpp"

#include <fmt/core.h>

#include <cstring>
#include <optional>

namespace colonnade::quantize {
namespace {

bool fits(std::span<const std::int64_t> wanted, std::span<const std::int64_t> found) {
  if (wanted.size() != found.size()) return false;
  for (std::size_t d = 0; d < wanted.size(); ++d)
    if (wanted[d] >= 0 && wanted[d] != found[d]) return false;
  return true;
}

/// A sample's shape, and how many there are; none where the tensor does not fit.
std::optional<std::pair<Shape, std::int64_t>> samples_in(bool has_rank, const Shape& wanted, const Shape& found) {
  if (!has_rank) return std::pair{found, std::int64_t{1}};
  if (found.size() == wanted.size() + 1 && fits(wanted, std::span(found).subspan(1)))
    return std::pair{Shape(found.begin() + 1, found.end()), found[0]};
  if (found.size() != wanted.size()) return std::nullopt;
  if (found.empty()) return std::pair{found, std::int64_t{1}};
  const std::int64_t batch = wanted[0] < 0 ? 1 : wanted[0];
  if (batch == 0 || found[0] % batch != 0 || !fits(std::span(wanted).subspan(1), std::span(found).subspan(1)))
    return std::nullopt;
  Shape sample = found;
  sample[0] = batch;
  return std::pair{sample, found[0] / batch};
}

}  // namespace

Stack::Stack(std::span<const TensorInfo> inputs, std::span<const Shape> shapes, std::vector<Tensor> tensors,
             const std::string& where) {
  std::string first;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorInfo& info = inputs[i];
    Tensor& tensor = tensors[i];
    if (tensor.dtype() != info.dtype || size_of(info.dtype) == 0)
      throw Error(ErrorCode::invalid_input, fmt::format("{}: input '{}' is {}, found {}", where, info.name,
                                                        name_of(info.dtype), name_of(tensor.dtype())));
    const auto found = samples_in(info.has_rank, shapes[i], tensor.shape());
    if (!found)
      throw Error(ErrorCode::invalid_input,
                  fmt::format("{}: input '{}' is {}, found {}, which is no number of such samples", where, info.name,
                              text_of(shapes[i]), text_of(tensor.shape())));
    const auto count = static_cast<std::size_t>(found->second);
    const bool repeats =
        tensor.shape().empty() || (info.has_rank && tensor.shape() == Shape{1} && shapes[i].size() == 1);
    if (!repeats && !first.empty() && count != count_)
      throw Error(ErrorCode::invalid_input, fmt::format("{}: input '{}' has {} samples, input '{}' has {}", where,
                                                        info.name, count, first, count_));
    if (!repeats) count_ = count, first = info.name;
    parts_.push_back({std::move(tensor), found->first, repeats});
  }
}

std::vector<Tensor> Stack::at(std::size_t index) const {
  std::vector<Tensor> sample;
  for (const Part& part : parts_) {
    Tensor& tensor = sample.emplace_back(part.tensor.dtype(), part.sample);
    const std::size_t first = part.repeats ? 0 : index * tensor.byte_size();
    if (tensor.byte_size() > 0)
      std::memcpy(tensor.data(), static_cast<const std::byte*>(part.tensor.data()) + first, tensor.byte_size());
  }
  return sample;
}

std::string text_of(const Shape& shape) {
  if (shape.empty()) return "a scalar";
  std::string text;
  for (const std::int64_t size : shape) text += (text.empty() ? "" : "x") + (size < 0 ? "?" : std::to_string(size));
  return text;
}

}  // namespace colonnade::quantize
