// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/ops/core/window.hpp"

#include <limits>

namespace colonnade::onnx_import {

void check_ints(const Lowering& low, std::string_view name, const Ints& values, std::size_t count, std::int64_t least) {
  if (values.size() != count) low.invalid("attribute '{}': expected {} values, found {}", name, count, values.size());
  for (const std::int64_t value : values) {
    if (value < least || value > std::numeric_limits<std::int32_t>::max()) {
      low.invalid("attribute '{}': {} is out of range, expected at least {}", name, value, least);
    }
  }
}

std::optional<Ints> read_kernel(const Lowering& low) {
  auto kernel = find_ints(low.node(), "kernel_shape");
  if (kernel) check_ints(low, "kernel_shape", *kernel, kernel->size(), 1);
  return kernel;
}

namespace {

AutoPad read_auto_pad(const Lowering& low) {
  const std::string text = low.string_or("auto_pad", "NOTSET");
  if (text == "NOTSET" || text.empty()) return AutoPad::explicit_pads;
  if (text == "SAME_UPPER") return AutoPad::same_upper;
  if (text == "SAME_LOWER") return AutoPad::same_lower;
  if (text == "VALID") return AutoPad::valid;
  low.invalid("attribute 'auto_pad': '{}' does not exist", printable(text));
}

}  // namespace

Window read_window(const Lowering& low, Ints kernel) {
  const std::size_t spatial = kernel.size();
  const auto read = [&](std::string_view name, std::size_t count, std::int64_t least) {
    Ints values = find_ints(low.node(), name).value_or(Ints(count, least));
    check_ints(low, name, values, count, least);
    return values;
  };
  Window window;
  window.strides = read("strides", spatial, 1);
  window.dilations = read("dilations", spatial, 1);
  window.auto_pad = read_auto_pad(low);
  window.pads = read("pads", 2 * spatial, 0);
  if (window.auto_pad != AutoPad::explicit_pads) window.pads.assign(2 * spatial, 0);
  if (window.auto_pad == AutoPad::valid) window.auto_pad = AutoPad::explicit_pads;
  window.kernel = std::move(kernel);
  return window;
}

void lift(Window& window) {
  if (window.kernel.size() != 1) return;
  for (Ints* values : {&window.kernel, &window.strides, &window.dilations}) values->insert(values->begin(), 1);
  window.pads = {0, window.pads[0], 0, window.pads[1]};
}

ValueId to_window_layout(Lowering& low, ValueId x, std::int64_t rank) {
  if (rank != 3) return to_channels_last(low, x, rank);
  return unsqueeze(low, to_channels_last(low, x, 3), {1});
}

ValueId from_window_layout(Lowering& low, ValueId x, std::int64_t rank) {
  if (rank != 3) return to_channels_first(low, x, rank);
  return to_channels_first(low, squeeze(low, x, {1}), 3);
}

}  // namespace colonnade::onnx_import
