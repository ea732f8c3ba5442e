// SPDX-License-Identifier: Apache-2.0
#include "frontends/image/image.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "frontends/image/scale.hpp"
#include "image/rows.hpp"

namespace colonnade::images {
namespace {

constexpr std::int64_t kMostPixels = ImageLimits{}.pixels;
constexpr std::int64_t kStagedElements = 16384;

/// Where the axes of an image are in a tensor's shape; -1: absent.
struct Axes {
  int batch = -1;
  int channel = -1;
  int height = -1;
  int width = -1;
};

bool is_channel_count(std::int64_t dimension) { return dimension == 1 || dimension == 3; }

Axes find_axes(const TensorInfo& info, const Shape& shape, const std::string& layout) {
  const int rank = static_cast<int>(shape.size());
  if (rank == 2) return {-1, -1, 0, 1};
  if (rank != 3 && rank != 4)
    throw Error(ErrorCode::invalid_input, fmt::format("input '{}' of rank {} cannot take an image", info.name, rank));
  const int first = rank - 3;
  const std::int64_t leading = shape[static_cast<std::size_t>(first)];
  const std::int64_t trailing = shape[static_cast<std::size_t>(rank - 1)];
  const bool channels_last =
      layout == "nhwc" || (layout == "auto" && !is_channel_count(leading) && is_channel_count(trailing));
  return channels_last ? Axes{first - 1, rank - 1, first, first + 1} : Axes{first - 1, first, first + 1, first + 2};
}

double channel_value(const std::vector<double>& values, std::size_t channel, double otherwise) {
  if (values.empty()) return otherwise;
  return values.size() == 1 ? values[0] : values[channel];
}

void check_channel_values(const std::vector<double>& values, std::int64_t channels, const char* option) {
  if (values.size() > 1 && static_cast<std::int64_t>(values.size()) != channels)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} needs 1 or {} values, found {}", option, channels, values.size()));
}

float pick_channel(const float* rgb, std::size_t channel, const std::string& color) {
  if (color == "gray") return 0.299f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2];
  return color == "bgr" ? rgb[2 - channel] : rgb[channel];
}

bool is_float(DType dtype) { return name_of(dtype).find("float") != std::string_view::npos; }

/// The shape without open dimensions, and what it says about the image.
struct Target {
  Shape shape;
  std::int64_t batch, channels;
  Size size;
  bool channels_last;
};

Target target_of(const TensorInfo& info, Shape shape, Size image, const ImageOptions& options,
                 const ImageLimits& limits) {
  const Axes axes = find_axes(info, shape, options.layout);
  if (size_of(info.dtype) == 0)
    throw Error(ErrorCode::invalid_input,
                fmt::format("input '{}' of type {} cannot take an image", info.name, name_of(info.dtype)));
  const bool is_open = std::count(shape.begin(), shape.end(), -1) > 0;
  const auto dimension = [&](int axis, std::int64_t otherwise) {
    if (axis < 0) return std::int64_t{1};
    std::int64_t& value = shape[static_cast<std::size_t>(axis)];
    return value = value < 0 ? otherwise : value;
  };
  Target target{{}, dimension(axes.batch, 1), dimension(axes.channel, options.color == "gray" ? 1 : 3), {}, false};
  target.size.height = dimension(axes.height, image.height);
  target.size.width = dimension(axes.width, image.width);
  target.channels_last = axes.channel > axes.width;
  const auto& [width, height] = target.size;
  if (height <= 0 || width <= 0 || height > kMostPixels / width)
    throw Error(ErrorCode::invalid_input,
                fmt::format("input '{}' of {} x {} cannot take an image", info.name, width, height));
  const auto bytes = static_cast<double>(element_count(shape)) * static_cast<double>(size_of(info.dtype));
  if (is_open && bytes > static_cast<double>(limits.tensor_bytes))
    throw Error(ErrorCode::invalid_input, fmt::format("input '{}' of {} x {} pixels takes {:.0f} bytes, limit {}",
                                                      info.name, width, height, bytes, limits.tensor_bytes));
  target.shape = std::move(shape);
  return target;
}

std::string color_of(const TensorInfo& info, const Target& target, const ImageOptions& options) {
  const std::int64_t channels = target.channels;
  const std::string color = options.color == "auto" ? (channels == 1 ? "gray" : "rgb") : options.color;
  if (!is_channel_count(channels) || (channels == 1) != (color == "gray"))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("input '{}' has {} channels, which do not fit color {}", info.name, channels, color));
  check_channel_values(options.mean, channels, "mean");
  check_channel_values(options.std, channels, "std");
  return color;
}

