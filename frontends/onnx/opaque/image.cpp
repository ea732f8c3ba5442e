// SPDX-License-Identifier: Apache-2.0
// ImageDecoder: BMP and PNM by hand, JPEG, JPEG 2000, PNG, TIFF and WebP by their libraries. Pixels are [height, width,
// channels] of bytes; transparency is dropped.
#include <fmt/core.h>
#include <jpeglib.h>
#include <openjpeg.h>
#include <png.h>
#include <tiffio.h>
#include <webp/decode.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs FILE declared first
#include <cstring>
#include <memory>

#include "base/checked.hpp"
#include "frontends/onnx/lowering.hpp"
#include "frontends/onnx/opaque/definitions.hpp"
#include "graph/shape_rules.hpp"
#include "reference/call.hpp"

namespace colonnade::onnx_import {
namespace {

using reference::Call;
using reference::Data;
using Bytes = std::span<const std::uint8_t>;

struct Picture {
  std::int64_t width = 0, height = 0;
  std::vector<std::uint8_t> rgb;
};

constexpr std::int64_t kMaxPixels = std::int64_t{1} << 28;
/// No format packs more pixels than this into a byte.
constexpr std::int64_t kMaxPixelsPerByte = std::int64_t{1} << 14;

/// A message about the picture; the caller puts the node before it.
[[noreturn]] void broken(std::string_view what) { fail(ErrorCode::invalid_input, "{}", what); }

/// A black picture, unless so few bytes cannot hold so many pixels.
Picture canvas(std::int64_t width, std::int64_t height, Bytes bytes) {
  const bool positive = width > 0 && height > 0 && width <= kMaxPixels && height <= kMaxPixels;
  const std::int64_t pixels = positive ? width * height : 0;
  if (!positive || pixels > kMaxPixels || pixels / kMaxPixelsPerByte > static_cast<std::int64_t>(bytes.size())) {
    broken(fmt::format("{} x {} pixels cannot be in {} bytes", width, height, bytes.size()));
  }
  return {width, height, std::vector<std::uint8_t>(static_cast<std::size_t>(3 * pixels))};
}

/// Every fourth byte is dropped.
void take_rgba(const std::uint8_t* rgba, Picture& picture) {
  for (std::size_t i = 0; i < picture.rgb.size() / 3; ++i) std::memcpy(&picture.rgb[3 * i], rgba + 4 * i, 3);
}

// BMP: uncompressed, 1 to 8 bits with a palette or 24 or 32 bits.

std::uint32_t little_endian(Bytes bytes, std::size_t at, std::size_t count) {
  if (at + count > bytes.size()) broken("it ends early");
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value |= static_cast<std::uint32_t>(bytes[at + i]) << (8 * i);
  return value;
}

Picture decode_bmp(Bytes bytes) {
  const std::size_t data = little_endian(bytes, 10, 4), header = little_endian(bytes, 14, 4);
  const auto width = static_cast<std::int32_t>(little_endian(bytes, 18, 4));
  const auto height = static_cast<std::int32_t>(little_endian(bytes, 22, 4));
  const std::uint32_t bits = little_endian(bytes, 28, 2), compression = little_endian(bytes, 30, 4);
  const bool indexed = bits == 1 || bits == 4 || bits == 8;
  const bool plain = compression == 0 || (compression == 3 && bits == 32);
  if (header < 40 || !plain || (!indexed && bits != 24 && bits != 32)) broken("its form of BMP is not supported");
  Picture picture = canvas(width, std::abs(static_cast<std::int64_t>(height)), bytes);
  const auto row_bytes = (static_cast<std::size_t>(width) * bits + 31) / 32 * 4;
  std::uint8_t* to = picture.rgb.data();
  for (std::int64_t y = 0; y < picture.height; ++y) {
    const auto row = static_cast<std::size_t>(height < 0 ? y : picture.height - 1 - y);
    const std::size_t from = data + row * row_bytes;
    if (from + row_bytes > bytes.size()) broken("it ends early");
    for (std::size_t x = 0; x < static_cast<std::size_t>(width); ++x) {
      std::size_t at = from + x * (bits / 8);
      if (indexed) {
        const std::size_t first_bit = x * bits;
        const auto shift = 8 - bits - first_bit % 8;
        const std::size_t index = bytes[from + first_bit / 8] >> shift & ((1U << bits) - 1);
        at = 14 + header + 4 * index;
      }
      const std::uint32_t bgr = little_endian(bytes, at, 3);
      for (const int shift : {16, 8, 0}) *to++ = static_cast<std::uint8_t>(bgr >> shift);
    }
  }
  return picture;
}

// PNM: P1 to P6.

class PnmReader {
 public:
  explicit PnmReader(Bytes bytes) : bytes_(bytes) {}

