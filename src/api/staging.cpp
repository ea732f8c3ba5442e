// SPDX-License-Identifier: Apache-2.0
#include "api/staging.hpp"

#include <algorithm>

namespace colonnade {
namespace {

/// The view as it lies in memory. Strings have no kernels that could put them in order.
template <class View>
View in_memory(const View& view, const Ints& order) {
  View result = view;
  result.shape = in_order(view.shape, order);
  result.strides = is_dense(view.shape, view.strides, order) ? Strides{} : in_order(view.strides, order);
  return result;
}

template <class View>
Ints order_of(const View& view) {
  return view.dtype == DType::string ? Ints{} : memory_order(view.shape, view.strides);
}

/// No lists where all are row-major: plans are found by them.
void tidy(std::vector<Ints>& orders) {
  if (std::all_of(orders.begin(), orders.end(), [](const Ints& order) { return order.empty(); })) orders.clear();
}

Tensor& memory_for(std::vector<Tensor>& memory, std::size_t index, DType dtype, const Shape& shape) {
  memory.resize(std::max(memory.size(), index + 1));
  if (memory[index].dtype() != dtype || memory[index].shape() != shape) memory[index] = Tensor(dtype, shape);
  return memory[index];
}

}  // namespace

void Staging::set(std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs,
                  std::span<const TensorInfo> output_infos) {
  layouts_ = {};
  inputs_.clear();
  outputs_.clear();
  for (const TensorView& view : inputs) {
    layouts_.inputs.push_back(order_of(view));
    inputs_.push_back(in_memory(view, layouts_.inputs.back()));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const bool is_known = output_infos[i].has_rank && output_infos[i].shape.size() == outputs[i].shape.size();
    layouts_.outputs.push_back(is_known ? order_of(outputs[i]) : Ints{});
    outputs_.push_back(in_memory(outputs[i], layouts_.outputs.back()));
  }
  tidy(layouts_.inputs);
  tidy(layouts_.outputs);
}

std::span<const TensorView> Staging::gather() {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    TensorView& view = inputs_[i];
    if (view.strides.empty()) continue;
    Tensor& memory = memory_for(input_memory_, i, view.dtype, view.shape);
    void* const to = MutableTensorView(memory).data;
    copy_elements(view.dtype, view.shape, view.data, view.strides, to, dense_strides(view.shape));
    view = TensorView(memory);
  }
  return inputs_;
}

std::span<const MutableTensorView> Staging::outputs() {
  dense_outputs_ = outputs_;
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (!outputs_[i].strides.empty())
      dense_outputs_[i] = memory_for(output_memory_, i, outputs_[i].dtype, outputs_[i].shape);
  return dense_outputs_;
}

void Staging::scatter() {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const MutableTensorView& view = outputs_[i];
    if (view.strides.empty()) continue;
    copy_elements(view.dtype, view.shape, dense_outputs_[i].data, dense_strides(view.shape), view.data, view.strides);
  }
}

std::size_t Staging::bytes() const {
  std::size_t bytes = 0;
  for (const auto* memory : {&input_memory_, &output_memory_})
    for (const Tensor& tensor : *memory) bytes += tensor.byte_size();
  return bytes;
}

}  // namespace colonnade