/// Scaled rows as elements of a tensor. Some rows are converted at a time.
class Writer {
 public:
  Writer(DType dtype, Target target, std::string color, const ImageOptions& options)
      : target_(std::move(target)),
        color_(std::move(color)),
        options_(options),
        scale_(options.scale >= 0 ? options.scale : (is_float(dtype) ? 1.0 / 255 : 1.0)),
        planes_(static_cast<std::size_t>(target_.channels)),
        width_(static_cast<std::size_t>(target_.size.width)),
        most_rows_(std::max<std::int64_t>(1, kStagedElements / (target_.size.width * target_.channels))),
        tensor_(dtype, target_.shape) {}

  void take(std::span<const float> rgb) {
    if (staged_rows_ == 0) stage_ = Tensor(DType::f64, {target_.channels, rows_to_stage(), target_.size.width});
    const std::span<double> values = stage_.values<double>();
    const bool round = !is_float(tensor_.dtype());
    const std::size_t plane = values.size() / planes_;
    const auto row = static_cast<std::size_t>(staged_rows_) * width_;
    for (std::size_t x = 0; x < width_; ++x) {
      for (std::size_t c = 0; c < planes_; ++c) {
        const double value = pick_channel(&rgb[3 * x], c, color_) * scale_;
        const double scaled = (value - channel_value(options_.mean, c, 0)) / channel_value(options_.std, c, 1);
        values[target_.channels_last ? planes_ * (row + x) + c : plane * c + row + x] =
            round ? std::nearbyint(scaled) : scaled;
      }
    }
    if (++staged_rows_ == stage_.shape()[1]) flush();
  }

  /// With every image of the batch, once all rows came.
  Tensor finish() {
    auto* const bytes = static_cast<std::byte*>(tensor_.data());
    const std::size_t sample = tensor_.byte_size() / static_cast<std::size_t>(target_.batch);
    for (std::size_t at = sample; at < tensor_.byte_size(); at += sample) std::memcpy(bytes + at, bytes, sample);
    return std::move(tensor_);
  }

 private:
  std::int64_t rows_to_stage() const { return std::min(most_rows_, target_.size.height - written_rows_); }

  void flush() {
    const Tensor elements = stage_.converted(tensor_.dtype());
    const std::size_t row_bytes = width_ * size_of(tensor_.dtype());
    const std::size_t pieces = target_.channels_last ? 1 : planes_;
    const std::size_t piece = elements.byte_size() / pieces;
    const std::size_t plane = row_bytes * static_cast<std::size_t>(target_.size.height);
    const std::size_t first = row_bytes * static_cast<std::size_t>(written_rows_) * (planes_ / pieces);
    for (std::size_t i = 0; i < pieces; ++i)
      std::memcpy(static_cast<std::byte*>(tensor_.data()) + i * plane + first,
                  static_cast<const std::byte*>(elements.data()) + i * piece, piece);
    written_rows_ += staged_rows_;
    staged_rows_ = 0;
  }

  Target target_;
  std::string color_;
  const ImageOptions& options_;
  double scale_;
  std::size_t planes_, width_;
  std::int64_t most_rows_, staged_rows_ = 0, written_rows_ = 0;
  Tensor tensor_, stage_;
};

template <class Action>
auto naming(const std::string& where, const Action& action) {
  try {
    return action();
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("'{}' is not a usable image: {}", where, error.what()));
  }
}

}  // namespace

Tensor image_tensor(std::span<const std::byte> bytes, const std::string& where, const TensorInfo& info, Shape shape,
                    const ImageOptions& options, const ImageLimits& limits) {
  const Bytes file(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  const auto rows = naming(where, [&] { return open_rows(file, {limits.pixels, limits.held_bytes}); });
  const Size size{rows->width(), rows->height()};
  Target target = target_of(info, std::move(shape), size, options, limits);
  std::string color = color_of(info, target, options);
  if (target.batch <= 0) return Tensor(info.dtype, target.shape);
  const Size scaled = target.size;
  Writer writer(info.dtype, std::move(target), std::move(color), options);
  Scaler scaler(size, scaled, [&](std::span<const float> row) { writer.take(row); });
  std::vector<std::uint8_t> rgb(static_cast<std::size_t>(3 * size.width));
  for (std::int64_t y = 0; y < size.height; ++y) {
    naming(where, [&] { rows->read(rgb); });
    scaler.take(rgb);
  }
  return writer.finish();
}

}  // namespace colonnade::images