  /// The next number of the text, behind spaces and comments.
  std::int64_t number() {
    skip();
    std::int64_t value = -1;
    while (at_ < bytes_.size() && bytes_[at_] >= '0' && bytes_[at_] <= '9') {
      value = std::max<std::int64_t>(value, 0) * 10 + (bytes_[at_++] - '0');
      if (value > kMaxPixels) broken("a number is too large");
    }
    if (value < 0) broken("expected a number");
    return value;
  }
  /// A digit of its own: the pixels of P1 need no spaces between them.
  std::int64_t digit() {
    skip();
    return byte() - '0';
  }
  std::int64_t byte() {
    if (at_ >= bytes_.size()) broken("it ends early");
    return bytes_[at_++];
  }

 private:
  void skip() {
    for (; at_ < bytes_.size(); ++at_) {
      if (bytes_[at_] == '#') {
        while (at_ < bytes_.size() && bytes_[at_] != '\n') ++at_;
      } else if (std::strchr(" \t\n\v\f\r", bytes_[at_]) == nullptr || bytes_[at_] == 0) {
        return;
      }
    }
  }

  Bytes bytes_;
  std::size_t at_ = 2;
};

Picture decode_pnm(Bytes bytes) {
  PnmReader reader(bytes);
  const char form = static_cast<char>(bytes[1]);
  const bool text = form <= '3', bitmap = form == '1' || form == '4', color = form == '3' || form == '6';
  const std::int64_t width = reader.number(), height = reader.number(), peak = bitmap ? 1 : reader.number();
  if (peak < 1 || peak > 65535) broken(fmt::format("its largest value is {}", peak));
  Picture picture = canvas(width, height, bytes);
  if (!text) reader.byte();
  std::int64_t packed = 0;
  const auto sample = [&](std::int64_t x) {
    if (form == '1') return 1 - reader.digit();
    if (form == '4') {
      if (x % 8 == 0) packed = reader.byte();
      return std::int64_t{1} - (packed >> (7 - x % 8) & 1);
    }
    if (text) return reader.number();
    const std::int64_t high = reader.byte();
    return peak < 256 ? high : high << 8 | reader.byte();
  };
  std::uint8_t* to = picture.rgb.data();
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width * (color ? 3 : 1); ++x) {
      const std::int64_t value = std::clamp<std::int64_t>(sample(x), 0, peak);
      const auto level = static_cast<std::uint8_t>((value * 255 + peak / 2) / peak);
      for (int repeat = color ? 1 : 3; repeat > 0; --repeat) *to++ = level;
    }
  }
  return picture;
}

// PNG

Picture decode_png(Bytes bytes) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, decltype(&png_image_free)> guard(&header, png_image_free);
  if (png_image_begin_read_from_memory(&header, bytes.data(), bytes.size()) == 0) broken(header.message);
  header.format = PNG_FORMAT_RGBA;
  Picture picture = canvas(header.width, header.height, bytes);
  std::vector<std::uint8_t> rgba(PNG_IMAGE_SIZE(header));
  if (png_image_finish_read(&header, nullptr, rgba.data(), 0, nullptr) == 0) broken(header.message);
  take_rgba(rgba.data(), picture);
  return picture;
}

// JPEG

struct JpegErrors {
  jpeg_error_mgr manager;
  std::jmp_buf escape;
  std::array<char, JMSG_LENGTH_MAX> message;
};

void escape_from_jpeg(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  errors->manager.format_message(info, errors->message.data());
  std::longjmp(errors->escape, 1);
}

void ignore_jpeg_message(j_common_ptr, int) {}

struct JpegDecoder {
  jpeg_decompress_struct info{};
  JpegErrors errors{};
  JpegDecoder() = default;
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;
  ~JpegDecoder() { jpeg_destroy_decompress(&info); }
};

