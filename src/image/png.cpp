// SPDX-License-Identifier: Apache-2.0
#include <png.h>

#include <array>
#include <csetjmp>

#include "image/formats.hpp"

namespace colonnade::images {
namespace {

/// Deflate packs at most 1032 bytes into one, each of at most 8 pixels.
constexpr std::int64_t kPixelsPerByte = 8 * 1032;

struct Decoder {
  MemoryFile file;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf escape;
  std::array<char, 256> message{};

  explicit Decoder(Bytes bytes) : file{bytes} {}
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void escape_from_png(png_structp png, png_const_charp message) {
  auto* decoder = static_cast<Decoder*>(png_get_error_ptr(png));
  std::strncpy(decoder->message.data(), message, decoder->message.size() - 1);
  std::longjmp(decoder->escape, 1);
}

void ignore_png_message(png_structp, png_const_charp) {}

void read_png(png_structp png, png_bytep to, png_size_t count) {
  if (static_cast<MemoryFile*>(png_get_io_ptr(png))->read(to, count) < count) png_error(png, "it ends early");
}

// The three steps below hold no object with a destructor: libpng leaves them by longjmp.
bool read_header(Decoder& decoder) {
  if (setjmp(decoder.escape) != 0) return false;
  decoder.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder, escape_from_png, ignore_png_message);
  if (decoder.png == nullptr) return false;
  decoder.info = png_create_info_struct(decoder.png);
  if (decoder.info == nullptr) return false;
  png_set_benign_errors(decoder.png, 1);
  png_set_user_limits(decoder.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // check_size() says what the limit is
  png_set_read_fn(decoder.png, &decoder.file, read_png);
  png_read_info(decoder.png, decoder.info);
  return true;
}

/// Pixels of 8 bits in sRGB; where the file does not say, 16 bits are linear. So does libpng's own png_image.
bool start_rows(Decoder& decoder, int& passes) {
  png_structp png = decoder.png;
  if (setjmp(decoder.escape) != 0) return false;
  const bool deep = png_get_bit_depth(png, decoder.info) == 16;
  png_set_expand(png);
  if ((png_get_color_type(png, decoder.info) & PNG_COLOR_MASK_COLOR) == 0) png_set_gray_to_rgb(png);
  png_set_alpha_mode_fixed(png, PNG_ALPHA_PNG, deep ? PNG_GAMMA_LINEAR : PNG_DEFAULT_sRGB);
  png_set_alpha_mode_fixed(png, PNG_ALPHA_PNG, PNG_DEFAULT_sRGB);
  if (deep) png_set_scale_16(png);
  png_set_strip_alpha(png);
  passes = png_set_interlace_handling(png);
  png_read_update_info(png, decoder.info);
  return true;
}

bool read_rows(Decoder& decoder, std::uint8_t* rgb, std::size_t row_bytes, std::int64_t rows, int passes) {
  if (setjmp(decoder.escape) != 0) return false;
  for (int pass = 0; pass < passes; ++pass) {
    for (std::int64_t y = 0; y < rows; ++y)
      png_read_row(decoder.png, rgb + row_bytes * static_cast<std::size_t>(y), nullptr);
  }
  return true;
}

class PngRows final : public Rows {
 public:
  PngRows(Bytes bytes, const Limits& limits) : decoder_(bytes) {
    require(read_header(decoder_));
    width_ = png_get_image_width(decoder_.png, decoder_.info);
    height_ = png_get_image_height(decoder_.png, decoder_.info);
    check_size(width_, height_, bytes, limits.pixels, kPixelsPerByte);
    if (png_get_interlace_type(decoder_.png, decoder_.info) != PNG_INTERLACE_NONE)
      check_held(3 * width_ * height_, limits.held_bytes, "its interlaced pixels");
    require(start_rows(decoder_, passes_));
    row_bytes_ = png_get_rowbytes(decoder_.png, decoder_.info);
    if (row_bytes_ != static_cast<std::size_t>(3 * width_)) broken("its form of PNG is not supported");
  }

  void read(std::span<std::uint8_t> rgb) override {
    if (passes_ == 1) {
      require(read_rows(decoder_, rgb.data(), row_bytes_, 1, 1));
      return;
    }
    if (held_.empty()) {
      held_.resize(row_bytes_ * static_cast<std::size_t>(height_));
      require(read_rows(decoder_, held_.data(), row_bytes_, height_, passes_));
    }
    std::memcpy(rgb.data(), &held_[row_bytes_ * next_++], row_bytes_);
  }

 private:
  void require(bool done) const {
    if (!done) broken(decoder_.message.data());
  }

  Decoder decoder_;
  int passes_ = 1;
  std::size_t row_bytes_ = 0, next_ = 0;
  std::vector<std::uint8_t> held_;  ///< all rows of an interlaced file
};

}  // namespace

std::unique_ptr<Rows> open_png(Bytes bytes, const Limits& limits) { return std::make_unique<PngRows>(bytes, limits); }

}  // namespace colonnade::images
