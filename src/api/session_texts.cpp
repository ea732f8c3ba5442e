// SPDX-License-Identifier: Apache-2.0
// Runs of texts whose padding is left out.
#include <algorithm>

#include "api/session_impl.hpp"
#include "base/strides.hpp"

namespace colonnade {

Way Session::Impl::way_of(std::span<const TensorView> inputs) {
  return model->packing.graph ? texts.set(model->packing, inputs) : Way::dense;
}

std::vector<Datum> Session::Impl::run_packed(RunControl& control) {
  const std::span<const TensorView> inputs = texts.inputs();
  entry = runner.use(model->packing.graph, inputs, control);
  return run_dense(*entry, inputs, control);
}

std::vector<Tensor> Session::Impl::run_texts(Way way, std::span<const TensorView> inputs, RunControl& control) {
  const Packing& packing = model->packing;
  std::vector<Tensor> outputs;
  if (way == Way::masked) {
    outputs = run_tensors(inputs, control);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      texts.clear_padding(packing, i, static_cast<std::byte*>(outputs[i].data()), outputs[i].byte_size());
    return outputs;
  }
  const std::vector<Datum> made = run_packed(control);
  for (const Datum& packed : made) {
    const std::size_t index = outputs.size();
    Tensor& tensor =
        outputs.emplace_back(packed.tensor().dtype(), unpacked_shape(packing, index, inputs[packing.mask].shape));
    texts.unpack(packing, index, packed.tensor(), static_cast<std::byte*>(tensor.data()));
  }
  return outputs;
}

void Session::Impl::run_texts(Way way, std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs,
                              RunControl& control) {
  const auto is_strided = [](const MutableTensorView& view) { return !view.strides.empty(); };
  if (way == Way::packed && std::none_of(outputs.begin(), outputs.end(), is_strided)) {
    const std::vector<Datum> packed = run_packed(control);
    for (std::size_t i = 0; i < packed.size(); ++i) {
      const Shape shape = unpacked_shape(model->packing, i, inputs[model->packing.mask].shape);
      check_output(i, outputs[i], packed[i].tensor().dtype(), shape, {});
      texts.unpack(model->packing, i, packed[i].tensor(), static_cast<std::byte*>(outputs[i].data));
    }
    return;
  }
  const std::vector<Tensor> made = run_texts(way, inputs, control);
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Tensor& from = made[i];
    const MutableTensorView& to = outputs[i];
    check_output(i, to, from.dtype(), from.shape(), {});
    copy_elements(from.dtype(), to.shape, from.data(), dense_strides(to.shape), to.data,
                  to.strides.empty() ? dense_strides(to.shape) : to.strides);
  }
}

}  // namespace colonnade