// The two steps below hold no object with a destructor: libjpeg leaves them by longjmp.
bool read_jpeg_header(JpegDecoder& decoder, Bytes bytes) {
  decoder.info.err = jpeg_std_error(&decoder.errors.manager);
  decoder.errors.manager.error_exit = escape_from_jpeg;
  decoder.errors.manager.emit_message = ignore_jpeg_message;
  if (setjmp(decoder.errors.escape) != 0) return false;
  jpeg_create_decompress(&decoder.info);
  jpeg_mem_src(&decoder.info, bytes.data(), static_cast<unsigned long>(bytes.size()));
  jpeg_read_header(&decoder.info, TRUE);
  decoder.info.out_color_space = JCS_RGB;
  return true;
}

bool read_jpeg_rows(JpegDecoder& decoder, std::uint8_t* rgb) {
  jpeg_decompress_struct& info = decoder.info;
  if (setjmp(decoder.errors.escape) != 0) return false;
  jpeg_start_decompress(&info);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = rgb + std::size_t{3} * info.output_width * info.output_scanline;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  return true;
}

Picture decode_jpeg(Bytes bytes) {
  JpegDecoder decoder;
  if (!read_jpeg_header(decoder, bytes)) broken(decoder.errors.message.data());
  Picture picture = canvas(decoder.info.image_width, decoder.info.image_height, bytes);
  if (!read_jpeg_rows(decoder, picture.rgb.data())) broken(decoder.errors.message.data());
  return picture;
}

// WebP

Picture decode_webp(Bytes bytes) {
  int width = 0, height = 0;
  if (WebPGetInfo(bytes.data(), bytes.size(), &width, &height) == 0) broken("it is no WebP picture");
  Picture picture = canvas(width, height, bytes);
  if (WebPDecodeRGBInto(bytes.data(), bytes.size(), picture.rgb.data(), picture.rgb.size(), 3 * width) == nullptr) {
    broken("its WebP data are damaged");
  }
  return picture;
}

/// Bytes in memory, read as a file.
struct MemoryFile {
  Bytes bytes;
  std::size_t at = 0;

  std::size_t read(void* to, std::size_t count) {
    const std::size_t taken = std::min(count, bytes.size() - at);
    if (taken > 0) std::memcpy(to, bytes.data() + at, taken);
    at += taken;
    return taken;
  }
  bool seek(std::int64_t position) {
    if (position < 0 || position > static_cast<std::int64_t>(bytes.size())) return false;
    at = static_cast<std::size_t>(position);
    return true;
  }
};

// TIFF

tmsize_t read_tiff(thandle_t file, void* to, tmsize_t count) {
  if (count < 0) return -1;
  return static_cast<tmsize_t>(static_cast<MemoryFile*>(file)->read(to, static_cast<std::size_t>(count)));
}
tmsize_t write_tiff(thandle_t, void*, tmsize_t) { return -1; }
toff_t seek_tiff(thandle_t file, toff_t offset, int whence) {
  auto& memory = *static_cast<MemoryFile*>(file);
  const auto base = whence == SEEK_CUR ? memory.at : (whence == SEEK_END ? memory.bytes.size() : 0);
  const bool sane = offset <= static_cast<toff_t>(kMaxDim);
  return sane && memory.seek(static_cast<std::int64_t>(base + offset)) ? memory.at : static_cast<toff_t>(-1);
}
int close_tiff(thandle_t) { return 0; }
toff_t size_of_tiff(thandle_t file) { return static_cast<MemoryFile*>(file)->bytes.size(); }
int ignore_tiff_message(TIFF*, void*, const char*, const char*, va_list) { return 1; }

