// SPDX-License-Identifier: Apache-2.0
#include "api/apart.hpp"

#include <algorithm>
#include <string>

#include "base/strides.hpp"
#include "base/tensor_memory.hpp"
#include "kernels/base/copy.hpp"

namespace colonnade {
namespace {

template <class View>
Extent extent_of(const View& view) {
  if (view.data == nullptr || std::ranges::find(view.shape, 0) != view.shape.end()) return {};
  const auto bytes = static_cast<std::int64_t>(view.dtype == DType::string ? sizeof(std::string) : size_of(view.dtype));
  std::int64_t first = 0, last = view.strides.empty() ? element_count(view.shape) - 1 : 0;
  for (std::size_t i = 0; i < view.strides.size(); ++i)
    (view.strides[i] < 0 ? first : last) += view.strides[i] * (view.shape[i] - 1);
  const auto at = [&](std::int64_t element) {
    return reinterpret_cast<std::uintptr_t>(view.data) + static_cast<std::uintptr_t>(element * bytes);
  };
  return {at(first), at(last + 1)};
}

bool overlap(const Extent& a, const Extent& b) { return a.begin < b.end && b.begin < a.end; }

/// Whether a program writes an output only where it no longer reads what lies there.
bool may_write(const Program& program, std::size_t output, const Extent& target, std::span<const Extent> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!overlap(inputs[i], target)) continue;
    if (program.overwrites[output] != static_cast<std::int32_t>(i) || inputs[i] != target) return false;
  }
  return true;
}

}  // namespace

bool may_overlap(std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs) {
  return std::ranges::any_of(outputs, [&](const MutableTensorView& output) {
    const Extent target = extent_of(output);
    return std::ranges::any_of(inputs, [&](const TensorView& input) { return overlap(extent_of(input), target); });
  });
}

void copy_to(const Tensor& tensor, const MutableTensorView& view) {
  if (!view.strides.empty()) {
    const Strides dense = dense_strides(view.shape);
    copy_elements(tensor.dtype(), view.shape, TensorView(tensor).data, dense, view.data, view.strides);
  } else if (tensor.dtype() == DType::string) {
    std::copy(tensor.strings().begin(), tensor.strings().end(), static_cast<std::string*>(view.data));
  } else if (tensor.byte_size() > 0) {
    kernels::copy_memory(view.data, tensor.data(), tensor.byte_size());
  }
}

void ApartOutputs::set(const Program& program, std::span<const TensorView> inputs,
                       std::span<const MutableTensorView> outputs, std::vector<void*>& to) {
  apart_.clear();
  inputs_.clear();
  for (const TensorView& view : inputs) inputs_.push_back(extent_of(view));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (may_write(program, i, extent_of(outputs[i]), inputs_)) continue;
    apart_.emplace_back(i, TensorMemory::unset(outputs[i].dtype, outputs[i].shape));
    to[i] = MutableTensorView(apart_.back().second).data;
  }
}

void ApartOutputs::hand_over(std::span<const MutableTensorView> outputs) {
  for (const auto& [output, tensor] : apart_) copy_to(tensor, outputs[output]);
  apart_.clear();
}

}  // namespace colonnade
