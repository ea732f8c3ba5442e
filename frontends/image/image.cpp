// SPDX-License-Identifier: Apache-2.0
#include "frontends/image/image.hpp"

#include <fmt/core.h>
#include <jpeglib.h>
#include <png.h>

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs FILE declared first
#include <cstring>

namespace colonnade::images {
namespace {

/// Neither deflate nor an all-zero JPEG block packs more pixels than this into a byte.
constexpr std::int64_t kLargestPixelsPerByte = 8 * 1032;

[[noreturn]] void fail(const std::string& where, std::string_view what) {
  throw Error(ErrorCode::invalid_input, fmt::format("'{}' is not a usable image: {}", where, what));
}

/// An image file that is looked at but not yet believed.
struct File {
  std::span<const std::byte> bytes;
  const std::string& where;
  std::int64_t most_pixels;
};

void check_size(std::int64_t width, std::int64_t height, const File& file) {
  const auto& [bytes, where, most_pixels] = file;
  const std::int64_t pixels = width * height;
  if (width <= 0 || height <= 0) fail(where, "it is empty");
  if (pixels > most_pixels)
    fail(where, fmt::format("{} x {} pixels are more than the limit of {}", width, height, most_pixels));
  if (pixels / kLargestPixelsPerByte > static_cast<std::int64_t>(bytes.size()))
    fail(where, fmt::format("{} x {} pixels cannot be in {} bytes", width, height, bytes.size()));
}

Image decode_png(const File& file) {
  const auto& [bytes, where, most_pixels] = file;
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_memory(&header, bytes.data(), bytes.size())) fail(where, header.message);
  header.format = PNG_FORMAT_RGBA;
  try {
    check_size(header.width, header.height, file);
  } catch (...) {
    png_image_free(&header);
    throw;
  }
  std::vector<std::uint8_t> rgba(PNG_IMAGE_SIZE(header));
  if (!png_image_finish_read(&header, nullptr, rgba.data(), 0, nullptr)) fail(where, header.message);
  Image image{static_cast<int>(header.width), static_cast<int>(header.height), {}};
  image.rgb.resize(rgba.size() / 4 * 3);
  for (std::size_t i = 0; i < rgba.size() / 4; ++i) std::memcpy(&image.rgb[3 * i], &rgba[4 * i], 3);
  return image;
}

struct JpegErrors {
  jpeg_error_mgr manager;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
};

void escape_from_jpeg(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  errors->manager.format_message(info, errors->message);
  std::longjmp(errors->escape, 1);
}

void ignore_jpeg_message(j_common_ptr, int) {}

// The three steps below hold no object with a destructor: libjpeg leaves them by longjmp.
bool read_jpeg_header(jpeg_decompress_struct& info, JpegErrors& errors, std::span<const std::byte> bytes) {
  info.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = escape_from_jpeg;
  errors.manager.emit_message = ignore_jpeg_message;
  if (setjmp(errors.escape)) return false;
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<unsigned long>(bytes.size()));
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  return true;
}

bool read_jpeg_rows(jpeg_decompress_struct& info, JpegErrors& errors, std::uint8_t* rgb) {
  if (setjmp(errors.escape)) return false;
  jpeg_start_decompress(&info);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = rgb + std::size_t{3} * info.output_width * info.output_scanline;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  return true;
}

struct JpegDecoder {
  jpeg_decompress_struct info{};
  JpegErrors errors{};
  ~JpegDecoder() { jpeg_destroy_decompress(&info); }
};

Image decode_jpeg(const File& file) {
  JpegDecoder decoder;
  if (!read_jpeg_header(decoder.info, decoder.errors, file.bytes)) fail(file.where, decoder.errors.message);
  const std::int64_t width = decoder.info.image_width;
  const std::int64_t height = decoder.info.image_height;
  check_size(width, height, file);
  Image image{static_cast<int>(width), static_cast<int>(height), {}};
  image.rgb.resize(static_cast<std::size_t>(3 * width * height));
  if (!read_jpeg_rows(decoder.info, decoder.errors, image.rgb.data())) fail(file.where, decoder.errors.message);
  return image;
}

/// For one output position: the first source position and the weights from there on.
struct Taps {
  int first = 0;
  std::vector<float> weights;
};

std::vector<Taps> triangle_taps(int from, int to) {
  const double ratio = static_cast<double>(from) / to;
  const double support = std::max(ratio, 1.0);
  std::vector<Taps> all(static_cast<std::size_t>(to));
  for (int i = 0; i < to; ++i) {
    const double centre = (i + 0.5) * ratio;
    const int first = std::max(0, static_cast<int>(std::floor(centre - support)));
    const int last = std::min(from - 1, static_cast<int>(std::ceil(centre + support)));
    Taps& taps = all[static_cast<std::size_t>(i)];
    taps.first = first;
    double sum = 0;
    for (int k = first; k <= last; ++k) {
      const double weight = std::max(0.0, 1 - std::abs((k + 0.5 - centre) / support));
      taps.weights.push_back(static_cast<float>(weight));
      sum += weight;
    }
    for (float& weight : taps.weights) weight = static_cast<float>(weight / sum);
  }
  return all;
}

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

}  // namespace