Picture decode_tiff(Bytes bytes) {
  MemoryFile file{bytes};
  const std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> options(TIFFOpenOptionsAlloc(),
                                                                                 TIFFOpenOptionsFree);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), 4 * kMaxPixels);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), ignore_tiff_message, nullptr);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), ignore_tiff_message, nullptr);
  const std::unique_ptr<TIFF, decltype(&TIFFClose)> tiff(
      TIFFClientOpenExt("image", "rm", &file, read_tiff, write_tiff, seek_tiff, close_tiff, size_of_tiff, nullptr,
                        nullptr, options.get()),
      TIFFClose);
  std::uint32_t width = 0, height = 0;
  if (!tiff || TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width) == 0 ||
      TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height) == 0) {
    broken("it is no TIFF picture");
  }
  Picture picture = canvas(width, height, bytes);
  std::vector<std::uint32_t> abgr(picture.rgb.size() / 3);
  if (TIFFReadRGBAImageOriented(tiff.get(), width, height, abgr.data(), ORIENTATION_TOPLEFT, 1) == 0) {
    broken("its TIFF data are damaged or of a form that is not supported");
  }
  for (std::size_t i = 0; i < abgr.size(); ++i) {
    picture.rgb[3 * i] = static_cast<std::uint8_t>(TIFFGetR(abgr[i]));
    picture.rgb[3 * i + 1] = static_cast<std::uint8_t>(TIFFGetG(abgr[i]));
    picture.rgb[3 * i + 2] = static_cast<std::uint8_t>(TIFFGetB(abgr[i]));
  }
  return picture;
}

// JPEG 2000

OPJ_SIZE_T read_jpeg2000(void* to, OPJ_SIZE_T count, void* file) {
  const std::size_t taken = static_cast<MemoryFile*>(file)->read(to, count);
  return taken == 0 ? static_cast<OPJ_SIZE_T>(-1) : taken;
}
OPJ_OFF_T skip_jpeg2000(OPJ_OFF_T count, void* file) {
  auto& memory = *static_cast<MemoryFile*>(file);
  const bool sane = count >= -kMaxDim && count <= kMaxDim;
  return sane && memory.seek(static_cast<std::int64_t>(memory.at) + count) ? count : -1;
}
OPJ_BOOL seek_jpeg2000(OPJ_OFF_T position, void* file) {
  return static_cast<MemoryFile*>(file)->seek(position) ? OPJ_TRUE : OPJ_FALSE;
}
void ignore_jpeg2000_message(const char*, void*) {}

/// A component's sample as a byte.
std::uint8_t level_of(const opj_image_comp_t& component, std::size_t at) {
  const std::int64_t value = component.data[at] + (component.sgnd != 0 ? std::int64_t{1} << (component.prec - 1) : 0);
  const std::int64_t peak = (std::int64_t{1} << component.prec) - 1;
  return static_cast<std::uint8_t>((std::clamp<std::int64_t>(value, 0, peak) * 255 + peak / 2) / peak);
}

void take_components(const opj_image_t& image, Picture& picture) {
  const std::uint32_t used = image.numcomps >= 3 ? 3 : 1;
  for (std::uint32_t c = 0; c < used; ++c) {
    const opj_image_comp_t& component = image.comps[c];
    const bool whole = component.w == static_cast<std::uint32_t>(picture.width) &&
                       component.h == static_cast<std::uint32_t>(picture.height);
    if (!whole || component.data == nullptr || component.prec < 1 || component.prec > 31) {
      broken("its form of JPEG 2000 is not supported");
    }
    for (std::size_t i = 0; i < picture.rgb.size() / 3; ++i) {
      const std::uint8_t level = level_of(component, i);
      picture.rgb[3 * i + c] = level;
      if (used == 1) picture.rgb[3 * i + 1] = picture.rgb[3 * i + 2] = level;
    }
  }
}

struct ImageDeleter {
  void operator()(opj_image_t* image) const { opj_image_destroy(image); }
};

Picture decode_jpeg2000(Bytes bytes) {
  MemoryFile file{bytes};
  const std::unique_ptr<opj_stream_t, decltype(&opj_stream_destroy)> stream(opj_stream_default_create(OPJ_TRUE),
                                                                            opj_stream_destroy);
  opj_stream_set_user_data(stream.get(), &file, nullptr);
  opj_stream_set_user_data_length(stream.get(), bytes.size());
  opj_stream_set_read_function(stream.get(), read_jpeg2000);
  opj_stream_set_skip_function(stream.get(), skip_jpeg2000);
  opj_stream_set_seek_function(stream.get(), seek_jpeg2000);
  const bool boxed = bytes[0] == 0;
  const std::unique_ptr<opj_codec_t, decltype(&opj_destroy_codec)> codec(
      opj_create_decompress(boxed ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K), opj_destroy_codec);
  opj_set_error_handler(codec.get(), ignore_jpeg2000_message, nullptr);
  opj_set_warning_handler(codec.get(), ignore_jpeg2000_message, nullptr);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t* made = nullptr;
  const bool has_header =
      opj_setup_decoder(codec.get(), &parameters) != 0 && opj_read_header(stream.get(), codec.get(), &made) != 0;
  const std::unique_ptr<opj_image_t, ImageDeleter> image(made);
  if (!has_header || !image || image->numcomps == 0) broken("it is no JPEG 2000 picture");
  Picture picture = canvas(std::int64_t{image->x1} - image->x0, std::int64_t{image->y1} - image->y0, bytes);
  if (opj_decode(codec.get(), stream.get(), image.get()) == 0) broken("its JPEG 2000 data are damaged");
  take_components(*image, picture);
  return picture;
}

