// SPDX-License-Identifier: Apache-2.0
#include "graph/resize_coordinates.hpp"

#include <algorithm>
#include <cmath>

#include "graph/shape_rules.hpp"

namespace colonnade {
namespace {

/// The input coordinate of output index `x`.
double source_coordinate(CoordinateMode mode, const ResizeAxis& axis, double x) {
  const double in_size = static_cast<double>(axis.in_size);
  const double resized = in_size * axis.scale;
  switch (mode) {
    case CoordinateMode::half_pixel: return (x + 0.5) / axis.scale - 0.5;
    case CoordinateMode::half_pixel_symmetric: {
      const double adjustment = static_cast<double>(axis.out_size) / resized;
      return in_size / 2 * (1 - adjustment) + (x + 0.5) / axis.scale - 0.5;
    }
    case CoordinateMode::pytorch_half_pixel: return axis.out_size > 1 ? (x + 0.5) / axis.scale - 0.5 : 0;
    case CoordinateMode::align_corners: return resized == 1 ? 0 : x * (in_size - 1) / (resized - 1);
    case CoordinateMode::asymmetric: return x / axis.scale;
    case CoordinateMode::tf_crop_and_resize: {
      const double begin = axis.roi_begin * (in_size - 1);
      const double end = axis.roi_end * (in_size - 1);
      return axis.out_size > 1 ? begin + x * (end - begin) / (resized - 1) : (begin + end) / 2;
    }
  }
  return x;
}

double nearest_index(NearestMode mode, double x) {
  switch (mode) {
    case NearestMode::round_prefer_floor: return std::ceil(x - 0.5);
    case NearestMode::round_prefer_ceil: return std::floor(x + 0.5);
    case NearestMode::floor: return std::floor(x);
    case NearestMode::ceil: return std::ceil(x);
  }
  return x;
}

double linear_kernel(double x) { return std::max(0.0, 1 - std::abs(x)); }

double cubic_kernel(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

/// Scale of the interpolation kernel: below 1 where antialiasing widens it.
double kernel_scale(const Resize& op, const ResizeAxis& axis) { return op.antialias ? std::min(1.0, axis.scale) : 1.0; }

std::int64_t clamp_index(double index, std::int64_t size) {
  return static_cast<std::int64_t>(std::clamp(index, 0.0, static_cast<double>(size - 1)));
}

struct Kernel {
  std::int64_t first = 0;  ///< offset of the first tap from the floor of the coordinate
  std::int64_t taps = 1;
  double scale = 1;
};

Kernel kernel_of(const Resize& op, const ResizeAxis& axis) {
  if (op.mode == ResizeMode::nearest) return {};
  const double scale = kernel_scale(op, axis);
  const double radius = op.mode == ResizeMode::linear ? 1 : 2;
  constexpr double kMostReach = 1 << 24;
  if (!(radius / scale < kMostReach)) {
    fail(ErrorCode::resource_limit, "a resize by {} reads more than {} elements at once", scale, kMostReach);
  }
  const std::int64_t first = static_cast<std::int64_t>(std::floor(-radius / scale)) + 1;
  return {first, 2 - 2 * first, scale};
}

/// Writes the taps of one output index at `indices` and `weights`.
void interpolate(const Resize& op, const ResizeAxis& axis, const Kernel& kernel, double x, std::int64_t* indices,
                 double* weights) {
  const double base = std::floor(x);
  double sum = 0;
  for (std::int64_t tap = 0; tap < kernel.taps; ++tap) {
    const double position = base + static_cast<double>(kernel.first + tap);
    const double distance = (position - x) * kernel.scale;
    const bool inside = position >= 0 && position <= static_cast<double>(axis.in_size - 1);
    const double weight = op.mode == ResizeMode::linear ? linear_kernel(distance) : cubic_kernel(distance, op.cubic_a);
    indices[tap] = clamp_index(position, axis.in_size);
    weights[tap] = op.exclude_outside && !inside ? 0 : weight;
    sum += weights[tap];
  }
  if (!op.exclude_outside && !op.antialias) return;
  for (std::int64_t tap = 0; tap < kernel.taps; ++tap) weights[tap] /= sum;
}

[[noreturn]] void refuse(const Node& node, const std::string& message) {
  fail(ErrorCode::invalid_model, "node '{}' ({}): {}", node.name, name_of(node.op), message);
}

void check_counts(const Node& node, std::size_t axes, std::span<const float> roi, std::size_t given) {
  if (given != axes) refuse(node, fmt::format("expects {} scales or sizes, has {}", axes, given));
  if (!roi.empty() && roi.size() != 2 * axes)
    refuse(node, fmt::format("expects {} roi bounds, has {}", 2 * axes, roi.size()));
}

std::int64_t scaled_size(const Node& node, std::int64_t size, float scale) {
  const float scaled = std::floor(static_cast<float>(size) * scale);
  if (!(scale > 0) || !(scaled < static_cast<float>(kMaxDim))) {
    refuse(node, fmt::format("cannot scale {} elements by {}", size, scale));
  }
  return static_cast<std::int64_t>(scaled);
}

/// The one scale of all axes that keeps the aspect ratio.
double common_scale(AspectPolicy policy, const Shape& input, const Ints& axes, std::span<const std::int64_t> sizes) {
  double scale = 0;
  for (std::size_t index = 0; index < axes.size(); ++index) {
    const double own = static_cast<double>(sizes[index]) / static_cast<double>(at(input, axes[index]));
    const bool replaces = policy == AspectPolicy::not_larger ? own < scale : own > scale;
    if (index == 0 || replaces) scale = own;
  }
  return scale;
}

void resize_to_sizes(const Resize& op, const Ints& axes, std::span<const std::int64_t> sizes, const Shape& input,
                     std::vector<ResizeAxis>& result) {
  const double common = common_scale(op.aspect, input, axes, sizes);
  for (std::size_t index = 0; index < axes.size(); ++index) {
    ResizeAxis& axis = result[static_cast<std::size_t>(axes[index])];
    const double in_size = static_cast<double>(axis.in_size);
    const bool stretch = op.aspect == AspectPolicy::stretch;
    axis.out_size = stretch ? sizes[index] : static_cast<std::int64_t>(std::floor(common * in_size + 0.5));
    axis.scale = stretch ? static_cast<double>(sizes[index]) / in_size : common;
  }
}

}  // namespace

Ints resized_axis_numbers(const Node& node, std::int64_t rank) {
  const Resize& op = std::get<Resize>(node.op);
  Ints axes;
  if (op.axes.empty()) {
    for (std::int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
    return axes;
  }
  for (const std::int64_t axis : op.axes) axes.push_back(normalize_axis(axis, rank, node));
  return axes;
}

ResizeTaps resize_taps(const Resize& op, const ResizeAxis& axis, Interval rows) {
  const Kernel kernel = kernel_of(op, axis);
  const std::size_t taps = static_cast<std::size_t>(kernel.taps);
  const std::size_t count = static_cast<std::size_t>(rows.size());
  ResizeTaps result{kernel.taps, std::vector<std::int64_t>(count * taps), std::vector<double>(count * taps), {}};
  const bool crops = op.coordinates == CoordinateMode::tf_crop_and_resize;
  for (std::size_t row = 0; row < count; ++row) {
    const double x =
        source_coordinate(op.coordinates, axis, static_cast<double>(rows.begin) + static_cast<double>(row));
    if (crops) result.outside.push_back(x < 0 || x > static_cast<double>(axis.in_size - 1));
    if (op.mode == ResizeMode::nearest) {
      result.indices[row] = clamp_index(nearest_index(op.nearest, x), axis.in_size);
      result.weights[row] = 1;
    } else {
      interpolate(op, axis, kernel, x, &result.indices[row * taps], &result.weights[row * taps]);
    }
  }
  return result;
}

ResizeTaps resize_taps(const Resize& op, const ResizeAxis& axis) { return resize_taps(op, axis, {0, axis.out_size}); }

std::vector<ResizeAxis> resize_axes(const Node& node, const Shape& input, std::span<const float> roi,
                                    std::span<const float> scales, std::span<const std::int64_t> sizes) {
  const Resize& op = std::get<Resize>(node.op);
  const Ints axes = resized_axis_numbers(node, rank_of(input));
  check_counts(node, axes.size(), roi, scales.empty() ? sizes.size() : scales.size());
  std::vector<ResizeAxis> result;
  for (const std::int64_t dim : input) result.push_back({dim, dim});
  for (std::size_t index = 0; index < axes.size(); ++index) {
    ResizeAxis& axis = result[static_cast<std::size_t>(axes[index])];
    if (axis.in_size < 1) refuse(node, fmt::format("axis {} of the input is empty", axes[index]));
    if (scales.empty()) {
      if (sizes[index] < 0 || sizes[index] > kMaxDim)
        refuse(node, fmt::format("the size {} is out of range", sizes[index]));
    } else {
      axis.out_size = scaled_size(node, axis.in_size, scales[index]);
      axis.scale = static_cast<double>(scales[index]);
    }
    if (op.coordinates != CoordinateMode::tf_crop_and_resize || roi.empty()) continue;
    axis.roi_begin = static_cast<double>(roi[index]);
    axis.roi_end = static_cast<double>(roi[axes.size() + index]);
  }
  if (scales.empty()) resize_to_sizes(op, axes, sizes, input, result);
  return result;
}

std::optional<std::vector<ResizeAxis>> resize_axes(const Graph& graph, const Node& node) {
  const ValueType& input = graph.value(node.input(0)).type;
  const auto roi = constant_floats(graph, node, 1);
  const auto scales = constant_floats(graph, node, 2).value_or(std::vector<float>());
  const auto sizes = constant_ints(graph, node, 3).value_or(Ints());
  const bool crops = std::get<Resize>(node.op).coordinates == CoordinateMode::tf_crop_and_resize;
  const bool roi_open = crops && node.input(1) != kAbsent && !roi;
  if (!input.is_static() || scales.empty() == sizes.empty() || roi_open) return std::nullopt;
  return resize_axes(node, *input.shape, roi && crops ? *roi : std::vector<float>(), scales, sizes);
}

}  // namespace colonnade