Image decode_image(std::span<const std::byte> bytes, const std::string& where, std::int64_t most_pixels) {
  const File file{bytes, where, most_pixels};
  const auto byte_at = [&](std::size_t i) { return i < bytes.size() ? std::to_integer<int>(bytes[i]) : -1; };
  if (byte_at(0) == 0x89 && byte_at(1) == 'P' && byte_at(2) == 'N') return decode_png(file);
  if (byte_at(0) == 0xff && byte_at(1) == 0xd8) return decode_jpeg(file);
  fail(where, "neither PNG nor JPEG");
}

std::vector<float> resize_bilinear(const Image& image, int width, int height) {
  const auto columns = triangle_taps(image.width, width);
  const auto rows = triangle_taps(image.height, height);
  const std::size_t row_elements = static_cast<std::size_t>(width) * 3;
  std::vector<float> narrow(row_elements * static_cast<std::size_t>(image.height), 0.0f);
  for (std::size_t y = 0; y < static_cast<std::size_t>(image.height); ++y)
    for (std::size_t x = 0; x < columns.size(); ++x)
      for (std::size_t k = 0; k < columns[x].weights.size(); ++k)
        for (std::size_t c = 0; c < 3; ++c) {
          const std::size_t from =
              y * static_cast<std::size_t>(image.width) + static_cast<std::size_t>(columns[x].first) + k;
          narrow[y * row_elements + 3 * x + c] += columns[x].weights[k] * static_cast<float>(image.rgb[3 * from + c]);
        }
  std::vector<float> out(row_elements * rows.size(), 0.0f);
  for (std::size_t y = 0; y < rows.size(); ++y)
    for (std::size_t k = 0; k < rows[y].weights.size(); ++k) {
      const float* from = &narrow[(static_cast<std::size_t>(rows[y].first) + k) * row_elements];
      for (std::size_t i = 0; i < row_elements; ++i) out[y * row_elements + i] += rows[y].weights[k] * from[i];
    }
  return out;
}

Tensor image_tensor(const Image& image, const TensorInfo& info, Shape shape, const ImageOptions& options) {
  const Axes axes = find_axes(info, shape, options.layout);
  const auto dimension = [&](int axis, std::int64_t otherwise) {
    if (axis < 0) return std::int64_t{1};
    std::int64_t& value = shape[static_cast<std::size_t>(axis)];
    return value = value < 0 ? otherwise : value;
  };
  const std::int64_t batch = dimension(axes.batch, 1);
  const std::int64_t channels = dimension(axes.channel, options.color == "gray" ? 1 : 3);
  const std::int64_t height = dimension(axes.height, image.height);
  const std::int64_t width = dimension(axes.width, image.width);
  const std::string color = options.color == "auto" ? (channels == 1 ? "gray" : "rgb") : options.color;
  if (!is_channel_count(channels) || (channels == 1) != (color == "gray"))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("input '{}' has {} channels, which do not fit color {}", info.name, channels, color));
  if (height <= 0 || width <= 0 || height > kMostPixels / width)
    throw Error(ErrorCode::invalid_input,
                fmt::format("input '{}' of {} x {} cannot take an image", info.name, width, height));
  check_channel_values(options.mean, channels, "mean");
  check_channel_values(options.std, channels, "std");

  const double scale = options.scale >= 0 ? options.scale : (is_float(info.dtype) ? 1.0 / 255 : 1.0);
  const std::vector<float> pixels = resize_bilinear(image, static_cast<int>(width), static_cast<int>(height));
  Tensor numbers(DType::f64, shape);
  const std::span<double> values = numbers.values<double>();
  const auto planes = static_cast<std::size_t>(channels);
  const std::size_t plane = pixels.size() / 3;
  const std::size_t sample = planes * plane;
  const bool channels_last = axes.channel > axes.width;
  for (std::size_t i = 0; i < sample && batch > 0; ++i) {
    const std::size_t channel = channels_last ? i % planes : i / plane;
    const std::size_t pixel = channels_last ? i / planes : i % plane;
    const double value = pick_channel(&pixels[3 * pixel], channel, color) * scale;
    const double scaled = (value - channel_value(options.mean, channel, 0)) / channel_value(options.std, channel, 1);
    values[i] = is_float(info.dtype) ? scaled : std::nearbyint(scaled);
  }
  for (std::size_t i = sample; i < values.size(); ++i) values[i] = values[i - sample];
  return numbers.converted(info.dtype);
}

}  // namespace colonnade::images