struct Format {
  std::string_view signature;
  std::size_t at;
  Picture (*decode)(Bytes bytes);
};

constexpr std::string_view kJp2("\0\0\0\x0cjP  ", 8), kTiff("II*\0", 4), kBigEndianTiff("MM\0*", 4);

constexpr Format kFormats[] = {
    {"BM", 0, decode_bmp},
    {"\xff\xd8\xff", 0, decode_jpeg},
    {"\x89PNG\r\n\x1a\n", 0, decode_png},
    {"WEBP", 8, decode_webp},
    {kTiff, 0, decode_tiff},
    {kBigEndianTiff, 0, decode_tiff},
    {kJp2, 0, decode_jpeg2000},
    {"\xff\x4f\xff\x51", 0, decode_jpeg2000},
    {"P1", 0, decode_pnm},
    {"P2", 0, decode_pnm},
    {"P3", 0, decode_pnm},
    {"P4", 0, decode_pnm},
    {"P5", 0, decode_pnm},
    {"P6", 0, decode_pnm},
};

Picture decode(Bytes bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Format& format : kFormats) {
    const bool fits = text.size() >= format.at + format.signature.size();
    if (fits && text.substr(format.at, format.signature.size()) == format.signature) return format.decode(bytes);
  }
  broken("its format is not known");
}

enum class Pixels : std::uint8_t { rgb, bgr, gray };

Pixels pixels_of(const Opaque& op) {
  const std::string name = op.string_or("pixel_format", "RGB");
  if (name == "RGB") return Pixels::rgb;
  if (name == "BGR") return Pixels::bgr;
  if (name == "Grayscale") return Pixels::gray;
  fail(ErrorCode::invalid_model, "attribute 'pixel_format': '{}' does not exist", printable(name));
}

Types infer_decoder(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  ctx.rank(0, 1);
  ctx.dtype_is(0, DType::u8);
  return {{DType::u8, Shape{kUnknownDim, kUnknownDim, pixels_of(op) == Pixels::gray ? 1 : 3}}};
}

/// Luma of ITU-R 601 in 16 bits of fraction.
std::uint8_t gray_of(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((rgb[0] * 19595U + rgb[1] * 38470U + rgb[2] * 7471U + 0x8000U) >> 16);
}

Data evaluate_decoder(const Opaque& op, const Call& call) {
  Picture picture;
  try {
    picture = decode(call.input(0).values<std::uint8_t>());
  } catch (const Error& error) {
    call.invalid("the image is not usable: {}", error.what());
  }
  const Pixels form = pixels_of(op);
  Tensor y(DType::u8, {picture.height, picture.width, form == Pixels::gray ? 1 : 3});
  std::uint8_t* to = y.values<std::uint8_t>().data();
  for (std::size_t i = 0; i < picture.rgb.size(); i += 3) {
    const std::uint8_t* rgb = picture.rgb.data() + i;
    if (form == Pixels::gray) {
      *to++ = gray_of(rgb);
    } else {
      for (std::size_t c = 0; c < 3; ++c) *to++ = rgb[form == Pixels::rgb ? c : 2 - c];
    }
  }
  return {std::move(y)};
}

constexpr Definition kDecoder{"ImageDecoder", infer_decoder, evaluate_decoder};

constexpr Row kRows[] = {{kOnnxDomain, "ImageDecoder", 20, kNoLimit, 1, 1, 1, opaque<kDecoder>}};

}  // namespace

std::span<const Row> image_rows() { return kRows; }
std::span<const Definition* const> image_definitions() {
  static constexpr const Definition* kAll[] = {&kDecoder};
  return kAll;
}

}  // namespace colonnade::onnx_import
